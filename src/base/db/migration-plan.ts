/** Tells what a migration would do, before it does it. */
import type { ConnectionOptions } from './connection-url'
import { NO_LIMITS, openClient } from './driver-client'
import { toMigrationError } from './migration-faults'
import { findMissing, MIGRATIONS_FOLDER, readMigrations } from './migration-files'
import { locksOf } from './migration-locks'
import { findObstacles, type Obstacle } from './migration-obstacles'
import { sizesOf, workOf } from './migration-work'

/** Seconds for each row that is read: three indexes of a million contacts took 11 seconds on two processors. */
const SECONDS_OF_ROW = 4e-6

type PlannedLock = {
  table: string
  /** As PostgreSQL names it. */
  mode: string
  /** The statements that wait meanwhile. */
  waits: 'reads and writes' | 'writes' | 'nothing'
  /** As PostgreSQL estimates them. */
  rows: number
  bytes: number
}

/** A migration that the database lacks. */
type PlannedMigration = {
  migration: string
  statements: number
  locks: PlannedLock[]
  /** Tables that are read from end to end. */
  reads: { table: string; rows: number }[]
  /** Seconds that these reads take, about. */
  about_s: number
  /** The most that the disk takes meanwhile, with the write-ahead log. */
  disk_bytes: number
}

export type Plan = { steps: PlannedMigration[]; obstacles: Obstacle[] }

/**
 * Lists the migrations that the database lacks, and what is in their way. Changes nothing and takes no lock on a table.
 * @param target a connection URL, or options of postgres.js
 * @param free_bytes of the disk of the database; undefined where it is on another machine
 * @throws MigrationError
 */
export async function planMigrations(
  target: string | ConnectionOptions,
  folder = MIGRATIONS_FOLDER,
  free_bytes?: number,
): Promise<Plan> {
  const client = openClient(target, 1, NO_LIMITS)
  try {
    const steps: PlannedMigration[] = []
    const missing = await findMissing(client, await readMigrations(folder))
    for (const { name, statements } of missing) {
      const locks = [...(await locksOf(client, statements))]
      const sizes = await sizesOf(
        client,
        locks.map(([table]) => table),
      )
      const work = await workOf(client, statements)
      steps.push({
        migration: name,
        statements: statements.length,
        locks: locks.map(([table, mode]) => {
          const { rows, bytes } = sizes.find((size) => size.table === table)!
          return { table, mode, waits: waitsFor(mode), rows, bytes }
        }),
        reads: work.map(({ table, rows }) => ({ table, rows })),
        about_s: Math.ceil(work.reduce((sum, { rows }) => sum + rows, 0) * SECONDS_OF_ROW),
        disk_bytes: work.reduce((sum, { disk_bytes }) => sum + disk_bytes, 0),
      })
    }
    return { steps, obstacles: missing.length > 0 ? await findObstacles(client, missing, free_bytes) : [] }
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
