/** A reverse proxy that TRUSTED_PROXIES does not name. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { foreignEntry } from '../../../src/operate/start/data-dir'
import { createDatabase, type TestDatabase } from '../../support/database'
import { type Service, startService } from '../../support/service'

const CLI = path.join(import.meta.dirname, '../../../src/cli.ts')
const WARNING = 'X-Forwarded-For came from'

let database: TestDatabase
let service: Service
let env: Record<string, string>

beforeAll(async () => {
  database = await createDatabase()
  env = {
    DATABASE_URL: database.url,
    SECRET_KEY: 'a secret key that only tests use',
    DATA_DIR: path.join(tmpdir(), `proxy-${crypto.randomUUID()}`),
  }
  service = await startService({ ...env, SMTP_PORT: '0' })
})
afterAll(async () => {
  await service?.stop()
  await database?.drop()
})

test('is named by one line of the log and by the doctor, until it is trusted', async () => {
  expect(doctor()).toEqual([])
  for (let i = 0; i < 3; i++) {
    await fetch(`${service.url}/api/v1/labels`, { headers: { 'x-forwarded-for': '192.0.2.1' } })
  }
  expect(service.output().split(WARNING)).toHaveLength(2)
  expect(service.output()).not.toContain('192.0.2.1')
  expect(foreignEntry(env.DATA_DIR!)).toBeUndefined()
  const [warning] = doctor()
  expect(warning).toStartWith(`${WARNING} 127.0.0.1 at `)
  expect(doctor({ TRUSTED_PROXIES: '127.0.0.1' })).toEqual([])
})

/** The findings of the doctor about proxies. */
function doctor(more: Record<string, string> = {}): string[] {
  const { stdout } = spawnSync(process.execPath, ['--no-orphans', CLI, 'doctor', '--json'], {
    env: { ...process.env, ...env, ...more },
    encoding: 'utf8',
  })
  const { findings } = JSON.parse(stdout) as { findings: { message: string }[] }
  return findings.map(({ message }) => message).filter((message) => message.startsWith(WARNING))
}
