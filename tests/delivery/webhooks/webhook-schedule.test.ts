/** The schedule of attempts: their delays, and which headers are new in each. */
import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test'
import { config } from '../../../src/base/config'
import { createOrganization, startApi, stopApi } from '../../support/api'
import { until } from '../../support/service'
import { withSettings } from '../../support/settings'
import {
  createWebhook,
  deliverDue,
  deliveriesOf,
  emit,
  makeDue,
  queueOf,
  startTrustedReceiver,
} from '../../support/webhooks'

const schedule = config.RETRY_SCHEDULE_SECONDS

beforeAll(() => startApi())
afterAll(stopApi)

test('the delay counts from the end of the attempt before, with at most 10 % added', async () => {
  const ended_at: number[] = []
  using receiver = await startTrustedReceiver(async () => {
    await Bun.sleep(100)
    ended_at.push(Date.now())
    return 500
  })
  const { admin, scope } = await createOrganization()
  const webhook = await createWebhook(admin, { url: receiver.url })
  await emit(scope)
  using random = spyOn(Math, 'random')
  for (const [n, jitter] of [0, 0.999999].entries()) {
    random.mockReturnValue(jitter)
    await deliverDue()
    const [row] = await scope.sql<{ due_ms: number; settled_ms: number }[]>`
      select extract(epoch from o.run_at)::float8 * 1000 as due_ms,
        extract(epoch from max(a.started_at + a.response_time_ms * interval '1 ms'))::float8 * 1000 as settled_ms
      from outbox o join delivery_attempts a on a.organization_id = o.organization_id and a.delivery_id = o.id
      where o.lane_id = ${webhook.id} group by o.run_at`
    const delay_ms = schedule[n + 1]! * 1000
    expect(row!.due_ms).toBeGreaterThanOrEqual(ended_at[n]! + delay_ms)
    // Both are times of the transaction that wrote them.
    expect(row!.due_ms - row!.settled_ms).toBeWithin(delay_ms * (1 + jitter * 0.1) - 2, delay_ms * 1.1 + 2)
    await makeDue(scope)
  }
})

test('there are as many attempts as the schedule has entries, and the first entry delays the first', async () => {
  using _ = withSettings({ RETRY_SCHEDULE_SECONDS: [20, 40] })
  using receiver = await startTrustedReceiver(500)
  const { admin, scope } = await createOrganization()
  const webhook = await createWebhook(admin, { url: receiver.url })
  await emit(scope)
  const [first] = await queueOf(scope, webhook.id)
  expect(first!.due_in_s).toBeWithin(10, 20.001)
  const [{ next_attempt_at, created_at }] = await deliveriesOf(admin, webhook.id)
  expect(Date.parse(next_attempt_at) - Date.parse(created_at)).toBe(20_000)
  for (let attempt = 1; attempt <= 2; attempt++) {
    await deliverDue()
    expect(receiver.requests).toHaveLength(attempt - 1)
    await makeDue(scope)
    await deliverDue()
    expect(receiver.requests).toHaveLength(attempt)
  }
  expect((await deliveriesOf(admin, webhook.id))[0]).toMatchObject({ status: 'failed', attempts: 2 })
  expect((await admin.get(`/webhooks/${webhook.id}`)).body.data).toMatchObject({ status: 'failed', failure_count: 1 })
})

test('an attempt tells its own time to the standard, and the time of the event to the interface', async () => {
  using receiver = await startTrustedReceiver([500, 200])
  const { admin, scope } = await createOrganization()
  await createWebhook(admin, { url: receiver.url, secret: 'secret' })
  await emit(scope)
  await deliverDue()
  await receiver.waitFor(1)
  const [before] = receiver.requests
  const sent_at_s = Math.floor(before!.at.getTime() / 1000)
  await until('the next second', () => Math.floor(Date.now() / 1000) > sent_at_s)
  await makeDue(scope)
  await deliverDue()
  const after = receiver.requests[1]!
  const [old_time, new_time] = [before!, after].map((request) => Number(request.headers.get('webhook-timestamp')))
  expect(new_time).toBeGreaterThan(old_time!)
  expect(Math.abs(new_time! * 1000 - after.at.getTime())).toBeLessThan(5000)
  for (const name of ['webhook-id', 'x-service-delivery', 'x-service-timestamp', 'x-service-signature']) {
    expect([name, after.headers.get(name)]).toEqual([name, before!.headers.get(name)])
  }
  expect(after.json().timestamp).toBe(after.headers.get('x-service-timestamp')!)
  for (const request of receiver.requests) expect(receiver.verify(request, 'secret')).toBe(true)
})
