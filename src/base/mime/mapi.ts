/** Reads the MAPI properties of a TNEF attribute ([MS-OXTNEF] section 2.1.3.4). */

/** A property by its id: the bytes of its first value, and its type. */
export type Properties = Map<number, { type: number; value: Buffer }>

const SEVERAL = 0x1000
const STRING_8 = 0x1e
const UNICODE = 0x1f
const OBJECT = 0x0d
const BINARY = 0x102
const WITH_LENGTH = [STRING_8, UNICODE, OBJECT, BINARY]
/** Bytes of a value, by its type; all others have four. */
const SIZES: Record<number, number> = { 5: 8, 6: 8, 7: 8, 20: 8, 64: 8, 72: 16 }
/** Ids from here on have a name before their value. */
const FIRST_NAMED = 0x8000
const GUID_BYTES = 16
/** Outlook writes some hundred. */
const MAX_PROPERTIES = 10_000

/** Reads properties up to the first one that is damaged. Properties with a name of their own are skipped. */
export function readProperties(data: Buffer): Properties {
  const found: Properties = new Map()
  const cursor = { data, position: 0 }
  try {
    const count = Math.min(takeNumber(cursor), MAX_PROPERTIES)
    for (let index = 0; index < count; index += 1) {
      const [type, id] = [data.readUInt16LE(cursor.position), data.readUInt16LE(cursor.position + 2)]
      cursor.position += 4
      if (id >= FIRST_NAMED) skipName(cursor)
      const value = takeValues(cursor, type)
      if (id < FIRST_NAMED) found.set(id, { type: type & ~SEVERAL, value })
    }
  } catch (error) {
    // The data ends within a property.
    if (!(error instanceof RangeError)) throw error
  }
  return found
}

/** The text of a property; null when it is missing or is no text. */
export function textOf(properties: Properties, id: number, decode: (bytes: Buffer) => string): string | null {
  const found = properties.get(id)
  if (found?.type === UNICODE) return untilNul(found.value.toString('utf16le'))
  return found?.type === STRING_8 ? untilNul(decode(found.value)) : null
}

export function bytesOf(properties: Properties, id: number): Buffer | null {
  return properties.get(id)?.value ?? null
}

export function numberOf(properties: Properties, id: number): number | null {
  const value = properties.get(id)?.value
  return value && value.length >= 4 ? value.readUInt32LE(0) : null
}

/** Texts end with a NUL, which does not belong to them. */
export function untilNul(text: string): string {
  const end = text.indexOf('\0')
  return end < 0 ? text : text.slice(0, end)
}

type Cursor = { data: Buffer; position: number }

function takeNumber(cursor: Cursor): number {
  const value = cursor.data.readUInt32LE(cursor.position)
  cursor.position += 4
  return value
}

/** Takes the values of a property and gives the first one. */
function takeValues(cursor: Cursor, type: number): Buffer {
  const kind = type & ~SEVERAL
  const has_count = type !== kind || WITH_LENGTH.includes(kind)
  const count = has_count ? takeNumber(cursor) : 1
  let first: Buffer = Buffer.alloc(0)
  for (let index = 0; index < count; index += 1) {
    const size = WITH_LENGTH.includes(kind) ? takeNumber(cursor) : (SIZES[kind] ?? 4)
    const value = cursor.data.subarray(cursor.position, cursor.position + size)
    if (index === 0) first = value
    cursor.position += padded(size)
    if (cursor.position > cursor.data.length) break
  }
  return first
}

/** Skips the name: a set of names, and a number or a text in it. */
function skipName(cursor: Cursor): void {
  cursor.position += GUID_BYTES
  const is_text = takeNumber(cursor) === 1
  const size = takeNumber(cursor)
  if (is_text) cursor.position += padded(size)
}

function padded(size: number): number {
  return Math.ceil(size / 4) * 4
}
