/** Turns traces on, when the settings say so. */
import { config } from '../config'
import type { Sql } from '../db/transact'
import { watchStatements } from '../db/watch-statements'
import { beginSpan, currentSpan, useTracer } from './trace'

/** Loads the SDK and begins to trace. Does nothing without OTEL_EXPORTER_OTLP_ENDPOINT. */
export async function startTracing(sql: Sql): Promise<void> {
  if (config.OTEL_EXPORTER_OTLP_ENDPOINT === undefined) return
  const { createTracer } = await import('./otel')
  useTracer(createTracer())
  watchStatements(sql, (statement) => {
    // Looks for due work, which nobody has asked for, would be traces of one span each.
    if (!currentSpan()) return () => {}
    const attributes = { 'db.system.name': 'postgresql', 'db.operation.name': statement }
    const begun = beginSpan({ name: `postgresql ${statement}`, kind: 'client', attributes })
    return (error) => begun?.span.end(error === undefined ? undefined : codeOf(error))
  })
}

/** A SQLSTATE, or the code of a connection's failure. */
function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : 'Error'
}
