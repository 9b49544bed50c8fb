/** Which form of a message is its text, and text that is not in the form that it claims. */
import { describe, expect, test } from 'bun:test'
import { parseMail } from '../../../src/mail/parse/parse'

const PLAIN = 'Content-Type: text/plain; charset=utf-8'
const HTML = 'Content-Type: text/html; charset=utf-8'
const PDF = ['Content-Type: application/pdf; name=a.pdf', 'Content-Disposition: attachment', '', '%PDF']
const IMAGE = ['Content-Type: image/png; name=a.png', 'Content-ID: <1>', '', 'x']

function part(type: string, boundary: string, ...parts: string[][]): string[] {
  return [
    `Content-Type: multipart/${type}; boundary=${boundary}`,
    '',
    ...parts.flatMap((lines) => [`--${boundary}`, ...lines]),
    `--${boundary}--`,
  ]
}

function mail(lines: string[]): Buffer {
  return Buffer.from(['From: Ann <ann@x.org>', 'Subject: Pump', 'MIME-Version: 1.0', ...lines, ''].join('\r\n'))
}

const plain = [PLAIN, '', 'The plain words.']
const html = [HTML, '', '<p>The <b>HTML</b> words.</p>']

describe('the plain words are the text', () => {
  test.each([
    ['beside HTML', [plain, html]],
    ['beside HTML and its images', [plain, part('related', 'c', html, IMAGE)]],
    ['beside HTML and a file, as Apple Mail writes it', [plain, part('mixed', 'c', html, PDF)]],
    ['beside HTML around a file', [plain, part('mixed', 'c', html, PDF, [HTML, '', '<p>More.</p>'])]],
    ['beside HTML and a footer of a list', [plain, part('mixed', 'c', html, [PLAIN, '', '-- list'])]],
    [
      'beside HTML in related in mixed',
      [plain, part('mixed', 'c', part('related', 'd', html, IMAGE), PDF, [PLAIN, '', 'x'])],
    ],
    ['before text/enriched', [plain, ['Content-Type: text/enriched', '', '<bold>The enriched words.</bold>']]],
    ['before text/richtext', [plain, ['Content-Type: text/richtext', '', '<bold>The rich words.</bold>']]],
    ['before text/markdown', [plain, ['Content-Type: text/markdown', '', '**The words.**']]],
    ['before text/x-markdown', [plain, ['Content-Type: text/x-markdown', '', '**The words.**'], html]],
    ['before text/x-web-markdown', [plain, ['Content-Type: text/x-web-markdown', '', '**The words.**']]],
    ['before text of a program', [plain, ['Content-Type: text/x-acme+json', '', '{}'], html]],
    ['behind text/markdown', [['Content-Type: text/markdown', '', '**The words.**'], plain, html]],
    ['behind text/enriched', [['Content-Type: text/enriched', '', '<bold>x</bold>'], plain]],
  ])('%s', async (_, parts) => {
    const { text, attachments } = await parseMail(mail(part('alternative', 'b', ...parts)))
    expect(text.trim()).toBe('The plain words.')
    expect(attachments.map(({ filename }) => filename).filter((name) => !/^a\./.test(name))).toEqual([])
  })

  test.each([
    ['markdown alone', [['Content-Type: text/markdown', '', '**The words.**']], '**The words.**'],
    ['markdown beside HTML', [['Content-Type: text/markdown', '', '**The words.**'], html], '**The words.**'],
    ['HTML rather than commands', [['Content-Type: text/enriched', '', '<bold>x</bold>'], html], 'The HTML words.'],
    ['commands alone', [['Content-Type: text/enriched', '', 'The words.']], 'The words.'],
    ['HTML beside empty plain text', [[PLAIN, '', ' '], html], 'The HTML words.'],
    [
      'HTML around a file',
      [[PLAIN, '', ''], part('mixed', 'c', html, PDF, [HTML, '', '<p>More.</p>'])],
      'The HTML words.\n\nMore.',
    ],
  ])('unless there are none: %s', async (_, parts, expected) => {
    expect((await parseMail(mail(part('alternative', 'b', ...parts)))).text.trim()).toBe(expected)
  })

  test('and a calendar beside them is a file', async () => {
    const calendar = ['Content-Type: text/calendar; method=REQUEST', '', 'BEGIN:VCALENDAR']
    const { attachments } = await parseMail(mail(part('alternative', 'b', plain, html, calendar)))
    expect(attachments.map(({ filename }) => filename)).toEqual(['attachment.ics'])
  })
})

describe('base64 goes on behind padding', () => {
  const long = 'Guten Tag, die Pumpe ist undicht. Können Sie kommen? Sie läuft seit Montag nicht mehr.\n'
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const lines = (text: string) =>
    base64(text)
      .replace(/.{1,76}/g, '$&\r\n')
      .trim()
  const [first, second] = ['Hallo Welt!', 'Wie geht es?']

  test.each([
    ['in one line', base64(first) + base64(second), first + second],
    ['in one line with two signs', base64('Hello Pump') + base64(second), `Hello Pump${second}`],
    ['in the next line', `${base64(first)}\r\n${base64(second)}`, first + second],
    ['behind an empty line', `${base64(first)}\r\n\r\n${base64(second)}`, first + second],
    ['of long pieces', `${lines(long)}\r\n${lines(long)}`, long + long],
    ['of long pieces in one line', base64(long) + base64(long), long + long],
    ['of a piece for each line', [long, first, 'ab', second].map(base64).join('\r\n'), `${long}${first}ab${second}`],
    ['of a long piece and a short one', `${lines(long)}\r\n${base64('Danke.')}`, `${long}Danke.`],
  ])('%s', async (_, data, expected) => {
    for (const type of [PLAIN, HTML]) {
      const { text } = await parseMail(mail([type, 'Content-Transfer-Encoding: base64', '', data]))
      expect(text.replace(/\s+/g, ' ').trim()).toBe(expected.replace(/\s+/g, ' ').trim())
    }
  })

  test.each([
    ['in the next line', '\r\nSent by the list, see https://x.org', 'Sent by the list, see https://x.org'],
    ['in the same line', '-- Sent by the list', '-- Sent by the list'],
    ['that begins like data', '\r\nBest regards from the list.', 'Best regards from the list.'],
    ['of a word', '\r\nlist\r\nof all customers!', 'of all customers!'],
  ])('and text behind it, %s, is text', async (_, footer, expected) => {
    const data = `${lines(`${long}xx`)}${footer}`
    const { text } = await parseMail(mail([PLAIN, 'Content-Transfer-Encoding: base64', '', data]))
    expect([text.includes('seit Montag nicht mehr.'), text.includes(expected), text.includes('\ufffd')]).toEqual([
      true,
      true,
      false,
    ])
  })
})

test.each([
  ['two short pieces', ['Die Pumpe ist undicht', ' und läuft aus.'], '\r\n'],
  ['two pieces in one line', ['Die Pumpe ist undicht seit gestern und', ' läuft aus.'], ''],
  ['three pieces', ['Die Pumpe ', 'ist undicht und ', 'läuft aus.'], '\r\n'],
  ['pieces with empty lines between them', ['Die Pumpe ist undicht', ' und läuft aus.'], '\r\n\r\n'],
])('a footer behind %s of base64 leaves all pieces readable', async (_, pieces, between) => {
  const data = pieces.map((piece) => Buffer.from(piece).toString('base64')).join(between)
  const footer = 'Sent by the list, see https://x.org'
  const raw = mail([PLAIN, 'Content-Transfer-Encoding: base64', '', data, footer])
  expect((await parseMail(raw)).text.trim()).toBe(`${pieces.join('')}\n${footer}`)
})

describe('an address in brackets is text', () => {
  test.each([
    ['HTML without a tag', 'Contact <user@example.com> now.'],
    ['HTML without a tag, with a name', 'Contact Ann Smith <user@example.com>, please.'],
    ['HTML with tags', '<p>Contact <user@example.com> now.</p>'],
    ['HTML with a break', 'Hello<br>Contact <user@example.com>'],
    ['HTML of a whole page', '<html><head></head><body>Contact <user@example.com></body></html>'],
    ['a link', '<div>Contact <mailto:user@example.com></div>'],
    ['HTML with entities', 'Contact &lt;user@example.com&gt; &amp; others'],
    ['an address in another case', 'Contact <User.Name+tag@Example.COM> or <user@example.com>'],
  ])('in %s', async (_, body) => {
    const { text, body_html } = await parseMail(mail([HTML, '', body]))
    expect([text.includes('user@example.com'), body_html.includes('user@example.com')]).toEqual([true, true])
  })

  test('in plain text, in both forms', async () => {
    const { text, body_html } = await parseMail(
      mail([PLAIN, '', 'From: Ann <user@example.com>, see <https://x.org/a>']),
    )
    expect(text).toContain('<user@example.com>')
    expect(body_html).toContain('user@example.com</a>&gt;')
  })

  test('so is a link in HTML that is none, and its lines stay', async () => {
    const { text } = await parseMail(mail([HTML, '', 'Hello,\r\n\r\nsee <https://x.org/a?b=c>\r\nAnn']))
    expect(text.trim()).toBe('Hello,\n\nsee <https://x.org/a?b=c>\nAnn')
  })

  test('and makes no element of what stands in it', async () => {
    const { body_html } = await parseMail(
      mail([HTML, '', '<p><img/src=x@y.org onerror=alert(1)> <script@x.org>a</script></p>']),
    )
    expect(body_html).not.toMatch(/<img|<script|onerror="/)
  })
})
