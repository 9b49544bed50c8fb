/** Mail out (decisions, section 7, "Outbound"): what a reply is made of, and how it reaches the mailbox's server. */
import { afterEach, describe, expect, test } from 'bun:test'
import { createServer } from 'node:net'
import path from 'node:path'
import fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import { simpleParser } from 'mailparser'
import type { Network } from '../src/config'
import { ComposeError, composeReply, type Reply, replySubject } from '../src/mail/compose'
import { SendError } from '../src/mail/send-error'
import { closeTransports, type SendOptions, sendMail, testMailbox } from '../src/mail/transport'
import { issueCertificate, issueExpiredCertificate } from './support/certificates'
import { type SmtpSink, startSmtpSink } from './support/smtp'

const allowed: Network[] = [ipaddr.parseCIDR('127.0.0.0/8'), ipaddr.parseCIDR('::1/128')]
const FROM = { name: 'Support', address: 'support@acme.test' }
const TO = { name: 'Ann', address: 'ann@example.test' }

afterEach(closeTransports)

function compose(changes: Partial<Reply> = {}) {
  return composeReply({
    from: FROM,
    to: [TO],
    subject: 'Printer',
    code: 'ACME-1',
    message_id: 'm1@acme.test',
    text: 'Try again.',
    html: '<p>Try again.</p>',
    ...changes,
  })
}

function smtpOf(sink: { port: number }, security: 'none' | 'starttls' | 'tls' = 'none') {
  return { host: '127.0.0.1', port: sink.port, security }
}

async function send(sink: SmtpSink, changes: Partial<Reply> = {}, options: Partial<SendOptions> = {}) {
  return sendMail(smtpOf(sink), compose(changes), { allowed, ...options })
}

/** The error of a send that has to fail. */
async function failure(sending: Promise<unknown>): Promise<SendError> {
  const error = await sending.then(
    () => undefined,
    (error) => error,
  )
  expect(error).toBeInstanceOf(SendError)
  return error
}

/** The message as the server got it: bytes, header fields in order, and what a parser makes of it. */
async function arrived(changes: Partial<Reply>) {
  using sink = await startSmtpSink()
  const result = await send(sink, changes)
  const [mail] = await sink.waitFor(1)
  const raw = mail?.raw.toString('latin1') ?? ''
  const header = raw.slice(0, raw.indexOf('\r\n\r\n')).replace(/\r\n[ \t]+/g, ' ')
  const fields = header.split('\r\n').map((line) => line.slice(0, line.indexOf(':')))
  return { result, raw, header, fields, envelope: mail, parsed: await simpleParser(mail?.raw ?? '') }
}

describe('the subject of a reply', () => {
  test.each([
    ['Printer', 'Re: Printer [ACME-1]'],
    ['Re: Printer', 'Re: Printer [ACME-1]'],
    ['RE:re: rE : Printer', 'Re: Printer [ACME-1]'],
    ['Re[2]: Printer', 'Re: Printer [ACME-1]'],
    ['Re：打印机', 'Re: 打印机 [ACME-1]'],
    ['Fwd: Re: Printer', 'Re: Fwd: Printer [ACME-1]'],
    ['AW: RE: WG: Printer', 'Re: AW: WG: Printer [ACME-1]'],
    ['[External] Re: Printer', 'Re: [External] Printer [ACME-1]'],
    ['Re: Printer [ACME-1]', 'Re: Printer [ACME-1]'],
    ['[acme-1] Re: [ACME-1] Printer', 'Re: Printer [ACME-1]'],
    ['Printer [ACME-1] is broken', 'Re: Printer is broken [ACME-1]'],
    ['Printer [ACME-12] [OTHER-1]', 'Re: Printer [ACME-12] [OTHER-1] [ACME-1]'],
    ['Reply: Resume: http://re.test/re:', 'Re: Reply: Resume: http://re.test/re: [ACME-1]'],
    ['', 'Re: [ACME-1]'],
    ['Re:', 'Re: [ACME-1]'],
    ['Printer\r\nBcc: evil@example.test', 'Re: Printer Bcc: evil@example.test [ACME-1]'],
    ['  many \t spaces ', 'Re: many spaces [ACME-1]'],
    ['👩‍👧 family', 'Re: 👩‍👧 family [ACME-1]'],
  ])('%j becomes %j', (subject, expected) => {
    expect(replySubject(subject, 'ACME-1')).toBe(expected)
  })

  test('of any text is a fixed point with one code and no second Re at the front', () => {
    const word = fc.oneof(
      fc.constantFrom('Re:', 're: ', 'Fwd: ', '[ACME-1]', '[x] ', ' '),
      fc.string({ unit: 'grapheme' }),
    )
    fc.assert(
      fc.property(fc.array(word, { maxLength: 8 }), (words) => {
        const subject = replySubject(words.join(''), 'ACME-1')
        expect(subject.split('[ACME-1]')).toHaveLength(2)
        expect(subject).toMatch(/^Re: (?!re:).*\[ACME-1\]$/isu)
        expect(replySubject(subject, 'ACME-1')).toBe(subject)
      }),
      { numRuns: 300 },
    )
  })
})

describe('a composed message', () => {
  test('is text and HTML with the headers of the conversation and no others', async () => {
    const { fields, parsed, envelope, raw } = await arrived({
      cc: [{ address: 'bob@example.test' }],
      reply_to: { address: 'support+t.abc@acme.test' },
      in_reply_to: 'r2@example.test',
      references: ['r1@example.test', 'r2@example.test'],
      date: new Date('2026-01-02T03:04:05Z'),
    })

    expect(fields.toSorted()).toEqual(
      [
        'Cc',
        'Content-Type',
        'Date',
        'From',
        'In-Reply-To',
        'MIME-Version',
        'Message-ID',
        'References',
        'Reply-To',
      ].concat('Subject', 'To'),
    )
    expect(parsed.subject).toBe('Re: Printer [ACME-1]')
    expect(parsed.messageId).toBe('<m1@acme.test>')
    expect(parsed.inReplyTo).toBe('<r2@example.test>')
    expect(parsed.references).toEqual(['<r1@example.test>', '<r2@example.test>'])
    expect(parsed.date).toEqual(new Date('2026-01-02T03:04:05Z'))
    expect(parsed.text?.trim()).toBe('Try again.')
    expect(parsed.html).toBe('<p>Try again.</p>')
    expect(raw).toContain('Content-Type: multipart/alternative')
    expect(envelope).toMatchObject({ from: FROM.address, to: [TO.address, 'bob@example.test'] })
  })

  test('has CRLF line ends, short lines and no dot lost, whatever line ends its text has', async () => {
    const text = `a\nb\r\nc\rd\n.\n..\n${'long '.repeat(400)}\n${'x'.repeat(3000)}`
    const { raw, parsed } = await arrived({ text, html: text })
    expect(raw.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/)
    expect(Math.max(...raw.split('\r\n').map((line) => line.length))).toBeLessThan(998)
    expect(parsed.text?.trimEnd()).toBe(text.replace(/\r\n?/g, '\n').trimEnd())
  })

  test('has no lone carriage return of a short text either', async () => {
    const { raw, parsed } = await arrived({ text: 'a\rb', html: 'a\rb' })
    expect(raw.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/)
    expect(parsed.text?.trimEnd()).toBe('a\nb')
  })

  test('carries names, subjects and file names of any script', async () => {
    const name = 'Jörg "J.R." O’Brien, 王 <x> 👩‍👧'
    const { parsed } = await arrived({
      from: { name, address: FROM.address },
      subject: 'Größe 印刷機 👩‍👧 '.repeat(8),
      attachments: ['Übersicht 2026 "final"; v1.pdf', '報告書.txt', 'a'.repeat(200)].map((filename) => ({
        filename,
        content_type: 'application/octet-stream',
        content: async () => bytes('x'),
      })),
    })
    expect(parsed.from?.value).toEqual([{ name, address: FROM.address }])
    expect(parsed.subject).toBe(`Re: ${'Größe 印刷機 👩‍👧 '.repeat(8)}[ACME-1]`)
    expect(parsed.attachments.map(({ filename }) => filename)).toEqual([
      'Übersicht 2026 "final"; v1.pdf',
      '報告書.txt',
      'a'.repeat(200),
    ])
  })

  test('nests inline images beside the HTML and lists other files', async () => {
    const image = { content_type: 'image/png', content: () => bytes('png'), content_id: 'logo@acme.test' }
    const { parsed, raw } = await arrived({
      html: '<img src="cid:logo@acme.test">',
      attachments: [
        { ...image, filename: 'logo.png', inline: true },
        { ...image, filename: 'listed.png', inline: false },
        { filename: 'log.txt', content_type: 'text/plain; charset=utf-8', content: () => bytes('ä') },
        { filename: 'mail.eml', content_type: 'message/rfc822', content: () => bytes('Subject: x\n\ny') },
      ],
    })
    const seen = parsed.attachments.map(({ filename, contentType, contentDisposition, related, content }) => {
      return [filename, contentType, contentDisposition, related, content.toString()]
    })
    expect(seen).toEqual([
      ['logo.png', 'image/png', 'inline', true, 'png'],
      ['listed.png', 'image/png', 'attachment', undefined, 'png'],
      ['log.txt', 'text/plain', 'attachment', undefined, 'ä'],
      // The parser goes by the name here: what was sent is below.
      ['mail.eml', 'message/rfc822', 'attachment', undefined, 'Subject: x\n\ny'],
    ])
    expect(raw).toContain('Content-Type: application/octet-stream; name=mail.eml\r\n')
    expect(raw.match(/multipart\/\w+/g)).toEqual(['multipart/mixed', 'multipart/alternative', 'multipart/related'])
  })

  test('keeps the first and the newest references when all are too long', async () => {
    const references = Array.from({ length: 100 }, (_, i) => `message-number-${i}@mail.example.test`)
    const { header, parsed } = await arrived({ references, in_reply_to: 'last@example.test' })
    const line = header.split('\r\n').find((one) => one.startsWith('References:')) ?? ''
    expect(line.length).toBeLessThanOrEqual(1500)
    expect(line.length).toBeGreaterThan(1400)
    expect(parsed.references?.at(0)).toBe('<message-number-0@mail.example.test>')
    expect(parsed.references?.at(-1)).toBe('<last@example.test>')
    expect(parsed.references?.at(-2)).toBe('<message-number-99@mail.example.test>')
  })

  test('cannot get a header or a recipient from what people typed', async () => {
    const attack = 'x\r\nBcc: evil@example.test\r\n\r\n<evil@example.test>, "evil" <evil@example.test>\n\0'
    const { fields, parsed, envelope, result } = await arrived({
      from: { name: attack, address: FROM.address },
      to: [
        { name: attack, address: TO.address },
        { address: attack },
        { address: 'ann@example.test>\r\nRCPT TO:<evil@example.test' },
        { address: 'a@b.test,evil@example.test' },
        { address: '@evil.test' },
      ],
      cc: [{ name: attack, address: 'bob@example.test' }],
      reply_to: { name: attack, address: 'evil@example.test>\r\nBcc: evil@example.test' },
      subject: attack,
      in_reply_to: attack,
      references: [attack, 'good@example.test'],
      attachments: [
        { filename: attack, content_type: `text/plain\r\nBcc: evil@example.test`, content: () => bytes('x') },
        { filename: 'b', content_type: 'multipart/mixed; boundary=x', content: () => bytes('x'), content_id: attack },
      ],
    })

    expect(envelope?.to).toEqual([TO.address, 'bob@example.test'])
    expect(result.rejected.map(({ code }) => code)).toEqual([553, 553, 553, 553])
    expect(fields.toSorted()).toEqual(
      ['Cc', 'Content-Type', 'Date', 'From', 'MIME-Version', 'Message-ID', 'References', 'Subject', 'To'].toSorted(),
    )
    expect([parsed.to, parsed.cc].flat().flatMap((list) => list?.value.map(({ address }) => address))).toEqual([
      TO.address,
      'bob@example.test',
    ])
    expect(parsed.from?.value.map(({ address }) => address)).toEqual([FROM.address])
    expect(parsed.references).toBe('<good@example.test>')
    expect(parsed.attachments.map(({ contentType }) => contentType)).toEqual(Array(2).fill('application/octet-stream'))
    expect(parsed.bcc).toBeUndefined()
  })

  test('needs a sender that is an address', () => {
    expect(() => compose({ from: { address: 'support@acme.test\r\nBcc: evil@example.test' } })).toThrow(ComposeError)
  })
})

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
    expect(result.accepted).toEqual(['ann@example.test', 'bob@example.test'])
    expect(result.rejected).toEqual([
      { address: 'gone@example.test', code: 550, response: '550 5.1.1 No such user', permanent: true },
      { address: 'full@example.test', code: 452, response: '452 4.2.2 Mailbox full', permanent: false },
    ])
    expect((await sink.waitFor(1))[0]?.to).toEqual(['ann@example.test', 'bob@example.test'])
  })

  test('all refused is a result too', async () => {
    using sink = await startSmtpSink({ answer: ({ stage }) => (stage === 'rcpt' ? '550 5.1.1 No' : undefined) })
    expect(await send(sink)).toEqual({
      accepted: [],
      rejected: [{ address: TO.address, code: 550, response: '550 5.1.1 No', permanent: true }],
      response: '550 5.1.1 No',
    })
  })

  test('none with an address sends nothing', async () => {
    using sink = await startSmtpSink()
    const result = await send(sink, { to: [{ address: 'nowhere' }] })
    expect(result).toMatchObject({ accepted: [], rejected: [{ address: 'nowhere', code: 553 }] })
    expect(sink.connections()).toBe(0)
  })
})

describe('refusals of the message', () => {
  test.each([
    ['mail', '550 5.7.1 Not you', true],
    ['mail', '451 4.7.1 Later', false],
    ['data', '554 5.6.0 Not this', true],
    ['data', '452 4.3.1 Disk full', false],
    ['data', '421 4.3.2 Going down', false],
  ])('%s answered %j: permanent %j', async (stage, reply, permanent) => {
    using sink = await startSmtpSink({ answer: (event) => (event.stage === stage ? reply : undefined) })
    const error = await failure(send(sink))
    expect(error).toMatchObject({ code: Number(reply.slice(0, 3)), response: reply, permanent, blame: 'server' })
    expect(error.message).toContain(reply)

    sink.answer()
    expect((await send(sink)).accepted).toEqual([TO.address])
  })

  test('a message above the size that the server takes is refused before it is sent, in clear words', async () => {
    using sink = await startSmtpSink({ max_bytes: 100_000 })
    const file = { filename: 'a', content_type: 'image/png', content: () => bytes('x'.repeat(80_000)) }
    const error = await failure(send(sink, { attachments: [{ ...file, size: 80_000 }] }))
    expect(error).toMatchObject({ code: 552, permanent: true, blame: 'own' })
    expect(error.message).toContain('larger than the 100000 bytes that the server takes')
    expect((await send(sink)).accepted).toEqual([TO.address])
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
    expect(error).toMatchObject({ code: null, permanent: false, blame: 'own' })
    expect((await send(sink)).accepted).toEqual([TO.address])
    expect(sink.messages).toHaveLength(1)
  })

  test('the Message-ID that a provider put in place of ours is reported', async () => {
    const reply = '250 2.0.0 OK <new@AM0.eurprd01.prod.outlook.com> [Hostname=AM0.eurprd01.prod.outlook.com]'
    using sink = await startSmtpSink({ answer: ({ stage }) => (stage === 'data' ? reply : undefined) })
    const result = await send(sink)
    expect(result).toMatchObject({ response: reply, server_message_id: 'new@AM0.eurprd01.prod.outlook.com' })
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
      expect(error).toMatchObject({ code: null, permanent: false, blame: 'server' })
      expect(error.message).toMatch(/certificate|altnames|self.signed|issuer/i)
      expect(sink.messages).toHaveLength(0)
    }
  })

  test('starttls sends nothing to a server that does not offer it', async () => {
    using sink = await startSmtpSink({ auth: { user: 'u', pass: 'p' } })
    const smtp = { ...smtpOf(sink, 'starttls'), username: 'u', password: 'p' }
    expect((await failure(sendMail(smtp, compose(), { allowed }))).permanent).toBe(false)
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
      const { testMailbox } = await import('./src/mail/transport')
      const ipaddr = (await import('ipaddr.js')).default
      const { createRequire } = await import('node:module')
      const other = (await import('node:tls')).rootCertificates[0]
      const smtp = { host: '127.0.0.1', port: ${sink.port}, security: 'starttls' }
      const result = await testMailbox(smtp, { allowed: [ipaddr.parseCIDR('127.0.0.0/8')], ca: other })
      process.stdout.write(JSON.stringify(result))
    `
    const run = async (extra: string) => {
      const env = { ...process.env, NODE_EXTRA_CA_CERTS: extra }
      const cwd = path.join(import.meta.dir, '..')
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
      expect(error).toMatchObject({ code: null, permanent: false, blame: 'own' })
      expect(error.message).toBe('the server has an address that may not be reached')
    }
    expect(sink.connections()).toBe(0)
  })

  test('a server that is not there, or not found, is worth another try', async () => {
    const port = closedPort()
    const refused = await failure(sendMail({ ...smtpOf({ port }) }, compose(), { allowed }))
    expect(refused).toMatchObject({ code: null, permanent: false, blame: 'server' })
    expect(refused.message).toMatch(/ECONNREFUSED|connect/i)
  })

  test('a silent server times out', async () => {
    using server = await startSilent()
    const timeouts = { greeting_ms: 200 }
    const error = await failure(sendMail(smtpOf(server), compose(), { allowed, timeouts }))
    expect(error).toMatchObject({ code: null, permanent: false, blame: 'server' })
    expect(error.message).toContain('Greeting never received')
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

  test('names the answer of the server', async () => {
    using sink = await startSmtpSink({ auth: { user: 'ann', pass: 'secret' } })
    const smtp = { ...smtpOf(sink), username: 'ann', password: 'wrong' }
    expect(await testMailbox(smtp, { allowed })).toMatchObject({
      ok: false,
      error: expect.stringContaining('535 5.7.8'),
    })
  })

  test('fails where no server is', async () => {
    const result = await testMailbox(smtpOf({ port: closedPort() }), { allowed })
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
    expect(failed).toMatchObject({ code: 535, permanent: false, response: '535 5.7.8 No: *** *** ***' })
    expect(Bun.inspect(failed)).not.toContain(pass)
  })
})

async function* bytes(text: string) {
  yield Buffer.from(text)
}

/** A port where nothing listens. */
function closedPort(): number {
  const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  const { port } = listener
  listener.stop(true)
  return port
}

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
