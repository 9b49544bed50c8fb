/** The operator's SQL prompt: with psql, and in the place of a psql that is not installed. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { spawn, spawnSync } from 'node:child_process'
import path from 'node:path'
import { forPrograms } from '../../src/db/connection-url'
import { isWhole } from '../../src/psql/statements'
import { createDatabase, type TestDatabase } from '../support/database'

const CLI = path.join(import.meta.dirname, '../../src/cli.ts')
const has_psql = spawnSync('psql', ['--version']).status === 0
if (!has_psql) console.log('psql is not installed: not tested with it')

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())

test.skipIf(!has_psql)('psql opens the database of the service, and its exit status is ours', async () => {
  const settings = { PATH: process.env.PATH!, DATABASE_URL: `${database.url}&prepare=false&jit=off` }
  const shown = await psql(['-X', '-At', '-c', 'show jit', '-c', 'select count(*) from tickets'], '', settings)
  expect(shown).toEqual({ code: 0, stdout: 'off\n0\n', stderr: '' })
  expect(await psql(['-X', '-c', 'select nothing'], '', settings)).toMatchObject({ code: 1 })
})

test('without psql, statements of standard input are shown as tables, up to the first that fails', async () => {
  const statements = `select 1 as one, null as none; select 'a;
b' as text;
create table tried (n int);
select * from nowhere;
drop table tickets cascade;`
  expect(await psql([], statements)).toEqual({
    code: 1,
    stdout: [
      [' one | none', '-----+------', ' 1   |', '(1 row)', '', ''],
      [' text', '-------', ' a;\\nb', '(1 row)', '', 'CREATE TABLE', ''],
    ]
      .map((lines) => lines.join('\n'))
      .join(''),
    stderr: 'deskwire: ERROR: relation "nowhere" does not exist\n',
  })
  expect((await psql(['-c', 'select count(*) as n from tickets'])).stdout).toBe(' n\n---\n 0\n(1 row)\n\n')
  expect(await psql(['-f', 'some.sql'])).toMatchObject({ code: 1, stderr: expect.stringContaining('not installed') })
})

describe('a statement is whole', () => {
  test.each([
    ['select 1;', true],
    ['select 1', false],
    ["select ';", false],
    ["select 'it''s;';", true],
    ["select '\n;\n", false],
    ['select ";";', true],
    ['select ";', false],
    ['do $$ begin perform 1; ', false],
    ['do $$ begin perform 1; end $$;', true],
    ['do $a$ $$ ; $a$;', true],
    ['do $a$ $$ ;', false],
    ['select 1; -- and;', true],
    ['select 1 -- and;', false],
    ['select 1 /* ; */', false],
    ['select 1; /* open', false],
  ])('%p: %p', (text, is_whole) => {
    expect(isWhole(text)).toBe(is_whole)
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

async function psql(args: string[], input = '', settings: Record<string, string> = {}) {
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
  child.stdin.end(input)
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  return { code, ...output }
}
