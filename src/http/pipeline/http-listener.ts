/**
 * Serves the app over HTTP, or over HTTPS with a certificate that can be replaced while it is served. Bun's server
 * keeps the certificate of its start: `reload({ tls })` has no effect (oven-sh/bun issue 43815), nor has an
 * SNICallback, and the server of `node:https` has no `setSecureContext`. So a second server listens on the same port,
 * gets all new connections, and the first one serves those that it has.
 */
import { once } from 'node:events'
import { createServer } from 'node:net'
import { config } from '../../base/config'
import { log } from '../../base/log'
import { listeningSockets, steerConnections } from '../../base/net/steer'

/** A certificate chain and its key, both in PEM. */
type Certificate = { cert: string; key: string }

/** The parts of the app that the listener needs. */
type App = {
  listen(options: object): unknown
  server: Server | null
  fetch(request: Request): Response | Promise<Response>
}
/** A server of Bun. */
type Server = {
  readonly port: number | undefined
  stop(breaks_off: boolean): Promise<void>
  reload(options: { routes: object; fetch(request: Request): Promise<Response> }): unknown
}

/**
 * Longest silence on an HTTP connection: a request may wait for its first email attempt, an upload for its client. Load
 * balancers keep idle connections for 60 s or less. They must be the first to close one, or they send a request into
 * the end of a connection.
 */
const IDLE_TIMEOUT_S = 120
/** After this time a replaced server has no idle connection left. */
const RETIRE_MS = (IDLE_TIMEOUT_S + 10) * 1000

export class HttpListener {
  readonly #app: App
  /** The servers of the port, in the order of the kernel: see `steerConnections`. */
  readonly #servers: Server[] = []
  #newest: Server | undefined
  #descriptor: number | undefined

  constructor(app: App) {
    this.#app = app
  }

  /** Listens on PORT. @throws the error of the socket, such as `EADDRINUSE` */
  async listen(certificate: Certificate | undefined): Promise<void> {
    // A second service on the same port must fail, not take part of the requests in silence.
    if (certificate && config.PORT > 0) {
      const server = createServer().listen(config.PORT, config.HOST)
      await once(server, 'listening')
      await once(server.close(), 'close')
    }
    this.#add(config.PORT, certificate)
  }

  get port(): number {
    return this.#newest?.port ?? config.PORT
  }

  /**
   * Serves new connections with another certificate. Open ones go on until their next answer, or until they are idle
   * for long.
   */
  replaceCertificate(certificate: Certificate): void {
    const former = this.#newest
    if (!former) return
    this.#add(this.port, certificate)
    former.reload({ routes: {}, fetch: async (request) => closedAfter(await this.#app.fetch(request)) })
    if (this.#steer()) setTimeout(() => this.#retire(former), RETIRE_MS).unref()
    else this.#retire(former)
  }

  /** Ends all servers. @param breaks_off breaks off requests too; else resolves once they are answered */
  async stop(breaks_off: boolean): Promise<void> {
    // From now on a new certificate adds none.
    this.#newest = undefined
    await Promise.all(this.#servers.map((server) => server.stop(breaks_off)))
  }

  #add(port: number, certificate: Certificate | undefined): void {
    const others = new Set(listeningSockets())
    withoutExitHook(() =>
      this.#app.listen({
        port,
        hostname: config.HOST,
        reusePort: certificate !== undefined,
        idleTimeout: IDLE_TIMEOUT_S,
        // The limits are the routes' own, with an answer that says so.
        maxRequestBodySize: Number.MAX_SAFE_INTEGER,
        ...(certificate && { tls: certificate }),
      }),
    )
    this.#newest = this.#app.server!
    this.#servers.push(this.#newest)
    this.#descriptor = listeningSockets().find((descriptor) => !others.has(descriptor))
  }

  /** Leads new connections to the newest server. @returns false when the system cannot do that */
  #steer(): boolean {
    if (this.#descriptor === undefined || !this.#newest) return false
    return steerConnections(this.#descriptor, this.#servers.indexOf(this.#newest))
  }

  #retire(server: Server): void {
    server.stop(false).catch((error) => log.warn({ error }, 'a replaced HTTP server could not be stopped'))
    const index = this.#servers.indexOf(server)
    const last = this.#servers.pop()!
    if (last !== server) this.#servers[index] = last
    this.#steer()
  }
}

/** The server closes a connection itself after an answer with this header. */
function closedAfter(response: Response): Response {
  response.headers.set('connection', 'close')
  return response
}

/**
 * Elysia adds a listener to the process with each `listen`, which keeps former servers in memory. Nothing here needs
 * it.
 */
function withoutExitHook(listen: () => void): void {
  const kept = new Set(process.listeners('beforeExit'))
  listen()
  for (const added of process.listeners('beforeExit')) if (!kept.has(added)) process.off('beforeExit', added)
}
