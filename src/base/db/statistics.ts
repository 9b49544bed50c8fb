/**
 * Analyzes tables that have just been filled. Without statistics every index that begins with the organization looks
 * equally good to PostgreSQL, and its checks of foreign keys keep a plan that reads all rows of the organization. With
 * statistics of the empty table it is the same: 100,000 tickets were read by organization alone in each check. Its own
 * autovacuum looks only once a minute.
 */
import { askMachines } from './cluster/machines'
import { isDistributed } from './cluster/place-tables'
import { TABLE_KINDS } from './schema'
import type { Connection } from './transact'

/** Smaller tables are read as a whole at no cost. */
const LEAST_PAGES = 4
/** Smaller counts of rows are one to the rules: a queue has none and some by turns. */
const LEAST_ROWS = 100
/** A table that has grown so many times since its statistics were taken needs new ones. */
const GROWTH = 10

/** As a text, because on a cluster each machine is asked, where the parts of a table are tables. */
const GROWN = `
  select relname::text as name from (
    select oid, relname, relowner, reltuples, relpages, pg_stat_get_live_tuples(oid) as live,
      pg_relation_size(oid) / current_setting('block_size')::integer as pages
    from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
  ) t
  where pages >= ${LEAST_PAGES}
    and (
      reltuples < 0
      or live >= ${GROWTH} * greatest(reltuples, ${LEAST_ROWS})
      or pages >= ${GROWTH} * greatest(relpages, ${LEAST_PAGES})
    )
    and case when current_setting('server_version_num')::integer >= 170000
      then has_table_privilege(oid, 'maintain') else pg_has_role(relowner, 'usage') end`

/**
 * Analyzes tables that hold rows and have no statistics, or have grown tenfold since. Also ends plans made before.
 * Growth shows in the rows that PostgreSQL counts, which a crash of the server forgets, and in the size of the file.
 * Each analysis takes both anew, so that a table has one for each tenfold of its size.
 * @returns their names
 */
export async function analyzeGrownTables({ sql }: Connection): Promise<string[]> {
  const tables = (await isDistributed(sql))
    ? await askMachines(sql, GROWN)
    : await sql.unsafe<{ name: string }[]>(GROWN)
  const names: string[] = []
  for (const name of new Set(tables.map(({ name }) => tableOf(name))))
    if (await hasRows(name, { sql })) names.push(name)
  if (names.length > 0) await sql`analyze ${sql(names)}`
  return names
}

/** The table that a machine's part belongs to: `tickets_102035` is one of `tickets`. */
function tableOf(name: string): string {
  const whole = name.replace(/_\d+$/, '')
  return TABLE_KINDS.has(whole) ? whole : name
}

/**
 * False while every row of the table is part of a transaction that still runs: its statistics would be those of an
 * empty one.
 */
async function hasRows(name: string, { sql }: Pick<Connection, 'sql'>): Promise<boolean> {
  const rows = await sql`select 1 from ${sql(name)} limit 1`
  return rows.length > 0
}
