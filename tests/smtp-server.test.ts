/** The SMTP listener over real sockets (decisions, section 7, "Inbound"): protocol, limits, abuse, stopping. */
import { afterAll, afterEach, describe, expect, test } from 'bun:test'
import path from 'node:path'
import type { Readable } from 'node:stream'
import ipaddr from 'ipaddr.js'
import { log } from '../src/log'
import { type Envelope, type SmtpListener, type SmtpServerOptions, startSmtpServer } from '../src/mail/server'
import { issueCertificate } from './support/certificates'
import { dotStuffed, sendMail, smtpDialog } from './support/smtp'

const MESSAGE = 'From: ann@example.test\r\nSubject: Hello\r\n\r\nThe printer is on fire.\r\n'
const certificate = await issueCertificate()

type Stored = { envelope: Envelope; raw: Buffer }

const listeners: SmtpListener[] = []

afterEach(async () => {
  await Promise.all(listeners.splice(0).map((listener) => listener.close({ timeout_ms: 0 })))
})

/** A listener that knows every address of example.com but those with `unknown` or `broken`, and keeps what it takes. */
async function start(changes: Partial<SmtpServerOptions> = {}) {
  const stored: Stored[] = []
  const aborted: unknown[] = []
  const listener = await startSmtpServer({
    port: 0,
    host: '127.0.0.1',
    hostname: 'mx.example.com',
    max_bytes: 1_000_000,
    recipients: async (address) => {
      if (address.startsWith('broken')) throw new Error('database gone')
      if (address.startsWith('unknown') || !/@(example\.com|exämple\.com)$/i.test(address)) return null
      return { organization_id: 'organization', mailbox_id: 'mailbox', address }
    },
    store: async (envelope, raw) => {
      const bytes = await readAll(raw).catch((error) => {
        aborted.push(error)
        throw error
      })
      stored.push({ envelope, raw: bytes })
      return { queue_id: `id-${stored.length}` }
    },
    log,
    ...changes,
  })
  listeners.push(listener)
  return { ...listener, stored, aborted }
}

async function readAll(raw: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of raw) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** A session up to the point where the message is expected. */
async function startData(port: number) {
  const dialog = await smtpDialog(port)
  await dialog.read()
  await dialog.command('EHLO client.test')
  await dialog.command('MAIL FROM:<ann@example.test>')
  await dialog.command('RCPT TO:<help@example.com>')
  expect(await dialog.command('DATA')).toStartWith('354')
  return dialog
}

async function until(condition: () => boolean) {
  for (const end = Date.now() + 10_000; !condition(); ) {
    if (Date.now() > end) throw new Error('the condition never came')
    await Bun.sleep(5)
  }
}

describe('taking a message', () => {
  test('a message is answered 250 with its queue id after it was stored byte by byte', async () => {
    const server = await start()
    const result = await sendMail({
      port: server.port,
      from: 'ann@example.test',
      to: ['help@example.com', 'sales+tag.1@example.com'],
      raw: `${MESSAGE}.leading dot\r\n..two\r\n8bit \u00e4\r\n`,
    })

    expect(result.response).toBe('250 2.0.0 Ok: queued as id-1')
    expect(result.recipients['help@example.com']).toBe('250 2.1.5 Accepted')
    expect(server.stored[0]?.raw.toString()).toBe(`${MESSAGE}.leading dot\r\n..two\r\n8bit \u00e4\r\n`)
    expect(server.stored[0]?.envelope).toEqual({
      sender: 'ann@example.test',
      recipients: ['help@example.com', 'sales+tag.1@example.com'].map((address) => ({
        organization_id: 'organization',
        mailbox_id: 'mailbox',
        address,
      })),
      remote_address: '127.0.0.1',
      helo: 'client.example.test',
      tls: false,
      size: undefined,
    })
  })

  test('250 waits for the store', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    let complete = false
    const server = await start({
      store: async (_envelope, raw) => {
        await readAll(raw)
        complete = true
        await promise
        return { queue_id: 'late' }
      },
    })
    using dialog = await startData(server.port)
    dialog.write(dotStuffed(MESSAGE))
    let answered = false
    const reply = dialog.read().finally(() => {
      answered = true
    })
    await until(() => complete)
    await Bun.sleep(20)
    expect(answered).toBe(false)
    resolve()
    expect(await reply).toBe('250 2.0.0 Ok: queued as late')
  })

  test('the null sender of bounces is taken', async () => {
    const server = await start()
    const { code } = await sendMail({ port: server.port, from: '', to: 'help@example.com', raw: MESSAGE })
    expect(code).toBe(250)
    expect(server.stored[0]?.envelope.sender).toBe('')
  })

  test('addresses beyond ASCII are taken, and a domain in Punycode arrives in Unicode', async () => {
    const server = await start()
    const to = ['hélp@example.com', 'help@xn--exmple-cua.com']
    const { code } = await sendMail({ port: server.port, from: '用户@例子.test', to, raw: MESSAGE })
    expect(code).toBe(250)
    expect(server.stored[0]?.envelope.sender).toBe('用户@例子.test')
    expect(server.stored[0]?.envelope.recipients.map(({ address }) => address)).toEqual([
      'hélp@example.com',
      'help@exämple.com',
    ])
  })

  test('senders that break the rules for addresses are no reason to lose their mail', async () => {
    const server = await start()
    for (const from of ['name.@example.test', 'a..b@example.test']) {
      expect(await sendMail({ port: server.port, from, to: 'help@example.com', raw: MESSAGE })).toMatchObject({
        code: 250,
      })
    }
  })

  test('the announced extensions are those that work, and no authentication', async () => {
    const server = await start({ tls: certificate })
    using dialog = await smtpDialog(server.port)
    expect(await dialog.read()).toStartWith('220 mx.example.com ESMTP')
    const lines = (await dialog.command('EHLO client.test'))
      .split('\n')
      .slice(1)
      .map((line) => line.slice(4))
    expect(lines.sort()).toEqual(
      ['8BITMIME', 'ENHANCEDSTATUSCODES', 'PIPELINING', 'SIZE 1000000', 'SMTPUTF8', 'STARTTLS'].sort(),
    )
    expect(await dialog.command('AUTH PLAIN AGEAYg==')).toStartWith('500 5.5.2')
    expect(await dialog.command('VRFY help@example.com')).toStartWith('252 2.1.5')
    expect(await dialog.command('WIZ please')).toStartWith('500 5.5.2')
    expect(await dialog.command('RCPT TO:<help@example.com>')).toStartWith('503 5.5.1')
    expect(await dialog.command('DATA')).toStartWith('503 5.5.1')
  })

  test('commands and messages may be pipelined', async () => {
    const server = await start()
    using dialog = await smtpDialog(server.port)
    await dialog.read()
    const one = 'MAIL FROM:<ann@example.test>\r\nRCPT TO:<help@example.com>\r\nDATA\r\n'
    dialog.write(`EHLO client.test\r\n${one}${dotStuffed('first')}${one}${dotStuffed('second')}QUIT\r\n`)
    const replies = []
    for (let i = 0; i < 10; i++) replies.push((await dialog.read()).slice(0, 3))
    expect(replies.join(' ')).toBe('250 250 250 354 250 250 250 354 250 221')
    expect(server.stored.map(({ raw }) => raw.toString())).toEqual(['first\r\n', 'second\r\n'])
  })

  test('100 recipients are taken, and 452 is the answer to more', async () => {
    const server = await start()
    const to = Array.from({ length: 101 }, (_, i) => `box${i}@example.com`)
    const { code, recipients } = await sendMail({ port: server.port, from: 'ann@example.test', to, raw: MESSAGE })
    expect(code).toBe(250)
    expect(recipients['box100@example.com']).toStartWith('452 4.5.3')
    expect(server.stored[0]?.envelope.recipients).toHaveLength(100)
  })
})

describe('refusing a message', () => {
  test('an unknown recipient is 550 5.1.1, and does not stop the known one', async () => {
    const server = await start()
    const to = ['unknown@example.com', 'help@example.com', 'someone@elsewhere.test']
    const { code, recipients } = await sendMail({ port: server.port, from: 'ann@example.test', to, raw: MESSAGE })
    expect(recipients['unknown@example.com']).toStartWith('550 5.1.1')
    expect(recipients['someone@elsewhere.test']).toStartWith('550 5.1.1')
    expect(code).toBe(250)
    expect(server.stored[0]?.envelope.recipients.map(({ address }) => address)).toEqual(['help@example.com'])
  })

  test('a failed lookup is 451 4.3.0', async () => {
    const server = await start()
    const mail = { port: server.port, from: 'ann@example.test', to: 'broken@example.com', raw: MESSAGE }
    expect((await sendMail(mail)).response).toStartWith('451 4.3.0')
  })

  test('a failing store is 451 4.3.0, at once or in the middle, and the session goes on', async () => {
    let broken: 'at once' | 'in the middle' | undefined = 'at once'
    const server = await start({
      store: async (_envelope, raw) => {
        if (broken === 'at once') throw new Error('disk full')
        for await (const _ of raw) if (broken) throw new Error('disk full')
        return { queue_id: 'fine' }
      },
    })
    using dialog = await startData(server.port)
    const large = dotStuffed(`${'x'.repeat(998)}\r\n`.repeat(500))
    for (broken of ['at once', 'in the middle', undefined] as const) {
      dialog.write(large)
      expect(await dialog.read()).toStartWith(broken ? '451 4.3.0' : '250 2.0.0')
      await dialog.command('MAIL FROM:<ann@example.test>')
      await dialog.command('RCPT TO:<help@example.com>')
      expect(await dialog.command('DATA')).toStartWith('354')
    }
  })

  test('an announced size above the limit is 552 5.3.4 before any byte', async () => {
    const server = await start()
    using dialog = await smtpDialog(server.port)
    await dialog.read()
    await dialog.command('EHLO client.test')
    expect(await dialog.command('MAIL FROM:<ann@example.test> SIZE=1000001')).toStartWith('552 5.3.4')
    expect(await dialog.command('MAIL FROM:<ann@example.test> SIZE=1000000')).toStartWith('250 2.1.0')
  })

  test('a message that grows too large is 552 5.3.4, the store is told, and the session goes on', async () => {
    const server = await start({ max_bytes: 10_000 })
    using dialog = await startData(server.port)
    dialog.write(dotStuffed('x'.repeat(9_999)))
    expect(await dialog.read()).toStartWith('552 5.3.4')
    expect(server.stored).toHaveLength(0)
    expect(server.aborted).toHaveLength(1)

    await dialog.command('MAIL FROM:<ann@example.test>')
    await dialog.command('RCPT TO:<help@example.com>')
    await dialog.command('DATA')
    dialog.write(dotStuffed('x'.repeat(9_998)))
    expect(await dialog.read()).toStartWith('250 2.0.0')
    expect(server.stored.map(({ raw }) => raw.length)).toEqual([10_000])
  })

  test('a client that leaves in the middle of a message makes the store fail', async () => {
    const server = await start()
    const dialog = await startData(server.port)
    dialog.write('half a mess')
    dialog.destroy()
    await until(() => server.aborted.length === 1)
    expect(server.stored).toHaveLength(0)
    expect((await sendMail({ port: server.port, from: '', to: 'help@example.com', raw: MESSAGE })).code).toBe(250)
  })

  test('no trick with line ends ends a message early', async () => {
    const server = await start()
    const ends = ['\n.\n', '\r.\r', '\n.\r\n', '\r\n.\n', '\r\n.\r', '\r.\r\n', '\n.\r', '\r\r\n.\r\r\n', '\r\n\0.\r\n']
    for (const end of ends) {
      for (const step of [Number.MAX_SAFE_INTEGER, 1]) {
        using dialog = await startData(server.port)
        const smuggled = `MAIL FROM:<evil@example.test>\r\nRCPT TO:<help@example.com>\r\nDATA\r\nsmuggled`
        const text = `innocent${end}${smuggled}\r\n.\r\n`
        for (let at = 0; at < text.length; at += step) {
          dialog.write(text.slice(at, at + step))
          if (step === 1) await new Promise(setImmediate)
        }
        expect(await dialog.read()).toStartWith('250 2.0.0')
        expect(await dialog.command('NOOP')).toStartWith('250 2.0.0 OK')
      }
    }
    expect(server.stored).toHaveLength(ends.length * 2)
    expect(server.stored.every(({ raw }) => raw.includes('smuggled') && raw.includes('innocent'))).toBe(true)
  })
})

describe('encryption', () => {
  test('STARTTLS upgrades the session with the certificate given', async () => {
    const server = await start({ tls: certificate })
    using dialog = await smtpDialog(server.port)
    await dialog.read()
    await dialog.command('EHLO plain.test')
    await dialog.startTls({ ca: certificate.ca, servername: 'localhost' })
    expect(await dialog.command('EHLO secret.test')).not.toContain('STARTTLS')
    await dialog.command('MAIL FROM:<ann@example.test> SIZE=100')
    await dialog.command('RCPT TO:<help@example.com>')
    await dialog.command('DATA')
    dialog.write(dotStuffed(MESSAGE))
    expect(await dialog.read()).toStartWith('250')
    expect(server.stored[0]?.envelope).toMatchObject({ tls: true, helo: 'secret.test', size: 100 })
  })

  test('what was sent in clear text before the handshake is forgotten', async () => {
    const server = await start({ tls: certificate })
    using dialog = await smtpDialog(server.port)
    await dialog.read()
    await dialog.command('EHLO plain.test')
    await dialog.command('MAIL FROM:<ann@example.test>')
    await dialog.startTls()
    expect(await dialog.command('RCPT TO:<help@example.com>')).toStartWith('503')
  })

  test('without a certificate STARTTLS is neither offered nor taken', async () => {
    const server = await start()
    using dialog = await smtpDialog(server.port)
    await dialog.read()
    expect(await dialog.command('EHLO client.test')).not.toContain('STARTTLS')
    expect(await dialog.command('STARTTLS')).toStartWith('500')
  })

  test('a failed handshake harms nobody else', async () => {
    const server = await start({ tls: certificate })
    const dialog = await smtpDialog(server.port)
    await dialog.read()
    await dialog.command('EHLO client.test')
    await dialog.command('STARTTLS')
    dialog.write('this is no handshake\r\n')
    await dialog.closed
    expect(
      (await sendMail({ port: server.port, from: '', to: 'help@example.com', raw: MESSAGE, tls: true })).code,
    ).toBe(250)
  })
})

describe('abuse', () => {
  test('a sender of single bytes is cut off by the session deadline', async () => {
    const server = await start({ session_deadline_ms: 1000, socket_timeout_ms: 60_000 })
    using dialog = await startData(server.port)
    const drip = setInterval(() => dialog.write('x'), 10)
    expect(await dialog.read()).toStartWith('421 4.4.2')
    await dialog.closed
    clearInterval(drip)
    await until(() => server.aborted.length === 1)
    expect(server.stored).toHaveLength(0)
  })

  test('the deadline leaves a complete message its answer', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const server = await start({
      session_deadline_ms: 1000,
      store: async (_envelope, raw) => {
        await readAll(raw)
        await promise
        return { queue_id: 'slow' }
      },
    })
    using dialog = await startData(server.port)
    dialog.write(dotStuffed(MESSAGE))
    setTimeout(resolve, 1200)
    expect(await dialog.read()).toStartWith('250 2.0.0')
    await dialog.closed
  })

  test('a silent client is sent away', async () => {
    const server = await start({ socket_timeout_ms: 200 })
    using dialog = await smtpDialog(server.port)
    await dialog.read()
    expect(await dialog.read()).toStartWith('421 4.4.2')
    await dialog.closed
  })

  test('500 idle connections leave room for mail until max_clients, then 421', async () => {
    const server = await start({ max_clients: 501 })
    const idle = await Promise.all(Array.from({ length: 500 }, () => smtpDialog(server.port)))
    const greetings = await Promise.all(idle.map((dialog) => dialog.read()))
    expect(greetings.every((greeting) => greeting.startsWith('220'))).toBe(true)
    expect((await sendMail({ port: server.port, from: '', to: 'help@example.com', raw: MESSAGE })).code).toBe(250)

    using last = await smtpDialog(server.port)
    expect(await last.read()).toStartWith('220')
    using extra = await smtpDialog(server.port)
    expect(await extra.read()).toStartWith('421')
    for (const dialog of idle) dialog.destroy()
  })

  test('one address gets only its share of connections; PROXY headers of trusted proxies name it', async () => {
    const server = await start({ max_clients_per_address: 2, proxies: [ipaddr.parseCIDR('127.0.0.0/8')] })
    const from = async (address: string) => {
      const dialog = await smtpDialog(server.port)
      dialog.write(`PROXY TCP4 ${address} 198.51.100.1 40000 25\r\n`)
      return { dialog, greeting: await dialog.read() }
    }
    const first = await from('192.0.2.1')
    const second = await from('192.0.2.1')
    const third = await from('192.0.2.1')
    const other = await from('192.0.2.2')
    expect([first, second, third, other].map(({ greeting }) => greeting.slice(0, 9))).toEqual([
      '220 mx.ex',
      '220 mx.ex',
      '421 4.7.0',
      '220 mx.ex',
    ])

    first.dialog.destroy()
    await first.dialog.closed
    let next = await from('192.0.2.1')
    for (let tries = 0; !next.greeting.startsWith('220') && tries < 20; tries++) next = await from('192.0.2.1')
    expect(next.greeting).toStartWith('220')
  })

  test('loopback is exempt from the limit of one address', async () => {
    const server = await start({ max_clients_per_address: 1 })
    const dialogs = await Promise.all([smtpDialog(server.port), smtpDialog(server.port), smtpDialog(server.port)])
    for (const dialog of dialogs) expect(await dialog.read()).toStartWith('220')
  })

  test('8 messages of 25 MiB at once need far less memory than they weigh', async () => {
    const { promise: started, resolve } = Promise.withResolvers<number>()
    await using child = Bun.spawn([process.execPath, '-e', MEMORY_CHILD], {
      cwd: path.join(import.meta.dir, '..'),
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

/** A process of its own, so that its memory is the listener's: prints the bytes taken and the growth of its peak. */
const MEMORY_CHILD = `
  const { startSmtpServer } = await import('./src/mail/server')
  const { log } = await import('./src/log')
  let bytes = 0
  const peak = () => process.resourceUsage().maxRSS * 1024
  const before = peak()
  const listener = await startSmtpServer({
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

describe('stopping', () => {
  test('idle clients get 421 while a message under way is finished', async () => {
    const server = await start()
    using idle = await smtpDialog(server.port)
    await idle.read()
    using busy = await startData(server.port)
    busy.write('half ')
    const closed = server.close()

    expect(await idle.read()).toStartWith('421 4.3.2')
    await idle.closed
    await expect(smtpDialog(server.port)).rejects.toThrow()
    busy.write('and half\r\n.\r\n')
    expect(await busy.read()).toStartWith('250 2.0.0')
    expect(await busy.read()).toStartWith('421 4.3.2')
    await closed
    expect(server.stored[0]?.raw.toString()).toBe('half and half\r\n')
  })

  test('a message that does not end is cut off after the time given', async () => {
    const server = await start()
    using dialog = await startData(server.port)
    dialog.write('never ends')
    await server.close({ timeout_ms: 100 })
    expect(await dialog.read()).toStartWith('421')
    await dialog.closed
    expect(server.stored).toHaveLength(0)
    expect(server.aborted).toHaveLength(1)
  })

  test('a store that still runs for a client that left is waited for', async () => {
    let finished = false
    let complete = false
    const server = await start({
      store: async (_envelope, raw) => {
        await readAll(raw)
        complete = true
        await Bun.sleep(200)
        finished = true
        return { queue_id: 'x' }
      },
    })
    const dialog = await startData(server.port)
    dialog.write(dotStuffed(MESSAGE))
    await until(() => complete)
    dialog.destroy()
    await server.close()
    expect(finished).toBe(true)
  })

  test('a port in use rejects the start', async () => {
    const server = await start()
    await expect(start({ port: server.port })).rejects.toThrow(/EADDRINUSE|in use/)
  })
})

const python = Bun.which('python3')
if (!python) console.warn('python3 is not installed: the test with smtplib is skipped')

test.skipIf(!python)("Python's smtplib delivers with STARTTLS and sees refusals per recipient", async () => {
  const server = await start({ tls: certificate })
  const script = `
import smtplib, ssl, json, sys
context = ssl.create_default_context(cafile=sys.argv[2])
with smtplib.SMTP('localhost', int(sys.argv[1])) as smtp:
    smtp.starttls(context=context)
    refused = smtp.sendmail('ann@example.test', ['help@example.com', 'unknown@example.com'], b'Subject: Hi\\r\\n\\r\\n.dot\\r\\n')
print(json.dumps({ address: code for address, (code, _) in refused.items() }))
`
  const child = Bun.spawn([python ?? '', '-c', script, String(server.port), certificate.ca_file], { stderr: 'inherit' })
  expect(await new Response(child.stdout).json()).toEqual({ 'unknown@example.com': 550 })
  expect(server.stored[0]?.raw.toString()).toBe('Subject: Hi\r\n\r\n.dot\r\n')
})

afterAll(() => Promise.all(listeners.map((listener) => listener.close({ timeout_ms: 0 }))))
