/** Migrates the database to the schema that this release needs. */
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readMigrationFiles } from 'drizzle-orm/migrator'
import postgres from 'postgres'
import { OperatorError } from '../errors'
import { finishAddressKeys } from './address-keys'
import { APPLICATION_NAME } from './application-name'
import { finishTallies } from './finish-tallies'
import type { ConnectionOptions } from './pool'

/** A reason why this release cannot use the database. Its message is one line for the operator. */
export class MigrationError extends OperatorError {}

const OLDEST_MAJOR = 15

/** The time that processes of an older release get to stop: more than the 30 s in which a service ends its requests. */
const PATIENCE_MS = 40_000
const LOOK_MS = 200

/** Number of the lock; the same in every release, so that processes that start together migrate one after the other. */
const MIGRATION_LOCK = 5_710_313

/**
 * Applies the migrations that the database does not have yet. Any number of processes may do so at once.
 * @param target a connection URL, or options of postgres.js
 * @param folder the migrations, with drizzle-kit's journal
 * @param patience_ms the time that processes of an older release get to stop
 * @throws MigrationError when the server is too old, the database belongs to a newer release, or an older one still uses it
 */
export async function migrateDatabase(
  target: string | ConnectionOptions,
  folder = path.join(import.meta.dir, '../../drizzle'),
  patience_ms = PATIENCE_MS,
): Promise<void> {
  const options: ConnectionOptions = { max: 1, onnotice: () => {}, connect_timeout: 10 }
  const client = typeof target === 'string' ? postgres(target, options) : postgres({ ...target, ...options })
  try {
    await refuseOldServer(client)
    // A session lock, which the server frees when our connection ends.
    await client`select pg_advisory_lock(${MIGRATION_LOCK})`
    await refuseNewerDatabase(client, folder)
    await applyMissing(client, folder, patience_ms)
    await finishAddressKeys(client)
    await finishTallies(client)
  } finally {
    await client.end()
  }
}

/**
 * Applies migrations each in a transaction, so that the locks of one do not last until the last has ended. Drizzle's
 * `migrate` applies all of them in one; its table and the files are the same.
 */
async function applyMissing(client: postgres.Sql, folder: string, patience_ms: number): Promise<void> {
  await client`create schema if not exists drizzle`
  await client`
    create table if not exists drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)`
  const [last] = await client<{ created_at: number | null }[]>`
    select max(created_at)::float8 as created_at from drizzle.__drizzle_migrations`
  const applied = last?.created_at ?? 0
  const missing = readMigrationFiles({ migrationsFolder: folder }).filter(({ folderMillis }) => folderMillis > applied)
  if (applied > 0 && missing.length > 0) await waitForOlderProcesses(client, patience_ms)
  for (const { sql, hash, folderMillis } of missing) {
    await client.begin(async (transaction) => {
      for (const statement of sql) await transaction.unsafe(statement)
      await transaction`
        insert into drizzle.__drizzle_migrations (hash, created_at) values (${hash}, ${folderMillis})`
    })
  }
}

/**
 * Waits until processes of an older release have stopped. They would go on writing what this one counts and searches in
 * another way: tallies would stay wrong, and tickets could not be found.
 */
async function waitForOlderProcesses(client: postgres.Sql, patience_ms: number): Promise<void> {
  for (const end = Date.now() + patience_ms; ; await sleep(LOOK_MS)) {
    const [others] = await client<{ n: number }[]>`
      select count(*)::int as n from pg_stat_activity
      where datname = current_database() and application_name = ${APPLICATION_NAME} and pid <> pg_backend_pid()`
    if (others!.n === 0) return
    if (Date.now() >= end) {
      throw new MigrationError(
        `processes of an older release still use the database (${others!.n} connections): stop them before this one starts`,
      )
    }
  }
}

async function refuseOldServer(client: postgres.Sql) {
  const [server] = await client<{ number: number; name: string }[]>`
    select current_setting('server_version_num')::int as number, current_setting('server_version') as name`
  if (server && server.number < OLDEST_MAJOR * 10_000) {
    throw new MigrationError(`the database server is PostgreSQL ${server.name}: ${OLDEST_MAJOR} or later is needed`)
  }
}

/** An older release would write what the newer schema does not expect. */
async function refuseNewerDatabase(client: postgres.Sql, folder: string) {
  const [table] = await client`select to_regclass('drizzle.__drizzle_migrations') as name`
  if (!table?.name) return
  const applied = await client<{ created_at: number }[]>`
    select created_at::float8 as created_at from drizzle.__drizzle_migrations order by id`
  const journal: { entries: { when: number }[] } = await Bun.file(path.join(folder, 'meta/_journal.json')).json()
  const known = new Set(journal.entries.map((entry) => entry.when))
  const unknown = applied.filter((migration) => !known.has(migration.created_at)).length
  if (unknown > 0) {
    throw new MigrationError(
      `the database was migrated by a newer release (${unknown} of its migrations are not in this one): use that release`,
    )
  }
}
