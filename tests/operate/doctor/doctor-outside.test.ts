/** The findings of the doctor outside of the database: S3, Redis, certificates, mail servers, disk, limits. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import S3rver from 's3rver'
import { readConfig } from '../../../src/base/config'
import { connectionFindings } from '../../../src/operate/doctor/database-server'
import { checkDisk } from '../../../src/operate/doctor/disk-space'
import { checkBackupAge, checkSecretFile } from '../../../src/operate/doctor/durability'
import type { Finding } from '../../../src/operate/doctor/finding'
import { checkSystemServer } from '../../../src/operate/doctor/mail-servers'
import { checkObjectStore } from '../../../src/operate/doctor/object-store'
import { checkLimits } from '../../../src/operate/doctor/process-limits'
import { checkRedis } from '../../../src/operate/doctor/redis'
import { checkSpamJudge } from '../../../src/operate/doctor/scanner'
import { checkSettingsAlone } from '../../../src/operate/doctor/settings-fit'
import { checkCertificate } from '../../../src/operate/doctor/tls-files'
import { issueCertificate, issueExpiredCertificate } from '../../support/certificates'
import { freePort } from '../../support/ports'
import { until } from '../../support/service'
import { withSettings } from '../../support/settings'
import { startSmtpSink } from '../../support/smtp'

let folder: string

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'doctor-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Settings as the environment gives them, for one test. */
function withEnvironment(environment: Record<string, string>) {
  return withSettings(readConfig({ NODE_ENV: 'test', ...environment }))
}

/** Findings, short: level, message, action. */
function texts(findings: Finding[]): string[] {
  return findings.map(({ level, message, action }) => `${level}: ${message} -> ${action}`)
}

describe('S3', () => {
  const bucket = (endpoint: string, more: Record<string, string> = {}) =>
    withEnvironment({
      ATTACHMENT_STORE: 's3://desk/prefix',
      S3_ENDPOINT: endpoint,
      S3_REGION: 'us-east-1',
      S3_ACCESS_KEY_ID: 'S3RVER',
      S3_SECRET_ACCESS_KEY: 'S3RVER',
      ...more,
    })

  test('that works gets a probe and keeps nothing of it; a bucket that does not exist is named', async () => {
    const directory = path.join(folder, 'buckets')
    const configureBuckets = [{ name: 'desk', configs: [] }]
    const server = new S3rver({ port: 0, address: '127.0.0.1', silent: true, directory, configureBuckets })
    const { port } = await server.run()
    try {
      using _ = bucket(`http://127.0.0.1:${port}`)
      expect(await checkObjectStore()).toEqual([])
      const left = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
      expect(left.map(({ name }) => name).filter((name) => name.includes('object'))).toEqual([])
      using __ = bucket(`http://127.0.0.1:${port}`, { ATTACHMENT_STORE: 's3://nobody' })
      expect(texts(await checkObjectStore())).toEqual([
        expect.stringMatching(/^error: An object cannot be written at s3:\/\/nobody .*: the bucket does not exist\./),
      ])
    } finally {
      await server.close()
    }
  })

  test('that is away is told from one that is not known', async () => {
    using _ = bucket(`http://127.0.0.1:${await freePort()}`)
    expect(texts(await checkObjectStore())[0]).toMatch(/nothing answers there.* -> Start S3/)
    using __ = bucket('http://nobody.invalid')
    expect(texts(await checkObjectStore())[0]).toMatch(/its name is not known/)
  })

  test.each([
    ['InvalidAccessKeyId', 403, 'the id of the key is not known'],
    ['SignatureDoesNotMatch', 403, 'Correct S3_SECRET_ACCESS_KEY'],
    ['AuthorizationHeaderMalformed', 400, 'Set S3_REGION'],
    ['AccessDenied', 403, 's3:PutObject'],
    ['RequestTimeTooSkewed', 403, 'the clock of this machine is wrong'],
    ['SomethingNew', 500, 'it answers SomethingNew'],
  ])('that answers %s', async (code, status, words) => {
    const body = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>no</Message></Error>`
    const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response(body, { status }) })
    using _ = bucket(`http://127.0.0.1:${server.port}`)
    expect(texts(await checkObjectStore())[0]).toContain(words)
    await server.stop(true)
  })
})

describe('rspamd', () => {
  test.each([
    ['that answers', 200, 'pong\r\n', undefined],
    ['that is something else', 200, 'hello', 'it answers 200, and no pong'],
    ['that fails', 503, 'pong', 'it answers 503, and no pong'],
  ])('%s', async (_, status, answer, fault) => {
    const fetch = ({ url }: Request) =>
      new URL(url).pathname === '/ping' ? new Response(answer, { status }) : new Response('', { status: 404 })
    await using server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch })
    using __ = withEnvironment({ RSPAMD_URL: `http://user:hush@127.0.0.1:${server.port}` })
    const found = texts(await checkSpamJudge())
    if (fault === undefined) expect(found).toEqual([])
    else expect(found[0]).toStartWith(`error: rspamd at 127.0.0.1:${server.port} does not work: ${fault}. `)
    expect(found.join()).not.toContain('hush')
  })

  test('that is away is an error', async () => {
    using _ = withEnvironment({ RSPAMD_URL: `http://127.0.0.1:${await freePort()}` })
    expect(texts(await checkSpamJudge())).toEqual([expect.stringMatching(/^error: rspamd at .* -> Start rspamd/)])
  })
})

describe('Redis', () => {
  const program = Bun.which('redis-server')

  test('that is away is an error', async () => {
    const port = await freePort()
    using _ = withEnvironment({ REDIS_URL: `redis://user:hush@127.0.0.1:${port}` })
    const [text, ...others] = texts(await checkRedis())
    expect(text).toMatch(new RegExp(`^error: Redis at 127.0.0.1:${port} cannot be used: ECONNREFUSED.* -> Start Redis`))
    expect(text).not.toContain('hush')
    expect(others).toEqual([])
  })

  test.skipIf(!program)('with a wrong password, or one that removes keys, is found', async () => {
    const port = await freePort()
    const limits = ['--maxmemory', '10mb', '--maxmemory-policy', 'allkeys-lru']
    const options = ['--port', String(port), '--save', '', '--requirepass', 'right', ...limits]
    const server = spawn(program!, options, { stdio: 'ignore' })
    try {
      using _ = withEnvironment({ REDIS_URL: `redis://:right@127.0.0.1:${port}` })
      await until('Redis answers', async () => (await checkRedis()).every(({ level }) => level === 'warning'))
      expect(texts(await checkRedis())).toEqual([expect.stringMatching(/maxmemory-policy allkeys-lru.*noeviction/)])
      using __ = withEnvironment({ REDIS_URL: `redis://:wrong@127.0.0.1:${port}` })
      expect(texts(await checkRedis())).toEqual([expect.stringMatching(/WRONGPASS.* -> Correct user and password/)])
    } finally {
      server.kill()
    }
  })
})

describe('the certificate', () => {
  const served = ({ cert_file, key_file }: { cert_file: string; key_file: string }, base_url = 'https://localhost') =>
    withEnvironment({
      TLS_CERT_FILE: cert_file,
      TLS_KEY_FILE: key_file,
      BASE_URL: base_url,
      SMTP_HOSTNAME: 'mx.desk.example',
    })

  test('that has expired is an error', async () => {
    using _ = served(await issueExpiredCertificate(['localhost', 'mx.desk.example']))
    expect(texts(await checkCertificate())).toEqual([
      expect.stringMatching(/^error: The certificate in TLS_CERT_FILE expired at \d{4}-.* -> Put a certificate /),
    ])
  })

  test('that expires soon, or does not cover the names, is a warning', async () => {
    using _ = served(await issueCertificate(), 'https://desk.example')
    expect(texts(await checkCertificate())).toEqual([
      expect.stringMatching(/^warning: The certificate in TLS_CERT_FILE expires at \d{4}-/),
      expect.stringMatching(/^warning: .* does not name desk\.example, the host of BASE_URL/),
      expect.stringMatching(/^warning: .* does not name mx\.desk\.example, the SMTP_HOSTNAME/),
    ])
  })

  test('with the key of another one is an error', async () => {
    const [one, other] = [await issueCertificate(), await issueCertificate(['desk.example'])]
    using _ = served({ cert_file: one.cert_file, key_file: other.key_file })
    expect(texts(await checkCertificate())[0]).toMatch(
      /^error: TLS_KEY_FILE names .* is not the key of the certificate/,
    )
  })
})

describe('the server of SYSTEM_SMTP_URL', () => {
  const through = (url: string) => withEnvironment({ SYSTEM_SMTP_URL: url, SYSTEM_MAIL_FROM: 'desk@operator.example' })

  test('that refuses the password is an error, which does not show it', async () => {
    using sink = await startSmtpSink({ auth: { user: 'desk', pass: 'right' } })
    using _ = through(`smtp://desk:wrong-one@127.0.0.1:${sink.port}`)
    const [text] = texts(await checkSystemServer())
    expect(text).toMatch(/^error: The server of SYSTEM_SMTP_URL, 127\.0\.0\.1:\d+, cannot be used: .*535/)
    expect(text).not.toContain('wrong-one')
    using __ = through(`smtp://desk:right@127.0.0.1:${sink.port}`)
    expect(await checkSystemServer()).toEqual([])
  })
})

describe('disk and limits', () => {
  test.skipIf(process.getuid?.() !== 0)('a full disk under DATA_DIR is an error', async () => {
    const where = path.join(folder, 'small')
    mkdirSync(where)
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'tmpfs', where])
    if (mounted.status !== 0) return console.warn('a small disk cannot be mounted here')
    try {
      using _ = withEnvironment({ DATA_DIR: where })
      expect(texts(await checkDisk())).toEqual([
        expect.stringMatching(/^error: Only 6\d MiB are free under DATA_DIR .* 200 MiB are kept free/),
      ])
    } finally {
      spawnSync('umount', ['-l', where])
    }
  })

  test('a DATA_DIR that is missing is an error, unless nothing needs it', async () => {
    const missing = path.join(folder, 'missing')
    using _ = withEnvironment({ DATA_DIR: missing })
    expect(texts(await checkDisk())[0]).toStartWith(`error: DATA_DIR ${missing} does not exist`)
  })

  test('memory that is too little for the settings, or nearly used up, is found', async () => {
    const cgroup = path.join(folder, 'cgroup')
    mkdirSync(cgroup)
    const write = (files: Record<string, string>) =>
      Object.entries(files).forEach(([name, text]) => void writeFileSync(path.join(cgroup, name), `${text}\n`))
    write({ 'memory.max': 'max', 'memory.current': '1', 'memory.events': 'oom_kill 0', 'memory.stat': '' })
    expect(await checkLimits(cgroup)).toEqual([])
    const mib = (n: number) => String(n * 1024 ** 2)
    write({ 'memory.max': mib(256), 'memory.current': mib(250), 'memory.events': 'oom 1\noom_kill 2' })
    expect(texts(await checkLimits(cgroup))).toEqual([
      expect.stringMatching(/^warning: The system has ended 2 processes here because memory ran out/),
      expect.stringMatching(/^warning: The memory limit is 256 MiB, and the settings may need 523 MiB/),
      expect.stringMatching(/^error: 250 of 256 MiB of memory are in use/),
    ])
    write({ 'memory.max': mib(1024), 'memory.events': '', 'memory.stat': `inactive_file ${mib(200)}` })
    expect(await checkLimits(cgroup)).toEqual([])
  })
})

describe('what is in DATA_DIR', () => {
  const days = (n: number) => new Date(Date.now() - n * 86_400_000)

  test('a secret key that others may read is named with the command that mends it', async () => {
    const where = mkdtempSync(path.join(folder, 'key-'))
    using _ = withEnvironment({ DATA_DIR: where })
    expect(await checkSecretFile()).toEqual([])
    const file = path.join(where, 'secret-key')
    writeFileSync(file, 'a key', { mode: 0o600 })
    expect(await checkSecretFile()).toEqual([])
    chmodSync(file, 0o640)
    expect(texts(await checkSecretFile())).toEqual([
      expect.stringMatching(/\(mode 640\).* -> Run chmod 600 .*secret-key/),
    ])
  })

  test('a backup of days ago is named, and so is a database that never had one', async () => {
    const where = mkdtempSync(path.join(folder, 'backup-'))
    using _ = withEnvironment({ DATA_DIR: where })
    expect(await checkBackupAge()).toEqual([])
    mkdirSync(path.join(where, 'postgres/data'), { recursive: true })
    const made = path.join(where, 'postgres/data/PG_VERSION')
    writeFileSync(made, '18')
    expect(await checkBackupAge()).toEqual([])
    utimesSync(made, days(5.5), days(5.5))
    expect(texts(await checkBackupAge())).toEqual([
      expect.stringMatching(/never a backup .*, and the database is 5 days old/),
    ])
    writeFileSync(path.join(where, 'last-backup'), '')
    expect(await checkBackupAge()).toEqual([])
    utimesSync(path.join(where, 'last-backup'), days(4.5), days(4.5))
    expect(texts(await checkBackupAge())).toEqual([expect.stringMatching(/last backup .* was 4 days ago/)])
    using __ = withEnvironment({
      DATA_DIR: where,
      DATABASE_URL: 'postgres://db/desk',
      SECRET_KEY: 'k'.repeat(10) + crypto.randomUUID(),
    })
    expect(await checkBackupAge()).toEqual([])
  })
})

test('a process opens two connections more on a cluster', () => {
  using _ = withEnvironment({ DATABASE_POOL: '10' })
  const server = { used: 1, most: 30, processes: 2 }
  expect(connectionFindings(server, false)).toEqual([])
  expect(texts(connectionFindings(server, true))).toEqual([
    expect.stringMatching(
      /^warning: 2 processes .* may open 32 connections, and the server allows 30.* DATABASE_POOL to 9 /,
    ),
  ])
})

test.each<[Record<string, string>, string | undefined]>([
  [{}, undefined],
  [{ SMTP_ALLOWED_NETWORKS: '' }, undefined],
  [{ SMTP_ALLOWED_NETWORKS: '', SMTP_TRUSTED_RELAYS: '10.0.0.1' }, 'SMTP_ALLOWED_NETWORKS is not set'],
  [{ SMTP_ALLOWED_NETWORKS: '', SMTP_TRUSTED_RELAYS: '10.0.0.1', SMTP_PORT: '0' }, undefined],
  [{ BASE_URL: 'http://desk.example.com' }, 'begins with http: links'],
  [{ BASE_URL: 'http://localhost:3000' }, undefined],
  [{ RATE_LIMIT_PER_MINUTE: '0' }, 'RATE_LIMIT_PER_MINUTE is 0'],
  [{ SESSION_RATE_LIMIT_PER_MINUTE: '0' }, 'SESSION_RATE_LIMIT_PER_MINUTE is 0'],
  [{ LEDGER_RETENTION_DAYS: '10' }, 'LEDGER_RETENTION_DAYS is 10'],
  [{ LEDGER_RETENTION_DAYS: '0' }, undefined],
  [{ DELIVERY_RETENTION_DAYS: '1', RETRY_SCHEDULE_SECONDS: '0,86400,86400' }, 'DELIVERY_RETENTION_DAYS is shorter'],
])('settings %j: %s', async (environment, message) => {
  using _ = withEnvironment({
    DATA_DIR: folder,
    BASE_URL: 'https://desk.example.com',
    SMTP_ALLOWED_NETWORKS: '127.0.0.1',
    ...environment,
  })
  const messages = (await checkSettingsAlone()).map((finding) => finding.message)
  expect(messages).toEqual(message ? [expect.stringContaining(message)] : [])
})
