/** Finds obstacles that would stop a migration, before the first one changes anything. */
import type postgres from 'postgres'
import { askEachMachine } from './cluster/machines'
import { isDistributed } from './cluster/place-tables'
import { MigrationError, refuseOldServer, refuseReadOnly } from './migration-faults'
import type { Migration } from './migration-files'
import { locksOf } from './migration-locks'
import { lackingRights } from './migration-rights'
import { workOf } from './migration-work'

/** An obstacle. One that does not stop a migration makes it wait. */
export type Obstacle = { obstacle: string; action: string; stops: boolean }

/** A transaction of this age holds a migration up. */
const LONG_S = 10
const MIB = 1024 ** 2

/**
 * Looks for obstacles. Changes nothing.
 * @param missing the migrations that the database lacks, which are not empty
 * @param free_bytes of the disk of the database; undefined where it is on another machine
 * @param long_s the age of a transaction that is named
 */
export async function findObstacles(
  sql: postgres.Sql,
  missing: Migration[],
  free_bytes: number | undefined,
  long_s = LONG_S,
): Promise<Obstacle[]> {
  const statements = missing.flatMap((migration) => migration.statements)
  const found = await Promise.all([
    refused(() => refuseOldServer(sql), 'Upgrade the server.'),
    refused(() => refuseReadOnly(sql), 'Name the primary.'),
    lackingRights(sql, statements).then((lacks) => lacks.map((lack) => ({ ...lack, stops: true }))),
    lackingExtensions(sql, statements),
    littleDisk(sql, statements, free_bytes),
    awayMachines(sql),
    longTransactions(sql, statements, long_s),
  ])
  return found.flat()
}

/** @throws MigrationError with all that stops the migrations */
export async function refuseObstacles(...of: Parameters<typeof findObstacles>): Promise<void> {
  const stopping = (await findObstacles(...of)).filter(({ stops }) => stops)
  if (stopping.length === 0) return
  const named = stopping.map(({ obstacle, action }) => `${obstacle}: ${action}`).join(' ')
  throw new MigrationError(`the migrations could not all be done, and nothing was changed. ${named}`)
}

async function refused(check: () => Promise<void>, action: string): Promise<Obstacle[]> {
  try {
    await check()
    return []
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error
    return [{ obstacle: error.message, action, stops: true }]
  }
}

async function lackingExtensions(sql: postgres.Sql, statements: string[]): Promise<Obstacle[]> {
  const wanted = statements.flatMap((text) =>
    [...text.matchAll(/create extension (?:if not exists )?"?(\w+)/gi)].map(([, name]) => name!),
  )
  if (wanted.length === 0) return []
  const rows = await sql<{ name: string; is_there: boolean; is_installed: boolean; may_install: boolean }[]>`
    select w.name, a.name is not null as is_there, a.installed_version is not null as is_installed, coalesce((
        select rolsuper from pg_roles where rolname = current_user
      ), false) or exists (
        select 1 from pg_available_extension_versions v where v.name = w.name and v.trusted
      ) as may_install
    from unnest(${wanted}::text[]) as w (name) left join pg_available_extensions a on a.name = w.name`
  return rows.flatMap(({ name, is_there, is_installed, may_install }) => {
    if (is_installed || (is_there && may_install)) return []
    const obstacle = is_there
      ? `only a superuser may create the extension ${name}`
      : `the server lacks the extension ${name}`
    const action = is_there
      ? `As a superuser: CREATE EXTENSION ${name}.`
      : 'Install the package contrib of PostgreSQL there.'
    return [{ obstacle, action, stops: true }]
  })
}

async function littleDisk(
  sql: postgres.Sql,
  statements: string[],
  free_bytes: number | undefined,
): Promise<Obstacle[]> {
  if (free_bytes === undefined) return []
  const needed = (await workOf(sql, statements)).reduce((sum, { disk_bytes }) => sum + disk_bytes, 0)
  if (needed <= free_bytes) return []
  const [needed_mib, free_mib] = [Math.ceil(needed / MIB), Math.floor(free_bytes / MIB)]
  const obstacle = `the migrations may need ${needed_mib} MiB on the disk of DATA_DIR, and ${free_mib} MiB are free`
  return [{ obstacle, action: 'Free space there, or move DATA_DIR to a larger disk.', stops: true }]
}

async function awayMachines(sql: postgres.Sql): Promise<Obstacle[]> {
  if (!(await isDistributed(sql))) return []
  const machines = await askEachMachine(sql, 'select 1')
  return machines.flatMap(({ node, error }) =>
    error === undefined
      ? []
      : [
          {
            obstacle: `the machine ${node} of the cluster does not answer`,
            action: `Start it: ${error}.`,
            stops: true,
          },
        ],
  )
}

/** Transactions that hold a table which a migration locks hard, and prepared ones, which end by a command alone. */
async function longTransactions(sql: postgres.Sql, statements: string[], long_s: number): Promise<Obstacle[]> {
  const locks = await locksOf(sql, statements)
  const hard = [...locks].filter(([, mode]) => mode !== 'ROW EXCLUSIVE').map(([table]) => table)
  const rows = await sql<
    { pid: number | null; gid: string | null; tables: string; age_s: number; who: string | null }[]
  >`
    select l.pid, p.gid, string_agg(distinct c.relname, ', ') as tables,
      round(extract(epoch from now() - coalesce(min(a.xact_start), min(p.prepared))))::float8 as age_s,
      min(a.application_name) as who
    from pg_locks l
    join pg_class c on c.oid = l.relation and c.relnamespace = 'public'::regnamespace
    left join pg_stat_activity a on a.pid = l.pid
    left join pg_prepared_xacts p on l.virtualtransaction = '-1/' || p.transaction
    where l.granted and c.relname = any(${hard}::text[]) and l.pid is distinct from pg_backend_pid()
      and l.database = (select oid from pg_database where datname = current_database())
    group by l.pid, p.gid`
  return rows.flatMap(({ pid, gid, tables, age_s, who }) => {
    if (gid === null && age_s < long_s) return []
    const whose = gid === null ? `of pid ${pid}${who ? ` (${who})` : ''}` : `that was prepared as ${gid}`
    const action = gid === null ? `Wait for it, or select pg_terminate_backend(${pid}).` : `ROLLBACK PREPARED '${gid}'.`
    return [
      {
        obstacle: `a transaction ${whose} has held ${tables} for ${age_s} s: the migration waits`,
        action,
        stops: false,
      },
    ]
  })
}
