/** What real mail does, and how it is read. */
import { describe, expect, test } from 'bun:test'
import { parseMail, readHeaders } from '../src/mail/parse'
import { replyText } from '../src/mail/reply-text'

/** Lines to the bytes of a message; characters up to U+00FF are bytes. */
function mail(...lines: string[]): Buffer {
  return Buffer.from(lines.join('\r\n'), 'latin1')
}

const FROM = 'From: Ann <ann@example.com>'

function parts(...bodies: string[][]): string[] {
  return [...bodies.flatMap((lines) => ['--b', ...lines]), '--b--', '']
}

function mixed(...bodies: string[][]): Buffer {
  return mail(FROM, 'Content-Type: multipart/mixed; boundary=b', '', ...parts(...bodies))
}

describe('headers', () => {
  test('message ids come without brackets, whatever stands between them', async () => {
    const parsed = await parseMail(
      mail(
        FROM,
        'Message-ID: <one@x>',
        'In-Reply-To: Your mail <two@x> of Monday',
        'References: <a@x>,<b@x>',
        ' <a@x>',
        '',
        '',
      ),
    )
    expect(parsed.message_id).toBe('one@x')
    expect(parsed.in_reply_to).toEqual(['two@x'])
    expect(parsed.references).toEqual(['a@x', 'b@x'])
  })

  test('the first of a repeated field counts', async () => {
    const parsed = await parseMail(mail(FROM, 'From: Eve <eve@example.net>', 'Subject: one', 'Subject: two', '', 'x'))
    expect(parsed.from?.address).toBe('ann@example.com')
    expect(parsed.subject).toBe('one')
  })

  test.each([
    ['"Doe, Jane" <jane@x.org>', { name: 'Doe, Jane', address: 'jane@x.org' }],
    ['=?utf-8?Q?Doe=2C_J=C3=B6rg?= <j@x.org>', { name: 'Doe, Jörg', address: 'j@x.org' }],
    ['jane@x.org (Jane)', { name: 'Jane', address: 'jane@x.org' }],
    ['Jane <<jane@x.org.>>', { name: 'Jane', address: 'jane@x.org' }],
    ['Jane <mailto:jane@x.org', { name: 'Jane', address: 'jane@x.org' }],
    ['"Jane Doe <jane@x.org>', { name: '', address: 'jane@x.org' }],
    ['=?utf-8?Q?Jane_(Sales)?= <jane@x.org>', { name: 'Jane (Sales)', address: 'jane@x.org' }],
    ['=?utf-8?Q?Jane_=3Cjane@x.org=3E?=', { name: '', address: 'jane@x.org' }],
    ['=?iso-2022-jp?Q?=1B$B$"=1B(B?= <jane@x.org>', { name: 'あ', address: 'jane@x.org' }],
    ['undisclosed-recipients:;', null],
    ['Jane', null],
    ['<moderator>', null],
    ['', null],
  ])('the sender in %p is read', async (from, expected) => {
    const parsed = await parseMail(mail(`From: ${from}`, '', 'x'))
    expect(parsed.from).toEqual(expected)
  })

  test.each([
    ['raw Latin-1 bytes', 'Fr\xfcchte', 'Früchte'],
    ['raw UTF-8 bytes', 'Fr\xc3\xbcchte', 'Früchte'],
    ['raw GB2312 bytes', '\xc4\xe3\xba\xc3\xca\xc0\xbd\xe7', '你好世界'],
    ['raw bytes in an encoded word', '=?iso-8859-1?Q?Fr\xfcchte_=FC?=', 'Früchte ü'],
    ['a word split within a character', '=?utf-8?B?w7w=?= =?utf-8?B?w7w=?=', 'üü'],
    ['UTF-7', '=?utf-7?Q?Fr+APw-chte?=', 'Früchte'],
    ['a question mark in an encoded word', '=?utf-8?Q?really??= =?utf-8?Q?a?b?=', 'really?a?b'],
    ['an encoded word that does not end', '=?utf-8?Q?a =?utf-8?Q?b?=', '=?utf-8?Q?a b'],
    ['words of several charsets', '=?iso-8859-1?Q?=FC?= =?utf-8?Q?=C3=BC?=', 'üü'],
    ['a charset that nobody knows', '=?x-own*de?Q?gr=FCn?= =?iso-8559-1?B?+A==?=', 'grünø'],
    ['a charset that does not fit', '=?utf-8?Q?gr=FCn?=', 'grün'],
    ['Japanese words that are joined', '=?cp50220?B?GyRCJCI=?= =?cp50220?B?GyRCJCQbKEI=?=', 'あい'],
    ['raw Japanese escapes', '\x1b$B$"\x1b(B', 'あ'],
    ['folding and control characters', 'one\r\n two\x07three', 'one two three'],
  ])('a subject with %s is readable', async (_, subject, expected) => {
    expect((await parseMail(mail(FROM, `Subject: ${subject}`, '', 'x'))).subject).toBe(expected)
  })

  test.each([
    ['an mbox line', 'From ann Mon Jan 1'],
    ['empty lines', '\r\n'],
    ['a byte order mark', '\xef\xbb\xbfX-A: b'],
    ['a space before colons', 'X-A : b'],
  ])('%s before the header is no part of it', async (_, line) => {
    const parsed = await parseMail(mail(line, 'From : Ann <ann@example.com>', 'Subject : one', '', 'x'))
    expect([parsed.from?.name, parsed.subject, parsed.text]).toEqual(['Ann', 'one', 'x'])
  })

  test('an unreadable date is no date', async () => {
    expect((await parseMail(mail(FROM, 'Date: last Tuesday', '', 'x'))).date).toBeNull()
    const date = (await parseMail(mail(FROM, 'Date: Tue, 1 Jul 2025 10:00:00 +0200 (CEST)', '', 'x'))).date
    expect(date?.toISOString()).toBe('2025-07-01T08:00:00.000Z')
  })

  test('lines that end with CR alone are lines', async () => {
    const parsed = await parseMail(Buffer.from('From: a@b.org\rSubject: mac\r\rone\rtwo'))
    expect([parsed.subject, parsed.text]).toEqual(['mac', 'one\ntwo'])
  })

  test('bytes that are no message are a text without headers', async () => {
    const parsed = await parseMail(Buffer.from('just some words\r\nand more'))
    expect([parsed.from, parsed.subject, parsed.text]).toEqual([null, null, 'just some words\nand more'])
  })

  test('the headers of a message that cannot be parsed can be read', () => {
    const raw = mail(FROM, 'Subject: too much', '', ...parts(...Array(2000).fill(['', 'x'])))
    expect(readHeaders(raw)).toMatchObject({ subject: 'too much', from: { address: 'ann@example.com' } })
    expect(readHeaders(new Uint8Array())).toMatchObject({ subject: null, from: null })
  })
})

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
          '<p>html</p>',
        ],
        ['Content-Type: application/pdf; name=a.pdf', '', 'pdf'],
      ),
    )
    expect([parsed.text, parsed.body_html]).toEqual(['text', '<p>html</p>'])
    expect(parsed.attachments.map(({ filename }) => filename)).toEqual(['a.pdf'])
  })

  test('an inline text file is shown and kept', async () => {
    const parsed = await parseMail(
      mixed(['', 'see below'], ['Content-Disposition: inline; filename=app.log', '', 'line 1']),
    )
    expect(parsed.text).toBe('see below\n\nline 1')
    expect(parsed.attachments).toMatchObject([{ filename: 'app.log', content_type: 'text/plain', inline: true }])
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
    ['in\tvoice\x00.pdf', 'in voice .pdf'],
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
    ['gb2312', '\x81\x30\x81\x34', '\u0084'],
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
    ['x-windows-949', '\xb0\xa1', '가'],
    ['x-mac-ce', '\x8f', 'Ź'],
  ])('a body that says %s is read as it was meant', async (charset, bytes, expected) => {
    expect((await parseMail(mail(FROM, `Content-Type: text/plain; charset=${charset}`, '', bytes))).text).toBe(expected)
  })

  test('a body beyond a million characters is cut and kept whole as a file', async () => {
    const parsed = await parseMail(mail(FROM, '', 'x'.repeat(1_000_001)))
    expect(parsed.text).toHaveLength(1_000_000)
    expect(parsed.attachments.map(({ filename }) => filename)).toEqual(['attachment.txt'])
    expect(parsed.attachments[0]!.content).toHaveLength(1_000_001)
  })
})

describe('automatic mail', () => {
  test.each([
    [['Auto-Submitted: auto-replied'], true],
    [['Auto-Submitted: auto-generated (warning)'], true],
    [['Auto-Submitted: no'], false],
    [['Precedence: bulk'], true],
    [['Precedence: list', 'X-Google-Group-Id: 1'], false],
    [['X-Autoreply: yes'], true],
    [['X-Auto-Response-Suppress: All'], false],
    [['List-Unsubscribe: <mailto:x@y.org>'], true],
    [['Return-Path: <>'], true],
    [['Subject: Automatische Antwort: Rechnung'], true],
    [['Subject: Re: Automatic reply: Invoice'], false],
    [['Subject: Automatic reply to tickets does not work'], false],
    [[], false],
  ])('%p is automatic: %p', async (lines, expected) => {
    expect((await parseMail(mail(FROM, ...lines, '', 'x'))).auto_reply).toBe(expected)
  })
})

describe('bounces', () => {
  const dsn = (action: string, status: string) =>
    mail(
      'From: MAILER-DAEMON@mx.example.com',
      'Subject: Delivery report',
      'Content-Type: multipart/report; report-type=delivery-status; boundary=b',
      '',
      ...parts(
        ['', 'Sorry.'],
        [
          'Content-Type: message/delivery-status',
          '',
          'Reporting-MTA: dns; mx.example.com',
          '',
          'Final-Recipient: rfc822; Bob@example.org',
          `Action: ${action}`,
          `Status: ${status}`,
          'Diagnostic-Code: smtp; 550 no such user',
        ],
        ['Content-Type: message/rfc822', '', 'Message-ID: <ours@desk>', 'Subject: Hello', '', 'text'],
      ),
    )

  test('a delivery status tells who was not reached, why, and with which message', async () => {
    expect((await parseMail(dsn('failed', '5.1.1'))).bounce).toEqual({
      kind: 'failed',
      recipients: [{ address: 'bob@example.org', status: '5.1.1', diagnostic: '550 no such user', action: 'failed' }],
      about: { message_ids: ['ours@desk'], subject: 'Hello' },
      diagnostic: '550 no such user',
    })
  })

  test('a delay and a confirmation are automatic and no failure', async () => {
    for (const [action, status] of [
      ['delayed', '4.4.1'],
      ['delivered', '2.0.0'],
    ] as const) {
      const parsed = await parseMail(dsn(action, status))
      expect([parsed.bounce?.kind, parsed.auto_reply]).toEqual([action, true])
    }
  })

  test('a bounce in plain words is one when a mail system wrote it', async () => {
    const body = [
      '',
      'Your message could not be delivered:',
      '<bob@example.org>: 550 5.1.1 User unknown',
      '',
      '--- Original message ---',
      'Message-ID: <ours@desk>',
    ]
    const parsed = await parseMail(
      mail('From: Mail Delivery System <mailer-daemon@x.org>', 'Subject: Undelivered Mail Returned to Sender', ...body),
    )
    expect(parsed.bounce).toMatchObject({
      kind: 'failed',
      recipients: [{ address: 'bob@example.org', status: '5.1.1' }],
      about: { message_ids: ['ours@desk'] },
      diagnostic: '<bob@example.org>: 550 5.1.1 User unknown',
    })
    expect(
      (await parseMail(mail(FROM, 'Subject: Fwd: Undelivered Mail Returned to Sender', ...body))).bounce,
    ).toBeNull()
  })

  test('a complaint report is no bounce', async () => {
    const report = ['Content-Type: message/feedback-report', '', 'Feedback-Type: abuse']
    const head = 'Content-Type: multipart/report; report-type=feedback-report; boundary=b'
    const parsed = await parseMail(
      mail('From: postmaster@x.org', 'Subject: failure notice', head, '', ...parts(report)),
    )
    expect([parsed.bounce, parsed.auto_reply]).toEqual([null, true])
  })
})

describe('the new part of a reply', () => {
  test.each([
    ['Gmail', 'New.\n\nOn Tue, 1 Jul 2025 at 10:00, Ann\n<ann@x.org> wrote:\n> Old.\n>\n> Older.'],
    ['Apple Mail in German', 'New.\n\n> Am 01.07.2025 um 10:00 schrieb Ann <ann@x.org>:\n> \n> Old.'],
    ['Thunderbird in German', 'New.\n\nAm 01.07.25 um 10:00 schrieb Ann:\n> Old.'],
    ['Gmail in French', 'New.\n\nLe mar. 1 juil. 2025 à 10:00, Ann <ann@x.org> a écrit :\n\n> Old.'],
    ['Gmail in Spanish', 'New.\n\nEl mar, 1 jul 2025 a las 10:00, Ann (<ann@x.org>)\nescribió:\n\n> Old.'],
    ['Outlook', 'New.\n\nFrom: Ann <ann@x.org>\nSent: Tuesday\nTo: Bob\nSubject: Old\n\nOld.'],
    [
      'Outlook in German',
      'New.\n\n________________________________\nVon: Ann\nGesendet: Dienstag\nAn: Bob\nBetreff: Old\n\nOld.',
    ],
    ['Outlook Express', 'New.\n\n-----Ursprüngliche Nachricht-----\nOld.'],
    ['a phone', 'New.\n\nSent from my iPhone\n\n> On 1 Jul 2025, at 10:00, Ann wrote:\n> Old.'],
    ['a signature', 'New.\n\n-- \nAnn\nExample Ltd.'],
  ])('of %s', (_, text) => {
    expect(replyText(text)).toBe('New.')
  })

  test('answers between quoted lines stay, with the lines that they answer', () => {
    const text = 'On Mon, 2 Jun 2025, Ann wrote:\n> One?\nYes.\n> Two?\nNo.\n> Three?'
    expect(replyText(text)).toBe('On Mon, 2 Jun 2025, Ann wrote:\n> One?\nYes.\n> Two?\nNo.')
  })

  test.each(['> only a quote', 'On Monday I wrote: nothing', 'From: here to there', '--\nnot much'])(
    '%p is kept',
    (text) => {
      expect(replyText(text)).toBe(text)
    },
  )
})
