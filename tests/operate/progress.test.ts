/** How far long work is: in one line of a terminal, or in the log, and never in the output. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import fs from 'node:fs'
import path from 'node:path'
import { connection } from '../../src/base/db/pool'
import { farInWords } from '../../src/base/long-work'
import { createOrganization, type Organization, startApi, stopApi } from '../support/api'
import { EmptyDatabases, startCli } from '../support/backups'
import { newFolder, writeRows } from '../support/imports'
import { until } from '../support/service'
import { holdStatement, startOnTerminal } from '../support/terminal'
import { createWorld } from '../support/world'

/** Shows the cursor and clears the line. */
const CLEARED = '\x1b[?25h\x1b[1G\x1b[0K'
const CONTACTS = 60
const TICKETS = 40

let desk: Organization
let folder: string
let url: string
let empty: EmptyDatabases

beforeAll(async () => {
  url = (await startApi()).url
  desk = await createOrganization()
  await createWorld(desk, 'Mine')
  empty = new EmptyDatabases(url)
  folder = newFolder()
  const contacts = Array.from({ length: CONTACTS }, (_, n) => ({
    external_id: `c:${n}`,
    name: `Carla ${n}`,
    email: `carla.${n}@customer.example`,
  }))
  const tickets = Array.from({ length: TICKETS }, (_, n) => ({
    external_id: `t:${n}`,
    subject: `Ticket ${n}`,
    contact_id: `c:${n}`,
  }))
  fs.mkdirSync(at('rows'))
  writeRows(at('rows'), { contacts, tickets, messages: [{ external_id: 'm:1', ticket_id: 't:none', body: 'Lost' }] })
})

afterAll(async () => {
  await empty.drop()
  await stopApi()
  fs.rmSync(folder, { recursive: true, force: true })
})

const at = (name: string) => path.join(folder, name)
const settings = (database: string, DATA_DIR = process.env.DATA_DIR!) => ({
  DATABASE_URL: database,
  SECRET_KEY: 'a secret key that only tests use',
  DATA_DIR,
})

/** Runs a command until it waits at a statement, looks at the terminal, and lets it end. */
async function watch(args: string[], database: string, words: string, line: RegExp, data_dir?: string) {
  using held = await holdStatement(database, words)
  const running = startOnTerminal(args, settings(held.url, data_dir), at('output'))
  await running.sees(line)
  held.release()
  const ended = await running.end()
  expect(running.raw()).toEndWith(CLEARED)
  return { ...ended, raw: running.raw() }
}

describe('on a terminal one line shows it, and is gone in the end:', () => {
  test('import, and what else is said stands in lines of its own', async () => {
    const args = ['import', at('rows'), '--organization', desk.id]
    const line = /import, tickets: 60 of 101 lines \(59 %\), [\d.,]+ a second, \d+ s left/
    const { code, stdout, raw } = await watch(args, url, 'insert into "tickets"', line)
    expect([code, JSON.parse(stdout).tickets.created, stdout.split('\n').length]).toEqual([3, TICKETS, 2])
    expect(raw).toMatch(/\x1b\[1G\x1b\[0K\{"file":"messages".*\}\r\n/)
  })

  test('export', async () => {
    const args = ['export', at('export'), '--organization', desk.id]
    const { code, stdout } = await watch(args, url, 'from activities a', /export, activity: \d+ of \d+ rows \(\d+ %\)/)
    expect([code, JSON.parse(stdout).rows.contacts > 0]).toEqual([0, true])
  })

  test('backup and restore', async () => {
    // The rows are estimated.
    await connection().sql`analyze`
    const words = 'copy "public"."tickets"'
    const made = await watch(['backup', at('backup')], url, words, /backup, tickets: [\d,]+ of [\d,]+ rows/)
    expect([made.code, JSON.parse(made.stdout).folder]).toEqual([0, at('backup')])
    const target = await empty.create()
    const back = await watch(
      ['restore', at('backup')],
      target,
      words,
      /restore, tickets: [\d.]+ \wB of [\d.]+ \wB/,
      at('restored'),
    )
    expect([back.code, JSON.parse(back.stdout).tables]).toEqual([0, JSON.parse(made.stdout).tables])
  })

  test('migrate', async () => {
    const target = await empty.create()
    const { code } = await watch(
      ['migrate'],
      target,
      'create schema if not exists drizzle',
      /migrate, \w+: \d+ of \d+ statements/,
    )
    expect(code).toBe(0)
  })

  test('convert', async () => {
    fs.mkdirSync(at('dump'))
    const files = "INSERT INTO `others` VALUES (1,'" + 'x'.repeat(1_000_000) + "');\n"
    const dump = fs.openSync(at('dump/desk.sql'), 'w')
    fs.writeSync(
      dump,
      "CREATE TABLE `ticket_states` (`id` int, `name` text);\nINSERT INTO `ticket_states` VALUES (1,'open');\n",
    )
    for (let n = 0; n < 200; n++) fs.writeSync(dump, files)
    fs.closeSync(dump)
    const running = startOnTerminal(['convert', 'zammad', at('dump'), at('converted')], settings(url), at('output'))
    await running.sees(/convert, [\w ]+: [\d.]+ [kM]B of 200.0 MB \(\d+ %\)/)
    expect(await running.end()).toEqual({ code: 1, stdout: '' })
    expect(running.raw()).toContain(`${CLEARED}deskwire: the source has nothing of zammad`)
  })
})

test('without a terminal the log has a line each ten seconds', async () => {
  using held = await holdStatement(url, 'insert into "tickets"')
  const other = await createOrganization()
  const args = ['import', at('rows'), '--organization', other.id]
  const running = startCli(args, { ...settings(held.url), LOG_LEVEL: 'info' })
  let text = ''
  running.process.stderr.on('data', (chunk) => (text += chunk))
  await until('the line', () => text.includes('"done":60'), 60_000)
  held.release()
  const { code, stdout, stderr } = await running.ended
  expect([code, Object.keys(JSON.parse(stdout))]).toEqual([3, ['contacts', 'tickets', 'messages']])
  const line = stderr
    .split('\n')
    .flatMap((one) => (one ? JSON.parse(one) : []))
    .find(({ done }) => done === 60)
  expect(line).toMatchObject({ level: 'info', work: 'import', done: 60, total: 101 })
  expect(line.msg).toStartWith('import, tickets: 60 of 101 lines (59 %)')
  expect(stderr).not.toContain('\x1b')
})

test.each([
  [{ done: 0, passed_s: 3 }, '3 s'],
  [{ done: 12_000, passed_s: 200 }, '12,000 rows, 3 min'],
  [
    { done: 12_000, total: 50_000, per_second: 850.4, left_s: 45, passed_s: 14 },
    '12,000 of 50,000 rows (24 %), 850 a second, 45 s left',
  ],
  [
    { done: 1, total: 50_000, per_second: 0.2, left_s: 249_995, passed_s: 5 },
    '1 of 50,000 rows (0 %), 0.2 a second, 69 h 27 min left',
  ],
  [
    { done: 12e6, total: 3.4e9, per_second: 85e6, left_s: 40, passed_s: 1, unit: 'bytes' },
    '12.0 MB of 3.4 GB (0 %), 85.0 MB a second, 40 s left',
  ],
  [{ done: 0, total: 900, passed_s: 1, unit: 'bytes' }, '0 kB of 1 kB (0 %), 1 s'],
])('%j in words', (figures, words) => {
  expect(farInWords('work', { unit: 'rows', ...figures })).toBe(`work: ${words}`)
})
