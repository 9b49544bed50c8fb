/** The processes of the service: no secret of it is where another process or user can read it, and none is root. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { serviceUser } from '../../../src/base/process/accounts'
import { freePort } from '../../support/ports'
import { ADMIN, type Service, startService, until } from '../../support/service'
import { sendMail } from '../../support/smtp'

const on_linux = process.platform === 'linux'
const is_root = process.getuid?.() === 0

/** Every place of the settings where a secret can be set. */
const PLANTED = {
  SECRET_KEY: 'planted-7f3Q9-secret-key-Zr81-of-the-service',
  SECRET_KEY_PREVIOUS: 'planted-8a4R0-former-key-Ys92-of-the-service',
  ADMIN_PASSWORD: ADMIN.password,
  S3_ACCESS_KEY_ID: 'planted-S3-id-5512',
  S3_SECRET_ACCESS_KEY: 'planted-S3-secret-6613',
  REDIS_PASSWORD_OF_ANOTHER_PROGRAM: 'planted-foreign-7714',
}
/** Secrets that requests bring. */
const SENT = { smtp: 'planted-smtp-8815', webhook: 'planted-webhook-secret-9916', mail: 'planted-mail-body-1017' }

let data_dir: string
let service: Service
let metrics: string

beforeAll(async () => {
  data_dir = path.join(tmpdir(), `process-${crypto.randomUUID()}`)
  const METRICS_PORT = String(await freePort())
  metrics = `http://127.0.0.1:${METRICS_PORT}/metrics`
  service = await startService({ ...PLANTED, DATA_DIR: data_dir, METRICS_PORT, LOG_LEVEL: 'trace' })
  await useSecrets()
})
afterAll(async () => {
  await service.stop()
  fs.rmSync(data_dir, { recursive: true, force: true })
})

test.skipIf(!on_linux)('no other process has a secret in its environment or on its command line', () => {
  const children = descendants(service.process.pid!)
  // PostgreSQL with its watcher, and the parser of the mail.
  expect(children.map(commandOf)).toEqual(
    expect.arrayContaining([expect.stringContaining('/bin/postgres'), expect.stringContaining('process-main')]),
  )
  for (const pid of children) {
    for (const secret of secrets()) {
      expect([commandOf(pid), readProc(pid, 'environ')].join('\n')).not.toContain(secret)
    }
  }
  for (const secret of secrets()) expect(commandOf(service.process.pid!)).not.toContain(secret)
})

test.skipIf(!on_linux || !is_root)('started by root, nothing of it runs as root or as nobody', () => {
  const { uid } = serviceUser()
  const pids = [service.process.pid!, ...descendants(service.process.pid!)]
  const users = pids.map((pid) => /^Uid:\t(.*)$/m.exec(readProc(pid, 'status'))?.[1])
  expect(new Set(users)).toEqual(new Set([Array(4).fill(uid).join('\t')]))
  for (const pid of pids) expect(readProc(pid, 'status')).toMatch(/^CapEff:\t0+$/m)
})

test('the log says which migrations the start has run', () => {
  const line = service
    .output()
    .split('\n')
    .find((one) => one.includes('"the database was migrated"'))
  expect(JSON.parse(line!).migrations[0]).toEqual({ migration: '0082_base', duration_ms: expect.any(Number) })
})

test('nothing under DATA_DIR is for others', () => {
  const files = fs.readdirSync(data_dir, { recursive: true, encoding: 'utf8' }).map((file) => path.join(data_dir, file))
  expect(files.length).toBeGreaterThan(100)
  expect([data_dir, ...files].filter((file) => (fs.lstatSync(file).mode & 0o077) !== 0)).toEqual([])
})

test('no log line, error or figure holds a secret', async () => {
  const answers = await Promise.all([
    fetch(metrics).then((response) => response.text()),
    service.call('POST', '/auth/login', { email: ADMIN.email, password: SENT.smtp }),
    service.call('POST', '/webhooks', { url: 'https://127.0.0.1:1/', events: ['no.such'], secret: SENT.webhook }),
    service.call('GET', '/mailboxes'),
    service.call('GET', '/webhooks'),
  ])
  for (const secret of secrets()) expect([JSON.stringify(answers), service.output()].join('\n')).not.toContain(secret)
})

test.skipIf(!on_linux || !is_root)(
  'a folder that holds other files stays with root, and one line says so',
  async () => {
    const folder = path.join(tmpdir(), `process-${crypto.randomUUID()}`)
    fs.mkdirSync(folder)
    fs.chmodSync(folder, 0o755)
    fs.writeFileSync(path.join(folder, 'letters.txt'), '')
    const root = await startService({ DATA_DIR: folder, LOG_LEVEL: 'warn' })
    expect(root.output()).toContain(`the service stays root, because DATA_DIR ${folder} holds other files`)
    expect(fs.statSync(folder).uid).toBe(0)
    expect(fs.statSync(path.join(folder, 'letters.txt')).uid).toBe(0)
    const servers = descendants(root.process.pid!).filter((pid) => commandOf(pid).includes('/bin/postgres'))
    expect(servers.length).toBeGreaterThan(0)
    for (const pid of servers) expect(fs.statSync(`/proc/${pid}`).uid).toBe(serviceUser().uid)
    await root.stop()
    fs.rmSync(folder, { recursive: true })
  },
)

test.skipIf(!is_root)('a DATA_DIR of an ordinary user stays that user’s', async () => {
  const folder = path.join(tmpdir(), `process-${crypto.randomUUID()}`)
  fs.mkdirSync(folder)
  fs.chownSync(folder, 4711, 4711)
  const other = await startService({ DATA_DIR: folder })
  const owners = () => ['', ...fs.readdirSync(folder)].map((entry) => fs.statSync(path.join(folder, entry)).uid)
  expect(new Set(owners())).toEqual(new Set([4711]))
  // A command of root, where systemd opens a port for a service that is not root.
  const env = { PATH: process.env.PATH, DATA_DIR: folder, SMTP_PORT: '25' }
  const cli = path.join(import.meta.dir, '../../../src/cli.ts')
  const { status } = spawnSync(process.execPath, [cli, 'outbox', 'stats'], { env, cwd: tmpdir() })
  expect([status, new Set(owners())]).toEqual([0, new Set([4711])])
  await other.stop()
  fs.rmSync(folder, { recursive: true })
})

/** Gives the service every secret that a request can hold, and a mail, which starts a parser. */
async function useSecrets() {
  const smtp = { host: '127.0.0.1', port: 1, security: 'none', username: 'desk', password: SENT.smtp }
  await service.call('POST', '/mailboxes', { address: 'desk@deskwire.example', smtp })
  await service.call('POST', '/webhooks', {
    url: 'https://127.0.0.1:1/',
    events: ['ticket.created'],
    secret: SENT.webhook,
  })
  const raw = `From: a@customer.example\r\nTo: desk@deskwire.example\r\nSubject: Hello\r\n\r\n${SENT.mail}\r\n`
  const sent = { port: service.smtp_port, from: 'a@customer.example', to: ['desk@deskwire.example'], raw }
  await sendMail(sent)
  await until('the mail is a ticket', async () => (await service.call('GET', '/tickets')).body.data.length === 1)
}

function secrets(): string[] {
  const kept = path.join(data_dir, 'postgres/password')
  return [...Object.values(PLANTED), ...Object.values(SENT), fs.readFileSync(kept, 'utf8'), service.token()]
}

function descendants(of: number): number[] {
  const parents = fs
    .readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({ pid: Number(name), parent: Number(/^PPid:\t(\d+)/m.exec(readProc(name, 'status'))?.[1]) }))
  const below = (pid: number): number[] =>
    parents.filter(({ parent }) => parent === pid).flatMap((child) => [child.pid, ...below(child.pid)])
  return below(of)
}

function commandOf(pid: number): string {
  return readProc(pid, 'cmdline').replaceAll('\0', ' ')
}

function readProc(pid: number | string, file: string): string {
  try {
    return fs.readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}
