/**
 * Stores bytes as files under DATA_DIR, or as objects of an S3 bucket (ATTACHMENT_STORE). Keys are `attachments/<id>`
 * and `inbound/<id>` (originals of inbound email). Nothing is overwritten, and no file is held in memory whole.
 */
import { createHash } from 'node:crypto'
import { openAsBlob } from 'node:fs'
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { config } from '../../base/config'
import { openPlain, openToWrite, placeBelow, readPlain, writePlain } from '../../base/disk/plain-file'
import { noteMade } from '../../base/process/collect'
import { S3Client, type S3Options } from '../../base/runtime/bucket-client'
import { onlyKnownKeys } from './storage-key'
import type { ByteRange, Bytes, Store, Stored } from './store'
import { answerOf, namingFaults } from './store-faults'

/** The smallest part that S3 takes: each upload holds one in memory. */
const PART_BYTES = 5 * 1024 * 1024

/** A first piece that is smaller waits for the second one, or for the end. */
const SMALL_BYTES = 65_536

let current: Store | undefined

/** The store that ATTACHMENT_STORE names. */
export function storage(): Store {
  current ??= openStore()
  return current
}

/** Makes the store of the present settings anew. */
export function openStore(): Store {
  return config.ATTACHMENT_STORE === 'file'
    ? namingFaults(onlyKnownKeys(fileStore(path.join(config.DATA_DIR, 'attachments'))), 'file')
    : namingFaults(onlyKnownKeys(bucketStore()), 's3')
}

/**
 * Keeps bytes in files under `root`. A file gets its name only when it is whole and on disk. No link below is followed.
 * @param after_fault `leave` keeps what had the name before a `put` that failed
 */
export function fileStore(root: string, after_fault: 'remove' | 'leave' = 'remove'): Store {
  return {
    async put(key, bytes) {
      const target = await placeBelow(root, key)
      const partial = `${target}.partial`
      try {
        const stored = await writeBytes(partial, bytes)
        await rename(partial, target)
        await flushFolder(path.dirname(target))
        return stored
      } catch (error) {
        const left = after_fault === 'leave' ? [partial] : [partial, target]
        await Promise.all(left.map((file) => rm(file, { force: true })))
        throw error
      }
    },

    async open(key, range) {
      const name = await placeBelow(root, key)
      await (await openPlain(name)).close()
      return rangeOf(await openAsBlob(name), range).stream()
    },

    async read(key) {
      return readPlain(await placeBelow(root, key))
    },

    fileOf: (key) => placeBelow(root, key),

    async remove(key) {
      const name = await placeBelow(root, key)
      await Promise.all([rm(name, { force: true }), rm(`${name}.partial`, { force: true })])
    },
  }
}

/** Keeps bytes in objects of a bucket. @param client its bucket is set */
export function s3Store(client: S3Client, prefix: string): Store {
  const nameOf = (key: string) => (prefix ? `${prefix}/${key}` : key)
  return {
    async put(key, bytes) {
      const writer = client.file(nameOf(key)).writer({ partSize: PART_BYTES, queueSize: 1, retry: 3 })
      const counter = startCount()
      try {
        for await (const chunk of chunksOf(bytes)) {
          counter.add(chunk)
          writer.write(chunk)
          await answerOf(Promise.resolve(writer.flush()))
        }
        await answerOf(Promise.resolve(writer.end()))
        return counter.result()
      } catch (error) {
        // The client cannot abandon an upload in parts: it is completed, so that it can be removed.
        await answerOf(Promise.resolve(writer.end())).catch(() => {})
        await answerOf(client.delete(nameOf(key))).catch(() => {})
        throw error
      }
    },

    async open(key, range) {
      const object = client.file(nameOf(key))
      await answerOf(object.stat())
      return rangeOf(object, range).stream()
    },

    read: (key) => answerOf(client.file(nameOf(key)).bytes()),

    fileOf: async () => null,

    async remove(key) {
      await answerOf(client.delete(nameOf(key)))
    },
  }
}

function rangeOf(blob: Blob, range: ByteRange | undefined): Blob {
  return range ? blob.slice(range.start, range.end + 1) : blob
}

function bucketStore(): Store {
  const { client, prefix } = openBucket(config.ATTACHMENT_STORE, {
    endpoint: config.S3_ENDPOINT,
    region: config.S3_REGION,
    accessKeyId: config.S3_ACCESS_KEY_ID,
    secretAccessKey: config.S3_SECRET_ACCESS_KEY,
  })
  return s3Store(client, prefix)
}

/** Makes a client. @param place as `s3://bucket/prefix` */
export function openBucket(place: string, access: S3Options): { client: S3Client; prefix: string } {
  const { hostname, pathname } = new URL(place)
  return { client: new S3Client({ bucket: hostname, ...access }), prefix: pathname.replace(/^\/+|\/+$/g, '') }
}

/** Makes the folder of a key, durably. A folder that was there may be in one that this user cannot read. */
async function makeFolder(folder: string): Promise<void> {
  const made = await mkdir(folder, { recursive: true, mode: 0o700 })
  if (!made) return
  const first = path.resolve(made)
  for (let inner = folder; path.resolve(inner).length >= first.length; inner = path.dirname(inner)) {
    await flushFolder(path.dirname(inner))
  }
}

/** Writes bytes to a file and flushes it: by one call what comes in one small piece, as most mail does. */
async function writeBytes(name: string, bytes: Bytes): Promise<Stored> {
  const counter = startCount()
  let handle: FileHandle | undefined
  let first: Uint8Array | undefined
  try {
    for await (const chunk of chunksOf(bytes)) {
      counter.add(chunk)
      // A chunk of mail was joined of smaller ones, which are garbage as well.
      noteMade(2 * chunk.length)
      if (!handle && !first && chunk.length < SMALL_BYTES) {
        first = chunk
        continue
      }
      if (!handle) {
        handle = await inFolderOf(name, () => openToWrite(name))
        if (first) await writeAll(handle, first)
      }
      await writeAll(handle, chunk)
    }
    if (handle) await handle.sync()
    else await inFolderOf(name, () => writePlain(name, first ?? new Uint8Array()))
    return counter.result()
  } finally {
    await handle?.close()
  }
}

/** Makes the folder of a file when it is missing. */
function inFolderOf<T>(name: string, open: () => Promise<T>): Promise<T> {
  return open().catch(async (error) => {
    if (error.code !== 'ENOENT') throw error
    await makeFolder(path.dirname(name))
    return open()
  })
}

/** Writes until all is written: when the disk is nearly full, one call may take less than it was given. */
async function writeAll(handle: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let position = 0; position < chunk.length; ) {
    const { bytesWritten } = await handle.write(chunk, position, chunk.length - position)
    position += bytesWritten
  }
}

/** Flushes that have not begun yet, by folder. */
const waiting = new Map<string, Promise<void>>()
/** The latest flush of each folder, begun or not. */
const last = new Map<string, Promise<void>>()

/**
 * Makes new names in a folder durable: without it a power cut may lose a file although its bytes were flushed. Calls
 * that come while a flush of the folder runs share the next one.
 */
function flushFolder(folder: string): Promise<void> {
  const shared = waiting.get(folder)
  if (shared) return shared
  const flush = (last.get(folder) ?? Promise.resolve())
    .catch(() => {})
    .then(() => {
      waiting.delete(folder)
      return flushNow(folder)
    })
    .finally(() => {
      if (last.get(folder) === flush) last.delete(folder)
    })
  waiting.set(folder, flush)
  last.set(folder, flush)
  return flush
}

async function flushNow(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function* chunksOf(bytes: Bytes): AsyncGenerator<Uint8Array> {
  if (bytes instanceof Uint8Array) yield bytes
  else yield* bytes
}

function startCount() {
  const hash = createHash('sha256')
  let size = 0
  return {
    add(chunk: Uint8Array) {
      hash.update(chunk)
      size += chunk.length
    },
    result: (): Stored => ({ size, digest: hash.digest('hex') }),
  }
}
