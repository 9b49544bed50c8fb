/** The forms of one message: which of several is shown, and what relays and gateways do to them. */
import { describe, expect, test } from 'bun:test'
import { parseMail } from '../../../src/mail/parse/parse'

const FROM = 'From: Ann <ann@example.com>'
const PLAIN = 'Content-Type: text/plain; charset=utf-8'
const HTML = 'Content-Type: text/html; charset=utf-8'

const plain = (text: string) => [PLAIN, '', text]
const html = (text: string) => [HTML, '', text]

describe('of several forms of a message', () => {
  test.each<[string, string[][], string]>([
    ['two texts', [plain('Short.'), plain('Long.')], 'Long.'],
    ['three texts', [plain('One.'), plain('Two.'), plain('Three.')], 'Three.'],
    ['two texts before HTML', [plain('Short.'), plain('Long.'), html('<p>Long.</p>')], 'Long.'],
    ['texts around HTML', [plain('Short.'), html('<p>Long.</p>'), plain('Long.')], 'Long.'],
    ['a text and an empty one', [plain('Long.'), plain(' ')], 'Long.'],
    ['a text and a log', [plain('Long.'), [`${PLAIN}; name=a.log`, 'Content-Disposition: inline', '', 'x']], 'Long.'],
    [
      'a text within a text and its picture',
      [plain('Short.'), ['Content-Type: multipart/related; boundary=c', '', '--c', PLAIN, '', 'Long.', '--c--']],
      'Long.',
    ],
  ])('%s, the last text is the message', async (_, forms, expected) => {
    expect((await parseMail(alternative(...forms))).text.trim()).toBe(expected)
  })

  test.each([
    'To view the message, please use an HTML compatible email viewer!',
    'Your email client does not support HTML.',
    'This message contains HTML formatted text, but your mail reader cannot display it.\r\n\r\nThe Shop',
    'Ihr E-Mail-Programm kann keine HTML-Nachrichten anzeigen.',
    'Votre messagerie ne permet pas d’afficher le HTML.',
    'Ваша почтовая программа не поддерживает HTML.',
    '请使用支持 HTML 的邮件客户端查看此邮件。',
  ])('one that only asks for HTML is none: %s', async (notice) => {
    const mail = alternative(plain(notice), html('<p>Your booking <b>5</b>.</p>'))
    expect(await parseMail(mail)).toMatchObject({ text: 'Your booking 5.', reply_text: 'Your booking 5.' })
  })

  test.each([
    ['that speaks of HTML in both forms', 'The HTML export is *broken*.', '<p>The HTML export is <b>broken</b>.</p>'],
    ['without any HTML', 'Your email client does not support HTML.', ''],
    ['that is long', `${'word '.repeat(120)}HTML`, '<p>Another text.</p>'],
    ['in Russian that speaks of HTML', 'Экспорт в HTML сломан.', '<p>Экспорт в HTML сломан.</p>'],
    ['without the word', 'Please read the other form.', '<p>Hello</p>'],
  ])('a text %s stays', async (_, text, html) => {
    expect((await parseMail(alternative(plain(text), [HTML, '', html]))).text.trim()).toBe(text)
  })

  test.each<[string, string[]]>([
    ['text/x-amp-html', []],
    ['text/x-amp-html; charset=UTF-8', []],
    ['TEXT/X-AMP-HTML', []],
    ['application/x-amp', []],
    ['application/x-amp-html', []],
    ['text/x-amp-html; name=page.html', ['page.html']],
    ['application/x-ample', ['attachment.bin']],
  ])('the one for Gmail alone is neither shown nor a file, unless it has a name: %s', async (type, files) => {
    const amp = [`Content-Type: ${type}`, '', '<!doctype html><html amp4email><body>amp</body></html>']
    const mail = alternative(plain('Your booking 5.'), amp, html('<p>Your booking <b>5</b>.</p>'))
    const { text, body_html, attachments } = await parseMail(mail)
    expect([text.trim(), body_html.trim()]).toEqual(['Your booking 5.', '<p>Your booking <b>5</b>.</p>'])
    expect(attachments.map(({ filename }) => filename)).toEqual(files)
  })
})

describe('plain text behind base64', () => {
  const body = 'Guten Tag,\r\n\r\ndie Lieferung ist noch nicht da. Schöne Grüße und bis bald\r\nBob\r\n'
  const data = Buffer.from(body).toString('base64')
  const lines = data.match(/.{1,76}/g)!.join('\r\n')

  test.each([
    [
      'of a list',
      lines,
      '_______________________________________________\r\nusers mailing list\r\nScanned by AntiVirus',
    ],
    ['behind an empty line', lines, '\r\nThis message was scanned.'],
    [
      'of one word behind whole lines',
      Buffer.from('x'.repeat(57 * 3))
        .toString('base64')
        .match(/.{76}/g)!
        .join('\n'),
      'Disclaimer\nConfidential.',
    ],
    ['of one word among others', lines, 'Disclaimer\r\nThis message is confidential.\r\nRegards'],
    ['with an address', lines, 'https://lists.example/users'],
    ['behind one line of base64', data, 'Scanned by AntiVirus'],
    ['behind narrow lines', data.match(/.{1,60}/g)!.join('\n'), 'Scanned by AntiVirus\nhttps://x.example'],
    [
      'behind whole lines',
      Buffer.from('x'.repeat(57 * 3))
        .toString('base64')
        .match(/.{76}/g)!
        .join('\r\n'),
      'Scanned by us.',
    ],
  ])('%s is kept and does not hurt', async (_, encoded, footer) => {
    const { text } = await parseMail(mailOf(PLAIN, 'Content-Transfer-Encoding: base64', '', encoded, footer))
    const whole = `${Buffer.from(encoded, 'base64')}\n${footer}`
    expect(text.replace(/\s*\n\s*/g, '\n')).toBe(whole.replace(/\s*\n\s*/g, '\n'))
  })

  test.each([
    ['words that are not base64', 'Test\r\nthere, how are you', 'Test\nthere, how are you'],
    [
      'pieces with a gap between them',
      'SGVsbG8geW91IGFuZCBtZQ==\r\n\r\nSGVsbG8geW91IGFuZCBtZQ==',
      'Hello you and meHello you and me',
    ],
    ['a broken delimiter', 'SGVsbG8geW91IGFuZCBtZQ==\r\n--x--->', 'Hello you and me'],
    ['lines of many lengths', 'SGVs\r\nbG8geW91\r\nIGFuZCBtZQ==', 'Hello you and me'],
    ['one long line', 'SGVsbG8geW91IGFuZCBtZQ==', 'Hello you and me'],
  ])('is nothing that %s have', async (_, encoded, expected) => {
    expect((await parseMail(mailOf(PLAIN, 'Content-Transfer-Encoding: base64', '', encoded))).text).toBe(expected)
  })
})

describe('a field with a long name', () => {
  const long = (length: number, value = 'x') => `X-${'a'.repeat(length - 2)}: ${value}`

  test.each([
    ['of 299 characters', [long(299)]],
    ['of 300 characters', [long(300)]],
    ['of 301 characters', [long(301)]],
    ['of 5,000 characters', [long(5000)]],
    ['with a long value', [long(400, 'x '.repeat(2000))]],
    ['twice', [long(400), long(500)]],
    ['that is folded', [`${long(400)}`, ' y', '\tz']],
  ])('%s does not end the header', async (_, fields) => {
    for (const lines of [
      [FROM, ...fields],
      [...fields, FROM],
    ]) {
      const { subject, from, text } = await parseMail(bytesOf(...lines, 'Subject: Pump', PLAIN, '', 'It leaks.'))
      expect([subject, from?.address, text]).toEqual(['Pump', 'ann@example.com', 'It leaks.'])
    }
  })

  test('is one of a part as well', async () => {
    const mail = mailOf(
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      long(400),
      HTML,
      '',
      '<p>It leaks.</p>',
      '--b--',
    )
    expect((await parseMail(mail)).text).toBe('It leaks.')
  })
})

function bytesOf(...lines: string[]): Buffer {
  return Buffer.from(lines.join('\r\n'))
}

function mailOf(...lines: string[]): Buffer {
  return bytesOf(FROM, ...lines)
}

function alternative(...forms: string[][]): Buffer {
  return mailOf(
    'Content-Type: multipart/alternative; boundary=b',
    '',
    ...forms.flatMap((form) => ['--b', ...form]),
    '--b--',
  )
}
