/** The message of a DATA command while it arrives, and its envelope. */
import { type Readable, Transform } from 'node:stream'
import type { SMTPServerDataStream, SMTPServerSession } from 'smtp-server'

/** A mailbox that a message is for. */
export type Recipient = {
  organization_id: string
  mailbox_id: string
  /** The address as the sender's server gave it, with its `+tag`; the domain in Unicode. */
  address: string
}

export type Envelope = {
  /** Empty for the null sender of bounces. */
  sender: string
  /** At least one. */
  recipients: Recipient[]
  remote_address: string
  helo: string
  tls: boolean
  /** Bytes as announced with SIZE (RFC 1870); the message may differ. */
  size?: number
}

/** The message was cut off by its sender or by the size limit. */
export class IncompleteError extends Error {}

/** The library cuts at every dot that it removes: whoever writes the message gets pieces of this size instead. */
const PIECE_BYTES = 65_536

/**
 * The message without dot-stuffing, in the sender's pace. Errors when the client leaves or the message grows too large.
 * When the reader stops, the rest is read and dropped, so that the client gets its reply and the session goes on.
 */
export function readMessage(stream: SMTPServerDataStream): Readable {
  const raw = gather(() => stream.sizeExceeded)
  stream.on('error', () => raw.destroy(new IncompleteError('client left before the end of the message')))
  // Whoever reads `raw` also gets its error; this listener only keeps an unread one from ending the process.
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

/** @param recipients the mailboxes by the addresses that were accepted, in lower case */
export function envelopeOf(session: SMTPServerSession, recipients: Map<string, Recipient>): Envelope {
  const { mailFrom, rcptTo } = session.envelope
  const parameters = mailFrom ? mailFrom.args : false
  const size = parameters ? Number(parameters.SIZE) : Number.NaN
  return {
    sender: mailFrom ? mailFrom.address : '',
    recipients: rcptTo.flatMap(({ address }) => recipients.get(address.toLowerCase()) ?? []),
    remote_address: session.remoteAddress,
    helo: session.hostNameAppearsAs,
    tls: session.secure,
    size: Number.isFinite(size) ? size : undefined,
  }
}
