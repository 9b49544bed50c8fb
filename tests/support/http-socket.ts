/** HTTP/1.1 over a bare socket: what comes on one connection, and how that connection ends. */
import { connect } from 'node:net'

export type HttpSocket = Disposable & {
  /** Sends bytes as they are. */
  write(bytes: string): void
  /** A request on this connection, and its answer. */
  ask(request: string): Promise<string>
  /** The next whole answer with its head, whose Content-Length counts. Rejects when the connection ends before it. */
  read(): Promise<string>
  /** Resolves to what ended the connection. */
  ended: Promise<'closed' | 'reset'>
}

/** Opens a connection. */
export async function httpSocket(port: number): Promise<HttpSocket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  const { promise: ended, resolve: end } = Promise.withResolvers<'closed' | 'reset'>()
  let unread = ''
  let wake = Promise.withResolvers<void>()
  const notice = (bytes: string) => {
    unread += bytes
    wake.resolve()
    wake = Promise.withResolvers()
  }
  let is_over = false
  const over = (how: 'closed' | 'reset') => {
    is_over = true
    end(how)
    notice('')
  }
  socket.on('data', (bytes) => notice(bytes.toString('latin1')))
  socket.on('end', () => over('closed'))
  socket.on('error', () => over('reset'))
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))

  const read = async () => {
    for (;;) {
      const head = unread.indexOf('\r\n\r\n')
      const length = head + 4 + Number(/^content-length: (\d+)/im.exec(unread.slice(0, head))?.[1] ?? 0)
      if (head >= 0 && unread.length >= length) {
        const answer = unread.slice(0, length)
        unread = unread.slice(length)
        return answer
      }
      if (is_over) throw new Error(`the connection ended, unread: ${JSON.stringify(unread)}`)
      await wake.promise
    }
  }
  return {
    write: (bytes) => void socket.write(bytes),
    ask: (request) => {
      socket.write(`${request}\r\nhost: localhost\r\n\r\n`)
      return read()
    },
    read,
    ended,
    [Symbol.dispose]: () => void socket.destroy(),
  }
}
