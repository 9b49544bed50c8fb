/**
 * A program of many clients at once, apart from the test that watches the service meanwhile. Usage: flood.ts <kind>
 * <port> <clients> [API key ...]. Prints how many clients got which status; 0 stands for no answer.
 */
import { connect, type Socket } from 'node:net'

const [kind = '', port = '', count = '', ...tokens] = process.argv.slice(2)
const CONTENT = Buffer.alloc(24e6, 'x')
const PIECE_BYTES = 256 * 1024
/** How long clients stay that wait for nothing. */
const STAY_MS = 15_000

const KINDS: Record<string, (index: number) => Promise<number>> = {
  uploads: upload,
  'slow bodies': (index) => slowBody(index, () => new Promise(() => {})),
  'bodies that break off': (index) => slowBody(index, () => Bun.sleep(1000)),
  'whole bodies': wholeBody,
  'slow headers': slowHeaders,
  'clients that do not read': async () =>
    stay(await open(), 'GET /swagger/json HTTP/1.1\r\nhost: localhost\r\n\r\n'.repeat(5)),
  'idle connections': async () => stay(await open(), ''),
  'idle SMTP connections': idleSmtp,
  mails: mail,
}

const statuses: Record<string, number> = {}
await Promise.all(
  Array.from({ length: Number(count) }, async (_, index) => {
    const status = await KINDS[kind]!(index)
    statuses[status] = (statuses[status] ?? 0) + 1
  }),
)
console.log(JSON.stringify(statuses))
process.exit()

async function upload(index: number): Promise<number> {
  const socket = await open()
  const status = statusOf(socket)
  const head = '--b\r\ncontent-disposition: form-data; name="file"; filename="large.bin"\r\n\r\n'
  const tail = '\r\n--b--\r\n'
  socket.write(`${headOf(index)}content-length: ${head.length + CONTENT.length + tail.length}\r\n\r\n${head}`)
  await writeAll(socket, CONTENT, status)
  socket.write(tail)
  const result = await status
  socket.destroy()
  return result
}

async function writeAll(socket: Socket, bytes: Buffer, ended: Promise<unknown>): Promise<void> {
  for (let start = 0; start < bytes.length && !socket.destroyed; start += PIECE_BYTES) {
    const is_taken = socket.write(bytes.subarray(start, start + PIECE_BYTES))
    if (!is_taken) await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), ended])
  }
}

function headOf(index: number): string {
  return (
    `POST /api/v1/attachments HTTP/1.1\r\nhost: localhost\r\nauthorization: ApiKey ${tokens[index % tokens.length]}\r\n` +
    `content-type: multipart/form-data; boundary=b\r\n`
  )
}

/** Sends a byte each second until the answer, or until `end`. */
async function slowBody(index: number, end: () => Promise<void>): Promise<number> {
  const socket = await open()
  const status = statusOf(socket)
  socket.write(`${headOf(index)}content-length: 1000000\r\n\r\n--b\r\n`)
  const drip = setInterval(() => socket.write('x'), 1000)
  const result = await Promise.race([status, end().then(() => 0)])
  clearInterval(drip)
  socket.destroy()
  return result
}

/** A small body. */
async function wholeBody(index: number): Promise<number> {
  const socket = await open()
  const body = '--b\r\ncontent-disposition: form-data; name="file"; filename="small.txt"\r\n\r\nsmall\r\n--b--\r\n'
  socket.write(`${headOf(index)}content-length: ${body.length}\r\n\r\n${body}`)
  const result = await statusOf(socket)
  socket.destroy()
  return result
}

async function slowHeaders(): Promise<number> {
  const socket = await open()
  socket.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n')
  const drip = setInterval(() => socket.write('x: y\r\n'), 1000)
  const result = await statusOf(socket)
  clearInterval(drip)
  return result
}

/** Writes, reads nothing, and leaves after a while. */
async function stay(socket: Socket, text: string): Promise<number> {
  socket.pause()
  if (text) socket.write(text)
  await Bun.sleep(STAY_MS)
  socket.destroy()
  return 0
}

async function idleSmtp(): Promise<number> {
  const socket = await open()
  const status = await lineOf(socket)
  await Bun.sleep(STAY_MS)
  socket.destroy()
  return status
}

/** An email of 24 MB with one file. */
async function mail(): Promise<number> {
  const socket = await open()
  const ask = async (text: string) => {
    const answer = lineOf(socket)
    socket.write(`${text}\r\n`)
    return answer
  }
  await lineOf(socket)
  for (const line of [
    'HELO client.test',
    'MAIL FROM:<carla@customer.example>',
    'RCPT TO:<support@desk.example>',
    'DATA',
  ]) {
    await ask(line)
  }
  socket.write('From: carla@customer.example\r\nSubject: Large\r\nContent-Type: video/mp4\r\n')
  socket.write('Content-Transfer-Encoding: base64\r\n\r\n')
  const status = lineOf(socket)
  await writeAll(socket, Buffer.from(`${'A'.repeat(74)}\r\n`.repeat(24e6 / 76)), status)
  socket.write('.\r\n')
  const result = await status
  socket.destroy()
  return result
}

/** The code of the next line; 0 when the connection ends before. */
function lineOf(socket: Socket): Promise<number> {
  return new Promise((resolve) => {
    socket.once('data', (bytes) => resolve(Number(bytes.toString('latin1').slice(0, 3))))
    socket.once('close', () => resolve(0))
  })
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
