/**
 * Analyzes tables that have just been filled. Without statistics every index that begins with the organization looks
 * equally good to PostgreSQL, and its checks of foreign keys keep a plan that reads all rows of the organization. Its
 * own autovacuum looks only once a minute.
 */
import type { Connection } from './transact'

/** Smaller tables are read as a whole at no cost. */
const LEAST_PAGES = 4

/** Analyzes tables that have rows and no statistics, which also ends plans made without. Returns their names. */
export async function analyzeNewTables({ sql }: Connection): Promise<string[]> {
  const tables = await sql<{ name: string }[]>`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind = 'r' and reltuples < 0
      and pg_relation_size(oid) >= ${LEAST_PAGES} * current_setting('block_size')::integer
      and case when current_setting('server_version_num')::integer >= 170000
        then has_table_privilege(oid, 'maintain') else pg_has_role(relowner, 'usage') end`
  const names = tables.map(({ name }) => name)
  if (names.length > 0) await sql`analyze ${sql(names)}`
  return names
}
