/**
 * Restores a backup into an empty place and reads it back. The database is filled in one transaction, so that it stays
 * empty until all of it is there. A mark in DATA_DIR keeps a service from starting on what a killed restore left; the
 * next restore begins anew.
 */
import fs from 'node:fs'
import path from 'node:path'
import { config } from '../../base/config'
import { lockFile } from '../../base/db/embedded/file-lock'
import { migrateDatabase, tryMigrationLock } from '../../base/db/migrate'
import { longTransaction, type Session, withSession } from '../../base/db/session'
import { usesDataDir } from '../../base/disk/free-space'
import { OperatorError } from '../../base/errors'
import { makePrivateFolder } from '../../base/process/private-folder'
import { useSecrets } from '../../base/secrets'
import { DATA_ENTRIES, RESTORE_LOCK, UNFINISHED_RESTORE } from '../start/data-dir'
import { openAsItIs } from '../start/database'
import { dropRoot } from '../start/drop-root'
import { BackupError, explained } from './backup-error'
import { compareRows, endCursors, loadDatabase, passTicketNumbers, refuseFilled, refuseNewerBackup } from './load'
import { type Manifest, readManifest } from './manifest'
import { enterFolder } from './operator-folder'
import { keysAfterRestore, writeGeneratedKey } from './secret-keys'
import { checkFile, checkFiles, restoreFiles } from './stored-files'
import { quoted } from './tables'
import { tryStoredSecrets } from './try-secrets'

const WHAT = 'the restore'

const MODE = 'isolation level read committed'

/** A database as `openAsItIs` names it. */
type Target = Parameters<typeof migrateDatabase>[0]

/** What the operator is told of a backup that was read. */
type Checked = Pick<Manifest, 'created_at' | 'release' | 'migration'> & { tables: number; rows: number; files: number }

/** Reads a whole backup and changes nothing. @throws BackupError when a byte of it is not as it was written */
export async function checkBackup(folder: string): Promise<Checked> {
  try {
    return resultOf(await readBackup(path.resolve(folder)))
  } catch (error) {
    throw explained(error, 'the check')
  }
}

/**
 * Restores a backup into the database and the attachment store that the settings name, and brings the database to the
 * schema of this release.
 * @param numbers_from the last ticket number that may have been given out, in any organization; a gap is left without
 *   it
 * @throws BackupError when the backup is damaged or of a newer release, when the place is not empty, or when something
 *   is not as it was backed up, or when the migration at the end fails. Otherwise nothing stays of a restore that
 *   failed.
 */
export async function restore(folder: string, numbers_from?: number): Promise<Checked> {
  try {
    const manifest = await readBackup(path.resolve(folder))
    await refuseNewerBackup(manifest)
    const keys = await keysAfterRestore(manifest)
    const release = claimDataDir()
    try {
      await dropRoot('create', undefined, '.')
      if (keys.generated) writeGeneratedKey(keys.current)
      useSecrets(keys.current, keys.previous)
      await restoreEverything(manifest, numbers_from)
    } catch (error) {
      if (fs.existsSync(markFile())) clearDataDir()
      throw error
    } finally {
      release()
    }
    return resultOf(manifest)
  } catch (error) {
    throw explained(error, WHAT)
  }
}

async function readBackup(name: string): Promise<Manifest> {
  enterFolder(name, WHAT)
  const manifest = await readManifest(name)
  const { tables, files, secret_keys } = manifest
  for (const file of [...secret_keys, ...tables, files]) await checkFile(file)
  await checkFiles(files)
  return manifest
}

function resultOf({ created_at, release, migration, tables, files }: Manifest): Checked {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  return { created_at, release, migration, tables: tables.length, rows, files: files.count }
}

/**
 * Marks DATA_DIR as being restored, by this process alone.
 * @returns what gives the place free at the end
 * @throws BackupError when it holds data that no unfinished restore left, or another restore is at work there
 */
function claimDataDir(): () => void {
  if (!usesDataDir()) return () => {}
  refuseData()
  makePrivateFolder(config.DATA_DIR)
  const lock = lockDataDir()
  const release = () => {
    fs.rmSync(lockedFile(), { force: true })
    fs.closeSync(lock)
  }
  try {
    // Another restore may have ended meanwhile.
    refuseData()
    if (fs.existsSync(markFile())) clearDataDir()
    fs.writeFileSync(markFile(), '', { mode: 0o600, flag: 'wx' })
    return release
  } catch (error) {
    release()
    throw error
  }
}

function refuseData(): void {
  if (fs.existsSync(markFile())) return
  const { DATA_DIR } = config
  const found = DATA_ENTRIES.find((entry) => fs.existsSync(path.join(DATA_DIR, entry)))
  if (found) throw new BackupError(`DATA_DIR ${DATA_DIR} is not empty: it holds ${found}. Name a new folder`)
}

/** @returns the descriptor of the lock, which the kernel frees when this process is killed */
function lockDataDir(): number {
  const file = lockedFile()
  const lock = lockFile(file)
  // The file of a restore that ends now is removed: its lock would keep nobody out.
  const is_ours = lock !== undefined && fs.statSync(file, { throwIfNoEntry: false })?.ino === fs.fstatSync(lock).ino
  if (is_ours) return lock
  if (lock !== undefined) fs.closeSync(lock)
  throw new BackupError(`another restore is at work in DATA_DIR ${config.DATA_DIR}: wait for its end`)
}

function clearDataDir(): void {
  for (const entry of DATA_ENTRIES) {
    const file = path.join(config.DATA_DIR, entry)
    // Under a closed folder the database is elsewhere, and this is root's link to it. Another link could lead to
    // anything.
    if (isLinkOfRoot(file)) fs.rmSync(fs.realpathSync(file), { recursive: true, force: true })
    fs.rmSync(file, { recursive: true, force: true })
  }
  fs.rmSync(markFile(), { force: true })
}

function isLinkOfRoot(file: string): boolean {
  const found = fs.lstatSync(file, { throwIfNoEntry: false })
  return found?.isSymbolicLink() === true && found.uid === 0 && fs.existsSync(file)
}

function lockedFile(): string {
  return path.join(config.DATA_DIR, RESTORE_LOCK)
}

function markFile(): string {
  return path.join(config.DATA_DIR, UNFINISHED_RESTORE)
}

async function restoreEverything(manifest: Manifest, numbers_from: number | undefined): Promise<void> {
  const database = await openAsItIs('create')
  try {
    await fillAlone(database.target, manifest, numbers_from)
    fs.rmSync(markFile(), { force: true })
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
