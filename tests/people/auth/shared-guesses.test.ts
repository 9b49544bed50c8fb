/** Wrong passwords that two processes count together in Redis. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type ChildProcess, spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createDatabase, type TestDatabase } from '../../support/database'
import { freePort } from '../../support/ports'
import { ADMIN, type Service, startService, until } from '../../support/service'

const program = Bun.which('redis-server')
if (!program) console.warn('The test with Redis is skipped: redis-server is not installed')

let redis: ChildProcess | undefined
let database: TestDatabase
let services: Service[] = []

beforeAll(async () => {
  if (!program) return
  const port = await freePort()
  redis = spawn(program, ['--port', String(port), '--bind', '127.0.0.1', '--save', ''], { stdio: 'ignore' })
  database = await createDatabase()
  const env = {
    DATABASE_URL: database.url,
    SECRET_KEY: 'a secret key that only tests use',
    DATA_DIR: path.join(tmpdir(), `guesses-${crypto.randomUUID()}`),
    REDIS_URL: `redis://127.0.0.1:${port}`,
    TRUSTED_PROXIES: '127.0.0.0/8',
    SMTP_PORT: '0',
  }
  // One after the other: the first one makes the admin.
  for (let i = 0; i < 2; i++) {
    const metrics_port = await freePort()
    services = [...services, await startService({ ...env, METRICS_PORT: String(metrics_port) })]
    // A service that does not reach Redis counts alone.
    await until('it reaches Redis', async () => {
      const metrics = await fetch(`http://127.0.0.1:${metrics_port}/metrics`)
      return /^deskwire_redis_up 1$/m.test(await metrics.text())
    })
  }
})
afterAll(async () => {
  await Promise.all(services.map((service) => service.stop()))
  redis?.kill()
  await database?.drop()
})

test.skipIf(!program)('80 wrong passwords at the same time at two processes: at most 10 are tried', async () => {
  for (const service of services) expect(await login(service, ADMIN.password, '192.0.2.1')).toBe(200)
  const codes = await Promise.all(Array.from({ length: 80 }, (_, i) => login(services[i % 2]!, 'wrong', '192.0.2.2')))
  expect([codes.filter((code) => code === 401).length, codes.filter((code) => code === 429).length]).toEqual([10, 70])
  for (const service of services) {
    expect(await login(service, ADMIN.password, '192.0.2.2')).toBe(429)
    expect(await login(service, ADMIN.password, '192.0.2.1')).toBe(200)
  }
})

async function login({ url }: Service, password: string, address: string): Promise<number> {
  const { status } = await fetch(`${url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': address },
    body: JSON.stringify({ email: ADMIN.email, password }),
  })
  return status
}
