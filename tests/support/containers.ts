/** Builds containers of messages: TNEF streams (`winmail.dat`) and signed data of S/MIME. */

/** A MAPI property: id, type and the bytes of its value. */
export type Property = [id: number, type: number, value: Buffer]

type Attribute = [id: number, data: Buffer]

const LEVEL_OF_MESSAGE = 1
const LEVEL_OF_FILE = 2

export function tnef(attributes: Attribute[]): Buffer {
  const head = Buffer.alloc(6)
  head.writeUInt32LE(0x223e9f78)
  const parts = attributes.map(([id, data]) => {
    const before = Buffer.alloc(9)
    before[0] = [0x8010, 0x800f, 0x9002, 0x9005].includes(id) ? LEVEL_OF_FILE : LEVEL_OF_MESSAGE
    before.writeUInt32LE(id, 1)
    before.writeUInt32LE(data.length, 5)
    const after = Buffer.alloc(2)
    after.writeUInt16LE(data.reduce((sum, byte) => (sum + byte) & 0xffff, 0))
    return Buffer.concat([before, data, after])
  })
  return Buffer.concat([head, ...parts])
}

/** A file by the attributes of old programs. */
export function oldFile(title: string, data: Buffer): Attribute[] {
  return [
    [0x9002, Buffer.alloc(14)],
    [0x8010, Buffer.from(`${title}\0`, 'latin1')],
    [0x800f, data],
  ]
}

/** A file whose name is in properties. */
export function newFile(title: string, data: Buffer, ...more: Property[]): Attribute[] {
  return [
    [0x9002, Buffer.alloc(14)],
    [0x800f, data],
    [0x9005, properties([[0x3707, 0x1f, utf16(title)], ...more])],
  ]
}

export function properties(list: Property[]): Buffer {
  return Buffer.concat([number(list.length), ...list.map(([id, type, value]) => propertyOf(id, type, value))])
}

/** The name that stands before the value of a property with an id from 0x8000. */
const NAME = Buffer.concat([Buffer.alloc(16, 7), number(1), number(6), utf16('ab'), Buffer.alloc(2)])

function propertyOf(id: number, type: number, value: Buffer): Buffer {
  const head = Buffer.alloc(4)
  head.writeUInt16LE(type)
  head.writeUInt16LE(id, 2)
  const padding = Buffer.alloc((4 - (value.length % 4)) % 4)
  const has_length = [0x1e, 0x1f, 0x0d, 0x102].includes(type)
  const counted = has_length ? [number(1), number(value.length)] : []
  return Buffer.concat([head, ...(id >= 0x8000 ? [NAME] : []), ...counted, value, padding])
}

export function utf16(text: string): Buffer {
  return Buffer.from(`${text}\0`, 'utf16le')
}

export function number(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

const OID_SIGNED = Buffer.from('06092a864886f70d010702', 'hex')
const OID_DATA = Buffer.from('06092a864886f70d010701', 'hex')

/** An element of DER; with `length: 'none'` one of BER, which a mark ends. */
export function element(tag: number, content: Buffer, length: 'known' | 'none' = 'known'): Buffer {
  if (length === 'none') return Buffer.concat([Buffer.from([tag, 0x80]), content, Buffer.alloc(2)])
  const size = Buffer.alloc(5)
  size[0] = 0x84
  size.writeUInt32BE(content.length, 1)
  return Buffer.concat([Buffer.from([tag]), content.length < 0x80 ? Buffer.from([content.length]) : size, content])
}

/**
 * Signed data around a content, without certificates.
 * @param octets the element with the content; the signature is not valid
 */
export function signed(octets: Buffer, length: 'known' | 'none' = 'known'): Buffer {
  const version = element(0x02, Buffer.from([1]))
  const digests = element(0x31, element(0x30, Buffer.from('0609608648016503040201', 'hex')))
  const content = element(0x30, Buffer.concat([OID_DATA, element(0xa0, octets, length)]), length)
  const signer = element(0x31, element(0x30, Buffer.alloc(64, 1)))
  const data = element(0x30, Buffer.concat([version, digests, content, signer]), length)
  return element(0x30, Buffer.concat([OID_SIGNED, element(0xa0, data, length)]), length)
}

/** A string of octets in pieces, as programs write it that do not know the length before. */
export function inPieces(content: Buffer, size: number): Buffer {
  const pieces: Buffer[] = []
  for (let start = 0; start < content.length; start += size) {
    pieces.push(element(0x04, content.subarray(start, start + size)))
  }
  return element(0x24, Buffer.concat(pieces), 'none')
}
