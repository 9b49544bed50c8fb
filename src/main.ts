/** Starts the service in order: database, outbox, inbound mail, HTTP. `operate/start/stop.ts` stops it on a signal. */
import { createApp } from './app'
import { ConfigError, config, ignoreProxies } from './base/config'
import { watchClock } from './base/db/clock'
import { watchMachines } from './base/db/cluster/watch-machines'
import { connection, endConnections, jobConnection, watchConnection } from './base/db/pool'
import { log, safeError } from './base/log'
import { build } from './base/process/build'
import { giveBackAtRest } from './base/process/collect'
import { startTracing } from './base/tracing/start-tracing'
import { startDrain } from './delivery/outbox/drain'
import { endAllLeases } from './delivery/outbox/operate'
import { connectRedis } from './http/admission/redis-client'
import { HttpListener } from './http/pipeline/http-listener'
import { startInbound } from './mail/inbound/listen'
import { prepareTarget, startBackup } from './operate/continuous/start-backup'
import { listenForProfiles } from './operate/profile/answer-profiles'
import { CertificateKeeper } from './operate/start/certificate'
import { isDatabaseReady, openDatabase } from './operate/start/database'
import { dropRoot } from './operate/start/drop-root'
import { exitWith } from './operate/start/exit'
import { keepPassword } from './operate/start/first-password'
import { startJobs } from './operate/start/jobs'
import { HANDLERS } from './operate/start/outbox-handlers'
import { checkSettings, readCertificate } from './operate/start/preflight'
import { startMetrics } from './operate/start/prometheus'
import { logLostSecrets } from './operate/start/secret-groups'
import { stopOnSignal } from './operate/start/stop'
import { welcome } from './operate/start/welcome'
import { createFirstOrganization } from './people/organizations/first'

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
  const why_root = await dropRoot('serve', config, prepareTarget())
  if (why_root) log.warn(`the service stays root, because ${why_root}`)
  // Once more: as another user it reads a renewed one.
  else readCertificate()
  const stopping = new AbortController()
  // First, because it fails when a route declares too little.
  const app = createApp(isDatabaseReady, stopping.signal)
  const database = await openDatabase({
    other_service: 'refuse',
    no_database: 'create',
    pool_size: config.DATABASE_POOL,
  })
  if (database.migrated.length > 0) log.info({ migrations: database.migrated }, 'the database was migrated')
  const watching = database.is_cluster && watchMachines(watchConnection(), endConnections)
  await Promise.all([watchClock(connection()), watching, connectRedis()])
  await startTracing(connection().sql)
  const admin = await createFirstOrganization(connection())
  if (admin?.password) keepPassword(admin.password)
  // No other service uses the embedded database, so the holder of any lease is dead.
  if (database.kind === 'embedded') await endAllLeases(connection())
  const backup = await startBackup(database.owner)
  const outbox = startDrain(connection(), HANDLERS)
  const jobs = startJobs(jobConnection())
  const smtp =
    config.SMTP_PORT > 0 ? await onPort('SMTP_PORT', () => startInbound(connection(), certificate)) : undefined
  // A connection to the database keeps the plans of all its statements, and what large mails needed. On a cluster a new
  // one waits for a machine that hangs, longer than a read may take.
  giveBackAtRest(() => database.is_cluster || endConnections('idle'))
  const http = new HttpListener(app)
  await onPort('PORT', () => http.listen(certificate))
  const metrics = await onPort('METRICS_PORT', () => startMetrics(connection()))
  listenForProfiles()
  log.info({ port: http.port, smtp_port: smtp?.port, database: database.kind }, 'ready')
  welcome(smtp?.port, admin?.email)
  logLostSecrets(connection())
  keeper.start((changed) => {
    http.replaceCertificate(changed)
    smtp?.replaceCertificate(changed)
  })
  stopOnSignal(stopping, { database, backup, outbox, jobs, smtp, http, metrics }, die)
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
