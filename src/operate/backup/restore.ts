/**
 * Restores a backup into an empty place and reads it back. The database is filled in one transaction, so that it stays
 * empty until all of it is there. A mark in DATA_DIR keeps a service from starting on what a killed restore left; the
 * next restore begins anew.
 */
import path from 'node:path'
import { config } from '../../base/config'
import { migrateDatabase, tryMigrationLock } from '../../base/db/migrate'
import { longTransaction, type Session, withSession } from '../../base/db/session'
import { OperatorError } from '../../base/errors'
import { startProgress } from '../../base/long-work'
import { makePrivateFolder } from '../../base/process/private-folder'
import { useSecrets } from '../../base/secrets'
import { holdOutbox } from '../../delivery/outbox/hold'
import { openAsItIs } from '../start/database'
import { dropRoot } from '../start/drop-root'
import { BackupError, explained } from './backup-error'
import { claimDataDir, clearUnfinished, endRestore } from './claim-data-dir'
import { compareRows, endCursors, loadDatabase, passTicketNumbers, refuseFilled, refuseOtherBackup } from './load'
import { type FoundManifest, type Manifest, readManifest, requireProof } from './manifest'
import { enterFolder } from './operator-folder'
import { keysAfterRestore, writeGeneratedKey } from './secret-keys'
import { checkFile, checkFiles, restoreFiles } from './stored-files'
import { quoted } from './tables'
import { tryStoredSecrets } from './try-secrets'

const WHAT = 'the restore'

const MODE = 'isolation level read committed'

/** A database as `openAsItIs` names it. */
type Target = Parameters<typeof migrateDatabase>[0]

/** The report to the operator about a backup that was read. */
type Checked = Pick<Manifest, 'created_at' | 'release' | 'migration'> & { tables: number; rows: number; files: number }

/** Reads a whole backup and changes nothing. @throws BackupError when a byte of it is not as it was written */
export async function checkBackup(folder: string): Promise<Checked> {
  try {
    const found = await readBackup(path.resolve(folder))
    if (config.SECRET_KEY) {
      useSecrets(config.SECRET_KEY, config.SECRET_KEY_PREVIOUS)
      requireProof(found)
    }
    return resultOf(found.manifest)
  } catch (error) {
    throw explained(error, 'the check')
  }
}

/**
 * Restores a backup into the database and the attachment store that the settings name, and brings the database to the
 * schema of this release.
 * @param numbers_from the last ticket number that may have been given out, in any organization; a gap is left without
 *   it
 * @param is_unproven takes a backup without a MAC although the settings name the secret key
 * @throws BackupError when the backup is damaged or of a newer release, when the place is not empty, or when something
 *   is not as it was backed up, or when the migration at the end fails. Otherwise nothing stays of a restore that
 *   failed.
 */
export async function restore(folder: string, numbers_from?: number, is_unproven = false): Promise<Checked> {
  try {
    const found = await readBackup(path.resolve(folder))
    const { manifest, mac } = found
    await refuseOtherBackup(manifest)
    const keys = await keysAfterRestore(manifest)
    useSecrets(keys.current, keys.previous)
    const is_open = mac === undefined && (keys.generated || is_unproven)
    if (!is_open) requireProof(found)
    const release = claimDataDir()
    try {
      await dropRoot('create', undefined, '.')
      if (keys.generated) writeGeneratedKey(keys.current)
      await restoreEverything(manifest, numbers_from)
    } catch (error) {
      clearUnfinished()
      throw error
    } finally {
      release()
    }
    return resultOf(manifest)
  } catch (error) {
    throw explained(error, WHAT)
  }
}

async function readBackup(name: string): Promise<FoundManifest> {
  enterFolder(name, WHAT)
  const found = await readManifest(name)
  const { tables, files, secret_keys } = found.manifest
  const listed = [...secret_keys, ...tables, files]
  const total = listed.reduce((sum, { size }) => sum + size, files.bytes)
  using progress = startProgress('check of the backup', { total, unit: 'bytes' })
  for (const file of listed) await checkFile(file, progress)
  await checkFiles(files, progress)
  return found
}

function resultOf({ created_at, release, migration, tables, files }: Manifest): Checked {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  return { created_at, release, migration, tables: tables.length, rows, files: files.count }
}

async function restoreEverything(manifest: Manifest, numbers_from: number | undefined): Promise<void> {
  makePrivateFolder(config.DATA_DIR)
  const database = await openAsItIs('create')
  try {
    await fillAlone(database.target, manifest, numbers_from)
    holdOutbox()
    endRestore()
    await migrateRestored(database.target)
  } finally {
    await database.close()
  }
}

async function migrateRestored(target: Target): Promise<void> {
  try {
    await migrateDatabase(target)
  } catch (error) {
    const known = explained(error, 'the migration')
    if (!(known instanceof OperatorError)) throw known
    throw new BackupError(
      `all of the backup is restored, but not migrated to this release: ${known.message}. ` +
        'Correct that and run the command migrate, or start the service',
    )
  }
}

/**
 * Fills the database while no other process may migrate or restore it.
 * @throws BackupError when one does, or the database is not empty
 */
function fillAlone(target: Target, manifest: Manifest, numbers_from: number | undefined): Promise<void> {
  return withSession(target, (holder) =>
    longTransaction(holder, MODE, async (hold) => {
      if (!(await tryMigrationLock(hold))) {
        throw new BackupError('another restore into this database is at work, or a migration of it: wait for its end')
      }
      await withSession(target, (session) => fill(session, manifest, numbers_from))
    }),
  )
}

async function fill(session: Session, manifest: Manifest, numbers_from: number | undefined): Promise<void> {
  await longTransaction(session, MODE, refuseFilled)
  await restoreFiles(manifest.files)
  await longTransaction(session, MODE, async (sql) => {
    await loadDatabase(sql, manifest)
    await passTicketNumbers(sql, numbers_from)
    await endCursors(sql, manifest)
    await tryStoredSecrets(sql, 'it is not that of the service which was backed up')
  })
  // The first statements of the service are planned with figures of what is there.
  await session.unsafe(`vacuum (analyze) ${manifest.tables.map(quoted)}`)
  await longTransaction(session, MODE, (sql) => compareRows(sql, manifest.tables))
}
