/** Sending to the SMTP server of a mailbox: TLS, sign-in, and an outcome for each recipient. */
import { afterEach, describe, expect, test } from 'bun:test'
import { type AddressInfo, createServer } from 'node:net'
import path from 'node:path'
import type { Readable } from 'node:stream'
import ipaddr from 'ipaddr.js'
import { SMTPServer } from 'smtp-server'
import { SendError, sendError } from '../../../src/mail/outbound/send-error'
import type { SendOptions } from '../../../src/mail/outbound/settings'
import { closeTransports, sendMail, testMailbox } from '../../../src/mail/outbound/transport'
import { issueCertificate, issueExpiredCertificate } from '../../support/certificates'
import { freePort } from '../../support/ports'
import { startRawReceiver } from '../../support/raw-receiver'
import { startRawSmtp } from '../../support/raw-smtp'
import { allowed, bytes, compose, send, smtpOf, TO } from '../../support/replies'
import { startSmtpSink } from '../../support/smtp'

afterEach(closeTransports)

/** The error of a send that has to fail. */
async function failure(sending: Promise<unknown>): Promise<SendError> {
  const error = await sending.then(
    () => undefined,
    (error) => error,
  )
  expect(error).toBeInstanceOf(SendError)
  return error
}

describe('recipients', () => {
  test('one refusal does not stop the others, and each comes with its answer', async () => {
    using sink = await startSmtpSink({
      answer: ({ stage, address }) => {
        if (stage !== 'rcpt') return undefined
        if (address.startsWith('gone')) return '550 5.1.1 No such user'
        return address.startsWith('full') ? '452 4.2.2 Mailbox full' : undefined
      },
    })
    const to = ['gone', 'ann', 'full', 'bob'].map((name) => ({ address: `${name}@example.test` }))
    const result = await send(sink, { to })
    expect(result.rejected).toEqual([
      { address: 'gone@example.test', code: 550, response: '550 5.1.1 No such user', is_permanent: true },
      { address: 'full@example.test', code: 452, response: '452 4.2.2 Mailbox full', is_permanent: false },
    ])
    expect((await sink.waitFor(1))[0]?.to).toEqual(['ann@example.test', 'bob@example.test'])
  })

  test('all refused is a result too', async () => {
    using sink = await startSmtpSink({ answer: ({ stage }) => (stage === 'rcpt' ? '550 5.1.1 No' : undefined) })
    expect(await send(sink)).toEqual({
      rejected: [{ address: TO.address, code: 550, response: '550 5.1.1 No', is_permanent: true }],
    })
  })

  test('none with an address sends nothing', async () => {
    using sink = await startSmtpSink()
    const result = await send(sink, { to: [{ address: 'nowhere' }] })
    expect(result).toMatchObject({ rejected: [{ address: 'nowhere', code: 553 }] })
    expect(sink.connections()).toBe(0)
  })
})

describe('refusals of the message', () => {
  test.each([
    ['mail', '550 5.7.1 Not you', 'refused'],
    ['mail', '451 4.7.1 Later', 'at fault'],
    ['data', '554 5.6.0 Not this', 'refused'],
    ['data', '451 4.7.1 Later', 'put off'],
    ['data', '452 4.3.1 Disk full', 'at fault'],
    ['data', '421 4.3.2 Going down', 'at fault'],
  ])('%s answered %j: %s', async (stage, reply, verdict) => {
    using sink = await startSmtpSink({ answer: (event) => (event.stage === stage ? reply : undefined) })
    const error = await failure(send(sink))
    expect(error).toMatchObject({ code: Number(reply.slice(0, 3)), response: reply, verdict })
    expect(error.message).toContain(reply)

    sink.answer()
    expect((await send(sink)).rejected).toEqual([])
  })

  test('a message above the size that the server takes is refused before it is sent, in clear words', async () => {
    using sink = await startSmtpSink({ max_bytes: 100_000 })
    const file = { filename: 'a', content_type: 'image/png', content: () => bytes('x'.repeat(80_000)) }
    const error = await failure(send(sink, { attachments: [{ ...file, size: 80_000 }] }))
    expect(error).toMatchObject({ code: 552, verdict: 'refused' })
    expect(error.message).toContain('larger than the 100000 bytes that the server takes')
    expect((await send(sink)).rejected).toEqual([])
  })

  test('the size announced is the size sent, nearly', async () => {
    using sink = await startSmtpSink({ max_bytes: 10_000_000 })
    const file = {
      filename: 'a',
      content_type: 'image/png',
      content: () => bytes('x'.repeat(3_000_000)),
      size: 3_000_000,
    }
    await send(sink, { text: 'ä'.repeat(10_000), attachments: [file, file] })
    const [mail] = await sink.waitFor(1)
    const announced = Number(mail?.parameters.SIZE)
    const length = mail?.raw.length ?? 0
    expect(announced).toBeGreaterThan(length * 0.99)
    expect(announced).toBeLessThan(length * 1.01)
  })

  test('an attachment that cannot be read fails the message, and the server gets no part of it as a message', async () => {
    using sink = await startSmtpSink()
    const content = async function* () {
      yield Buffer.from('half')
      throw new Error('storage gone')
    }
    const error = await failure(send(sink, { attachments: [{ filename: 'a', content_type: 'text/plain', content }] }))
    expect(error).toMatchObject({ code: null, verdict: 'own' })
    expect((await send(sink)).rejected).toEqual([])
    expect(sink.messages).toHaveLength(1)
  })

  test('the Message-ID that a provider put in place of ours is reported', async () => {
    const reply = '250 2.0.0 OK <new@AM0.eurprd01.prod.outlook.com> [Hostname=AM0.eurprd01.prod.outlook.com]'
    using sink = await startSmtpSink({ answer: ({ stage }) => (stage === 'data' ? reply : undefined) })
    const result = await send(sink)
    expect(result).toMatchObject({ rejected: [], server_message_id: 'new@AM0.eurprd01.prod.outlook.com' })
  })
})

describe('encryption', () => {
  test.each(['starttls', 'tls'] as const)('%s verifies the certificate against the extra authority', async (tls) => {
    using sink = await startSmtpSink({ tls })
    await sendMail(smtpOf(sink, tls), compose(), { allowed, ca: sink.ca })
    await sendMail({ ...smtpOf(sink, tls), host: 'localhost' }, compose(), { allowed, ca: sink.ca })
    const mails = await sink.waitFor(2)
    expect(mails.map((mail) => mail.tls)).toEqual([true, true])
  })

  test.each(['starttls', 'tls'] as const)('%s refuses an unknown authority, another name, an old one', async (tls) => {
    const { ca } = await issueCertificate()
    const wrong = [
      { certificate: await issueCertificate(), ca: undefined },
      { certificate: await issueCertificate(['other.example.test']), ca },
      { certificate: await issueExpiredCertificate(), ca },
    ]
    for (const { certificate, ca } of wrong) {
      using sink = await startSmtpSink({ tls, certificate, auth: { user: 'u', pass: 'p' } })
      const smtp = { ...smtpOf(sink, tls), host: 'localhost', username: 'u', password: 'p' }
      const error = await failure(sendMail(smtp, compose(), { allowed, ca }))
      expect(error).toMatchObject({ code: null, verdict: 'at fault' })
      expect(error.message).toMatch(/certificate|altnames|self.signed|issuer/i)
      expect(sink.messages).toHaveLength(0)
    }
  })

  test('starttls sends nothing to a server that does not offer it', async () => {
    using sink = await startSmtpSink({ auth: { user: 'u', pass: 'p' } })
    const smtp = { ...smtpOf(sink, 'starttls'), username: 'u', password: 'p' }
    expect((await failure(sendMail(smtp, compose(), { allowed }))).verdict).toBe('at fault')
    expect(sink.messages).toHaveLength(0)
  })

  test('none does not encrypt even where the server offers it', async () => {
    using sink = await startSmtpSink({ tls: 'starttls' })
    await send(sink)
    expect((await sink.waitFor(1))[0]?.tls).toBe(false)
  })

  test('an extra authority is trusted besides those of the system, not instead of them', async () => {
    using sink = await startSmtpSink({ tls: 'starttls' })
    const { ca_file } = await issueCertificate()
    const script = `
      const { testMailbox } = await import('./src/mail/outbound/transport')
      const ipaddr = (await import('ipaddr.js')).default
      const { createRequire } = await import('node:module')
      const other = (await import('node:tls')).rootCertificates[0]
      const smtp = { host: '127.0.0.1', port: ${sink.port}, security: 'starttls' }
      const result = await testMailbox(smtp, { allowed: [ipaddr.parseCIDR('127.0.0.0/8')], ca: other })
      process.stdout.write(JSON.stringify(result))
    `
    const run = async (extra: string) => {
      const env = { ...process.env, NODE_EXTRA_CA_CERTS: extra }
      const cwd = path.join(import.meta.dir, '../../..')
      const child = Bun.spawn([process.execPath, '-e', script], { cwd, env, stderr: 'ignore' })
      return (await new Response(child.stdout).json()).ok
    }
    expect(await run(ca_file)).toBe(true)
    expect(await run('')).toBe(false)
  })
})

describe('connections', () => {
  test('one connection serves messages until the transports are closed', async () => {
    using sink = await startSmtpSink()
    await send(sink)
    await send(sink)
    closeTransports()
    await send(sink)
    expect((await sink.waitFor(3)).map(({ connection }) => connection)).toEqual([1, 1, 2])
  })

  test('other settings are another connection', async () => {
    using sink = await startSmtpSink({ auth: { user: 'ann', pass: 'secret' } })
    const smtp = { ...smtpOf(sink), username: 'ann', password: 'secret' }
    await sendMail(smtp, compose(), { allowed })
    await failure(sendMail({ ...smtp, password: 'wrong' }, compose(), { allowed }))
    expect((await sink.waitFor(1))[0]).toMatchObject({ user: 'ann', connection: 1 })
  })

  test('messages at the same time all arrive', async () => {
    using sink = await startSmtpSink()
    await Promise.all(Array.from({ length: 12 }, (_, i) => send(sink, { message_id: `m${i}@acme.test` })))
    expect(sink.messages).toHaveLength(12)
    expect(sink.connections()).toBe(4)
  })

  test('an address that is not allowed is not dialled', async () => {
    using sink = await startSmtpSink()
    for (const host of ['127.0.0.1', 'localhost', '::ffff:127.0.0.1']) {
      const error = await failure(sendMail({ ...smtpOf(sink), host }, compose(), { allowed: [] }))
      expect(error).toMatchObject({ code: null, verdict: 'at fault' })
      expect(error.message).toBe('the server has an address that may not be reached')
    }
    expect(sink.connections()).toBe(0)
  })

  test('a server that is not there, or not found, is worth another try', async () => {
    const port = await freePort()
    const refused = await failure(sendMail({ ...smtpOf({ port }) }, compose(), { allowed }))
    expect(refused).toMatchObject({ code: null, verdict: 'at fault' })
    expect(refused.message).toMatch(/ECONNREFUSED|connect/i)
  })

  test('what answers at a port and is no mail server is not quoted', async () => {
    for (const greeting of [
      'SSH-2.0-OpenSSH_9.2p1 internal-bastion-7',
      'HTTP/1.1 400 internal',
      '+OK internal',
      '550 internal',
    ]) {
      using server = await startRawSmtp({ greeting })
      const { error } = await testMailbox(smtpOf(server), { allowed })
      expect(error).toBe('greeting: the server does not greet as an SMTP server')
    }
    const closed = await testMailbox(smtpOf({ port: await freePort() }), { allowed })
    expect(closed.error).toBe('connect: the server cannot be connected to, or closed the connection')
  })

  test('only ports of mail servers are reached, and in the networks of the operator those that are named', async () => {
    using server = await startRawSmtp()
    const at = (networks: SendOptions['allowed']) => testMailbox(smtpOf(server), { allowed: networks })
    const [network, bits] = ipaddr.parseCIDR('127.0.0.0/8')
    expect(await at([[network, bits, server.port]])).toMatchObject({ ok: true })
    const refused = 'the server has an address that may not be reached'
    expect(await at([[network, bits, 25]])).toMatchObject({ ok: false, error: refused })
    const other = { ...smtpOf(server), host: '192.0.43.10', port: 22 }
    const { error } = await testMailbox(other, { allowed })
    expect(error).toBe('the server has a port that may not be reached: only 25, 465, 587 and 2525 may')
  })

  test('a silent server times out', async () => {
    using server = await startSilent()
    const timeouts = { greeting_ms: 200 }
    const error = await failure(sendMail(smtpOf(server), compose(), { allowed, timeouts }))
    expect(error).toMatchObject({ code: null, verdict: 'at fault' })
    expect(error.message).toBe('timeout: the server does not answer in time')
  })
})

describe('the test of a mailbox', () => {
  test('is ok when the server takes the user name and password, and sends nothing', async () => {
    using sink = await startSmtpSink({ tls: 'starttls', auth: { user: 'ann', pass: 'secret' } })
    const smtp = { ...smtpOf(sink, 'starttls'), username: 'ann', password: 'secret' }
    const result = await testMailbox(smtp, { allowed, ca: sink.ca })
    expect(result).toEqual({ ok: true, error: null, response_time_ms: expect.any(Number) })
    expect(sink.messages).toHaveLength(0)
  })

  test('ends in time at a server that sends a byte now and then', async () => {
    using server = await startRawReceiver(
      (socket) => {
        socket.write('220 hello\r\n')
        const timer = setInterval(() => socket.write('2'), 20)
        socket.on('close', () => clearInterval(timer))
      },
      { tls: false },
    )
    const { ok, error } = await testMailbox(smtpOf(server), { allowed }, 300)
    expect([ok, error]).toEqual([false, 'timeout: the server does not answer in time'])
  })

  test('names the answer of the server', async () => {
    using sink = await startSmtpSink({ auth: { user: 'ann', pass: 'secret' } })
    const smtp = { ...smtpOf(sink), username: 'ann', password: 'wrong' }
    expect(await testMailbox(smtp, { allowed })).toMatchObject({
      ok: false,
      error: expect.stringContaining('535 5.7.8'),
    })
  })

  test('without a user name is ok at a server that offers to sign in, as mail goes out there', async () => {
    const server = new SMTPServer({ authOptional: true, allowInsecureAuth: true, logger: false, onData: drained })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const smtp = smtpOf({ port: (server.server.address() as AddressInfo).port })
    try {
      expect(await testMailbox(smtp, { allowed })).toMatchObject({ ok: true, error: null })
      expect((await sendMail(smtp, compose(), { allowed })).rejected).toEqual([])
    } finally {
      closeTransports()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    }
  })

  test('without a user name says what sending says where the server wants one', async () => {
    const server = new SMTPServer({ allowInsecureAuth: true, logger: false, onData: drained })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const smtp = smtpOf({ port: (server.server.address() as AddressInfo).port })
    try {
      const { message } = await failure(sendMail(smtp, compose(), { allowed }))
      expect(message).toContain('530')
      expect(await testMailbox(smtp, { allowed })).toMatchObject({ ok: false, error: message })
    } finally {
      closeTransports()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    }
  })

  test.each([
    ['530-5.7.0 Authentication required\r\n530 5.7.0 See mail.example', false],
    ['421 4.3.0 Closing', false],
    ['250-Fine\r\n250 Go on', true],
    ['550 5.7.1 No mail without a sender', true],
    ['451 4.7.1 Later', true],
  ])('without a user name, where the server answers MAIL FROM with %p', async (reply, ok) => {
    using server = await startRawSmtp({ answer: (line) => (/^MAIL/i.test(line) ? reply : undefined) })
    expect((await testMailbox(smtpOf(server), { allowed })).ok).toBe(ok)
    expect(server.lines.filter((line) => /^(AUTH|RCPT|DATA)/i.test(line))).toEqual([])
    expect(server.messages).toEqual([])
  })

  test('fails where no server is', async () => {
    const result = await testMailbox(smtpOf({ port: await freePort() }), { allowed })
    expect(result).toMatchObject({ ok: false, error: expect.stringMatching(/ECONNREFUSED|connect/i) })
  })

  test('never shows the password, even when the server repeats it', async () => {
    const pass = 'S3cret+pass'
    const plain = Buffer.from(`\0ann\0${pass}`).toString('base64')
    const refusal = `535 5.7.8 No: ${pass} ${Buffer.from(pass).toString('base64')} ${plain}`
    using sink = await startSmtpSink({ auth: { user: 'ann', pass: 'other', refusal } })
    const smtp = { ...smtpOf(sink), username: 'ann', password: pass }
    const { error } = await testMailbox(smtp, { allowed })
    expect(error).toContain('535 5.7.8 No: *** *** ***')
    const failed = await failure(sendMail(smtp, compose(), { allowed }))
    expect(failed).toMatchObject({ code: 535, verdict: 'at fault', response: '535 5.7.8 No: *** *** ***' })
    expect(Bun.inspect(failed)).not.toContain(pass)
  })
})

test('an error that nobody classified says so, in its own words', () => {
  const of = (error: object) => sendError(Object.assign(new Error('The moon is full'), error), smtpOf({ port: 25 }))
  expect(of({ code: 'EMOON' })).toMatchObject({ message: 'other: The moon is full', verdict: 'at fault' })
  expect(of({}).message).toBe('other: The moon is full')
  expect(of({ code: 'ECONNECTION' }).message).toMatch(/^connect: /)
  expect(of({ code: 'EAUTH', message: 'Missing credentials for "PLAIN"' }).message).toBe(
    'auth: the mailbox has no password to sign in with',
  )
  const with_password = { ...smtpOf({ port: 25 }), username: 'ann', password: 'full' }
  expect(sendError(new Error('The moon is full'), with_password).message).toBe('other: The moon is ***')
})

const drained = (stream: Readable, _session: unknown, callback: () => void) => void stream.resume().on('end', callback)

/** A server that takes connections and says nothing. */
async function startSilent() {
  const sockets = new Set<{ destroy: () => void }>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const bound = server.address()
  return {
    port: typeof bound === 'object' && bound ? bound.port : 0,
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
