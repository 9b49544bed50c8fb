/** Settings of the SMTP listener, and what its caller decides for it. */
import type { Readable } from 'node:stream'
import type { Logger } from 'pino'
import type { Network } from '../../base/address/networks'
import type { Envelope, RcptMailbox } from './envelope'
import type { RefusedMail, RefusedRecipient, SmtpRefusalNote } from './refusals'
import type { SmtpRefusal } from './reply'

export type SmtpOptions = SmtpCaller &
  Partial<SmtpLimits> & {
    /** 0 takes a free port. */
    port: number
    host: string
    /** The name in the greeting. */
    hostname: string
    /** Larger messages are refused with 552. */
    max_bytes: number
    /** PEM. STARTTLS is offered only with it. */
    tls?: { key: string; cert: string }
    /** Networks whose connections begin with a PROXY header (version 1 or 2) that names the client. */
    proxies?: Network[]
    /** Networks of the clients that may connect; an empty list lets everybody in. */
    allowed?: Network[]
    /** Networks of relays that may name their client by XCLIENT. No limit of one client holds for them. */
    relays?: Network[]
    log: Pick<Logger, 'debug' | 'warn' | 'error'>
  }

type SmtpCaller = {
  /** Called at MAIL: the reason why no message can be taken now. A rejection is answered 451. */
  refusal?: () => Promise<SmtpRefusal | undefined>
  /** Called at RCPT: the mailbox of an address. The reason why there is none is answered 550, a rejection 451. */
  recipients: (address: string) => Promise<RcptMailbox | RefusedRecipient | null>
  /**
   * Makes the message durable, and only then resolves. `raw` fails when the client leaves or the message grows too
   * large; the part that was written must be dropped. A rejection is answered 451.
   */
  store: (envelope: Envelope, raw: Readable) => Promise<{ queue_id: string }>
  /** Called at the end of each transaction with the reply to MAIL when it was refused there, else to the message. */
  observe?: (reply_code: number, duration_ms: number) => void
  /**
   * Called for each reply of 400 and more, also where the reply could not be sent any more. The message is given where
   * RCPT or DATA was refused.
   */
  refused?: (note: SmtpRefusalNote, mail: RefusedMail | undefined) => void
  /** Called once when the listener has closed. */
  closed?: () => void
}

/** Limits of what clients may take. */
export type SmtpLimits = {
  /** Connections at a time; one more is answered 421. */
  max_clients: number
  /**
   * The same for each remote address, or network of 64 bits of IPv6. Loopback is exempt, because all relays on this
   * host share one address. Proxies are exempt where they name no client, and so are relays.
   */
  max_clients_per_address: number
  /** Refused recipients of one network of 24 bits of IPv4, or 48 of IPv6, that are answered at once. */
  free_guesses: number
  /** Time after which such a network may name one more; until then its answers come late. Relays are exempt. */
  guess_ms: number
  /** Time that a session may last after its last message: ends a sender of one byte a second. */
  session_deadline_ms: number
  /** Time that a client may be silent (RFC 5321, section 4.5.3.2.7, asks for 5 minutes). */
  socket_timeout_ms: number
  /** Time that a proxy may take for its header. */
  proxy_header_ms: number
  /** Commands of a session for each of its messages, refused messages too; one more is answered 421. */
  max_commands: number
  /** Complete messages whose `store` has not resolved; at more, new ones are answered 451. */
  max_storing: number
  /** Time that the lookup of a recipient may take; then it is answered 451. */
  lookup_timeout_ms: number
}

const DEFAULT_LIMITS: SmtpLimits = {
  max_clients: 1000,
  max_clients_per_address: 50,
  free_guesses: 20,
  guess_ms: 1000,
  session_deadline_ms: 600_000,
  socket_timeout_ms: 300_000,
  proxy_header_ms: 5_000,
  max_commands: 1000,
  max_storing: 250,
  lookup_timeout_ms: 30_000,
}

/** The options with every limit. */
export function withLimits(options: SmtpOptions): SmtpOptions & SmtpLimits {
  return { ...DEFAULT_LIMITS, ...options }
}
