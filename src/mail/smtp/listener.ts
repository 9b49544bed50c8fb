/**
 * Takes mail over SMTP (RFC 5321). Knows the protocol and its limits; its caller knows the recipients and keeps the
 * messages. A message is acknowledged only after `store` resolved: whatever goes wrong before that leaves it with the
 * sender's server, which tries again.
 */
import type { SMTPServerAddress, SMTPServerDataStream, SMTPServerOptions, SMTPServerSession } from 'smtp-server'
import { isInNetworks } from '../../base/address/networks'
import { safeError } from '../../base/log'
import { Clients, isLoopback } from './clients'
import { IncompleteError, readMessage } from './data'
import { type Envelope, envelopeOf, type RcptMailbox } from './envelope'
import { type ArrivingChunk, Gate } from './gate'
import { Guesses } from './guesses'
import { type SmtpLimits, type SmtpOptions, withLimits } from './options'
import { type ProtocolOptions, ProtocolServer } from './protocol'
import {
  isOfMessage,
  type RefusedMail,
  type RefusedRecipient,
  type RefusedSession,
  type SmtpRefusalNote,
} from './refusals'
import { FAULT, refuse, reply, type SmtpRefusal, type SmtpReply } from './reply'

/** Recipients of one message, the least that RFC 5321 allows (section 4.5.3.1.8). */
const RECIPIENTS_MAX = 100
/** Nobody authenticates here, and the last three are jokes of the library. */
const DISABLED_COMMANDS = ['AUTH', 'XFORWARD', 'WIZ', 'SHELL', 'KILL']
const SHUTTING_DOWN = '4.3.2 Service shutting down'
/**
 * During the drain a client that has brought its mail is sent away after such a silence: it may come back elsewhere.
 */
const DRAIN_SILENCE_MS = 200
const DRAIN_LOOK_MS = 100

/** State of a session, beside what the library keeps. */
type State = {
  /** The address that counts as the client's; XCLIENT does not change it. */
  client: string
  /** The mailboxes of the message, by the addresses that were accepted, in lower case. */
  recipients: Map<string, RcptMailbox>
  /** The recipient that the last RCPT named, when it was refused. */
  refused?: RefusedRecipient
  /** Its address. */
  refused_address?: string
  /** The time of MAIL, by `performance.now()`. */
  began_ms: number
  /** The message being received or stored. */
  stream?: SMTPServerDataStream
  /** The deadline passed while a complete message was being stored: the session ends with its reply. */
  is_overdue: boolean
  deadline: Timer
}

/** The answer to a command: nothing, or a reply in the form of an error. */
type Callback = (answer?: SmtpReply) => void

/**
 * Starts a listener.
 * @throws the error of the socket, such as `EADDRINUSE`
 */
export async function startSmtpListener(options: SmtpOptions): Promise<SmtpListener> {
  const listener = new SmtpListener(withLimits(options))
  await listener.listen()
  return listener
}

export class SmtpListener {
  /** The port that is listened on, once it is. */
  port: number
  readonly #options: SmtpOptions & SmtpLimits
  readonly #server: ProtocolServer
  readonly #gate: Gate
  readonly #guesses: Guesses
  readonly #clients: Clients
  /** Keyed by the library's id of the session. */
  readonly #sessions = new Map<string, State>()
  /** Messages under way, complete or not; each resolves once it is answered. */
  readonly #messages = new Set<Promise<void>>()
  /** Complete messages whose `store` has not resolved. */
  #storing = 0
  #drain: Timer | undefined
  #is_closing = false

  constructor(options: SmtpOptions & SmtpLimits) {
    this.port = options.port
    this.#options = options
    this.#gate = new Gate(options)
    this.#guesses = new Guesses(options)
    this.#clients = new Clients(options)
    const refused = (note: SmtpRefusalNote, session?: RefusedSession) =>
      options.refused?.(this.#complete(note, session?.id), session && this.#refusedMail(note, session))
    const chunk: ProtocolOptions['chunk'] = (session, given) => this.#findChunkRefusal(session, given)
    this.#server = new ProtocolServer(this.#librarySettings(), { ...options, refused, chunk })
    // Resets and failed handshakes of clients arrive here; without a listener they would end the process.
    this.#server.on('error', (error) => options.log.debug({ error: safeError(error) }, 'smtp client failed'))
  }

  /** @throws the error of the socket */
  async listen(): Promise<void> {
    const { promise: listening, resolve, reject } = Promise.withResolvers<void>()
    this.#server.server.once('error', reject)
    this.#server.listen(this.#options.port, this.#options.host, resolve)
    await listening
    const bound = this.#server.server.address()
    if (typeof bound === 'object' && bound) this.port = bound.port
  }

  /** Offers STARTTLS with another certificate from now on. Open connections go on. @param tls PEM */
  replaceCertificate(tls: { key: string; cert: string }): void {
    this.#server.updateSecureContext(tls)
  }

  /** Prepares for `close()`: takes new clients and mail, but sends those away that keep their connection for later. */
  drain(): void {
    this.#drain ??= setInterval(() => this.#server.sendAwayIdle(SHUTTING_DOWN, DRAIN_SILENCE_MS), DRAIN_LOOK_MS)
  }

  /**
   * Stops accepting and sends clients away with 421, those that have begun a message (MAIL) only after its reply. Waits
   * for messages under way and their `store`.
   * @param options.timeout_ms after which what is left is cut off, 30,000 by default
   */
  async close({ timeout_ms = 30_000 }: { timeout_ms?: number } = {}): Promise<void> {
    clearInterval(this.#drain)
    this.#is_closing = true
    const { promise: closed, resolve } = Promise.withResolvers<void>()
    this.#server.stopAccepting(SHUTTING_DOWN, resolve)
    const { promise: late, resolve: giveUp } = Promise.withResolvers<void>()
    const timer = setTimeout(giveUp, timeout_ms)
    await Promise.race([Promise.all([closed, ...this.#messages]), late])
    clearTimeout(timer)
    this.#server.sendAway(SHUTTING_DOWN, () => true)
    await closed
    this.#options.closed?.()
  }

  #librarySettings(): SMTPServerOptions {
    const { hostname, max_bytes, max_clients, socket_timeout_ms, tls } = this.#options
    return {
      name: hostname,
      size: max_bytes,
      rejectOversized: true,
      hideENHANCEDSTATUSCODES: false,
      // Senders such as `name.@example.com` exist, and their mail is not to be lost; recipients are looked up anyway.
      lenientAddressParsing: true,
      disableReverseLookup: true,
      disabledCommands: tls ? DISABLED_COMMANDS : [...DISABLED_COMMANDS, 'STARTTLS'],
      maxClients: max_clients,
      maxRecipients: RECIPIENTS_MAX,
      socketTimeout: socket_timeout_ms,
      logger: false,
      ...tls,
      onConnect: (session, callback) => this.#open(session, callback),
      onMailFrom: (_sender, session, callback) => this.#mail(session, callback),
      onRcptTo: (recipient, session, callback) => this.#rcpt(recipient, session, callback),
      onData: (stream, session, callback) => this.#data(stream, session, callback),
      onClose: (session) => this.#forget(session),
    }
  }

  /** A client connects. */
  #open(session: SMTPServerSession, callback: Callback): void {
    const { session_deadline_ms, allowed = [] } = this.#options
    const { id, remoteAddress: address } = session
    if (allowed.length > 0 && !isInNetworks(address, allowed)) {
      return void callback(reply(554, '5.7.1 Connections from your address are not taken'))
    }
    const is_exempt = isLoopback(address) || this.#isRelay(address) || this.#server.isOfProxy(session)
    const crowd = is_exempt ? undefined : this.#clients.findCrowd(address)
    if (crowd) return void callback(reply(421, `4.7.0 Too many connections from your ${crowd}`))
    this.#clients.add(address)
    const deadline = setTimeout(() => this.#expire(id), session_deadline_ms)
    this.#sessions.set(id, { client: address, recipients: new Map(), began_ms: 0, is_overdue: false, deadline })
    callback()
  }

  #isRelay(address: string): boolean {
    return isInNetworks(address, this.#options.relays ?? [])
  }

  /** MAIL: a message begins. */
  async #mail({ id }: SMTPServerSession, callback: Callback): Promise<void> {
    const began_ms = performance.now()
    const state = this.#sessions.get(id)
    state?.recipients.clear()
    if (state) state.began_ms = began_ms
    const refusal = await this.#gate.findRefusal(this.#storing)
    if (refusal) this.#options.observe?.(refusal.code, performance.now() - began_ms)
    callback(refusal && refuse(refusal))
  }

  /** RCPT: names a recipient. */
  async #rcpt({ address }: SMTPServerAddress, { id }: SMTPServerSession, callback: Callback): Promise<void> {
    const mailbox = await this.#gate.findMailbox(address)
    const state = this.#sessions.get(id)
    if (mailbox instanceof Error) {
      if (state) Object.assign(state, { refused: mailbox.recipient, refused_address: address })
      const is_guess = mailbox.responseCode === 550 && state && !this.#isRelay(state.client)
      if (is_guess) await this.#guesses.slowDown(state.client)
      return callback(mailbox)
    }
    state?.recipients.set(address, mailbox)
    callback()
  }

  /** Adds what the session knows about the recipient: the one that was refused, else the first of the message. */
  #complete(note: SmtpRefusalNote, id = ''): SmtpRefusalNote {
    const state = this.#sessions.get(id)
    if (!state) return note
    if (note.reason === 'unknown_mailbox' && state.refused) {
      const { domain, ...refused } = state.refused
      return { ...note, ...refused, ...(domain !== null && { recipient_domain: domain }) }
    }
    const [first] = isOfMessage(note) ? state.recipients.values() : []
    if (!first) return note
    const { organization_id, mailbox_id, address } = first
    return { ...note, organization_id, mailbox_id, recipient_domain: address.slice(address.lastIndexOf('@') + 1) }
  }

  /** The message that a refusal is about: of RCPT the one recipient, of DATA and BDAT all that were accepted. */
  #refusedMail(note: SmtpRefusalNote, { id, sender, reply }: RefusedSession): RefusedMail | undefined {
    const state = this.#sessions.get(id)
    if (!state || (note.command !== 'RCPT' && !isOfMessage(note))) return undefined
    const named = state.refused_address === undefined ? [] : [state.refused_address]
    const recipients = isOfMessage(note) ? [...state.recipients.keys()] : named
    return { sender, recipients, reply }
  }

  /** BDAT: a part of the message comes. */
  async #findChunkRefusal({ id }: SMTPServerSession, chunk: ArrivingChunk): Promise<SmtpRefusal | undefined> {
    const refusal = await this.#gate.findChunkRefusal(chunk, this.#storing)
    const { began_ms = 0 } = this.#sessions.get(id) ?? {}
    if (refusal) this.#options.observe?.(refusal.code, performance.now() - began_ms)
    return refusal
  }

  /** DATA, or the first BDAT: the message itself. */
  #data(stream: SMTPServerDataStream, session: SMTPServerSession, callback: Callback): void {
    const state = this.#sessions.get(session.id)
    if (!state) return void callback(refuse(FAULT))
    state.stream = stream
    const message = this.#take(stream, envelopeOf(session, state.recipients)).then((answer) => {
      state.stream = undefined
      const code = stream.sizeExceeded ? 552 : answer.responseCode
      if (!stream.errored) this.#options.observe?.(code, performance.now() - state.began_ms)
      if (code === 250) state.deadline.refresh()
      callback(answer)
      // The client is sent away at once: a relay would keep the session open for more.
      if (this.#is_closing || state.is_overdue) setImmediate(() => this.#dismiss(session.id, SHUTTING_DOWN))
    })
    this.#messages.add(message)
    message.finally(() => this.#messages.delete(message))
  }

  /** Hands a message to `store`. Never rejects: resolves with the reply. */
  async #take(stream: SMTPServerDataStream, envelope: Envelope): Promise<SmtpReply> {
    const { store, log } = this.#options
    const raw = readMessage(stream)
    let waits = 0
    // A message counts once it is complete: how long it takes to arrive is up to its sender.
    const onEnd = () => {
      waits = 1
      this.#storing += 1
    }
    stream.once('end', onEnd)
    try {
      const { queue_id } = await store(envelope, raw)
      return reply(250, `Ok: queued as ${queue_id}`)
    } catch (error) {
      // The library answers 552 for a message that is too large, and a client that left hears nothing.
      if (!(error instanceof IncompleteError)) log.error({ error: safeError(error) }, 'message not stored')
      return refuse(FAULT)
    } finally {
      stream.off('end', onEnd)
      this.#storing -= waits
      raw.destroy()
    }
  }

  /** A client is gone. */
  #forget({ id }: SMTPServerSession): void {
    const state = this.#sessions.get(id)
    if (!state) return
    clearTimeout(state.deadline)
    this.#sessions.delete(id)
    this.#clients.remove(state.client)
  }

  /** The deadline of a session has passed. */
  #expire(id: string): void {
    const state = this.#sessions.get(id)
    if (state?.stream?.writableEnded) state.is_overdue = true
    else this.#dismiss(id, '4.4.2 Session too long')
  }

  #dismiss(id: string, text: string): void {
    this.#server.sendAway(text, (session) => session.id === id)
  }
}
