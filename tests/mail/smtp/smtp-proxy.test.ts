/** The PROXY header of load balancers, versions 1 and 2, over real sockets: only trusted proxies may name a client. */
import { afterAll, describe, expect, test } from 'bun:test'
import { networkInterfaces } from 'node:os'
import ipaddr from 'ipaddr.js'
import { until } from '../../support/service'
import { dotStuffed, type SmtpDialog, smtpDialog } from '../../support/smtp'
import { begin, closeListeners, MESSAGE, proxied, start } from '../../support/smtp-listener'

afterAll(closeListeners)

const LOOPBACK = ipaddr.parseCIDR('127.0.0.0/8')
const ANYBODY = [ipaddr.parseCIDR('0.0.0.0/0'), ipaddr.parseCIDR('::/0')]

const SIGNATURE = Buffer.from('0d0a0d0a000d0a515549540a', 'hex')
const [LOCAL, PROXY] = [0x20, 0x21]
const [UNSPEC, TCP4, UDP4, TCP6, UNIX] = [0x00, 0x11, 0x12, 0x21, 0x31]

/** Fields that AWS adds: the id of the endpoint (type 0xEA), and padding (type 4). */
const TLVS = Buffer.concat([
  Buffer.from([0xea, 0, 23, 1]),
  Buffer.from('vpce-08d2bf15fac5001c9'),
  Buffer.from([4, 0, 3, 0, 0, 0]),
])

/** A header of version 2. @param length the length that it declares; the true one by default */
function version2(command: number, family: number, body: Buffer = Buffer.alloc(0), length = body.length): Buffer {
  return Buffer.concat([SIGNATURE, Buffer.from([command, family, length >> 8, length & 255]), body])
}

/** Client, own address, and the ports 40000 and 25. */
function addresses(client: string, own: string): Buffer {
  const bytes = [client, own].flatMap((address) => ipaddr.parse(address).toByteArray())
  return Buffer.from([...bytes, 0x9c, 0x40, 0, 25])
}

const FROM_IPV4 = version2(PROXY, TCP4, addresses('192.0.2.77', '198.51.100.1'))
const FROM_IPV6 = version2(PROXY, TCP6, addresses('2001:db8::77', '2001:db8::1'))
const WITH_TLVS = version2(PROXY, TCP4, Buffer.concat([addresses('192.0.2.77', '198.51.100.1'), TLVS]))
const TEXT = Buffer.from('PROXY TCP4 192.0.2.77 198.51.100.1 40000 25\r\n')

/** Headers, and the client that each names; the proxy itself when it names none. */
const HEADERS: [string, Buffer, string][] = [
  ['version 1, IPv4', TEXT, '192.0.2.77'],
  ['version 1, IPv6', Buffer.from('PROXY TCP6 2001:DB8:0::77 2001:db8::1 40000 25\r\n'), '2001:db8::77'],
  ['version 1, mapped', Buffer.from('PROXY TCP6 ::ffff:192.0.2.77 ::ffff:198.51.100.1 1 25\r\n'), '192.0.2.77'],
  ['version 1, unknown', Buffer.from('PROXY UNKNOWN\r\n'), '127.0.0.1'],
  ['version 1, unknown with more', Buffer.from('PROXY UNKNOWN 192.0.2.77 198.51.100.1 1 25\r\n'), '127.0.0.1'],
  ['version 2, IPv4', FROM_IPV4, '192.0.2.77'],
  ['version 2, IPv6', FROM_IPV6, '2001:db8::77'],
  ['version 2, mapped', version2(PROXY, TCP6, addresses('::ffff:192.0.2.77', '::ffff:198.51.100.1')), '192.0.2.77'],
  ['version 2 with TLVs', WITH_TLVS, '192.0.2.77'],
  ['version 2 of 4096 bytes', version2(PROXY, TCP4, Buffer.alloc(4080, 192)), '192.192.192.192'],
  ['version 2, local', version2(LOCAL, UNSPEC), '127.0.0.1'],
  ['version 2, local with more', version2(LOCAL, TCP4, addresses('192.0.2.77', '198.51.100.1')), '127.0.0.1'],
  ['version 2, local of an unknown family', version2(LOCAL, 0xff, TLVS), '127.0.0.1'],
  ['version 2, unspecified', version2(PROXY, UNSPEC, TLVS), '127.0.0.1'],
  ['version 2, datagrams', version2(PROXY, UDP4, addresses('192.0.2.77', '198.51.100.1')), '127.0.0.1'],
  ['version 2, UNIX', version2(PROXY, UNIX, Buffer.alloc(216, 'x')), '127.0.0.1'],
]

describe.concurrent('a PROXY header of a trusted proxy', () => {
  test('names the client, and what follows it is the client', async () => {
    const server = await start({ proxies: [LOOPBACK] })
    for (const [name, header, address] of HEADERS) {
      using dialog = await smtpDialog(server.port)
      dialog.write(header)
      expect([name, (await dialog.read()).slice(0, 3)]).toEqual([name, '220'])
      expect([name, await sendHello(dialog)]).toEqual([name, '250'])
      expect([name, server.stored.at(-1)?.envelope.remote_address]).toEqual([name, address])
    }
  })

  test('may come in pieces', async () => {
    const server = await start({ proxies: [LOOPBACK], proxy_header_ms: 60_000 })
    const sendInPieces = async (header: Buffer, size: number) => {
      using dialog = await smtpDialog(server.port)
      for (let at = 0; at < header.length; at += size) {
        dialog.write(header.subarray(at, at + size))
        await Bun.sleep(1)
      }
      expect(await dialog.read()).toStartWith('220')
      expect(await sendHello(dialog)).toBe('250')
    }
    const pieces = [TEXT, WITH_TLVS, FROM_IPV6].flatMap((header) => [1, 7, 15].map((size) => ({ header, size })))
    await Promise.all(pieces.map(({ header, size }) => sendInPieces(header, size)))
    const found = server.stored.map(({ envelope }) => envelope.remote_address)
    expect(found.sort()).toEqual([...Array(6).fill('192.0.2.77'), ...Array(3).fill('2001:db8::77')])
  })

  test('leaves a client that talks with it, or after it, before the greeting, to be sent away', async () => {
    const server = await start({ proxies: [LOOPBACK] })
    for (const header of [TEXT, FROM_IPV4, WITH_TLVS, version2(LOCAL, UNSPEC)]) {
      const { dialog, greeting } = await begin(server.port, Buffer.concat([header, Buffer.from('EHLO early\r\n')]))
      expect(greeting).toStartWith('421')
      await dialog.closed
    }
    const twice = await begin(server.port, Buffer.concat([FROM_IPV4, FROM_IPV6]))
    expect(twice.greeting).toStartWith('421')
    expect(server.stored).toEqual([])
  })

  test('that is none, or a broken one, ends the connection, with the reason for the log', async () => {
    const details: unknown[] = []
    const server = await start({ proxies: [LOOPBACK], refused: ({ detail }) => details.push(detail) })
    for (const [name, bytes, reason] of BROKEN) {
      const { dialog, greeting } = await begin(server.port, bytes)
      expect([name, greeting]).toEqual([name, '421 4.7.0 A PROXY header must come first'])
      await dialog.closed
      expect([name, details.at(-1)]).toEqual([name, reason])
    }
    expect(details).toHaveLength(BROKEN.length)
    expect((await begin(server.port, FROM_IPV4)).greeting).toStartWith('220')
  })

  test('that does not come in time, or not to its end, ends the connection', async () => {
    const server = await start({ proxies: [LOOPBACK], proxy_header_ms: 200 })
    const starts = [...Array(FROM_IPV6.length).keys()].map((size) => FROM_IPV6.subarray(0, size))
    const lying = version2(PROXY, TCP4, addresses('192.0.2.77', '198.51.100.1'), 4000)
    const waiting = [...starts, TEXT.subarray(0, 20), lying].map((bytes) => begin(server.port, bytes))
    for (const { dialog, greeting } of await Promise.all(waiting)) {
      expect(greeting).toStartWith('421')
      await dialog.closed
    }
  })

  test('that is cut off at any byte leaves nothing behind', async () => {
    const server = await start({ proxies: [LOOPBACK], max_clients: 2 })
    for (const header of [TEXT, WITH_TLVS]) {
      for (let size = 0; size <= header.length; size++) {
        const dialog = await smtpDialog(server.port)
        dialog.write(header.subarray(0, size))
        if (size % 2) dialog.socket().end()
        else dialog.destroy()
        await dialog.closed
        // One that waits for its header, or has a session, would take one of the two places.
        if (size % 10 === 0) await until('there is room', async () => (await greet(server.port)).startsWith('220'))
      }
    }
    await server.close({ timeout_ms: 0 })
  })
})

const BROKEN: [string, Buffer, string][] = [
  ['a client without a proxy', Buffer.from('EHLO client.test\r\n'), 'no PROXY header'],
  ['nothing like a header', Buffer.from('\r\nPROXY TCP4 192.0.2.1 198.51.100.1 1 25\r\n'), 'no PROXY header'],
  ['in small letters', Buffer.from('proxy TCP4 192.0.2.1 198.51.100.1 1 25\r\n'), 'no PROXY header'],
  ['a signature with a wrong end', Buffer.concat([SIGNATURE.subarray(0, 11), Buffer.from('!')]), 'no PROXY header'],
  ...[
    'PROXY TCP4 evil.example 198.51.100.1 1 25\r\n',
    'PROXY TCP4 192.0.2.1\r\n',
    'PROXY TCP4\r\n',
    'PROXY TCP4 192.0.2.300 198.51.100.1 1 25\r\n',
    'PROXY TCP6 fe80::1%eth0 2001:db8::1 1 25\r\n',
    'PROXY UDP4 192.0.2.1 198.51.100.1 1 25\r\n',
    'PROXY TCP4 192.0.2.1 198.51.100.1 1 25\n',
    'PROXY TCP4  192.0.2.1 198.51.100.1 1 25\r\n',
    'PROXY \r\n',
    `PROXY UNKNOWN ${'x'.repeat(200)}\r\n`,
    'PROXY '.repeat(500),
  ].map((text): [string, Buffer, string] => [text, Buffer.from(text), 'bad PROXY header of version 1']),
  ...[
    version2(0x11, TCP4, addresses('192.0.2.77', '198.51.100.1')),
    version2(0x31, TCP4, addresses('192.0.2.77', '198.51.100.1')),
    version2(0x22, TCP4, addresses('192.0.2.77', '198.51.100.1')),
    version2(PROXY, 0x41, Buffer.alloc(12)),
    version2(PROXY, 0x13, Buffer.alloc(12)),
    version2(PROXY, TCP4, Buffer.alloc(11)),
    version2(PROXY, TCP4),
    version2(PROXY, TCP6, addresses('192.0.2.77', '198.51.100.1')),
    version2(PROXY, TCP6, Buffer.alloc(35)),
    version2(PROXY, TCP4, addresses('192.0.2.77', '198.51.100.1'), 4),
    version2(PROXY, TCP4, Buffer.alloc(4081)),
    version2(PROXY, TCP4, addresses('192.0.2.77', '198.51.100.1'), 0xffff),
    version2(LOCAL, UNSPEC, Buffer.alloc(0), 0xffff),
    Buffer.concat([SIGNATURE, Buffer.alloc(5000, 'x')]),
  ].map((bytes): [string, Buffer, string] => [bytes.toString('hex', 0, 60), bytes, 'bad PROXY header of version 2']),
]

describe.concurrent('proxies', () => {
  test('that only connect, or break off, are neither a fault nor in the way', async () => {
    const lines: unknown[] = []
    const log = { debug() {}, error: (line: unknown) => lines.push(line), warn: (line: unknown) => lines.push(line) }
    const server = await start({ proxies: [LOOPBACK], log })
    for (const bytes of ['', 'PROXY TC', FROM_IPV4.subarray(0, 14), version2(LOCAL, UNSPEC)]) {
      const check = await smtpDialog(server.port)
      check.write(bytes)
      check.socket().end()
      await check.closed
    }
    expect((await proxied(server.port, '192.0.2.1')).greeting).toStartWith('220')
    expect(lines).toEqual([])
  })

  test('have no share of one address for checks and for clients that they do not name', async () => {
    const host = ownAddress()
    const server = await start({ host: '0.0.0.0', proxies: ANYBODY, max_clients_per_address: 1 })
    const connect = async (header: Buffer) => {
      const dialog = await smtpDialog(server.port, host)
      dialog.write(header)
      return (await dialog.read()).slice(0, 3)
    }
    for (const header of [version2(LOCAL, UNSPEC), version2(LOCAL, UNSPEC), Buffer.from('PROXY UNKNOWN\r\n')]) {
      expect(await connect(header)).toBe('220')
    }
    // The address in the header is a client, whatever its network is.
    const named = version2(PROXY, TCP4, addresses('10.0.0.1', '198.51.100.1'))
    expect([await connect(named), await connect(named)]).toEqual(['220', '421'])
  })
})

describe.concurrent('a PROXY header of a stranger', () => {
  test.each([
    ['version 1', TEXT],
    ['version 2', FROM_IPV4],
  ])('is never believed: %s', async (_, header) => {
    const server = await start({ proxies: [ipaddr.parseCIDR('10.0.0.0/8')] })
    const early = await begin(server.port, header)
    expect(early.greeting).toStartWith('421')
    using late = await smtpDialog(server.port)
    await late.read()
    late.write(header)
    expect(await late.read()).toStartWith('500')
    late.destroy()
    using client = await smtpDialog(server.port)
    await client.read()
    expect(await sendHello(client)).toBe('250')
    expect(server.stored.map(({ envelope }) => envelope.remote_address)).toEqual(['127.0.0.1'])
  })

  test('that comes after that of a proxy is a command that nobody knows', async () => {
    const server = await start({ proxies: [LOOPBACK] })
    const { dialog } = await begin(server.port, FROM_IPV4)
    dialog.write(FROM_IPV6)
    expect(await dialog.read()).toStartWith('500')
    await dialog.closed
  })
})

/** The first reply behind a good header. */
async function greet(port: number): Promise<string> {
  const { dialog, greeting } = await begin(port, FROM_IPV4)
  dialog.destroy()
  return greeting
}

/** Sends a message in a session that was greeted, and gives the code of the last reply. */
async function sendHello(dialog: SmtpDialog): Promise<string> {
  for (const line of ['EHLO c', 'MAIL FROM:<ann@example.test>', 'RCPT TO:<help@example.com>', 'DATA']) {
    await dialog.command(line)
  }
  dialog.write(dotStuffed(MESSAGE))
  return (await dialog.read()).slice(0, 3)
}

/** An address of this machine that is not loopback; loopback when it has no other. */
function ownAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  return all.find(({ internal, family }) => !internal && family === 'IPv4')?.address ?? '127.0.0.1'
}
