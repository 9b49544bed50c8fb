/**
 * The environment, checked once. The only module that reads `process.env`.
 * Names, defaults and meaning: decisions.md section 10 and the table in the README.
 */
import { hostname } from 'node:os'
import path from 'node:path'
import ipaddr from 'ipaddr.js'

/** A wrong value in the environment. Its message is one line that names the variable. */
export class ConfigError extends Error {}

/** How a process ends that has one (EX_CONFIG of sysexits.h). */
export const CONFIG_EXIT_CODE = 78

export type Config = ReturnType<typeof readConfig>

/**
 * Reads and checks every setting.
 * @param env the environment, `process.env` in production
 * @throws ConfigError naming the first variable with a wrong value
 */
export function readConfig(env: Record<string, string | undefined>) {
  const get = (name: string) => env[name]?.trim() || undefined

  const fail = (name: string, must: string): never => {
    throw new ConfigError(`${name} ${must}`)
  }

  const integer = (name: string, fallback: number, min: number, max: number) => {
    const text = get(name)
    if (text === undefined) return fallback
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    return value >= min && value <= max ? value : fail(name, `must be a whole number from ${min} to ${max}`)
  }

  const words = <const Words extends readonly string[]>(name: string, allowed: Words, fallback: Words[number]) => {
    const text = get(name) ?? fallback
    const word = allowed.find((candidate) => candidate === text)
    return (word ?? fail(name, `must be one of ${allowed.join(', ')}`)) as Words[number]
  }

  const networks = (name: string) =>
    (get(name) ?? '')
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean)
      .map((part) => {
        const cidr = part.includes('/') ? part : `${part}/${part.includes(':') ? 128 : 32}`
        return ipaddr.isValidCIDR(cidr) ? ipaddr.parseCIDR(cidr) : fail(name, `holds ${part}, which is no network`)
      })

  const url = (name: string, protocols: string[]) => {
    const text = get(name)
    if (text === undefined) return undefined
    if (!URL.canParse(text) || !protocols.includes(new URL(text).protocol)) {
      fail(name, `must be a URL with ${protocols.join(' or ')}`)
    }
    return text
  }

  const baseUrl = (fallback: string) => {
    const { href, search, hash, username, password } = new URL(url('BASE_URL', ['http:', 'https:']) ?? fallback)
    if (search || hash || username || password || /[?#]$/.test(href)) {
      fail('BASE_URL', 'must be the public address alone, such as https://desk.example.com')
    }
    return href.replace(/\/+$/, '')
  }

  const PORT = integer('PORT', 3000, 0, 65535)
  const DATABASE_URL = url('DATABASE_URL', ['postgres:', 'postgresql:'])
  const SECRET_KEY = get('SECRET_KEY')
  if (DATABASE_URL && !SECRET_KEY) fail('SECRET_KEY', 'is required with DATABASE_URL: set 32 or more random characters')
  const SECRET_KEY_PREVIOUS = get('SECRET_KEY_PREVIOUS')
  for (const [name, secret] of Object.entries({ SECRET_KEY, SECRET_KEY_PREVIOUS })) {
    if (secret && secret.length < 16) fail(name, 'must have at least 16 characters')
  }
  const TLS_CERT_FILE = get('TLS_CERT_FILE')
  const TLS_KEY_FILE = get('TLS_KEY_FILE')
  if (!TLS_CERT_FILE !== !TLS_KEY_FILE) {
    fail(TLS_CERT_FILE ? 'TLS_KEY_FILE' : 'TLS_CERT_FILE', 'must be set too: a certificate needs its key')
  }
  const ATTACHMENT_STORE = get('ATTACHMENT_STORE') ?? 'file'
  if (ATTACHMENT_STORE !== 'file' && !/^s3:\/\/[^/]+/.test(ATTACHMENT_STORE)) {
    fail('ATTACHMENT_STORE', 'must be file or s3://bucket/prefix')
  }
  const S3_ACCESS_KEY_ID = get('S3_ACCESS_KEY_ID')
  const S3_SECRET_ACCESS_KEY = get('S3_SECRET_ACCESS_KEY')
  for (const [name, value] of Object.entries({ S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY })) {
    if (ATTACHMENT_STORE !== 'file' && !value) fail(name, 'is required when ATTACHMENT_STORE is a bucket')
  }
  const SMTP_HOSTNAME = get('SMTP_HOSTNAME')
  if (SMTP_HOSTNAME && !/^([\w-]+(\.[\w-]+)*|\[[\w.:]+\])$/.test(SMTP_HOSTNAME)) {
    fail('SMTP_HOSTNAME', 'must be a host name, such as mail.example.com')
  }
  const ADMIN_PASSWORD = get('ADMIN_PASSWORD')
  if (ADMIN_PASSWORD && (ADMIN_PASSWORD.length < 8 || ADMIN_PASSWORD.length > 200)) {
    fail('ADMIN_PASSWORD', 'must have 8 to 200 characters')
  }
  const schedule = (get('RETRY_SCHEDULE_SECONDS') ?? '0,60,300,1800,7200').split(',').map((part) => part.trim())
  if (!schedule.every((part) => /^\d{1,7}(\.\d{1,3})?$/.test(part))) {
    fail('RETRY_SCHEDULE_SECONDS', 'must be seconds separated by commas, such as 0,60,300,1800,7200')
  }

  return {
    PORT,
    HOST: get('HOST') ?? '0.0.0.0',
    BASE_URL: baseUrl(`${TLS_CERT_FILE ? 'https' : 'http'}://localhost:${PORT}`),
    TLS_CERT_FILE,
    TLS_KEY_FILE,
    TRUSTED_PROXIES: networks('TRUSTED_PROXIES'),
    DATABASE_URL,
    DATABASE_POOL: integer('DATABASE_POOL', 10, 1, 1000),
    DATA_DIR: path.resolve(get('DATA_DIR') ?? './data'),
    SECRET_KEY,
    SECRET_KEY_PREVIOUS,
    ADMIN_EMAIL: get('ADMIN_EMAIL') ?? 'admin@example.com',
    ADMIN_PASSWORD,
    ADMIN_NAME: get('ADMIN_NAME') ?? 'Admin',
    ORGANIZATION_NAME: get('ORGANIZATION_NAME') ?? 'My organization',
    SMTP_PORT: integer('SMTP_PORT', 2525, 0, 65535),
    SMTP_HOSTNAME: SMTP_HOSTNAME ?? hostname(),
    SMTP_TRUSTED_PROXIES: networks('SMTP_TRUSTED_PROXIES'),
    SMTP_MAX_CLIENTS: integer('SMTP_MAX_CLIENTS', 1000, 1, 100_000),
    SMTP_MAX_CLIENTS_PER_ADDRESS: integer('SMTP_MAX_CLIENTS_PER_ADDRESS', 50, 1, 100_000),
    SMTP_MAX_BYTES: integer('SMTP_MAX_BYTES', 26_214_400, 1024, 1_000_000_000),
    ATTACHMENT_MAX_BYTES: integer('ATTACHMENT_MAX_BYTES', 26_214_400, 1024, 1_000_000_000),
    ATTACHMENT_STORE,
    S3_ENDPOINT: url('S3_ENDPOINT', ['http:', 'https:']),
    S3_REGION: get('S3_REGION'),
    S3_ACCESS_KEY_ID,
    S3_SECRET_ACCESS_KEY,
    REDIS_URL: url('REDIS_URL', ['redis:', 'rediss:']),
    RATE_LIMIT_PER_MINUTE: integer('RATE_LIMIT_PER_MINUTE', 100, 0, 1_000_000),
    ACCESS_TOKEN_SECONDS: integer('ACCESS_TOKEN_SECONDS', 900, 1, 86_400),
    REFRESH_TOKEN_SECONDS: integer('REFRESH_TOKEN_SECONDS', 604_800, 1, 31_536_000),
    /** Seconds before attempt 1, 2, ...: as many attempts as entries. */
    RETRY_SCHEDULE_SECONDS: schedule.map(Number),
    EMAIL_INLINE_WAIT_MS: integer('EMAIL_INLINE_WAIT_MS', 10_000, 0, 60_000),
    WEBHOOK_ALLOWED_NETWORKS: networks('WEBHOOK_ALLOWED_NETWORKS'),
    WEBHOOK_CA_FILE: get('WEBHOOK_CA_FILE'),
    MAIL_ALLOWED_NETWORKS: networks('MAIL_ALLOWED_NETWORKS'),
    MAIL_CA_FILE: get('MAIL_CA_FILE'),
    DELETED_RETENTION_DAYS: integer('DELETED_RETENTION_DAYS', 30, 0, 36_500),
    DELIVERY_HOLD_DAYS: integer('DELIVERY_HOLD_DAYS', 7, 1, 36_500),
    DELIVERY_RETENTION_DAYS: integer('DELIVERY_RETENTION_DAYS', 30, 1, 36_500),
    RAW_MAIL_RETENTION_DAYS: integer('RAW_MAIL_RETENTION_DAYS', 30, 1, 36_500),
    METRICS_PORT: get('METRICS_PORT') === undefined ? undefined : integer('METRICS_PORT', 0, 0, 65535),
    LOG_LEVEL: words('LOG_LEVEL', ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], 'info'),
    LOG_FORMAT: words('LOG_FORMAT', ['json', 'text'], process.stdout.isTTY ? 'text' : 'json'),
    /** Tests check every response against its model; production trusts its own select lists (limits.md 2.4). */
    CHECK_RESPONSES: env.NODE_ENV === 'test',
  }
}

/** A network as ipaddr.js matches it: base address and prefix length. */
export type Network = Config['TRUSTED_PROXIES'][number]

export const config = loadConfig()

/** Outgoing connections go where they say: a proxy of the environment would undo the check of their destination. */
export function ignoreProxies(): void {
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY']) {
    delete process.env[name]
    delete process.env[name.toLowerCase()]
  }
}

function loadConfig(): Config {
  try {
    return readConfig(process.env)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(`deskwire: ${error.message}\n`)
    process.exit(CONFIG_EXIT_CODE)
  }
}
