/**
 * Stops the service in order. SIGTERM begins with the drain, for load balancers: `/readyz` answers 503 while everything
 * is served, and every HTTP connection closes after its answer. Then the listeners close, what is in flight ends, the
 * leases of the outbox are released, and the process exits with 0.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { config } from '../../base/config'
import { log } from '../../base/log'
import { onStopRequest } from '../../base/process/stop-request'
import { stopTracing } from '../../base/tracing/trace'
import type { Drain } from '../../delivery/outbox/drain'
import type { SmtpListener } from '../../mail/smtp/listener'
import type { OpenDatabase } from './database'
import { closeHandlers } from './outbox-handlers'

/** Longest wait for requests and SMTP messages in flight, then for the outbox: together less than the promised 30 s. */
const STOP_TIMEOUT_MS = 20_000
const OUTBOX_TIMEOUT_MS = 6_000
/** The time that the outbox may take beyond that to write results and release leases. */
const SETTLE_TIMEOUT_MS = 2_000
/**
 * The least time between the signal and the end of the HTTP listener. The server resets idle connections when it stops,
 * also one whose request is just arriving. A client that asks in this time is answered with `Connection: close`.
 */
const LAST_REQUESTS_MS = 250

/** An HTTP server. Its `stop` closes idle connections; with `true` it breaks off requests as well. */
type HttpServer = { stop(breaks_off: boolean): Promise<void> }

/** All that runs. */
type Running = {
  database: OpenDatabase
  backup: { stop(): Promise<void> } | undefined
  outbox: Drain
  jobs: { stop(): Promise<void> }
  smtp: SmtpListener | undefined
  http: HttpServer
  metrics: HttpServer | undefined
}

/**
 * Stops everything on SIGTERM, after the drain, or on SIGINT. The next signal ends the drain, and after it the process.
 * @param stopping aborted by the first signal
 * @param die ends the process with an error that nobody caught
 */
export function stopOnSignal(stopping: AbortController, running: Running, die: (error: unknown) => never): void {
  const drained = new AbortController()
  const stop = async (signal: string) => {
    if (drained.signal.aborted) process.exit(1)
    if (signal === 'SIGINT' || stopping.signal.aborted) drained.abort()
    if (stopping.signal.aborted) return
    stopping.abort()
    log.info({ signal, drain_s: drained.signal.aborted ? 0 : config.DRAIN_SECONDS }, 'stopping')
    await drain(running, drained)
    await stopAll(running)
    log.info('stopped')
    process.exit(0)
  }
  onStopRequest((signal) => void stop(signal).catch(die))
}

/**
 * Serves on while load balancers learn that the service stops. @param drained ends the drain early, and is aborted at
 * its end
 */
async function drain({ smtp }: Running, drained: AbortController): Promise<void> {
  smtp?.drain()
  await sleep(config.DRAIN_SECONDS * 1000, undefined, { signal: drained.signal }).catch(() => {})
  drained.abort()
  if (config.DRAIN_SECONDS * 1000 < LAST_REQUESTS_MS) await sleep(LAST_REQUESTS_MS)
}

async function stopAll({ database, backup, outbox, jobs, smtp, http, metrics }: Running): Promise<void> {
  await Promise.all([
    Promise.race([http.stop(false), sleep(STOP_TIMEOUT_MS)]),
    smtp?.close({ timeout_ms: STOP_TIMEOUT_MS }),
  ])
  await http.stop(true)
  // A statement whose answer is lost must not keep the process: its work has not been committed, or its lease runs out.
  const ended = Promise.all([outbox.stop(OUTBOX_TIMEOUT_MS), jobs.stop()])
  const late = await Promise.race([ended, sleep(OUTBOX_TIMEOUT_MS + SETTLE_TIMEOUT_MS, 'late' as const)])
  if (late === 'late') log.warn('the outbox or a background job did not end in time')
  await Promise.all([closeHandlers(), metrics?.stop(true), stopTracing()])
  await backup?.stop()
  await database.close()
}
