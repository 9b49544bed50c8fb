/** The program of the container's HEALTHCHECK, against listeners as the settings make them. */
import { afterEach, expect, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { issueCertificate } from '../../support/certificates'
import { freePort } from '../../support/ports'

const PROGRAM = path.join(import.meta.dir, '../../../src/operate/start/healthcheck.ts')

let server: Bun.Server<undefined> | undefined

afterEach(async () => {
  await server?.stop(true)
  server = undefined
})

async function serve(hostname: string, settings: { status?: number; tls?: { cert: string; key: string } } = {}) {
  const fetch = ({ url }: Request) =>
    new Response('', { status: new URL(url).pathname === '/readyz' ? (settings.status ?? 200) : 404 })
  server = Bun.serve({ port: 0, hostname, fetch, tls: settings.tls })
  return String(server.port)
}

async function check(settings: Record<string, string>): Promise<[code: number, errors: string]> {
  const env = {
    PATH: process.env.PATH,
    HTTP_PROXY: 'http://127.0.0.1:1',
    http_proxy: 'http://127.0.0.1:1',
    ...settings,
  }
  const child = spawn(process.execPath, [PROGRAM], { env, stdio: ['ignore', 'ignore', 'pipe'] })
  let errors = ''
  child.stderr.on('data', (chunk) => (errors += chunk))
  const [code] = await once(child, 'close')
  return [code, errors]
}

test.each(['0.0.0.0', '127.0.0.1', '127.0.0.2', '::', '::1', 'localhost'])(
  'a ready service on HOST %s is healthy, whatever proxy is set',
  async (HOST) => {
    expect(await check({ HOST, PORT: await serve(HOST) })).toEqual([0, ''])
  },
)

test('with a certificate it asks by HTTPS, and takes the certificate as it is', async () => {
  const { cert, key, cert_file, key_file } = await issueCertificate(['desk.example'])
  const PORT = await serve('127.0.0.1', { tls: { cert, key } })
  expect(await check({ HOST: '127.0.0.1', PORT, TLS_CERT_FILE: cert_file, TLS_KEY_FILE: key_file })).toEqual([0, ''])
})

test('a service that is not ready is not healthy, and one line says so', async () => {
  const PORT = await serve('127.0.0.1', { status: 503 })
  expect(await check({ HOST: '127.0.0.1', PORT })).toEqual([1, `http://127.0.0.1:${PORT}/readyz: 503\n`])
})

test('nobody who answers is not healthy', async () => {
  const PORT = String(await freePort())
  const [code, errors] = await check({ PORT })
  expect(code).toBe(1)
  expect(errors).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/readyz: .+\n$/)
})
