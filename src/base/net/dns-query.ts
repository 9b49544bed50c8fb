/**
 * Asks one DNS server one question (RFC 1035): over UDP, and over TCP when the answer is too long for UDP.
 *
 * dns-packet reads and writes the messages. The resolver of the runtime does not serve: Bun 1.4.5 gives the parts of a
 * long TXT record as several records (oven-sh/bun#21370), and every DKIM key of 2048 bits is such a record: "mail of a
 * signature of its own domain" in tests/mail/sender/sender-checks.test.ts. It hides the time to live, too.
 */
import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { connect, isIPv6 } from 'node:net'
import { type DecodedPacket, type Answer as DnsRecord, decode, encode, type OptAnswer, type Packet } from 'dns-packet'

export type DnsServer = { address: string; port: number }

/** Records as node:dns gives them, and the seconds that they hold; or a code of node:dns. */
export type DnsAnswer = { records: unknown[]; ttl_s: number } | { code: string }

const TYPES = ['A', 'AAAA', 'CNAME', 'MX', 'NS', 'PTR', 'TXT'] as const
export type RecordType = (typeof TYPES)[number]

const MAX_NAME = 253
const MAX_LABEL = 63
/** Bytes of an answer that pass every network in one piece. */
const UDP_BYTES = 1232
const MAX_ID = 65_536
/** Bytes that tell the length of a message over TCP. */
const LENGTH_BYTES = 2
const CODES: Record<string, string> = { NOERROR: 'ENODATA', NXDOMAIN: 'ENOTFOUND', REFUSED: 'EREFUSED' }

/** Never rejects: a server that does not answer in time is `ETIMEOUT`. @param name that `isName` accepts */
export async function askServer(
  server: DnsServer,
  name: string,
  type: RecordType,
  timeout_ms: number,
): Promise<DnsAnswer> {
  const ends_at = performance.now() + timeout_ms
  const question = questionFor(name, type)
  try {
    const short = await overUdp(server, question, timeout_ms)
    const packet = short.flag_tc ? await overTcp(server, question, ends_at - performance.now()) : short
    return answerOf(packet, type)
  } catch {
    return { code: 'ETIMEOUT' }
  }
}

/** True for a name that can exist (RFC 1035, section 2.3.4). */
export function isName(name: string): boolean {
  const lengths = name.split('.').map((label) => Buffer.byteLength(label))
  return name === '.' || (Buffer.byteLength(name) <= MAX_NAME && lengths.every((size) => size > 0 && size <= MAX_LABEL))
}

export function isRecordType(type: string): type is RecordType {
  return TYPES.some((known) => known === type)
}

function questionFor(name: string, type: RecordType): Packet & { id: number } {
  const edns: OptAnswer = {
    type: 'OPT',
    name: '.',
    udpPayloadSize: UDP_BYTES,
    extendedRcode: 0,
    ednsVersion: 0,
    flags: 0,
    flag_do: false,
    options: [],
  }
  return { type: 'query', id: randomInt(MAX_ID), flags: 256, questions: [{ type, name }], additionals: [edns] }
}

/** A socket for each question, so that its port cannot be guessed. */
function overUdp(server: DnsServer, question: Packet & { id: number }, timeout_ms: number): Promise<DecodedPacket> {
  const { promise, resolve, reject } = Promise.withResolvers<DecodedPacket>()
  const socket = createSocket(isIPv6(server.address) ? 'udp6' : 'udp4')
  const timer = setTimeout(() => reject(new Error('no answer')), timeout_ms)
  socket.on('error', reject)
  socket.on('message', (bytes) => {
    const packet = readAnswer(bytes, question)
    if (packet) resolve(packet)
  })
  socket.connect(server.port, server.address, () => socket.send(encode(question)))
  return promise.finally(() => {
    clearTimeout(timer)
    socket.close()
  })
}

function overTcp(server: DnsServer, question: Packet & { id: number }, timeout_ms: number): Promise<DecodedPacket> {
  const { promise, resolve, reject } = Promise.withResolvers<DecodedPacket>()
  const socket = connect({ host: server.address, port: server.port })
  const timer = setTimeout(() => reject(new Error('no answer')), Math.max(timeout_ms, 0))
  let bytes = Buffer.alloc(0)
  socket.on('error', reject)
  socket.on('close', () => reject(new Error('closed')))
  socket.on('connect', () => {
    const message = encode(question)
    const length = Buffer.alloc(LENGTH_BYTES)
    length.writeUInt16BE(message.length)
    socket.write(Buffer.concat([length, message]))
  })
  socket.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk])
    if (bytes.length < LENGTH_BYTES || bytes.length < LENGTH_BYTES + bytes.readUInt16BE(0)) return
    const packet = readAnswer(bytes.subarray(LENGTH_BYTES, LENGTH_BYTES + bytes.readUInt16BE(0)), question)
    if (packet) resolve(packet)
    else reject(new Error('not an answer'))
  })
  return promise.finally(() => {
    clearTimeout(timer)
    socket.destroy()
  })
}

/** Gives the answer to this question; undefined for anything else. */
function readAnswer(bytes: Buffer, { id, questions = [] }: Packet & { id: number }): DecodedPacket | undefined {
  try {
    const packet = decode(bytes)
    const [asked, answered] = [questions[0], packet.questions?.[0]]
    const is_same = answered?.type === asked?.type && answered?.name.toLowerCase() === asked?.name.toLowerCase()
    return packet.type === 'response' && packet.id === id && is_same ? packet : undefined
  } catch {
    return undefined
  }
}

function answerOf(packet: DecodedPacket, type: RecordType): DnsAnswer {
  const { rcode } = packet as { rcode?: string }
  const answers = (packet.answers ?? []).filter((answer) => answer.type === type)
  if (rcode !== 'NOERROR' || answers.length === 0) return { code: CODES[rcode ?? ''] ?? 'ESERVFAIL' }
  const ttl_s = Math.min(...answers.map((answer) => ('ttl' in answer ? (answer.ttl ?? 0) : 0)))
  return { records: answers.map(recordOf), ttl_s }
}

function recordOf(answer: DnsRecord): unknown {
  if (answer.type === 'TXT') return [answer.data].flat().map((part) => part.toString())
  if (answer.type === 'MX') return { exchange: answer.data.exchange, priority: answer.data.preference ?? 0 }
  return 'data' in answer ? answer.data : undefined
}
