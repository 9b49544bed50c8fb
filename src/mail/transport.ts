/**
 * Mail out, second half: a message to a mailbox's own SMTP server. Connections go only to addresses that
 * `resolveDestination` allowed, certificates are verified, and connections are kept for a moment and used again.
 */
import { createHash } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { getCACertificates } from 'node:tls'
import { LRUCache } from 'lru-cache'
import { createTransport } from 'nodemailer'
import type { Network } from '../config'
import { DestinationError, resolveDestination } from '../webhooks/destination'
import type { OutgoingMail } from './compose'

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
  signal?: AbortSignal
  timeouts?: Partial<SmtpTimeouts>
}

export type SmtpTimeouts = {
  /** Lookup, connection and, with `tls`, the handshake. */
  connect_ms: number
  greeting_ms: number
  /** Silence of the server, also while it decides on the message. */
  silence_ms: number
}

export type SendResult = {
  accepted: string[]
  /** A `code` below 500 is worth another try. */
  rejected: { address: string; code: number; response: string }[]
  /** The server's last answer. */
  response: string
  /** The Message-ID that the server put in place of ours (SES, Microsoft 365), without angle brackets. */
  server_message_id?: string
}

/** The message did not go to anybody. `message` and `response` are for people and hold no secrets. */
export class SendError extends Error {
  constructor(
    message: string,
    /** The server's reply code; null when it gave none. */
    readonly code: number | null,
    /** The server's answer, else what went wrong. */
    readonly response: string,
    /** Another try would end the same way (a 5xx reply). */
    readonly permanent: boolean,
    /** `own`: the message or this service is at fault, so the server can't be judged by it. */
    readonly blame: 'own' | 'server',
  ) {
    super(message)
  }
}

/** A reply to the end of DATA may take long, and giving up on it sends the message twice. */
const TIMEOUTS: SmtpTimeouts = { connect_ms: 10_000, greeting_ms: 30_000, silence_ms: 60_000 }
/** Below the time after which servers hang up. */
const IDLE_MS = 30_000
/** Providers refuse more from one account. */
const CONNECTIONS_PER_MAILBOX = 2

/** Mailboxes with connections kept. Changed settings are another entry, and the old one goes in time. */
const TRANSPORTS_MAX = 500
const RESPONSE_MAX_LENGTH = 1000

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
  const invalid = mail.invalid.map((address) => ({ address, code: 553, response: '553 5.1.3 Not an email address' }))
  if (mail.recipients.length === 0) return { accepted: [], rejected: invalid, response: '' }
  const transport = transportFor(smtp, options)
  try {
    const info = await transport.sendMail({ ...mail.message, signal: options.signal })
    const { accepted, rejectedErrors = [], response, serverMessageId } = info
    return {
      accepted,
      rejected: [...invalid, ...rejectedErrors.map((one) => refusalOf(one, smtp))],
      response,
      server_message_id: serverMessageId?.replace(/^<|>$/g, ''),
    }
  } catch (error) {
    const refusals = isSmtpFailure(error) ? (error.rejectedErrors ?? []) : []
    if (refusals.length === 0) throw sendError(error, smtp)
    const rejected = refusals.map((one) => refusalOf(one, smtp))
    return { accepted: [], rejected: [...invalid, ...rejected], response: rejected.at(-1)?.response ?? '' }
  }
}

/** Connects to a mailbox's server and, with a user name, signs in. Sends nothing and never rejects. */
export async function testMailbox(
  smtp: MailboxSmtp,
  options: SendOptions,
): Promise<{ ok: boolean; error: string | null; response_time_ms: number }> {
  const started = performance.now()
  const transport = openTransport(smtp, options)
  const error = await transport.verify().then(
    () => null,
    (error) => sendError(error, smtp).message,
  )
  transport.close()
  return { ok: error === null, error, response_time_ms: Math.round(performance.now() - started) }
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

function openTransport(smtp: MailboxSmtp, options: SendOptions) {
  const { connect_ms, greeting_ms, silence_ms } = { ...TIMEOUTS, ...options.timeouts }
  return createTransport({
    pool: true,
    name: options.hostname,
    host: smtp.host,
    port: smtp.port,
    secure: smtp.security === 'tls',
    requireTLS: smtp.security === 'starttls',
    ignoreTLS: smtp.security === 'none',
    auth: smtp.username ? { user: smtp.username, pass: smtp.password ?? '' } : undefined,
    // `ca` replaces the authorities that are trusted without it.
    tls: options.ca ? { ca: [...getCACertificates('default'), options.ca] } : {},
    maxConnections: CONNECTIONS_PER_MAILBOX,
    idleTimeout: IDLE_MS,
    connectionTimeout: connect_ms,
    greetingTimeout: greeting_ms,
    socketTimeout: silence_ms,
    disableFileAccess: true,
    disableUrlAccess: true,
    // The library still knows the server by its name, for the certificate.
    getSocket(_options: unknown, callback: (error: Error | null, socket?: { connection: Socket }) => void) {
      openSocket(smtp, options.allowed, connect_ms).then(
        (connection) => callback(null, { connection }),
        (error) => callback(error),
      )
    },
  })
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

/** What nodemailer adds to its errors. */
type SmtpFailure = Error & {
  code?: string
  responseCode?: number
  response?: string
  command?: string
  recipient?: string
  rejectedErrors?: SmtpFailure[]
}

function isSmtpFailure(error: unknown): error is SmtpFailure {
  return error instanceof Error
}

function refusalOf({ recipient = '', responseCode = 450, response = '' }: SmtpFailure, smtp: MailboxSmtp) {
  return { address: recipient, code: responseCode, response: withoutSecrets(response, smtp) }
}

/** Failures before a byte reached the server, which say nothing about it. */
const OWN_FAILURES = ['EABORT', 'ESTREAM', 'EFILEACCESS', 'EURLACCESS', 'ECONFIG']

function sendError(error: unknown, smtp: MailboxSmtp): SendError {
  if (error instanceof DestinationError) {
    const text = DESTINATION_TEXTS[error.reason]
    return new SendError(text, null, text, false, error.reason === 'dns' ? 'server' : 'own')
  }
  if (!isSmtpFailure(error)) return new SendError('sending failed', null, 'sending failed', false, 'own')
  // The library checks the size that the server announced, and then has no reply to report.
  const too_large = /^Message size larger than allowed (\d+)/.exec(error.message)
  if (too_large) {
    const text = `552 5.3.4 The message is larger than the ${too_large[1]} bytes that the server takes`
    return new SendError(text, 552, text, true, 'own')
  }
  const code = error.responseCode ?? null
  const text = withoutSecrets(error.response ?? error.message, smtp)
  const message = withoutSecrets(error.message, smtp)
  const blame = OWN_FAILURES.includes(error.code ?? '') ? 'own' : 'server'
  // A refused STARTTLS is no answer to the message: somebody between may have refused it.
  const permanent = code !== null && code >= 500 && error.code !== 'ETLS'
  return new SendError(message, code, text, permanent, blame)
}

const DESTINATION_TEXTS = {
  blocked_address: 'the server has an address that may not be reached',
  dns: 'the server name was not found',
  dns_local: 'no server name can be resolved at the moment',
} as const

/** Some servers repeat what they were told, and the password was among it, as it is or in base64. */
function withoutSecrets(text: string, { username, password }: MailboxSmtp): string {
  const short = text.slice(0, RESPONSE_MAX_LENGTH)
  if (!password) return short
  const spellings = [password, `\0${username}\0${password}`].flatMap((one) => [
    one,
    Buffer.from(one).toString('base64'),
  ])
  return spellings.reduce((safe, secret) => safe.replaceAll(secret, '***'), short)
}
