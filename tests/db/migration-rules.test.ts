/** Rules for migrations that processes of the release before live through (`src/db/README.md`). */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { MIGRATIONS_FOLDER, readMigrations } from '../../src/db/migration-files'
import { listOlder, readOlder, WHY_NO_OLDER_RELEASE } from '../support/older-release'

/** The last migration from before the rules. */
const BEFORE_RULES = '0015_original_after_reply'
/** The last migration of the release before. The ones up to it have landed. */
const LANDED = '0032_never'

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
  const later = (await readMigrations()).filter(({ name }) => name > BEFORE_RULES)
  expect(later.length).toBeGreaterThan(5)
  expect(later.flatMap(({ name, statements }) => faultsOf(statements).map((fault) => `${name} ${fault}`))).toEqual([])
})

test.each([
  ['alter table tickets drop column subject', 'drops a column'],
  ['alter table "tickets" rename column a to b', 'renames'],
  ['alter table tickets alter column code set not null', 'forbids null'],
  ['alter table tickets alter column code set data type integer', 'changes a type'],
  ['alter table tickets add column size integer not null', 'adds a column'],
  ['create index "a" on "tickets" using btree ("code")', 'builds an index'],
])('%s is refused', (statement, rule) => {
  expect(faultsOf([statement])).toEqual([expect.stringContaining(rule)])
  expect(faultsOf([`-- Safe beside older processes: nobody reads it.\n${statement}`])).toEqual([])
})

test('what a landed migration may do beside its own table, a later one may, too', () => {
  expect(faultsOf(['create table "steps" (n int)', 'create index "a" on "steps" using btree ("n")'])).toEqual([])
  expect(faultsOf(['alter table tickets add column size integer default 0 not null'])).toEqual([])
})

test.skipIf(Boolean(WHY_NO_OLDER_RELEASE))('the migrations of the release before are as they were', () => {
  const files = listOlder('drizzle').filter((file) => file.endsWith('.sql'))
  expect(files.at(-1)).toBe(`${LANDED}.sql`)
  for (const file of files) {
    expect([file, readFileSync(path.join(MIGRATIONS_FOLDER, file), 'utf8')]).toEqual([
      file,
      readOlder(`drizzle/${file}`),
    ])
  }
})
