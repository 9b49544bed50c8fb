/** A TCP relay in front of an SMTP server that reads its answers, so that it knows which messages were accepted. */
import { connect, createServer, type Socket } from 'node:net'

export type CountingRelay = Disposable & {
  port: number
  /** The ids of `250 … queued as <id>`, in order. */
  acknowledged: string[]
  /** Where new connections lead. */
  target: number
}

export async function startCountingRelay(target: number): Promise<CountingRelay> {
  const acknowledged: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect({ host: '127.0.0.1', port: relay.target })
    let line = ''
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
    }
    client.pipe(upstream)
    upstream.on('data', (bytes) => {
      const lines = (line + bytes.toString('latin1')).split('\r\n')
      line = lines.pop()!
      for (const text of lines) {
        const id = /^250 .*queued as (\S+)$/.exec(text)?.[1]
        if (id) acknowledged.push(id)
      }
    })
    upstream.pipe(client)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const relay: CountingRelay = {
    port: typeof address === 'object' && address ? address.port : 0,
    acknowledged,
    target,
    [Symbol.dispose]() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
  return relay
}
