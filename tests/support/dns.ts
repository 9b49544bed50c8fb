/** A DNS server for tests (RFC 1035): answers from a table over UDP, long answers over TCP, and can be silent. */
import { createSocket } from 'node:dgram'
import { type AddressInfo, createServer, isIPv4 } from 'node:net'

/**
 * Texts of TXT records, addresses of A records, and hosts of MX and PTR records, by name. Silent: the name is never
 * answered.
 * The name `*` stands for all that are not listed, the root too.
 */
export type Zone = Record<string, { TXT?: string[]; A?: string[]; MX?: string[]; PTR?: string[] } | 'silent' | 'fails'>

export type TestDns = Disposable & {
  /** As DNS_SERVERS holds it. */
  address: string
  /** Adds names, or replaces what they have. */
  add: (zone: Zone) => void
  /** Names that were asked for, with their type, in order. */
  asked: string[]
  /** Answers nothing at all from now on. */
  die: () => void
}

const TYPES: Record<number, 'A' | 'MX' | 'PTR' | 'TXT'> = { 1: 'A', 12: 'PTR', 15: 'MX', 16: 'TXT' }
const NO_SUCH_NAME = 3
const SERVER_FAILURE = 2
const MAX_UDP_BYTES = 1232

/** Starts a server on a free port of loopback. */
export async function startDns(zone: Zone = {}): Promise<TestDns> {
  const names = new Map(Object.entries(zone))
  const find = (name: string) => names.get(name) ?? names.get('*')
  const asked: string[] = []
  let is_dead = false
  const socket = createSocket('udp4')
  // The kernel reports here that an asker has gone before its answer came.
  socket.on('error', () => {})
  socket.on('message', (query, { port, address }) => {
    const { name, type, end } = readQuestion(query)
    asked.push(`${name} ${TYPES[type] ?? type}`)
    const entry = find(name)
    if (is_dead || entry === 'silent') return
    const whole = answer(query.subarray(0, end), type, entry)
    socket.send(whole.length > MAX_UDP_BYTES ? cut(whole, end) : whole, port, address)
  })
  const server = createServer((client) => {
    client.on('error', () => {})
    client.on('data', (bytes: Buffer) => {
      const query = bytes.subarray(2)
      const { name, type, end } = readQuestion(query)
      asked.push(`${name} ${TYPES[type] ?? type} over TCP`)
      const whole = answer(query.subarray(0, end), type, find(name))
      const length = Buffer.alloc(2)
      length.writeUInt16BE(whole.length)
      client.end(Buffer.concat([length, whole]))
    })
  })
  // TCP chooses the port: outgoing connections of TCP hold many, those of UDP few.
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise<void>((resolve) => socket.bind(port, '127.0.0.1', resolve))
  return {
    address: `127.0.0.1:${socket.address().port}`,
    add: (more) => {
      for (const [name, entry] of Object.entries(more)) names.set(name, entry)
    },
    asked,
    die: () => {
      is_dead = true
    },
    [Symbol.dispose]: () => {
      socket.close()
      server.close()
    },
  }
}

function readQuestion(query: Buffer) {
  const labels: string[] = []
  let at = 12
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += length + 1
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

/** @param question header and question of the query, which the answer repeats */
function answer(question: Buffer, type: number, entry: Zone[string] | undefined): Buffer {
  const kind = TYPES[type]
  const values = entry && entry !== 'silent' && entry !== 'fails' && kind ? (entry[kind] ?? []) : []
  const code = entry === 'fails' ? SERVER_FAILURE : entry ? 0 : NO_SUCH_NAME
  const header = Buffer.from(question)
  header.writeUInt16BE(0x8180 | code, 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(values.length, 6)
  header.writeUInt32BE(0, 8)
  return Buffer.concat([header, ...values.map((value) => record(type, dataOf(type, value)))])
}

/** The answer without its records, marked as truncated. @param end of the question */
function cut(whole: Buffer, end: number): Buffer {
  const short = Buffer.from(whole.subarray(0, end))
  short.writeUInt16BE(short.readUInt16BE(2) | 0x0200, 2)
  short.writeUInt16BE(0, 6)
  return short
}

/** The name is a pointer to the question. */
function record(type: number, data: Buffer): Buffer {
  const head = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, data.length >> 8, data.length & 255])
  return Buffer.concat([head, data])
}

function dataOf(type: number, value: string): Buffer {
  if (TYPES[type] === 'A' && isIPv4(value)) return Buffer.from(value.split('.').map(Number))
  if (TYPES[type] === 'MX') return Buffer.concat([Buffer.from([0, 10]), nameOf(value)])
  if (TYPES[type] === 'PTR') return nameOf(value)
  const pieces = value.match(/.{1,255}/g) ?? ['']
  return Buffer.concat(pieces.map((piece) => Buffer.concat([Buffer.from([piece.length]), Buffer.from(piece)])))
}

function nameOf(host: string): Buffer {
  const labels = host.split('.').map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)]))
  return Buffer.concat([...labels, Buffer.from([0])])
}
