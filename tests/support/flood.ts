/**
 * A program of many clients at once, apart from the test that watches the service meanwhile.
 * Usage: flood.ts <kind> <port> <clients> [token ...]. Prints how many clients got which status; 0 stands for no answer.
 */
import { connect, type Socket } from 'node:net'

const [kind = '', port = '', count = '', ...tokens] = process.argv.slice(2)
const CONTENT = Buffer.alloc(24e6, 'x')
const PIECE_BYTES = 256 * 1024

const KINDS: Record<string, (index: number) => Promise<number>> = { uploads: upload }

const statuses: Record<string, number> = {}
await Promise.all(
  Array.from({ length: Number(count) }, async (_, index) => {
    const status = await KINDS[kind]!(index)
    statuses[status] = (statuses[status] ?? 0) + 1
  }),
)
console.log(JSON.stringify(statuses))

async function upload(index: number): Promise<number> {
  const socket = await open()
  const status = statusOf(socket)
  const head = '--b\r\ncontent-disposition: form-data; name="file"; filename="large.bin"\r\n\r\n'
  const tail = '\r\n--b--\r\n'
  socket.write(
    `POST /api/v1/attachments HTTP/1.1\r\nhost: localhost\r\nauthorization: ApiKey ${tokens[index % tokens.length]}\r\n` +
      `content-type: multipart/form-data; boundary=b\r\n` +
      `content-length: ${head.length + CONTENT.length + tail.length}\r\n\r\n${head}`,
  )
  for (let start = 0; start < CONTENT.length && !socket.destroyed; start += PIECE_BYTES) {
    const is_taken = socket.write(CONTENT.subarray(start, start + PIECE_BYTES))
    if (!is_taken) await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), status])
  }
  socket.write(tail)
  const result = await status
  socket.destroy()
  return result
}

function statusOf(socket: Socket): Promise<number> {
  let answer = ''
  return new Promise((resolve) => {
    socket.on('data', (bytes) => {
      answer += bytes.toString('latin1')
      if (answer.includes('\r\n')) resolve(Number(answer.slice(9, 12)))
    })
    socket.on('close', () => resolve(0))
  })
}

async function open(): Promise<Socket> {
  const socket = connect({ port: Number(port), host: '127.0.0.1' })
  socket.on('error', () => {})
  await new Promise<void>((resolve) => socket.once('connect', resolve).once('close', resolve))
  return socket
}
