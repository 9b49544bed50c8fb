/** Values of a SQL dump: bytes that are collected, and what they mean. */
import { BackupError } from '../backup/backup-error'

/** A value: bytes as they are in the database, or null. */
export type Value = Buffer | null

/** The longest value or statement that is read: files of osTicket come in pieces of 500 KB. */
const MOST_BYTES = 64 * 1024 * 1024

const [BACKSLASH, TAB] = [0x5c, 0x09]

/** Bytes that are collected. */
export class Bytes {
  #pieces: Uint8Array[] = []
  #open = Buffer.alloc(256)
  #length = 0
  #size = 0
  #is_blank = true

  add(byte: number): void {
    if (byte > 32) this.#is_blank = false
    if (this.#length === this.#open.length) this.#open = Buffer.concat([this.#open, Buffer.alloc(this.#open.length)])
    this.#open[this.#length++] = byte
    if (this.#length > MOST_BYTES) throw tooLong()
  }

  append(bytes: Uint8Array): void {
    this.#pieces.push(bytes)
    this.#size += bytes.length
    if (this.#size > MOST_BYTES) throw tooLong()
  }

  cut(count: number): void {
    this.#length -= count
    this.#is_blank = this.text().trim() === ''
  }

  isBlank(): boolean {
    return this.#is_blank
  }

  text(): string {
    return this.#open.toString('utf8', 0, this.#length)
  }

  tail(): string {
    return this.#open.toString('latin1', Math.max(0, this.#length - 64), this.#length)
  }

  take(): Buffer {
    const taken = Buffer.concat(this.#pieces)
    this.clear()
    return taken
  }

  clear(): void {
    this.#pieces = []
    this.#size = 0
    this.#length = 0
    this.#is_blank = true
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
  return value[0] === BACKSLASH && value[1] === 0x78 && /^\\x(?:[0-9a-f]{2})*$/.test(value.toString('latin1'))
}
