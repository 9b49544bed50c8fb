/** Copies attachments and originals of mail: from the store to a backup, and from a backup to a store. */
import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Transaction } from '../../base/db/session'
import { type Progress, startProgress } from '../../base/long-work'
import { openStore } from '../../desk/attachments/storage'
import { isStorageKey } from '../../desk/attachments/storage-key'
import type { Bytes, Store } from '../../desk/attachments/store'
import { isNothingThere } from '../../desk/attachments/store-faults'
import { BackupError } from './backup-error'
import { type FileInBackup, LIST, type Manifest } from './manifest'
import { bytesOf, countLines, linesOf } from './read-file'

/** A stored file as the database knows it. Originals of mail have no digest there. */
export type Named = { key: string; size: number; digest: string | null }

/** A line of the list. A damaged file is in the backup as it was found. */
type Listed = { key: string; size: number; sha256: string; fault?: 'damaged' } | { key: string; fault: 'missing' }

/** Where the files are in the backup. */
const FILES = 'files'
/** The list as the snapshot names it, while the backup is made. */
const NAMES = 'files.names'

/** Files that are copied at the same time: a store on the network answers each after some milliseconds. */
const AT_ONCE = 4

/** Writes down which files the snapshot names, so that they can be copied after it. */
export async function listNames(sql: Transaction, to: Store): Promise<void> {
  await to.put(NAMES, await copyNames(sql))
}

/** The files that the rows name, in the order of their keys: a line of COPY for each, as `readNamed` reads it. */
export function copyNames(sql: Pick<Transaction, 'unsafe'>): Promise<Readable> {
  return sql
    .unsafe(`
      copy (
        select storage_key, max(size), max(digest) from (
          select storage_key, size, digest from public.attachments
          union all select storage_key, size, null from public.inbound_messages where storage_key is not null
        ) as stored
        group by storage_key order by storage_key collate "C"
      ) to stdout`)
    .readable()
}

/** Copies the files that `listNames` wrote down. @returns how many, and the list of what they are */
export async function copyFiles(to: Store): Promise<Manifest['files']> {
  const counts = { count: 0, bytes: 0, missing: 0, damaged: 0 }
  const from = openStore()
  using progress = startProgress('backup', { total: await countLines(bytesOf(NAMES)), unit: 'files' })
  const copies = inOrder(namesIn(NAMES), (named) => copyFile(named, from, to))
  async function* lines() {
    for await (const listed of copies) {
      progress.add()
      if (listed.fault) counts[listed.fault]++
      if ('size' in listed) {
        counts.count++
        counts.bytes += listed.size
      }
      yield Buffer.from(`${JSON.stringify(listed)}\n`)
    }
  }
  const { size, digest } = await to.put(LIST, lines())
  await rm(NAMES)
  return { file: LIST, size, sha256: digest, ...counts }
}

async function* namesIn(file: string): AsyncGenerator<Named> {
  for await (const line of linesOf(file)) yield readNamed(line)
}

/** Reads a line of `copyNames`. */
export function readNamed(line: string): Named {
  const [key, size, digest] = line.split('\t')
  return { key: key!, size: Number(size), digest: digest === '\\N' ? null : digest! }
}

async function copyFile({ key, size, digest }: Named, from: Store, to: Store): Promise<Listed> {
  const bytes = await openIfThere(from, key)
  if (!bytes) return { key, fault: 'missing' }
  const stored = await to.put(`${FILES}/${key}`, bytes)
  const is_whole = stored.size === size && (digest === null || digest === stored.digest)
  return { key, size: stored.size, sha256: stored.digest, ...(!is_whole && { fault: 'damaged' as const }) }
}

/** Opens a stored file. @returns undefined when the store does not have it */
export async function openIfThere(store: Store, key: string): Promise<Bytes | undefined> {
  try {
    return await store.open(key)
  } catch (error) {
    if (!isNothingThere(error)) throw error
  }
  // To HEAD, with which an object is opened, S3 gives the same answer when there is no such bucket. To GET it does not.
  try {
    return await store.read(key)
  } catch (error) {
    if (isNothingThere(error)) return undefined
    throw error
  }
}

/** The files in the list of a backup. @throws BackupError for a key that this service has not made */
async function* filesIn(list: FileInBackup): AsyncGenerator<{ key: string } & FileInBackup> {
  for await (const line of linesOf(list.file)) {
    const listed = parsedLine(line, list.file)
    if (!isStorageKey(listed.key)) throw new BackupError(`${list.file} names a file with an unknown key: ${listed.key}`)
    if ('size' in listed) yield { ...listed, file: `${FILES}/${listed.key}` }
  }
}

function parsedLine(line: string, file: string): Listed {
  try {
    return JSON.parse(line)
  } catch {
    throw new BackupError(`${file} is damaged: a line is no JSON`)
  }
}

/**
 * Compares all files of the list with what it says of them.
 * @param progress counts their bytes
 * @throws BackupError naming the first that differs
 */
export async function checkFiles(list: FileInBackup, progress: Progress): Promise<void> {
  for await (const _ of inOrder(filesIn(list), (file) => checkFile(file, progress)));
}

/** Compares a file of the backup with its size and checksum. @param progress counts its bytes @throws BackupError */
export async function checkFile({ file, size, sha256 }: FileInBackup, progress: Progress): Promise<void> {
  const found = await measure(progress.through(bytesOf(file))).catch((error) => {
    if (isNothingThere(error)) throw new BackupError(`the backup is damaged: ${file} is missing or no plain file`)
    throw error
  })
  if (found.size !== size) {
    throw new BackupError(`the backup is damaged: ${file} has ${found.size} bytes instead of ${size}`)
  }
  if (found.sha256 !== sha256) throw new BackupError(`the backup is damaged: the checksum of ${file} is wrong`)
}

/**
 * Copies all files of the list to the store, and reads each back. A file that the store has already stays.
 * @throws BackupError when the store has another file in the place of one, or gives back other bytes
 */
export async function restoreFiles(list: Manifest['files']): Promise<void> {
  const to = openStore()
  using progress = startProgress('restore', { total: list.count, unit: 'files' })
  for await (const _ of inOrder(filesIn(list), (listed) => restoreFile(listed, to))) progress.add()
}

async function restoreFile({ key, file, sha256 }: { key: string } & FileInBackup, to: Store): Promise<void> {
  const found = await digestInStore(key, to)
  if (found === sha256) return
  if (found !== undefined) throw new BackupError(`the attachment store has another file in the place of ${key}`)
  await to.put(key, bytesOf(file))
  if ((await digestInStore(key, to)) !== sha256)
    throw new BackupError(`the attachment store gives back other bytes: ${key}`)
}

/** @returns the SHA-256 of a stored file; undefined when the store does not have it */
export async function digestInStore(key: string, store: Store): Promise<string | undefined> {
  try {
    return (await measure(await store.open(key))).sha256
  } catch (error) {
    if (isNothingThere(error)) return undefined
    throw error
  }
}

/** Reads all bytes. @returns how many, and their SHA-256 */
export async function measure(bytes: AsyncIterable<Uint8Array>): Promise<{ size: number; sha256: string }> {
  const hash = createHash('sha256')
  let size = 0
  await pipeline(bytes, async (chunks: AsyncIterable<Uint8Array>) => {
    for await (const chunk of chunks) {
      hash.update(chunk)
      size += chunk.length
    }
  })
  return { size, sha256: hash.digest('hex') }
}

/** Works on some items at the same time, and yields the results in the order of the items. */
export async function* inOrder<Item, Result>(
  items: AsyncIterable<Item>,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const running: Promise<Result>[] = []
  for await (const item of items) {
    const result = work(item)
    // The first that fails is thrown below; others must not end the process meanwhile.
    result.catch(() => {})
    running.push(result)
    if (running.length >= AT_ONCE) yield await running.shift()!
  }
  for (const result of running) yield await result
}
