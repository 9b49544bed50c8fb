/** Answers that hold an attacker off: HTTPS only, no documentation where it is off, cheap probes and assets. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type Elysia from 'elysia'
import { createApp } from '../../src/app'
import { isDatabaseReady } from '../../src/operate/start/database'
import { startApi, stopApi } from '../support/api'
import { withSettings } from '../support/settings'

beforeAll(() => startApi())
afterAll(stopApi)

const get = (app: Pick<Elysia, 'handle'>, path: string) => app.handle(new Request(`http://localhost${path}`))

test('a service that serves HTTPS itself tells browsers to stay with it, another one does not', async () => {
  const app = createApp(async () => true)
  for (const path of ['/api/v1/tickets', '/healthz', '/nowhere']) {
    expect((await get(app, path)).headers.get('strict-transport-security')).toBeNull()
    using _ = withSettings({ TLS_CERT_FILE: 'chain.pem', TLS_KEY_FILE: 'key.pem' })
    expect((await get(app, path)).headers.get('strict-transport-security')).toBe('max-age=31536000')
  }
})

test('the documentation is not served where it is off', async () => {
  using _ = withSettings({ SWAGGER: 'off' })
  const app = createApp(async () => true)
  for (const path of ['/swagger', '/swagger/json', '/swagger/start.js', '/swagger/swagger-ui.css', '/client.ts']) {
    expect([path, (await get(app, path)).status]).toEqual([path, 404])
  }
  expect((await get(app, '/healthz')).status).toBe(200)
})

test('probes share one answer of the database', async () => {
  const first = isDatabaseReady()
  expect(isDatabaseReady()).toBe(first)
  expect(await first).toBe(true)
})

test('an asset of the documentation is the same each time', async () => {
  const app = createApp(async () => true)
  const [first, second] = await Promise.all([1, 2].map(async () => (await get(app, '/swagger/swagger-ui.css')).text()))
  expect(first!.length).toBeGreaterThan(10_000)
  expect(second).toBe(first!)
})
