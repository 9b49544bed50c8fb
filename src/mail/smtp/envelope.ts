/** The envelope of a message: what its SMTP session says of it, besides its bytes. */
import type { SMTPServerSession } from 'smtp-server'

/** A mailbox of ours that a message is for, as its RCPT command named it. */
export type RcptMailbox = {
  organization_id: string
  mailbox_id: string
  /** Its own address. */
  mailbox_address: string
  /** The address as the sender's server gave it, with its `+tag`; the domain in Unicode. */
  address: string
}

export type Envelope = {
  /** The address of MAIL; empty for the null sender of bounces; null when an inlet was not told it. */
  sender: string | null
  /** At least one. */
  recipients: RcptMailbox[]
  /**
   * The IP address that connected, or the client that a trusted proxy (PROXY header) or relay (XCLIENT) names; null
   * when an inlet was not told it.
   */
  remote_address: string | null
  /** The trusted relay that connected, when it named that client by XCLIENT; else null. */
  relay_address: string | null
  /** The name that the client gave in HELO or EHLO, in lower case: any text without control characters, at most 300. */
  helo: string | null
  /** True after STARTTLS, or over HTTPS. */
  tls: boolean
}

/** Reads what a relay said of its client by XCLIENT (https://www.postfix.org/XCLIENT_README.html). */
function namedClient({ xClient }: SMTPServerSession): { relay_address: string | null; helo: string | undefined } {
  const text = (key: string) => {
    const value = xClient?.get(key)
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  return { relay_address: text('ADDR') ? (text('ADDR:DEFAULT') ?? null) : null, helo: text('HELO') }
}

/** @param recipients the mailboxes by the addresses that were accepted */
export function envelopeOf(session: SMTPServerSession, recipients: Map<string, RcptMailbox>): Envelope {
  const { mailFrom } = session.envelope
  const { relay_address, helo } = namedClient(session)
  return {
    sender: mailFrom ? mailFrom.address : '',
    recipients: [...recipients.values()],
    remote_address: session.remoteAddress,
    relay_address,
    helo: helo ?? session.hostNameAppearsAs,
    tls: session.secure,
  }
}
