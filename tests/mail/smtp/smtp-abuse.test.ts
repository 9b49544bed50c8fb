/** Hostile and broken clients over real sockets: the listener stays up, within its limits, and serves others. */
import { afterAll, describe, expect, test } from 'bun:test'
import path from 'node:path'
import ipaddr from 'ipaddr.js'
import type { Network } from '../../../src/base/address/networks'
import { until } from '../../support/service'
import { dotStuffed, type SmtpDialog, sendMail, smtpDialog } from '../../support/smtp'
import {
  begin,
  certificate,
  closeListeners,
  expectService,
  MESSAGE,
  proxied,
  readAll,
  start,
  startMessage,
} from '../../support/smtp-listener'

afterAll(closeListeners)

const LOOPBACK = ipaddr.parseCIDR('127.0.0.0/8')

/** Everything that the server sends until it closes the connection. */
async function readToEnd(dialog: SmtpDialog): Promise<string[]> {
  const replies: string[] = []
  for (;;) {
    try {
      replies.push(await dialog.read())
    } catch {
      return replies
    }
  }
}

describe('many connections', () => {
  test('500 idle ones leave room for mail until max_clients, then 421', async () => {
    const server = await start({ max_clients: 501 })
    const idle = await Promise.all(Array.from({ length: 500 }, () => smtpDialog(server.port)))
    const greetings = await Promise.all(idle.map((dialog) => dialog.read()))
    expect(greetings.every((greeting) => greeting.startsWith('220'))).toBe(true)
    await expectService(server.port)

    using last = await smtpDialog(server.port)
    expect(await last.read()).toStartWith('220')
    using extra = await smtpDialog(server.port)
    expect(await extra.read()).toStartWith('421')
    for (const dialog of idle) dialog.destroy()
  })

  test.each([
    ['IPv4', ['192.0.2.1', '192.0.2.1', '192.0.2.1'], '192.0.2.2'],
    ['IPv6, of a network of 64 bits', ['2001:db8::1', '2001:db8::2', '2001:db8::ffff:3'], '2001:db8:0:1::1'],
  ])('one address of %s gets only its share', async (_, same, other) => {
    const server = await start({ max_clients_per_address: 2, proxies: [LOOPBACK] })
    const connections = []
    for (const address of [...same, other]) connections.push(await proxied(server.port, address))
    expect(connections.map(({ greeting }) => greeting.slice(0, 9))).toEqual([
      ...['220 mx.ex', '220 mx.ex', '421 4.7.0', '220 mx.ex'],
    ])

    connections[0]!.dialog.destroy()
    await until('there is room again', async () => (await proxied(server.port, same[0]!)).greeting.startsWith('220'))
    for (const { dialog } of connections) dialog.destroy()
  })

  test.each([
    ['IPv4, of 24 bits', ['192.0.2.1', '192.0.2.2', '192.0.2.3'], '198.51.100.1'],
    ['IPv6, of 48 bits', ['2001:db8:0:1::1', '2001:db8:0:2::1', '2001:db8:0:3::1'], '2001:db8:1::1'],
  ])('one network of %s gets a quarter of all, unless it is of a trusted relay', async (_, same, other) => {
    const limits = { max_clients: 8, max_clients_per_address: 1, proxies: [LOOPBACK] }
    const greet = async (port: number) => {
      const found = []
      for (const address of [...same, other]) found.push(await proxied(port, address))
      return found
    }
    const strict = await greet((await start(limits)).port)
    expect(strict.map(({ greeting }) => greeting.slice(0, 3))).toEqual(['220', '220', '421', '220'])
    expect(strict[2]!.greeting).toContain('from your network')
    const relays = same.map((address) => [ipaddr.parse(address), address.includes(':') ? 128 : 32] as Network)
    const trusting = await greet((await start({ ...limits, relays })).port)
    expect(trusting.map(({ greeting }) => greeting.slice(0, 3))).toEqual(['220', '220', '220', '220'])
    for (const { dialog } of [...strict, ...trusting]) dialog.destroy()
  })

  test('a network that guesses recipients gets its answers late, in all its sessions; others do not', async () => {
    const limits = { free_guesses: 3, guess_ms: 600_000, proxies: [LOOPBACK] }
    const server = await start({ ...limits, relays: [ipaddr.parseCIDR('203.0.113.0/24')] })
    const begin = async (address: string) => {
      const { dialog } = await proxied(server.port, address)
      for (const line of ['EHLO client.test', 'MAIL FROM:<eve@example.test>']) await dialog.command(line)
      return dialog
    }
    using guesser = await begin('192.0.2.1')
    for (const n of [1, 2]) expect(await guesser.command(`RCPT TO:<unknown${n}@example.com>`)).toStartWith('550')
    using helper = await begin('192.0.2.99')
    expect(await helper.command('RCPT TO:<unknown@example.com>')).toStartWith('550')
    const late = [guesser, helper].map((dialog) =>
      dialog.command('RCPT TO:<unknown9@example.com>').catch(() => 'ended'),
    )
    using third = await begin('192.0.2.7')
    expect(await third.command('RCPT TO:<help@example.com>')).toStartWith('250')
    using stranger = await begin('198.51.100.1')
    expect(await stranger.command('RCPT TO:<unknown@example.com>')).toStartWith('550')
    using relay = await begin('203.0.113.1')
    for (const n of [1, 2, 3, 4, 5]) expect(await relay.command(`RCPT TO:<unknown${n}@example.com>`)).toStartWith('550')
    expect(await Promise.race([...late, Promise.resolve('nothing yet')])).toBe('nothing yet')
  })

  test('loopback is exempt from the limit of one address', async () => {
    const server = await start({ max_clients_per_address: 1 })
    const dialogs = await Promise.all([smtpDialog(server.port), smtpDialog(server.port), smtpDialog(server.port)])
    for (const dialog of dialogs) expect(await dialog.read()).toStartWith('220')
  })
})

describe.concurrent('slow clients', () => {
  test('a sender of single bytes is cut off by the session deadline', async () => {
    const server = await start({ session_deadline_ms: 6000, socket_timeout_ms: 60_000 })
    using dialog = await startMessage(server.port)
    const drip = setInterval(() => dialog.write('x'), 10)
    expect(await dialog.read()).toStartWith('421 4.4.2')
    await dialog.closed
    clearInterval(drip)
    await until('the store failed', () => server.aborted.length === 1)
    expect(server.stored).toHaveLength(0)
  })

  test('so is one that never ends its handshake', async () => {
    const server = await start({ session_deadline_ms: 6000, socket_timeout_ms: 60_000, tls: certificate })
    using dialog = await smtpDialog(server.port)
    await dialog.read()
    await dialog.command('EHLO client.test')
    await dialog.command('STARTTLS')
    // The beginning of a record whose length never comes to an end.
    dialog.write(Buffer.from('1603010200', 'hex'))
    const drip = setInterval(() => dialog.write('\0'), 10)
    await dialog.closed
    clearInterval(drip)
    await expectService(server.port)
  })

  test('the deadline leaves a complete message its answer', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const server = await start({
      session_deadline_ms: 6000,
      store: async (_envelope, raw) => {
        await readAll(raw)
        await promise
        return { queue_id: 'slow' }
      },
    })
    using dialog = await startMessage(server.port)
    dialog.write(dotStuffed(MESSAGE))
    setTimeout(resolve, 6200)
    expect(await dialog.read()).toStartWith('250 2.0.0')
    await dialog.closed
  })

  test('the deadline counts anew with each message, so that a busy relay is not cut off', async () => {
    const server = await start({ session_deadline_ms: 6000 })
    using dialog = await startMessage(server.port)
    for (const end = performance.now() + 7000; performance.now() < end; await Bun.sleep(50)) {
      dialog.write(dotStuffed(MESSAGE))
      expect(await dialog.read()).toStartWith('250')
      for (const line of ['MAIL FROM:<ann@example.test>', 'RCPT TO:<help@example.com>', 'DATA']) {
        await dialog.command(line)
      }
    }
  })

  test('a silent client is sent away', async () => {
    const server = await start({ socket_timeout_ms: 1500 })
    using dialog = await smtpDialog(server.port)
    await dialog.read()
    expect(await dialog.read()).toStartWith('421 4.4.2')
    await dialog.closed
  })

  test('a client that closes its side in the middle of a message stores nothing, after its end all', async () => {
    const server = await start()
    const half = await startMessage(server.port)
    half.socket().end('half a message')
    await half.closed
    await until('the store failed', () => server.aborted.length === 1)
    const whole = await startMessage(server.port)
    whole.socket().end(dotStuffed(MESSAGE))
    await until('the message is stored', () => server.stored.length === 1)
    await whole.closed
    await expectService(server.port)
  })
})

describe.concurrent('floods', () => {
  test('of commands, pipelined or not, end with 421', async () => {
    const server = await start({ max_commands: 200 })
    using dialog = await smtpDialog(server.port)
    await dialog.read()
    dialog.write(`EHLO client.test\r\n${'NOOP\r\n'.repeat(5000)}`)
    const replies = await readToEnd(dialog)
    expect(replies.filter((reply) => reply.startsWith('250'))).toHaveLength(200)
    expect(replies.at(-1)).toStartWith('421 4.7.0 Too many commands')
    await expectService(server.port)
  })

  test('each message gives room for as many commands again', async () => {
    const server = await start({ max_commands: 10 })
    using dialog = await smtpDialog(server.port)
    await dialog.read()
    await dialog.command('EHLO client.test')
    for (let count = 0; count < 10; count++) {
      await dialog.command('MAIL FROM:<ann@example.test>')
      await dialog.command('RCPT TO:<help@example.com>')
      expect(await dialog.command('DATA')).toStartWith('354')
      dialog.write(dotStuffed(MESSAGE))
      expect(await dialog.read()).toStartWith('250')
    }
  })

  test('of recipients ask for no more than are allowed', async () => {
    let lookups = 0
    const server = await start({
      free_guesses: 3000,
      recipients: async () => {
        lookups += 1
        return null
      },
    })
    using dialog = await smtpDialog(server.port)
    await dialog.read()
    const recipients = Array.from({ length: 3000 }, (_, count) => `RCPT TO:<user${count}@example.com>\r\n`)
    dialog.write(`EHLO client.test\r\nMAIL FROM:<ann@example.test>\r\n${recipients.join('')}`)
    const replies = await readToEnd(dialog)
    expect(replies.filter((reply) => reply.startsWith('550 5.1.1'))).toHaveLength(998)
    expect(replies.at(-1)).toStartWith('421')
    expect(lookups).toBe(998)
  })

  test.each([
    ['unknown commands', 'XYZZY\r\n'.repeat(10)],
    ['a line without an end', 'x'.repeat(20_000)],
    [
      'a browser that was sent here',
      'POST / HTTP/1.1\r\nhost: mx.example.com\r\n\r\nMAIL FROM:<evil@example.test>\r\n',
    ],
  ])('of %s end with 421', async (_, text) => {
    const server = await start()
    using dialog = await smtpDialog(server.port)
    await dialog.read()
    dialog.write(text)
    expect((await readToEnd(dialog)).at(-1)).toStartWith('421')
    await expectService(server.port)
  })

  test('of lines that begin with a dot reach the store in pieces worth a write', async () => {
    const sizes: number[] = []
    const server = await start({
      store: async (_envelope, raw) => {
        for await (const piece of raw) sizes.push(piece.length)
        return { queue_id: 'dots' }
      },
    })
    using dialog = await startMessage(server.port)
    dialog.write(`${'..\r\n'.repeat(50_000)}.\r\n`)
    expect(await dialog.read()).toStartWith('250')
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(150_000)
    expect(sizes.length).toBeLessThanOrEqual(3)
  })

  test('a client that talks before the greeting is sent away', async () => {
    const server = await start()
    const { greeting } = await begin(server.port, 'EHLO client.test\r\n')
    expect(greeting).toStartWith('421')
  })

  test('a client that waits is greeted long before the 100 ms of the library are over', async () => {
    const server = await start()
    const greetings: string[] = []
    // One of ten is enough: the machine may be busy.
    while (greetings.length < 10 && !greetings.at(-1)?.startsWith('220')) {
      using dialog = await smtpDialog(server.port)
      greetings.push(await Promise.race([dialog.read(), Bun.sleep(80).then(() => 'too late')]))
    }
    expect(greetings.at(-1)).toStartWith('220')
  })

  test('bytes at random harm nobody', async () => {
    const server = await start({ tls: certificate })
    const clients = Array.from({ length: 20 }, async () => {
      const dialog = await smtpDialog(server.port)
      await dialog.read()
      dialog.socket().end(crypto.getRandomValues(new Uint8Array(60_000)))
      await dialog.closed
    })
    await Promise.all(clients)
    await expectService(server.port)
  })
})

describe.concurrent('encryption', () => {
  test('commands sent in clear text behind STARTTLS are discarded', async () => {
    const server = await start({ tls: certificate })
    using dialog = await smtpDialog(server.port)
    await dialog.read()
    await dialog.command('EHLO plain.test')
    const injected = `EHLO evil.test\r\nMAIL FROM:<evil@example.test>\r\nRCPT TO:<help@example.com>\r\n${'NOOP\r\n'.repeat(300)}`
    await dialog.startTls({ injected })
    expect(await dialog.command('RCPT TO:<help@example.com>')).toStartWith('503')
    await dialog.command('EHLO secret.test')
    expect(await dialog.command('RCPT TO:<help@example.com>')).toStartWith('503')
  })

  test('what was said before the handshake is forgotten', async () => {
    const server = await start({ tls: certificate })
    using dialog = await smtpDialog(server.port)
    await dialog.read()
    await dialog.command('EHLO plain.test')
    await dialog.command('MAIL FROM:<ann@example.test>')
    await dialog.startTls()
    expect(await dialog.command('RCPT TO:<help@example.com>')).toStartWith('503')
  })

  test('failed handshakes harm nobody else', async () => {
    const server = await start({ tls: certificate })
    for (const bytes of ['this is no handshake\r\n', Buffer.from('16030100010100', 'hex'), Buffer.alloc(70_000, 22)]) {
      const dialog = await smtpDialog(server.port)
      await dialog.read()
      await dialog.command('EHLO client.test')
      await dialog.command('STARTTLS')
      dialog.socket().end(bytes)
      await dialog.closed
    }
    const mail = { port: server.port, from: '', to: 'help@example.com', raw: MESSAGE, tls: true }
    expect((await sendMail(mail)).code).toBe(250)
  })
})

describe('a store that is too slow', () => {
  test('refuses more messages with 451 4.3.2 at MAIL until one is done, and takes those that came before', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    let complete = 0
    const server = await start({
      max_storing: 3,
      store: async (_envelope, raw) => {
        await readAll(raw)
        complete += 1
        await promise
        return { queue_id: 'late' }
      },
    })
    const mail = { port: server.port, from: 'ann@example.test', to: 'help@example.com', raw: MESSAGE }
    using unfinished = await startMessage(server.port)
    const waiting = [sendMail(mail), sendMail(mail), sendMail(mail)]
    await until('three wait', () => complete === 3)
    expect(await sendMail(mail)).toMatchObject({ code: 451, response: expect.stringContaining('4.3.2') })
    unfinished.write(dotStuffed(MESSAGE))
    resolve()
    for (const { code } of await Promise.all(waiting)) expect(code).toBe(250)
    expect(await unfinished.read()).toStartWith('250')
    await expectService(server.port)
  })

  test('that fails in the middle of a message, or whose client leaves, does not count for ever', async () => {
    let broken = true
    const server = await start({
      max_storing: 1,
      store: async (_envelope, raw) => {
        if (broken) throw new Error('disk full')
        await readAll(raw)
        return { queue_id: 'fine' }
      },
    })
    for (let count = 0; count < 3; count++) {
      using dialog = await startMessage(server.port)
      dialog.write(dotStuffed(MESSAGE))
      expect(await dialog.read()).toStartWith('451 4.3.0')
    }
    broken = false
    const left = await startMessage(server.port)
    left.write('half')
    left.destroy()
    await expectService(server.port)
  })

  test('is logged when refusing begins and ends, not for each message', async () => {
    const lines: string[] = []
    let full = true
    const server = await start({
      refusal: async () => (full ? { code: 452, text: '4.3.1 Not enough storage' } : undefined),
      log: { debug() {}, error() {}, warn: (_: unknown, text?: string) => void lines.push(text ?? '') },
    })
    const mail = { port: server.port, from: '', to: 'help@example.com', raw: MESSAGE }
    await Promise.all([sendMail(mail), sendMail(mail), sendMail(mail)])
    full = false
    await Promise.all([sendMail(mail), sendMail(mail)])
    expect(lines).toEqual(['mail is refused', 'mail is taken again'])
  })

  test('answers recipients 451 when their lookup takes too long, and looks up no more when too many do', async () => {
    let lookups = 0
    const recipients = () => {
      lookups += 1
      return new Promise<never>(() => {})
    }
    const server = await start({ lookup_timeout_ms: 50, max_clients: 2, recipients })
    const mail = { port: server.port, from: '', to: 'help@example.com', raw: MESSAGE }
    const replies = []
    for (let count = 0; count < 3; count++) replies.push((await sendMail(mail)).response.slice(0, 9))
    expect(replies).toEqual(['451 4.3.0', '451 4.3.0', '451 4.3.2'])
    expect(lookups).toBe(2)
  })

  test('8 messages of 25 MiB at once need far less memory than they weigh', async () => {
    const { promise: started, resolve } = Promise.withResolvers<number>()
    await using child = Bun.spawn([process.execPath, '-e', MEMORY_CHILD], {
      cwd: path.join(import.meta.dir, '../../..'),
      stdout: 'pipe',
      ipc: (message) => resolve(Number(message)),
      env: { ...process.env, LOG_LEVEL: 'silent' },
    })
    const port = await started
    const raw = Buffer.from(`${'x'.repeat(76)}\r\n`.repeat(Math.floor((25 * 1024 * 1024) / 78)))
    const send = () => sendMail({ port, from: 'ann@example.test', to: 'help@example.com', raw })
    const results = await Promise.all(Array.from({ length: 8 }, send))
    expect(results.map(({ code }) => code)).toEqual(Array(8).fill(250))
    child.send('stop')
    const { bytes, grown } = JSON.parse(await new Response(child.stdout).text())
    expect(bytes).toBe(8 * raw.length)
    expect(grown).toBeLessThan(150 * 1024 * 1024)
  })
})

test('each transaction is observed once, with its last reply', async () => {
  const observed: number[] = []
  let full = false
  const server = await start({
    max_bytes: 1000,
    refusal: async () => (full ? { code: 452, text: '4.3.1 Not enough storage' } : undefined),
    observe: (code, duration_ms) => {
      expect(duration_ms).toBeGreaterThanOrEqual(0)
      observed.push(code)
    },
  })
  const mail = { port: server.port, from: '', to: 'help@example.com', raw: MESSAGE }
  await sendMail(mail)
  await sendMail({ ...mail, raw: 'x'.repeat(2000) })
  full = true
  expect((await sendMail(mail)).response).toBe('452 4.3.1 Not enough storage')
  full = false
  const left = await startMessage(server.port)
  left.destroy()
  await until('the store failed', () => server.aborted.length === 2)
  await sendMail(mail)
  expect(observed).toEqual([250, 552, 452, 250])
})

/** Runs the listener in a separate process to measure its memory: prints the bytes taken and the growth of its peak. */
const MEMORY_CHILD = `
  const { startSmtpListener } = await import('./src/mail/smtp/listener')
  const { log } = await import('./src/base/log')
  let bytes = 0
  const peak = () => process.resourceUsage().maxRSS * 1024
  const before = peak()
  const listener = await startSmtpListener({
    port: 0, host: '127.0.0.1', hostname: 'mx', max_bytes: 26214400, log,
    recipients: async (address) => ({ organization_id: 'o', mailbox_id: 'm', address }),
    store: async (_envelope, raw) => {
      for await (const chunk of raw) bytes += chunk.length
      return { queue_id: 'x' }
    },
  })
  process.on('message', () => {
    process.stdout.write(JSON.stringify({ bytes, grown: peak() - before }), () => process.exit())
  })
  process.send(listener.port)
`
