/**
 * Fills an empty database with the rows of a backup, in the caller's transaction: the schema by the migrations that the
 * backup's database had, then the rows, then indexes and foreign keys. These are made last, because that is faster and
 * checks the references between all rows at once.
 */
import { isDistributed } from '../../base/db/cluster/place-tables'
import { createMigrationsTable } from '../../base/db/migrate'
import { readMigrations, sinceBase } from '../../base/db/migration-files'
import type { Transaction } from '../../base/db/session'
import { startProgress } from '../../base/long-work'
import { BackupError } from './backup-error'
import type { Manifest } from './manifest'
import { copyIn, quoted, quotedName, readTables } from './tables'

/** @throws BackupError when the database has other tables than those of extensions */
export async function refuseFilled(sql: Transaction): Promise<void> {
  const { own, foreign } = await readTables(sql)
  if (own.length + foreign.length === 0) return
  const advice = (await isDistributed(sql)) ? ' of the cluster, and distribute it afterwards' : ''
  throw new BackupError(`the database is not empty: name an empty one${advice}`)
}

/**
 * @throws BackupError when the migrations of the backup are not the first ones of this release
 * @throws MigrationError when the backup is too old
 */
export async function refuseOtherBackup({ migrations, migration, release }: Manifest): Promise<void> {
  const known = await readMigrations()
  if (sinceBase(known, migrations).every((when, index) => known[index]?.when === when)) return
  throw new BackupError(
    `the backup was made by a newer release (${release}, migration ${migration}): restore it with that`,
  )
}

/** Makes the schema and copies all rows in. @throws BackupError when the rows are not as many as the backup says */
export async function loadDatabase(sql: Transaction, { tables, migrations, sequences }: Manifest): Promise<void> {
  await createMigrationsTable(sql)
  const known = await readMigrations()
  for (const { statements } of known.slice(0, sinceBase(known, migrations).length)) {
    for (const statement of statements) await sql.unsafe(statement)
  }
  await refuseUnknown(sql, tables)
  const names = tables.map(quoted)
  for (const name of names) await sql.unsafe(`alter table ${name} disable trigger user`)
  const later = await dropWhatComesLater(sql)
  await copyTables(sql, tables)
  await makeAgain(sql, later)
  for (const name of names) await sql.unsafe(`alter table ${name} enable trigger user`)
  for (const { last_value, ...sequence } of sequences) {
    if (last_value !== null) await sql`select setval(${quoted(sequence)}::regclass, ${last_value}::bigint)`
  }
  await compareRows(sql, tables)
}

async function copyTables(sql: Transaction, tables: Manifest['tables']): Promise<void> {
  const total = tables.reduce((sum, { size }) => sum + size, 0)
  using progress = startProgress('restore', { total, unit: 'bytes' })
  for (const table of tables) await copyIn(sql, table, progress)
}

async function makeAgain(sql: Transaction, statements: string[]): Promise<void> {
  using progress = startProgress('restore', { total: statements.length, unit: 'indexes and keys' })
  for (const statement of statements) {
    await sql.unsafe(statement)
    progress.add()
  }
}

/** @throws BackupError for a table that the migrations did not make, such as one of the server with its roles */
async function refuseUnknown(sql: Transaction, tables: Manifest['tables']): Promise<void> {
  const { own } = await readTables(sql)
  const known = new Set(own.map(quoted))
  for (const table of tables) {
    if (!known.has(quoted(table))) throw new BackupError(`the backup has an unknown table: ${quoted(table)}`)
  }
}

/** Numbers that the lost service may have given out after the backup, in each organization. */
const GAP = 1000

/**
 * Lets no ticket get a number that the lost service gave to another after the backup: people and mail name tickets by
 * it.
 * @param from the last number that was given out, in any organization; without it each that has numbers leaves gaps
 * @param gaps how many
 */
export async function passTicketNumbers(sql: Transaction, from?: number, gaps = 1): Promise<void> {
  if (from === undefined) {
    await sql`update ticket_counters set next_number = next_number + ${GAP * gaps}::int where next_number > 1`
    return
  }
  await sql`
    insert into ticket_counters as counters (organization_id, next_number)
    select id, ${from + 1}::int from organizations
    on conflict (organization_id) do update set next_number = greatest(counters.next_number, excluded.next_number)`
}

/**
 * Ends the cursors that the lost service gave out: events that it had after the backup never happened here. The rows
 * are counted as those of the backup.
 */
export async function endCursors(sql: Transaction, { tables }: Manifest): Promise<void> {
  const feeds = tables.find(({ name }) => name === 'event_feeds')
  // A backup of a release without the feed gave out none.
  if (!feeds) return
  await renewEpochs(sql)
  const [counted] = await sql<[{ n: number }]>`select count(*)::int as n from event_feeds`
  feeds.rows = counted.n
}

/** Gives the feed of each organization a new epoch: the cursors of before are no longer good. */
export async function renewEpochs(sql: Transaction): Promise<void> {
  await sql`
    insert into event_feeds (organization_id, epoch) select id, gen_random_uuid() from organizations
    on conflict (organization_id) do update set epoch = excluded.epoch`
}

/** @throws BackupError naming the first table that has other rows than the backup */
export async function compareRows(sql: Transaction, tables: Manifest['tables']): Promise<void> {
  using progress = startProgress('count of the rows', { total: tables.length, unit: 'tables' })
  for (const table of tables) {
    progress.add()
    const [found] = await sql.unsafe<{ n: string }[]>(`select count(*)::text as n from ${quoted(table)}`)
    if (Number(found!.n) === table.rows) continue
    throw new BackupError(`table ${table.name} has ${found!.n} rows after the restore, and ${table.rows} in the backup`)
  }
}

/** Drops foreign keys and all indexes that no constraint needs. @returns the statements that make them again */
async function dropWhatComesLater(sql: Transaction): Promise<string[]> {
  const indexes = await sql<{ name: string; definition: string }[]>`
    select c.relname as name, pg_get_indexdef(c.oid) as definition
    from pg_index i join pg_class c on c.oid = i.indexrelid
    where c.relnamespace = 'public'::regnamespace and not i.indisprimary
      and not exists (select from pg_constraint where conindid = c.oid and contype in ('u', 'x'))
    order by c.relname`
  const keys = await sql<{ table: string; name: string; definition: string }[]>`
    select r.relname as table, k.conname as name, pg_get_constraintdef(k.oid) as definition
    from pg_constraint k join pg_class r on r.oid = k.conrelid
    where k.contype = 'f' and k.connamespace = 'public'::regnamespace and k.conparentid = 0
    order by r.relname, k.conname`
  for (const { table, name } of keys)
    await sql.unsafe(`alter table ${quotedName(table)} drop constraint ${quotedName(name)}`)
  for (const { name } of indexes) await sql.unsafe(`drop index ${quotedName(name)}`)
  return [
    ...indexes.map(({ definition }) => definition),
    ...keys.map(
      ({ table, name, definition }) =>
        `alter table ${quotedName(table)} add constraint ${quotedName(name)} ${definition}`,
    ),
  ]
}
