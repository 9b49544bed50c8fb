/** The bytes of a message while a DATA command delivers them. */
import { type Readable, Transform } from 'node:stream'
import type { SMTPServerDataStream } from 'smtp-server'

/** The message was cut off by its sender or by the size limit. */
export class IncompleteError extends Error {}

/**
 * The library cuts at every dot that it removes, so a message of dots would be written byte by byte: pieces have this
 * size.
 */
const PIECE_BYTES = 65_536

/**
 * Reads the message without dot-stuffing (RFC 5321, section 4.5.2), at the pace of its sender. The stream fails with
 * IncompleteError when the client leaves or the message grows too large. When its reader stops early, the rest is read
 * and dropped, so that the client gets its reply and the session goes on.
 */
export function readMessage(stream: SMTPServerDataStream): Readable {
  const raw = gather(() => stream.sizeExceeded)
  stream.on('error', () => raw.destroy(new IncompleteError('client left before the end of the message')))
  // The reader of `raw` gets this error too; without a listener here, an unread one would end the process.
  raw.on('error', () => {})
  raw.on('close', () => {
    stream.unpipe(raw)
    stream.resume()
  })
  stream.pipe(raw)
  return raw
}

function gather(isTooLarge: () => boolean): Transform {
  let chunks: Buffer[] = []
  let size = 0
  const take = () => {
    const piece = Buffer.concat(chunks, size)
    chunks = []
    size = 0
    return piece
  }
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (isTooLarge()) return done(new IncompleteError('message too large'))
      chunks.push(chunk)
      size += chunk.length
      if (size < PIECE_BYTES) done()
      else done(null, take())
    },
    flush(done) {
      if (isTooLarge()) done(new IncompleteError('message too large'))
      else done(null, take())
    },
  })
}
