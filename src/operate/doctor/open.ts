/** Opens the database for the doctor: as it is, without migrating it and without making one. */
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { config } from '../../base/config'
import { connectDatabase, connection } from '../../base/db/pool'
import type { TimeLimits } from '../../base/db/pooler'
import type { Connection } from '../../base/db/transact'
import { useSecrets } from '../../base/secrets'
import { SETTINGS } from '../../base/settings/table'
import { refuseUnfinishedRestore } from '../start/data-dir'
import { openAsItIs } from '../start/database'

/** Checks run beside each other. */
const CONNECTIONS = 4
const LIMITS: TimeLimits = { statement_ms: 8000, idle_in_transaction_ms: 8000, lock_ms: 0 }

/**
 * Connects the pool. The embedded server is joined, or started for as long as the doctor runs.
 * @throws ConfigError, EmbeddedError, UnfinishedRestoreError
 */
export async function openForDoctor(): Promise<Connection> {
  const { DATA_DIR, DATABASE_URL, SECRET_KEY, SECRET_KEY_PREVIOUS } = config
  refuseUnfinishedRestore(DATA_DIR)
  const secret = SECRET_KEY ?? generatedKey()
  if (secret) useSecrets(secret, SECRET_KEY_PREVIOUS)
  // The owner of the embedded database sees the migrations, and rows that the service's role may not read.
  const { target } = await openAsItIs('refuse')
  connectDatabase(DATABASE_URL ?? target, CONNECTIONS, { limits: LIMITS })
  return connection()
}

/** True when there is a secret key, so that stored secrets can be tried. */
export function hasSecretKey(): boolean {
  return config.SECRET_KEY !== undefined || generatedKey() !== undefined
}

function generatedKey(): string | undefined {
  const file = path.join(config.DATA_DIR, SETTINGS.SECRET_KEY.generated_file)
  return !config.DATABASE_URL && existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined
}
