import { describe, expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { hostname } from 'node:os'
import path from 'node:path'
import ipaddr from 'ipaddr.js'
import { ConfigError, readConfig } from '../../../src/base/config'

/** The shortest that is allowed: 32 characters, 8 of them different. */
const KEY = 'abcdefgh'.repeat(4)

describe('settings', () => {
  test('have the defaults that are documented', () => {
    expect(readConfig({})).toEqual({
      PORT: 3000,
      HOST: '0.0.0.0',
      BASE_URL: 'http://localhost:3000',
      TLS_CERT_FILE: undefined,
      TLS_KEY_FILE: undefined,
      TRUSTED_PROXIES: [],
      DRAIN_SECONDS: 0,
      DATABASE_URL: undefined,
      DATABASE_DIRECT_URL: undefined,
      DATABASE_POOL: 10,
      DATA_DIR: path.resolve('data'),
      SECRET_KEY: undefined,
      SECRET_KEY_PREVIOUS: undefined,
      ADMIN_EMAIL: 'admin@example.com',
      ADMIN_PASSWORD: undefined,
      ADMIN_NAME: 'Admin',
      ORGANIZATION_NAME: 'My organization',
      SMTP_PORT: 2525,
      SMTP_HOSTNAME: hostname(),
      SMTP_ALLOWED_NETWORKS: [],
      METRICS_HOST: '127.0.0.1',
      SWAGGER: 'on',
      MCP: 'on',
      CONSOLE: 'on',
      SMTP_TRUSTED_PROXIES: [],
      SMTP_TRUSTED_RELAYS: [],
      TRUSTED_AUTHSERV_ID: undefined,
      RSPAMD_URL: undefined,
      CLAMD_HOST: undefined,
      DNS_SERVERS: [],
      SMTP_MAX_CLIENTS: 1000,
      SMTP_MAX_CLIENTS_PER_ADDRESS: 50,
      SMTP_MAX_BYTES: 26_214_400,
      MAX_BODY_BYTES_IN_FLIGHT: 104_857_600,
      ATTACHMENT_MAX_BYTES: 26_214_400,
      ATTACHMENT_QUOTA_BYTES: 0,
      ATTACHMENT_STORE: 'file',
      S3_ENDPOINT: undefined,
      S3_REGION: undefined,
      S3_ACCESS_KEY_ID: undefined,
      S3_SECRET_ACCESS_KEY: undefined,
      BACKUP_TO: undefined,
      BACKUP_PASSPHRASE: undefined,
      BACKUP_LAG_SECONDS: 60,
      BACKUP_BASE_HOURS: 24,
      BACKUP_KEEP_DAYS: 14,
      BACKUP_SPOOL_BYTES: 2_000_000_000,
      BACKUP_VERIFY: 'on',
      BACKUP_S3_ENDPOINT: undefined,
      BACKUP_S3_REGION: undefined,
      BACKUP_S3_ACCESS_KEY_ID: undefined,
      BACKUP_S3_SECRET_ACCESS_KEY: undefined,
      REDIS_URL: undefined,
      RATE_LIMIT_PER_MINUTE: 100,
      SESSION_RATE_LIMIT_PER_MINUTE: 100,
      ACCESS_TOKEN_SECONDS: 900,
      REFRESH_TOKEN_SECONDS: 604_800,
      RETRY_SCHEDULE_SECONDS: [0, 60, 300, 1800, 7200],
      EMAIL_GIVE_UP_SECONDS: 432_000,
      EMAIL_INLINE_WAIT_MS: 10_000,
      WEBHOOK_ALLOWED_NETWORKS: [],
      WEBHOOK_CA_FILE: undefined,
      IDENTITY_ALLOWED_NETWORKS: [],
      IDENTITY_CA_FILE: undefined,
      MAIL_ALLOWED_NETWORKS: [],
      MAILBOX_DOMAIN_CHECK: 'off',
      MAIL_CA_FILE: undefined,
      DELETED_RETENTION_DAYS: 30,
      CLOSED_RETENTION_DAYS: 0,
      ACCOUNT_RETENTION_DAYS: 365,
      AUDIT_RETENTION_DAYS: 365,
      LEDGER_RETENTION_DAYS: 730,
      DELIVERY_HOLD_DAYS: 7,
      DELIVERY_RETENTION_DAYS: 30,
      EVENT_RETENTION_DAYS: 30,
      STREAMS_PER_ORGANIZATION: 200,
      RAW_MAIL_RETENTION_DAYS: 30,
      METRICS_PORT: undefined,
      SYSTEM_SMTP_URL: undefined,
      SYSTEM_MAIL_FROM: undefined,
      INVITATION_URL: 'http://localhost:3000/invitation',
      PASSWORD_RESET_URL: 'http://localhost:3000/password-reset',
      NOTIFY_GROUP_SECONDS: 300,
      LOG_LEVEL: 'info',
      OTEL_EXPORTER_OTLP_ENDPOINT: undefined,
      OTEL_TRACES_SAMPLER: 'parentbased_always_on',
      OTEL_TRACES_SAMPLER_ARG: 1,
      LOG_FORMAT: process.stdout.isTTY ? 'text' : 'json',
      LOG_CLIENT_ADDRESS: 'full',
      CHECK_RESPONSES: false,
    })
  })

  test('that are empty or blank count as absent, others are trimmed', () => {
    const config = readConfig({ PORT: '', HOST: ' ', ADMIN_NAME: '  Ada ', SECRET_KEY: '', DATABASE_URL: '' })
    expect(config).toMatchObject({ PORT: 3000, HOST: '0.0.0.0', ADMIN_NAME: 'Ada' })
  })

  test.each<[Record<string, string>, Record<string, unknown>]>([
    [{ PORT: '0' }, { PORT: 0, BASE_URL: 'http://localhost:0' }],
    [{ PORT: '8080' }, { PORT: 8080, BASE_URL: 'http://localhost:8080' }],
    [{ BASE_URL: 'https://desk.example.com//' }, { BASE_URL: 'https://desk.example.com' }],
    [{ BASE_URL: 'https://example.com/desk/' }, { BASE_URL: 'https://example.com/desk' }],
    [{ DATA_DIR: 'somewhere' }, { DATA_DIR: path.resolve('somewhere') }],
    [{ RATE_LIMIT_PER_MINUTE: '0' }, { RATE_LIMIT_PER_MINUTE: 0, SESSION_RATE_LIMIT_PER_MINUTE: 0 }],
    [{ SESSION_RATE_LIMIT_PER_MINUTE: '300' }, { RATE_LIMIT_PER_MINUTE: 100, SESSION_RATE_LIMIT_PER_MINUTE: 300 }],
    [{ SMTP_PORT: '0' }, { SMTP_PORT: 0 }],
    [{ METRICS_PORT: '9090' }, { METRICS_PORT: 9090 }],
    [{ RETRY_SCHEDULE_SECONDS: '0, 0.5,2' }, { RETRY_SCHEDULE_SECONDS: [0, 0.5, 2] }],
    [{ RETRY_SCHEDULE_SECONDS: '1' }, { RETRY_SCHEDULE_SECONDS: [1] }],
    [
      { ATTACHMENT_STORE: 's3://bucket/a/b', S3_ACCESS_KEY_ID: 'id', S3_SECRET_ACCESS_KEY: 'secret' },
      { ATTACHMENT_STORE: 's3://bucket/a/b', S3_ACCESS_KEY_ID: 'id', S3_SECRET_ACCESS_KEY: 'secret' },
    ],
    [{ SMTP_HOSTNAME: 'mail.example.com' }, { SMTP_HOSTNAME: 'mail.example.com' }],
    [{ SMTP_HOSTNAME: '[203.0.113.5]' }, { SMTP_HOSTNAME: '[203.0.113.5]' }],
    [
      { LOG_LEVEL: 'silent', LOG_FORMAT: 'text' },
      { LOG_LEVEL: 'silent', LOG_FORMAT: 'text' },
    ],
    [
      { TLS_CERT_FILE: 'a.crt', TLS_KEY_FILE: 'a.key' },
      { TLS_CERT_FILE: 'a.crt', TLS_KEY_FILE: 'a.key', BASE_URL: 'https://localhost:3000' },
    ],
    [
      { DATABASE_URL: 'postgresql://db/desk', SECRET_KEY: KEY },
      { DATABASE_URL: 'postgresql://db/desk', SECRET_KEY: KEY },
    ],
    [{ NODE_ENV: 'test' }, { CHECK_RESPONSES: true }],
  ])('%j is understood', (env, expected) => {
    expect(readConfig(env)).toMatchObject(expected)
  })

  test('of networks with a port are read with it', () => {
    const given = '10.0.0.0/8:25, 192.0.2.7:587, [::1]:25, 2001:db8::/32:465, 192.0.2.0/24, 2001:db8::25'
    const cidrs = ['10.0.0.0/8', '192.0.2.7/32', '::1/128', '2001:db8::/32', '192.0.2.0/24', '2001:db8::25/128']
    const ports = [[25], [587], [25], [465], [], []]
    const networks = cidrs.map((cidr, place) => [...ipaddr.parseCIDR(cidr), ...ports[place]!])
    expect<unknown>(readConfig({ MAIL_ALLOWED_NETWORKS: given }).MAIL_ALLOWED_NETWORKS).toEqual(networks)
  })

  test('of networks are read with their prefix, one address without', () => {
    const { TRUSTED_PROXIES } = readConfig({ TRUSTED_PROXIES: '10.0.0.0/8, 192.0.2.7,::1, ,2001:db8::/32' })
    const networks = ['10.0.0.0/8', '192.0.2.7/32', '::1/128', '2001:db8::/32'].map((cidr) => ipaddr.parseCIDR(cidr))
    expect(TRUSTED_PROXIES).toEqual(networks)
  })
})

describe('a wrong setting is refused by its name:', () => {
  const whole = [
    ['PORT', '65536'],
    ['DATABASE_POOL', '0'],
    ['SMTP_PORT', '-1'],
    ['SMTP_MAX_BYTES', '10'],
    ['SMTP_MAX_CLIENTS', '0'],
    ['SMTP_MAX_CLIENTS_PER_ADDRESS', 'many'],
    ['ATTACHMENT_MAX_BYTES', '25MB'],
    ['RATE_LIMIT_PER_MINUTE', 'off'],
    ['ACCESS_TOKEN_SECONDS', '0'],
    ['REFRESH_TOKEN_SECONDS', '1.5'],
    ['EMAIL_INLINE_WAIT_MS', '60001'],
    ['DELETED_RETENTION_DAYS', '1e3'],
    ['DELIVERY_HOLD_DAYS', '0'],
    ['DELIVERY_RETENTION_DAYS', '0'],
    ['EVENT_RETENTION_DAYS', '366'],
    ['RAW_MAIL_RETENTION_DAYS', '0x10'],
    ['METRICS_PORT', 'yes'],
  ]
  test.each(whole)('%s=%s', (name, value) => {
    expect(() => readConfig({ [name!]: value })).toThrow(
      new RegExp(`^${name} must be a whole number from \\d+ to \\d+$`),
    )
  })

  test.each<[string, Record<string, string>]>([
    ['BASE_URL', { BASE_URL: 'desk.example.com' }],
    ['BASE_URL', { BASE_URL: 'ftp://desk.example.com' }],
    ['BASE_URL', { BASE_URL: 'https://desk.example.com/?a=b' }],
    ['BASE_URL', { BASE_URL: 'https://desk.example.com/?' }],
    ['BASE_URL', { BASE_URL: 'https://desk.example.com/#top' }],
    ['BASE_URL', { BASE_URL: 'https://user:pass@desk.example.com' }],
    ['DATABASE_URL', { DATABASE_URL: 'mysql://db/desk', SECRET_KEY: KEY }],
    ['SECRET_KEY', { DATABASE_URL: 'postgres://db/desk' }],
    ['SECRET_KEY', { SECRET_KEY: KEY.slice(1) }],
    ['SECRET_KEY', { SECRET_KEY: 'abcdefg'.repeat(10) }],
    ['SECRET_KEY', { SECRET_KEY: 'short', SECRET_KEY_PREVIOUS: 'present' }],
    ['TLS_KEY_FILE', { TLS_CERT_FILE: 'a.crt' }],
    ['TLS_CERT_FILE', { TLS_KEY_FILE: 'a.key' }],
    ['TRUSTED_PROXIES', { TRUSTED_PROXIES: '10.0.0.0/8,proxy' }],
    ['DNS_SERVERS', { DNS_SERVERS: 'dns.example.com' }],
    ['DNS_SERVERS', { DNS_SERVERS: '10.0.0.53:99999' }],
    ['MAILBOX_DOMAIN_CHECK', { MAILBOX_DOMAIN_CHECK: 'yes' }],
    ['SMTP_TRUSTED_PROXIES', { SMTP_TRUSTED_PROXIES: '*' }],
    ['WEBHOOK_ALLOWED_NETWORKS', { WEBHOOK_ALLOWED_NETWORKS: '10.0.0.0/33' }],
    ['MAIL_ALLOWED_NETWORKS', { MAIL_ALLOWED_NETWORKS: '10.0.0.0/8:70000' }],
    ['MAIL_ALLOWED_NETWORKS', { MAIL_ALLOWED_NETWORKS: '10.0.0.0/8:smtp' }],
    ['MAIL_ALLOWED_NETWORKS', { MAIL_ALLOWED_NETWORKS: '300.0.0.1' }],
    ['ADMIN_PASSWORD', { ADMIN_PASSWORD: 'seven77' }],
    ['ADMIN_PASSWORD', { ADMIN_PASSWORD: 'x'.repeat(201) }],
    ['ATTACHMENT_STORE', { ATTACHMENT_STORE: 's3://' }],
    ['ATTACHMENT_STORE', { ATTACHMENT_STORE: '/var/files' }],
    ['S3_ACCESS_KEY_ID', { ATTACHMENT_STORE: 's3://bucket/x' }],
    ['S3_SECRET_ACCESS_KEY', { ATTACHMENT_STORE: 's3://bucket/x', S3_ACCESS_KEY_ID: 'id' }],
    ['SMTP_HOSTNAME', { SMTP_HOSTNAME: 'a b' }],
    ['SMTP_HOSTNAME', { SMTP_HOSTNAME: 'https://mail.example.com' }],
    ['S3_ENDPOINT', { S3_ENDPOINT: 'minio:9000' }],
    ['REDIS_URL', { REDIS_URL: 'localhost:6379' }],
    ['RETRY_SCHEDULE_SECONDS', { RETRY_SCHEDULE_SECONDS: '0,soon' }],
    ['RETRY_SCHEDULE_SECONDS', { RETRY_SCHEDULE_SECONDS: '0,,60' }],
    ['RETRY_SCHEDULE_SECONDS', { RETRY_SCHEDULE_SECONDS: '-1' }],
    ['LOG_LEVEL', { LOG_LEVEL: 'loud' }],
    ['LOG_FORMAT', { LOG_FORMAT: 'xml' }],
    ['OTEL_TRACES_SAMPLER_ARG', { OTEL_TRACES_SAMPLER_ARG: '1.5' }],
  ])('%s in %j', (name, env) => {
    expect(() => readConfig(env)).toThrow(ConfigError)
    expect(() => readConfig(env)).toThrow(new RegExp(`^${name} [^\\n]+$`))
  })

  const LISTS_OF_NETWORKS = [
    ...['TRUSTED_PROXIES', 'SMTP_ALLOWED_NETWORKS', 'SMTP_TRUSTED_PROXIES', 'SMTP_TRUSTED_RELAYS'],
    ...['WEBHOOK_ALLOWED_NETWORKS', 'MAIL_ALLOWED_NETWORKS'],
  ]
  test.each(LISTS_OF_NETWORKS)('%s with an address that is written in a short or an octal form', (name) => {
    for (const part of [
      '10/8',
      '10.0.0/8',
      '10.0.0',
      '010.0.0.0/8',
      '010.0.0.1',
      '0x0a.0.0.0/8',
      '1',
      'fe80::1%eth0',
    ]) {
      const given = { [name]: `192.0.2.0/24,${part}` }
      expect(() => readConfig(given)).toThrow(
        new ConfigError(`${name} holds ${part}, which is neither a network, such as 10.0.0.0/8, nor an address`),
      )
    }
  })

  test('a secret is never repeated in the message', () => {
    for (const env of [{ SECRET_KEY: 'too short' }, { ADMIN_PASSWORD: 'pass' }]) {
      const [value] = Object.values(env)
      expect(() => readConfig(env)).toThrow(ConfigError)
      expect(() => readConfig(env)).not.toThrow(value)
    }
  })

  test('a short secret key can be changed: it may be any as the previous one', () => {
    expect(() => readConfig({ SECRET_KEY: 'the former key' })).toThrow('SECRET_KEY_PREVIOUS to the present one')
    const changed = { SECRET_KEY: KEY, SECRET_KEY_PREVIOUS: 'x' }
    expect(readConfig(changed)).toMatchObject(changed)
  })

  test('the service says so in one line and does not start', () => {
    const main = path.join(import.meta.dir, '../../../src/main.ts')
    const start = (env: Record<string, string>) =>
      spawnSync(process.execPath, [main], { encoding: 'utf8', env: { ...process.env, PORT: 'http', ...env } })
    const message = 'PORT must be a whole number from 0 to 65535'
    const { status, stdout, stderr } = start({ LOG_FORMAT: 'text' })
    expect([status, stdout, stderr]).toEqual([78, '', `deskwire: ${message}\n`])
    const collected = start({}).stderr
    expect(JSON.parse(collected)).toEqual({ level: 'fatal', time: expect.stringMatching(/Z$/), msg: message })
    expect(collected.trim()).not.toContain('\n')
  })
})
