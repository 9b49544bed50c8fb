/** What the SMTP library leaves to its callers: headers of proxies, a limit of commands, enhanced codes of our own. */
import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server'
import { SMTPConnection } from 'smtp-server/lib/smtp-connection.js'
import type { Network } from '../../config'
import { isInNetworks } from '../../net/networks'
import { type ProxyHeader, ProxyHeaderError, readProxyHeader } from './proxy-header'

export type ProtocolOptions = {
  /** Whose connections begin with a PROXY header. */
  proxies: Network[]
  /** How long such a header may take. */
  proxy_header_ms: number
  /** For each message of a session, refused ones too; the next command is answered 421. */
  max_commands: number
  log: Pick<Logger, 'warn'>
}

/** The library's server with these options. Extending is its documented way, and the version is pinned. */
export class ProtocolServer extends SMTPServer {
  readonly #nameless = new WeakSet<object>()

  constructor(
    options: SMTPServerOptions,
    readonly protocol: ProtocolOptions,
  ) {
    super(options)
  }

  /** Whether a proxy named no client: the session is its own, such as a health check, or the client is unknown. */
  isOfProxy(session: SMTPServerSession): boolean {
    return this.#nameless.has(session)
  }

  override connect(socket: Socket, options?: ConstructorParameters<typeof SMTPConnection>[2]): void {
    const connection = new LimitedConnection(this, socket, options, this.protocol.max_commands)
    if (!options?.remoteAddress && this._expectsProxyHeader(socket)) this.#nameless.add(connection.session)
    this.connections.add(connection)
    connection.on('error', (error) => this._onError(error))
    connection.on('connect', (data) => this._onClientConnect(data))
    connection.init()
  }

  /** The library takes addresses only; a header of anybody else is a command that it does not know. */
  override _expectsProxyHeader(socket: Socket): boolean {
    return isInNetworks(socket.remoteAddress ?? '', this.protocol.proxies)
  }

  /** The library reads version 1 only. */
  override _handleProxy(socket: Socket, callback: Parameters<SMTPServer['_handleProxy']>[1]): void {
    const onHeader = (error: Error | null, header?: ProxyHeader) => {
      if (error) this.#refuse(socket, error)
      callback(error, { id: randomUUID(), remoteAddress: header?.address, remotePort: header?.port })
    }
    if (this._expectsProxyHeader(socket)) readProxyHeader(socket, this.protocol.proxy_header_ms, onHeader)
    else super._handleProxy(socket, callback)
  }

  /** A proxy that only connects, to see whether we are alive, is no fault; one that sends no header may need to be told. */
  #refuse(socket: Socket, error: Error) {
    socket.on('error', () => {})
    if (!(error instanceof ProxyHeaderError)) return void socket.destroy()
    this.protocol.log.warn({ remote_address: socket.remoteAddress }, `smtp connection of a proxy: ${error.message}`)
    socket.write('421 4.7.0 A PROXY header must come first\r\n')
    socket.destroySoon()
  }
}

class LimitedConnection extends SMTPConnection {
  #commands = 0

  constructor(
    server: SMTPServer,
    socket: Socket,
    options: ConstructorParameters<typeof SMTPConnection>[2],
    readonly max_commands: number,
  ) {
    super(server, socket, options)
  }

  override _onCommand(command: Buffer, callback?: () => void): void {
    this.#commands += 1
    if (this.#commands > this.max_commands * (this._transactionCounter + 1)) {
      this.send(421, '4.7.0 Too many commands')
    } else {
      super._onCommand(command, callback)
    }
  }

  /** The library derives the enhanced code (RFC 3463) from the reply code, unless the text begins with one. */
  override send(code: number, text?: string | string[] | null, context?: string | false): void {
    const has_code = typeof text === 'string' && /^[245]\.\d{1,3}\.\d{1,3} /.test(text)
    super.send(code, text, has_code ? false : context)
  }
}
