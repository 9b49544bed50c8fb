/** Certificates of HTTPS and STARTTLS: replaced while they are served, and watched for their end. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { chmodSync, mkdirSync, mkdtempSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import { Elysia } from 'elysia'
import { HttpListener } from '../../../src/http/pipeline/http-listener'
import { faultsOf } from '../../../src/operate/start/certificate'
import { issueCertificate, issueExpiredCertificate } from '../../support/certificates'
import { createDatabase, type TestDatabase } from '../../support/database'
import { freePort } from '../../support/ports'
import { type Service, startService, until } from '../../support/service'
import { withSettings } from '../../support/settings'
import { startSession } from '../../support/smtp'

const folder = mkdtempSync(path.join(tmpdir(), 'secret-'))
const CERT_FILE = path.join(folder, 'tls.crt')
const KEY_FILE = path.join(folder, 'tls.key')

let database: TestDatabase
let service: Service
let metrics_port: number

beforeAll(async () => {
  database = await createDatabase()
  metrics_port = await freePort()
  await swapSecret('one.example')
  for (const file of [CERT_FILE, KEY_FILE]) symlinkSync(path.join('..data', path.basename(file)), file)
  service = await startService({
    DATABASE_URL: database.url,
    SECRET_KEY: 'a secret key that only tests use',
    DATA_DIR: path.join(folder, 'data'),
    TLS_CERT_FILE: CERT_FILE,
    TLS_KEY_FILE: KEY_FILE,
    METRICS_PORT: String(metrics_port),
    LOG_LEVEL: 'info',
  })
})
afterAll(async () => {
  await service.stop()
  await database.drop()
})

test.skipIf(process.getuid?.() !== 0)(
  'a key that only root reads ends the start with the command that mends it',
  async () => {
    const open = mkdtempSync(path.join(tmpdir(), 'root-only-'))
    chmodSync(open, 0o755)
    const { cert, key } = await issueCertificate(['one.example'])
    const [TLS_CERT_FILE, TLS_KEY_FILE] = ['tls.crt', 'tls.key'].map((name) => path.join(open, name)) as [
      string,
      string,
    ]
    writeFileSync(TLS_CERT_FILE, cert, { mode: 0o644 })
    writeFileSync(TLS_KEY_FILE, key, { mode: 0o600 })
    const settings = { DATA_DIR: path.join(open, 'data'), TLS_CERT_FILE, TLS_KEY_FILE }
    await expect(startService(settings)).rejects.toThrow(
      /TLS_KEY_FILE names .* cannot be read.* as root, chgrp \d+ .*tls.key/,
    )
  },
)

test('SIGHUP: new handshakes get the new certificate, and open connections go on', async () => {
  using kept = await openHttps()
  expect(await kept.ask()).toStartWith('HTTP/1.1 200')
  using posting = await openHttps()
  posting.write('POST /api/v1/auth/login HTTP/1.1\r\nhost: localhost\r\ncontent-length: 17\r\n')
  posting.write('content-type: application/json\r\n\r\n{"email":')
  using relay = await startSession(service.smtp_port)
  await relay.startTls()
  const handshakes = startHandshakes()
  for (const name of ['two.example', 'three.example', 'four.example']) {
    await swapSecret(name)
    service.process.kill('SIGHUP')
    await until(`${name} is served`, async () => (await nameOverHttps()) === name)
    expect(await nameOverHttps()).toBe(name)
    expect(await nameOverSmtp()).toBe(name)
  }
  expect(await handshakes.stop()).toEqual([])

  expect(await relay.command('NOOP')).toStartWith('250')
  posting.write('"a@b.c"}')
  expect(await posting.read()).toStartWith('HTTP/1.1 422')
  const last = await kept.ask()
  expect(last).toStartWith('HTTP/1.1 200')
  expect(last).toMatch(/^connection: close/im)
})

test('a certificate without its key is not taken, is logged once, and is served when the key has come', async () => {
  const { cert, key } = await issueCertificate(['five.example'])
  const former = await nameOverHttps()
  replaceFile(CERT_FILE, cert)
  const unfit = () => service.output().split('is not the key of the certificate').length - 1
  service.process.kill('SIGHUP')
  await until('it is logged', () => unfit() === 1)
  service.process.kill('SIGHUP')
  expect(await nameOverHttps()).toBe(former)
  replaceFile(KEY_FILE, key)
  // Without a signal: the files are watched.
  await until('it is served', async () => (await nameOverHttps()) === 'five.example')
  expect(unfit()).toBe(1)
})

test('the end of the certificate is a metric, and all answers say that there is only HTTPS', async () => {
  const text = await (await fetch(`http://127.0.0.1:${metrics_port}/metrics`)).text()
  const [, end] = /^deskwire_tls_certificate_expiry_timestamp_seconds (\d+)$/m.exec(text) ?? []
  expect(Number(end) * 1000).toBeWithin(Date.now(), Date.now() + 2 * 86_400_000)
  for (const route of ['/healthz', '/swagger', '/none', '/api/v1/none', '/api/v1/tickets', '/%ff?%ff']) {
    const { headers } = await fetch(service.url + route, { tls: { rejectUnauthorized: false } })
    expect([route, headers.get('strict-transport-security')]).toEqual([route, 'max-age=31536000'])
  }
})

test('a second service on the port of HTTPS is refused', async () => {
  const port = new URL(service.url).port
  const second = await startService({
    DATABASE_URL: database.url,
    SECRET_KEY: 'a secret key that only tests use',
    DATA_DIR: path.join(folder, 'data'),
    TLS_CERT_FILE: CERT_FILE,
    TLS_KEY_FILE: KEY_FILE,
    PORT: port,
  })
  await until('it has ended', () => second.process.exitCode !== null)
  expect({ code: second.process.exitCode, output: second.output() }).toEqual({
    code: 78,
    output: expect.stringContaining(`PORT ${port} on 127.0.0.1 is in use`),
  })
})

test('a certificate that changes while the service stops begins no new listener', async () => {
  const [former, later] = [await issueCertificate(['one.example']), await issueCertificate(['two.example'])]
  const listener = new HttpListener(new Elysia().get('/', () => 'served'))
  await listener.listen(former)
  const { port } = listener
  const ask = () =>
    fetch(`https://127.0.0.1:${port}/`, { tls: { rejectUnauthorized: false } }).then((one) => one.text())
  expect(await ask()).toBe('served')
  await listener.stop(false)
  listener.replaceCertificate(later)
  try {
    await expect(ask()).rejects.toThrow()
  } finally {
    await listener.stop(true)
  }
})

test('a certificate that ends soon, has ended, is not valid yet, or has another name is a fault', async () => {
  const day_ms = 86_400_000
  const certificate = await issueCertificate(['desk.example'])
  const texts = (now_ms?: number) => faultsOf(certificate, now_ms).map(({ level, text }) => `${level}: ${text}`)
  using settings = withSettings({ BASE_URL: 'https://desk.example' })
  expect(texts()).toEqual([expect.stringMatching(/^warn: .* expires at 2/)])
  expect(texts(Date.now() - 2 * day_ms)).toContainEqual(expect.stringMatching(/^error: .* is not valid before 2/))
  expect(texts(Date.now() - 30 * day_ms)).toEqual([expect.stringMatching('is not valid before')])
  expect(faultsOf(await issueExpiredCertificate(['desk.example']))[0]?.level).toBe('error')
  settings.restore()
  using _other = withSettings({ BASE_URL: 'https://other.example' })
  expect(texts()).toContain('warn: The certificate in TLS_CERT_FILE does not name other.example, the host of BASE_URL')
  using _address = withSettings({ BASE_URL: 'https://[::1]:3000' })
  expect(faultsOf(await issueCertificate()).filter(({ text }) => text.includes('does not name'))).toEqual([])
})

/** As Kubernetes changes a secret: a new folder, and a symlink that is swapped. */
async function swapSecret(name: string): Promise<void> {
  const { cert, key } = await issueCertificate([name])
  const version = path.join(folder, `..${crypto.randomUUID()}`)
  mkdirSync(version)
  writeFileSync(path.join(version, 'tls.crt'), cert)
  writeFileSync(path.join(version, 'tls.key'), key)
  symlinkSync(path.basename(version), path.join(folder, '..next'))
  renameSync(path.join(folder, '..next'), path.join(folder, '..data'))
}

function replaceFile(file: string, text: string): void {
  writeFileSync(`${file}.next`, text)
  renameSync(`${file}.next`, file)
}

function handshake(): Promise<TLSSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>()
  const port = Number(new URL(service.url).port)
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => resolve(socket))
  socket.on('error', reject)
  return promise
}

async function nameOverHttps(): Promise<string> {
  const socket = await handshake()
  const { CN } = socket.getPeerCertificate().subject
  socket.destroy()
  return String(CN)
}

async function nameOverSmtp(): Promise<string> {
  using session = await startSession(service.smtp_port)
  await session.startTls()
  return String((session.socket() as TLSSocket).getPeerCertificate().subject.CN)
}

/** Opens connections one after the other, several at a time. `stop` resolves to the errors. */
function startHandshakes() {
  const errors: unknown[] = []
  let is_on = true
  const one = async () => {
    while (is_on) await nameOverHttps().catch((error) => errors.push(error))
  }
  const all = [one(), one(), one(), one()]
  return {
    async stop() {
      is_on = false
      await Promise.all(all)
      return errors
    },
  }
}

async function openHttps() {
  const socket = await handshake()
  let unread = ''
  let wake = Promise.withResolvers<void>()
  socket.on('data', (bytes) => {
    unread += bytes.toString('latin1')
    wake.resolve()
    wake = Promise.withResolvers()
  })
  const read = async () => {
    while (!/\r\n\r\n./s.test(unread)) await wake.promise
    const answer = unread
    unread = ''
    return answer
  }
  return {
    write: (text: string) => void socket.write(text),
    read,
    ask: () => {
      socket.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n')
      return read()
    },
    [Symbol.dispose]: () => void socket.destroy(),
  }
}
