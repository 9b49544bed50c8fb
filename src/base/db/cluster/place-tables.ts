/**
 * Puts tables where their kind says (`TABLE_KINDS` in `schema/table-parts.ts`): the rows of a distributed one move to
 * the machine of their organization, those of a reference table are copied to every machine.
 */
import type postgres from 'postgres'
import { TABLE_KINDS, type TableKind } from '../schema'

/** A table that is not where its kind says. */
export type Unplaced = { name: string; kind: Exclude<TableKind, 'local'> }

/** A statement that takes a part of a table away, and the one that brings it back. */
type Part = { remove: string; restore?: string }

/**
 * Triggers that mend what processes of an older release write. On a cluster there are none, and these would make each
 * write wait for more.
 */
const BESIDE_OLDER_PROCESSES = ['ticket_search_in_block', 'outbox_mail_in_turn', 'contacts_search_fits']

/** Each machine of a cluster numbers rows from a multiple of this on: 2 to the power of 48. */
const FIRST_OF_MACHINES = '281474976710656'

/** The column that says on which machine a row is. */
const BY = 'organization_id'

/** True when tables of the database are spread over the machines of a cluster. */
export async function isDistributed(sql: postgres.ISql): Promise<boolean> {
  const [citus] = await sql<{ exists: boolean }[]>`select to_regclass('pg_dist_partition') is not null as exists`
  if (!citus!.exists) return false
  const [found] = await sql<{ exists: boolean }[]>`
    select exists (select 1 from pg_dist_partition where partmethod = 'h') as exists`
  return found!.exists
}

/** Lists the tables that are not where their kind says, in the order of the schema. Takes no lock. */
export async function findUnplaced(sql: postgres.ISql): Promise<Unplaced[]> {
  const rows = await sql<{ name: string }[]>`
    select c.relname as name from pg_class c left join pg_dist_partition p on p.logicalrelid = c.oid
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and (p.partmethod = 'h') is not true
      and (p.partmethod = 'n' and p.repmodel = 't') is not true`
  const names = new Set(rows.map(({ name }) => name))
  return [...TABLE_KINDS].flatMap(([name, kind]) => (kind !== 'local' && names.has(name) ? [{ name, kind }] : []))
}

/**
 * Places tables in a transaction. Their rows are copied, and other sessions wait for the tables until the commit.
 * - Foreign keys run both ways between tables, and Citus takes none between tables of which only one is placed: they
 *   are away
 *   meanwhile, and are checked again.
 * - Triggers are away, too: they would count each copied row again.
 */
export async function placeTables(sql: postgres.TransactionSql, tables: Unplaced[]): Promise<void> {
  if (tables.length === 0) return
  await allowPlacing(sql)
  const names = tables.map(({ name }) => name)
  const parts = [...(await findKeys(sql, names)), ...(await findTriggers(sql, names))]
  for (const { remove } of parts) await sql.unsafe(remove)
  await numberAnew(sql, names)
  for (const { name } of tables.filter(({ kind }) => kind === 'reference'))
    await sql`select create_reference_table(${name})`
  let beside = await findDistributed(sql)
  for (const { name } of tables.filter(({ kind }) => kind === 'distributed')) {
    await sql`select create_distributed_table(${name}, ${BY}, colocate_with => ${beside ?? 'none'})`
    beside ??= name
  }
  // The rows of before are still in the files of this machine, where nobody sees them.
  for (const { name } of tables) await sql`select truncate_local_data_after_distributing_table(${name})`
  await identifyRows(sql)
  await copyFunctions(sql)
  for (const { restore } of parts) if (restore) await sql.unsafe(restore)
}

/**
 * Lets a transaction place tables, and change those that are placed: by one connection to each machine, because
 * reference tables are changed with others, and with triggers, which Citus takes on request alone.
 */
export async function allowPlacing(sql: postgres.TransactionSql): Promise<void> {
  await sql.unsafe(
    "set local citus.multi_shard_modify_mode = 'sequential'; set local citus.enable_unsafe_triggers = on",
  )
}

/**
 * Takes away from a statement what Citus refuses of a foreign key: clearing one of its columns when the other table's
 * row goes. Commands clear the column before they delete such a row.
 */
export function withoutSetNull(statement: string): string {
  return statement.replace(/ on delete set null( \([^)]*\))?/gi, '')
}

async function findDistributed(sql: postgres.ISql): Promise<string | undefined> {
  const names = [...TABLE_KINDS].filter(([, kind]) => kind === 'distributed').map(([name]) => name)
  const [found] = await sql<{ name: string }[]>`
    select c.relname as name from pg_dist_partition p join pg_class c on c.oid = p.logicalrelid
    where p.partmethod = 'h' and c.relname = any(${names}::text[]) and c.relnamespace = 'public'::regnamespace
    order by p.colocationid, 1 limit 1`
  return found?.name
}

/** Foreign keys from and to the tables. */
async function findKeys(sql: postgres.ISql, tables: string[]): Promise<Part[]> {
  const keys = await sql<{ table: string; name: string; definition: string }[]>`
    select conrelid::regclass::text as table, quote_ident(conname) as name, pg_get_constraintdef(oid) as definition
    from pg_constraint
    where contype = 'f' and connamespace = 'public'::regnamespace and exists (
      select from pg_class c where c.oid in (conrelid, confrelid) and c.relname = any(${tables}::text[])
    )
    order by 1, 2`
  return keys.map(({ table, name, definition }) => ({
    remove: `alter table ${table} drop constraint ${name}`,
    restore: `alter table ${table} add constraint ${name} ${withoutSetNull(definition)}`,
  }))
}

/**
 * Gives new numbers to rows that a cluster has numbered, after a backup of it was restored: the machines of this one
 * begin with the same numbers.
 */
async function numberAnew(sql: postgres.ISql, tables: string[]): Promise<void> {
  const columns = await sql<{ table: string; column: string }[]>`
    select c.relname as table, a.attname as column from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = 'public'::regnamespace and c.relname = any(${tables}::text[]) and a.attidentity <> ''
      and a.atttypid = 'bigint'::regtype`
  for (const { table, column } of columns) {
    await sql`update ${sql(table)} set ${sql(column)} = default where ${sql(column)} >= ${FIRST_OF_MACHINES}::bigint`
  }
}

/** Lets Citus move tables without a primary key to another machine while they are written. */
async function identifyRows(sql: postgres.ISql): Promise<void> {
  const tables = await sql<{ name: string }[]>`
    select c.relname as name from pg_dist_partition p join pg_class c on c.oid = p.logicalrelid
    where p.partmethod = 'h' and c.relreplident = 'd'
      and not exists (select 1 from pg_index i where i.indrelid = c.oid and i.indisprimary)`
  for (const { name } of tables) await sql`alter table ${sql(name)} replica identity full`
}

/**
 * Puts functions of ours on every machine, once the tables that they read are there: triggers call them. Citus by
 * itself puts there only those that a column or a trigger names.
 */
async function copyFunctions(sql: postgres.ISql): Promise<void> {
  await sql`
    select create_distributed_function(p.oid::regprocedure) from pg_proc p
    where p.pronamespace = 'public'::regnamespace and p.prokind = 'f'
      and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
      and not exists (select from pg_dist_object o where o.classid = 'pg_proc'::regclass and o.objid = p.oid)`
}

async function findTriggers(sql: postgres.ISql, tables: string[]): Promise<Part[]> {
  const triggers = await sql<{ table: string; name: string; definition: string; is_needed: boolean }[]>`
    select c.oid::regclass::text as table, quote_ident(tgname) as name, tgname <> all(${BESIDE_OLDER_PROCESSES}::text[]) as is_needed,
      pg_get_triggerdef(t.oid) as definition
    from pg_trigger t join pg_class c on c.oid = tgrelid
    where not tgisinternal and c.relnamespace = 'public'::regnamespace and c.relname = any(${tables}::text[])
    order by 1, 2`
  return triggers.map(({ table, name, definition, is_needed }) => ({
    remove: `drop trigger ${name} on ${table}`,
    ...(is_needed && { restore: definition }),
  }))
}
