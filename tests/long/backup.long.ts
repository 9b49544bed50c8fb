/** Backups of a service under load: mail, requests and deletions go on while it is backed up. */
import { afterAll, expect, test } from 'bun:test'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import postgres from 'postgres'
import { checkBackup } from '../../src/operate/backup/restore'
import { EmptyDatabases, runCli, startCli } from '../support/backups'
import { createDatabase } from '../support/database'
import { rawMail } from '../support/mail'
import { type Service, startService, until } from '../support/service'
import { sendMail } from '../support/smtp'

const ADDRESS = 'support@desk.example'
const PROGRAM = process.cwd()
const base = fs.mkdtempSync(path.join(os.tmpdir(), 'backup-load-'))
fs.chmodSync(base, 0o711)

afterAll(() => {
  process.chdir(PROGRAM)
  fs.rmSync(base, { recursive: true, force: true })
})

test('a backup under load is whole, its restore serves, and a killed backup and a killed restore are none', async () => {
  const DATA_DIR = path.join(base, 'data')
  const service = await startService({ DATA_DIR })
  await service.call('POST', '/mailboxes', { address: ADDRESS })
  const { body } = await service.call('POST', '/contacts', { name: 'Carla', email: 'carla@customer.example' })
  const load = startLoad(service, body.data.id)
  const folders = ['first', 'second', 'third'].map((name) => path.join(base, name))
  try {
    for (const folder of folders) {
      const before = load.done()
      expect(await runCli(['backup', folder], { DATA_DIR })).toMatchObject({ code: 0, stderr: '' })
      await until('work went on', () => load.done() > before)
    }
    await expectNoBackupAfterKill(DATA_DIR)
  } finally {
    await load.stop()
    await service.stop()
  }
  for (const folder of folders) await checkBackup(folder)
  process.chdir(PROGRAM)
  await restoreAndCompare(folders[1]!)
  await moveToServerAndBack(folders[1]!)
})

async function expectNoBackupAfterKill(DATA_DIR: string) {
  const folder = path.join(base, 'killed')
  const command = startCli(['backup', folder], { DATA_DIR })
  await until('tables are copied', () => fs.existsSync(path.join(folder, 'database')))
  command.process.kill('SIGKILL')
  await command.ended
  await expect(checkBackup(folder)).rejects.toThrow('holds no whole backup')
  process.chdir(PROGRAM)
  const stopped = path.join(base, 'stopped')
  const other = startCli(['backup', stopped], { DATA_DIR })
  await until('tables are copied', () => fs.existsSync(path.join(stopped, 'database')))
  other.process.kill('SIGTERM')
  expect(await other.ended).toMatchObject({ code: 143, stderr: expect.stringContaining('nothing was kept') })
  expect(fs.existsSync(stopped) ? fs.readdirSync(stopped) : []).toEqual([])
}

/** Kills a restore, restores again, backs up the copy, and compares the two backups byte for byte. */
async function restoreAndCompare(folder: string) {
  const DATA_DIR = path.join(base, 'restored')
  const killed = startCli(['restore', folder], { DATA_DIR })
  await until('the database is there', () => fs.existsSync(path.join(DATA_DIR, 'postgres/data/PG_VERSION')))
  killed.process.kill('SIGKILL')
  await killed.ended
  expect(await runCli(['migrate'], { DATA_DIR })).toMatchObject({
    code: 78,
    stderr: expect.stringContaining('restore'),
  })
  expect(await runCli(['restore', folder], { DATA_DIR })).toMatchObject({ code: 0, stderr: '' })

  const copy = path.join(base, 'copy')
  expect(await runCli(['backup', copy], { DATA_DIR })).toMatchObject({ code: 0, stderr: '' })
  const given = expectSameContents(copy, folder)

  const service = await startService({ DATA_DIR })
  try {
    const { body } = await service.call('GET', '/tickets?per_page=1')
    expect(body.meta.total).toBe(countLive(folder, given.tables))
    const created = await service.call('POST', '/contacts', { name: 'Dora', email: 'dora@customer.example' })
    expect(created.status).toBe(201)
  } finally {
    await service.stop()
  }
}

/** Moves the data of an embedded database to a server of its own, and from there to an embedded one. */
async function moveToServerAndBack(folder: string) {
  const server = await createDatabase()
  const empty = new EmptyDatabases(server.url)
  const SECRET_KEY = fs.readFileSync(path.join(folder, 'secret-key'), 'utf8')
  const external = { DATABASE_URL: await empty.create(), SECRET_KEY, DATA_DIR: path.join(base, 'external') }
  await expectNothingAfterLostDatabase(folder, { ...external, DATA_DIR: path.join(base, 'lost') })
  expect(await runCli(['restore', folder], external)).toMatchObject({ code: 0, stderr: '' })
  const there = path.join(base, 'there')
  expect(await runCli(['backup', there], external)).toMatchObject({ code: 0, stderr: '' })
  expectSameContents(there, folder)

  const embedded = { DATA_DIR: path.join(base, 'embedded') }
  expect(await runCli(['restore', there], embedded)).toMatchObject({ code: 0, stderr: '' })
  const back = path.join(base, 'back')
  expect(await runCli(['backup', back], embedded)).toMatchObject({ code: 0, stderr: '' })
  expectSameContents(back, folder)
  await empty.drop()
  await server.drop()
}

/** Ends the sessions of a restore while it fills the database. */
async function expectNothingAfterLostDatabase(folder: string, settings: Record<string, string>) {
  const sql = postgres(settings.DATABASE_URL!, { max: 1 })
  const command = startCli(['restore', folder], settings)
  await until('a session of the restore is lost', async () => {
    const lost = await sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and query ~* '^(copy|alter|create|drop)'`
    return lost.length > 0
  })
  const { code, stderr } = await command.ended
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^deskwire: the restore ended: the .*\n$/)])
  expect([...(await sql`select from pg_tables where schemaname in ('public', 'drizzle')`)]).toEqual([])
  expect(fs.readdirSync(settings.DATA_DIR!)).toEqual([])
  await sql.end()
}

function expectSameContents(copy: string, folder: string) {
  const [given, found] = [folder, copy].map((name) =>
    JSON.parse(fs.readFileSync(path.join(name, 'manifest.json'), 'utf8')),
  )
  expect(found.files).toEqual(given.files)
  expect(found.sequences).toEqual(given.sequences)
  expect(found.secret_keys).toEqual(given.secret_keys)
  const [before, after] = [linesOf(folder, given.tables), linesOf(copy, found.tables)]
  expectLaterNumbers(before.ticket_counters!, after.ticket_counters!)
  // A restore ends the cursors of before: each organization has a new epoch.
  expect(after.event_feeds!.filter(Boolean)).toHaveLength(before.organizations!.filter(Boolean).length)
  expect(before.event_feeds).not.toEqual(after.event_feeds)
  const changed = { ticket_counters: [], event_feeds: [] }
  expect({ ...after, ...changed }).toEqual({ ...before, ...changed })
  return given
}

/** A restore leaves a gap of 1,000 behind the highest number, because the lost service may have given out more. */
function expectLaterNumbers(before: string[], after: string[]) {
  const numbersOf = (lines: string[]) =>
    lines.filter(Boolean).map((line): [string, number] => [line.split('\t')[0]!, Number(line.split('\t')[1])])
  const gaps = new Map(numbersOf(before))
  expect(after.length).toBe(before.length)
  for (const [organization, number] of numbersOf(after)) {
    expect(number - gaps.get(organization)!).toBeGreaterThan(0)
    expect((number - gaps.get(organization)!) % 1000).toBe(0)
  }
}

/** Rows of each table in an order of their own: a copy need not have that of its source. */
function linesOf(folder: string, tables: { name: string; file: string }[]): Record<string, string[]> {
  return Object.fromEntries(
    tables.map(({ name, file }) => {
      const text = Buffer.from(Bun.zstdDecompressSync(fs.readFileSync(path.join(folder, file)))).toString()
      return [name, text.split('\n').sort()]
    }),
  )
}

/** Tickets of a backup that are not deleted. */
function countLive(folder: string, tables: { name: string; file: string; columns: string[] }[]): number {
  const { columns } = tables.find(({ name }) => name === 'tickets')!
  const rows = linesOf(folder, tables).tickets!.filter((line) => line !== '')
  return rows.filter((line) => line.split('\t')[columns.indexOf('deleted_at')] === '\\N').length
}

/** Sends mail, makes tickets and deletes some, until it is stopped. */
function startLoad(service: Service, contact_id: string) {
  let is_running = true
  let done = 0
  const repeat = async (work: (n: number) => Promise<unknown>) => {
    for (let n = 0; is_running; n++) {
      await work(n)
      done++
    }
  }
  const mail = (n: number) =>
    sendMail({
      port: service.smtp_port,
      from: 'carla@customer.example',
      to: ADDRESS,
      raw: rawMail({ From: 'carla@customer.example', To: ADDRESS, Subject: `Mail ${n}` }, 'It burns.\n'.repeat(2000)),
    })
  const tickets = async (n: number) => {
    const { body } = await service.call('POST', '/tickets', { subject: `Ticket ${n}`, contact_id })
    if (n % 3 === 0) await service.call('DELETE', `/tickets/${body.data.id}`)
  }
  const loops = [repeat(mail), repeat(mail), repeat(tickets), repeat(tickets)]
  return {
    done: () => done,
    async stop() {
      is_running = false
      await Promise.all(loops)
    },
  }
}
