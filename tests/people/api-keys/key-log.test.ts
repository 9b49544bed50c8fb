/** API keys in a whole service: what its log says, and what it writes when it stops. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import postgres from 'postgres'
import { createDatabase, type TestDatabase } from '../../support/database'
import { type Service, startService } from '../../support/service'

let database: TestDatabase
let service: Service
let made: { id: string; key: string }

beforeAll(async () => {
  database = await createDatabase()
  service = await startService({
    DATABASE_URL: database.url,
    SECRET_KEY: 'a secret key that only tests use',
    LOG_LEVEL: 'info',
    LOG_FORMAT: 'json',
    SMTP_PORT: '0',
  })
  made = (await service.call('POST', '/api-keys', { name: 'Night job', permissions: ['labels:read'] })).body.data
})
afterAll(async () => {
  await service.kill()
  await database.drop()
})

test('the log names the key of a request by its id, and never shows it', async () => {
  const headers = { authorization: `ApiKey ${made.key}` }
  expect((await fetch(`${service.url}/api/v1/labels`, { headers })).status).toBe(200)
  expect((await fetch(`${service.url}/api/v1/contacts`, { headers })).status).toBe(403)
  const mistyped = { authorization: `ApiKey ${made.key}x` }
  expect((await fetch(`${service.url}/api/v1/labels`, { headers: mistyped })).status).toBe(401)
  await service.call('DELETE', '/labels/none')
  const lines = service
    .output()
    .split('\n')
    .filter((line) => line.includes('"request"'))
    .map((line) => JSON.parse(line))
  const of = (route: string, status: number) => lines.find((line) => line.route === route && line.status === status)
  expect(of('/api/v1/labels', 200)).toMatchObject({ api_key_id: made.id })
  expect(of('/api/v1/contacts', 403)).toMatchObject({ api_key_id: made.id })
  expect(of('/api/v1/labels', 200)).not.toHaveProperty('user_id')
  expect(of('/api/v1/labels', 401)).not.toHaveProperty('api_key_id')
  expect(of('/api/v1/api-keys', 201)).toHaveProperty('user_id')
  expect(service.output()).not.toContain(made.key.slice(14, 40))
})

test('the service writes the last uses of keys when it stops', async () => {
  await fetch(`${service.url}/api/v1/labels`, { headers: { authorization: `ApiKey ${made.key}` } })
  const sql = postgres(database.url, { max: 1 })
  await sql`update api_keys set last_used_at = null`
  await fetch(`${service.url}/api/v1/labels`, { headers: { authorization: `ApiKey ${made.key}` } })
  expect(await service.stop()).toBe(0)
  const [row] = await sql`select last_used_at > now() - interval '1 minute' as is_noted from api_keys`
  expect(row!.is_noted).toBe(true)
  await sql.end()
})
