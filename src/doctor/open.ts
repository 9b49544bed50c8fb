/** Opens the database for the doctor: as it is, without migrating it and without making one. */
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { config } from '../config'
import { ConnectionUrlError, placeOf } from '../db/connection-url'
import { startEmbedded } from '../db/embedded/supervise'
import { connectDatabase, connection, tryConnection } from '../db/pool'
import type { TimeLimits } from '../db/pooler'
import type { Connection } from '../db/transact'
import { OperatorError } from '../errors'
import { safeError } from '../log'
import { useSecrets } from '../secrets'
import { SETTINGS } from '../settings/table'

/** Checks run beside each other. */
const CONNECTIONS = 4
const LIMITS: TimeLimits = { statement_ms: 8000, idle_in_transaction_ms: 8000 }

/** The database cannot be opened. */
export class DatabaseAway extends OperatorError {
  constructor(
    message: string,
    readonly action: string,
  ) {
    super(message)
  }
}

/**
 * Connects the pool. The embedded server is joined, or started for as long as the doctor runs.
 * @throws DatabaseAway, EmbeddedError
 */
export async function openForDoctor(): Promise<Connection> {
  const secret = config.SECRET_KEY ?? generatedKey()
  if (secret) useSecrets(secret, config.SECRET_KEY_PREVIOUS)
  if (config.DATABASE_URL) await openExternal(config.DATABASE_URL)
  else await openEmbedded()
  return connection()
}

/** True when there is a secret key, so that stored secrets can be tried. */
export function hasSecretKey(): boolean {
  return config.SECRET_KEY !== undefined || generatedKey() !== undefined
}

async function openExternal(url: string): Promise<void> {
  try {
    await tryConnection(url)
  } catch (error) {
    if (error instanceof ConnectionUrlError)
      throw new DatabaseAway(`DATABASE_URL ${error.message}`, 'Correct DATABASE_URL.')
    const why = error instanceof Error ? error.message || safeError(error).code : String(error)
    throw new DatabaseAway(
      `The database ${placeOf(url)} cannot be connected to: ${why}. Nothing works without it`,
      'Start the database, or correct DATABASE_URL. The service connects by itself when it is back.',
    )
  }
  connectDatabase(url, CONNECTIONS, { limits: LIMITS })
}

async function openEmbedded(): Promise<void> {
  if (!existsSync(path.join(config.DATA_DIR, 'postgres'))) {
    throw new DatabaseAway(
      `DATA_DIR ${config.DATA_DIR} holds no database`,
      'Set DATA_DIR or DATABASE_URL as for the service. If this is a new installation, start the service: it makes the database.',
    )
  }
  const embedded = await startEmbedded(config.DATA_DIR, { other_service: 'join' })
  // The owner sees the migrations, and the rows too when the rights of the service's role are missing.
  connectDatabase(embedded.connection, CONNECTIONS, { limits: LIMITS })
}

function generatedKey(): string | undefined {
  const file = path.join(config.DATA_DIR, SETTINGS.SECRET_KEY.generated_file)
  return !config.DATABASE_URL && existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined
}
