/** Looks at the database server: its version, its connections, its clock, and what the role may do. */
import { config } from '../../base/config'
import { measureClockOffset } from '../../base/db/clock'
import { isDistributed } from '../../base/db/cluster/place-tables'
import { isPooled } from '../../base/db/pooler'
import type { Connection } from '../../base/db/transact'
import { counted, type Finding, failure, firstOf, warning } from './finding'

const OLDEST_MAJOR = 15
/** Connections of a process beside its pool, for background jobs and notices. */
const BESIDE_POOL = 4
/** A process on a cluster has two more connections, which ask how the machines are. */
const BESIDE_POOL_OF_CLUSTER = 6
/** Share of the connections that may be in use. */
const MOST_USED = 0.85
/** A transaction that is open for longer keeps old rows from being removed. */
const LONG_TRANSACTION_S = 600
/** A clock may be as much away from that of the database. */
const MOST_OFFSET_S = 2

type Server = {
  version_num: number
  version: string
  is_read_only: boolean
  used: number
  most: number
  /** Connections of this database that LISTEN: each process of the service has one, except through a pooler. */
  processes: number
  /** Hosts that those processes are on. */
  hosts: number
  oldest_snapshot_s: number | null
  track_activities: string
}

/** Reads the figures that several checks look at. */
export async function readServer({ sql }: Connection): Promise<Server> {
  const [server] = await sql<Server[]>`
    select current_setting('server_version_num')::int as version_num, current_setting('server_version') as version,
      pg_is_in_recovery() or current_setting('default_transaction_read_only')::bool as is_read_only,
      count(*) as used, least(
        current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
        (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user)
      ) as most,
      count(*) filter (where datname = current_database() and query ~* '^listen ') as processes,
      count(distinct client_addr) filter (where datname = current_database() and query ~* '^listen ') as hosts,
      round(extract(epoch from now() - min(xact_start) filter (
        where backend_xmin is not null and pid <> pg_backend_pid()
      )))::float8 as oldest_snapshot_s,
      current_setting('track_activities') as track_activities
    from pg_stat_activity where backend_type = 'client backend'`
  return server!
}

/** Looks at version, read-only servers, connections and long transactions. */
export async function checkServer(connection: Connection): Promise<Finding[]> {
  const server = await readServer(connection)
  const findings: Finding[] = []
  if (server.version_num < OLDEST_MAJOR * 10_000) {
    const message = `The database server is PostgreSQL ${server.version}, this release needs ${OLDEST_MAJOR} or later`
    findings.push(failure(message, 'Upgrade the server.'))
  }
  if (server.is_read_only) {
    findings.push(
      failure(
        'The database takes no changes: it is a standby, or default_transaction_read_only is on',
        'Let DATABASE_URL name the primary server, or turn that setting off.',
      ),
    )
  }
  if ((server.oldest_snapshot_s ?? 0) > LONG_TRANSACTION_S) {
    findings.push(
      warning(
        `A transaction has been open for ${server.oldest_snapshot_s} s: rows that were changed since then cannot be removed, and all gets slower`,
        'Find it in pg_stat_activity by xact_start, and end it with pg_terminate_backend(pid).',
      ),
    )
  }
  if (server.track_activities === 'off') {
    findings.push(
      warning(
        'track_activities of the server is off: lists that follow changes run up to a minute late',
        'Turn it on, as it is by default: alter system set track_activities = on.',
      ),
    )
  }
  if (isPooled(connection.sql) && !config.DATABASE_DIRECT_URL) {
    findings.push(
      warning(
        'DATABASE_URL leads to a pooler: processes do not wake each other, and look for work once a second',
        'Set DATABASE_DIRECT_URL to the database itself.',
      ),
    )
  }
  return [...findings, ...connectionFindings(server, await isDistributed(connection.sql))]
}

/** Compares the connections that all processes may open with those that the server allows. */
export function connectionFindings(
  { used, most, processes }: Pick<Server, 'used' | 'most' | 'processes'>,
  is_cluster: boolean,
): Finding[] {
  const findings: Finding[] = []
  const beside = is_cluster ? BESIDE_POOL_OF_CLUSTER : BESIDE_POOL
  const wanted = processes * (config.DATABASE_POOL + beside)
  if (wanted > most) {
    findings.push(
      warning(
        `${counted(processes, 'process')} of the service may open ${wanted} connections, and the server allows ${most}: under load requests are answered 503`,
        `Set DATABASE_POOL to ${Math.max(1, Math.floor(most / processes) - beside)} or less, or raise max_connections of the server.`,
        { processes, wanted, most },
      ),
    )
  }
  if (used > most * MOST_USED) {
    findings.push(
      warning(
        `${used} of ${most} connections of the database server are in use: when none is left, requests are answered 503`,
        'See in pg_stat_activity whose they are. Lower DATABASE_POOL, or raise max_connections.',
        { used, most },
      ),
    )
  }
  return findings
}

/** Looks at the rights of the role that DATABASE_URL names: it writes rows, and owns the tables, for migrations. */
export async function checkRole({ sql }: Connection): Promise<Finding[]> {
  const [role] = await sql<{ name: string; closed: string[] | null; foreign: string[] | null; may_create: boolean }[]>`
    select current_user as name,
      array_agg(relname::text order by relname) filter (where not (
        has_table_privilege(c.oid, 'select') and has_table_privilege(c.oid, 'insert')
      )) as closed,
      array_agg(relname::text order by relname) filter (where not pg_has_role(relowner, 'usage')) as foreign,
      has_database_privilege(current_database(), 'create') and has_schema_privilege('public', 'create') as may_create
    from pg_class c where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace`
  const { name, closed, foreign, may_create } = role!
  if (closed) {
    const message = `The role ${name} may not read and write ${counted(closed.length, 'table')} (${firstOf(closed)}): requests that need them fail`
    return [failure(message, `As the owner of the tables: grant all on all tables in schema public to "${name}".`)]
  }
  if (foreign) {
    const message = `The role ${name} does not own ${counted(foreign.length, 'table')} (${firstOf(foreign)}): the next upgrade cannot change them`
    return [warning(message, `As the owner, for each of them: alter table … owner to "${name}".`, { tables: foreign })]
  }
  if (!may_create) {
    const message = `The role ${name} may not create what an upgrade brings: the next upgrade fails`
    const [database] = await sql<{ name: string }[]>`select current_database() as name`
    const grants = `grant create on database "${database!.name}" to "${name}"; grant create on schema public to "${name}"`
    return [warning(message, `As the owner of the database: ${grants}.`)]
  }
  return []
}

/** Compares the clock of this machine with that of the database. */
export async function checkClock(connection: Connection): Promise<Finding[]> {
  const offset_s = await measureClockOffset(connection)
  if (offset_s === undefined || Math.abs(offset_s) <= MOST_OFFSET_S) return []
  const [seconds, side] = [Math.round(Math.abs(offset_s)), offset_s > 0 ? 'ahead of' : 'behind']
  return [
    warning(
      `The clock of this machine is ${seconds} s ${side} that of the database: dates of emails, certificates and the log are wrong`,
      'Let both machines set their clocks by NTP, such as with chrony or systemd-timesyncd.',
      { offset_s },
    ),
  ]
}
