/** Serves the figures for Prometheus on a separate port (METRICS_PORT). */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { promisify } from 'node:util'
import { collectDefaultMetrics, register } from 'prom-client'
import { config } from '../../base/config'
import { measureStatements } from '../../base/db/database-statements'
import type { Connection } from '../../base/db/transact'
import { log, safeError } from '../../base/log'
import { showProcess } from '../../base/metrics/process-info'
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
  const server = createServer(async ({ url }, response) => {
    if (url?.split('?')[0] !== '/metrics') return response.writeHead(404).end('Not found')
    try {
      const text = await register.metrics()
      response.writeHead(200, { 'content-type': register.contentType }).end(text)
    } catch (error) {
      log.warn({ error: safeError(error) }, 'the figures could not be read')
      response.writeHead(500).end()
    }
  })
  server.listen(config.METRICS_PORT, config.METRICS_HOST)
  await once(server, 'listening')
  return {
    async stop(breaks_off: boolean): Promise<void> {
      if (breaks_off) server.closeAllConnections()
      await promisify(server.close.bind(server))()
    },
  }
}
