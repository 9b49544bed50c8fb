/** Compares the migrations of the database with those of this release. */
import { MigrationError } from '../../base/db/migration-faults'
import { findMissing, readMigrations } from '../../base/db/migration-files'
import type { Connection } from '../../base/db/transact'
import { counted, type Finding, failure, firstOf } from './finding'

/** Finds migrations that are missing, or those of a newer release. */
export async function checkSchema({ sql }: Connection): Promise<Finding[]> {
  try {
    const missing = (await findMissing(sql, await readMigrations())).map(({ name }) => name)
    if (missing.length === 0) return []
    return [
      failure(
        `The database lacks ${counted(missing.length, 'migration')} of this release (${firstOf(missing)})`,
        'Start the service of this release, which migrates first, or run bun run cli migrate.',
        { missing },
      ),
    ]
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error
    return [
      failure(
        `${error.message[0]!.toUpperCase()}${error.message.slice(1)}`,
        'To go back to this release, restore a backup from before the upgrade.',
      ),
    ]
  }
}
