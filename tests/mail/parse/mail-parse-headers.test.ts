/** Headers of real mail, and the values that are read from them. */
import { describe, expect, test } from 'bun:test'
import { parseMail, readHeaders } from '../../../src/mail/parse/parse'
import { FROM, mail, parts } from '../../support/written-mail'

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

  test.each([
    ['abc@x', ['abc@x']],
    ['a@x b@x, a@x', ['a@x', 'b@x']],
    ['a@x <b@x>', ['b@x']],
    ['your mail of Monday to ann@example.com', []],
    ['a@b@x', []],
    ['<a@x', []],
    ['a', []],
    ['', []],
  ])('ids may lack brackets when there is nothing else: %s', async (value, ids) => {
    const parsed = await parseMail(mail(FROM, `In-Reply-To: ${value}`, `References: ${value}`, '', ''))
    expect([parsed.in_reply_to, parsed.references]).toEqual([ids, ids])
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
    ['"ceo@victim.org" <jane@x.org>', { name: '', address: 'jane@x.org' }],
    ['"The boss <ceo@victim.org>" <jane@x.org>', { name: 'The boss', address: 'jane@x.org' }],
    ['=?utf-8?Q?Boss_(ceo=40victim.org)?= <jane@x.org>', { name: 'Boss', address: 'jane@x.org' }],
    ['=?utf-8?Q?ceo=EF=BC=A0victim.org,_Sales?= <jane@x.org>', { name: 'Sales', address: 'jane@x.org' }],
    ['"Jane (JANE@X.org)" <jane@x.org>', { name: 'Jane (JANE@X.org)', address: 'jane@x.org' }],
    ['"Jane @ Sales" <jane@x.org>', { name: 'Jane @ Sales', address: 'jane@x.org' }],
    ['"vic.tim"@x.org', { name: '', address: 'vic.tim@x.org' }],
    ['Bob <"vic.tim"@x.org>', { name: 'Bob', address: 'vic.tim@x.org' }],
    ['"vic tim"@x.org', { name: '', address: '"vic tim"@x.org' }],
    ['Bob <"vic tim"@x.org>', { name: 'Bob', address: '"vic tim"@x.org' }],
    ['"Tim, Vic" <"vic  tim"@x.org>', { name: 'Tim, Vic', address: '"vic  tim"@x.org' }],
    ['<"vic..tim."@x.org>', { name: '', address: 'vic..tim.@x.org' }],
    ['Bob <"vic, tim"@x.org>', null],
    ['Bob\r\n <"vic tim"@x.org>', { name: 'Bob', address: '"vic tim"@x.org' }],
    ['"vic\\"tim"@x.org', null],
    ['Bob <"x <victim"@x.org>', null],
    ['"x\\ <victim" @x.org', null],
    ['"a@b"@x.org', null],
    ['"x y"victim@x.org', null],
    ['=?utf-8?Q?vic_tim?=@x.org', null],
    ['=?utf-8?Q?=22vic_tim=22?=@x.org', null],
    [`${'x'.repeat(190)}${'victim'.repeat(11)}@x.org`, null],
    [`victim@${'x.org.'.repeat(50)}org`, null],
    ['=?utf-8?Q?=E2=80=AEeve=E2=80=AC_=E2=81=A6x=E2=81=A9?= <jane@x.org>', { name: 'eve x', address: 'jane@x.org' }],
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
    [
      'Cyrillic that says Latin-1',
      '=?iso-8859-1?Q?=CD=E5_=F0=E0=E1=EE=F2=E0=E5=F2_=EF=F0=E8=ED=F2=E5=F0?=',
      'Не работает принтер',
    ],
    ['UTF-8 that says Windows-1251', '=?windows-1251?Q?=D0=B4=D0=B0=D1=82=D0=B0?=', 'дата'],
    ['raw Japanese escapes', '\x1b$B$"\x1b(B', 'あ'],
    ['Shift_JIS that says ISO-2022-JP', '=?ISO-2022-JP?B?g2OBW4OLIILMjr+W4g==?=', 'ツール の質問'],
    ['Shift_JIS in Q that says ISO-2022-JP', '=?iso-2022-jp?Q?=83c=81[=83=8B?=', 'ツール'],
    [
      'two words of Shift_JIS that say ISO-2022-JP',
      '=?iso-2022-jp?B?g2OBW4OL?= =?iso-2022-jp?B?gsyOv5bi?=',
      'ツールの質問',
    ],
    ['EUC-JP that says ISO-2022-JP', '=?iso-2022-jp?B?pcShvKXrpM68wczk?=', 'ツールの質問'],
    ['UTF-8 that says ISO-2022-JP', '=?iso-2022-jp?B?44OE44O844Or?=', 'ツール'],
    ['marks that turn its direction', '=?utf-8?B?UmVjaG51bmcg4oCuZ25wLmV4ZQ==?=', 'Rechnung gnp.exe'],
    ['every mark that turns a direction', '=?utf-8?B?4oCq4oCr4oCs4oCt4oCuYeKBpuKBp+KBqOKBqWI=?=', 'ab'],
    ['marks around a word', '=?utf-8?B?4oGmYeKBqQ==?= b', 'a b'],
    ['a mark before a space', '=?utf-8?B?YSDigK4gYg==?=', 'a b'],
    ['nothing but marks', '=?utf-8?B?4oCu4oCs?=', ''],
    ['folding and control characters', 'one\r\n two\x07\tthree\x1b', 'one two three'],
  ])('a subject with %s is readable', async (_, subject, expected) => {
    expect((await parseMail(mail(FROM, `Subject: ${subject}`, '', 'x'))).subject).toBe(expected)
  })

  test.each([
    ['Latin-1 beside GB2312', 'iso-8859-1', '\xc4\xe3\xba\xc3\xca\xc0\xbd\xe7', '你好世界'],
    ['Windows-1252 beside GB2312', 'windows-1252', 'Re: \xb6\xa9\xb5\xa5 123', 'Re: 订单 123'],
    ['ISO-8859-15 beside GB2312', 'iso-8859-15', '\xb9\xd8\xd3\xda\xb6\xa9\xb5\xa5\xa3\xba', '关于订单：'],
    ['Latin-1 beside a Latin-1 header', 'iso-8859-1', 'Gr\xf6\xdfe', 'Größe'],
    ['Latin-1 beside accents alone', 'iso-8859-1', '\xe9\xe8\xe0\xe7', 'éèàç'],
    ['ISO-2022-JP beside Shift_JIS', 'iso-2022-jp', '\x83c\x81[\x83\x8b', 'ツール'],
    ['ISO-2022-JP beside EUC-JP', 'iso-2022-jp', '\xa5\xc4\xa1\xbc\xa5\xeb', 'ツール'],
    ['KOI8-R', 'koi8-r', '\xf0\xd2\xc9\xd7\xc5\xd4', 'Привет'],
    ['UTF-8 beside Latin-1', 'iso-8859-1', 'Gr\xc3\xb6\xc3\x9fe', 'Größe'],
  ])('a subject of raw bytes is readable where the body is in %s', async (_, charset, subject, expected) => {
    const raw = mail(FROM, `Subject: ${subject}`, `Content-Type: text/plain; charset=${charset}`, '', 'x')
    expect((await parseMail(raw)).subject).toBe(expected)
  })

  test.each([
    ['an mbox line', 'From ann Mon Jan 1'],
    ['an mbox line and an empty one', 'From ann Mon Jan 1\r\n'],
    ['empty lines', '\r\n'],
    ['a byte order mark', '\xef\xbb\xbfX-A: b'],
    ['a space before colons', 'X-A : b'],
  ])('%s before the header is no part of it', async (_, line) => {
    const parsed = await parseMail(mail(line, 'From : Ann <ann@example.com>', 'Subject : one', '', 'x'))
    expect([parsed.from?.name, parsed.subject, parsed.text]).toEqual(['Ann', 'one', 'x'])
  })

  test('fields whose folding was lost on the way are whole', async () => {
    const type = [
      'Content-Type: multipart/mixed;',
      'boundary="a:b"',
      'References: <a@x>,',
      '<b@x>',
      '',
      '--a:b',
      '',
      'text',
    ]
    const parsed = await parseMail(mail(FROM, 'not a field', ...type))
    expect([parsed.text, parsed.references]).toEqual(['text', ['a@x', 'b@x']])
  })

  test('an unreadable date is no date', async () => {
    expect((await parseMail(mail(FROM, 'Date: last Tuesday', '', 'x'))).date).toBeNull()
    const date = (await parseMail(mail(FROM, 'Date: Tue, 1 Jul 2025 10:00:00 +0200 (CEST)', '', 'x'))).date
    expect(date?.toISOString()).toBe('2025-07-01T08:00:00.000Z')
  })

  test('lines that end with CR alone are lines', async () => {
    for (const relayed of ['', 'Received: from a by b\r\n']) {
      const parsed = await parseMail(Buffer.from(`${relayed}From: a@b.org\rTo: c\rSubject: mac\r\rone\rtwo`))
      expect([parsed.subject, parsed.text]).toEqual(['mac', 'one\ntwo'])
    }
  })

  const mac = 'From: eve@evil.test\rTo: <ann@evil.test>\rSubject: mac\r\rone\rtwo'

  test.each([
    ['CR alone', mac, 'eve@evil.test'],
    ['CR behind a relay', `Received: from a by b\r\nDate: x\r${mac}\r\n`, 'eve@evil.test'],
    ['CR behind a relay that takes all for the sender', `Received: from a by b\r\n${mac}\r\n`, undefined],
  ])('the sender of a mail with lines that end with %s is %p %p', async (_, raw, address) => {
    const parsed = await parseMail(Buffer.from(raw))
    expect([parsed.from?.address, parsed.subject, parsed.text.trim()]).toEqual([address, 'mac', 'one\ntwo'])
  })

  test.each([
    'X-A: a\rFrom: victim@good.test',
    'X-A: a\r\rFrom: victim@good.test\r\r',
    'junk\rFrom: victim@good.test',
    `X-A: a${'\r'.repeat(100)}From: victim@good.test`,
    `X-A: a${'\r'.repeat(20_000)}From: victim@good.test`,
    'From : eve@evil.test\r\nX-A: a\rFrom: victim@good.test',
  ])('a lone carriage return hides no other sender: %#', async (line) => {
    const raw = mail(line, 'From: eve@evil.test', 'Subject: one', '', 'text')
    expect((await parseMail(raw)).from?.address).toBe('eve@evil.test')
    expect(readHeaders(raw)).toMatchObject({ from: { address: 'eve@evil.test' }, subject: 'one' })
  })

  test.each([
    ['one line', 'ESMTPS id 1abc for <help@desk.example>; Tue, 17 Nov 2026 09:00:00 +0000'],
    ['a folded line', '\tby mx.x.org with ESMTPS id 1abc;\r\n\tTue, 17 Nov 2026 09:00:00 +0000'],
    ['the rest of a signature', `${'Zm9vYmFy'.repeat(8)}\r\n`.repeat(6).trim()],
    [
      'the rest of a signature, folded',
      Array(12)
        .fill(` ${'Zm9vYmFy'.repeat(8)}`)
        .join('\r\n'),
    ],
    ['the rest of a trace', Array(9).fill('\t(version=TLS1_3 cipher=TLS_AES_256_GCM_SHA384)').join('\r\n')],
    ['the notice of a gateway', '*** This message was scanned by the gateway ***'],
    ['a status line', '250 2.0.0 OK queued as 4XyZ'],
    ['a line of another charset', '\xc3\xa9\xc3\xa9 \xc3\xa9'],
  ])('lines of a field that was cut hide no header: %s', async (_, lines) => {
    const parsed = await parseMail(mail(lines, 'Received: from a by b', FROM, 'Subject: one', '', 'text'))
    expect([parsed.from?.address, parsed.subject, parsed.text]).toEqual(['ann@example.com', 'one', 'text'])
  })

  test('a text without a header that lists fields stays a text', async () => {
    const text = `${'Some words of a text that has no header at all.\r\n'.repeat(9)}From: Hamburg\r\nis what it says.`
    expect((await parseMail(mail(text))).text).toBe(text.replaceAll('\r\n', '\n'))
  })

  test.each([
    ['Ann <ann@x.org>, Bob <bob@x.org>', ['bob@x.org']],
    ['ann@x.org, bob@x.org, "C, D" <c@x.org>', ['bob@x.org', 'c@x.org']],
    ['authors: ann@x.org, bob@x.org;', ['bob@x.org']],
    ['Smith, Ann <ann@x.org>', []],
    ['"bob@x.org" <ann@x.org>', []],
    ['ann@x.org (bob@x.org)', []],
    ['Ann <ann@x.org>', []],
    ['', []],
  ])('the other authors in From are %p: %p', async (from, expected) => {
    const { co_authors } = await parseMail(mail(`From: ${from}`, '', 'x'))
    expect(co_authors.map(({ address }) => address)).toEqual(expected)
  })

  test('a second From field adds no author', async () => {
    const { from, co_authors } = await parseMail(mail(FROM, 'From: bob@x.org', '', 'x'))
    expect([from?.address, co_authors]).toEqual(['ann@example.com', []])
  })

  test('ids of a very long conversation are all read', async () => {
    const ids = Array.from({ length: 400 }, (_, index) => `${index}@x.org`)
    const parsed = await parseMail(mail(FROM, `References: ${ids.map((id) => `<${id}>`).join('\r\n ')}`, '', 'x'))
    expect(parsed.references).toEqual(ids)
  })

  test.each([
    ['Hello\r\nthere', 'Hello\nthere'],
    ['Hello\r\n\r\nthere', 'Hello\n\nthere'],
    ['junk\r\nX-A: b\r\n\r\nHello', 'Hello'],
  ])('the text that follows a header in %p is found', async (rest, expected) => {
    expect((await parseMail(mail(FROM, rest))).text).toBe(expected)
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
