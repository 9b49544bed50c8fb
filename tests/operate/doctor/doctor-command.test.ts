/** The command doctor beside a service, without a database, and where nothing answers. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type OwnPostgres, startOwnPostgres } from '../../support/own-postgres'
import { freePort } from '../../support/ports'
import { type Service, startService } from '../../support/service'

const CLI = path.join(import.meta.dirname, '../../../src/cli.ts')

let database: OwnPostgres
let service: Service
let env: Record<string, string>

beforeAll(async () => {
  // The server of all tests loses what it confirmed when the machine stops, which the doctor says.
  database = await startOwnPostgres(mkdtempSync(path.join(tmpdir(), 'doctor-postgres-')), { fsync: 'on' })
  env = {
    DATABASE_URL: database.url,
    SECRET_KEY: 'a secret key that only tests use',
    DATA_DIR: path.join(tmpdir(), `doctor-${crypto.randomUUID()}`),
    HOST: '127.0.0.1',
    PORT: String(await freePort()),
    SMTP_PORT: String(await freePort()),
    SMTP_ALLOWED_NETWORKS: '127.0.0.1',
    BASE_URL: 'https://desk.example',
    RATE_LIMIT_PER_MINUTE: '100',
  }
  service = await startService(env)
})
afterAll(async () => {
  service?.process.kill('SIGCONT')
  await service?.stop()
  await database?.stop()
})

/** Runs the command through a shell, which may set limits first. */
async function doctor(more: Record<string, string> = {}, args = ['--json'], before = '') {
  const command = `${before} exec "$@"`
  const child = spawn('/bin/sh', ['-c', command, 'sh', process.execPath, '--no-orphans', CLI, 'doctor', ...args], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, DNS_SERVERS: process.env.DNS_SERVERS, ...env, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (chunk) => (stdout += chunk))
  child.stderr.on('data', (chunk) => (stderr += chunk))
  const [code] = await once(child, 'close')
  // biome-ignore lint/suspicious/noExplicitAny: a report of any kind
  const report: any = args.includes('--json') ? JSON.parse(stdout) : undefined
  return { code, stdout, stderr, report }
}

function found(report: { findings: { level: string; check: string; message: string }[] }): string[] {
  return report.findings.map(({ level, check, message }) => `${level} ${check}: ${message}`)
}

test('beside a service that works only warnings are found, which end with 0; text and JSON say the same', async () => {
  const { code, report, stderr } = await doctor()
  expect([code, stderr, report.status]).toEqual([0, '', 'warning'])
  expect(found(report)).toEqual([expect.stringMatching(/^warning invitations: Invitations .* cannot leave/)])
  expect(report.skipped).toEqual([])
  expect(report.passed).toContain('service')
  expect(report.postgresql.processes).toBe(1)
  expect(report.counts).toMatchObject({ organizations: 1 })
  const text = await doctor({}, [])
  expect(text.code).toBe(0)
  expect(text.stdout).toContain('WARNING invitations\n  Invitations and links for forgotten passwords cannot leave')
  expect(text.stdout).toContain('\n  -> Set SYSTEM_SMTP_URL and SYSTEM_MAIL_FROM')
  for (const secret of [env.SECRET_KEY!, new URL(database.url).password]) {
    expect(text.stdout + JSON.stringify(report)).not.toContain(secret)
  }
})

test('a service that hangs is an error, and so are too few files for its settings', async () => {
  service.process.kill('SIGSTOP')
  const { code, report } = await doctor({}, ['--json'], 'ulimit -n 1500;')
  service.process.kill('SIGCONT')
  expect([code, report.status]).toEqual([1, 'error'])
  expect(found(report)).toEqual([
    expect.stringMatching(/^error service: The service does not work: .*readyz does not answer within 3 s/),
    expect.stringMatching(/^error service: The SMTP listener at .* does not work: no greeting within 3 s/),
    expect.stringMatching(/^warning limits: A process may open 1500 files, and 2034 may be needed/),
    expect.stringMatching(/^warning invitations: /),
  ])
})

test('a service that answers late is slow', async () => {
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => Bun.sleep(1200).then(() => new Response()) })
  const { code, report } = await doctor({ PORT: String(server.port) })
  server.stop(true)
  expect([code, report.status]).toEqual([0, 'warning'])
  expect(found(report)[0]).toMatch(/^warning service: The service is slow: .*readyz took \d{4} ms/)
})

test('without a database the rest is looked at', async () => {
  const port = await freePort()
  const { code, report, stdout } = await doctor({
    DATABASE_URL: `postgres://desk:a-password@127.0.0.1:${port}/desk`,
    RATE_LIMIT_PER_MINUTE: '0',
  })
  expect([code, report.status]).toEqual([1, 'error'])
  expect(found(report)).toEqual([
    expect.stringMatching(
      new RegExp(`^error database: .* DATABASE_URL names 127.0.0.1:${port}/desk, which cannot be connected to: `),
    ),
    expect.stringMatching(/^warning settings: RATE_LIMIT_PER_MINUTE is 0/),
  ])
  expect(report.skipped).toContain('secret key')
  expect(stdout).not.toContain('a-password')
})

test('where nothing answers every check is given up, and the command ends', async () => {
  const silent = createServer((socket) => socket.on('error', () => {}))
  await once(silent.listen(0, '127.0.0.1'), 'listening')
  const at = `127.0.0.1:${(silent.address() as AddressInfo).port}`
  const { code, report } = await doctor({
    DATABASE_URL: `postgres://desk@${at}/desk`,
    REDIS_URL: `redis://${at}`,
    ATTACHMENT_STORE: 's3://desk',
    S3_ENDPOINT: `http://${at}`,
    S3_ACCESS_KEY_ID: 'id',
    S3_SECRET_ACCESS_KEY: 'secret',
    SYSTEM_SMTP_URL: `smtp://${at}`,
    SYSTEM_MAIL_FROM: 'desk@desk.example',
  })
  silent.close()
  expect(code).toBe(1)
  const errors = report.findings.filter(({ level }: { level: string }) => level === 'error')
  expect(errors.map(({ check }: { check: string }) => check)).toEqual(['database', 'store', 'redis', 'system mail'])
})
