/** Backups of an older release: restored by this one, also when the migration at the end fails. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import postgres from 'postgres'
import { createMigrationsTable, migrateDatabase } from '../../../src/base/db/migrate'
import { readMigrations } from '../../../src/base/db/migration-files'
import { backUp } from '../../../src/operate/backup/back-up'
import { restore } from '../../../src/operate/backup/restore'
import { contentsOf, EmptyDatabases, runHere } from '../../support/backups'
import { createDatabase, type TestDatabase } from '../../support/database'

const base = fs.mkdtempSync(path.join(os.tmpdir(), 'backup-older-'))
const folder = path.join(base, 'backup')

const BASE = '0082_base'

let server: TestDatabase
let empty: EmptyDatabases
let old: string

beforeAll(async () => {
  server = await createDatabase()
  empty = new EmptyDatabases(server.url)
  old = await empty.create()
  await makeOld(old)
  await runHere(settingsOf(old, 'old'), () => backUp(folder))
})

afterAll(async () => {
  await empty.drop()
  await server.drop()
  fs.rmSync(base, { recursive: true, force: true })
})

test('a backup of an older release gets the schema and the figures of this one', async () => {
  const url = await empty.create()
  const restored = await runHere(settingsOf(url, 'new'), () => restore(folder))
  expect(restored.migration).toBe(BASE)
  await migrateDatabase(old)
  expect(await contentsOf(url)).toEqual(await contentsOf(old))
})

test('when the migration at the end fails, the operator is told that the rest is done, and migrates', async () => {
  const url = await empty.create()
  const unfinished = path.join(base, 'unfinished')
  const source = await empty.create()
  await makeOld(source, true)
  await runHere(settingsOf(source, 'unfinished-source'), () => backUp(unfinished))
  const settings = settingsOf(url, 'failed')
  await expect(runHere(settings, () => restore(unfinished))).rejects.toThrow(
    /^all of the backup is restored, but not migrated to this release: migration 0083_no_fills failed.* run the command migrate/,
  )
  expect(fs.existsSync(path.join(settings.DATA_DIR, 'unfinished-restore'))).toBe(false)
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  expect([...(await sql`select subject from tickets`)]).toEqual([{ subject: 'An old ticket' }])
  await sql`delete from fills`
  expect((await migrateDatabase(url)).length).toBeGreaterThan(0)
  await sql.end()
})

function settingsOf(DATABASE_URL: string, data: string) {
  return { DATABASE_URL, SECRET_KEY: 'a secret key that only tests use', DATA_DIR: path.join(base, data) }
}

/** A database of the oldest release that can be upgraded. @param is_unfinished that release still fills older rows */
async function makeOld(url: string, is_unfinished = false): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  const [organization, user, ticket] = [1, 2, 3].map((n) => `01a1fc97-2943-7736-a4b5-d2e8563c833${n}`)
  const [first] = await readMigrations()
  await sql.begin(async (sql) => {
    await createMigrationsTable(sql)
    for (const statement of first!.statements) await sql.unsafe(statement)
    await sql`insert into drizzle.__drizzle_migrations (hash, created_at) values (${first!.hash}, ${first!.when})`
    await sql`insert into organizations (id, name) values (${organization!}, 'Old')`
    await sql`
      insert into users (id, email, email_key, name, password_hash)
      values (${user!}, 'old@example.com', 'old@example.com', 'Old', '')`
    await sql`insert into memberships (organization_id, user_id) values (${organization!}, ${user!})`
    await sql`
      insert into tickets (organization_id, id, number, code, subject)
      values (${organization!}, ${ticket!}, 1, 'TKT-1', 'An old ticket')`
    await sql`
      insert into time_entries (organization_id, id, ticket_id, user_id, duration_minutes, rate, currency, date)
      values (${organization!}, ${ticket!}, ${ticket!}, ${user!}, 30, 90, 'USD', '2026-01-02')`
    if (is_unfinished)
      await sql`insert into fills (organization_id, kind) values (${organization!}, 'ticket_search.document')`
  })
  await sql.end()
}
