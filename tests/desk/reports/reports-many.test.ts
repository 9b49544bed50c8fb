/** The figures of reports over many tickets are those of a plain computation: `REPORT_TICKETS=100000` for more. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import { createGroups, createHistory, figuresOf, type Past, plainReport } from '../../support/history'

const TICKETS = Number(process.env.REPORT_TICKETS ?? 20_000)
const [FROM, TO] = ['2025-02-20', '2026-02-20']
const MOST_MS = 300_000

let one: Organization
let past: Past[]

beforeAll(async () => {
  await startApi()
  one = await createOrganization()
  const groups = await createGroups(one.scope, [one.admin.user_id, one.agent.user_id])
  const [from_ms, to_ms] = [Date.UTC(2025, 1, 10), Date.UTC(2026, 2, 1)]
  past = await createHistory(one.scope, groups, { tickets: TICKETS, from_ms, to_ms })
  expect((await one.admin.patch('/organization', { time_zone: 'Europe/Berlin' })).status).toBe(200)
}, MOST_MS)
afterAll(stopApi)

test.each(['week', 'user', 'label', 'company', 'priority'] as const)(
  'the figures by %s are those of the history',
  async (group_by) => {
    const answer = await one.agent.get(`/reports/tickets?from=${FROM}&to=${TO}&group_by=${group_by}`)
    expect(figuresOf(answer.body.data, group_by)).toEqual(plainReport(past, 'Europe/Berlin', FROM, TO, group_by))
  },
  MOST_MS,
)
