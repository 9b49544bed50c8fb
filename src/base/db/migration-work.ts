/**
 * Reads the statements of a migration: which tables they read whole, and how much they write. The plan shows it.
 * `tests/base/db/migration-plan.test.ts` compares what is read with the scans that PostgreSQL counts.
 */
import type postgres from 'postgres'
import { askMachines } from './cluster/machines'
import { isDistributed } from './cluster/place-tables'

/** `index`: an index is built; `rows`: rows, or the whole table, are written anew. */
type Writes = 'nothing' | 'index' | 'rows'

/** The work of a migration on a table that is there before it. */
type TableWork = { table: string; rows: number; disk_bytes: number }

const TABLE = String.raw`(?:ONLY\s+)?(?:"?public"?\.)?"?(\w+)"?`
const ALTER = `^ALTER TABLE (?:IF EXISTS )?${TABLE} `
/** A default whose value differs from row to row. */
const VOLATILE = String.raw`DEFAULT .*\b(?:gen_random_uuid|uuidv7|random|clock_timestamp|nextval)\(|GENERATED |\b(?:small|big)?serial\b`

const KINDS: [pattern: RegExp, writes: Writes][] = [
  [new RegExp(`^CREATE (?:UNIQUE )?INDEX .*? ON ${TABLE}`, 'i'), 'index'],
  [new RegExp(`${ALTER}ADD (?:CONSTRAINT \\S+ )?(?:PRIMARY KEY|UNIQUE) (?!USING)`, 'i'), 'index'],
  [new RegExp(`${ALTER}ADD COLUMN .*(?:${VOLATILE})`, 'i'), 'rows'],
  [new RegExp(`${ALTER}ALTER COLUMN \\S+ (?:SET DATA )?TYPE `, 'i'), 'rows'],
  [new RegExp(`${ALTER}ALTER COLUMN \\S+ SET NOT NULL`, 'i'), 'nothing'],
  [new RegExp(`${ALTER}ADD CONSTRAINT \\S+ (?:CHECK|FOREIGN KEY)(?!.*NOT VALID)`, 'i'), 'nothing'],
  [new RegExp(`${ALTER}VALIDATE CONSTRAINT`, 'i'), 'nothing'],
  [new RegExp(`^UPDATE ${TABLE}`, 'i'), 'rows'],
  [new RegExp(`^DELETE FROM ${TABLE}`, 'i'), 'rows'],
]

/** An INSERT or CREATE TABLE that reads other tables. */
const COPIES = /^(?:WITH|INSERT INTO|CREATE TABLE) .*\bSELECT\b/i
const SOURCES = new RegExp(String.raw`\b(?:FROM|JOIN|USING)\s+${TABLE}`, 'gi')

type Size = { table: string; rows: number; heap_bytes: number; bytes: number }

/**
 * Reads the catalog for what the statements will do.
 * @returns the tables that are read whole, with the rows that PostgreSQL estimates, and the most that is written for
 *   each, with its share of the write-ahead log
 */
export async function workOf(sql: postgres.ISql, statements: string[]): Promise<TableWork[]> {
  const works = statements.flatMap(worksOf)
  const sizes = await sizesOf(
    sql,
    works.map(({ table }) => table),
  )
  return sizes.map(({ table, rows, heap_bytes, bytes }) => {
    const own = works.filter((work) => work.table === table)
    const disk_bytes = own.reduce(
      (sum, { writes }) => sum + { nothing: 0, index: heap_bytes, rows: 2 * bytes }[writes],
      0,
    )
    return { table, rows: rows * own.length, disk_bytes }
  })
}

/** Sizes of tables that exist, as PostgreSQL estimates them. On a cluster their rows are in parts, on all machines. */
export async function sizesOf(sql: postgres.ISql, tables: string[]): Promise<Size[]> {
  const figures = `
    greatest(c.reltuples, 0)::float8 as rows, pg_relation_size(c.oid)::float8 as heap_bytes,
    pg_total_relation_size(c.oid)::float8 as bytes`
  const sizes = await sql<Size[]>`
    select c.relname as table, ${sql.unsafe(figures)} from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and c.relname = any(${tables}::text[])`
  if (!(await isDistributed(sql))) return sizes
  // The copies of a reference table on the workers are left out.
  const parts = await askMachines<Size>(
    sql,
    `select s.logicalrelid::text as table, ${figures} from pg_dist_shard s
    join pg_class c on c.oid = to_regclass(shard_name(s.logicalrelid, s.shardid))
    where s.shardminvalue is not null or (select groupid from pg_dist_local_group) = 0`,
  )
  for (const size of sizes) {
    for (const part of parts.filter(({ table }) => table === size.table)) {
      size.rows += part.rows
      size.heap_bytes += part.heap_bytes
      size.bytes += part.bytes
    }
  }
  return sizes
}

function worksOf(text: string): { table: string; writes: Writes }[] {
  const statement = text.replace(/--.*$/gm, ' ').replace(/\s+/g, ' ').trim()
  const found = KINDS.flatMap(([pattern, writes]) => {
    const table = pattern.exec(statement)?.[1]
    return table === undefined ? [] : [{ table, writes }]
  }).slice(0, 1)
  const sources = COPIES.test(statement) || found[0]?.writes === 'rows' ? statement.matchAll(SOURCES) : []
  const read = [...sources].map(([, table]) => ({ table: table!, writes: 'nothing' as const }))
  return [...found, ...read.filter(({ table }) => table !== found[0]?.table)]
}
