/** Finds what keeps a database from being distributed, in sentences for the operator. */
import type postgres from 'postgres'
import { APPLICATION_NAME } from '../application-name'
import { findMissing, readMigrations } from '../migration-files'
import { isPooled } from '../pooler'
import { TABLE_KINDS } from '../schema'
import { askEachMachine } from './machines'

/** The oldest Citus that the service was tested with. */
const OLDEST_CITUS = 13

/** The answer of a machine about itself. */
type Machine = { postgresql: number; citus: string; prepared: number; extensions: string[] }

/**
 * Lists why the database cannot be distributed; empty when it can. Changes nothing.
 * @param client without a pooler, on the coordinator
 */
export async function findBlockers(client: postgres.Sql): Promise<string[]> {
  const [server] = await client<{ number: number; is_offered: boolean; version: string | null }[]>`
    select current_setting('server_version_num')::int as number,
      exists (select 1 from pg_available_extensions where name = 'citus') as is_offered,
      (select extversion from pg_extension where extname = 'citus') as version`
  if (isPooled(client)) {
    return ['the connection leads to a pooler: set DATABASE_DIRECT_URL to the coordinator itself']
  }
  const { number, is_offered, version } = server!
  if (number < 150_000) return ['the database server is older than PostgreSQL 15']
  if (!is_offered)
    return ['the database server has no Citus: install it on every machine, and add it to shared_preload_libraries']
  if (!version)
    return ['the database has no Citus: a superuser must run CREATE EXTENSION citus in it, on every machine']
  if (Number.parseInt(version, 10) < OLDEST_CITUS)
    return [`Citus ${version} is too old: ${OLDEST_CITUS} or later is needed`]
  return [...(await ofCluster(client)), ...(await ofDatabase(client))]
}

/** Machines that are missing, do not answer, or differ from the coordinator. */
async function ofCluster(sql: postgres.ISql): Promise<string[]> {
  const [cluster] = await sql<{ is_coordinator: boolean; is_known: boolean; workers: number }[]>`
    select (select groupid = 0 from pg_dist_local_group) as is_coordinator,
      exists (select 1 from pg_dist_node where groupid = 0) as is_known,
      (select count(*)::int from pg_dist_node where groupid <> 0 and noderole = 'primary' and shouldhaveshards) as workers`
  const { is_coordinator, is_known, workers } = cluster!
  if (!is_coordinator) return ['this machine is a worker of the cluster: DATABASE_URL must name the coordinator']
  if (!is_known) return ["the coordinator has no address: select citus_set_coordinator_host('its name', its port)"]
  if (workers === 0) return ["the cluster has no workers: select citus_add_node('name', port) for each"]
  const answers = await askEachMachine<Machine>(sql, ASK_MACHINE)
  const own = answers[0]?.value
  return answers.flatMap(({ node, value: machine, error }) => {
    if (!machine) return [`${node} cannot be asked: ${error}`]
    const faults = [
      machine.prepared === 0 && 'max_prepared_transactions is 0, so that no transaction can span machines',
      major(machine.postgresql) !== major(own?.postgresql ?? 0) && 'PostgreSQL is not that of the coordinator',
      machine.citus !== own?.citus && 'Citus is not that of the coordinator',
      machine.extensions.length < 2 &&
        `of the extensions btree_gin and pg_trgm it has ${machine.extensions.join() || 'none'}`,
    ]
    return faults.flatMap((fault) => (fault ? [`${node}: ${fault}`] : []))
  })
}

const ASK_MACHINE = `
  select json_build_object(
    'postgresql', current_setting('server_version_num')::int,
    'citus', (select extversion from pg_extension where extname = 'citus'),
    'prepared', current_setting('max_prepared_transactions')::int,
    'extensions', (select coalesce(json_agg(name), '[]') from pg_available_extensions where name in ('btree_gin', 'pg_trgm'))
  )`

/** The faults of the state of the database, of the rights of the role, and of who else uses it. */
async function ofDatabase(sql: postgres.ISql): Promise<string[]> {
  const missing = await findMissing(sql, await readMigrations())
  if (missing.length > 0) {
    return [`the database lacks ${missing.length} migrations of this release: run \`bun run cli migrate\` first`]
  }
  const foreign = await sql<{ name: string; owner: string }[]>`
    select relname as name, pg_get_userbyid(relowner) as owner from pg_class
    where relnamespace = 'public'::regnamespace and relkind = 'r' and relname = any(${[...TABLE_KINDS.keys()]}::text[])
      and not pg_has_role(relowner, 'usage') limit 1`
  const services = await countServices(sql)
  return [
    ...foreign.map(({ name, owner }) => `table ${name} belongs to role ${owner}: connect as it`),
    ...(services > 0
      ? [
          `a service is connected (${services} connections): stop it, because its requests would wait for the whole time`,
        ]
      : []),
  ]
}

/** Counts the connections of services and of other commands to this database. */
export async function countServices(sql: postgres.ISql): Promise<number> {
  const [services] = await sql<{ n: number }[]>`
    select count(*)::int as n from pg_stat_activity
    where datname = current_database() and application_name = ${APPLICATION_NAME} and pid <> pg_backend_pid()`
  return services!.n
}

function major(version_number: number): number {
  return Math.floor(version_number / 10_000)
}
