/**
 * Reads the header in which a load balancer names its client before the client's first byte: the PROXY protocol,
 * version 1 (text) and version 2 (binary), https://www.haproxy.org/download/3.2/doc/proxy-protocol.txt.
 *
 * Written by hand because smtp-server reads version 1 only.
 */
import { isIP, type Socket } from 'node:net'
import ipaddr from 'ipaddr.js'

export type ProxyHeader = {
  /** Bytes of the header; the bytes of the client follow. */
  size: number
  /**
   * Address of the client. Absent when the connection is the proxy's own, such as a health check, or names no client.
   */
  address?: string
  /** Port of the client. */
  port?: number
}

/** The peer sent something else than a header, or no header in time. */
export class ProxyHeaderError extends Error {}

const V1_PREFIX = Buffer.from('PROXY ')
/** Longest header of version 1, with its line end (section 2.1). */
const V1_MAX = 107
const V1_LINE = /^PROXY (?:UNKNOWN(?: .*)?|TCP[46] ([^\s%]+) \S+ (\d{1,5}) \d{1,5})\r\n/

const V2_SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n')
/** Signature, version and command, family and transport, length of what follows (section 2.2). */
const V2_FIXED = 16
/** Known proxies stay far below: addresses take 36 bytes, an AWS endpoint some 30, a client certificate 2 to 3 KiB. */
const V2_MAX = 4096
const VERSION_2 = 2
const LOCAL = 0
const PROXY = 1
/** Bytes of one address, for TCP over IPv4 and over IPv6; other families and transports cannot carry SMTP. */
const ADDRESS_SIZES: Record<number, number> = { 17: 4, 33: 16 }
const LAST_FAMILY = 3
const LAST_TRANSPORT = 2

/**
 * Parses the header that these bytes begin with; undefined while more of it has to come.
 * @throws ProxyHeaderError as soon as the bytes cannot be the beginning of a header
 */
function parseProxyHeader(bytes: Buffer): ProxyHeader | undefined {
  if (beginsLike(V1_PREFIX, bytes)) return parseVersion1(bytes)
  if (beginsLike(V2_SIGNATURE, bytes)) return parseVersion2(bytes)
  throw new ProxyHeaderError('no PROXY header')
}

/** Compares as many bytes as there are. */
function beginsLike(prefix: Buffer, bytes: Buffer): boolean {
  const size = Math.min(prefix.length, bytes.length)
  return prefix.subarray(0, size).equals(bytes.subarray(0, size))
}

/** Ignores what follows UNKNOWN, as section 2.1 asks. */
function parseVersion1(bytes: Buffer): ProxyHeader | undefined {
  const start = bytes.toString('latin1', 0, V1_MAX)
  if (!start.includes('\n') && bytes.length < V1_MAX) return undefined
  const [line, address, port] = V1_LINE.exec(start) ?? []
  if (!line || (address && !isIP(address))) throw new ProxyHeaderError('bad PROXY header of version 1')
  return { size: line.length, ...(address && { address: plain(address), port: Number(port) }) }
}

/** Skips the fields behind the addresses (TLVs, section 2.2), and with them the checksum, because TCP has its own. */
function parseVersion2(bytes: Buffer): ProxyHeader | undefined {
  if (bytes.length < V2_FIXED) return undefined
  const [version, command] = nibbles(bytes[12]!)
  const [family, transport] = nibbles(bytes[13]!)
  const size = V2_FIXED + bytes.readUInt16BE(14)
  const is_known = command === LOCAL || (command === PROXY && family <= LAST_FAMILY && transport <= LAST_TRANSPORT)
  const address_size = command === PROXY ? (ADDRESS_SIZES[bytes[13]!] ?? 0) : 0
  const ports_at = V2_FIXED + 2 * address_size
  const is_too_short = address_size > 0 && size < ports_at + 4
  if (version !== VERSION_2 || !is_known || is_too_short || size > V2_MAX) {
    throw new ProxyHeaderError('bad PROXY header of version 2')
  }
  if (bytes.length < size) return undefined
  if (address_size === 0) return { size }
  const address = ipaddr.fromByteArray([...bytes.subarray(V2_FIXED, V2_FIXED + address_size)])
  return { size, address: plain(address.toString()), port: bytes.readUInt16BE(ports_at) }
}

function nibbles(byte: number): [high: number, low: number] {
  return [byte >> 4, byte & 15]
}

/** Writes an address in its usual form, IPv4 that is mapped into IPv6 as IPv4. */
function plain(address: string): string {
  return ipaddr.process(address).toString()
}

/**
 * Reads the header of a new connection and leaves the bytes behind it to the next reader.
 * @param done called once, with an error when there is no header, or not in time. The next reader has to take the
 *   socket over within this call: nobody else listens to its errors and its end
 */
export function readProxyHeader(
  socket: Socket,
  timeout_ms: number,
  done: (error: Error | null, header?: ProxyHeader) => void,
): void {
  let bytes: Buffer = Buffer.alloc(0)
  const timer = setTimeout(() => finish(new ProxyHeaderError('no PROXY header in time')), timeout_ms)
  const onClose = () => finish(new Error('closed before its PROXY header'))
  const listeners = { readable: read, error: finish, close: onClose }
  for (const [event, listener] of Object.entries(listeners)) socket.on(event, listener)

  function read() {
    for (let chunk: Buffer | null = socket.read(); chunk !== null; chunk = socket.read()) {
      bytes = Buffer.concat([bytes, chunk])
      try {
        const header = parseProxyHeader(bytes)
        if (!header) continue
        if (bytes.length > header.size) socket.unshift(bytes.subarray(header.size))
        return finish(null, header)
      } catch (error) {
        return finish(error as Error)
      }
    }
  }

  function finish(error: Error | null, header?: ProxyHeader) {
    clearTimeout(timer)
    for (const [event, listener] of Object.entries(listeners)) socket.off(event, listener)
    done(error, header)
  }
}
