/** The manifest of a backup. It is written last: a folder without it, or with another checksum, is no whole backup. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { fileStore } from '../attachments/storage'
import { isErrno } from '../db/embedded/faults'
import { BackupError } from './backup-error'

const MANIFEST = 'manifest.json'

/** Of this layout of the folder. */
const FORMAT = 1

/** A table with the columns whose values are stored: a generated one is computed again. */
export type Table = { schema: string; name: string; columns: string[] }

/** A file of the backup: its name in the folder, bytes, and SHA-256 in lower case hex. */
export type FileInBackup = { file: string; size: number; sha256: string }

export type Manifest = {
  format: number
  /** Version of the release that made the backup. */
  release: string
  /** Name of the last migration of the database, and the times by which all of its migrations are known. */
  migration: string
  migrations: number[]
  /** Time of the snapshot. */
  created_at: string
  /** Version of the server. */
  postgresql: string
  tables: (Table & FileInBackup & { rows: number })[]
  /** The last value that each sequence gave; null when it gave none. */
  sequences: { schema: string; name: string; last_value: string | null }[]
  /** Attachments and originals of mail: how many, their bytes, and the list of them. */
  files: FileInBackup & { count: number; bytes: number; missing: number; damaged: number }
  /** The secret key, and the previous one when it was set. */
  secret_keys: FileInBackup[]
}

/** Writes the manifest with a checksum of itself. */
export async function writeManifest(manifest: Omit<Manifest, 'format'>): Promise<void> {
  const body = { format: FORMAT, ...manifest }
  const text = JSON.stringify({ ...body, sha256: checksum(body) }, null, 1)
  await fileStore('.').put(MANIFEST, Buffer.from(`${text}\n`))
}

/** Reads the manifest of the backup in the working directory. @throws BackupError when there is no whole one */
export async function readManifest(folder: string): Promise<Manifest> {
  const text = await readFile(MANIFEST, 'utf8').catch((error) => {
    if (!isErrno(error, 'ENOENT')) throw error
    throw new BackupError(`${folder} holds no whole backup: there is no ${MANIFEST}, which is written last`)
  })
  const { sha256, ...manifest } = parsed(text, folder)
  if (manifest.format !== FORMAT) {
    throw new BackupError(`${folder} was made by a release with another form of backups (${manifest.format})`)
  }
  if (sha256 !== checksum(manifest)) throw new BackupError(`${MANIFEST} in ${folder} is damaged: its checksum is wrong`)
  return manifest
}

function parsed(text: string, folder: string): Manifest & { sha256?: string } {
  try {
    return JSON.parse(text)
  } catch {
    throw new BackupError(`${MANIFEST} in ${folder} is damaged: it is no JSON`)
  }
}

function checksum(manifest: object): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('hex')
}
