/** A clamd that speaks INSTREAM, and finds only EICAR. */
import { createServer, type Server, type Socket } from 'node:net'

/** Every scanner takes this text for a virus (https://www.eicar.org). */
export const EICAR = 'X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*'

/** `takes` at most so many bytes of a stream; instead of a verdict it gives an `answer`, or none when that is null. */
export type ClamdWays = { takes?: number; answer?: string | null }

export type TestClamd = Disposable & {
  /** As `CLAMD_HOST` names it. */
  place: string
  /** Sizes of the files that it was given. */
  sizes: number[]
  ways: ClamdWays
}

export async function startClamd(ways: ClamdWays = {}): Promise<TestClamd> {
  const sockets = new Set<Socket>()
  const clamd = { ways, sizes: [] as number[] }
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    serve(socket, clamd)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const stop = () => {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  return Object.assign(clamd, { place: `127.0.0.1:${port}`, [Symbol.dispose]: stop })
}

const COMMAND = Buffer.from('zINSTREAM\0')

function serve(socket: Socket, clamd: { ways: ClamdWays; sizes: number[] }): void {
  let seen: Buffer = Buffer.alloc(0)
  let file: Buffer = Buffer.alloc(0)
  let is_open = false
  const end = (answer: string) => void socket.end(`${answer}\0`)
  socket.on('data', (chunk: Buffer) => {
    seen = Buffer.concat([seen, chunk])
    if (seen.toString('latin1') === 'zPING\0') return end('PONG')
    if (!is_open) {
      if (seen.length < COMMAND.length) return
      if (!seen.subarray(0, COMMAND.length).equals(COMMAND)) return end('UNKNOWN COMMAND')
      is_open = true
      seen = seen.subarray(COMMAND.length)
    }
    while (seen.length >= 4 && seen.length >= 4 + seen.readUInt32BE(0)) {
      const size = seen.readUInt32BE(0)
      file = Buffer.concat([file, seen.subarray(4, 4 + size)])
      seen = seen.subarray(4 + size)
      const { takes = Number.POSITIVE_INFINITY, answer } = clamd.ways
      if (file.length > takes) return end('INSTREAM size limit exceeded. ERROR')
      if (size > 0) continue
      clamd.sizes.push(file.length)
      if (answer === null) return
      end(answer ?? (file.includes(Buffer.from(EICAR)) ? 'stream: Eicar-Signature FOUND' : 'stream: OK'))
    }
  })
}
