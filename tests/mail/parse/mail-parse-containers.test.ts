/** Text and files in a winmail.dat (TNEF) and in opaque S/MIME are shown; what cannot be opened stays a file. */
import { expect, test } from 'bun:test'
import { createParser } from '../../../src/mail/parse/lanes'
import { parseMail } from '../../../src/mail/parse/parse'
import {
  element,
  inPieces,
  newFile,
  number,
  oldFile,
  type Property,
  properties,
  signed,
  tnef,
  utf16,
} from '../../support/containers'

const FROM = 'From: Ann <ann@example.com>\r\nSubject: Pump\r\n'

function base64(type: string, content: Buffer, name: string): string {
  const lines = content.toString('base64').replace(/.{76}/g, '$&\r\n')
  return `Content-Type: ${type}; name="${name}"\r\nContent-Transfer-Encoding: base64\r\n\r\n${lines}\r\n`
}

function mixed(...parts: string[]): string {
  return `Content-Type: multipart/mixed; boundary=b\r\n\r\n${parts.map((part) => `--b\r\n${part}\r\n`).join('')}--b--\r\n`
}

async function parse(body: string) {
  const mail = await parseMail(Buffer.from(FROM + body))
  const files = mail.attachments.map(({ filename, content_type, content }) => [
    filename,
    content_type,
    Buffer.from(content).toString('latin1').slice(0, 40),
  ])
  return { text: mail.text.trim(), body_html: mail.body_html, files, mail }
}

const winmail = (content: Buffer, type = 'application/ms-tnef', name = 'winmail.dat') => base64(type, content, name)
const PDF = Buffer.from('%PDF-1.4')
const TEXT = 'Content-Type: text/plain\r\n\r\nBeside it'

/** `{\rtf1\ansi\ansicpg1252\pard hello world}`, the example of [MS-OXRTFCP]. */
const RTF = Buffer.from(
  '2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af62068656c0900206277' + '05b06c647d0a800fa0',
  'hex',
)

function plainRtf(text: string): Buffer {
  const rtf = Buffer.from(text, 'latin1')
  return Buffer.concat([number(rtf.length + 12), number(rtf.length), number(0x414c454d), number(0), rtf])
}

const message = (...list: Property[]): [number, Buffer] => [0x9003, properties(list)]

test.each<[string, Buffer, string]>([
  ['of old programs', tnef([[0x800c, Buffer.from('It drips.\0')]]), 'It drips.'],
  [
    'in another code page',
    tnef([
      [0x9007, Buffer.concat([number(1251), number(0)])],
      [0x800c, Buffer.from('d2e5f7b8f200', 'hex')],
    ]),
    'Течёт',
  ],
  ['in properties', tnef([message([0x1000, 0x1f, utf16('Es tropft: Grüße')])]), 'Es tropft: Grüße'],
  [
    'behind properties of all kinds',
    tnef([
      message(
        [0x8001, 0x1f, utf16('odd')],
        [0x0017, 0x03, number(1)],
        [0x8002, 0x40, Buffer.alloc(8)],
        [0x0e06, 0x40, Buffer.alloc(8)],
        [0x003b, 0x102, Buffer.from('odd')],
        [0x1000, 0x1e, Buffer.from('It drips.\0')],
      ),
    ]),
    'It drips.',
  ],
  ['in compressed RTF', tnef([message([0x1009, 0x102, RTF])]), 'hello world'],
  [
    'in RTF with formats, another code page and Unicode',
    tnef([
      message([
        0x1009,
        0x102,
        plainRtf(
          "{\\rtf1\\ansi\\ansicpg1251{\\fonttbl{\\f0 Arial;}}{\\*\\htmltag <p>}\\b \\'d2\\'e5\\'f7\\'b8\\'f2\\b0\\par\\uc1\\u8364 ?5 \\{ok\\}}",
        ),
      ]),
    ]),
    'Течёт\n€5 {ok}',
  ],
])('text %s in a winmail.dat is shown', async (_, content, text) => {
  for (const body of [winmail(content), mixed(winmail(content, 'application/octet-stream', 'WINMAIL.DAT'))]) {
    const found = await parse(body)
    expect(found).toMatchObject({ text, files: [] })
  }
})

test('HTML in a winmail.dat is shown with its images', async () => {
  const html = Buffer.from('<p>Gr\xfc\xdfe <img src="cid:image1@x"></p>', 'latin1')
  const image = newFile('pump.png', Buffer.from('89504e47', 'hex'), [0x3712, 0x1f, utf16('image1@x')])
  const content = tnef([message([0x1013, 0x102, html], [0x3fde, 0x03, number(28591)]), ...image])
  const { text, body_html, mail } = await parse(winmail(content))
  expect([text, mail.attachments.map(({ content_id }) => content_id)]).toEqual(['Grüße', ['image1@x']])
  expect(body_html).toContain('cid:image1%40x')
})

test.each<[string, [number, Buffer][], unknown[][]]>([
  ['of old programs', oldFile('OFFER.PDF', PDF), [['OFFER.PDF', 'application/pdf', '%PDF-1.4']]],
  ['with a long name', newFile('Offer für Ann.pdf', PDF), [['Offer für Ann.pdf', 'application/pdf', '%PDF-1.4']]],
  [
    'with a type',
    newFile('offer', PDF, [0x370e, 0x1e, Buffer.from('Application/PDF\0')]),
    [['offer', 'application/pdf', '%PDF-1.4']],
  ],
  [
    'with a path in its name',
    newFile('..\\..\\etc/x\u202egnp.exe', PDF),
    [['xgnp.exe', expect.any(String), '%PDF-1.4']],
  ],
  [
    'several',
    [...oldFile('1.txt', Buffer.from('a')), ...newFile('2.txt', Buffer.from('b'))],
    [
      ['1.txt', 'text/plain', 'a'],
      ['2.txt', 'text/plain', 'b'],
    ],
  ],
  [
    'in a message that is attached',
    [
      [0x9002, Buffer.alloc(14)],
      [
        0x9005,
        properties([
          [
            0x3701,
            0x0d,
            Buffer.concat([
              Buffer.alloc(16, 1),
              tnef([
                message([0x0037, 0x1f, utf16('Old offer')], [0x1000, 0x1f, utf16('See file')]),
                ...oldFile('A.PDF', PDF),
              ]),
            ]),
          ],
        ]),
      ],
    ],
    [
      ['Old offer.txt', 'text/plain', 'See file'],
      ['A.PDF', 'application/pdf', '%PDF-1.4'],
    ],
  ],
])('files %s in a winmail.dat are attachments', async (_, attributes, files) => {
  expect(await parse(mixed(TEXT, winmail(tnef(attributes), 'application/vnd.ms-tnef')))).toMatchObject({
    text: 'Beside it',
    files,
  })
})

test('text in a winmail.dat beside the same text is not shown twice', async () => {
  const content = tnef([[0x800c, Buffer.from('It drips.\0')], ...oldFile('A.PDF', PDF)])
  expect((await parse(mixed(TEXT, winmail(content)))).text).toBe('Beside it')
  expect((await parse(mixed('Content-Type: text/plain\r\n\r\n \r\n', winmail(content)))).text).toBe('It drips.')
})

test.each<[string, Buffer]>([
  ['nothing', Buffer.alloc(0)],
  ['other bytes', Buffer.from('PK\x03\x04 no tnef at all')],
  ['more files than a message may have', tnef(Array.from({ length: 1001 }, () => [0x9002, Buffer.alloc(0)]))],
])('a winmail.dat with %s stays a file', async (_, content) => {
  const { files } = await parse(mixed(TEXT, winmail(content)))
  expect(files.map(([name]) => name)).toEqual(['winmail.dat'])
})

test('a winmail.dat that was cut keeps what is there', async () => {
  const content = tnef([[0x800c, Buffer.from('It drips.\0')], ...oldFile('A.PDF', Buffer.alloc(1000, 65))])
  const { text, files } = await parse(winmail(content.subarray(0, -600)))
  expect([text, files.length]).toEqual(['It drips.', 1])
  for (let length = 0; length < 120; length += 1) await parse(winmail(content.subarray(0, length)))
})

const INNER = Buffer.from(
  mixed(
    'Content-Type: text/plain; charset=utf-8\r\n\r\nGrüße, signed',
    'Content-Disposition: attachment; filename=a.txt\r\n\r\nx',
  ),
)
const p7m = (content: Buffer, type = 'application/pkcs7-mime; smime-type=signed-data') =>
  base64(type, content, 'smime.p7m')

test.each<[string, string]>([
  ['of known length', p7m(signed(element(0x04, INNER)))],
  ['without a length', p7m(signed(inPieces(INNER, 50), 'none'))],
  ['in pieces within known lengths', p7m(signed(inPieces(INNER, 7)))],
  ['of an old type that does not say its kind', p7m(signed(element(0x04, INNER)), 'application/x-pkcs7-mime')],
  ['known by its name', p7m(signed(element(0x04, INNER)), 'application/octet-stream')],
  ['in a multipart', mixed(p7m(signed(element(0x04, INNER))))],
  ['twice signed', p7m(signed(element(0x04, Buffer.from(p7m(signed(element(0x04, INNER)))))))],
])('a message signed in the opaque form, %s, is shown', async (_, body) => {
  expect(await parse(body)).toMatchObject({ text: 'Grüße, signed', files: [['a.txt', expect.any(String), 'x']] })
})

test.each<[string, string]>([
  ['encrypted', p7m(signed(element(0x04, INNER)), 'application/pkcs7-mime; smime-type=enveloped-data')],
  ['a signature alone', p7m(signed(Buffer.alloc(0)))],
  ['other bytes', p7m(Buffer.from('no CMS at all'))],
  ['endless levels', p7m(Buffer.alloc(100_000, '3080', 'hex'))],
  ['a length beyond all bytes', p7m(Buffer.from('3086ffffffffffff', 'hex'))],
])('an S/MIME part with %s stays a file', async (_, body) => {
  const { files } = await parse(mixed(TEXT, body))
  expect(files.map(([name]) => name)).toEqual(['smime.p7m'])
})

test('a signed message that was cut keeps what is there, and no cut ends the parser', async () => {
  const content = signed(inPieces(INNER, 50), 'none')
  for (let length = 0; length < content.length; length += 13) await parse(p7m(content.subarray(0, length)))
  expect((await parse(p7m(content.subarray(0, -60)))).text).toContain('signed')
})

/** Parses as the service does, which ends a message that takes too long. */
async function parseWithLimits(body: string) {
  const parser = createParser()
  try {
    return await parser.parse(Buffer.from(FROM + body))
  } finally {
    await parser.close()
  }
}

test('a signed message in tiny pieces is read in time', async () => {
  const { text } = await parseWithLimits(p7m(signed(inPieces(Buffer.alloc(1_000_000, '\r\na'), 2), 'none')))
  expect(text.length).toBeGreaterThan(300_000)
})

test('a winmail.dat of 20 MB is opened in time', async () => {
  const { attachments } = await parseWithLimits(winmail(tnef(oldFile('large.bin', Buffer.alloc(20_000_000, 1)))))
  expect(attachments.map(({ filename, content }) => [filename, content.length])).toEqual([['large.bin', 20_000_000]])
})

test.each([
  ['the file of a message instead of its bytes', import.meta.path, 'Words of the file'],
  ['the bytes when the file cannot be read', `${import.meta.path}.gone`, 'Words of the bytes'],
])('the parser reads %s', async (_, file, words) => {
  const parser = createParser()
  try {
    const { text } = await parser.parse(Buffer.from(`${FROM}\r\nWords of the bytes`), { file })
    expect(text).toContain(words)
  } finally {
    await parser.close()
  }
})
