/** `drizzle/schema.sql` shows the schema that the migrations make. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { type DrizzleSnapshotJSON, generateDrizzleJson, generateMigration } from 'drizzle-kit/api'
import { dumpSchema } from '../../../drizzle/dump'
import * as schema from '../../../src/base/db/schema'
import { withSession } from '../../../src/base/db/session'
import { WHY_NO_CLUSTER } from '../../support/cluster'
import { createDatabase, type TestDatabase } from '../../support/database'

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())

// A cluster adds triggers and keys of its own to tables.
test.skipIf(!WHY_NO_CLUSTER)('schema.sql is what the migrations make', async () => {
  const kept = await readFile(path.join(import.meta.dirname, '../../../drizzle/schema.sql'), 'utf8')
  expect(await withSession(database.target, dumpSchema)).toBe(kept)
})

test.skipIf(!WHY_NO_CLUSTER)('a column, an index, a trigger and a function more are seen in it', async () => {
  await withSession(database.target, async (sql) => {
    const before = await dumpSchema(sql)
    await sql.unsafe(`
      alter table labels add column shade text storage external default 'light';
      create index labels_shade on labels (organization_id, shade);
      create function nothing() returns trigger language plpgsql as 'begin return null; end';
      create trigger labels_nothing after insert on labels execute function nothing()`)
    const lines = new Set(before.split('\n'))
    const added = (await dumpSchema(sql)).split('\n').filter((line) => line && !lines.has(line))
    expect(added.join('\n')).toMatch(
      /shade text storage external default 'light'[\s\S]*CREATE INDEX labels_shade[\s\S]*CREATE TRIGGER labels_nothing[\s\S]*FUNCTION nothing/,
    )
  })
})

test('each table, column, index and check of the program has its migration', async () => {
  const meta = path.join(import.meta.dirname, '../../../drizzle/meta')
  const [file] = (await readdir(meta)).filter((one) => one.endsWith('_snapshot.json'))
  const migrated: DrizzleSnapshotJSON = JSON.parse(await readFile(path.join(meta, file!), 'utf8'))
  expect(await generateMigration(migrated, generateDrizzleJson(schema))).toEqual([])
})
