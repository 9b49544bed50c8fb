/**
 * Finds the locks that a migration takes, from its statements: for the plan, and to take all of them before the first
 * change. PostgreSQL itself tells them only by taking them. `tests/base/db/migration-plan.test.ts` compares the two for
 * each migration.
 */
import type postgres from 'postgres'

/** The modes in which statements lock tables, weakest first. Weaker ones than these stop nobody. */
const MODES = ['ROW EXCLUSIVE', 'SHARE UPDATE EXCLUSIVE', 'SHARE', 'SHARE ROW EXCLUSIVE', 'ACCESS EXCLUSIVE'] as const
type LockMode = (typeof MODES)[number]

/** The hardest lock on each existing table, in the order in which the statements first name them. */
export type TableLocks = Map<string, LockMode>

const TABLE = String.raw`(?:ONLY\s+)?(?:"?public"?\.)?"?(\w+)"?`

const KINDS: [pattern: RegExp, mode: LockMode][] = [
  [new RegExp(`^ALTER TABLE (?:IF EXISTS )?${TABLE} SET \\(`, 'i'), 'SHARE UPDATE EXCLUSIVE'],
  [new RegExp(`^ALTER TABLE (?:IF EXISTS )?${TABLE} VALIDATE `, 'i'), 'SHARE UPDATE EXCLUSIVE'],
  [new RegExp(`^ALTER TABLE (?:IF EXISTS )?${TABLE} ADD CONSTRAINT \\S+ FOREIGN KEY`, 'i'), 'SHARE ROW EXCLUSIVE'],
  [new RegExp(`^ALTER TABLE .* FOREIGN KEY .* REFERENCES ${TABLE}`, 'i'), 'SHARE ROW EXCLUSIVE'],
  [new RegExp(`^ALTER TABLE (?:IF EXISTS )?${TABLE} `, 'i'), 'ACCESS EXCLUSIVE'],
  [new RegExp(`^CREATE (?:UNIQUE )?INDEX CONCURRENTLY .*? ON ${TABLE}`, 'i'), 'SHARE UPDATE EXCLUSIVE'],
  [new RegExp(`^CREATE (?:UNIQUE )?INDEX .*? ON ${TABLE}`, 'i'), 'SHARE'],
  [new RegExp(`^CREATE (?:OR REPLACE )?(?:CONSTRAINT )?TRIGGER .*? ON ${TABLE}`, 'i'), 'SHARE ROW EXCLUSIVE'],
  [new RegExp(`^DROP TRIGGER .*? ON ${TABLE}`, 'i'), 'ACCESS EXCLUSIVE'],
  [new RegExp(`^DROP TABLE (?:IF EXISTS )?${TABLE}`, 'i'), 'ACCESS EXCLUSIVE'],
  [new RegExp(`^INSERT INTO ${TABLE}`, 'i'), 'ROW EXCLUSIVE'],
  [new RegExp(`^UPDATE ${TABLE}`, 'i'), 'ROW EXCLUSIVE'],
  [new RegExp(`^DELETE FROM ${TABLE}`, 'i'), 'ROW EXCLUSIVE'],
]

/** @returns the locks on tables that are there before the migration */
export async function locksOf(sql: postgres.ISql, statements: string[]): Promise<TableLocks> {
  const locks: TableLocks = new Map()
  const add = (table: string, mode: LockMode) => {
    const before = locks.get(table)
    if (!before || MODES.indexOf(before) < MODES.indexOf(mode)) locks.set(table, mode)
  }
  for (const text of statements) {
    const statement = text.replace(/--.*$/gm, ' ').replace(/\s+/g, ' ').trim().replace(/;$/, '')
    for (const [table, mode] of namedIn(statement)) add(table, mode)
    for (const table of await ofObjects(sql, statement)) add(table, 'ACCESS EXCLUSIVE')
  }
  const tables = await sql<{ name: string }[]>`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and relname = any(${[...locks.keys()]}::text[])`
  const existing = new Set(tables.map(({ name }) => name))
  return new Map([...locks].filter(([table]) => existing.has(table)))
}

function namedIn(statement: string): [table: string, mode: LockMode][] {
  const [, list, word] = /^LOCK (?:TABLE )?(.+?) IN (.+) MODE$/i.exec(statement) ?? []
  if (list !== undefined) {
    const mode = MODES.find((one) => one === word?.toUpperCase())
    return mode ? list.split(',').map((name) => [name.trim().replaceAll('"', ''), mode]) : []
  }
  const [first] = KINDS.filter(([pattern]) => pattern.test(statement))
  if (!first) return []
  // Both tables of a foreign key are locked.
  return KINDS.filter(([, mode]) => mode === first[1]).flatMap(([pattern, mode]) => {
    const name = pattern.exec(statement)?.[1]
    return name ? [[name, mode] as [string, LockMode]] : []
  })
}

/** Tables of constraints and indexes that a statement removes: of a foreign key the other table, too. */
async function ofObjects(sql: postgres.ISql, statement: string): Promise<string[]> {
  const [, constraint] = /^ALTER TABLE .* DROP CONSTRAINT (?:IF EXISTS )?"?(\w+)"?/i.exec(statement) ?? []
  const [, index] = /^DROP INDEX (?:IF EXISTS )?(?:"?public"?\.)?"?(\w+)"?/i.exec(statement) ?? []
  if (!constraint && !index) return []
  const rows = await sql<{ name: string }[]>`
    select confrelid::regclass::text as name from pg_constraint where conname = ${constraint ?? ''} and confrelid <> 0
    union
    select indrelid::regclass::text from pg_index where indexrelid = to_regclass(${`public.${index ?? '-'}`})`
  return rows.map(({ name }) => name.replaceAll('"', ''))
}
