/** Measures statements. The label is the first word of a statement, so the number of series stays small. */
import { Histogram } from 'prom-client'
import type { Sql } from './transact'
import { watchStatements } from './watch-statements'

/** Registers the histogram and begins to measure. */
export function measureStatements(sql: Sql): void {
  const durations = new Histogram({
    name: 'deskwire_database_statement_duration_seconds',
    help: 'Duration of statements by their first word, with the wait in the queue of the pool and the way to the database',
    labelNames: ['statement'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  })
  watchStatements(sql, (statement) => {
    const began_ms = performance.now()
    return () => durations.observe({ statement }, (performance.now() - began_ms) / 1000)
  })
}
