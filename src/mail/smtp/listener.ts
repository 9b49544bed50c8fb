/**
 * Mail in: the SMTP listener (RFC 5321). It knows the protocol and its limits; who is a recipient and where a message
 * is kept are the caller's. A message is acknowledged only after `store` resolved, so whatever goes wrong before that
 * leaves it with the sender's server, which tries again.
 */
import type { Readable } from 'node:stream'
import type { Logger } from 'pino'
import type { SMTPServerDataStream, SMTPServerOptions, SMTPServerSession } from 'smtp-server'
import type { Network } from '../../config'
import { safeError } from '../../log'
import { countClients, isLoopback } from './clients'
import { type Envelope, envelopeOf, IncompleteError, type Recipient, readMessage } from './data'
import { createGate, type Refusal, type Reply, reply, TRY_AGAIN } from './gate'
import { ProtocolServer } from './protocol'

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
  /**
   * The same for each remote address, or network of 64 bits of IPv6, 50 unless told. Loopback is exempt: a relay on
   * this host is one address. So are proxies where they name no client.
   */
  max_clients_per_address?: number
  /** Networks whose connections begin with a PROXY header (version 1 or 2) that names the client. */
  proxies?: Network[]
  /** How long a session may last after its last message, which ends a sender of one byte a second; 600,000 unless told. */
  session_deadline_ms?: number
  /** How long a client may be silent; 300,000 unless told (RFC 5321 section 4.5.3.2.7). */
  socket_timeout_ms?: number
  /** How long a proxy may take for its header; 5,000 unless told. */
  proxy_header_ms?: number
  /** Commands of a session for each of its messages, 1000 unless told; one more is answered 421. */
  max_commands?: number
  /** Complete messages whose `store` has not resolved, 250 unless told; at more, new ones are answered 451. */
  max_storing?: number
  /** How long the lookup of a recipient may take until it is answered 451; 30,000 unless told. */
  lookup_timeout_ms?: number
  /** Asked at MAIL: why no message can be taken now. A rejection is answered 451. */
  refusal?: () => Promise<Refusal | undefined>
  /** The mailbox of an address: null is answered 550, a rejection 451. */
  recipients: (address: string) => Promise<Recipient | null>
  /**
   * Makes the message durable, and only then resolves. `raw` errors when the client leaves or the message grows too
   * large; what was written of it is then to be dropped. A rejection is answered 451.
   */
  store: (envelope: Envelope, raw: Readable) => Promise<{ queue_id: string }>
  /** Told of the end of each transaction: the reply to MAIL when it was refused there, else to the message. */
  observe?: (reply_code: number, duration_ms: number) => void
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
  /** When MAIL came, by `performance.now()`. */
  began_ms: number
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
  const { max_clients = 1000, max_clients_per_address = 50, max_storing = 250, max_commands = 1000 } = options
  const { session_deadline_ms = 600_000, socket_timeout_ms = 300_000, lookup_timeout_ms = 30_000 } = options
  const { proxies = [], proxy_header_ms = 5_000, log } = options
  const sessions = new Map<string, Session>()
  const clients = countClients()
  const gate = createGate({ ...options, max_storing, lookup_timeout_ms, max_lookups: max_clients })
  /** Of messages under way, complete or not. */
  const stores = new Set<Promise<unknown>>()
  let storing = 0
  let closing = false

  const settings: SMTPServerOptions = {
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
    logger: false,
    ...options.tls,

    onConnect(session, callback) {
      const address = session.remoteAddress
      const is_exempt = isLoopback(address) || server.isOfProxy(session)
      if (!is_exempt && clients.count(address) >= max_clients_per_address) {
        log.warn({ remote_address: address }, 'too many smtp connections from one address')
        return callback(reply(421, '4.7.0 Too many connections from your address'))
      }
      clients.add(address)
      const deadline = setTimeout(() => endSession(session.id), session_deadline_ms)
      sessions.set(session.id, { recipients: new Map(), began_ms: 0, overdue: false, deadline })
      callback()
    },

    onMailFrom(_address, session, callback) {
      const state = sessions.get(session.id)
      state?.recipients.clear()
      if (state) state.began_ms = performance.now()
      gate.findRefusal(storing).then((refusal) => {
        if (refusal) options.observe?.(refusal.code, performance.now() - (state?.began_ms ?? 0))
        callback(refusal && reply(refusal.code, refusal.text))
      })
    },

    onRcptTo({ address }, session, callback) {
      gate.findRecipient(address).then((recipient) => {
        if (recipient instanceof Error) return callback(recipient)
        sessions.get(session.id)?.recipients.set(address.toLowerCase(), recipient)
        callback()
      })
    },

    onData(stream, session, callback) {
      const state = sessions.get(session.id)
      if (!state) return callback(reply(451, TRY_AGAIN))
      state.stream = stream
      const stored = take(stream, envelopeOf(session, state.recipients)).then((answer) => {
        state.stream = undefined
        const code = stream.sizeExceeded ? 552 : answer.responseCode
        if (!stream.errored) options.observe?.(code, performance.now() - state.began_ms)
        if (code === 250) state.deadline.refresh()
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
      clients.remove(session.remoteAddress)
    },
  }
  const server = new ProtocolServer(settings, { proxies, proxy_header_ms, max_commands, log })
  // Resets and failed handshakes of clients arrive here; without a listener they would end the process.
  server.on('error', (error) => log.debug({ error: safeError(error) }, 'smtp client failed'))

  const { promise: listening, resolve, reject } = Promise.withResolvers<void>()
  server.server.once('error', reject)
  server.listen(options.port, options.host, resolve)
  await listening
  const bound = server.server.address()

  return { port: typeof bound === 'object' && bound ? bound.port : options.port, close }

  /** Hands a message to `store`. Never rejects: resolves with the reply. */
  async function take(stream: SMTPServerDataStream, envelope: Envelope): Promise<Reply> {
    const raw = readMessage(stream)
    let waits = 0
    // Counted once it is whole: how long it takes to arrive is up to its sender.
    const onEnd = () => {
      waits = 1
      storing += 1
    }
    stream.once('end', onEnd)
    try {
      const { queue_id } = await options.store(envelope, raw)
      return reply(250, `Ok: queued as ${queue_id}`)
    } catch (error) {
      // Too large is answered 552 by the library, and a client that left hears nothing.
      if (!(error instanceof IncompleteError)) log.error({ error: safeError(error) }, 'message not stored')
      return reply(451, TRY_AGAIN)
    } finally {
      stream.off('end', onEnd)
      storing -= waits
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
