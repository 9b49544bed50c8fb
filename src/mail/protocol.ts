/** What the SMTP library leaves to its callers: networks of proxies, a limit of commands, enhanced codes of our own. */
import type { Socket } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { SMTPConnection } from 'smtp-server/lib/smtp-connection.js'
import type { Network } from '../config'
import { isInNetworks } from '../networks'

export type ProtocolLimits = {
  /** Whose connections begin with a PROXY header of version 1. */
  proxies: Network[]
  /** How long such a header may take: a proxy that only looks whether we are alive may send none. */
  proxy_header_ms: number
  /** For each message of a session, refused ones too; the next command is answered 421. */
  max_commands: number
}

/** The library's server with these limits. Extending is its documented way, and the version is pinned. */
export class ProtocolServer extends SMTPServer {
  constructor(
    options: SMTPServerOptions,
    readonly limits: ProtocolLimits,
  ) {
    super(options)
  }

  override connect(socket: Socket, options?: ConstructorParameters<typeof SMTPConnection>[2]): void {
    const connection = new LimitedConnection(this, socket, options, this.limits.max_commands)
    this.connections.add(connection)
    connection.on('error', (error) => this._onError(error))
    connection.on('connect', (data) => this._onClientConnect(data))
    connection.init()
  }

  /** The library takes addresses only; a header of anybody else is a command that it does not know. */
  override _expectsProxyHeader(socket: Socket): boolean {
    return isInNetworks(socket.remoteAddress ?? '', this.limits.proxies)
  }

  override _acceptSocket(socket: Socket, handshake: boolean): (() => void) | false {
    const release = super._acceptSocket(socket, handshake)
    if (!release || !this._expectsProxyHeader(socket)) return release
    const timer = setTimeout(() => socket.destroy(), this.limits.proxy_header_ms)
    return () => {
      clearTimeout(timer)
      release()
    }
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
