/** Messages in chunks (BDAT, RFC 3030) over real sockets, and the parameters and addresses of MAIL and RCPT. */
import { afterEach, describe, expect, test } from 'bun:test'
import { until } from '../../support/service'
import { type SmtpDialog, startSession } from '../../support/smtp'
import { closeListeners, MESSAGE, readAll, start } from '../../support/smtp-listener'

afterEach(closeListeners)

const MAIL = 'MAIL FROM:<ann@example.test>'
const RCPT = 'RCPT TO:<help@example.com>'

/** A session in which a message may come. */
async function startChunks(port: number, mail = MAIL): Promise<SmtpDialog> {
  const dialog = await startSession(port)
  for (const line of [mail, RCPT]) expect(await dialog.command(line)).toStartWith('250')
  return dialog
}

/** Sends a chunk, and reads its reply. */
function chunk(dialog: SmtpDialog, bytes: string | Uint8Array, last = ''): Promise<string> {
  const content = Buffer.from(bytes)
  dialog.write(Buffer.concat([Buffer.from(`BDAT ${content.length}${last}\r\n`), content]))
  return dialog.read()
}

/** Reads replies. @returns their codes */
async function codes(dialog: SmtpDialog, count: number): Promise<number[]> {
  const found: number[] = []
  while (found.length < count) found.push(Number((await dialog.read()).slice(0, 3)))
  return found
}

const LAST = ' LAST'
const BINARY = Buffer.from(
  `${MESSAGE}\0lone \n feeds \r and\r\n.\r\ndots\r\n..\r\nBDAT 3 LAST\r\nQUIT\r\n${'\xff\0'.repeat(9)}`,
  'latin1',
)

describe('a message in chunks', () => {
  test('is stored byte by byte, in one chunk or many, and the session goes on', async () => {
    const server = await start()
    using dialog = await startChunks(server.port, `${MAIL} BODY=BINARYMIME`)
    expect(await chunk(dialog, BINARY, LAST)).toBe('250 2.0.0 Ok: queued as id-1')
    for (const line of [`${MAIL} BODY=binarymime SMTPUTF8`, RCPT]) expect(await dialog.command(line)).toStartWith('250')
    for (const byte of BINARY) expect(await chunk(dialog, Uint8Array.of(byte))).toBe('250 2.0.0 1 octets received')
    expect(await dialog.command('BDAT 0 LAST')).toBe('250 2.0.0 Ok: queued as id-2')
    for (const { raw } of server.stored) expect(raw.equals(BINARY)).toBe(true)
    expect(await dialog.command('NOOP')).toStartWith('250')
  })

  test('may be pipelined with everything around it', async () => {
    const server = await start()
    using dialog = await startSession(server.port)
    const [first, rest] = [MESSAGE.slice(0, 20), MESSAGE.slice(20)]
    dialog.write(`${MAIL}\r\n${RCPT}\r\nBDAT 20\r\n${first}bdat ${rest.length} last\r\n${rest}`)
    dialog.write(`${MAIL}\r\n${RCPT}\r\nBDAT ${MESSAGE.length} LAST\r\n${MESSAGE}${MAIL}\r\n${RCPT}\r\nDATA\r\n`)
    expect(await codes(dialog, 10)).toEqual([250, 250, 250, 250, 250, 250, 250, 250, 250, 354])
    dialog.write(`${MESSAGE}.\r\nQUIT\r\n`)
    expect(await codes(dialog, 2)).toEqual([250, 221])
    expect(server.stored.map(({ raw }) => raw.toString())).toEqual([MESSAGE, MESSAGE, MESSAGE])
  })

  test('may come byte by byte of the connection', async () => {
    const server = await start()
    using dialog = await startChunks(server.port)
    for (const byte of `BDAT 5\r\nFrom:BDAT 6 LAST\r\n a@b\r\nNOOP\r\n`) {
      dialog.write(byte)
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(await codes(dialog, 3)).toEqual([250, 250, 250])
    expect(server.stored[0]?.raw.toString()).toBe('From: a@b\r\n')
  })

  test('is the same however the connection cuts it', async () => {
    const server = await start({ max_bytes: 5000 })
    const script = Buffer.concat([
      Buffer.from(`${MAIL}\r\n${RCPT}\r\nBDAT 3\r\n\r\n.BDAT ${BINARY.length} LAST\r\n`),
      BINARY,
      Buffer.from(`BDAT 2 LAST\r\nQ\r${MAIL}\r\n${RCPT}\r\nBDAT 6000\r\n${'QUIT\r\n'.repeat(1000)}BDAT 0 LAST\r\n`),
      Buffer.from(`${MAIL}\r\n${RCPT}\r\nDATA\r\n..dot\r\n.\r\n${MAIL}\r\n${RCPT}\r\nBDAT 0 LAST\r\n`),
    ])
    for (let round = 1; round <= 20; round++) {
      server.stored.length = 0
      using dialog = await startSession(server.port)
      for (let at = 0; at < script.length; ) {
        const size = 1 + ((at * 31 + round * 17) % (round * 40))
        dialog.write(script.subarray(at, at + size))
        at += size
        if (at % 3 === 0) await new Promise((resolve) => setImmediate(resolve))
      }
      expect(await codes(dialog, 16)).toEqual([
        ...[250, 250, 250, 250, 503, 250, 250, 552, 503],
        ...[250, 250, 354, 250, 250, 250, 250],
      ])
      const whole = Buffer.concat([Buffer.from('\r\n.'), BINARY])
      expect(server.stored.map(({ raw }) => raw.equals(whole) || raw.toString())).toEqual([true, '.dot\r\n', ''])
    }
  })

  test('is acknowledged only after it was stored', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    let is_complete = false
    const server = await start({
      store: async (_envelope, raw) => {
        await readAll(raw)
        is_complete = true
        await promise
        return { queue_id: 'late' }
      },
    })
    using dialog = await startChunks(server.port)
    let is_answered = false
    const reply = chunk(dialog, MESSAGE, LAST).finally(() => {
      is_answered = true
    })
    await until('the message is complete', () => is_complete)
    using other = await startSession(server.port)
    await other.command('NOOP')
    expect(is_answered).toBe(false)
    resolve()
    expect(await reply).toBe('250 2.0.0 Ok: queued as late')
  })

  test.each<[string, (dialog: SmtpDialog) => unknown]>([
    ['leaves within a chunk', (dialog) => dialog.write(`BDAT 100 LAST\r\n${MESSAGE.slice(0, 50)}`)],
    ['leaves between two chunks', (dialog) => chunk(dialog, MESSAGE)],
  ])('is none when its sender %s', async (_, send) => {
    const server = await start()
    const dialog = await startChunks(server.port)
    await chunk(dialog, 'From: a@b\r\n')
    await send(dialog)
    dialog.destroy()
    await until('the store knows', () => server.aborted.length === 1)
    expect(server.stored).toEqual([])
  })

  test('is none when its session takes too long, or the listener stops', async () => {
    const late = await start({ session_deadline_ms: 300 })
    using slow = await startChunks(late.port)
    slow.write('BDAT 100 LAST\r\nFrom: ')
    expect(await slow.read()).toStartWith('421 4.4.2')
    const stopping = await start()
    using begun = await startChunks(stopping.port)
    await chunk(begun, 'From: a@b\r\n')
    const closed = stopping.close({ timeout_ms: 200 })
    expect(await begun.read()).toStartWith('421 4.3.2')
    await closed
    await until('the stores know', () => late.aborted.length === 1 && stopping.aborted.length === 1)
  })

  test('may be brought to its end while the listener stops', async () => {
    const server = await start()
    using dialog = await startChunks(server.port)
    await chunk(dialog, MESSAGE.slice(0, 9))
    const closed = server.close()
    expect(await chunk(dialog, MESSAGE.slice(9), LAST)).toStartWith('250')
    await closed
    expect(server.stored[0]?.raw.toString()).toBe(MESSAGE)
  })

  test.each(['RSET', 'EHLO again.test', 'HELO again.test'])('is none after %s, and the next one is', async (line) => {
    const server = await start()
    using dialog = await startChunks(server.port)
    await chunk(dialog, 'From: a@b\r\n')
    expect(await dialog.command(line)).toStartWith('250')
    expect(await chunk(dialog, MESSAGE, LAST)).toStartWith('503')
    for (const again of [MAIL, RCPT]) expect(await dialog.command(again)).toStartWith('250')
    expect(await chunk(dialog, MESSAGE, LAST)).toStartWith('250')
    expect([server.stored.map(({ raw }) => raw.toString()), server.aborted.length]).toEqual([[MESSAGE], 1])
  })

  test('goes with no DATA, nor does binary mail', async () => {
    const server = await start()
    using dialog = await startChunks(server.port)
    await chunk(dialog, MESSAGE.slice(0, 5))
    expect(await dialog.command('DATA')).toStartWith('503 5.5.1')
    expect(await dialog.command(MAIL)).toStartWith('503 5.5.1')
    expect(await chunk(dialog, MESSAGE.slice(5), LAST)).toStartWith('250')
    using binary = await startChunks(server.port, `${MAIL} BODY=BINARYMIME`)
    expect(await binary.command('DATA')).toStartWith('503 5.5.1')
    expect(await chunk(binary, MESSAGE, LAST)).toStartWith('250')
    expect(server.stored.map(({ raw }) => raw.toString())).toEqual([MESSAGE, MESSAGE])
  })

  test('may take longer to be stored than a client may be silent, who is sent away between chunks', async () => {
    const server = await start({
      socket_timeout_ms: 100,
      store: async (_envelope, raw) => {
        await readAll(raw)
        await Bun.sleep(400)
        return { queue_id: 'slow' }
      },
    })
    using dialog = await startChunks(server.port)
    expect(await chunk(dialog, MESSAGE, LAST)).toBe('250 2.0.0 Ok: queued as slow')
    for (const line of [MAIL, RCPT]) await dialog.command(line)
    expect(await chunk(dialog, MESSAGE)).toStartWith('250')
    expect(await dialog.read()).toStartWith('421')
    await dialog.closed
  })

  test('of 2 MB in chunks of 64 KB, 1 KB each beyond the limit of commands, is taken', async () => {
    const server = await start({ max_bytes: 3_000_000, max_commands: 100 })
    using dialog = await startChunks(server.port)
    const piece = Buffer.alloc(1024, 'x')
    for (let n = 0; n < 300; n++) dialog.write(Buffer.concat([Buffer.from('BDAT 1024\r\n'), piece]))
    dialog.write(`BDAT ${2_000_000} LAST\r\n${'y'.repeat(2_000_000)}`)
    expect(new Set(await codes(dialog, 301))).toEqual(new Set([250]))
    expect(server.stored[0]?.raw.length).toBe(300 * 1024 + 2_000_000)
  })
})

describe('a chunk that cannot be taken', () => {
  test('because the message is too large is refused before it comes, and its bytes are no commands', async () => {
    const replies: number[] = []
    const notes: unknown[] = []
    const server = await start({
      max_bytes: 1000,
      observe: (code) => replies.push(code),
      refused: ({ code, enhanced_code, command, reason }, mail) =>
        notes.push([code, enhanced_code, command, reason, mail?.recipients]),
    })
    using dialog = await startChunks(server.port)
    expect(await dialog.command('BDAT 1001 LAST')).toStartWith('552 5.3.4')
    dialog.write(`${'QUIT\r\n'.repeat(166)}12345${MAIL}\r\n${RCPT}\r\nBDAT 600\r\n${'x'.repeat(600)}`)
    expect(await codes(dialog, 3)).toEqual([250, 250, 250])
    expect(await dialog.command('BDAT 401')).toStartWith('552 5.3.4')
    dialog.write(`${'y'.repeat(401)}BDAT 3 LAST\r\nend`)
    expect(await codes(dialog, 1)).toEqual([503])
    await until('the store knows', () => server.aborted.length === 1)
    expect([server.stored, replies]).toEqual([[], [552, 552]])
    const too_large = [552, '5.3.4', 'BDAT', 'too_large', ['help@example.com']]
    expect(notes).toEqual([too_large, too_large, [503, '5.5.1', 'BDAT', 'protocol', undefined]])
  })

  test.each(['99999999999999999999', '18446744073709551616', '9007199254740993'])(
    'of %s bytes is too large, whatever follows',
    async (size) => {
      const server = await start()
      using dialog = await startChunks(server.port)
      expect(await dialog.command(`BDAT ${size}`)).toStartWith('552 5.3.4')
      dialog.write(`${MAIL}\r\n${'x'.repeat(100_000)}`)
      using other = await startChunks(server.port)
      expect(await chunk(other, MESSAGE, LAST)).toStartWith('250')
    },
  )

  test.each(['BDAT', 'BDAT -1', 'BDAT 1e3', 'BDAT x LAST', 'BDAT 3 LEAST', 'BDAT 3 LAST LAST', 'BDAT 0x10'])(
    '%s is a fault of syntax',
    async (line) => {
      const server = await start()
      using dialog = await startChunks(server.port)
      expect(await dialog.command(line)).toStartWith('501 5.5.4')
      expect(await chunk(dialog, MESSAGE, LAST)).toStartWith('250')
    },
  )

  test('without a greeting, a sender or a recipient is 503, and its bytes are no commands', async () => {
    const server = await start()
    using dialog = await startSession(server.port)
    expect(await chunk(dialog, 'QUIT\r\n')).toStartWith('503 5.5.1')
    dialog.write(`${MAIL}\r\nRCPT TO:<unknown@example.com>\r\nBDAT 6 LAST\r\nQUIT\r\nBDAT 0 LAST\r\n`)
    expect(await codes(dialog, 4)).toEqual([250, 550, 503, 503])
    expect(await dialog.command(RCPT)).toStartWith('250')
    expect(await chunk(dialog, MESSAGE, LAST)).toStartWith('250')
    expect(server.stored).toHaveLength(1)
  })

  test('because there is no room for it is refused before it comes', async () => {
    let is_full = false
    const server = await start({
      refusal: async () => (is_full ? { code: 452, text: '4.3.1 Not enough storage' } : undefined),
    })
    using dialog = await startChunks(server.port)
    expect(await chunk(dialog, 'From: a@b\r\n')).toStartWith('250')
    is_full = true
    expect(await dialog.command('BDAT 6 LAST')).toBe('452 4.3.1 Not enough storage')
    is_full = false
    dialog.write('QUIT\r\n')
    expect(await chunk(dialog, MESSAGE, LAST)).toStartWith('503')
    await until('the store knows', () => server.aborted.length === 1)
    expect(server.stored).toEqual([])
  })

  test('because the store has failed is 451, at once or with the next chunk', async () => {
    for (const reads of [false, true]) {
      const failed = Promise.withResolvers<void>()
      const server = await start({
        store: async (_envelope, raw) => {
          if (reads) for await (const _ of raw) break
          setImmediate(failed.resolve)
          throw new Error('disk broken')
        },
      })
      using dialog = await startChunks(server.port)
      const first = await chunk(dialog, 'x'.repeat(200_000))
      await failed.promise
      if (first.startsWith('250')) expect(await chunk(dialog, 'y', LAST)).toStartWith('451 4.3.0')
      else expect(first).toStartWith('451 4.3.0')
      for (const line of [MAIL, RCPT]) expect(await dialog.command(line)).toStartWith('250')
    }
  })
})

describe('of MAIL and RCPT', () => {
  test.each([
    [`${MAIL} XYZZY`, 555],
    [`${MAIL} SIZE=100 MT-PRIORITY=3`, 555],
    [`${MAIL} AUTH=<>`, 555],
    [`${MAIL} NOTIFY=NEVER`, 555],
    [`${MAIL} SIZE=100 BODY=8BITMIME RET=HDRS ENVID=x SMTPUTF8`, 250],
    [`${MAIL} BODY=BINARY`, 501],
  ])('%s is %p', async (line, code) => {
    const server = await start()
    using dialog = await startSession(server.port)
    expect(await dialog.command(line)).toStartWith(String(code))
  })

  test('an unknown parameter of RCPT is 555, and stops no other recipient', async () => {
    const server = await start()
    using dialog = await startSession(server.port)
    await dialog.command(MAIL)
    expect(await dialog.command(`${RCPT} SIZE=3`)).toStartWith('555 5.5.4')
    expect(await dialog.command(`${RCPT} NOTIFY=SUCCESS ORCPT=rfc822;a@b`)).toStartWith('250')
  })

  test.each([
    ['"help"@example.com', 'help@example.com'],
    ['"he\\lp+tag.1"@example.com', 'help+tag.1@example.com'],
    ['"two words"@example.com', '"two words"@example.com'],
    ['"dot."@example.com', '"dot."@example.com'],
  ])('the quoted local part of %s is that of %s', async (given, read) => {
    const server = await start()
    using dialog = await startSession(server.port)
    expect(await dialog.command(`MAIL FROM:<${given}>`)).toStartWith('250')
    expect(await dialog.command(`RCPT TO:<${given}>`)).toStartWith('250')
    expect(await chunk(dialog, MESSAGE, LAST)).toStartWith('250')
    const { sender, recipients } = server.stored[0]!.envelope
    expect([sender, recipients[0]?.address]).toEqual([read, read])
  })
})
