/** The lists of `doctor`: who causes most of what the figures show. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { topFigures } from '../../../src/base/metrics/top'
import { createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import { createWebhook, deliverDue, emit, startTrustedReceiver } from '../../support/webhooks'

beforeAll(() => startApi())
afterAll(stopApi)

test('webhooks that fail and those that are slow are named, with the host of their URL only', async () => {
  using broken = await startTrustedReceiver(500)
  using working = await startTrustedReceiver(200)
  const { admin, scope } = await createOrganization()
  const url = (port: string) => `https://localhost:${port}/hook?token=secret`
  const failing = await createWebhook(admin, { url: url(new URL(broken.url).port) })
  const slow = await createWebhook(admin, { url: url(new URL(working.url).port) })
  const deleted = await createWebhook(admin, { url: broken.url })
  await emit(scope)
  await deliverDue()
  await admin.delete(`/webhooks/${deleted.id}`)
  await setTimes(scope, { [slow.id]: 900, [failing.id]: 20 })

  const { slowest_webhooks, failing_webhooks } = await topFigures(connection())
  const common = { organization_id: scope.organization_id, deliveries: 1 }
  const of_slow = { ...common, webhook_id: slow.id, host: expect.stringMatching(/^localhost$/), failed: 0, error: null }
  const of_failing = { ...common, webhook_id: failing.id, host: 'localhost', failed: 1, error: 'status' }
  expect(slowest_webhooks).toEqual([
    { ...of_slow, mean_ms: 900, max_ms: 900 },
    { ...of_failing, mean_ms: 20, max_ms: 20 },
  ])
  expect(failing_webhooks).toEqual([{ ...of_failing, mean_ms: 20, max_ms: 20 }])
  expect(JSON.stringify(slowest_webhooks)).not.toContain('secret')
  expect((await topFigures(connection(), 1)).slowest_webhooks).toHaveLength(1)
})

async function setTimes({ sql }: Organization['scope'], times: Record<string, number>): Promise<void> {
  for (const [id, ms] of Object.entries(times)) {
    await sql`update deliveries set response_time_ms = ${ms} where webhook_id = ${id}`
  }
}

test('due work is counted by what it waits for, and by organization', async () => {
  const [one, other] = [(await createOrganization()).scope, (await createOrganization()).scope]
  const [mailbox, webhook] = [newId(), newId()]
  const { sql } = connection()
  const enqueue = (organization_id: string, kind: string, lane: string, count: number, age_s: number) => sql`
    insert into outbox (organization_id, id, kind, lane_id, run_at)
    select ${organization_id}, gen_random_uuid(), ${kind}, ${lane}, now() - ${age_s} * interval '1 second'
    from generate_series(1, ${count})`
  await enqueue(one.organization_id, 'email', mailbox, 3, 600)
  await enqueue(other.organization_id, 'webhook', webhook, 5, 60)
  await enqueue(other.organization_id, 'webhook', newId(), 1, -600)

  const { waiting, waiting_organizations } = await topFigures(connection())
  const of = (organization_id: string) => waiting.filter((row) => row.organization_id === organization_id)
  expect(of(one.organization_id)).toEqual([
    { organization_id: one.organization_id, kind: 'email', lane_id: mailbox, due: 3, oldest_due_s: 600 },
  ])
  expect(of(other.organization_id)).toEqual([
    { organization_id: other.organization_id, kind: 'webhook', lane_id: webhook, due: 5, oldest_due_s: 60 },
  ])
  expect(waiting_organizations.map((row) => [row.organization_id, row.due])).toEqual([
    [other.organization_id, 5],
    [one.organization_id, 3],
  ])
})
