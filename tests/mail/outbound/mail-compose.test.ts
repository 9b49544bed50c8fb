/** The parts of a reply: header, anchors, bodies and attachments. */
import { afterEach, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { simpleParser } from 'mailparser'
import { ComposeError, type CustomerReply } from '../../../src/mail/outbound/compose'
import { ticketSubject } from '../../../src/mail/outbound/header-values'
import { closeTransports } from '../../../src/mail/outbound/transport'
import { bytes, compose, FROM, send, TO } from '../../support/replies'
import { startSmtpSink } from '../../support/smtp'

afterEach(closeTransports)

/** The message as the server got it: bytes, header fields in order, and what a parser makes of it. */
async function arrived(changes: Partial<CustomerReply>) {
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
    expect(ticketSubject(subject, 'ACME-1', 'Re: ')).toBe(expected)
  })

  test('of any text is a fixed point with one code and no second Re at the front', () => {
    const word = fc.oneof(
      fc.constantFrom('Re:', 're: ', 'Fwd: ', '[ACME-1]', '[x] ', ' '),
      fc.string({ unit: 'grapheme' }),
    )
    fc.assert(
      fc.property(fc.array(word, { maxLength: 8 }), (words) => {
        const subject = ticketSubject(words.join(''), 'ACME-1', 'Re: ')
        expect(subject.split('[ACME-1]')).toHaveLength(2)
        expect(subject).toMatch(/^Re: (?!re:).*\[ACME-1\]$/isu)
        expect(ticketSubject(subject, 'ACME-1', 'Re: ')).toBe(subject)
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
        { ...image, filename: 'logo.png', is_inline: true },
        { ...image, filename: 'listed.png', is_inline: false },
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
