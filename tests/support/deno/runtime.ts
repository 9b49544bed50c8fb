/** `base/runtime` without Bun, as far as the HTTP app needs it: in the place of each of its files under Deno. */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import { argon2idAsync } from '@noble/hashes/argon2.js'

declare const Deno: {
  dlopen(file: string, signatures: object): { symbols: Record<string, (...args: unknown[]) => number> }
  UnsafePointer: { of(bytes: ArrayBufferView): unknown }
}

let last = 0n

/** UUIDv7, each after the last one: 48 bits of time, a count that begins at random, and random bits. */
export function newUuid(_encoding = 'hex', time_ms = Date.now()): string {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(time_ms, 0, 6)
  // A version and 11 random bits, so that the count of a millisecond has room.
  bytes.writeUInt16BE(0x7000 | (bytes.readUInt16BE(6) & 0x7ff), 6)
  const count = bytes.readBigUInt64BE(0)
  last = count > last ? count : last + 1n
  bytes.writeBigUInt64BE(last, 0)
  bytes[8] = 0x80 | (bytes[8]! & 0x3f)
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** argon2id in the PHC form. */
export async function hashOf(password: string, memory_kib: number, passes: number): Promise<string> {
  const salt = randomBytes(32)
  const hash = await argon2(password, salt, memory_kib, passes, 32)
  return `$argon2id$v=19$m=${memory_kib},t=${passes},p=1$${plain(salt)}$${plain(hash)}`
}

export async function isHashOf(password: string, known: string): Promise<boolean> {
  const [, memory, passes, salt, hash] = known.match(/^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=1\$([^$]+)\$([^$]+)$/)!
  const wanted = Buffer.from(hash!, 'base64')
  const found = await argon2(password, Buffer.from(salt!, 'base64'), Number(memory), Number(passes), wanted.length)
  return timingSafeEqual(found, wanted)
}

function argon2(password: string, salt: Uint8Array, m: number, t: number, dkLen: number): Promise<Uint8Array> {
  return argon2idAsync(password, salt, { m, t, p: 1, dkLen })
}

/** Base64 without its padding. */
function plain(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64').replace(/=+$/, '')
}

const TYPES: Record<string, string> = { ptr: 'pointer', u64: 'usize' }

export function openLibc(signatures: Record<string, { args: string[]; returns: string }>) {
  const typeOf = (name: string) => TYPES[name] ?? name
  const all = Object.entries(signatures).map(([name, { args, returns }]) => [
    name,
    { parameters: args.map(typeOf), result: typeOf(returns) },
  ])
  return Deno.dlopen('libc.so.6', Object.fromEntries(all)).symbols
}

export function addressOf(bytes: ArrayBufferView): unknown {
  return Deno.UnsafePointer.of(bytes)
}

/** No Bun runs here that could be too old. */
export const bun_version = undefined
export function whyTooOld(): undefined {}

export function collectGarbage(): void {}

export function dropCaches(): void {}

/** Not brought here: colours of HTML, buckets, profiles, and the bundle of the console. */
export const [channelsOf, S3Client, sampleStacks, bundlePage, plugin] = Array(5).fill(() => {
  throw new Error('this is not brought to Deno')
})
