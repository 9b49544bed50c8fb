/**
 * Notes of a service about its backup in DATA_DIR: who it is, and how the backup is. Its metrics, `cli backup status`
 * and the doctor read it.
 */
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { config } from '../../base/config'
import { makePrivateFolder } from '../../base/process/private-folder'
import { sign } from '../../base/secrets'
import { BACKUP_STATE, BACKUP_VERIFIED } from '../start/data-dir'

export type BackupState = {
  /** Tells services apart. */
  service: string
  /** The target that was written to last, and the number of the manifest there. */
  place?: string
  generation?: number
  /** Tells its key from others; null without encryption, absent when an earlier release wrote last. */
  key_digest?: string | null
  /** The last piece of the log that is there. */
  shipped?: { chain: string; piece: string }
  /** The last base copy is of a release whose objects have no proof, or of another SECRET_KEY. */
  is_unproven?: boolean
  /** All changes until then are in the backup. */
  covered_until?: string
  /** Time of the last base copy, or of the last list of files. */
  last_base?: string
  /** Bytes of the log that wait on this disk. */
  waiting_bytes?: number
  /** Why the last try failed, and since when tries have failed. */
  error?: string
  failing_since?: string
  /** When the log was given up last, until there is a new base copy. */
  given_up_at?: string
  given_up_why?: string
  /** Stored files that the store did not have when they were to be copied. */
  missing_files?: number
}

/** The result of the last look at the whole backup. */
type Verified = {
  at: string
  fault?: string
  /** All that is needed for the moments since then was read, and is whole. */
  proven_since?: string
}

/** @returns undefined when there was never a backup from here */
export function readState(): BackupState | undefined {
  return readNote<BackupState>(BACKUP_STATE)
}

/** Replaces what is noted. */
export function writeState(state: BackupState): void {
  writeNote(BACKUP_STATE, state)
}

export function readVerified(): Verified | undefined {
  return readNote<Verified>(BACKUP_VERIFIED)
}

export function writeVerified(verified: Verified): void {
  writeNote(BACKUP_VERIFIED, verified)
}

/**
 * The name of this service at its target. That of an embedded database is made by chance and not in any backup, so that
 * a restored service is another one. Services with one external database are one.
 */
export function nameOfService(): string {
  if (config.DATABASE_URL) return sign('backup', 'service').toString('hex').slice(0, 32)
  return readState()?.service ?? randomUUID()
}

function readNote<T>(name: string): T | undefined {
  try {
    return JSON.parse(fs.readFileSync(path.join(config.DATA_DIR, name), 'utf8'))
  } catch {
    return undefined
  }
}

function writeNote(name: string, note: object): void {
  makePrivateFolder(config.DATA_DIR)
  const file = path.join(config.DATA_DIR, name)
  fs.writeFileSync(`${file}.new`, `${JSON.stringify(note)}\n`, { mode: 0o600, flush: true })
  fs.renameSync(`${file}.new`, file)
}
