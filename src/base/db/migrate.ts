/** Migrates the database to the schema that this release needs. */
import { setTimeout as sleep } from 'node:timers/promises'
import type postgres from 'postgres'
import { log } from '../log'
import { startProgress } from '../long-work'
import { build } from '../process/build'
import { allowPlacing, findUnplaced, isDistributed, placeTables, withoutSetNull } from './cluster/place-tables'
import type { ConnectionOptions } from './connection-url'
import { type Client, NO_LIMITS, openClient } from './driver-client'
import { refuseOldServer, refuseReadOnly, toMigrationError, type Where } from './migration-faults'
import { findMissing, MIGRATIONS_FOLDER, type Migration, readMigrations } from './migration-files'
import { locksOf, type TableLocks } from './migration-locks'
import { refuseObstacles } from './migration-obstacles'

/** A migration that this process has applied. */
export type AppliedMigration = { migration: string; duration_ms: number }

/** Number of the lock; the same in every release, so that processes that start together migrate one after the other. */
const MIGRATION_LOCK = 5_710_313

/** A migration that waits so long says for which process, again and again. */
const SILENT_MS = 5000
/** Between looks at the lock of another process that migrates. */
const LOOK_MS = 200

/**
 * The longest that a migration waits for its locks before it gives way. Requests to a table wait behind a migration
 * that waits for it. The last lock gets `LAST_MS` in any case.
 */
const GIVE_WAY_MS = 900
const LAST_MS = 100
/** Longer than the wait, so that the requests which have come meanwhile are done. */
const PAUSE_MS = [1000, 3000] as const

/** A lock that was not had in time, and a deadlock with requests. */
const GIVES_WAY = ['55P03', '40P01']

/**
 * Applies the migrations that the database does not have yet, unless a known obstacle would stop one of them. Any
 * number of processes may do so at once, also through a pooler: the lock belongs to the transaction of a migration.
 * @param target a connection URL, or options of postgres.js
 * @param folder the migrations, with drizzle-kit's journal
 * @param free_bytes of the disk of the database; undefined where it is on another machine
 * @returns those that this process has applied
 * @throws MigrationError when the server is too old or takes no changes, the database belongs to a newer release, an
 *   obstacle stops a migration, or one fails
 */
export async function migrateDatabase(
  target: string | ConnectionOptions,
  folder = MIGRATIONS_FOLDER,
  free_bytes?: number,
): Promise<AppliedMigration[]> {
  const client = openClient(target, 1, NO_LIMITS)
  let where: Where = ['a look at the database']
  try {
    await refuseOldServer(client)
    await refuseReadOnly(client)
    const migrations = await readMigrations(folder)
    const applied: AppliedMigration[] = []
    const missing = await findMissing(client, migrations)
    if (missing.length > 0) await refuseObstacles(client, missing, free_bytes)
    const total = missing.reduce((sum, { statements }) => sum + statements.length, 0)
    using progress = startProgress('migrate', { total, unit: 'statements' })
    for (const migration of missing) {
      progress.part = migration.name
      const isMissing = async (sql: postgres.ISql) =>
        (await findMissing(sql, migrations)).some(({ name }) => name === migration.name)
      const before = progress.done
      const duration_ms = await applyOne(client, { migration, isMissing }, (statement) => {
        where = [`migration ${migration.name}`, statement]
        progress.done = before + Math.max(0, migration.statements.indexOf(statement))
      })
      progress.done = before + migration.statements.length
      if (duration_ms !== undefined) applied.push({ migration: migration.name, duration_ms })
    }
    return applied
  } catch (error) {
    throw await toMigrationError(client, error, where)
  } finally {
    await client.end({ timeout: 5 })
  }
}

/**
 * Applies a migration in one transaction, as soon as no other process migrates and its tables can be locked.
 * @returns its duration; undefined when another process has applied it
 */
async function applyOne(
  client: Client,
  { migration, isMissing }: { migration: Migration; isMissing(sql: postgres.ISql): Promise<boolean> },
  onStatement: (statement: string) => void,
): Promise<number | undefined> {
  const waiting = new Wait(client, migration)
  const late: string[] = []
  for (;;) {
    const began_ms = performance.now()
    try {
      const outcome = await client.begin(async (transaction) => {
        await transaction.unsafe(
          'set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0; set local jit = off',
        )
        if (!(await tryMigrationLock(transaction))) return 'locked'
        if (!(await isMissing(transaction))) return 'applied before'
        await applyLocked(transaction, { migration, late }, onStatement)
        return 'applied'
      })
      if (outcome === 'applied') return Math.round(performance.now() - began_ms)
      if (outcome === 'applied before') return undefined
      await waiting.forProcess()
    } catch (error) {
      if (!GIVES_WAY.includes(String((error as { code?: unknown }).code))) throw error
      await waiting.forTables()
    }
  }
}

/** Keeps others from migrating the database until the transaction ends. @returns false when another process does so */
export async function tryMigrationLock(sql: postgres.TransactionSql): Promise<boolean> {
  const [lock] = await sql<{ is_ours: boolean }[]>`select pg_try_advisory_xact_lock(${MIGRATION_LOCK}) as is_ours`
  return lock!.is_ours
}

/**
 * Locks the tables and applies the migration.
 * @param late tables that were not had in time before, the latest first. They are locked first: requests that hold one
 *   of them and want another table of the migration would never let it go. A table that is late now is put in front.
 */
async function applyLocked(
  sql: postgres.TransactionSql,
  { migration, late }: { migration: Migration; late: string[] },
  onStatement: (statement: string) => void,
) {
  const { statements, hash, when } = migration
  const deadline = performance.now() + GIVE_WAY_MS
  const limitWait = () => {
    const left_ms = Math.max(LAST_MS, Math.round(deadline - performance.now()))
    return sql.unsafe(`set local lock_timeout = ${left_ms}`)
  }
  const locks = await locksOf(sql, statements)
  for (const table of new Set([...late, ...locks.keys()])) {
    const statement = `lock table ${table} in ${locks.get(table)} mode`
    onStatement(statement)
    await limitWait()
    await sql.unsafe(statement).catch((error) => {
      late.unshift(table)
      throw error
    })
  }
  // Few locks are left to take now, such as those of indexes.
  await limitWait()
  const run = (await isDistributed(sql)) ? await runnerOfCluster(sql) : (statement: string) => sql.unsafe(statement)
  for (const statement of statements) {
    onStatement(statement)
    await run(statement)
  }
  onStatement('insert into drizzle.__drizzle_migrations')
  await createMigrationsTable(sql)
  await sql`insert into drizzle.__drizzle_migrations (hash, created_at) values (${hash}, ${when})`
}

/** Runs statements on a cluster: a new table is placed at once, before the keys that follow. */
async function runnerOfCluster(sql: postgres.TransactionSql) {
  await allowPlacing(sql)
  return async (statement: string) => {
    await sql.unsafe(withoutSetNull(statement))
    if (/\bcreate table\b/i.test(statement)) await placeTables(sql, await findUnplaced(sql))
  }
}

/** Makes the table in which drizzle notes what was applied, unless it is there, and notes the release that migrates. */
export async function createMigrationsTable(sql: { unsafe(statement: string): PromiseLike<unknown> }): Promise<void> {
  await sql.unsafe('create schema if not exists drizzle')
  await sql.unsafe(
    'create table if not exists drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)',
  )
  await sql.unsafe(`comment on table drizzle.__drizzle_migrations is '${build.version} (commit ${build.commit})'`)
}

/** Says after some seconds why a migration waits. */
class Wait {
  #next_ms = performance.now() + SILENT_MS

  constructor(
    private readonly client: Client,
    private readonly migration: Migration,
  ) {}

  async forProcess(): Promise<void> {
    if (this.#isLong()) {
      const [holder] = await this.client<{ pid: number; state: string | null }[]>`
        select l.pid, a.state from pg_locks l left join pg_stat_activity a using (pid)
        where l.locktype = 'advisory' and l.objid = ${MIGRATION_LOCK} and l.granted
          and l.database = (select oid from pg_database where datname = current_database())`
      if (holder) {
        const left = `if no process migrates, an older release has left it on a connection of a pooler: select pg_terminate_backend(${holder.pid})`
        const is_left = holder.state === 'idle'
        log.warn(
          { pid: holder.pid, state: holder.state },
          `waits for another process that migrates (pid ${holder.pid})${is_left ? `; ${left}` : ''}`,
        )
      }
    }
    await sleep(LOOK_MS)
  }

  async forTables(): Promise<void> {
    if (this.#isLong()) {
      const tables = await locksOf(this.client, this.migration.statements)
      const [holder] = await this.#oldestHolder(tables)
      const held = holder ? ` that pid ${holder.pid} holds on ${holder.name}` : ''
      log.warn(
        { migration: this.migration.name, pid: holder?.pid },
        `migration ${this.migration.name} waits for a lock${held}`,
      )
    }
    const [least_ms, most_ms] = PAUSE_MS
    await sleep(least_ms + Math.random() * (most_ms - least_ms))
  }

  #oldestHolder(tables: TableLocks) {
    return this.client<{ pid: number; name: string }[]>`
      select l.pid, l.relation::regclass::text as name from pg_locks l join pg_stat_activity a using (pid)
      where l.locktype = 'relation' and l.granted and l.pid <> pg_backend_pid() and l.relation in (
        select oid from pg_class where relnamespace = 'public'::regnamespace and relname = any(${[...tables.keys()]}::text[])
      )
      order by a.xact_start limit 1`
  }

  #isLong(): boolean {
    if (performance.now() < this.#next_ms) return false
    this.#next_ms = performance.now() + SILENT_MS
    return true
  }
}
