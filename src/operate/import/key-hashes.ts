/** Hashes of keys and contents, and the ids of what came into being elsewhere. Pure. */
import { createHash, randomBytes } from 'node:crypto'

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i

/** The hash of text, in the form of a UUID. */
export function hashOf(...texts: string[]): string {
  const hash = createHash('sha256').update(texts.join('\n')).digest('hex')
  return [hash.slice(0, 8), hash.slice(8, 12), hash.slice(12, 16), hash.slice(16, 20), hash.slice(20, 32)].join('-')
}

/**
 * Makes the id of a row that was created elsewhere: ids carry the time of creation, and order by id is order by time.
 * Within a millisecond the order is that of the ids in an export of this service, else that of the lines.
 * @param given_id id of the row there
 */
export function idAt(created_ms: number, given_id: string | undefined, line: number): string {
  const tail = randomBytes(6).toString('hex')
  if (given_id && UUID_V7.test(given_id) && isOfSecond(given_id, created_ms)) {
    return `${given_id.slice(0, 23).toLowerCase()}-${tail}`
  }
  const time = created_ms.toString(16).padStart(12, '0')
  const high = ((line >> 14) & 0xfff).toString(16).padStart(3, '0')
  const low = (0x8000 | (line & 0x3fff)).toString(16)
  return `${time.slice(0, 8)}-${time.slice(8)}-7${high}-${low}-${tail}`
}

/** Exports have whole seconds, and ids the milliseconds. */
function isOfSecond(id: string, created_ms: number): boolean {
  const id_ms = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
  return Math.floor(id_ms / 1000) === Math.floor(created_ms / 1000)
}
