/**
 * Opens files that others may have put in place, such as those of a backup: no symbolic link is followed, and what is
 * not a file (a device, a pipe, a socket) counts as missing. A hard link is the file itself.
 */
import { constants } from 'node:fs'
import { type FileHandle, lstat, open, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'

const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_TRUNC, O_WRONLY } = constants

/** Bytes that are read at once. */
const CHUNK_BYTES = 256 * 1024

/**
 * The name of a file below a folder, which may itself be a link: that is the choice of the operator.
 * @throws ELOOP when a folder on the way from there is a link or no folder. One that is missing is no fault.
 */
export async function placeBelow(root: string, name: string): Promise<string> {
  const folders = name.split('/').slice(0, -1)
  for (const [index] of folders.entries()) {
    const folder = path.join(root, ...folders.slice(0, index + 1))
    const found = await lstat(folder).catch(unlessMissing)
    if (found && !found.isDirectory()) {
      throw Object.assign(new Error(`ELOOP: ${folder} is a link or no folder`), { code: 'ELOOP', path: folder })
    }
  }
  return path.join(root, name)
}

/** Without O_NONBLOCK, opening a pipe waits for somebody who writes to it. */
const TO_READ = O_RDONLY | O_NOFOLLOW | O_NONBLOCK

/** Opens a file for reading. @throws ENOENT also for what is no plain file */
export async function openPlain(file: string): Promise<FileHandle> {
  const handle = await open(file, TO_READ).catch((error) => {
    throw ['ELOOP', 'EMLINK', 'ENXIO'].includes(error.code) ? noPlainFile(file) : error
  })
  if ((await handle.stat()).isFile()) return handle
  await handle.close()
  throw noPlainFile(file)
}

/** Reads a whole file, by two calls of the system's threads. @throws ENOENT also for what is no plain file */
export async function readPlain(file: string): Promise<Uint8Array> {
  if (!(await lstat(file)).isFile()) throw noPlainFile(file)
  return readFile(file, { flag: TO_READ })
}

const TO_WRITE = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK

/** Opens a file for writing from its beginning; makes it when there is none. @throws ELOOP, ENXIO for no plain file */
export function openToWrite(file: string): Promise<FileHandle> {
  return open(file, TO_WRITE, 0o600)
}

/** Writes a whole file and flushes it, by one call of the system's threads. @throws as `openToWrite` does */
export function writePlain(file: string, bytes: Uint8Array): Promise<void> {
  return writeFile(file, bytes, { flag: TO_WRITE, mode: 0o600, flush: true })
}

/**
 * Reads a plain file in pieces. `createReadStream` of Bun makes the name absolute, and this OS user may have no right
 * to the folders above.
 * @throws as `placeBelow` and `openPlain` do
 */
export async function* bytesBelow(root: string, name: string): AsyncGenerator<Uint8Array> {
  const handle = await openPlain(await placeBelow(root, name))
  try {
    for (;;) {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES)
      if (bytesRead === 0) return
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await handle.close()
  }
}

function noPlainFile(file: string): Error {
  return Object.assign(new Error(`ENOENT: ${file} is no plain file`), { code: 'ENOENT', path: file })
}

function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
