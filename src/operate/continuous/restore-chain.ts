/** Restores a continuous backup into an empty DATA_DIR: the database at a moment, and the files that it names. */
import fs from 'node:fs'
import path from 'node:path'
import { audit, OPERATOR } from '../../base/audit/audit'
import { config } from '../../base/config'
import { type Home, prepareHome } from '../../base/db/embedded/home'
import { migrateDatabase } from '../../base/db/migrate'
import { longTransaction, type Transaction, withSession } from '../../base/db/session'
import { useSecrets } from '../../base/secrets'
import { SETTINGS } from '../../base/settings/table'
import { holdOutbox } from '../../delivery/outbox/hold'
import { BackupError, DamagedFilesError, explained } from '../backup/backup-error'
import { claimDataDir, clearUnfinished, endRestore } from '../backup/claim-data-dir'
import { passTicketNumbers, renewEpochs } from '../backup/load'
import { enterFolder } from '../backup/operator-folder'
import { tryStoredSecrets } from '../backup/try-secrets'
import { openAsItIs } from '../start/database'
import { dropRoot } from '../start/drop-root'
import { type Head, type Manifest, readManifest, readWithHead } from './chain-manifest'
import { baseBefore, type Chosen, chooseBase, isProvable } from './choose-base'
import { keyFingerprints } from './key-fingerprints'
import { type Recovered, recover } from './recover'
import { type FilesRestored, restoreFiles } from './restored-files'
import { DamagedBackupError, OtherKeyError, UnprovenError } from './sealed'
import { isBucket, openTarget, type Target } from './target'
import { requireAll, type Unpacked, unpackBase } from './unpack'
import { openVault, type Vault } from './vault'

const DAY_MS = 86_400_000
const WHAT = 'the restore'

type RestoreOptions = {
  /** The last moment when undefined. */
  until_ms?: number
  /** The last ticket number that may have been given out, in any organization. */
  numbers_from?: number
  /** Takes what nothing proves to be of the service: copies of releases until 0.2. */
  is_unproven?: boolean
}

type Restored = Partial<Pick<Recovered, 'restored_to'>> & FilesRestored

/**
 * Restores from a folder or `s3://bucket/prefix`. Without a database in the backup, the files of the database of the
 * settings are restored, which its own tools have restored before.
 * @returns the time of the last commit that is there
 * @throws BackupError; nothing stays then but objects in a bucket. DamagedFilesError when all but some files is there
 */
export async function restoreChain(place: string, options: RestoreOptions): Promise<Restored> {
  try {
    takeKey()
    const accepted = options.is_unproven ? 'any' : 'proven'
    const vault = await openVault(reachTarget(place), config.BACKUP_PASSPHRASE, 'leave', { accepted })
    const found = await readWithHead(vault, () => readManifest(vault)).catch((error) => {
      throw error instanceof OtherKeyError ? wrongKey() : error
    })
    if (!found) throw new BackupError(`${place} holds no continuous backup`)
    const { manifest, head } = found
    if (!keyFingerprints().includes(manifest.key)) throw wrongKey()
    const restored = manifest.postgresql
      ? await restoreDatabase(vault, manifest, head, options)
      : await restoreFilesAlone(vault)
    if (restored.missing_files === 0) return restored
    process.stdout.write(`${JSON.stringify(restored)}\n`)
    throw new DamagedFilesError(
      `all is restored but ${restored.missing_files} files, which the backup does not have whole`,
    )
  } catch (error) {
    if (error instanceof UnprovenError) throw unproven(place)
    throw explained(error, WHAT)
  }
}

/** Nothing tells a copy of a release until 0.2 from one that somebody changed, and a changed one could run commands. */
function unproven(place: string): BackupError {
  return new BackupError(
    `nothing proves that the service wrote what is in ${place}: a release until 0.2 made it, or somebody changed it. If nobody else could write there, add --unproven`,
  )
}

/** A folder becomes the working directory, which is reached when the rights of root are gone. */
function reachTarget(place: string): Target {
  if (isBucket(place)) return openTarget(place)
  enterFolder(place, WHAT)
  return openTarget(place, '.')
}

/** Lets objects be read that were sealed with the SECRET_KEY of the settings. @throws BackupError when there is none */
function takeKey(): void {
  const { SECRET_KEY, SECRET_KEY_PREVIOUS } = config
  if (!SECRET_KEY) {
    throw new BackupError(
      'the backup holds no secret key: set SECRET_KEY to that of the lost service, which was in its DATA_DIR/secret-key',
    )
  }
  useSecrets(SECRET_KEY, SECRET_KEY_PREVIOUS)
}

function wrongKey(): BackupError {
  return new BackupError('SECRET_KEY is not that of the service which was backed up')
}

/** @throws BackupError when nothing tells a copy from one that somebody else made */
function requireProof(vault: Vault, { base }: Chosen): void {
  if (isProvable(base, vault)) return
  if (base.key === undefined) throw unproven(vault.target.place)
  throw new BackupError(
    `the copy of ${base.ended_at} was made with another SECRET_KEY: set SECRET_KEY_PREVIOUS to that of then`,
  )
}

async function restoreFilesAlone(vault: Vault): Promise<Restored> {
  if (!config.DATABASE_URL) throw new BackupError('the backup holds files alone: set DATABASE_URL to their database')
  const { target, close } = await openAsItIs('refuse')
  return withSession(target, (sql) => restoreFiles(sql, vault)).finally(close)
}

async function restoreDatabase(
  vault: Vault,
  manifest: Manifest,
  head: Head | undefined,
  options: RestoreOptions,
): Promise<Restored> {
  if (config.DATABASE_URL) {
    throw new BackupError(
      'the backup is of an embedded database: restore it without DATABASE_URL, and move it by cli backup FOLDER then',
    )
  }
  const chosen = chooseBase(manifest, options.until_ms, vault.target.place, head)
  if (!options.is_unproven) requireProof(vault, chosen)
  const release = claimDataDir()
  try {
    await dropRoot('create', undefined, isBucket(vault.target.place) ? undefined : '.')
    const restored = await fillDataDir(vault, chosen, options)
    writeKey()
    holdOutbox()
    endRestore()
    return restored
  } catch (error) {
    clearUnfinished()
    throw error
  } finally {
    release()
  }
}

async function fillDataDir(vault: Vault, chosen: Chosen, options: RestoreOptions): Promise<Restored> {
  const unpacked = await unpackSome(vault, prepareHome(config.DATA_DIR, 5432), chosen)
  if (unpacked.fault && options.until_ms === undefined) throw unpacked.fault
  const database = await recover(config.DATA_DIR, chosen.base, options.until_ms)
  try {
    requireAll(unpacked, database)
    sayIfItEnds(chosen, database, options.until_ms)
    await migrateDatabase(database.owner)
    const files = await withSession(database.owner, async (sql) => {
      await longTransaction(sql, 'isolation level read committed', (inner) =>
        noteRestore(inner, database.restored_to, options),
      )
      return restoreFiles(sql, vault)
    })
    return { restored_to: database.restored_to, ...files }
  } finally {
    await database.stop()
  }
}

/** The log of a chain that was given up may end before the time that was asked for. */
function sayIfItEnds({ chain }: Chosen, { is_all, restored_to }: Recovered, until_ms: number | undefined): void {
  if (until_ms === undefined || !is_all || !chain.ended_at) return
  process.stderr.write(
    `deskwire: the log ends with the change of ${restored_to}: the backup does not have what came between it and --until, if anything did\n`,
  )
}

/** Unpacks a base copy, or the one before it when that is damaged. */
async function unpackSome(vault: Vault, home: Home, chosen: Chosen): Promise<Unpacked> {
  try {
    return await unpackBase(vault, home, chosen)
  } catch (error) {
    const before = error instanceof DamagedBackupError ? baseBefore(chosen) : undefined
    if (!before) throw error
    process.stderr.write(`deskwire: ${(error as Error).message}. The copy of ${before.base.ended_at} is used instead\n`)
    return unpackSome(vault, home, before)
  }
}

/**
 * Ends what the lost service may have given out since: ticket numbers and cursors. Says in the audit logs what was
 * done.
 */
async function noteRestore(sql: Transaction, restored_to: string, { numbers_from }: RestoreOptions): Promise<void> {
  await tryStoredSecrets(sql, 'it is not that of the service which was backed up')
  const lost_days = Math.max(1, Math.ceil((Date.now() - Date.parse(restored_to)) / DAY_MS))
  await passTicketNumbers(sql, numbers_from, lost_days)
  await renewEpochs(sql)
  for (const { id } of await sql<{ id: string }[]>`select id from organizations`) {
    const changes = { restored_to: { from: null, to: restored_to } }
    const entry = { action: 'operator.backup_restored', resource: { type: 'organization', id }, changes } as const
    await audit({ sql, organization_id: id, actor: OPERATOR }, entry)
  }
}

/** Leaves the key where a start without SECRET_KEY reads it, which would make another one. */
function writeKey(): void {
  const file = path.join(config.DATA_DIR, SETTINGS.SECRET_KEY.generated_file)
  fs.writeFileSync(file, config.SECRET_KEY!, { mode: 0o600, flag: 'wx' })
}
