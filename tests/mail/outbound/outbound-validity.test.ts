/** Validity of what leaves (RFC 5322, 2045, 2047, 2231): any text that people type reads back unchanged. */
import { afterAll, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { domainToASCII } from 'node:url'
import fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import { simpleParser } from 'mailparser'
import { type CustomerReply, composeReply } from '../../../src/mail/outbound/compose'
import { ticketSubject } from '../../../src/mail/outbound/header-values'
import { closeTransports, sendMail } from '../../../src/mail/outbound/transport'
import { startSmtpSink } from '../../support/smtp'

const corpus = path.resolve(import.meta.dir, '../../../../shared/data/mail/expect.jsonl')
const hasCorpus = existsSync(corpus)
if (!hasCorpus) console.log('The mail corpus is not here: its subjects, names and file names are not tried.')
const python = Bun.which('python3')
if (!python) console.log('python3 is not here: what leaves is read by mailparser only.')

afterAll(closeTransports)

const NASTY = [
  ...['', ' ', '   ', '\t\r\n', '\0', 'a\0b', '\u0085\u2028\u2029', '\ufeff', '\u200b', '\u00ad', '\u00a0 x \u00a0'],
  ...['a\r\nBcc: evil@example.test', 'a\r\n\r\nbody', 'a\rb', 'a\nb', 'a\u000bb\u000cc', 'del\u007f', '\u001b[31m'],
  ...[
    '"',
    '""',
    '"a',
    'a"b"c',
    '\\',
    'a\\',
    '\\"',
    "'",
    "it's",
    "utf-8''x",
    'a,b',
    'a;b=c',
    'a:b',
    '(a',
    ')',
    '(a (b)',
  ],
  ...[
    '<a@b.test>',
    'a@b.test',
    '<',
    '>',
    'a@',
    '[ACME-1]',
    'Re: [ACME-1] x',
    '%41',
    '%',
    'a%0d%0ab',
    '.',
    '..',
    '/',
    'a/b',
  ],
  ...['=?UTF-8?Q?x?=', '=?utf-8?b?eA==?=', '=?', '?=', '=?=', '=?x', '=?UTF-8?Q?a b?=', '=?UTF-8?X?x?=', '=?a?=?b?='],
  ...['ä =?UTF-8?Q?x?= ö', '"=?UTF-8?Q?x?="', '=?UTF-8?Q?=0D=0ABcc:_evil?=', '=41', '=', '= =', 'a_b', '_', '?', 'a?b'],
  ...[
    'é',
    'e\u0301',
    'ß',
    'Größe',
    'Ünïcödé tëxt',
    '报告书',
    '日本語の件名',
    'Привет',
    '한국어',
    'ไทย',
    'مرحبا',
    'שלום "x"',
  ],
  ...[
    '\u202eabc\u202c',
    '\u2067abc\u2069',
    '😀',
    '👩‍👩‍👧‍👦',
    '🏳️‍🌈'.repeat(20),
    '🇩🇪',
    '\ud83d',
    '\ude00',
    'a\ud83db',
    '\udc00\ud800',
  ],
  ...[
    'a'.repeat(255),
    'ä'.repeat(255),
    '😀'.repeat(255),
    'ab '.repeat(85),
    'ä b'.repeat(85),
    '"'.repeat(255),
    '\\'.repeat(255),
  ],
  ...[
    'x'.repeat(76),
    'x'.repeat(77),
    'x'.repeat(78),
    '報'.repeat(25),
    `${'x'.repeat(60)} ${'ä'.repeat(60)}`,
    `a${' '.repeat(200)}b`,
  ],
  ...[
    'report.pdf',
    'a.tar.gz',
    '.htaccess',
    'a b.txt',
    'a  b.txt',
    'Übersicht "final"; v1.pdf',
    '報告書.txt',
    'a*b',
    "a'b'c.txt",
  ],
]

/** As documented at `composeReply`: no control characters and lone surrogates, single spaces. */
function clean(text: string): string {
  return text.replace(/[\s\p{Cc}\p{Cs}]+/gu, ' ').trim()
}

/** A name must not look encoded either. */
function cleanName(name: string): string {
  return clean(name).replaceAll('=?', '= ?')
}

type Texts = { subject: string; name: string; filename: string }

/** Each text of the corpus once, whatever stands beside it there. */
async function textsOfCorpus(): Promise<Texts[]> {
  const lines = hasCorpus ? (await Bun.file(corpus).text()).trim().split('\n') : []
  const mails = lines.map((line) => JSON.parse(line).expect)
  const distinct = (texts: (string | null)[]) => [...new Set(texts.map((text) => text ?? ''))]
  const subjects = distinct(mails.map(({ subject }) => subject))
  const names = distinct(mails.map(({ from_name }) => from_name))
  const filenames = distinct(mails.flatMap(({ attachments }) => attachments ?? []).map(({ filename }) => filename))
  const count = Math.max(subjects.length, names.length, filenames.length)
  return Array.from({ length: count }, (_, index) => ({
    subject: subjects[index] ?? '',
    name: names[index] ?? '',
    filename: filenames[index] ?? '',
  }))
}

function anyTexts(): Texts[] {
  const text = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 120 }),
    fc.string({ unit: 'binary', maxLength: 255, size: 'max' }),
    fc.string({ unit: 'binary-ascii', maxLength: 255, size: 'max' }),
    fc.array(fc.constantFrom(...NASTY, ' '), { maxLength: 6 }).map((parts) => parts.join('')),
  )
  return fc.sample(fc.record({ subject: text, name: text, filename: text }), 100)
}

const PNG = Buffer.from('89504e470d0a1a0a0d0d0a00ff', 'hex')
const TEXT_FILE = 'one\ntwo\r\nthree\rfour \n.\n..\nFrom x\nä'
const TEXT = 'Hello,\n.\n..\nFrom here\n-- \nä'

function replyOf({ subject, name, filename }: Texts, index: number): CustomerReply {
  const bytes = (content: string | Buffer) => async () => [Buffer.from(content)] as unknown as AsyncIterable<Uint8Array>
  return {
    from: { name, address: 'support@acme.test' },
    to: [
      { name, address: 'ann@customer.test' },
      { name: clean(name).slice(0, 40), address: 'bob@bücher.test' },
    ],
    reply_to: { address: `support+${'t'.repeat(38)}@acme.test` },
    subject,
    code: 'ACME-1',
    message_id: `${index}.m@acme.test`,
    in_reply_to: 'last@customer.test',
    references: Array.from({ length: index % 50 }, (_, i) => `${'r'.repeat(1 + (i % 90))}.${i}@customer.test`),
    text: index % 3 === 0 ? TEXT : `${subject}\n${'word '.repeat(index % 300)}\n${'x'.repeat(index * 4)}`,
    html: `<p>${index % 2 === 0 ? 'Hi' : 'ä'.repeat(index)}</p><img src="cid:image@acme.test">`,
    attachments: [
      { filename, content_type: 'image/png', content: bytes(PNG), content_id: 'image@acme.test', is_inline: true },
      { filename, content_type: 'text/plain; charset=utf-8', content: bytes(TEXT_FILE) },
    ],
  }
}

test('every message is valid on the wire, and two readers find in it what was meant', async () => {
  const texts = [
    ...(await textsOfCorpus()),
    ...NASTY.map((text) => ({ subject: text, name: text, filename: text })),
    ...anyTexts(),
  ]
  const raws = await sendAll(texts.map(replyOf))
  const read = await readByPython(raws)
  const problems: string[] = []
  for (const [index, raw] of raws.entries()) {
    const expected = expectedOf(texts[index]!, index)
    const faults = [...faultsOfWire(raw), ...differencesOf('mailparser', await readByMailparser(raw), expected)]
    if (read) faults.push(...differencesOf('python', read[index]!, forPython(expected)))
    if (faults.length > 0) problems.push(`${JSON.stringify(texts[index])}: ${faults.join('; ')}`)
  }
  expect(problems.slice(0, 20)).toEqual([])
})

/** The values that a reader has to find. Bodies are compared by their lines. */
function expectedOf(texts: Texts, index: number) {
  const { text, html, references = [] } = replyOf(texts, index)
  const filename = cleanName(texts.filename).replaceAll('*', '_') || 'attachment'
  const name = cleanName(texts.name)
  return {
    subject: ticketSubject(texts.subject, 'ACME-1', 'Re: '),
    from: [[name, 'support@acme.test']],
    to: [
      [name, 'ann@customer.test'],
      [cleanName(clean(texts.name).slice(0, 40)), 'bob@xn--bcher-kva.test'],
    ],
    message_id: `<${index}.m@acme.test>`,
    first_reference: `<${[...references, 'last@customer.test'][0]}>`,
    last_reference: '<last@customer.test>',
    text: linesOf(text.toWellFormed()),
    html: linesOf(html),
    files: [
      [filename, 'image/png'],
      [filename, 'text/plain'],
    ],
    contents: [PNG.toString('hex'), Buffer.from(TEXT_FILE).toString('hex')],
    defects: [] as string[],
  }
}

type Read = ReturnType<typeof expectedOf>

async function readByMailparser(raw: Buffer): Promise<Read> {
  const mail = await simpleParser(raw, { skipImageLinks: true, skipTextToHtml: true })
  const references = [mail.references ?? []].flat()
  return {
    subject: mail.subject ?? '',
    from: (mail.from?.value ?? []).map(({ name, address }) => [name, address ?? '']),
    to: [mail.to ?? []].flat().flatMap((list) => list.value.map(({ name, address }) => [name, asSent(address)])),
    message_id: mail.messageId ?? '',
    first_reference: references.at(0) ?? '',
    last_reference: references.at(-1) ?? '',
    text: linesOf(mail.text ?? ''),
    html: linesOf(mail.html || ''),
    files: mail.attachments.map(({ filename, contentType }) => [filename ?? '', contentType]),
    contents: mail.attachments.map(({ content }) => content.toString('hex')),
    defects: [],
  }
}

/** Mailparser shows international domains as people read them. */
function asSent(address = ''): string {
  const at = address.lastIndexOf('@') + 1
  return address.slice(0, at) + domainToASCII(address.slice(at))
}

/** One process for all of them; undefined without Python. */
async function readByPython(raws: Buffer[]): Promise<Read[] | undefined> {
  if (!python) return undefined
  const folder = mkdtempSync(path.join(tmpdir(), 'outbound-'))
  try {
    for (const [index, raw] of raws.entries()) writeFileSync(path.join(folder, `${index}`.padStart(6, '0')), raw)
    const child = Bun.spawn([python, path.join(import.meta.dir, '../../support/read-mail.py'), folder], {
      stderr: 'inherit',
    })
    const lines = (await new Response(child.stdout).text()).trim().split('\n')
    expect([await child.exited, lines.length]).toEqual([0, raws.length])
    return lines.map((line) => {
      const { references, text, html, ...rest } = JSON.parse(line)
      const [first_reference, last_reference] = [references.at(0), references.at(-1)]
      return forPython({ ...rest, first_reference, last_reference, text: linesOf(text), html: linesOf(html) })
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function linesOf(text: string): string[] {
  return text.replace(/\s+$/, '').split(/\r\n|\r|\n/)
}

/** Python 3.11 keeps the space between the encoded words of a name (cpython#92081). */
function forPython(read: Read): Read {
  const unspaced = (people: string[][]) => people.map(([name, address]) => [name!.replaceAll(' ', ''), address!])
  return { ...read, from: unspaced(read.from), to: unspaced(read.to) }
}

function differencesOf(reader: string, seen: Read, expected: Read): string[] {
  const keys = Object.keys(expected) as (keyof Read)[]
  const different = keys.filter((key) => !Bun.deepEquals(seen[key], expected[key]))
  return different.map((key) => `${reader} ${key} ${JSON.stringify(seen[key])}, not ${JSON.stringify(expected[key])}`)
}

/** Sends over a real connection and gives what arrived, in order. */
async function sendAll(replies: CustomerReply[]): Promise<Buffer[]> {
  using sink = await startSmtpSink()
  const smtp = { host: '127.0.0.1', port: sink.port, security: 'none' } as const
  const allowed = [ipaddr.parseCIDR('127.0.0.0/8')]
  for (const reply of replies) await sendMail(smtp, composeReply(reply), { allowed })
  const mails = await sink.waitFor(replies.length)
  expect(sink.connections()).toBeLessThan(10 + replies.length / 100)
  return mails.map(({ raw }) => raw)
}

const ONCE = ['date', 'message-id', 'mime-version', 'from', 'to', 'subject', 'content-type', 'reply-to', 'references']

/** Faults of the bytes. */
function faultsOfWire(raw: Buffer): string[] {
  const text = raw.toString('latin1')
  const lines = text.split('\r\n')
  const head = lines.slice(0, lines.indexOf(''))
  const fields = head.filter((line) => !/^[ \t]/.test(line)).map((line) => line.split(':')[0]!.toLowerCase())
  const words = head.join('\n').match(/=\?UTF-8\?[^\s"]*/gi) ?? []
  const faults: [string, boolean][] = [
    ['a lone CR or LF', /[\r\n]/.test(text.replaceAll('\r\n', ''))],
    ['a line above 998', lines.some((line) => line.length > 998)],
    [
      'a header line above 78 that could be folded',
      head.some((line) => line.length > 78 && /\S[ \t]+\S/.test(line.trim().replace(/^[\w-]+: /, ''))),
    ],
    [
      'a subject line above 78',
      /^(Subject:.*(\r\n[ \t].*)*)$/m
        .exec(head.join('\r\n'))![1]!
        .split('\r\n')
        .some((line) => line.length > 78),
    ],
    ['8-bit bytes', /[\x80-\xff\0]/.test(text)],
    ['a header line of nothing', head.some((line) => line.trim() === '')],
    ['no field', head.some((line) => !/^([A-Za-z0-9-]+:|[ \t])/.test(line))],
    ['an encoded word above 75', words.some((word) => word.length > 75)],
    ['a broken encoded word', words.some((word) => !/^=\?UTF-8\?([QB])\?[!->@-~]+\?=[,;]?$/i.test(word))],
    ...ONCE.map((name): [string, boolean] => [`not one ${name}`, fields.filter((one) => one === name).length !== 1]),
    ['a structure other than was meant', structureOf(text) !== 'mixed alternative related'],
    ['a Bcc', fields.includes('bcc')],
  ]
  return faults.filter(([, is_there]) => is_there).map(([what]) => what)
}

function structureOf(text: string): string {
  return [...text.matchAll(/^Content-Type: multipart\/(\w+)/gm)].map(([, type]) => type).join(' ')
}
