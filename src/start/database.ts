/** The database that the settings name, started if it is ours, migrated and connected: for the service and the CLI. */
import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { ConfigError, config } from '../config'
import { startEmbedded } from '../db/embedded/supervise'
import { migrateDatabase } from '../db/migrate'
import { closeDatabase, connectDatabase, connection, tryConnection } from '../db/pool'
import { within } from '../flow/within'
import { useSecrets } from '../secrets'
import { SETTINGS } from '../settings/table'
import { checkFolder } from './preflight'

export type OpenDatabase = {
  /** What runs the data: for people. */
  kind: 'embedded' | 'external'
  close(): Promise<void>
}

/**
 * Starts the embedded PostgreSQL when there is no DATABASE_URL, migrates, connects and sets the secret key.
 * @param shared joins the embedded database of a running service instead of refusing
 * @param create makes the embedded database when there is none instead of refusing
 * @throws EmbeddedError, MigrationError, ConfigError with one line for the operator
 */
export async function openDatabase(options: {
  shared: boolean
  create: boolean
  pool_size: number
}): Promise<OpenDatabase> {
  if (config.DATABASE_URL) {
    useSecrets(config.SECRET_KEY!, config.SECRET_KEY_PREVIOUS)
    await checkReachable(config.DATABASE_URL)
    await migrateDatabase(config.DATABASE_URL)
    connectDatabase(config.DATABASE_URL, options.pool_size)
    return { kind: 'external', close: closeDatabase }
  }
  if (!existsSync(path.join(config.DATA_DIR, 'postgres'))) {
    if (!options.create) throw new ConfigError(`DATA_DIR ${config.DATA_DIR} holds no database`)
    checkFolder(config.DATA_DIR)
  }
  const embedded = await startEmbedded(config.DATA_DIR, { shared: options.shared })
  try {
    useSecrets(config.SECRET_KEY ?? generatedSecret(), config.SECRET_KEY_PREVIOUS)
    await migrateDatabase(embedded.connection)
    connectDatabase(embedded.connection, options.pool_size)
  } catch (error) {
    await embedded.stop()
    throw error
  }
  return {
    kind: 'embedded',
    async close() {
      await closeDatabase()
      await embedded.stop()
    },
  }
}

/** Told by where it should be and what is wrong, never by the user and the password in the URL. */
async function checkReachable(url: string): Promise<void> {
  try {
    await tryConnection(url)
  } catch (error) {
    const { host, pathname } = new URL(url)
    const why = error instanceof Error ? error.message : String(error)
    throw new ConfigError(`DATABASE_URL names ${host}${pathname}, which cannot be connected to: ${why}`)
  }
}

/** True when the database answers. @throws Error when it cannot be reached, or does not answer within 2 s */
export async function isDatabaseReady(): Promise<boolean> {
  await within(2000, connection().sql`select 1`, 'the database does not answer')
  return true
}

/** Kept beside the embedded database: whoever has one has the other. */
function generatedSecret(): string {
  const file = path.join(config.DATA_DIR, SETTINGS.SECRET_KEY.generated_file)
  if (!existsSync(file)) {
    writeFileSync(file, randomBytes(32).toString('base64url'), { mode: 0o600, flag: 'wx' })
    chmodSync(file, 0o600)
  }
  return readFileSync(file, 'utf8').trim()
}
