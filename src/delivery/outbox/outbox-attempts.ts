/** Measures claims, attempts and leases of the outbox. Labels are fixed words, so the number of series stays small. */
import { Counter, Histogram } from 'prom-client'
import type { OutboxKind, Outcome } from './job'

const outcomes = new Counter({
  name: 'deskwire_outbox_attempts_total',
  help: 'Attempts that were settled: done, failed (for good), retry, postponed (a fault of our own), parked',
  labelNames: ['kind', 'outcome'],
})

const claims = new Histogram({
  name: 'deskwire_outbox_claim_duration_seconds',
  help: 'Duration of the statement that leases rows',
  labelNames: ['kind'],
  buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
})

const DELAYS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600]

const waits = new Histogram({
  name: 'deskwire_outbox_due_to_start_seconds',
  help: 'From when work was due to the beginning of its attempt',
  labelNames: ['kind'],
  buckets: DELAYS,
})

const done = new Histogram({
  name: 'deskwire_outbox_due_to_done_seconds',
  help: 'From when work was due to the record that it is done: sent, for webhooks and email',
  labelNames: ['kind'],
  buckets: DELAYS,
})

const expired = new Counter({
  name: 'deskwire_outbox_leases_expired_total',
  help: 'Rows taken over because the lease of another worker had run out',
  labelNames: ['kind'],
})

const stale = new Counter({
  name: 'deskwire_outbox_stale_outcomes_total',
  help: 'Outcomes that came after the lease had gone to another worker, and were dropped',
  labelNames: ['kind'],
})

/** A row that a claim leased. */
export type Claimed = { waited_s: number | null; is_taken_over: boolean }

/** Measures a claim, and how long each of its rows waited. @param duration_ms of the statement */
export function observeClaim(kind: OutboxKind, duration_ms: number, rows: Claimed[]): void {
  claims.observe({ kind }, duration_ms / 1000)
  for (const { waited_s, is_taken_over } of rows) {
    waits.observe({ kind }, waited_s ?? 0)
    if (is_taken_over) expired.inc({ kind })
  }
}

/** Counts an outcome that was written. @param due_ms as in `OutboxJob` */
export function observeSettled(kind: OutboxKind, due_ms: number | null, outcome: Outcome): void {
  const name = nameOf(outcome)
  outcomes.inc({ kind, outcome: name })
  // Sent by hand before it was due, it did not wait.
  if (name === 'done' && due_ms !== null) done.observe({ kind }, Math.max(0, performance.now() - due_ms) / 1000)
}

/** Counts an outcome that was dropped, because its lease had gone to another worker. */
export function countStale(kind: OutboxKind): void {
  stale.inc({ kind })
}

function nameOf(outcome: Outcome): string {
  if (outcome.type === 'done') return outcome.healthy === false ? 'failed' : 'done'
  if (outcome.counts) return 'retry'
  return outcome.delay_s === null ? 'parked' : 'postponed'
}
