/**
 * Hands a composed message to a mailbox's own SMTP server. Connections go only to addresses that `resolveDestination`
 * allowed, certificates are verified, and connections are kept for 30 seconds and used again.
 */
import { createHash } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { getCACertificates } from 'node:tls'
import { LRUCache } from 'lru-cache'
import { createTransport, type SendMailOptions } from 'nodemailer'
import type MailMessage from 'nodemailer/lib/mailer/mail-message'
import MimeNode from 'nodemailer/lib/mime-node'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import { isInNetworks, networksAt } from '../../base/address/networks'
import { within } from '../../base/flow/within'
import { resolveDestination } from '../../base/net/destination'
import type { ComposedMail } from './compose'
import { isMessageId } from './header-values'
import {
  type DeliveryRefusal,
  isAboutServer,
  PortError,
  refusal,
  refusalsOf,
  SendError,
  sendError,
  withoutSecrets,
} from './send-error'
import type { MailboxSmtp, SendOptions, SmtpTimeouts } from './settings'
import { type Session, tokenSignIn } from './token-sign-in'

/** The server has the message for every recipient that it did not refuse. */
export type SendResult = {
  /** Addresses are spelled as they were given. */
  rejected: DeliveryRefusal[]
  /** The Message-ID that the server put in place of ours (SES, Microsoft 365), without angle brackets. */
  server_message_id?: string
  /** Its reply to the end of the message. */
  response?: string
}

/**
 * A reply to the end of DATA may take minutes (RFC 5321 section 4.5.3.2), and giving up on it sends the message twice.
 * The ten minutes of the RFC would be too long: the outbox gives up an attempt of ten minutes as lost.
 */
const TIMEOUTS: SmtpTimeouts = { connect_ms: 10_000, greeting_ms: 30_000, silence_ms: 300_000 }
/** Whoever tests a mailbox waits for the answer. */
const TEST_MS = 30_000
/** SMTP between servers, with TLS from the start, submission, and the usual port where 25 is closed. */
const MAIL_PORTS: readonly number[] = [25, 465, 587, 2525]
/** Shorter than the time after which servers hang up. */
const IDLE_MS = 30_000
/** Providers refuse more from one account. */
const CONNECTIONS_PER_MAILBOX = 4

/** Mailboxes whose connections are kept. Changed settings make a new entry; the old entry is the first to go. */
const TRANSPORTS_MAX = 500

type Transport = ReturnType<typeof openTransport>

/** How far a message came. The library keeps the answers of the server in the envelope that it is given. */
type Progress = { envelope?: { to: unknown[]; accepted?: string[]; rejected?: string[] } }

/** True when the server has answered for each recipient and taken one: what it is asked next, or was asked, is DATA. */
function isAtData({ envelope }: Progress): boolean {
  const { to = [], accepted = [], rejected = [] } = envelope ?? {}
  return accepted.length > 0 && accepted.length + rejected.length === to.length
}

const transports = new LRUCache<string, Transport>({ max: TRANSPORTS_MAX, dispose: (transport) => transport.close() })

/**
 * Sends one message. A refused recipient does not stop the others: it is listed in `rejected`, and all recipients are
 * when the server takes none.
 * @throws SendError when the message could not be handed over at all
 */
export async function sendMail(smtp: MailboxSmtp, mail: ComposedMail, options: SendOptions): Promise<SendResult> {
  const invalid = mail.invalid.map((address) => refusal(address, 553, '553 5.1.3 Not an email address'))
  if (mail.recipients.length === 0) return { rejected: invalid }
  const progress: Progress = {}
  try {
    if (mail.needs_utf8 && !(await announcesUtf8(smtp, options))) return refusedByAll(mail, invalid)
    const info = await transportFor(smtp, options).sendMail({ ...mail.message, progress } as SendMailOptions)
    const rejected = [...invalid, ...refusedOf(info, mail, smtp)]
    const response = withoutSecrets(info.response ?? '', smtp)
    return { rejected, server_message_id: messageIdOf(info.serverMessageId), response }
  } catch (error) {
    const rejected = error instanceof Error ? refusedOf(error, mail, smtp) : []
    if (rejected.length < mail.recipients.length) throw sendError(error, smtp, isAtData(progress))
    const about_server = rejected.find(isAboutServer)
    if (about_server) throw new SendError({ ...about_server, verdict: 'at fault' })
    return { rejected: [...invalid, ...rejected] }
  }
}

/**
 * Connects to a mailbox's server and, with a user name, signs in, also where the server does not ask for it. Without
 * one it asks whether the server takes mail so. Sends no message and never rejects.
 * @param answer_ms the longest that it takes: a server may send a byte now and then
 */
export async function testMailbox(
  smtp: MailboxSmtp,
  options: SendOptions,
  answer_ms = TEST_MS,
): Promise<{ ok: boolean; error: string | null; response_time_ms: number }> {
  const started = performance.now()
  const transport = openTransport(smtp, options, { forceAuth: true, ...(!smtp.username && UNSIGNED) })
  const too_late = Object.assign(new Error('The test took too long'), { code: 'ETIMEDOUT' })
  const error = await within(answer_ms, transport.verify(), too_late).then(
    () => null,
    (error) => sendError(error, smtp).message,
  )
  transport.close()
  return { ok: error === null, error, response_time_ms: Math.round(performance.now() - started) }
}

/** Begins a message and takes it back, where the library would sign in. */
const UNSIGNED = {
  auth: { user: 'nobody', method: 'NONE' },
  customAuth: {
    NONE: async ({ sendCommand }: Session): Promise<void> => {
      const { response } = await sendCommand('MAIL FROM:<>')
      if (isAboutServer({ code: Number(response.slice(0, 3)), response })) throw new Error('Mail command failed')
      await sendCommand('RSET')
    },
  },
}

/** Lists the recipients that the server refused. @param outcome what the library answers, or its error */
function refusedOf(outcome: object, { recipients }: ComposedMail, smtp: MailboxSmtp): DeliveryRefusal[] {
  const refusals = new Map(refusalsOf(outcome, smtp).map((one) => [one.address, one]))
  if (refusals.size === 0) return []
  return recipients.flatMap((address) => {
    const refused = refusals.get(envelopeAddress(address))
    return refused ? [{ ...refused, address }] : []
  })
}

/** Writes an address as the library does in RCPT: a local part in quotes when it needs them, the domain as Punycode. */
function envelopeAddress(address: string): string {
  const { to } = new MimeNode(false).setEnvelope({ to: [{ name: '', address }] }).getEnvelope()
  return to[0] ?? address
}

/** Gives the id that a server reports, if it can stand in a header. */
function messageIdOf(text = ''): string | undefined {
  const id = text.replace(/^<|>$/g, '')
  return isMessageId(id) ? id : undefined
}

/** Closes idle connections at once, and the others after their message. For the end of the process. */
export function closeTransports(): void {
  transports.clear()
}

function transportFor(smtp: MailboxSmtp, options: SendOptions): Transport {
  const { allowed, ca, hostname, timeouts } = options
  const settings = [{ ...smtp, tokens: smtp.tokens?.version }, allowed.map(String), ca, hostname, timeouts]
  const key = createHash('sha256').update(JSON.stringify(settings)).digest('hex')
  const transport = transports.get(key) ?? openTransport(smtp, options)
  transports.set(key, transport)
  return transport
}

function openTransport(smtp: MailboxSmtp, options: SendOptions, more: { forceAuth?: boolean } | typeof UNSIGNED = {}) {
  const { allowed, timeouts } = options
  const { connect_ms } = { ...TIMEOUTS, ...timeouts }
  const transport = createTransport({
    ...connectionOptions(smtp, options),
    pool: true,
    ...signInOf(smtp, options),
    ...more,
    maxConnections: CONNECTIONS_PER_MAILBOX,
    // A kept connection may turn out to be closed when it is used again, before anything was sent.
    maxRequeues: CONNECTIONS_PER_MAILBOX,
    idleTimeout: IDLE_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
    // The library still knows the name of the server, by which it checks the certificate.
    getSocket(_options: unknown, callback: (error: Error | null, socket?: { connection: Socket }) => void) {
      openSocket(smtp, allowed, connect_ms).then(
        (connection) => callback(null, { connection }),
        (error) => callback(error),
      )
    },
  })
  transport.use('stream', watchEnvelope)
  return transport
}

/** How the library signs in: by what the server offers, or by tokens. */
function signInOf({ host, port, username, password, tokens }: MailboxSmtp, { hostname }: SendOptions) {
  if (!username) return {}
  if (!tokens) return { auth: { user: username, pass: password ?? '' } }
  const signIn = tokenSignIn(tokens, { host, port, hostname })
  return { auth: { user: username, method: 'TOKEN' }, customAuth: { TOKEN: signIn } }
}

/** Shows the envelope that is at work to who waits for the message. */
function watchEnvelope({ message, data }: MailMessage, done: (error?: Error | null) => void): void {
  const { progress } = data as { progress?: Progress }
  const read = message.getEnvelope.bind(message)
  message.getEnvelope = () => {
    const envelope = { ...read() }
    if (progress) progress.envelope = envelope
    return envelope
  }
  done()
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
    // `ca` replaces the authorities of the system, so these are added.
    tls: ca ? { ca: [...getCACertificates('default'), ca] } : {},
    connectionTimeout: connect_ms,
    greetingTimeout: greeting_ms,
    socketTimeout: silence_ms,
  }
}

/**
 * Tells if the server announces SMTPUTF8, on another connection: the library gives international addresses to any
 * server.
 * @throws what connecting throws
 */
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

/** Resolves the host once and dials the addresses in order. */
async function openSocket(
  { host, port }: MailboxSmtp,
  allowed: SendOptions['allowed'],
  timeout_ms: number,
): Promise<Socket> {
  const deadline = performance.now() + timeout_ms
  let last: unknown
  for (const address of await addressesOf(host, port, allowed, timeout_ms)) {
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

/**
 * The addresses to dial for a server. Outside of the allowed networks only ports of mail servers may be reached: a
 * mailbox would be a way to find out what listens at the others.
 */
async function addressesOf(host: string, port: number, networks: SendOptions['allowed'], timeout_ms: number) {
  const allowed = networksAt(port, networks)
  const addresses = await resolveDestination(host, { allowed, timeout_ms })
  const is_reachable = MAIL_PORTS.includes(port) || addresses.every((address) => isInNetworks(address, allowed))
  if (!is_reachable) throw new PortError()
  return addresses
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

function refusedByAll({ recipients }: ComposedMail, invalid: DeliveryRefusal[]): SendResult {
  const response = '550 5.6.7 The server does not take international addresses (SMTPUTF8)'
  return { rejected: [...invalid, ...recipients.map((one) => refusal(one, 550, response))] }
}
