/**
 * Takes the message out of opaque S/MIME (RFC 8551 section 3.5.2): signed data whose content is within the signature.
 *
 * Own code, because asn1js 3.1 refuses more than 10,000 elements, which programs that write in pieces exceed at 10 MB.
 * With a higher limit it takes 17 s for 5 MB in pieces of ten bytes: "a signed message in tiny pieces is read in time"
 * in mail-parse-containers.test.ts. Here only the elements before the content are looked at.
 */

/** One element: its tag, and where its content begins and ends. The end is null where only a mark ends it. */
type Element = { tag: number; start: number; end: number | null }

const SEQUENCE = 0x30
const OBJECT_ID = 0x06
const CONTEXT_0 = 0xa0
const OCTETS = 0x04
const OCTETS_IN_PIECES = 0x24
/** 1.2.840.113549.1.7.2 and .1, as DER writes them. */
const SIGNED_DATA = '2a864886f70d010702'
const DATA = '2a864886f70d010701'
/** Levels of elements without a length that are skipped. */
const MAX_DEPTH = 20

/** Says that the bytes are no such structure. */
class Malformed extends Error {
  override readonly name = 'Malformed'
}

/** Gives the signed content; null when the bytes hold none: they are encrypted, or only a signature. */
export function readSigned(bytes: Buffer): Buffer | null {
  try {
    const info = readElement(bytes, 0, SEQUENCE)
    if (objectId(bytes, info.start) !== SIGNED_DATA) return null
    const signed = readElement(bytes, readElement(bytes, next(bytes, info.start), CONTEXT_0).start, SEQUENCE)
    // Version and digest algorithms come before the content.
    const content = readElement(bytes, next(bytes, next(bytes, signed.start)), SEQUENCE)
    if (objectId(bytes, content.start) !== DATA) return null
    const wrapper = next(bytes, content.start)
    // A signature alone has nothing behind the type.
    if (wrapper === content.end || bytes[wrapper] !== CONTEXT_0) return null
    return octets(bytes, readElement(bytes, wrapper, CONTEXT_0).start)
  } catch (error) {
    if (error instanceof Malformed || error instanceof RangeError) return null
    throw error
  }
}

function readElement(bytes: Buffer, position: number, tag?: number): Element {
  const [found, first] = [bytes[position], bytes[position + 1]]
  if (found === undefined || first === undefined || (tag !== undefined && found !== tag)) throw new Malformed()
  if (first === 0x80) return { tag: found, start: position + 2, end: null }
  const size = first < 0x80 ? 0 : first & 0x7f
  if (size > 6) throw new Malformed()
  const start = position + 2 + size
  const end = start + (size === 0 ? first : bytes.readUIntBE(position + 2, size))
  return { tag: found, start, end }
}

/** The position behind an element. */
function next(bytes: Buffer, position: number, depth = 0): number {
  const { start, end } = readElement(bytes, position)
  if (end !== null) return end
  if (depth > MAX_DEPTH) throw new Malformed()
  let inner = start
  while (!isMark(bytes, inner)) inner = next(bytes, inner, depth + 1)
  return inner + 2
}

/** True at the mark that ends an element without a length. */
function isMark(bytes: Buffer, position: number): boolean {
  return bytes[position] === 0 && bytes[position + 1] === 0
}

function objectId(bytes: Buffer, position: number): string {
  const { start, end } = readElement(bytes, position, OBJECT_ID)
  return bytes.toString('hex', start, end ?? start)
}

/** Reads a string of octets, which may come in pieces. What a cut message still has of it is kept. */
function octets(bytes: Buffer, position: number): Buffer {
  const { tag, start, end } = readElement(bytes, position)
  if (tag === OCTETS && end !== null) return bytes.subarray(start, end)
  if (tag !== OCTETS_IN_PIECES) throw new Malformed()
  const content = Buffer.alloc(bytes.length - start)
  let length = 0
  for (let inner = start; inner < (end ?? bytes.length) && !isMark(bytes, inner); ) {
    const piece = readElement(bytes, inner, OCTETS)
    length += bytes.copy(content, length, piece.start, piece.end ?? piece.start)
    inner = piece.end ?? bytes.length
  }
  return content.subarray(0, length)
}
