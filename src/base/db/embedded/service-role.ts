/** Gives the service's role its rights in the embedded database: rows, and nothing of what makes tables and roles. */
import postgres from 'postgres'
import type { Sql } from '../transact'
import { type Connection, SERVICE } from './access'
import { OWNER } from './data-directory'

/** Number of the lock for processes that start together. */
const RIGHTS_LOCK = 5_710_314

/**
 * Grants what is missing. Tables that later migrations make come with the rights. Call it after the migration.
 * @param service any connection, for the look at what is granted: a new one takes 10 ms
 * @param owner the connection of the superuser
 */
export async function grantToService(service: Sql, owner: Connection): Promise<void> {
  if (await hasRights(service)) return
  const sql = postgres({ ...owner, max: 1, onnotice: () => {} })
  try {
    await sql.begin(async (sql) => {
      await sql`select pg_advisory_xact_lock(${RIGHTS_LOCK})`
      const [service, maker] = [sql(SERVICE), sql(OWNER)]
      await sql`grant select, insert, update, delete, maintain on all tables in schema public to ${service}`
      await sql`grant usage, select, update on all sequences in schema public to ${service}`
      await sql`alter default privileges for role ${maker} in schema public
        grant select, insert, update, delete, maintain on tables to ${service}`
      await sql`alter default privileges for role ${maker} in schema public
        grant usage, select, update on sequences to ${service}`
      // The doctor and the metrics read other sessions.
      await sql`grant pg_read_all_stats to ${service}`
    })
  } finally {
    await sql.end({ timeout: 1 })
  }
}

async function hasRights(sql: Sql): Promise<boolean> {
  const [found] = await sql<{ all_tables: boolean; later_tables: boolean }[]>`
    select coalesce(bool_and(has_table_privilege(${SERVICE}, oid, 'insert')), false) as all_tables,
      exists (select from pg_default_acl where defaclobjtype = 'r' and defaclacl::text like ${`%${SERVICE}=%`})
        as later_tables
    from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')`
  return Boolean(found?.all_tables && found.later_tables)
}
