/** Starts the service in order: database, outbox, inbound mail, HTTP. Stops it in the reverse order on a signal. */
import { createApp } from './app'
import { ConfigError, config, ignoreProxies } from './config'
import { connection, jobConnection } from './db/pool'
import { log, safeError } from './log'
import { startInbound } from './mail/inbound/listen'
import type { SmtpListener } from './mail/smtp/listener'
import { startMetrics } from './metrics/prometheus'
import { createFirstOrganization } from './organizations/first'
import { type Drain, startDrain } from './outbox/drain'
import { endAllLeases } from './outbox/operate'
import { onStopRequest } from './process/stop-request'
import { isDatabaseReady, type OpenDatabase, openDatabase } from './start/database'
import { dropRoot } from './start/drop-root'
import { exitWith } from './start/exit'
import { keepPassword } from './start/first-password'
import { startJobs } from './start/jobs'
import { closeHandlers, HANDLERS } from './start/outbox-handlers'
import { type Certificate, checkSettings, readCertificate } from './start/preflight'
import { welcome } from './start/welcome'

/** Longest wait for requests and SMTP messages in flight, then for the outbox: together less than the promised 30 s. */
const STOP_TIMEOUT_MS = 20_000
const DRAIN_STOP_TIMEOUT_MS = 8_000
/** Longest silence on an HTTP connection: a request may wait for its first email attempt, an upload for its client. */
const IDLE_TIMEOUT_S = 120

type Running = {
  database: OpenDatabase
  drain: Drain
  jobs: ReturnType<typeof startJobs>
  smtp: SmtpListener | undefined
  app: ReturnType<typeof createApp>
  metrics: Awaited<ReturnType<typeof startMetrics>>
}

process.on('uncaughtException', die)
process.on('unhandledRejection', die)

// Not awaited: while a top-level await is pending, Bun only prints what nobody caught and goes on.
start().catch((error) => exitWith(error, explain))

async function start(): Promise<void> {
  ignoreProxies()
  await checkSettings()
  const certificate = readCertificate()
  const why_root = await dropRoot('create')
  if (why_root) log.warn(`the service stays root, because ${why_root}`)
  const stopping = new AbortController()
  // First, because it fails when a route declares too little.
  const app = createApp(async () => !stopping.signal.aborted && (await isDatabaseReady()))
  const database = await openDatabase({
    other_service: 'refuse',
    no_database: 'create',
    pool_size: config.DATABASE_POOL,
  })
  const admin = await createFirstOrganization(connection())
  if (admin?.password) keepPassword(admin.password)
  // No other service uses the embedded database, so whoever held a lease is dead.
  if (database.kind === 'embedded') await endAllLeases(connection())
  const drain = startDrain(connection(), HANDLERS)
  const jobs = startJobs(jobConnection())
  const smtp =
    config.SMTP_PORT > 0 ? await onPort('SMTP_PORT', () => startInbound(connection(), certificate)) : undefined
  await onPort('PORT', async () => listen(app, certificate))
  const metrics = await onPort('METRICS_PORT', () => startMetrics(connection()))
  log.info({ port: app.server?.port, smtp_port: smtp?.port, database: database.kind }, 'ready')
  welcome(smtp?.port, admin?.email)
  stopOnSignal(stopping, { database, drain, jobs, smtp, app, metrics })
}

function listen(app: Running['app'], certificate: Certificate | undefined): void {
  app.listen({
    port: config.PORT,
    hostname: config.HOST,
    // A second service on the same port must fail, not take part of the requests in silence.
    reusePort: false,
    idleTimeout: IDLE_TIMEOUT_S,
    // The limits are the routes' own, with an answer that says so.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    ...(certificate && { tls: certificate }),
  })
}

/** Blames the setting of a port for a listener that cannot have it. @throws ConfigError */
async function onPort<T>(variable: 'PORT' | 'SMTP_PORT' | 'METRICS_PORT', listen: () => Promise<T>): Promise<T> {
  try {
    return await listen()
  } catch (error) {
    const { code } = safeError(error)
    if (code !== 'EADDRINUSE' && code !== 'EACCES' && code !== 'EADDRNOTAVAIL') throw error
    const why = code === 'EADDRINUSE' ? 'is in use' : 'cannot be opened'
    const host = variable === 'METRICS_PORT' ? config.METRICS_HOST : config.HOST
    throw new ConfigError(`${variable} ${config[variable]} on ${host} ${why}`)
  }
}

/** Stops everything on the first SIGTERM or SIGINT and exits with 0; the second one ends the process at once. */
function stopOnSignal(stopping: AbortController, running: Running): void {
  const stop = async (signal: string) => {
    if (stopping.signal.aborted) process.exit(1)
    stopping.abort()
    log.info({ signal }, 'stopping')
    await stopAll(running)
    log.info('stopped')
    process.exit(0)
  }
  onStopRequest((signal) => void stop(signal).catch(die))
}

async function stopAll({ database, drain, jobs, smtp, app, metrics }: Running): Promise<void> {
  await Promise.all([
    Promise.race([app.server?.stop(false), Bun.sleep(STOP_TIMEOUT_MS)]),
    smtp?.close({ timeout_ms: STOP_TIMEOUT_MS }),
  ])
  await app.server?.stop(true)
  await Promise.all([drain.stop(DRAIN_STOP_TIMEOUT_MS), jobs.stop()])
  await Promise.all([closeHandlers(), metrics?.stop(true)])
  await database.close()
}

function explain(error: unknown): string {
  const { code, name, message } = safeError(error)
  return `cannot start: ${code ?? message ?? name}`
}

function die(error: unknown): never {
  log.fatal({ error: safeError(error) }, 'the service ends because of an error that nobody caught')
  process.exit(70)
}
