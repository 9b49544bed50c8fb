/** Keeps DATA_DIR for one restore, and marks it until that has ended. */
import fs from 'node:fs'
import path from 'node:path'
import { config } from '../../base/config'
import { lockFile } from '../../base/db/embedded/file-lock'
import { usesDataDir } from '../../base/disk/free-space'
import { makePrivateFolder } from '../../base/process/private-folder'
import { DATA_ENTRIES, RESTORE_LOCK, UNFINISHED_RESTORE } from '../start/data-dir'
import { BackupError } from './backup-error'

/**
 * Marks DATA_DIR as being restored, by this process alone.
 * @returns a function that releases the folder at the end
 * @throws BackupError when it holds data that no unfinished restore left, or another restore is at work there
 */
export function claimDataDir(): () => void {
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
    clearUnfinished()
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

/** Removes what an unfinished restore left. */
export function clearUnfinished(): void {
  if (fs.existsSync(markFile())) clearDataDir()
}

/** Lets a service start on what was restored. */
export function endRestore(): void {
  fs.rmSync(markFile(), { force: true })
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
