/** Starts the service in order: database, outbox, inbound mail, HTTP. `start/stop.ts` stops it on a signal. */
import { createApp } from './app'
import { ConfigError, config, ignoreProxies } from './config'
import { watchClock } from './db/clock'
import { watchMachines } from './db/cluster/watch-machines'
import { connection, endConnections, jobConnection, watchConnection } from './db/pool'
import { HttpListener } from './http/http-listener'
import { connectRedis } from './http/redis-client'
import { log, safeError } from './log'
import { startInbound } from './mail/inbound/listen'
import { startMetrics } from './metrics/prometheus'
import { createFirstOrganization } from './organizations/first'
import { startDrain } from './outbox/drain'
import { endAllLeases } from './outbox/operate'
import { build } from './process/build'
import { CertificateKeeper } from './start/certificate'
import { isDatabaseReady, openDatabase } from './start/database'
import { dropRoot } from './start/drop-root'
import { exitWith } from './start/exit'
import { keepPassword } from './start/first-password'
import { startJobs } from './start/jobs'
import { HANDLERS } from './start/outbox-handlers'
import { checkSettings, readCertificate } from './start/preflight'
import { logLostSecrets } from './start/secret-groups'
import { stopOnSignal } from './start/stop'
import { welcome } from './start/welcome'
import { startTracing } from './tracing/start-tracing'

process.on('uncaughtException', die)
process.on('unhandledRejection', die)

// Not awaited: while a top-level await is pending, Bun only prints what nobody caught and goes on.
start().catch((error) => exitWith(error, explain))

async function start(): Promise<void> {
  log.info(build, 'starting')
  ignoreProxies()
  await checkSettings()
  const certificate = readCertificate()
  const keeper = new CertificateKeeper(certificate)
  const why_root = await dropRoot('create')
  if (why_root) log.warn(`the service stays root, because ${why_root}`)
  const stopping = new AbortController()
  // First, because it fails when a route declares too little.
  const app = createApp(isDatabaseReady, stopping.signal)
  const database = await openDatabase({
    other_service: 'refuse',
    no_database: 'create',
    pool_size: config.DATABASE_POOL,
  })
  const watching = database.is_cluster && watchMachines(watchConnection(), endConnections)
  await Promise.all([watchClock(connection()), watching, connectRedis()])
  await startTracing(connection().sql)
  const admin = await createFirstOrganization(connection())
  if (admin?.password) keepPassword(admin.password)
  // No other service uses the embedded database, so whoever held a lease is dead.
  if (database.kind === 'embedded') await endAllLeases(connection())
  const outbox = startDrain(connection(), HANDLERS)
  const jobs = startJobs(jobConnection())
  const smtp =
    config.SMTP_PORT > 0 ? await onPort('SMTP_PORT', () => startInbound(connection(), certificate)) : undefined
  const http = new HttpListener(app)
  await onPort('PORT', async () => http.listen(certificate))
  const metrics = await onPort('METRICS_PORT', () => startMetrics(connection()))
  log.info({ port: http.port, smtp_port: smtp?.port, database: database.kind }, 'ready')
  welcome(smtp?.port, admin?.email)
  logLostSecrets(connection())
  keeper.start((changed) => {
    http.replaceCertificate(changed)
    smtp?.replaceCertificate(changed)
  })
  stopOnSignal(stopping, { database, outbox, jobs, smtp, http, metrics }, die)
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

function explain(error: unknown): string {
  const { code, name, message } = safeError(error)
  return `cannot start: ${code ?? message ?? name}`
}

function die(error: unknown): never {
  log.fatal({ error: safeError(error) }, 'the service ends because of an error that nobody caught')
  process.exit(70)
}
