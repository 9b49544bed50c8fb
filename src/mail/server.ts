/**
 * Mail in: the SMTP listener (RFC 5321). It knows the protocol and its limits; who is a recipient and where a message
 * is kept are the caller's. A message is acknowledged only after `store` resolved, so whatever goes wrong before that
 * leaves it with the sender's server, which tries again.
 */
import { PassThrough, type Readable } from 'node:stream'
import ipaddr from 'ipaddr.js'
import type { Logger } from 'pino'
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server'
import { safeError } from '../log'

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

export type SmtpServerOptions = {
  /** 0 takes a free port. */
  port: number
  host: string
  /** The name in the greeting. */
  hostname: string
  /** Larger messages are refused with 552. */
  max_bytes: number
  /** PEM. STARTTLS is offered only with it. */
  tls?: { key: string; cert: string }
  /** Connections at a time, 1000 unless told; one more is answered 421. */
  max_clients?: number
  /** The same for each remote address, 50 unless told. Loopback is exempt: a relay on this host is one address. */
  max_clients_per_address?: number
  /** Addresses whose connections begin with a PROXY header (version 1) that names the client. */
  proxies?: string[]
  /** How long a session may last in all, which ends a sender of one byte a second; 600,000 unless told. */
  session_deadline_ms?: number
  /** How long a client may be silent; 300,000 unless told (RFC 5321 section 4.5.3.2.7). */
  socket_timeout_ms?: number
  /** The mailbox of an address: null is answered 550, a rejection 451. */
  recipients: (address: string) => Promise<Recipient | null>
  /**
   * Makes the message durable, and only then resolves. `raw` errors when the client leaves or the message grows too
   * large; what was written of it is then to be dropped. A rejection is answered 451.
   */
  store: (envelope: Envelope, raw: Readable) => Promise<{ queue_id: string }>
  log: Pick<Logger, 'debug' | 'warn' | 'error'>
}

export type SmtpListener = {
  port: number
  /**
   * Stops accepting, sends idle clients away with 421, and waits for messages under way and their `store`.
   * @param options.timeout_ms after which what is left is cut off, 30,000 unless told
   */
  close: (options?: { timeout_ms?: number }) => Promise<void>
}

/** Recipients of one message, the least RFC 5321 allows (section 4.5.3.1.8). */
const RECIPIENTS_MAX = 100
/** No authentication here, nobody may pass for another client, and the last three are jokes of the library. */
const DISABLED_COMMANDS = ['AUTH', 'XCLIENT', 'XFORWARD', 'WIZ', 'SHELL', 'KILL']

type Session = {
  recipients: Map<string, Recipient>
  /** The message being received or stored. */
  stream?: SMTPServerDataStream
  /** The deadline passed while a complete message was being stored: the session ends with its reply. */
  overdue: boolean
  deadline: Timer
}

/**
 * Starts the listener.
 * @throws the error of the socket, such as `EADDRINUSE`
 */
export async function startSmtpServer(options: SmtpServerOptions): Promise<SmtpListener> {
  const { max_clients = 1000, max_clients_per_address = 50 } = options
  const { session_deadline_ms = 600_000, socket_timeout_ms = 300_000, log } = options
  const sessions = new Map<string, Session>()
  const clients = new Map<string, number>()
  const stores = new Set<Promise<unknown>>()
  let closing = false

  const server = new SMTPServer({
    name: options.hostname,
    size: options.max_bytes,
    rejectOversized: true,
    hideENHANCEDSTATUSCODES: false,
    // Senders such as `name.@example.com` exist and are no reason to lose their mail; recipients are looked up anyway.
    lenientAddressParsing: true,
    disableReverseLookup: true,
    disabledCommands: options.tls ? DISABLED_COMMANDS : [...DISABLED_COMMANDS, 'STARTTLS'],
    maxClients: max_clients,
    maxRecipients: RECIPIENTS_MAX,
    socketTimeout: socket_timeout_ms,
    useProxy: options.proxies ?? false,
    logger: false,
    ...options.tls,

    onConnect(session, callback) {
      const address = session.remoteAddress
      if (!isLoopback(address) && countOf(address) >= max_clients_per_address) {
        log.warn({ remote_address: address }, 'too many smtp connections from one address')
        return callback(reply(421, '4.7.0 Too many connections from your address'))
      }
      clients.set(address, countOf(address) + 1)
      const deadline = setTimeout(() => endSession(session.id), session_deadline_ms)
      sessions.set(session.id, { recipients: new Map(), overdue: false, deadline })
      callback()
    },

    onMailFrom(_address, session, callback) {
      sessions.get(session.id)?.recipients.clear()
      callback()
    },

    onRcptTo({ address }, session, callback) {
      findRecipient(address).then((recipient) => {
        if (recipient instanceof Error) return callback(recipient)
        sessions.get(session.id)?.recipients.set(address.toLowerCase(), recipient)
        callback()
      })
    },

    onData(stream, session, callback) {
      const state = sessions.get(session.id)
      if (!state) return callback(reply(451, 'Local error in processing'))
      state.stream = stream
      const stored = take(stream, envelopeOf(session, state.recipients)).then((answer) => {
        state.stream = undefined
        callback(answer)
        // Sent away at once, since a relay would keep the session open for more.
        if (closing || state.overdue) setImmediate(() => dismiss(({ id }) => id === session.id))
      })
      stores.add(stored)
      stored.finally(() => stores.delete(stored))
    },

    onClose(session) {
      const state = sessions.get(session.id)
      if (!state) return
      clearTimeout(state.deadline)
      sessions.delete(session.id)
      const left = countOf(session.remoteAddress) - 1
      if (left > 0) clients.set(session.remoteAddress, left)
      else clients.delete(session.remoteAddress)
    },
  })
  // Resets and failed handshakes of clients arrive here; without a listener they would end the process.
  server.on('error', (error) => log.debug({ error: safeError(error) }, 'smtp client failed'))

  const { promise: listening, resolve, reject } = Promise.withResolvers<void>()
  server.server.once('error', reject)
  server.listen(options.port, options.host, resolve)
  await listening
  const bound = server.server.address()

  return { port: typeof bound === 'object' && bound ? bound.port : options.port, close }

  function countOf(address: string) {
    return clients.get(address) ?? 0
  }

  /** The mailbox, or the refusal to answer with. */
  async function findRecipient(address: string): Promise<Recipient | Error> {
    try {
      return (await options.recipients(address)) ?? reply(550, 'No such mailbox here')
    } catch (error) {
      log.error({ error: safeError(error) }, 'recipient lookup failed')
      return reply(451, 'Local error in processing, try again later')
    }
  }

  /** Hands a message to `store`. Never rejects: resolves with the reply. */
  async function take(stream: SMTPServerDataStream, envelope: Envelope): Promise<Error> {
    const raw = readMessage(stream)
    try {
      const { queue_id } = await options.store(envelope, raw)
      return reply(250, `Ok: queued as ${queue_id}`)
    } catch (error) {
      // Too large is answered 552 by the library, and a client that left hears nothing.
      if (!(error instanceof IncompleteError)) log.error({ error: safeError(error) }, 'message not stored')
      return reply(451, 'Local error in processing, try again later')
    } finally {
      raw.destroy()
    }
  }

  function endSession(id: string) {
    const state = sessions.get(id)
    if (state?.stream?.writableEnded) state.overdue = true
    else dismiss((session) => session.id === id, '4.4.2 Session too long')
  }

  /** Ends sessions with 421. A message that is under way errors. */
  function dismiss(which: (session: SMTPServerSession) => boolean, text = '4.3.2 Service shutting down') {
    for (const connection of server.connections) {
      if (!which(connection.session)) continue
      connection.send(421, text, false)
      connection._socket.destroySoon()
    }
  }

  async function close({ timeout_ms = 30_000 } = {}) {
    closing = true
    const { promise: closed, resolve } = Promise.withResolvers<void>()
    // From here on the library answers every command with 421. Its own cut would leave half-open sockets behind.
    server.options.closeTimeout = timeout_ms + 60_000
    server.close(resolve)
    dismiss(({ id }) => !sessions.get(id)?.stream)
    const { promise: over, resolve: end } = Promise.withResolvers<void>()
    const timer = setTimeout(end, timeout_ms)
    await Promise.race([Promise.all([closed, ...stores]), over])
    clearTimeout(timer)
    dismiss(() => true)
    await closed
  }
}

/** The message was cut off by its sender or by the size limit. */
class IncompleteError extends Error {}

/**
 * The message without dot-stuffing, in the sender's pace. Errors when the client leaves or the message grows too large.
 * When the reader stops, the rest is read and dropped, so that the client gets its reply and the session goes on.
 */
function readMessage(stream: SMTPServerDataStream): Readable {
  const raw = new PassThrough()
  stream.on('data', () => {
    if (stream.sizeExceeded) raw.destroy(new IncompleteError('message too large'))
  })
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

function envelopeOf(session: SMTPServerSession, recipients: Map<string, Recipient>): Envelope {
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

/** smtp-server takes every reply as an error with a code, and adds the enhanced code of that class (RFC 3463). */
function reply(code: number, text: string): Error {
  return Object.assign(new Error(text), { responseCode: code })
}

function isLoopback(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback'
}
