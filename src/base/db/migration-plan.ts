/** Tells what a migration would do, before it does it. */
import type { ConnectionOptions } from './connection-url'
import { NO_LIMITS, openClient } from './driver-client'
import { toMigrationError } from './migration-faults'
import { findMissing, MIGRATIONS_FOLDER, readMigrations } from './migration-files'
import { locksOf } from './migration-locks'
import { FILL_KINDS } from './schema'

type PlannedLock = {
  table: string
  /** As PostgreSQL names it. */
  mode: string
  /** What waits meanwhile. */
  waits: 'reads and writes' | 'writes' | 'nothing'
  /** As PostgreSQL estimates them. */
  rows: number
  bytes: number
}

/** A migration that the database lacks. */
export type PlannedMigration = {
  migration: string
  statements: number
  locks: PlannedLock[]
  /** What background jobs fill afterwards, while the service works. */
  fills: string[]
}

/**
 * Lists the migrations that the database lacks. Changes nothing and takes no lock on a table.
 * @param target a connection URL, or options of postgres.js
 * @throws MigrationError
 */
export async function planMigrations(
  target: string | ConnectionOptions,
  folder = MIGRATIONS_FOLDER,
): Promise<PlannedMigration[]> {
  const client = openClient(target, 1, NO_LIMITS)
  try {
    const plan: PlannedMigration[] = []
    for (const { name, statements } of await findMissing(client, await readMigrations(folder))) {
      const locks = [...(await locksOf(client, statements))]
      const sizes = await client<{ table: string; rows: number; bytes: number }[]>`
        select relname as table, greatest(reltuples, 0)::float8 as rows, pg_total_relation_size(oid)::float8 as bytes
        from pg_class where relnamespace = 'public'::regnamespace and relname = any(${locks.map(([table]) => table)}::text[])`
      plan.push({
        migration: name,
        statements: statements.length,
        locks: locks.map(([table, mode]) => {
          const { rows, bytes } = sizes.find((size) => size.table === table)!
          return { table, mode, waits: waitsFor(mode), rows, bytes }
        }),
        fills: FILL_KINDS.filter((kind) =>
          statements.some((text) => /insert into "?fills/i.test(text) && text.includes(kind)),
        ),
      })
    }
    return plan
  } catch (error) {
    throw await toMigrationError(client, error, ['the plan'])
  } finally {
    await client.end({ timeout: 5 })
  }
}

function waitsFor(mode: string): PlannedLock['waits'] {
  if (mode === 'ACCESS EXCLUSIVE') return 'reads and writes'
  return mode === 'SHARE' || mode === 'SHARE ROW EXCLUSIVE' ? 'writes' : 'nothing'
}
