/** A receiver that speaks bytes, not HTTP: for answers that no proper server gives. */
import { type AddressInfo, createServer as createPlainServer, type Socket } from 'node:net'
import { createServer as createSecureServer } from 'node:tls'
import { issueCertificate } from './certificates'

/**
 * Listens on loopback; `using` stops it and ends all connections.
 * @param onConnection gets each connection and its number from 1, with TLS after the handshake
 * @param options.tls false for bare TCP
 * @param options.address of loopback, 127.0.0.1 by default
 * @param options.port a free one by default
 */
export async function startRawReceiver(
  onConnection: (socket: Socket, number: number) => void,
  options: { tls?: boolean; address?: string; port?: number } = {},
) {
  const { cert, key } = await issueCertificate()
  const sockets: Socket[] = []
  const accept = (socket: Socket) => {
    sockets.push(socket)
    // A peer that gives up is what these tests are about.
    socket.on('error', () => {})
    onConnection(socket, sockets.length)
  }
  const server = options.tls === false ? createPlainServer(accept) : createSecureServer({ cert, key }, accept)
  server.on('tlsClientError', () => {})
  await new Promise<void>((ready) => server.listen(options.port ?? 0, options.address ?? '127.0.0.1', ready))
  const { port } = server.address() as AddressInfo

  return {
    port,
    url: `https://localhost:${port}/hook`,
    /** Every connection so far. */
    sockets,
    /** Resolves when every connection so far has ended. */
    async closed(): Promise<void> {
      const open = sockets.filter((socket) => !socket.closed)
      await Promise.all(open.map((socket) => new Promise((resolve) => socket.once('close', resolve))))
    },
    [Symbol.dispose]() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Writes `piece` over and over, as fast as the peer reads, until the connection ends. */
export function writeForever(socket: Socket, piece: string): void {
  const write = () => {
    while (!socket.destroyed && socket.write(piece));
  }
  socket.on('drain', write)
  write()
}

/** Writes `text` one byte every 20 ms, then nothing more. */
export function drip(socket: Socket, text: string): void {
  let sent = 0
  const timer = setInterval(() => {
    if (sent === text.length || socket.destroyed) clearInterval(timer)
    else socket.write(text.slice(sent, ++sent))
  }, 20)
}
