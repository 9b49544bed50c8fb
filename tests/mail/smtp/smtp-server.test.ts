/** The SMTP listener over real sockets: protocol, limits, stopping. */
import { afterEach, describe, expect, test } from 'bun:test'
import ipaddr from 'ipaddr.js'
import { until } from '../../support/service'
import { dotStuffed, sendMail, smtpDialog, startSession } from '../../support/smtp'
import { certificate, closeListeners, MESSAGE, readAll, start, startMessage } from '../../support/smtp-listener'

afterEach(closeListeners)

describe('taking a message', () => {
  test('only from the networks that may bring mail, when there are any', async () => {
    const mail = { from: 'ann@example.test', to: ['help@example.com'], raw: MESSAGE }
    for (const [network, code] of [
      ['192.0.2.0/24', 554],
      ['127.0.0.0/8', 250],
    ] as const) {
      const server = await start({ allowed: [ipaddr.parseCIDR(network)] })
      expect(await sendMail({ port: server.port, ...mail })).toMatchObject({ code })
      expect(server.stored).toHaveLength(code === 250 ? 1 : 0)
    }
  })

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
        mailbox_address: address,
        address,
      })),
      remote_address: '127.0.0.1',
      relay_address: null,
      helo: 'client.example.test',
      tls: false,
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
    using dialog = await startMessage(server.port)
    dialog.write(dotStuffed(MESSAGE))
    let answered = false
    const reply = dialog.read().finally(() => {
      answered = true
    })
    await until('the message is complete', () => complete)
    // The listener has answered others meanwhile.
    using other = await smtpDialog(server.port)
    await other.read()
    await other.command('EHLO client.test')
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

  test.each([
    '"a b"@x.example',
    '"a@b"@x.example',
    '"a\\"b"@x.example',
    '"a\\\\ b"@x.example',
    '"> SIZE=1 <"@x.example',
    '"$& $1"@x.example',
    '" "@[192.0.2.1]',
  ])('a sender with the quoted local part of %s is taken as it came', async (from) => {
    const server = await start()
    expect(await sendMail({ port: server.port, from, to: 'help@example.com', raw: MESSAGE })).toMatchObject({
      code: 250,
    })
    expect(server.stored[0]?.envelope.sender).toBe(from)
  })

  test.each([
    '<"a b@x.example>',
    '<"a b"x@y.example>',
    '<"a\u0007b"@x.example>',
    '<"a b"@>',
    '"a b"@x.example',
    '<"a b"@x.example> SIZE=2000000',
  ])('a sender of %j is refused', async (from) => {
    const server = await start()
    using dialog = await smtpDialog(server.port)
    await dialog.read()
    await dialog.command('EHLO client.test')
    expect(await dialog.command(`MAIL FROM:${from}`)).toMatch(/^5/)
    expect(await dialog.command('MAIL FROM:<ann@example.test>')).toStartWith('250')
  })

  test('the announced extensions are those that work, and no authentication', async () => {
    const server = await start({ tls: certificate })
    using dialog = await smtpDialog(server.port)
    expect(await dialog.read()).toStartWith('220 mx.example.com ESMTP')
    const lines = (await dialog.command('EHLO client.test'))
      .split('\n')
      .slice(1)
      .map((line) => line.slice(4))
    expect(lines.sort()).toEqual([
      '8BITMIME',
      'BINARYMIME',
      'CHUNKING',
      'ENHANCEDSTATUSCODES',
      'PIPELINING',
      'SIZE 1000000',
      'SMTPUTF8',
      'STARTTLS',
    ])
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
    using dialog = await startMessage(server.port)
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
    using dialog = await startMessage(server.port)
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
    const dialog = await startMessage(server.port)
    dialog.write('half a mess')
    dialog.destroy()
    await until('the store failed', () => server.aborted.length === 1)
    expect(server.stored).toHaveLength(0)
    expect((await sendMail({ port: server.port, from: '', to: 'help@example.com', raw: MESSAGE })).code).toBe(250)
  })

  test('no trick with line ends ends a message early', async () => {
    const server = await start()
    const ends = ['\n.\n', '\r.\r', '\n.\r\n', '\r\n.\n', '\r\n.\r', '\r.\r\n', '\n.\r', '\r\r\n.\r\r\n', '\r\n\0.\r\n']
    for (const end of ends) {
      for (const step of [Number.MAX_SAFE_INTEGER, 1]) {
        using dialog = await startMessage(server.port)
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
    expect(server.stored[0]?.envelope).toMatchObject({ tls: true, helo: 'secret.test' })
  })

  test('without a certificate STARTTLS is neither offered nor taken', async () => {
    const server = await start()
    using dialog = await smtpDialog(server.port)
    await dialog.read()
    expect(await dialog.command('EHLO client.test')).not.toContain('STARTTLS')
    expect(await dialog.command('STARTTLS')).toStartWith('500')
  })
})

describe('stopping', () => {
  test('idle clients get 421 while a message under way is finished', async () => {
    const server = await start()
    using idle = await smtpDialog(server.port)
    await idle.read()
    using busy = await startMessage(server.port)
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

  test('a client that has just connected may bring its message', async () => {
    const server = await start()
    using fresh = await startSession(server.port)
    const closed = server.close()
    for (const line of ['MAIL FROM:<ann@example.test>', 'RCPT TO:<help@example.com>']) {
      expect(await fresh.command(line)).toStartWith('250')
    }
    expect(await fresh.command('DATA')).toStartWith('354')
    fresh.write(dotStuffed(MESSAGE))
    expect(await fresh.read()).toStartWith('250')
    expect(await fresh.read()).toStartWith('421 4.3.2')
    await closed
  })

  test('a message that does not end is cut off after the time given', async () => {
    const server = await start()
    using dialog = await startMessage(server.port)
    dialog.write('never ends')
    await server.close({ timeout_ms: 100 })
    expect(await dialog.read()).toStartWith('421')
    await dialog.closed
    expect(server.stored).toHaveLength(0)
    expect(server.aborted).toHaveLength(1)
  })

  test('a store that still runs for a client that left is waited for', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    let finished = false
    let complete = false
    const server = await start({
      store: async (_envelope, raw) => {
        await readAll(raw)
        complete = true
        await promise
        finished = true
        return { queue_id: 'x' }
      },
    })
    const dialog = await startMessage(server.port)
    dialog.write(dotStuffed(MESSAGE))
    await until('the message is complete', () => complete)
    dialog.destroy()
    await dialog.closed
    const closing = server.close().then(() => finished)
    await until('nobody else is let in', () => isRefused(server.port))
    resolve()
    expect(await closing).toBe(true)
  })

  test('a port in use rejects the start', async () => {
    const server = await start()
    await expect(start({ port: server.port })).rejects.toThrow(/EADDRINUSE|in use/)
  })
})

/** True when nobody listens at the port. */
function isRefused(port: number): Promise<boolean> {
  return smtpDialog(port).then(
    (dialog) => {
      dialog.destroy()
      return false
    },
    () => true,
  )
}
