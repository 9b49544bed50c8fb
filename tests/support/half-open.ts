/** A connection to PostgreSQL that goes deaf while a process listens on it: it stays open, and nothing more arrives. */
import { connect, createServer, type Socket } from 'node:net'

/**
 * Starts a proxy on loopback.
 * @param target where the server is
 * @returns the URL to use instead, and how many connections are deaf
 */
export async function startDeafProxy(target: string) {
  const { hostname, port } = new URL(target)
  const sockets: Socket[] = []
  let deaf = 0
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    let is_deaf = false
    client.on('data', (bytes) => {
      upstream.write(bytes)
      if (is_deaf || !bytes.toString('latin1').toLowerCase().includes('listen "')) return
      is_deaf = true
      deaf++
    })
    upstream.on('data', (bytes) => {
      if (!is_deaf) client.write(bytes)
    })
    for (const socket of [client, upstream]) {
      sockets.push(socket)
      socket.on('error', () => {})
      socket.on('close', () => [client, upstream].forEach((end) => void end.destroy()))
    }
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  const address = server.address()
  const url = new URL(target)
  url.host = `127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
  return {
    url: url.href,
    deaf: () => deaf,
    [Symbol.dispose]() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
