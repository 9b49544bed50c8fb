/** Values of a SQL dump: bytes that are collected, and what they mean. */
import { BackupError } from '../backup/backup-error'

/** A value: bytes as they are in the database, or null. */
export type Value = Buffer | null

/** The longest value or statement that is read: files of osTicket come in pieces of 500 KB. */
const MOST_BYTES = 64 * 1024 * 1024

const [BACKSLASH, TAB] = [0x5c, 0x09]

/** Bytes that are collected. */
export class Bytes {
  #open = Buffer.alloc(256)
  #length = 0
  /** Bytes that are no white space. */
  #solid = 0

  add(byte: number): void {
    this.#makeRoom(1)
    this.#open[this.#length++] = byte
    if (byte > 32) this.#solid++
  }

  append(bytes: Uint8Array): void {
    this.#makeRoom(bytes.length)
    this.#open.set(bytes, this.#length)
    this.#length += bytes.length
  }

  #makeRoom(count: number): void {
    const wanted = this.#length + count
    if (wanted > MOST_BYTES) throw tooLong()
    if (wanted <= this.#open.length) return
    const larger = Buffer.alloc(Math.max(wanted, this.#open.length * 2))
    larger.set(this.#open.subarray(0, this.#length))
    this.#open = larger
  }

  /** Takes the last byte back, which is no white space. */
  cutLast(): void {
    this.#length--
    this.#solid--
  }

  isBlank(): boolean {
    return this.#solid === 0
  }

  /** True when nothing but one byte that is no white space has been added. */
  hasOne(): boolean {
    return this.#solid === 1
  }

  text(): string {
    return this.#open.toString('utf8', 0, this.#length)
  }

  tail(): string {
    return this.#open.toString('latin1', Math.max(0, this.#length - 64), this.#length)
  }

  take(): Buffer {
    const taken = Buffer.from(this.#open.subarray(0, this.#length))
    this.clear()
    return taken
  }

  clear(): void {
    this.#length = 0
    this.#solid = 0
  }
}

function tooLong(): BackupError {
  return new BackupError(`the dump has a value or a statement of more than ${MOST_BYTES} bytes`)
}

/** The name of a table or column without quotes and schema. */
export function nameOf(text: string): string {
  return text.trim().replaceAll(/[`"]/g, '').split('.').at(-1)!
}

/** The columns of CREATE TABLE: what begins a line and is no word of a constraint. */
export function columnsIn(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    const name = /^\s*(?:`([^`]+)`|"([^"]+)"|([a-z_]\w*))\s/i.exec(line)
    const plain = name?.[3]
    if (!name || (plain && /^(primary|unique|key|constraint|index|fulltext|foreign|check)$/i.test(plain))) return []
    return [name[1] ?? name[2] ?? plain!]
  })
}

export function bareValue(text: string): Value {
  if (/^null$/i.test(text)) return null
  if (/^0x[0-9a-f]*$/i.test(text)) return Buffer.from(text.slice(2), 'hex')
  return Buffer.from(text)
}

const ESCAPES: Record<string, number> = { n: 10, r: 13, t: 9, 0: 0, b: 8, Z: 26, f: 12, v: 11 }

export function unescaped(byte: number): number {
  return ESCAPES[String.fromCharCode(byte)] ?? byte
}

/** The values of a line of COPY. */
export function copyValues(line: Buffer): Value[] {
  const values: Value[] = []
  for (let from = 0; from <= line.length; ) {
    const found = line.indexOf(TAB, from)
    const end = found < 0 ? line.length : found
    values.push(copyValue(line.subarray(from, end)))
    from = end + 1
  }
  return values
}

function copyValue(bytes: Buffer): Value {
  if (bytes.length === 2 && bytes[0] === BACKSLASH && bytes[1] === 0x4e) return null
  if (!bytes.includes(BACKSLASH)) return bytes
  const out = Buffer.alloc(bytes.length)
  let length = 0
  for (let at = 0; at < bytes.length; at++) {
    out[length++] = bytes[at] === BACKSLASH ? unescaped(bytes[++at]!) : bytes[at]!
  }
  const value = out.subarray(0, length)
  return isHex(value) ? Buffer.from(value.toString('latin1', 2), 'hex') : value
}

/** Bytes as PostgreSQL writes them. */
export function isHex(value: Buffer): boolean {
  const is_marked = value[0] === BACKSLASH && value[1] === 0x78 && value.length % 2 === 0
  return (
    is_marked && value.subarray(2).every((byte) => (byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x66))
  )
}
