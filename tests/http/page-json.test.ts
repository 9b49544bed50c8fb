/** For which rows a list makes JSON: a far page has many before it. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Scope } from '../../src/base/scope'
import { listInboundMessages } from '../../src/mail/inbound-messages/queries'
import { listAuditLog } from '../../src/people/audit-log/queries'
import { createOrganization, startApi, stopApi } from '../support/api'
import { nodesOf, openExplaining } from '../support/explaining'

let target: string

beforeAll(async () => {
  target = (await startApi()).url
})
afterAll(stopApi)

test.each([
  ['the audit log', (scope: Scope) => listAuditLog(scope, { page: 3 })],
  ['the mail ledger', (scope: Scope) => listInboundMessages(scope, { page: 3 })],
])('%s makes JSON of the rows of the page alone', async (_, list) => {
  const { scope } = await createOrganization()
  const explaining = await openExplaining(target)
  try {
    await explaining.start()
    const plans = await explaining.plansOf(() => list({ ...scope, sql: explaining.sql }))
    const makesJson = (node: { Output?: string[] }) => node.Output?.some((value) => value.includes('json_build_object'))
    expect(plans.flatMap(nodesOf).filter(makesJson)).not.toEqual([])
    const limits = plans.flatMap(nodesOf).filter((node) => node['Node Type'] === 'Limit')
    expect(limits).not.toEqual([])
    // A plan that a limit ends reads the rows before the page, too.
    expect(limits.flatMap(nodesOf).filter(makesJson)).toEqual([])
  } finally {
    await explaining.close()
  }
})
