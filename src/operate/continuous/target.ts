/** The place of a continuous backup: a folder or a bucket, with a list of what is there. */
import { randomUUID } from 'node:crypto'
import type { Stats } from 'node:fs'
import { link, lstat, readdir, rename, rm, rmdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { config } from '../../base/config'
import { isErrno } from '../../base/db/embedded/faults'
import { fileStore, openBucket, s3Store } from '../../desk/attachments/storage'
import type { Store } from '../../desk/attachments/store'
import { answerOf, isNothingThere } from '../../desk/attachments/store-faults'
import { BackupError } from '../backup/backup-error'

/** An object of the place: its name, and its bytes as they are stored. */
type Listed = { name: string; size: number }

export type Target = Omit<Store, 'fileOf'> & {
  /** `BACKUP_TO`, or the source of a restore. */
  place: string
  /** Writes a small object in the place of one that may be there, which stays when this rejects. */
  replace(name: string, bytes: Uint8Array): Promise<void>
  /** Writes a small object unless there is one. Only in a bucket may two that do so at once both write. */
  putNew(name: string, bytes: Uint8Array): Promise<void>
  /**
   * Lists the objects in a folder, in the order of their names.
   * @param after leaves out those up to it
   */
  list(folder: string, after?: string): AsyncGenerator<Listed>
  /** Removes what a killed process had begun to write in a folder. Nobody may write meanwhile. */
  removeUnfinished(folder: string): Promise<void>
}

/**
 * Opens a folder or `s3://bucket/prefix`. Nothing is read or written yet.
 * @param reach another way to the folder: a process that is no longer root may have none to it from above
 */
export function openTarget(place: string, reach = place): Target {
  return isBucket(place) ? bucketTarget(place) : folderTarget(place, reach)
}

/** True for a place that is no folder. */
export function isBucket(place: string): boolean {
  return place.startsWith('s3://')
}

/**
 * @throws BackupError when the folder is away, such as a disk that is not mounted: it must not be made anew elsewhere
 */
async function requireFolder(root: string, place: string): Promise<void> {
  const found = await stat(root).catch(unlessMissing)
  if (!found?.isDirectory()) throw new BackupError(`there is no folder ${place}: is its disk mounted?`)
}

/** True when an object is there. */
export async function isThere(target: Target, name: string): Promise<boolean> {
  try {
    await (await target.open(name)).cancel()
    return true
  } catch (error) {
    if (isNothingThere(error)) return false
    throw error
  }
}

/** An object that is being written has no name of its own yet. */
const PARTIAL = '.partial'

function folderTarget(place: string, root: string): Target {
  const store = fileStore(root, 'leave')
  const put: Store['put'] = async (name, bytes) => {
    await requireFolder(root, place)
    return store.put(name, bytes)
  }
  return {
    place,
    put,
    async replace(name, bytes) {
      await put(name, bytes)
    },
    async putNew(name, bytes) {
      const unnamed = `${name}.${randomUUID()}${PARTIAL}`
      await put(unnamed, bytes)
      const [from, to] = [path.join(root, unnamed), path.join(root, name)]
      // Some file systems have no hard links.
      await link(from, to).catch((error) => (isErrno(error, 'EEXIST') ? undefined : rename(from, to)))
      await rm(from, { force: true })
    },
    async open(name) {
      await requireFolder(root, place)
      return store.open(name)
    },
    async read(name) {
      await requireFolder(root, place)
      return store.read(name)
    },
    async remove(name) {
      await store.remove(name)
      await removeEmpty(root, path.dirname(name))
    },
    async *list(folder, after = '') {
      await requireFolder(root, place)
      for await (const found of filesBelow(root, folder))
        if (found.name > after && !found.name.endsWith(PARTIAL)) yield found
    },
    async removeUnfinished(folder) {
      for await (const { name } of filesBelow(root, folder)) {
        if (!name.endsWith(PARTIAL)) continue
        await rm(path.join(root, name), { force: true })
        await removeEmpty(root, path.dirname(name))
      }
    },
  }
}

async function removeEmpty(root: string, folder: string): Promise<void> {
  if (folder === '.') return
  const is_gone = await rmdir(path.join(root, folder)).then(
    () => true,
    () => false,
  )
  if (is_gone) await removeEmpty(root, path.dirname(folder))
}

/** Lists plain files only: a link would lead elsewhere. */
async function* filesBelow(root: string, folder: string): AsyncGenerator<Listed> {
  const entries = await readdir(path.join(root, folder), { withFileTypes: true }).catch(unlessMissing)
  for (const entry of (entries ?? []).toSorted((a, b) => (sortName(a) < sortName(b) ? -1 : 1))) {
    const name = `${folder}/${entry.name}`
    if (entry.isDirectory()) yield* filesBelow(root, name)
    else if (entry.isFile()) {
      const found: Stats | undefined = await lstat(path.join(root, name)).catch(unlessMissing)
      if (found) yield { name, size: found.size }
    }
  }
}

/** The order of whole names, as buckets have it: a folder stands where its files do. */
function sortName(entry: { name: string; isDirectory(): boolean }): string {
  return entry.isDirectory() ? `${entry.name}/` : entry.name
}

function unlessMissing(error: unknown): undefined {
  if (!isErrno(error, 'ENOENT')) throw error
}

function bucketTarget(place: string): Target {
  const { client, prefix } = openBucket(place, {
    endpoint: config.BACKUP_S3_ENDPOINT,
    region: config.BACKUP_S3_REGION,
    accessKeyId: config.BACKUP_S3_ACCESS_KEY_ID,
    secretAccessKey: config.BACKUP_S3_SECRET_ACCESS_KEY,
  })
  const nameOf = (name: string) => (prefix ? `${prefix}/${name}` : name)
  const write = async (name: string, bytes: Uint8Array) => void (await answerOf(client.write(nameOf(name), bytes)))
  return {
    ...s3Store(client, prefix),
    place,
    replace: write,
    async putNew(name, bytes) {
      if (!(await answerOf(client.exists(nameOf(name))))) await write(name, bytes)
    },
    // A bucket shows no object before it is whole.
    async removeUnfinished() {},
    async *list(folder, after) {
      let page: string | undefined
      do {
        const { contents = [], nextContinuationToken } = await answerOf(
          client.list({
            prefix: `${nameOf(folder)}/`,
            maxKeys: 1000,
            ...(after !== undefined && { startAfter: nameOf(after) }),
            ...(page && { continuationToken: page }),
          }),
        )
        // S3 promises the order of names; servers that speak like it may keep it between pages only.
        for (const { key, size } of contents.toSorted((a, b) => (a.key < b.key ? -1 : 1))) {
          yield { name: prefix ? key.slice(prefix.length + 1) : key, size: Number(size ?? 0) }
        }
        page = nextContinuationToken
      } while (page)
    },
  }
}
