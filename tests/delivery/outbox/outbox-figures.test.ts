/** Figures that the drain keeps of its work, with handlers that the tests define. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { register } from 'prom-client'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { drainOutbox } from '../../../src/delivery/outbox/drain'
import type { OutboxAttempt, Outcome } from '../../../src/delivery/outbox/job'
import { startApi, stopApi } from '../../support/api'

beforeAll(() => startApi())
afterAll(stopApi)
beforeEach(async () => {
  await connection().sql`truncate outbox`
  register.resetMetrics()
})

async function enqueue(due_s = 0): Promise<void> {
  await connection().sql`
    insert into outbox (organization_id, id, kind, lane_id, run_at)
    values (${newId()}, ${newId()}, 'email', ${newId()}, now() - ${due_s} * interval '1 second')`
}

type Value = { labels: object; value: number; metricName?: string }

/** The values of a figure by its label besides the kind; of a histogram its count and sum. */
async function figure(name: string): Promise<Record<string, number>> {
  const { values } = await register.getSingleMetric(`deskwire_outbox_${name}`)!.get()
  const named = (values as Value[]).map(({ labels, value, metricName = '' }) => {
    const outcome = 'outcome' in labels ? String(labels.outcome) : ''
    return [/_(bucket|count|sum)$/.exec(metricName)?.[1] ?? outcome, value] as const
  })
  return Object.fromEntries(named.filter(([key]) => key !== 'bucket'))
}

test('attempts are counted by what became of them', async () => {
  const outcomes: [string, Outcome | Error][] = [
    ['done', { type: 'done' }],
    ['failed', { type: 'done', healthy: false }],
    ['retry', { type: 'retry', delay_s: 600, counts: true }],
    ['postponed', { type: 'retry', delay_s: 600, counts: false }],
    ['parked', { type: 'retry', delay_s: null, counts: false }],
    ['postponed', new Error('a fault of our own')],
  ]
  const left = outcomes.map(([, outcome]) => outcome)
  for (const _ of outcomes) await enqueue(100)
  const attempt: OutboxAttempt = async () => {
    const outcome = left.pop()!
    if (outcome instanceof Error) throw outcome
    return outcome
  }
  await drainOutbox(connection(), { email: attempt })
  expect(await figure('attempts_total')).toEqual({ done: 1, failed: 1, retry: 1, postponed: 2, parked: 1 })
  const start = await figure('due_to_start_seconds')
  expect(start.count).toBe(6)
  expect(start.sum).toBeGreaterThanOrEqual(600)
  const done = await figure('due_to_done_seconds')
  expect(done.count).toBe(1)
  expect(done.sum).toBeGreaterThanOrEqual(100)
  expect((await figure('claim_duration_seconds')).count).toBeGreaterThan(0)
})

test('a job that is given up has failed', async () => {
  await enqueue()
  await connection().sql`update outbox set claims = 25`
  const giveUp = (): Outcome => ({ type: 'done' })
  await drainOutbox(connection(), { email: { attempt: () => Promise.reject(new Error('not tried')), giveUp } })
  expect(await figure('attempts_total')).toEqual({ failed: 1 })
  expect((await figure('due_to_done_seconds')).count).toBeUndefined()
})

test('a lease that ran out and the outcome that came too late are counted', async () => {
  await enqueue()
  const { promise: frozen, resolve: wake } = Promise.withResolvers<void>()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const first = drainOutbox(connection(), {
    email: async () => {
      begin()
      await frozen
      return { type: 'done' }
    },
  })
  await begun
  await connection().sql`update outbox set lease_until = now() - interval '1 second'`
  await drainOutbox(
    connection(),
    { email: async () => ({ type: 'retry', delay_s: 600, counts: true }) },
    { on_settled: () => wake() },
  )
  await first
  expect((await figure('leases_expired_total'))['']).toBe(1)
  expect((await figure('stale_outcomes_total'))['']).toBe(1)
})
