/** Makes parts of the pictures that the HTML of a mail holds itself, before anything of it is cut. Pure. */
import { createHash } from 'node:crypto'
import { mayHoldPictures, takePictures } from '../../base/html/image-addresses'
import { pictureName } from '../../base/mime/part-name'
import type { Part } from '../../base/mime/parts'

/** A picture as an attachment of the mail. */
type HeldPart = { filename: string; content_type: string; content: Uint8Array; content_id: string | null }

/** Pictures of a mail that become files. Others stay where they are. */
const MOST_PICTURES = 200

/** Gives the bytes of a part that are read of it: no more than its text may have, unless pictures take the room. */
export function bytesToRead({ content, content_type, content_params }: Part, most_bytes: number): Buffer {
  const start = content.subarray(0, most_bytes)
  if (start.length === content.length || content_type === 'text/plain') return start
  // This charset takes long to decode.
  if (/utf-?7/i.test(content_params.get('charset') ?? '')) return start
  return mayHoldPictures(start.toString('latin1')) ? content : start
}

/**
 * Names the pictures that HTML holds itself as parts of the message.
 * @param pictures of the message, to which these are added; equal ones are one
 */
export function partsOfHeld(html: string, pictures: HeldPart[]): string {
  const known = new Set(pictures.map(({ content_id }) => content_id))
  return takePictures(html, ({ content_type, bytes }) => {
    const content_id = `${createHash('sha256').update(bytes).digest('hex').slice(0, 32)}@picture`
    if (!known.has(content_id)) {
      if (known.size >= MOST_PICTURES) return undefined
      known.add(content_id)
      const filename = pictureName(content_type, known.size)
      pictures.push({ filename, content_type, content: bytes, content_id })
    }
    return `cid:${content_id}`
  })
}
