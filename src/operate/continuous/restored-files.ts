/** Brings the files that a restored database names from the backup to the store, or only looks at them. */
import { createInterface } from 'node:readline'
import type { Session } from '../../base/db/session'
import { startProgress } from '../../base/long-work'
import { openStore } from '../../desk/attachments/storage'
import type { Store } from '../../desk/attachments/store'
import { isNothingThere } from '../../desk/attachments/store-faults'
import { BackupError } from '../backup/backup-error'
import { countLines } from '../backup/read-file'
import { copyNames, digestInStore, inOrder, measure, type Named, readNamed } from '../backup/stored-files'
import { fileName } from './chain-manifest'
import { DamagedBackupError } from './sealed'
import type { Vault } from './vault'

export type FilesRestored = {
  files: number
  /** Files that the backup lacks, or does not have as the database names them. */
  missing_files: number
}

/**
 * Puts all files that rows name into the store. One that is there already stays.
 * @throws BackupError when that differs
 */
export function restoreFiles(sql: Session, vault: Vault): Promise<FilesRestored> {
  const store = openStore()
  return withEach('restore', sql, (named) => restoreFile(named, vault, store))
}

/** Reads all files that rows name. */
export function checkFiles(sql: Session, vault: Vault): Promise<FilesRestored> {
  return withEach('check of the files', sql, async (named) =>
    isAsNamed(named, await measure(vault.read(fileName(named.key)))),
  )
}

/** @param work is false for a file that is not as its row says */
async function withEach(what: string, sql: Session, work: (named: Named) => Promise<boolean>): Promise<FilesRestored> {
  const counts = { files: 0, missing_files: 0 }
  using progress = startProgress(what, { total: await countLines(await copyNames(sql)), unit: 'files' })
  const lines = createInterface({ input: await copyNames(sql), crlfDelay: Number.POSITIVE_INFINITY })
  const results = inOrder(lines, async (line) => {
    const named = readNamed(line)
    const is_there = await work(named).catch((error) => {
      if (isNothingThere(error) || error instanceof DamagedBackupError) return false
      throw error
    })
    if (!is_there) process.stderr.write(`deskwire: the backup does not have ${named.key} as its row says\n`)
    return is_there
  })
  for await (const is_there of results) {
    progress.add()
    counts[is_there ? 'files' : 'missing_files']++
  }
  return counts
}

async function restoreFile(named: Named, vault: Vault, store: Store): Promise<boolean> {
  const { key } = named
  const found = await digestInStore(key, store)
  if (found === undefined) {
    const stored = await store.put(key, vault.read(fileName(key)))
    if (isAsNamed(named, { size: stored.size, sha256: stored.digest })) return true
    await store.remove(key)
    return false
  }
  if (found === named.digest || found === (await measure(vault.read(fileName(key)))).sha256) return true
  throw new BackupError(`the attachment store has another file in the place of ${key}`)
}

function isAsNamed({ size, digest }: Named, found: { size: number; sha256: string }): boolean {
  return found.size === size && (digest === null || digest === found.sha256)
}
