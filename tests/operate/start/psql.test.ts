/** The operator's SQL prompt. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { spawn, spawnSync } from 'node:child_process'
import path from 'node:path'
import { forPrograms } from '../../../src/base/db/connection-url'
import { createDatabase, type TestDatabase } from '../../support/database'

const CLI = path.join(import.meta.dirname, '../../../src/cli.ts')
const has_psql = spawnSync('psql', ['--version']).status === 0
if (!has_psql) console.log('psql is not installed: not tested with it')

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())

test.skipIf(!has_psql)('psql opens the database of the service, and its exit status is ours', async () => {
  const settings = { PATH: process.env.PATH!, DATABASE_URL: `${database.url}&prepare=false&jit=off` }
  const shown = await psql(['-X', '-At', '-c', 'show jit', '-c', 'select count(*) from tickets'], settings)
  expect(shown).toEqual({ code: 0, stdout: 'off\n0\n', stderr: '' })
  expect(await psql(['-X', '-c', 'select nothing'], settings)).toMatchObject({ code: 1 })
})

test('without psql the operator is told what to install', async () => {
  expect(await psql(['-c', 'select 1'])).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('psql is not installed: install it'),
  })
})

test.each([
  ['postgres://u:p%40@h:1/d', { url: 'postgres://u@h:1/d', password: 'p@', options: '' }],
  [
    'postgresql://u@h1,h2:2/d?sslmode=require&jit=off&prepare=false',
    { url: 'postgresql://u@h1,h2:2/d?sslmode=require', password: undefined, options: '-c jit=off' },
  ],
  [
    'postgres://u@h/d?application_name=one%20two%5C',
    { url: 'postgres://u@h/d', password: undefined, options: '-c application_name=one\\ two\\\\' },
  ],
  ['postgres://h/d?password=p&user=u', { url: 'postgres://h/d?user=u', password: 'p', options: '' }],
])('of %p programs of PostgreSQL get what they know, and no password in their arguments', (url, expected) => {
  expect(forPrograms(url)).toEqual(expected)
})

async function psql(args: string[], settings: Record<string, string> = {}) {
  const env = {
    PATH: '/nowhere',
    LOG_LEVEL: 'warn',
    SECRET_KEY: 'x1y2z3w4'.repeat(4),
    DATABASE_URL: database.url,
    ...settings,
  }
  const child = spawn(process.execPath, [CLI, 'psql', ...args], { env })
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => (output.stdout += chunk))
  child.stderr.on('data', (chunk) => (output.stderr += chunk))
  child.stdin.end()
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  return { code, ...output }
}
