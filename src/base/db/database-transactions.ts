/**
 * Measures transactions and their wait for a connection of the pool. Statements outside a transaction do not wait: the
 * driver sends them on a connection that is busy with others.
 */
import { Gauge, Histogram } from 'prom-client'

const transactions = new Gauge({
  name: 'deskwire_database_transactions',
  help: 'Transactions of this process: open, each with a connection of the pool, and waiting for one',
  labelNames: ['state'],
})
transactions.set({ state: 'open' }, 0)
transactions.set({ state: 'waiting' }, 0)

const acquisitions = new Histogram({
  name: 'deskwire_database_acquire_seconds',
  help: 'From asking for a transaction to its begin: the wait for a connection and one round trip',
  buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
})

const durations = new Histogram({
  name: 'deskwire_database_transaction_duration_seconds',
  help: 'From the begin of a transaction to its commit or rollback',
  buckets: [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
})

/** Follows a transaction from the moment it is asked for: `began` once it has a connection, `ended` in any case. */
export function observeTransaction(): { began(): void; ended(): void } {
  const asked_ms = performance.now()
  let began_ms: number | undefined
  let state: 'waiting' | 'open' = 'waiting'
  transactions.inc({ state })
  return {
    began() {
      transactions.dec({ state })
      state = 'open'
      transactions.inc({ state })
      began_ms = performance.now()
      acquisitions.observe((began_ms - asked_ms) / 1000)
    },
    ended() {
      transactions.dec({ state })
      if (began_ms !== undefined) durations.observe((performance.now() - began_ms) / 1000)
    },
  }
}
