/**
 * The form of an object of a continuous backup: compressed blocks between a head, which names the object, and an end
 * with its size and checksum. Each block and the end have a MAC, whose key comes from SECRET_KEY, the name, and a
 * number that the object has alone. So an object that was cut, changed, exchanged or made by others is found before it
 * is unpacked, also without encryption. Head, end and the notes before blocks are skippable frames of zstd: `zstd -d`
 * alone gives the content.
 *
 * Releases until 0.2 wrote no MAC. `any` takes such objects.
 *
 * A frame with a checksum alone was not enough: the streams of node:zlib end without an error where a file was cut
 * between two frames, and say nothing of its name.
 */
import { createHash, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { zstdCompress, zstdDecompress } from 'node:zlib'
import { keysOf } from '../../base/secrets'
import { BackupError } from '../backup/backup-error'
import { keyFingerprints } from './key-fingerprints'

/** Bytes of content that are compressed at once. */
const BLOCK_BYTES = 1024 * 1024
/** Bytes of content that a block may have, also of another release. */
const BLOCK_MOST = 4 * 1024 * 1024
/** A block that cannot be compressed becomes a little larger. */
const FRAME_MOST = BLOCK_MOST + 65_536
/** Bytes of a head or an end at most. */
const NOTE_MOST = 4096

/** Skippable frames have 16 magic numbers. */
const MAGIC = { head: 0x184d2a50, block: 0x184d2a51, end: 0x184d2a52 } as const

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)

/** Content in pieces of any size. */
export type Content = Uint8Array | AsyncIterable<Uint8Array>

/** Something in the backup is not as it was written. */
export class DamagedBackupError extends BackupError {}

/** An object has no MAC: a release until 0.2 made it, or somebody else. */
export class UnprovenError extends DamagedBackupError {}

/** An object was sealed with a SECRET_KEY that the settings do not name. */
export class OtherKeyError extends DamagedBackupError {}

/** Which objects are read: those with a MAC alone, or also those of releases until 0.2. */
export type Accepted = 'proven' | 'any'

/** Seals content under a name. */
export async function* seal(name: string, content: Content): AsyncGenerator<Uint8Array> {
  const nonce = randomBytes(16)
  const mac = macOf(name, keysOf('backup-proof')[0]!, nonce)
  yield skippable(
    'head',
    Buffer.from(JSON.stringify({ name, key: keyFingerprints()[0], nonce: nonce.toString('hex') })),
  )
  const hash = createHash('sha256')
  let [size, blocks] = [0, 0]
  for await (const block of inBlocks(content)) {
    hash.update(block)
    size += block.length
    const frame = await compress(block)
    const length = Buffer.alloc(4)
    length.writeUInt32LE(frame.length)
    yield Buffer.concat([skippable('block', Buffer.concat([length, mac(`block ${blocks}`, frame)])), frame])
    blocks++
  }
  const sum = { size, sha256: hash.digest('hex') }
  const end = { ...sum, mac: mac(endOf(blocks, sum), Buffer.alloc(0)).toString('hex') }
  yield skippable('end', Buffer.from(JSON.stringify(end)))
}

/** Makes the MACs of one object: of a part, which its label names, and of nothing else. */
type Mac = (label: string, part: Buffer) => Buffer

function macOf(name: string, key: Buffer, nonce: Buffer): Mac {
  const own = Buffer.from(hkdfSync('sha256', key, nonce, name, 32))
  return (label, part) => createHmac('sha256', own).update(`${label}\n`).update(part).digest()
}

function endOf(blocks: number, { size, sha256 }: { size: unknown; sha256: unknown }): string {
  return `end ${blocks} ${size} ${sha256}`
}

/** @returns undefined for an object of a release until 0.2, when it is accepted */
function openMac(name: string, head: Record<string, unknown> | undefined, accepted: Accepted): Mac | undefined {
  const { key, nonce } = head ?? {}
  if (nonce === undefined && key === undefined) {
    if (accepted === 'any') return undefined
    throw new UnprovenError(`${name} has no proof that this service wrote it`)
  }
  const known = keysOf('backup-proof')[keyFingerprints().indexOf(String(key))]
  if (!known) throw new OtherKeyError(`${name} was written with another SECRET_KEY, or changed`)
  return macOf(name, known, Buffer.from(String(nonce), 'hex'))
}

function isSame(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other)
}

/**
 * Gives the content of a sealed object, block by block.
 * @throws DamagedBackupError when it is another object, or not whole; blocks before the fault were given already
 */
export async function* unseal(
  name: string,
  bytes: AsyncIterable<Uint8Array>,
  accepted: Accepted = 'proven',
): AsyncGenerator<Uint8Array> {
  const damaged = (why: string) => new DamagedBackupError(`the backup is damaged: ${name} ${why}`)
  const reader = new Reader(bytes, () => damaged('ends too early'))
  const head = await readNote(reader, damaged)
  const named = parsed(head.data)
  if (head.kind !== 'head' || named?.name !== name) throw damaged('is another object')
  const mac = openMac(name, named, accepted)
  const hash = createHash('sha256')
  let [size, blocks] = [0, 0]
  for (;;) {
    const { kind, data } = await readNote(reader, damaged)
    if (kind === 'end') {
      const end = parsed(data)
      const sum = { size, sha256: hash.digest('hex') }
      if (end?.size !== size || end.sha256 !== sum.sha256) throw damaged('has a wrong checksum')
      const proof = mac?.(endOf(blocks, sum), Buffer.alloc(0))
      if (proof && !isSame(proof, Buffer.from(String(end.mac), 'hex'))) throw damaged('was changed')
      if (!(await reader.isAtEnd())) throw damaged('goes on behind its end')
      return
    }
    if (kind !== 'block' || data.length !== (mac ? 36 : 4)) throw damaged('is no sealed object')
    const length = data.readUInt32LE()
    if (length > FRAME_MOST) throw damaged('has a block that is too large')
    const frame = await reader.take(length)
    if (mac && !isSame(mac(`block ${blocks}`, frame), data.subarray(4))) throw damaged('was changed')
    const block = await decompress(frame, { maxOutputLength: BLOCK_MOST }).catch(() => {
      throw damaged('has a block that cannot be read')
    })
    hash.update(block)
    size += block.length
    blocks++
    yield block
  }
}

async function readNote(
  reader: Reader,
  damaged: (why: string) => Error,
): Promise<{ kind: keyof typeof MAGIC | undefined; data: Buffer }> {
  const header = await reader.take(8)
  const magic = header.readUInt32LE(0)
  const length = header.readUInt32LE(4)
  if (length > NOTE_MOST) throw damaged('is no sealed object')
  const kind = (Object.keys(MAGIC) as (keyof typeof MAGIC)[]).find((each) => MAGIC[each] === magic)
  return { kind, data: await reader.take(length) }
}

function parsed(data: Buffer): Record<string, unknown> | undefined {
  try {
    return Object(JSON.parse(data.toString()))
  } catch {
    return undefined
  }
}

function skippable(kind: keyof typeof MAGIC, data: Buffer): Buffer {
  const header = Buffer.alloc(8)
  header.writeUInt32LE(MAGIC[kind], 0)
  header.writeUInt32LE(data.length, 4)
  return Buffer.concat([header, data])
}

/** Joins and cuts pieces: each block but the last has the full size. */
async function* inBlocks(content: Content): AsyncGenerator<Buffer> {
  let pieces: Uint8Array[] = []
  let size = 0
  const given = content instanceof Uint8Array ? [content] : content
  for await (const piece of given) {
    for (let at = 0; at < piece.length; ) {
      const part = piece.subarray(at, at + BLOCK_BYTES - size)
      pieces.push(part)
      size += part.length
      at += part.length
      if (size < BLOCK_BYTES) continue
      yield Buffer.concat(pieces, size)
      pieces = []
      size = 0
    }
  }
  if (size > 0) yield Buffer.concat(pieces, size)
}

/** Takes exact numbers of bytes from a stream of pieces. */
class Reader {
  readonly #pieces: AsyncIterator<Uint8Array>
  readonly #cut: () => Error
  #held: Uint8Array = new Uint8Array()

  /** @param cut makes the error for a stream that ends too early */
  constructor(bytes: AsyncIterable<Uint8Array>, cut: () => Error) {
    this.#pieces = bytes[Symbol.asyncIterator]()
    this.#cut = cut
  }

  async take(length: number): Promise<Buffer> {
    const taken: Uint8Array[] = []
    for (let left = length; left > 0; ) {
      if (this.#held.length === 0 && !(await this.#next())) throw this.#cut()
      const part = this.#held.subarray(0, left)
      taken.push(part)
      this.#held = this.#held.subarray(part.length)
      left -= part.length
    }
    return Buffer.concat(taken, length)
  }

  async isAtEnd(): Promise<boolean> {
    return this.#held.length === 0 && !(await this.#next())
  }

  async #next(): Promise<boolean> {
    for (;;) {
      const { done, value } = await this.#pieces.next()
      if (done) return false
      if (value.length === 0) continue
      this.#held = value
      return true
    }
  }
}
