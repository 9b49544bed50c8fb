/** Bodies and attachments of real mail, and the values that are read from them. */
import { describe, expect, test } from 'bun:test'
import { parseMail } from '../../../src/mail/parse/parse'
import { FROM, mail, parts } from '../../support/written-mail'

function mixed(...bodies: string[][]): Buffer {
  return mail(FROM, 'Content-Type: multipart/mixed; boundary=b', '', ...parts(...bodies))
}

describe('body and attachments', () => {
  test('text is made from HTML where there is none', async () => {
    const html = '<style>p{}</style><body><h1>Hello</h1><p>a &amp; b</p></body></html>footer'
    const parsed = await parseMail(mixed(['Content-Type: text/html', '', html]))
    expect(parsed.text).toBe('Hello\n\na & b\n\nfooter')
    expect(parsed.body_html).toBe('<h1>Hello</h1><p>a &amp; b</p>footer')
  })

  test('HTML before and behind a picture is one body', async () => {
    const parsed = await parseMail(
      mixed(
        ['Content-Type: text/html', '', '<p>before</p>'],
        ['Content-Type: image/png; name=a.png', '', 'x'],
        ['Content-Type: text/html', '', '<p>behind</p>'],
      ),
    )
    expect(parsed.body_html).toBe('<p>before</p>\n<p>behind</p>')
    expect(parsed.text).toBe('before\n\nbehind')
    expect(parsed.attachments.map(({ filename }) => filename)).toEqual(['a.png'])
  })

  test('the missing end of an inner multipart hides nothing', async () => {
    const parsed = await parseMail(
      mixed(
        [
          'Content-Type: multipart/alternative; boundary=inner',
          '',
          '--inner',
          '',
          'text',
          '--inner',
          'Content-Type: text/html',
          '',
          '<p>text</p>',
        ],
        ['Content-Type: application/pdf; name=a.pdf', '', 'pdf'],
      ),
    )
    expect([parsed.text, parsed.body_html]).toEqual(['text', '<p>text</p>'])
    expect(parsed.attachments.map(({ filename }) => filename)).toEqual(['a.pdf'])
  })

  test('the text of a part without an empty line before it is shown', async () => {
    const parsed = await parseMail(mixed(['Content-Type: text/plain;', 'charset=utf-8', 'Hello', 'there: all']))
    expect(parsed.text).toBe('Hello\nthere: all')
  })

  test('an inline text file is shown and kept', async () => {
    const parsed = await parseMail(
      mixed(['', 'see below'], ['Content-Disposition: inline; filename=app.log', '', 'line 1']),
    )
    expect(parsed.text).toBe('see below\n\nline 1')
    expect(parsed.attachments).toMatchObject([{ filename: 'app.log', content_type: 'text/plain' }])
  })

  test('an attached message is a file named after its subject and never part of the text', async () => {
    const parsed = await parseMail(
      mixed(
        ['', 'see attached'],
        ['Content-Type: message/rfc822', 'Content-Disposition: inline', '', 'Subject: a/b', '', 'secret'],
      ),
    )
    expect(parsed.text).toBe('see attached')
    expect(parsed.attachments).toMatchObject([{ filename: 'a b.eml', content_type: 'message/rfc822' }])
  })

  test('invitations and signatures are files', async () => {
    const parsed = await parseMail(
      mixed(
        ['', 'hi'],
        ['Content-Type: text/calendar; method=REQUEST', '', 'BEGIN:VCALENDAR'],
        ['Content-Type: application/pkcs7-signature; name=smime.p7s', 'Content-Transfer-Encoding: base64', '', 'QUJD'],
      ),
    )
    expect(parsed.text).toBe('hi')
    expect(parsed.attachments.map(({ filename }) => filename)).toEqual(['attachment.ics', 'smime.p7s'])
    expect(Buffer.from(parsed.attachments[1]!.content).toString()).toBe('ABC')
  })

  test('text in a part with a broken type or an unknown disposition is shown', async () => {
    expect((await parseMail(mail(FROM, 'Content-Type: garbage', '', 'hello'))).text).toBe('hello')
    const parsed = await parseMail(
      mixed(['Content-Type: text/html', 'Content-Disposition: banana', '', '<p>hello</p>']),
    )
    expect([parsed.text, parsed.attachments]).toEqual(['hello', []])
  })

  test.each([
    ['../../etc/passwd', 'passwd'],
    ['C:\\fake\\path\\a b.txt', 'a b.txt'],
    ['in\tvoice\x00.pdf', 'in voice.pdf'],
    ['..', 'attachment.bin'],
    [`${'x'.repeat(300)}.pdf`, `${'x'.repeat(251)}.pdf`],
  ])('a file named %p is stored under a safe name', async (name, expected) => {
    const encoded = `filename*=utf-8''${encodeURIComponent(name)}`
    const parsed = await parseMail(
      mixed(['Content-Type: application/octet-stream', `Content-Disposition: attachment; ${encoded}`, '', 'x']),
    )
    expect(parsed.attachments.map(({ filename }) => filename)).toEqual([expected])
  })

  test('uuencoded parts are decoded', async () => {
    const lines = ['Content-Type: application/x-zip; name=a.zip', 'Content-Transfer-Encoding: x-uuencode', '']
    const parsed = await parseMail(mixed([...lines, 'begin 644 a.zip', '#0V%T', '`', 'end']))
    expect(Buffer.from(parsed.attachments[0]!.content).toString()).toBe('Cat')
  })

  test('files within a plain text are files, and what only looks like one is text', async () => {
    const file = ['begin 644 cat.txt', '#0V%T', '`', 'end']
    const text = ['begin 644 not a file', 'but a sentence', 'end', 'begin 600 cut.bin', '#0V%T']
    const parsed = await parseMail(mail(FROM, '', 'before', ...file, ...file, 'between', ...text))
    expect(parsed.text.split('\n').filter(Boolean)).toEqual(['before', 'between', ...text])
    expect(parsed.attachments.map(({ filename, content_type }) => [filename, content_type])).toEqual([
      ['cat.txt', 'text/plain'],
      ['cat.txt', 'text/plain'],
    ])
    expect(Buffer.from(parsed.attachments[1]!.content).toString()).toBe('Cat')
  })

  test('a uuencoded line whose last spaces were lost is whole', async () => {
    const lines = ['Content-Type: image/png; name=a.png', 'Content-Transfer-Encoding: uuencode', '']
    const parsed = await parseMail(mixed([...lines, 'begin 644 a.png', '$0V$', ' ', 'end']))
    expect([...parsed.attachments[0]!.content]).toEqual([67, 97, 0, 0])
  })

  test.each([
    ['base64 in pieces, with spaces', 'BASE64 (x)', ' SGVs\r\nbG8=\r\n\r\nIHlvdQ== ', 'Hello you'],
    ['base64 before a broken delimiter', '"base64"', 'SGVsbG8=\r\n--x--->', 'Hello'],
    ['soft line breaks with spaces behind', 'quoted_printable', 'Hel= \r\nlo=', 'Hello'],
    ['a lone =', 'quoted-printable', 'a=ZZ =4', 'a=ZZ =4'],
    ['raw bytes at the end of a line', 'quoted-printable', 'voil\xc3\xa0\r\n=C3=A0', 'voilà\nà'],
    ['an unknown name', 'magic', 'Hello', 'Hello'],
    ['words that are no base64', 'base64', 'Hello there, how are you', 'Hello there, how are you'],
  ])('%s in a transfer encoding are read', async (_, encoding, content, expected) => {
    const fields = ['Content-Type: text/plain; charset=utf-8', `Content-Transfer-Encoding: ${encoding}`]
    expect((await parseMail(mail(FROM, ...fields, '', content))).text).toBe(expected)
  })

  test.each([
    'text/html, charset=koi8-r',
    'text/html charset="koi8-r"',
    'text/html (a page); charset=koi8-r',
    'TEXT/HTML;charset=KOI8-R;',
  ])('%p is HTML in its charset', async (type) => {
    expect((await parseMail(mail(FROM, `Content-Type: ${type}`, '', '<p>\xf0\xd2\xc9</p>'))).text).toBe('При')
  })

  test('a page without a charset in its header says itself what it is written in', async () => {
    const page = '<meta http-equiv="Content-Type" content="text/html; charset=koi8-r"><p>\xf0\xd2\xc9</p>'
    expect((await parseMail(mail(FROM, 'Content-Type: text/html', '', page))).text).toBe('При')
  })

  test('the parts of a digest are messages', async () => {
    const digest = ['Content-Type: multipart/digest; boundary=b', '', ...parts(['', 'Subject: one', '', 'first'])]
    const parsed = await parseMail(mail(FROM, ...digest))
    expect(parsed.attachments.map(({ filename }) => filename)).toEqual(['one.eml'])
  })

  test.each([
    ['gb2312', '\x81\x30\x84\x36', '\u00a5'],
    ['iso-8859-1', '\x80', '€'],
    ['ks_c_5601-1987', '\xb0\xa1\x81\x41', '가갂'],
    ['iso-2022-jp', '\x1b$B$"\x1b(B', 'あ'],
    ['utf-7', '+AOQ-', 'ä'],
    ['us-ascii', '\xc3\xa4', 'ä'],
    ['utf-8', '\xe4\xf6\xfc', 'äöü'],
    ['no-such-charset', '\xc3\xa4', 'ä'],
    ['no-such-charset', '\xe4', 'ä'],
    ['iso-8859-1', '\xc3\xa4\xc3\xb6', 'äö'],
    ['iso-2022-kr', '\x1b$)C\x0e0!\x0f!', '가!'],
    ['hz-gb-2312', '~{VPND~}!', '中文!'],
    ['us-ascii', '\x1b$B$"\x1b(B', 'あ'],
    ['big5_tw', '\xa4\xa4', '中'],
    ['x-gbk', '\xd6\xd0', '中'],
    ['x-windows-949', '\xb0\xa1', '가'],
    ['x-mac-ce', '\x8f', 'Ź'],
    ['iso-8859-1', '\xcd\xe5 \xf0\xe0\xe1\xee\xf2\xe0\xe5\xf2 \xef\xf0\xe8\xed\xf2\xe5\xf0', 'Не работает принтер'],
    [
      '',
      '\xfa\xc4\xd2\xc1\xd7\xd3\xd4\xd7\xd5\xca\xd4\xc5, \xce\xc5 \xd2\xc1\xc2\xcf\xd4\xc1\xc5\xd4 \xd0\xd2\xc9\xce\xd4\xc5\xd2',
      'Здравствуйте, не работает принтер',
    ],
    ['utf-8', '\xe4\xee\xe3\xf4\xf1\xfa \xec\xe0 \xf2\xe5\xe1\xe3\xfa', 'המדפסת לא עובדת'],
    [
      '',
      '\xbe\xc8\xb3\xe7\xc7\xcf\xbc\xbc\xbf\xe4. \xb9\xae\xc0\xc7\xb5\xe5\xb8\xb3\xb4\xcf\xb4\xd9.',
      '안녕하세요. 문의드립니다.',
    ],
    [
      'utf-8',
      '\x82\xa8\x96\xe2\x82\xa2\x8d\x87\x82\xed\x82\xb9\x82\xa0\x82\xe8\x82\xaa\x82\xc6\x82\xa4\x82\xb2\x82\xb4\x82\xa2\x82\xdc\x82\xb7\x81B',
      'お問い合わせありがとうございます。',
    ],
    [
      'iso-2022-jp',
      '\x82\xa8\x96\xe2\x82\xa2\x8d\x87\x82\xed\x82\xb9\x82\xa0\x82\xe8\x82\xaa\x82\xc6\x82\xa4\x82\xb2\x82\xb4\x82\xa2\x82\xdc\x82\xb7\x81B',
      'お問い合わせありがとうございます。',
    ],
    [
      '',
      '\xa4\xaa\xcc\xe4\xa4\xa4\xb9\xe7\xa4\xef\xa4\xbb\xa4\xa2\xa4\xea\xa4\xac\xa4\xc8\xa4\xa6\xa4\xb4\xa4\xb6\xa4\xa4\xa4\xde\xa4\xb9\xa1\xa3',
      'お問い合わせありがとうございます。',
    ],
    [
      '',
      '\xb1z\xa6n\xa1A\xbd\xd0\xacd\xa6\xac\xaa\xfe\xa5\xf3\xa1C\xc1\xc2\xc1\xc2\xb1z\xaa\xba\xa8\xd3\xabH',
      '您好，請查收附件。謝謝您的來信',
    ],
    [
      'iso-8859-1',
      '\xc4\xfa\xba\xc3\xa3\xac\xc7\xeb\xb2\xe9\xca\xd5\xb8\xbd\xbc\xfe\xa1\xa3\xc4\xfa\xb5\xc4\xc0\xb4\xd0\xc5\xd2\xd1\xbe\xad\xca\xd5\xb5\xbd\xc1\xcb\xa3\xac\xd0\xbb\xd0\xbb',
      '您好，请查收附件。您的来信已经收到了，谢谢',
    ],
    ['windows-1251', '\xd0\xb4\xd0\xb0\xd1\x82\xd0\xb0', 'дата'],
  ])('a body that says %p is read as it was meant', async (charset, bytes, expected) => {
    expect((await parseMail(mail(FROM, `Content-Type: text/plain; charset=${charset}`, '', bytes))).text).toBe(expected)
  })

  test('a body beyond a million characters is cut and kept whole as a file', async () => {
    const parsed = await parseMail(mail(FROM, '', 'x'.repeat(1_000_001)))
    expect(parsed.text).toHaveLength(1_000_000)
    expect(parsed.attachments.map(({ filename }) => filename)).toEqual(['attachment.txt'])
    expect(parsed.attachments[0]!.content).toHaveLength(1_000_001)
  })

  test('a body that is cut stays a file when it passes on an attached message', async () => {
    const parts = [
      ['', 'x'.repeat(1_000_001)],
      ['Content-Type: message/rfc822', '', 'From: kim@kunde.example', '', 'Old.'],
      ['Content-Disposition: attachment; filename=mine.txt', '', 'x'],
    ]
    const lines = parts.flatMap((part) => ['--o', ...part])
    const type = 'Content-Type: multipart/mixed; boundary=o'
    const { forwarded } = await parseMail(mail(FROM, 'Subject: Fwd: x', type, '', ...lines, '--o--'))
    expect(forwarded?.attachments?.map(({ filename }) => filename)).toEqual(['attachment.txt', 'mine.txt'])
  })
})
