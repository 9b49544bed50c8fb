/** Ordered webhooks: one delivery at a time, in the order of the events. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { sweepDeliveries } from '../../../src/delivery/webhooks/upkeep'
import { createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import type { Receiver } from '../../support/receiver'
import { createWebhook, deliverDue, deliveriesOf, emit, makeDue, startTrustedReceiver } from '../../support/webhooks'

beforeAll(() => startApi())
afterAll(stopApi)

let own: Organization
let receiver: Receiver
beforeEach(async () => {
  own = await createOrganization()
  receiver = await startTrustedReceiver()
})

const told = () => receiver.requests.map((request) => request.json().data.n)
const happen = async (...numbers: number[]) => {
  for (const n of numbers) await emit(own.scope, { id: newId(), n })
}
const make = (fields: Record<string, unknown> = {}) =>
  createWebhook(own.admin, { url: receiver.url, ordered: true, ...fields })
const failOnce = (n: number, status = 500) => {
  receiver.answer = (request) => (request.json().data.n === n ? status : 200)
}
/** Each attempt that there may be; parked ones are not touched. */
async function attempts(times: number) {
  for (let time = 0; time < times; time++) {
    await makeDue(own.scope)
    await deliverDue()
  }
}

test('deliveries go one at a time and in order, however many there are and whoever claims them', async () => {
  using _ = receiver
  await make()
  let open = 0
  const most: number[] = []
  receiver.answer = async () => {
    most.push(++open)
    await Bun.sleep(2)
    open--
    return 200
  }
  const numbers = Array.from({ length: 30 }, (_, n) => n)
  await happen(...numbers.slice(0, 20))
  // The order in which rows come due says nothing.
  const { sql } = own.scope
  const rows = await sql<{ id: string }[]>`select id from outbox where organization_id = ${own.id} order by id`
  for (const [n, { id }] of rows.entries()) {
    const run_at = new Date(Date.now() - 1000 * (1 + ((n * 7) % rows.length))).toISOString()
    await sql`update outbox set run_at = ${run_at} where organization_id = ${own.id} and id = ${id}`
  }
  await Promise.all([deliverDue(), deliverDue(), happen(...numbers.slice(20)), deliverDue()])
  await deliverDue()
  expect(told()).toEqual(numbers)
  expect(Math.max(...most)).toBe(1)
})

test('what fails is tried alone until it succeeds, and other webhooks do not wait', async () => {
  using _ = receiver
  const webhook = await make()
  using free = await startTrustedReceiver()
  await createWebhook(own.admin, { url: free.url })
  failOnce(1)
  await happen(1, 2, 3)
  await deliverDue()
  expect([told(), free.requests.length]).toEqual([[1], 3])
  await happen(4)
  await attempts(2)
  expect(told()).toEqual([1, 1, 1])
  receiver.answer = 200
  await attempts(1)
  expect(told()).toEqual([1, 1, 1, 1, 2, 3, 4])
  const { status, failure_count } = (await own.admin.get(`/webhooks/${webhook.id}`)).body.data
  expect([status, failure_count]).toEqual(['active', 0])
})

test('enabled again, it begins with the failed delivery on a new schedule; not without order', async () => {
  using _ = receiver
  const webhook = await make()
  const path = `/webhooks/${webhook.id}`
  failOnce(1)
  await happen(1, 2, 3)
  await attempts(6)
  expect(told()).toEqual([1, 1, 1, 1, 1])
  expect((await own.admin.get(path)).body.data.status).toBe('failed')
  await happen(4)
  await own.admin.patch(path, { active: true })
  await attempts(6)
  expect(told()).toEqual(Array(10).fill(1))
  expect((await deliveriesOf(own.admin, webhook.id))[0]).toMatchObject({ status: 'failed', attempts: 10 })
  receiver.answer = 200
  await own.admin.patch(path, { active: true, ordered: false })
  await deliverDue()
  expect(told().slice(10).toSorted()).toEqual([2, 3, 4])
})

test('enabled again, it goes on behind the failed delivery once that succeeds', async () => {
  using _ = receiver
  const webhook = await make()
  failOnce(1)
  await happen(1, 2)
  await attempts(6)
  receiver.answer = 200
  await own.admin.patch(`/webhooks/${webhook.id}`, { active: true })
  await deliverDue()
  expect(told().slice(5)).toEqual([1, 2])
})

test('a retry and a test go out of turn, and change nothing of the turns', async () => {
  using _ = receiver
  const webhook = await make()
  failOnce(1)
  await happen(1, 2, 3)
  await deliverDue()
  const [, , third] = await deliveriesOf(own.admin, webhook.id)
  const path = `/webhooks/${webhook.id}`
  receiver.answer = 500
  const failed = await own.admin.post(`${path}/deliveries/${third.id}/retry`)
  expect(failed.body.data).toMatchObject({ status: 'retrying', attempts: 1, next_attempt_at: null })
  expect((await own.admin.post(`${path}/test`)).body.data.status).toBe('failed')
  expect((await own.admin.get(path)).body.data.status).toBe('active')
  receiver.answer = 200
  expect((await own.admin.post(`${path}/deliveries/${third.id}/retry`)).body.data.status).toBe('success')
  await attempts(1)
  expect(told().filter((n) => n !== undefined)).toEqual([1, 3, 3, 1, 2])
})

test('order can be switched on and off while deliveries wait, and none is lost', async () => {
  using _ = receiver
  const webhook = await make({ ordered: false })
  const path = `/webhooks/${webhook.id}`
  receiver.answer = 500
  await happen(1, 2, 3)
  await deliverDue()
  await own.admin.patch(path, { ordered: true })
  await happen(4)
  failOnce(1)
  await attempts(1)
  expect(told().slice(3)).toEqual([1])
  await own.admin.patch(path, { ordered: false })
  await deliverDue()
  expect(told().slice(4).toSorted()).toEqual([2, 3, 4])
  await own.admin.patch(path, { ordered: true })
  receiver.answer = 200
  await happen(5)
  await attempts(1)
  expect(told().slice(7)).toEqual([1, 5])
})

test('switched off, all that waits for its turn is cancelled; events of later begin anew', async () => {
  using _ = receiver
  const webhook = await make()
  failOnce(1)
  await happen(1, 2)
  await deliverDue()
  await own.admin.patch(`/webhooks/${webhook.id}`, { active: false })
  await own.admin.patch(`/webhooks/${webhook.id}`, { active: true })
  await happen(3)
  await attempts(1)
  expect(told()).toEqual([1, 3])
  const statuses = (await deliveriesOf(own.admin, webhook.id)).map(({ status }: { status: string }) => status)
  expect(statuses).toEqual(['cancelled', 'cancelled', 'success'])
})

test('turns that a process has lost are given by the sweep, which releases nothing else', async () => {
  using _ = receiver
  const webhook = await make()
  failOnce(1)
  await happen(1, 2, 3)
  await deliverDue()
  await sweepDeliveries(connection(), 7)
  const due = () =>
    own.scope.sql`select id from outbox where organization_id = ${own.id} and run_at < 'infinity' order by id`
  expect(await due()).toHaveLength(1)
  const [first] = await deliveriesOf(own.admin, webhook.id)
  await own.scope.sql`delete from outbox where organization_id = ${own.id} and id = ${first.id}`
  await deliverDue()
  expect(told()).toEqual([1])
  await sweepDeliveries(connection(), 7)
  expect(await due()).toHaveLength(1)
  await deliverDue()
  expect(told()).toEqual([1, 2, 3])
})
