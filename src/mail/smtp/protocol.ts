/**
 * Extends the SMTP library (smtp-server 3.21.6) where its options end: networks of proxies and version 2 of their
 * header, a limit of commands, enhanced codes in our own replies, and sending clients away.
 *
 * Extending is the way that the library documents, but some of what is needed it keeps for itself, with an underscore.
 * This file and `chunks.ts` are the only ones that use such members, and the version is pinned; on an upgrade these are
 * to be looked at:
 *
 * - `SMTPServer._expectsProxyHeader`, overridden: the option `useProxy` takes single addresses, no networks.
 * - `SMTPServer._handleProxy`, overridden: reads version 1 only, and lets a header take as long as it likes.
 * - `SMTPServer._onError` and `_onClientConnect`: `connect` is overridden to make connections of the class below, and
 *   wires them as the original does.
 * - `SMTPConnection._proxyCommandAllowed`, overridden: the option `useXClient` takes single addresses, no networks.
 * - `SMTPConnection._parseAddressCommand`, overridden: it splits at blanks, also within a quoted local part.
 * - `SMTPConnection._validateMailParams` and `_rejectInvalidParams`, overridden: it knows no BINARYMIME, and takes
 *   parameters that nobody knows.
 * - `SMTPConnection.init`, overridden, and `_setListeners`: the library waits 100 ms before it greets, and no option
 *   changes that. A relay that opens a connection for each message got 9 of them through in a second.
 * - `SMTPConnection._onCommand`, overridden: the library limits commands before a greeting and unknown ones, not
 *   others.
 * - `SMTPConnection._getEnhancedStatusCode`: the code that a reply gets, for the log.
 * - `SMTPConnection._transactionCounter`: the messages of a session, refused ones too. They raise the limit of
 *   commands.
 * - `SMTPServer._closeTimeout`, cleared: while it is set, the library answers every command with 421, also RCPT and
 *   DATA of
 *   a message that has begun.
 * - `SMTPConnection._handlerPending`: true while a command such as MAIL waits for its reply.
 * - `SMTPConnection._socket`: the library's `close()` waits 5 s for the client's end; here the socket goes once the
 *   reply is written.
 *
 * tests/mail/smtp/smtp-proxy and smtp-abuse fail without any of them.
 */
import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server'
import type { SMTPConnection } from 'smtp-server/lib/smtp-connection.js'
import { isInNetworks } from '../../base/address/networks'
import { ChunkConnection } from './chunks'
import type { ArrivingChunk } from './gate'
import type { SmtpLimits, SmtpOptions } from './options'
import { type ProxyHeader, ProxyHeaderError, readProxyHeader } from './proxy-header'
import { commandOf, noteOf, type RefusedSession, reasonOf, type SmtpCommand, type SmtpRefusalNote } from './refusals'
import type { SmtpRefusal } from './reply'

export type ProtocolOptions = Pick<SmtpOptions, 'proxies' | 'relays'> &
  Pick<SmtpLimits, 'proxy_header_ms' | 'max_commands'> & {
    /** Called for each reply that refuses. @param id the session's */
    refused: (note: SmtpRefusalNote, session?: RefusedSession) => void
    /** Called before each chunk: the reason why it cannot be taken. */
    chunk: (session: SMTPServerSession, chunk: ArrivingChunk) => Promise<SmtpRefusal | undefined>
  }

/** A client that has just connected when the server stops may be silent for so long before its first message. */
const NEW_SILENCE_MS = 1000
const STOPPING_LOOK_MS = 100

/** The library's server with these options. */
export class ProtocolServer extends SMTPServer {
  /** Sessions in which a proxy named no client. */
  readonly #nameless = new WeakSet<object>()
  /** The 421 of a server that stops. */
  #last_reply: string | undefined

  constructor(
    options: SMTPServerOptions,
    readonly protocol: ProtocolOptions,
  ) {
    super(options)
  }

  /** True when a proxy named no client: the session is its own, such as a health check, or the client is unknown. */
  isOfProxy(session: SMTPServerSession): boolean {
    return this.#nameless.has(session)
  }

  /** Ends sessions with 421 and this text. A message that is under way fails. */
  sendAway(text: string, which: (session: SMTPServerSession) => boolean): void {
    for (const connection of this.connections) {
      if (which(connection.session)) this.#end(connection, text)
    }
  }

  /** Does the same with clients that have brought mail, and then were silent for this long. */
  sendAwayIdle(text: string, silence_ms: number): void {
    for (const connection of this.connections as Set<LimitedConnection>) {
      if (connection.hasRested(silence_ms)) this.#end(connection, text)
    }
  }

  /**
   * Takes no new clients, and from those there no further messages: they get 421 with this text. A client that has
   * begun a message, or has just connected to bring one, may bring it to its end.
   * @param closed called when the last client is gone
   */
  stopAccepting(text: string, closed: () => void): void {
    this.#last_reply = text
    this.close(closed)
    clearTimeout(this._closeTimeout || undefined)
    this._closeTimeout = false
    const endIdle = () => {
      for (const connection of this.connections as Set<LimitedConnection>) this.endWhenStopping(connection)
      if (this.connections.size === 0) clearInterval(watch)
    }
    const watch = setInterval(endIdle, STOPPING_LOOK_MS)
    endIdle()
  }

  /** Ends a session at rest if the server stops, one that is new only after a silence. Returns true when it did. */
  endWhenStopping(connection: LimitedConnection): boolean {
    if (this.#last_reply === undefined || !connection.isIdle()) return false
    if (connection.isNew() && !connection.isSilent(NEW_SILENCE_MS)) return false
    this.#end(connection, this.#last_reply)
    return true
  }

  #end(connection: SMTPConnection, text: string): void {
    connection.send(421, text, false)
    connection._socket.destroySoon()
  }

  override connect(socket: Socket, options?: ConstructorParameters<typeof SMTPConnection>[2]): void {
    const connection = new LimitedConnection(this, socket, options, this.protocol)
    if (!options?.remoteAddress && this._expectsProxyHeader(socket)) this.#nameless.add(connection.session)
    this.connections.add(connection)
    connection.on('error', (error) => this._onError(error))
    connection.on('connect', (data) => this._onClientConnect(data))
    connection.init()
  }

  /** Other clients that send a PROXY header send a command that the library does not know. */
  override _expectsProxyHeader(socket: Socket): boolean {
    return isInNetworks(socket.remoteAddress ?? '', this.protocol.proxies ?? [])
  }

  override _handleProxy(socket: Socket, callback: Parameters<SMTPServer['_handleProxy']>[1]): void {
    const onHeader = (error: Error | null, header?: ProxyHeader) => {
      if (error) this.#refuse(socket, error)
      callback(error, { id: randomUUID(), remoteAddress: header?.address, remotePort: header?.port })
    }
    if (this._expectsProxyHeader(socket)) readProxyHeader(socket, this.protocol.proxy_header_ms, onHeader)
    else super._handleProxy(socket, callback)
  }

  /**
   * Proxies that only connect, to see whether the service is alive, are no fault; one that sends no header is logged.
   */
  #refuse(socket: Socket, error: Error) {
    socket.on('error', () => {})
    if (!(error instanceof ProxyHeaderError)) return void socket.destroy()
    this.protocol.refused({
      ...{ code: 421, enhanced_code: '4.7.0', command: 'connect', reason: 'proxy_header', detail: error.message },
      ...{ remote_address: socket.remoteAddress ?? '', helo: null, tls: false, has_message: false },
    })
    socket.write('421 4.7.0 A PROXY header must come first\r\n')
    socket.destroySoon()
  }
}

/** Finds a quoted local part: printable ASCII, in which a backslash stands before a quote or another backslash. */
const QUOTED_LOCAL = /^(?:MAIL FROM|RCPT TO):\s{0,9}<("(?:[ !#-[\]-~]|\\[ -~]){1,62}")@[^<>\s]{1,255}>/i
/** A local part that is the same without its quotes. */
const DOT_ATOM = /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*$/

/** Parameters by the command that takes them; those of an extension that is not offered are unknown (RFC 5321). */
const PARAMETERS: Partial<Record<SmtpCommand, string[]>> = {
  MAIL: ['BODY', 'SIZE', 'RET', 'ENVID', 'SMTPUTF8', 'REQUIRETLS'],
  RCPT: ['NOTIFY', 'ORCPT'],
}

type Parsed = Parameters<SMTPConnection['_validateMailParams']>[0]

/** Extensions beside those of the library, which announces its own with several lines. */
const EXTENSIONS = ['CHUNKING', 'BINARYMIME']

/** Clients that talk before the greeting do so with their first packet. */
const GREETING_DELAY_MS = 1

class LimitedConnection extends ChunkConnection {
  #commands = 0
  #last_command_ms = performance.now()
  /** The command that is being answered. */
  #command: SmtpCommand = 'connect'

  constructor(
    readonly server: ProtocolServer,
    socket: Socket,
    options: ConstructorParameters<typeof SMTPConnection>[2],
    readonly protocol: ProtocolOptions,
  ) {
    super(server, socket, options)
  }

  /** Does what the library does, with a shorter delay. What a client has sent by then is read before the greeting. */
  override init(): void {
    this._setListeners(() => {
      const { connections, options } = this._server
      if (options.maxClients && connections.size > options.maxClients) {
        this.send(421, `${this.name} Too many connected clients, try again in a moment`, false)
      } else {
        setTimeout(() => setImmediate(() => this.connectionReady()), GREETING_DELAY_MS).unref()
      }
    })
  }

  /** True when no message has begun and no reply is due. */
  isIdle(): boolean {
    return !this._handlerPending && !this.session.envelope?.mailFrom
  }

  /** True when the client has brought no message yet. */
  isNew(): boolean {
    return this._transactionCounter === 0
  }

  isSilent(silence_ms: number): boolean {
    return performance.now() - this.#last_command_ms > silence_ms
  }

  hasRested(silence_ms: number): boolean {
    return this.isIdle() && !this.isNew() && this.isSilent(silence_ms)
  }

  override _onCommand(command: Buffer, callback?: () => void): void {
    const line = command.toString('latin1')
    if (!this.isLargeChunk(line)) this.#commands += 1
    this.#command = commandOf(line)
    this.#last_command_ms = performance.now()
    if (this.server.endWhenStopping(this)) return
    if (this.#commands > this.protocol.max_commands * (this._transactionCounter + 1)) {
      this.send(421, '4.7.0 Too many commands')
    } else {
      super._onCommand(command, callback)
    }
  }

  /** Reads an address with a quoted local part (RFC 5321 section 4.1.2): without its quotes where that is the same. */
  override _parseAddressCommand(name: string, command: string | Buffer) {
    const line = command.toString()
    const quoted = QUOTED_LOCAL.exec(line)?.[1]
    if (quoted === undefined) return super._parseAddressCommand(name, command)
    const bare = quoted.slice(1, -1).replace(/\\(.)/g, '$1')
    const parsed = super._parseAddressCommand(name, line.replace(quoted, 'quoted'))
    const local = DOT_ATOM.test(bare) ? bare : quoted
    return parsed && { ...parsed, address: parsed.address.replace('quoted', () => local) }
  }

  override _validateMailParams(parsed: Parsed): ReturnType<ChunkConnection['_validateMailParams']> {
    const { BODY } = parsed.args || {}
    const is_binary = typeof BODY === 'string' && BODY.toUpperCase() === 'BINARYMIME'
    const known = is_binary ? { ...parsed, args: { ...parsed.args, BODY: '8BITMIME' } } : parsed
    return super._validateMailParams(known as Parsed)
  }

  override _rejectInvalidParams(parsed: Parsed, keys: string[], callback: () => void): boolean {
    if (super._rejectInvalidParams(parsed, keys, callback)) return true
    const known = PARAMETERS[this.#command] ?? []
    const unknown = Object.keys(parsed.args || {}).find((name) => !known.includes(name))
    if (unknown === undefined) return false
    this.send(555, 'Error: unknown parameter')
    callback()
    return true
  }

  protected override findChunkRefusal(chunk: ArrivingChunk): Promise<SmtpRefusal | undefined> {
    return this.protocol.chunk(this.session as SMTPServerSession, chunk)
  }

  /** XCLIENT comes once, from a trusted relay: the client that it hands over to must not name another one. */
  override _proxyCommandAllowed(command: string): boolean {
    const is_relay = isInNetworks(this._originalRemoteAddress, this.protocol.relays ?? [])
    return command === 'XCLIENT' && is_relay && !this._xClient.has('ADDR')
  }

  /** The library derives the enhanced code (RFC 3463) from the reply code, unless the text begins with one. */
  override send(code: number, text?: string | string[] | null, context?: string | false): void {
    const shown = Array.isArray(text) && this.#command === 'EHLO' ? [...text, ...EXTENSIONS] : text
    const own_code = typeof text === 'string' && /^[245]\.\d{1,3}\.\d{1,3}(?= )/.exec(text)?.[0]
    if (code >= 400) this.#note(code, String(text), own_code || this._getEnhancedStatusCode(code, context))
    super.send(code, shown, own_code ? false : context)
  }

  /** Reports a refusal. The library sends a second one to a connection that is on its way out. */
  #note(code: number, text: string, enhanced_code: string): void {
    if (this._closing || this._closed) return
    const { remoteAddress: remote_address, session } = this
    const reply = { code, enhanced_code: enhanced_code || null, command: this.#command }
    const note = { ...reply, reason: reasonOf(`${code} ${text}`), remote_address, ...noteOf(session) }
    const { mailFrom } = session.envelope ?? {}
    const sender = mailFrom ? mailFrom.address : ''
    this.protocol.refused(note, {
      id: session.id,
      sender,
      reply: [code, enhanced_code, text].filter(Boolean).join(' '),
    })
  }
}
