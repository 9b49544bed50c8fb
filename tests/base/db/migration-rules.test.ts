/** Rules for migrations that processes of the release before live through (`src/base/db/README.md`). */
import { expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { withoutTables } from '../../../drizzle/checks'
import { readMigrations } from '../../../src/base/db/migration-files'
import { listOlder, readOlder, WHY_NO_OLDER_RELEASE } from '../../support/older-release'

/** The schema of the first release that can be upgraded. */
const BASE = '0082_base'

const REFUSED: [rule: string, pattern: RegExp][] = [
  ['drops a column', /\bdrop column\b/i],
  ['drops a table', /^drop table\b/i],
  ['renames', /\brename (column|to|constraint)\b/i],
  ['forbids null', /\bset not null\b/i],
  [
    'adds a column that must have a value and has no default',
    /\badd column (?!.*\bdefault\b)(?!.*\bgenerated\b).*\bnot null\b/i,
  ],
  ['changes a type', /\balter column \S+ (set data )?type\b/i],
  ['builds an index on a table that may be large', /^create (unique )?index (?!concurrently)/i],
  ['names the table in a check, which a cluster refuses', /\badd constraint \S+ check \(.*"\w+"\."\w+"/i],
]

const SAFE = /^-- Safe beside older processes: .{10,}/m

/** The rules that a migration breaks without a reason. Indexes of tables that it makes itself are small. */
function faultsOf(statements: string[]): string[] {
  const made = statements.flatMap((text) => /^\s*create table (?:if not exists )?"?(\w+)/im.exec(text)?.[1] ?? [])
  return statements.flatMap((text) => {
    const statement = text.replace(/--.*$/gm, ' ').replace(/\s+/g, ' ').trim()
    const table = /^create (?:unique )?index .*? on "?(\w+)/i.exec(statement)?.[1]
    if (SAFE.test(text) || (table && made.includes(table))) return []
    return REFUSED.filter(([, pattern]) => pattern.test(statement)).map(
      ([rule]) => `${rule}: ${statement.slice(0, 60)}`,
    )
  })
}

test('a migration expands: what older processes need stays', async () => {
  const later = (await readMigrations()).filter(({ name }) => name > BASE)
  expect(later.length).toBeGreaterThan(0)
  expect(later.flatMap(({ name, statements }) => faultsOf(statements).map((fault) => `${name} ${fault}`))).toEqual([])
})

test.each([
  ['alter table tickets drop column subject', 'drops a column'],
  ['alter table "tickets" rename column a to b', 'renames'],
  ['alter table tickets alter column code set not null', 'forbids null'],
  ['alter table tickets alter column code set data type integer', 'changes a type'],
  ['alter table tickets add column size integer not null', 'adds a column'],
  ['create index "a" on "tickets" using btree ("code")', 'builds an index'],
  ['alter table "tickets" add constraint "a" check ("tickets"."code" > 1)', 'names the table'],
])('%s is refused', (statement, rule) => {
  expect(faultsOf([statement])).toEqual([expect.stringContaining(rule)])
  expect(faultsOf([`-- Safe beside older processes: nobody reads it.\n${statement}`])).toEqual([])
})

test('checks that a migration adds are written without the name of their table', () => {
  const written =
    'ALTER TABLE "labels" ADD CONSTRAINT "a" CHECK ("labels"."name" <> "labels"."color");--> statement-breakpoint'
  expect(faultsOf([written])).toHaveLength(1)
  expect(withoutTables(`-- Of labels\n${written}`)).toBe(
    '-- Of labels\nALTER TABLE "labels" ADD CONSTRAINT "a" CHECK ("name" <> "color");--> statement-breakpoint',
  )
  const other = 'CREATE INDEX "b" ON "labels" USING btree ("name") WHERE "labels"."name" is null;'
  expect(withoutTables(other)).toBe(other)
})

test('what a landed migration may do beside its own table, a later one may, too', () => {
  expect(faultsOf(['create table "steps" (n int)', 'create index "a" on "steps" using btree ("n")'])).toEqual([])
  expect(faultsOf(['alter table tickets add column size integer default 0 not null'])).toEqual([])
})

test('a migration that has landed is never edited: a new one adds its line to the end of landed-migrations.json', async () => {
  const landed = JSON.parse(readFileSync(path.join(import.meta.dir, 'landed-migrations.json'), 'utf8'))
  const present = (await readMigrations()).map(({ name, hash }) => [name, hash])
  expect(Object.entries<string>(landed)).toEqual(present as [string, string][])
})

test('migrations are in the order of their times, so that none is older than one that a database has', async () => {
  const times = (await readMigrations()).map(({ when }) => when)
  expect(times).toEqual(times.toSorted((a, b) => a - b))
  expect(new Set(times).size).toBe(times.length)
})

test.skipIf(Boolean(WHY_NO_OLDER_RELEASE))(
  'the list of landed migrations is that of the release before, continued',
  () => {
    const landed = JSON.parse(readFileSync(path.join(import.meta.dir, 'landed-migrations.json'), 'utf8'))
    for (const file of listOlder('drizzle').filter((file) => /^\\d.*sql$/.test(file) && file > BASE)) {
      const hash = createHash('sha256')
        .update(readOlder(`drizzle/${file}`))
        .digest('hex')
      expect([file, landed[file.replace('.sql', '')]]).toEqual([file, hash])
    }
  },
)
