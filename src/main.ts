/** Starts the service, and stops it in order: database, outbox, mail, HTTP; then the same backwards. */
import { createApp } from './app'
import { CONFIG_EXIT_CODE, ConfigError, config, ignoreProxies } from './config'
import { EmbeddedError } from './db/embedded/supervise'
import { MigrationError } from './db/migrate'
import { connection } from './db/pool'
import { log, safeError } from './log'
import { acceptMessage, findRecipient } from './mail/inbound/accept'
import { checkCapacity } from './mail/inbound/capacity'
import { type SmtpListener, startSmtpListener } from './mail/smtp/listener'
import { startMetrics } from './metrics/listener'
import { observeSmtp } from './metrics/smtp-transactions'
import { createFirstOrganization } from './organizations/first'
import { startDrain } from './outbox/drain'
import { endAllLeases } from './outbox/operate'
import { announceOutcome } from './outbox/outcome'
import { isDatabaseReady, openDatabase } from './start/database'
import { startJobs } from './start/jobs'
import { closeHandlers, HANDLERS } from './start/outbox-handlers'
import { checkSettings, readCertificate } from './start/preflight'

/** How long requests, messages and deliveries in flight may take to end: 30 s in all are promised. */
const STOP_TIMEOUT_MS = 20_000
const DRAIN_STOP_TIMEOUT_MS = 8_000
/** A request may wait for its first email attempt, and an upload for its client. */
const IDLE_TIMEOUT_S = 120

process.on('uncaughtException', die)
process.on('unhandledRejection', die)

// Not awaited at the top level: while that is pending, Bun only prints what nobody caught.
start().catch((error) => {
  const is_for_operator = [EmbeddedError, MigrationError, ConfigError].some((kind) => error instanceof kind)
  process.stderr.write(`deskwire: ${is_for_operator ? error.message : explain(error)}\n`)
  process.exit(error instanceof ConfigError ? CONFIG_EXIT_CODE : 1)
})

async function start(): Promise<void> {
  ignoreProxies()
  await checkSettings()
  const tls = readCertificate()
  const database = await openDatabase({ shared: false, create: true, pool_size: config.DATABASE_POOL })
  const admin = await createFirstOrganization(connection())
  // The embedded database has no other service.
  if (database.kind === 'embedded') await endAllLeases(connection())
  let stopping = false
  const drain = startDrain(connection(), HANDLERS, {
    on_settled: (kind, id) => kind === 'email' && announceOutcome(id),
  })
  const jobs = startJobs(connection())
  const smtp = config.SMTP_PORT > 0 ? await naming('SMTP_PORT', () => startSmtp(tls)) : undefined
  const app = createApp(async () => !stopping && (await isDatabaseReady()))
  await naming('PORT', async () =>
    app.listen({
      port: config.PORT,
      hostname: config.HOST,
      reusePort: false,
      idleTimeout: IDLE_TIMEOUT_S,
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      ...(tls && { tls }),
    }),
  )
  const metrics = await naming('METRICS_PORT', () => startMetrics(connection()))
  log.info({ port: app.server?.port, smtp_port: smtp?.port, database: database.kind }, 'ready')
  welcome(smtp, admin)

  let signals = 0
  const stop = async (signal: string) => {
    if (signals++ > 0) process.exit(1)
    stopping = true
    log.info({ signal }, 'stopping')
    await Promise.all([
      Promise.race([app.server?.stop(false), Bun.sleep(STOP_TIMEOUT_MS)]),
      smtp?.close({ timeout_ms: STOP_TIMEOUT_MS }),
    ])
    await app.server?.stop(true)
    await Promise.all([drain.stop(DRAIN_STOP_TIMEOUT_MS), jobs.stop()])
    await Promise.all([closeHandlers(), metrics?.stop(true)])
    await database.close()
    log.info('stopped')
    process.exit(0)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop(signal).catch(die))
}

function startSmtp(tls: { cert: string; key: string } | undefined): Promise<SmtpListener> {
  return startSmtpListener({
    port: config.SMTP_PORT,
    host: config.HOST,
    hostname: config.SMTP_HOSTNAME,
    max_bytes: config.SMTP_MAX_BYTES,
    max_clients: config.SMTP_MAX_CLIENTS,
    max_clients_per_address: config.SMTP_MAX_CLIENTS_PER_ADDRESS,
    proxies: config.SMTP_TRUSTED_PROXIES,
    tls,
    refusal: checkCapacity(connection().sql),
    observe: observeSmtp,
    recipients: (address) => findRecipient(connection(), address),
    store: (envelope, raw) => acceptMessage(connection(), envelope, raw),
    log,
  })
}

/** A port that cannot be had is a fault of the setting that named it. @throws ConfigError */
async function naming<T>(variable: 'PORT' | 'SMTP_PORT' | 'METRICS_PORT', listen: () => Promise<T>): Promise<T> {
  try {
    return await listen()
  } catch (error) {
    const { code } = safeError(error)
    if (code !== 'EADDRINUSE' && code !== 'EACCES' && code !== 'EADDRNOTAVAIL') throw error
    const why = code === 'EADDRINUSE' ? 'is in use' : 'cannot be opened'
    throw new ConfigError(`${variable} ${config[variable]} on ${config.HOST} ${why}`)
  }
}

/** For the person who starts it. On standard error: standard output has the log only. */
function welcome(smtp: SmtpListener | undefined, admin: Awaited<ReturnType<typeof createFirstOrganization>>): void {
  const { BASE_URL } = config
  const lines = [
    '',
    `Deskwire is ready.`,
    `  API            ${BASE_URL}/api/v1`,
    `  Documentation  ${BASE_URL}/swagger`,
    `  Inbound mail   ${smtp ? `smtp://${config.SMTP_HOSTNAME}:${smtp.port}` : 'off (SMTP_PORT=0)'}`,
  ]
  if (admin) lines.push(`  Admin          ${admin.email}`)
  if (admin?.password) lines.push(`  Password       ${admin.password}   (shown only now)`)
  const email = admin?.email ?? config.ADMIN_EMAIL
  const password = admin?.password ?? '<password>'
  lines.push(
    '',
    'First steps:',
    `  TOKEN=$(curl -s ${BASE_URL}/api/v1/auth/login -H 'content-type: application/json' \\`,
    `    -d '{"email":"${email}","password":"${password}"}' | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')`,
    `  curl -s ${BASE_URL}/api/v1/mailboxes -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' \\`,
    `    -d '{"address":"support@example.com"}'`,
    `  curl -s ${BASE_URL}/api/v1/tickets -H "authorization: Bearer $TOKEN"`,
    '',
  )
  process.stderr.write(`${lines.join('\n')}\n`)
}

function explain(error: unknown): string {
  const { code, name, message } = safeError(error)
  return `cannot start: ${code ?? message ?? name}`
}

function die(error: unknown): never {
  log.fatal({ error: safeError(error) }, 'the service ends because of an error that nobody caught')
  process.exit(70)
}
