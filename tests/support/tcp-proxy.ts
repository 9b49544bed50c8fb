/** A TCP proxy on loopback in front of a database: its network can be cut. */
import { connect, createServer, type Socket } from 'node:net'

export type TcpProxy = Disposable & {
  /** The URL to use instead of the target's. */
  url: string
  /** Breaks all connections, and every new one, until `mend`. */
  cut(): void
  mend(): void
}

/**
 * @param target URL of the server
 * @param join passes on what both ends of a connection say, as far as it shall arrive
 */
export async function startTcpProxy(target: string, join = pipeBoth): Promise<TcpProxy> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let is_cut = false
  const breakAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  const server = createServer((client) => {
    if (is_cut) return void client.destroy()
    const upstream = connect(Number(port), hostname)
    join(client, upstream)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        for (const end of [client, upstream]) end.destroy()
      })
    }
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  const address = server.address()
  const url = new URL(target)
  url.host = `127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
  return {
    url: url.href,
    cut() {
      is_cut = true
      breakAll()
    },
    mend() {
      is_cut = false
    },
    [Symbol.dispose]() {
      server.close()
      breakAll()
    },
  }
}

function pipeBoth(client: Socket, upstream: Socket) {
  client.pipe(upstream)
  upstream.pipe(client)
}
