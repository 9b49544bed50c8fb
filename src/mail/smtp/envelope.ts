/** The envelope of a message: what its SMTP session says of it, besides its bytes. */
import type { SMTPServerSession } from 'smtp-server'

/** A mailbox of ours that a message is for, as its RCPT command named it. */
export type RcptMailbox = {
  organization_id: string
  mailbox_id: string
  /** The address as the sender's server gave it, with its `+tag`; the domain in Unicode. */
  address: string
}

export type Envelope = {
  /** The address of MAIL; empty for the null sender of bounces. */
  sender: string
  /** At least one. */
  recipients: RcptMailbox[]
  /** The IP address that connected; behind a trusted proxy the client that its PROXY header names. */
  remote_address: string
  /** The name that the client gave in HELO or EHLO, in lower case; any text without control characters, at most 300. */
  helo: string
  /** True after STARTTLS. */
  tls: boolean
}

/** @param recipients the mailboxes by the addresses that were accepted */
export function envelopeOf(session: SMTPServerSession, recipients: Map<string, RcptMailbox>): Envelope {
  const { mailFrom } = session.envelope
  return {
    sender: mailFrom ? mailFrom.address : '',
    recipients: [...recipients.values()],
    remote_address: session.remoteAddress,
    helo: session.hostNameAppearsAs,
    tls: session.secure,
  }
}
