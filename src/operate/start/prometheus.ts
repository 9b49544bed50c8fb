/** Serves the figures for Prometheus on a separate port (METRICS_PORT). */
import { collectDefaultMetrics, register } from 'prom-client'
import { config } from '../../base/config'
import { measureStatements } from '../../base/db/database-statements'
import type { Connection } from '../../base/db/transact'
import { showProcess } from '../../base/metrics/process-info'
import { ensureUrl } from '../../http/request/url'
import { createFiguresReader, showDatabase } from './database-figures'
import { showOutbox } from './outbox-rows'

/** Starts the listener when METRICS_PORT is set. @param connection is asked for figures at each scrape */
export async function startMetrics(connection: Connection) {
  if (config.METRICS_PORT === undefined) return undefined
  collectDefaultMetrics()
  showProcess()
  measureStatements(connection.sql)
  const readFigures = createFiguresReader(connection)
  showDatabase(readFigures)
  showOutbox(readFigures)
  return Bun.serve({
    port: config.METRICS_PORT,
    hostname: config.METRICS_HOST,
    async fetch(request) {
      ensureUrl(request)
      if (new URL(request.url).pathname !== '/metrics') return new Response('Not found', { status: 404 })
      return new Response(await register.metrics(), { headers: { 'content-type': register.contentType } })
    },
  })
}
