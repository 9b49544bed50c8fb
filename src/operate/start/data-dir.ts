/** The folder DATA_DIR: what the service makes in it, and who may look into it. */
import fs from 'node:fs'
import path from 'node:path'
import { ConfigError } from '../../base/config'
import { OUTBOX_WAITS } from '../../delivery/outbox/hold'

/** Its time is that of the last backup. */
export const LAST_BACKUP = 'last-backup'

/** Notes of the service about its continuous backup, and the finding of the last look at all of it. */
export const BACKUP_STATE = 'backup.json'
export const BACKUP_VERIFIED = 'backup-verified.json'

/** Holds the log that waits for a continuous backup whose target is away. */
export const BACKUP_WAITING = 'backup-waiting'

/** Is a second database for a while, in which a backup is tried. */
export const VERIFY_FOLDER = 'verify'

/** The files that the service keeps in DATA_DIR. */
export const DATA_ENTRIES = [
  ...['postgres', 'attachments', 'secret-key', 'admin-password', 'untrusted-proxy.json'],
  ...[LAST_BACKUP, BACKUP_STATE, BACKUP_VERIFIED, BACKUP_WAITING, OUTBOX_WAITS],
]

/** Is in DATA_DIR while a backup is restored into it, and after a restore that was killed. */
export const UNFINISHED_RESTORE = 'unfinished-restore'

/** Is locked in DATA_DIR by the one restore that fills it. */
export const RESTORE_LOCK = 'restore.lock'

/** DATA_DIR and the database are half filled: a restore is at work, or was killed. */
export class UnfinishedRestoreError extends ConfigError {}

/** @throws UnfinishedRestoreError when a restore into DATA_DIR has not ended */
export function refuseUnfinishedRestore(data_dir: string): void {
  if (!fs.existsSync(path.join(data_dir, UNFINISHED_RESTORE))) return
  throw new UnfinishedRestoreError(`DATA_DIR ${data_dir} holds a restore that has not ended: restore the backup again`)
}

/** Holds a socket in DATA_DIR for each service that runs, at which `cli profile` asks. */
export const PROFILE_FOLDER = 'profile'

/** All that the service makes in DATA_DIR, and what file systems make in it. */
const OWN_ENTRIES = [
  ...[...DATA_ENTRIES, UNFINISHED_RESTORE, RESTORE_LOCK, PROFILE_FOLDER, VERIFY_FOLDER],
  'lost+found',
]

/** Something in DATA_DIR that the service has not made; undefined when there is nothing of the kind. */
export function foreignEntry(data_dir: string): string | undefined {
  return fs.existsSync(data_dir) ? fs.readdirSync(data_dir).find((entry) => !OWN_ENTRIES.includes(entry)) : undefined
}

/**
 * Closes DATA_DIR to everybody but its owner. Of root's, the group may pass through, which is that of the database's
 * user. A folder that holds other files too, or is another user's, stays as it is.
 */
export function closeToOthers(data_dir: string): void {
  const { uid, mode } = fs.statSync(data_dir)
  if (uid !== process.getuid?.() || (mode & 0o067) === 0 || foreignEntry(data_dir)) return
  fs.chmodSync(data_dir, uid === 0 ? 0o710 : 0o700)
}
