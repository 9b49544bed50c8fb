/** Reads and writes the files of a PostgreSQL data directory as tar archives of a limited size. */
import { once } from 'node:events'
import fs from 'node:fs'
import { lstat, mkdir, open, readdir } from 'node:fs/promises'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import tar from 'tar-stream'
import { isErrno } from '../../base/db/embedded/faults'
import { bytesBelow } from '../../base/disk/plain-file'
import { DamagedBackupError } from './sealed'

type DataFile = { name: string; size: number; type: 'file' | 'directory' }

/** Bytes of files in one archive. A larger file has one of its own: PostgreSQL has none over 1 GiB. */
const PART_BYTES = 128 * 1024 * 1024

/**
 * A copy has data, and nothing that says what the server does. Configuration, the rules who gets in, notes for a
 * recovery and links to other disks are neither copied nor unpacked: a server must not obey a backup.
 */
const KEPT = new Set(
  'PG_VERSION base global pg_commit_ts pg_logical pg_multixact pg_stat pg_twophase pg_xact'.split(' '),
)
/** Only the folder is kept of these, without what is in it. */
const EMPTIED = new Set(
  'pg_wal pg_replslot pg_dynshmem pg_notify pg_serial pg_snapshots pg_stat_tmp pg_subtrans pg_tblspc'.split(' '),
)

/** The file of a copy, or a folder of it. */
function isKept(name: string): boolean {
  const [first, ...rest] = name.split('/')
  return KEPT.has(first!) || (EMPTIED.has(first!) && rest.every((part) => part === ''))
}

/** As `initdb` writes it. The start names all else. */
const CONFIGURATION = `datestyle = 'iso, mdy'
default_text_search_config = 'pg_catalog.english'
lc_messages = 'C'
lc_monetary = 'C'
lc_numeric = 'C'
lc_time = 'C'
`

/** Writes the configuration of a server whose data was unpacked. `prepareAccess` writes who gets in. */
export function writeConfiguration(root: string): void {
  const files = { 'postgresql.conf': CONFIGURATION, 'postgresql.auto.conf': '', 'pg_hba.conf': '', 'pg_ident.conf': '' }
  for (const [name, text] of Object.entries(files)) {
    fs.writeFileSync(path.join(root, name), text, { mode: 0o600, flag: 'wx' })
  }
}
/** Is copied last: it says from where the server recovers. */
const CONTROL = 'global/pg_control'

/** Lists what a copy of the data directory has, in archives. */
export async function partsOf(root: string): Promise<DataFile[][]> {
  const found: DataFile[] = []
  for await (const file of filesBelow(root, '')) found.push(file)
  const control = found.filter(({ name }) => name === CONTROL)
  const parts: DataFile[][] = [[]]
  let size = 0
  for (const file of [...found.filter(({ name }) => name !== CONTROL), ...control]) {
    if (size + file.size > PART_BYTES && parts.at(-1)!.length > 0) {
      parts.push([])
      size = 0
    }
    parts.at(-1)!.push(file)
    size += file.size
  }
  return parts
}

async function* filesBelow(root: string, folder: string): AsyncGenerator<DataFile> {
  for (const entry of await readdir(path.join(root, folder), { withFileTypes: true })) {
    const name = folder ? `${folder}/${entry.name}` : entry.name
    if (!isKept(name) || entry.name.startsWith('pgsql_tmp') || entry.name === 'pg_internal.init') continue
    if (entry.isDirectory()) {
      yield { name, size: 0, type: 'directory' }
      if (!EMPTIED.has(name)) yield* filesBelow(root, name)
    } else if (entry.isFile()) {
      // A table may be dropped while the database is copied.
      const { size } = await lstat(path.join(root, name)).catch(unlessMissing)
      if (size !== undefined) yield { name, size, type: 'file' }
    }
  }
}

function unlessMissing(error: unknown): { size: undefined } {
  if (isErrno(error, 'ENOENT')) return { size: undefined }
  throw error
}

/** Makes an archive. @param pace is awaited with the bytes of each piece that was read */
export async function* archiveOf(
  root: string,
  files: DataFile[],
  pace: (bytes: number) => Promise<void>,
): AsyncGenerator<Uint8Array> {
  const pack = tar.pack()
  const abandoned = new AbortController()
  const filling = fill(pack, root, files, pace, abandoned.signal).catch((error) => pack.destroy(error))
  try {
    for await (const piece of pack) yield piece as Uint8Array
  } finally {
    abandoned.abort()
    pack.destroy(null)
    await filling
  }
}

async function fill(
  pack: tar.Pack,
  root: string,
  files: DataFile[],
  pace: (bytes: number) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  for (const { name, size, type } of files) {
    const { promise: added, resolve, reject } = Promise.withResolvers<void>()
    const mode = type === 'file' ? 0o600 : 0o700
    const done = (error?: Error | null) => (error ? reject(error) : resolve())
    const entry = pack.entry({ name, size, type, mode, mtime: new Date(0) }, done)
    if (type === 'file') {
      for await (const piece of contentOf(root, name, size)) {
        await pace(piece.length)
        if (!entry.write(piece)) await once(entry, 'drain', { signal })
      }
      entry.end(null)
    }
    await added
  }
  pack.finalize()
}

/** Exactly so many bytes of a file that grows or shrinks meanwhile: the log mends what is wrong in them. */
async function* contentOf(root: string, name: string, size: number): AsyncGenerator<Uint8Array> {
  if (name === CONTROL) return yield await wholeControl(root, size)
  let left = size
  try {
    for await (const piece of bytesBelow(root, name)) {
      const part = piece.subarray(0, left)
      if (part.length > 0) yield part
      left -= part.length
      if (left === 0) return
    }
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
  }
  for (; left > 0; left -= Math.min(left, ZEROS.length)) yield ZEROS.subarray(0, left)
}

const ZEROS = new Uint8Array(65_536)

/** Reads the file until two reads agree: the server writes all of it at once, and a read may see the half of that. */
async function wholeControl(root: string, size: number): Promise<Uint8Array> {
  const read = () => fs.readFileSync(path.join(root, CONTROL)).subarray(0, size)
  for (let before = read(); ; ) {
    const now = read()
    if (now.equals(before)) return now
    before = now
  }
}

/** Unpacks an archive of `archiveOf` below a folder. @throws DamagedBackupError for a name that leads elsewhere */
export async function unpackArchive(archive: AsyncIterable<Uint8Array>, root: string): Promise<void> {
  const extract = tar.extract()
  const reading = pipeline(Readable.from(archive), extract as unknown as NodeJS.WritableStream)
  const unpacking = (async () => {
    for await (const entry of extract) {
      const { name, type } = entry.header
      // PostgreSQL names its files with these characters alone.
      if (!/^[A-Za-z0-9_.-]+(\/[A-Za-z0-9_.-]+)*\/?$/.test(name) || /(^|\/)\.\.?(\/|$)/.test(name)) {
        throw new DamagedBackupError('the backup is damaged: a copy of the database names a file that none has')
      }
      if (type !== 'directory' && type !== 'file') {
        throw new DamagedBackupError('the backup is damaged: a copy of the database holds a link')
      }
      const file = path.join(root, name)
      // Releases until 0.2 copied the configuration, too.
      if (isKept(name)) {
        if (type === 'directory') await mkdir(file, { recursive: true, mode: 0o700 })
        else await writeNew(file, entry as AsyncIterable<Uint8Array>)
      }
      entry.resume()
    }
  })()
  await Promise.all([
    reading,
    unpacking.catch((error) => {
      extract.destroy(error)
      throw error
    }),
  ])
}

async function writeNew(file: string, content: AsyncIterable<Uint8Array>): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 })
  const handle = await open(file, 'wx', 0o600)
  try {
    for await (const piece of content) {
      for (let at = 0; at < piece.length; ) at += (await handle.write(piece, at, piece.length - at)).bytesWritten
    }
  } finally {
    await handle.close()
  }
}
