/** Opens the database that the settings name, for the service and the CLI: starts the embedded one, and migrates. */
import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { ConfigError, config } from '../../base/config'
import { knownMachines } from '../../base/db/cluster/away'
import { isDistributed } from '../../base/db/cluster/place-tables'
import { type ConnectionOptions, ConnectionUrlError, placeOf } from '../../base/db/connection-url'
import { grantToService } from '../../base/db/embedded/service-role'
import { startEmbedded } from '../../base/db/embedded/supervise'
import { type AppliedMigration, migrateDatabase } from '../../base/db/migrate'
import { type Plan, planMigrations } from '../../base/db/migration-plan'
import {
  closeDatabase,
  connectDatabase,
  connection,
  shortConnection,
  tryConnection,
  watchConnection,
} from '../../base/db/pool'
import type { TimeLimits } from '../../base/db/pooler'
import { withSession } from '../../base/db/session'
import { freeBytes } from '../../base/disk/free-space'
import { within } from '../../base/flow/within'
import { useSecrets } from '../../base/secrets'
import { SETTINGS } from '../../base/settings/table'
import { refuseUnfinishedRestore } from './data-dir'
import { checkFolder, whoMayRead } from './preflight'

export type OpenDatabase = {
  kind: 'embedded' | 'external'
  /** The organizations are on several machines. */
  is_cluster: boolean
  /** The work that brought the database to the schema of this release. */
  migrated: AppliedMigration[]
  /** The superuser's connection to the embedded database. */
  owner?: ConnectionOptions
  close(): Promise<void>
}

type DatabaseUse = {
  /** A service that runs the embedded database already is a reason to fail, or its database is used. */
  other_service: 'refuse' | 'join'
  /** An embedded database that does not exist is a reason to fail, or is made. */
  no_database: 'refuse' | 'create'
  /** Most connections to the database. */
  pool_size: number
  /** Time limits of statements; those of requests when absent. */
  limits?: TimeLimits
}

/**
 * Connects the pool to a migrated database and sets the secret key. Without DATABASE_URL it starts the embedded one.
 * @throws EmbeddedError, MigrationError, ConfigError with one line for the operator; UnfinishedRestoreError
 */
export async function openDatabase(use: DatabaseUse): Promise<OpenDatabase> {
  refuseUnfinishedRestore(config.DATA_DIR)
  return config.DATABASE_URL ? openExternal(config.DATABASE_URL, use) : openEmbedded(use)
}

/** The database as it is: `target` is for `withSession` and `migrateDatabase`, with the rights of its owner. */
type DatabaseAsItIs = { target: string | ConnectionOptions; close(): Promise<void> }

/**
 * Opens the database for commands that must not migrate it. Starts the embedded one unless a service runs it.
 * @throws EmbeddedError, ConfigError with one line for the operator
 */
export async function openAsItIs(no_database: DatabaseUse['no_database']): Promise<DatabaseAsItIs> {
  const { DATABASE_URL, DATABASE_DIRECT_URL } = config
  if (DATABASE_URL) {
    const target = DATABASE_DIRECT_URL ?? DATABASE_URL
    await checkReachable(DATABASE_DIRECT_URL ? 'DATABASE_DIRECT_URL' : 'DATABASE_URL', target)
    return { target, close: async () => {} }
  }
  requireEmbedded(no_database)
  const { connection, stop } = await startEmbedded(config.DATA_DIR, { other_service: 'join', settings: archiving() })
  return { target: connection, close: stop }
}

/**
 * Lists what would be done to bring the database to the schema of this release, and what is in the way. Changes
 * nothing.
 * @throws EmbeddedError, MigrationError, ConfigError with one line for the operator
 */
export async function planDatabase(): Promise<Plan> {
  const { target, close } = await openAsItIs('refuse')
  try {
    return await planMigrations(target, undefined, config.DATABASE_URL ? undefined : await freeBytes())
  } finally {
    await close()
  }
}

async function openExternal(url: string, { pool_size, limits }: DatabaseUse): Promise<OpenDatabase> {
  useSecrets(config.SECRET_KEY!, config.SECRET_KEY_PREVIOUS)
  const direct = config.DATABASE_DIRECT_URL ?? url
  await checkReachable('DATABASE_URL', url)
  if (direct !== url) await checkReachable('DATABASE_DIRECT_URL', direct)
  const migrated = await migrateDatabase(direct)
  const is_cluster = await withSession(direct, isDistributed)
  connectDatabase(url, pool_size, { limits, direct, is_cluster })
  return { kind: 'external', is_cluster, migrated, close: closeDatabase }
}

async function openEmbedded({ other_service, no_database, pool_size, limits }: DatabaseUse): Promise<OpenDatabase> {
  requireEmbedded(no_database)
  const embedded = await startEmbedded(config.DATA_DIR, { other_service, settings: archiving() })
  let migrated: AppliedMigration[]
  try {
    useSecrets(config.SECRET_KEY ?? generatedSecret(), config.SECRET_KEY_PREVIOUS)
    migrated = await migrateDatabase(embedded.connection, undefined, await freeBytes())
    connectDatabase(embedded.service, pool_size, { limits })
    await grantToService(connection().sql, embedded.connection)
  } catch (error) {
    await embedded.stop()
    throw error
  }
  return {
    kind: 'embedded',
    is_cluster: false,
    migrated,
    owner: embedded.connection,
    async close() {
      await closeDatabase()
      await embedded.stop()
    },
  }
}

/** The part of BACKUP_LAG_SECONDS after which the server completes a piece of its log; the rest is for the way. */
const PIECE_SHARE = 0.75

/** Seconds after its first change when a piece of the log is complete at the latest. */
export function pieceSeconds(): number {
  return Math.floor(config.BACKUP_LAG_SECONDS * PIECE_SHARE)
}

/** Lets the embedded server keep its log until it is backed up: also while a command runs it and no service. */
function archiving(): Record<string, string> {
  if (!config.BACKUP_TO) return {}
  return { archive_mode: 'on', archive_command: '', archive_timeout: String(pieceSeconds()) }
}

/** @throws ConfigError when there is no embedded database and none is to be made, or none can be */
function requireEmbedded(no_database: DatabaseUse['no_database']): void {
  if (existsSync(path.join(config.DATA_DIR, 'postgres'))) return
  if (no_database === 'refuse') throw new ConfigError(`DATA_DIR ${config.DATA_DIR} holds no database`)
  checkFolder(config.DATA_DIR)
}

/** @throws ConfigError with hosts and database of the URL and the reason, never with its user and password */
async function checkReachable(variable: 'DATABASE_URL' | 'DATABASE_DIRECT_URL', url: string): Promise<void> {
  try {
    await tryConnection(url)
  } catch (error) {
    if (error instanceof ConnectionUrlError) throw new ConfigError(`${variable} ${error.message}`)
    throw new ConfigError(`${variable} names ${placeOf(url)}, which cannot be connected to: ${reasonOf(error)}`)
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // The driver ends a connection to a server of another kind, and says no more.
  const { code } = error as { code?: unknown }
  return code === 'CONNECTION_DESTROYED' ? 'no host is what target_session_attrs asks for' : error.message
}

/** How long an answer of the database stands for others, so that many probes cost one statement. */
const READY_MS = 1000

let lastReady: { at: number; answer: Promise<boolean> } | undefined

/** True when the database answers. @throws Error when it cannot be reached, or does not answer within 2 s */
export function isDatabaseReady(): Promise<boolean> {
  if (lastReady && performance.now() - lastReady.at < READY_MS) return lastReady.answer
  // Not the pool, all of which may be busy: an organization that asks for much, or one machine of a cluster, is no
  // reason to take this process for one that cannot work.
  const sql = knownMachines().length > 0 ? watchConnection() : shortConnection()
  const answer = within(2000, sql`select 1`, 'the database does not answer').then(() => true)
  const asked = { at: performance.now(), answer }
  lastReady = asked
  // A failure stands for those who wait for it, and for nobody later.
  answer.catch(() => {
    if (lastReady === asked) lastReady = undefined
  })
  return answer
}

/**
 * The secret key of the embedded database. It is a file beside the data, so that a copy of DATA_DIR has both.
 * @throws ConfigError with what mends it, when this user may not read the file
 */
function generatedSecret(): string {
  const file = path.join(config.DATA_DIR, SETTINGS.SECRET_KEY.generated_file)
  try {
    if (!existsSync(file)) {
      writeFileSync(file, randomBytes(32).toString('base64url'), { mode: 0o600, flag: 'wx' })
      chmodSync(file, 0o600)
    }
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new ConfigError(`the secret key cannot be used: ${reasonOf(error)}${whoMayRead(error, file)}`)
  }
}
