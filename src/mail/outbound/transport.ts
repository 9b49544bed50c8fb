/**
 * Mail out, second half: a message to a mailbox's own SMTP server. Connections go only to addresses that
 * `resolveDestination` allowed, certificates are verified, and connections are kept for a moment and used again.
 */
import { createHash } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { getCACertificates } from 'node:tls'
import { LRUCache } from 'lru-cache'
import { createTransport } from 'nodemailer'
import MimeNode from 'nodemailer/lib/mime-node'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import type { Network } from '../../config'
import { resolveDestination } from '../../net/destination'
import { isMessageId, type OutgoingMail } from './compose'
import { type Refusal, refusal, refusalsOf, sendError } from './send-error'

export type MailboxSmtp = {
  host: string
  port: number
  /** `none` never encrypts, `starttls` insists on it, `tls` starts with it. */
  security: 'none' | 'starttls' | 'tls'
  username?: string | null
  password?: string | null
}

export type SendOptions = {
  /** Networks that may be reached although not public. */
  allowed: Network[]
  /** PEM of an authority trusted besides those of the system. */
  ca?: string
  /** The name this host greets with. */
  hostname?: string
  timeouts?: Partial<SmtpTimeouts>
}

export type SmtpTimeouts = {
  /** Lookup, connection and, with `tls`, the handshake. */
  connect_ms: number
  greeting_ms: number
  /** Silence of the server, also while it decides on the message. */
  silence_ms: number
}

/** Each recipient of the message is in one of the two lists, spelled as it was given. */
export type SendResult = {
  accepted: string[]
  rejected: Refusal[]
  /** The server's last answer. */
  response: string
  /** The Message-ID that the server put in place of ours (SES, Microsoft 365), without angle brackets. */
  server_message_id?: string
}

/**
 * A reply to the end of DATA may take minutes (RFC 5321 section 4.5.3.2), and giving up on it sends the message twice.
 * Not the ten that the RFC grants: an attempt that long counts as lost (`outbox/worker.ts`).
 */
const TIMEOUTS: SmtpTimeouts = { connect_ms: 10_000, greeting_ms: 30_000, silence_ms: 300_000 }
/** Below the time after which servers hang up. */
const IDLE_MS = 30_000
/** Providers refuse more from one account. */
const CONNECTIONS_PER_MAILBOX = 4

/** Mailboxes with connections kept. Changed settings are another entry, and the old one goes in time. */
const TRANSPORTS_MAX = 500

type Transport = ReturnType<typeof openTransport>

const transports = new LRUCache<string, Transport>({
  max: TRANSPORTS_MAX,
  dispose: (transport) => transport.close(),
})

/**
 * Sends one message. A refused recipient does not stop the others: it is in `rejected`, as are all of them when the
 * server takes none.
 * @throws SendError when the message could not be handed over at all
 */
export async function sendMail(smtp: MailboxSmtp, mail: OutgoingMail, options: SendOptions): Promise<SendResult> {
  const invalid = mail.invalid.map((address) => refusal(address, 553, '553 5.1.3 Not an email address'))
  if (mail.recipients.length === 0) return { accepted: [], rejected: invalid, response: '' }
  try {
    if (mail.needs_utf8 && !(await announcesUtf8(smtp, options))) return refusedByAll(mail, invalid)
    const info = await transportFor(smtp, options).sendMail(mail.message)
    const { response, serverMessageId } = info
    const rejected = refusedOf(info, mail, smtp)
    return {
      // The server has the message for every recipient that it did not refuse: these must not get a second one.
      accepted: mail.recipients.filter((one) => !rejected.some(({ address }) => address === one)),
      rejected: [...invalid, ...rejected],
      response,
      server_message_id: messageIdOf(serverMessageId),
    }
  } catch (error) {
    const rejected = error instanceof Error ? refusedOf(error, mail, smtp) : []
    if (rejected.length < mail.recipients.length) throw sendError(error, smtp)
    return { accepted: [], rejected: [...invalid, ...rejected], response: rejected.at(-1)?.response ?? '' }
  }
}

/**
 * Connects to a mailbox's server and, with a user name, signs in, also where the server does not ask for it. Sends
 * nothing and never rejects.
 */
export async function testMailbox(
  smtp: MailboxSmtp,
  options: SendOptions,
): Promise<{ ok: boolean; error: string | null; response_time_ms: number }> {
  const started = performance.now()
  const transport = openTransport(smtp, options, { forceAuth: true })
  const error = await transport.verify().then(
    () => null,
    (error) => sendError(error, smtp).message,
  )
  transport.close()
  return { ok: error === null, error, response_time_ms: Math.round(performance.now() - started) }
}

/** The recipients that the server refused. @param outcome what the library answers, or its error */
function refusedOf(outcome: object, { recipients }: OutgoingMail, smtp: MailboxSmtp): Refusal[] {
  const refusals = new Map(refusalsOf(outcome, smtp).map((one) => [one.address, one]))
  if (refusals.size === 0) return []
  return recipients.flatMap((address) => {
    const refused = refusals.get(envelopeAddress(address))
    return refused ? [{ ...refused, address }] : []
  })
}

/** An address as the library writes it into RCPT: a local part in quotes that needs them, the domain as Punycode. */
function envelopeAddress(address: string): string {
  const { to } = new MimeNode(false).setEnvelope({ to: [{ name: '', address }] }).getEnvelope()
  return to[0] ?? address
}

/** The id in a reply, when it is one: a reply may hold any text. */
function messageIdOf(text = ''): string | undefined {
  const id = text.replace(/^<|>$/g, '')
  return isMessageId(id) ? id : undefined
}

/** Closes idle connections, and the others after their message. For the end of the process. */
export function closeTransports() {
  transports.clear()
}

function transportFor(smtp: MailboxSmtp, options: SendOptions): Transport {
  const { allowed, ca, hostname, timeouts } = options
  const settings = [smtp, allowed.map(String), ca, hostname, timeouts]
  const key = createHash('sha256').update(JSON.stringify(settings)).digest('hex')
  const transport = transports.get(key) ?? openTransport(smtp, options)
  transports.set(key, transport)
  return transport
}

function openTransport(smtp: MailboxSmtp, options: SendOptions, more: { forceAuth?: boolean } = {}) {
  const { allowed, timeouts } = options
  const { connect_ms } = { ...TIMEOUTS, ...timeouts }
  return createTransport({
    ...connectionOptions(smtp, options),
    ...more,
    pool: true,
    auth: smtp.username ? { user: smtp.username, pass: smtp.password ?? '' } : undefined,
    maxConnections: CONNECTIONS_PER_MAILBOX,
    // Each kept connection may turn out to be closed when it is used again; nothing was sent then.
    maxRequeues: CONNECTIONS_PER_MAILBOX,
    idleTimeout: IDLE_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
    // The library still knows the server by its name, for the certificate.
    getSocket(_options: unknown, callback: (error: Error | null, socket?: { connection: Socket }) => void) {
      openSocket(smtp, allowed, connect_ms).then(
        (connection) => callback(null, { connection }),
        (error) => callback(error),
      )
    },
  })
}

function connectionOptions({ host, port, security }: MailboxSmtp, { hostname, ca, timeouts }: SendOptions) {
  const { connect_ms, greeting_ms, silence_ms } = { ...TIMEOUTS, ...timeouts }
  return {
    name: hostname,
    host,
    port,
    secure: security === 'tls',
    requireTLS: security === 'starttls',
    ignoreTLS: security === 'none',
    // `ca` replaces the authorities that are trusted without it.
    tls: ca ? { ca: [...getCACertificates('default'), ca] } : {},
    connectionTimeout: connect_ms,
    greetingTimeout: greeting_ms,
    socketTimeout: silence_ms,
  }
}

/** Asks on a separate connection: the library sends international addresses to any server. @throws like connecting */
async function announcesUtf8(smtp: MailboxSmtp, options: SendOptions): Promise<boolean> {
  const { connect_ms } = { ...TIMEOUTS, ...options.timeouts }
  const socket = await openSocket(smtp, options.allowed, connect_ms)
  const connection = new SMTPConnection({ ...connectionOptions(smtp, options), connection: socket })
  await new Promise<void>((resolve, reject) => {
    connection.once('error', reject)
    connection.once('end', () => reject(new Error('connection closed')))
    connection.connect((error) => (error ? reject(error) : resolve()))
  }).finally(() => connection.close())
  return /^250[ -]SMTPUTF8\b/im.test(connection.lastServerResponse || '')
}

/** Resolves the host once and dials what was found, in order. */
async function openSocket({ host, port }: MailboxSmtp, allowed: Network[], timeout_ms: number): Promise<Socket> {
  const deadline = performance.now() + timeout_ms
  let last: unknown
  for (const address of await resolveDestination(host, { allowed, timeout_ms })) {
    const left_ms = deadline - performance.now()
    if (left_ms <= 0) break
    try {
      return await dial(address, port, left_ms)
    } catch (error) {
      last = error
    }
  }
  throw last ?? new Error('connection timed out')
}

function dial(host: string, port: number, timeout_ms: number): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const socket = connect({ host, port })
  const timer = setTimeout(() => socket.destroy(new Error('connection timed out')), timeout_ms)
  socket.once('connect', () => {
    socket.off('error', reject)
    resolve(socket)
  })
  socket.once('error', reject)
  return promise.finally(() => clearTimeout(timer))
}

function refusedByAll({ recipients }: OutgoingMail, invalid: Refusal[]): SendResult {
  const response = '550 5.6.7 The server does not take international addresses (SMTPUTF8)'
  return { accepted: [], rejected: [...invalid, ...recipients.map((one) => refusal(one, 550, response))], response }
}
