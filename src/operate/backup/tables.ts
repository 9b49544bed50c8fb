/** Reads which tables and sequences a database has, and copies the rows of a table to a file and back. */
import { pipeline } from 'node:stream/promises'
import { createZstdCompress, createZstdDecompress } from 'node:zlib'
import { readMigrations } from '../../base/db/migration-files'
import type { Transaction } from '../../base/db/session'
import type { Progress } from '../../base/long-work'
import type { Store } from '../../desk/attachments/store'
import { type FileInBackup, type Manifest, type Table, tableFile } from './manifest'
import { bytesOf } from './read-file'

/** Where drizzle notes which migrations were applied. */
export const MIGRATIONS_TABLE = { schema: 'drizzle', name: '__drizzle_migrations' }

/** Bytes that are compressed at once: the server sends each row by itself. */
const CHUNK_BYTES = 256 * 1024

const LINE_BREAK = 10

/** Tables of the database: those that migrations make, and others, which are not of this service. */
export async function readTables(sql: Transaction): Promise<{ own: Table[]; foreign: string[] }> {
  const all: Table[] = await sql<Table[]>`
    select n.nspname as schema, c.relname as name, json_agg(a.attname order by a.attnum) as columns
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
    where c.relkind in ('r', 'p') and n.nspname in ('public', 'drizzle') and not exists (
      select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e'
    )
    group by n.nspname, c.relname order by n.nspname, c.relname`
  const known = await tablesOfMigrations()
  const isOwn = ({ schema, name }: Table) =>
    schema === 'public' ? known.has(name) : name === MIGRATIONS_TABLE.name && schema === MIGRATIONS_TABLE.schema
  return { own: all.filter(isOwn), foreign: all.filter((table) => !isOwn(table)).map(({ name }) => name) }
}

async function tablesOfMigrations(): Promise<Set<string>> {
  const statements = (await readMigrations()).flatMap((migration) => migration.statements)
  const made = statements.flatMap((text) => [...text.matchAll(/\bcreate table (?:if not exists )?"?(\w+)/gi)])
  return new Set(made.map(([, name]) => name!))
}

/** The last values of the sequences that belong to the tables. */
export async function readSequences(sql: Transaction): Promise<Manifest['sequences']> {
  const rows = await sql<Manifest['sequences']>`
    select n.nspname as schema, c.relname as name, s.last_value::text as last_value
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    join pg_sequences s on s.schemaname = n.nspname and s.sequencename = c.relname
    where n.nspname in ('public', 'drizzle') and exists (
      select from pg_depend d
      where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype in ('i', 'a') and d.refobjsubid > 0
    )
    order by n.nspname, c.relname`
  return [...rows]
}

/** `"schema"."name"`, for statements without parameters. */
export function quoted({ schema, name }: { schema: string; name: string }): string {
  return [schema, name].map(quotedName).join('.')
}

export function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** Copies all rows that the transaction sees to a compressed file of COPY's text format. */
export async function copyOut(
  sql: Transaction,
  table: Table,
  to: Store,
  progress: Progress,
): Promise<FileInBackup & { rows: number }> {
  const file = tableFile(table)
  progress.part = table.name
  const lines = await sql.unsafe(`copy ${quoted(table)} (${table.columns.map(quotedName)}) to stdout`).readable()
  const counted = { rows: 0 }
  const { size, digest } = await to.put(file, compressed(inChunks(lines, counted, progress)))
  return { file, ...counted, size, sha256: digest }
}

/** Copies the rows of a file of `copyOut` into the table. @param progress counts bytes of the file */
export async function copyIn(
  sql: Transaction,
  { file, ...table }: Table & FileInBackup,
  progress: Progress,
): Promise<void> {
  progress.part = table.name
  const target = await sql.unsafe(`copy ${quoted(table)} (${table.columns.map(quotedName)}) from stdin`).writable()
  await pipeline(progress.through(bytesOf(file)), createZstdDecompress(), target)
}

/** Joins lines, which the driver hands over one by one, and counts them: a line break in a value is escaped. */
async function* inChunks(
  lines: AsyncIterable<Buffer>,
  counted: { rows: number },
  progress: Progress,
): AsyncGenerator<Buffer> {
  let chunk: Buffer[] = []
  let size = 0
  for await (const piece of lines) {
    const before = counted.rows
    for (let at = piece.indexOf(LINE_BREAK); at >= 0; at = piece.indexOf(LINE_BREAK, at + 1)) counted.rows++
    progress.add(counted.rows - before)
    chunk.push(piece)
    size += piece.length
    if (size < CHUNK_BYTES) continue
    yield Buffer.concat(chunk, size)
    chunk = []
    size = 0
  }
  if (size > 0) yield Buffer.concat(chunk, size)
}

function compressed(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const zstd = createZstdCompress({ chunkSize: CHUNK_BYTES })
  // Whoever reads the output gets the error.
  pipeline(chunks, zstd).catch(() => {})
  return zstd
}
