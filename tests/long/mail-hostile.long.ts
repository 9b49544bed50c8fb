/**
 * Mail made to stop a helpdesk. Every message is read within limits of time and memory, or filed unread with its
 * original, and the next message is filed as usual.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { closeParser, createParser, ParserBusy, type ParserOptions, parseInWorker } from '../../src/mail/parse/lanes'
import { UnparsableMail } from '../../src/mail/parse/parse'
import { createOrganization, type Organization, startApi, stopApi } from '../support/api'
import { createMailbox, importMail } from '../support/mail'
import { until } from '../support/service'

afterAll(closeParser)

const FROM = 'From: Ann <ann@example.com>'
/**
 * Far above what any of these takes, so that a slow machine does not fail, and far below what a loop would take. The
 * memory is that of the whole process, which may keep 200 MB from message to message.
 */
const LIMITS = { timeout_ms: 20_000, quick_ms: 4000, max_memory_bytes: 500e6 }

const BROKEN = new URL('../support/broken-parser.ts', import.meta.url)

/** Lines to the bytes of a message; characters up to U+00FF are bytes. */
function mail(...lines: string[]): Buffer {
  return Buffer.from(lines.join('\r\n'), 'latin1')
}

/** Not for one that has ended and only waits to be collected. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

/** Processor time in hundredths of a second. */
function ticksOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return Number(fields[11]) + Number(fields[12])
}

function html(body: string): Buffer {
  return mail(FROM, 'Content-Type: text/html', '', `<p>Hello</p>${body}`)
}

function text(body: string, ...fields: string[]): Buffer {
  return mail(FROM, ...fields, '', `Hello\r\n${body}`)
}

function encoded(encoding: string, body: string): Buffer {
  return text(body, 'Content-Type: text/plain', `Content-Transfer-Encoding: ${encoding}`)
}

function parts(count: number, ...part: string[]): Buffer {
  const all = Array.from({ length: count }, () => ['--b', ...part]).flat()
  return mail(FROM, 'Content-Type: multipart/mixed; boundary=b', '', '--b', '', 'Hello', ...all, '--b--')
}

function nested(levels: number): string[] {
  return Array.from({ length: levels }, (_, level) => [
    `Content-Type: multipart/mixed; boundary=b${level}`,
    '',
    `--b${level}`,
  ]).flat()
}

/** A picture of 300 KB, and a text that shows it 1,500 times. */
function pictures(): Buffer {
  return mail(
    FROM,
    'Content-Type: multipart/related; boundary=b',
    ...['', '--b', 'Content-Type: text/html', '', `<p>Hello</p>${'<img src="cid:a@b">'.repeat(1500)}`],
    ...['--b', 'Content-Type: image/png', 'Content-ID: <a@b>', 'Content-Transfer-Encoding: base64', ''],
    'QUJD'.repeat(100_000),
    '--b--',
  )
}

/** Beyond what any mail program makes: refused before it costs anything. */
const REFUSED: [string, () => Buffer][] = [
  ['2,000 levels', () => mail(FROM, ...nested(2000), '', 'x')],
  ['50,000 levels', () => mail(FROM, ...nested(50_000), '', 'x')],
  ['10,000 parts', () => parts(10_000, '', 'x')],
  ['3 MB of fields in 300 parts', () => parts(300, ...Array<string>(1200).fill('X-A: b'), '', 'x')],
  ['5 MB in one field', () => mail(FROM, `Subject: ${'x'.repeat(5e6)}`, '', 'x')],
  ['a field folded 300,000 times', () => mail(FROM, 'Subject: a', ...Array<string>(300_000).fill(' x'), '', 'x')],
]

const FIELDS: [string, () => Buffer][] = [
  ['100,000 fields', () => text('', ...Array<string>(100_000).fill('X-A: b'))],
  ['100,000 references', () => text('', `References: ${'<a@b> '.repeat(100_000)}`)],
  ['70,000 encoded words', () => text('', `Subject: ${'=?utf-8?Q?x?= '.repeat(70_000)}`)],
  ['beginnings of encoded words', () => text('', `Subject: ${'=?utf-8?B?'.repeat(90_000)}`)],
  ['60,000 continuations of a parameter', () => text('', `X-Type: a${parameters(60_000)}`, `Content-Type: text/plain`)],
  ['190,000 parameters', () => text('', `Content-Type: text/plain${'; a=b'.repeat(190_000)}`)],
  ['110,000 recipients', () => text('', `To: ${'x@y.org, '.repeat(110_000)}`)],
  ['groups within groups', () => text('', `To: ${'a:'.repeat(400_000)}`)],
  ['comments within comments', () => text('', `Cc: ${'('.repeat(900_000)}`)],
  ['fields that lost their folding', () => text('', 'X-A: b,', ...Array<string>(150_000).fill('b,'))],
  ['40,000 senders', () => text('', ...Array<string>(40_000).fill('From: a b c d e f'))],
  [
    'a subject of brackets from a mail system',
    () => mail('From: MAILER-DAEMON@x.org', `Subject: message${'('.repeat(400_000)}`, '', 'Hello'),
  ],
  ['an encoded word full of @', () => text('', `From: =?utf-8?Q?<a${'@'.repeat(130_000)}?=`)],
]

function parameters(count: number): string {
  return Array.from({ length: count }, (_, index) => `; name*${index}=b`).join('')
}

/** A report with one part that machines read. */
function report(type: string, content_type: string, body: string): Buffer {
  const part = ['--b', `Content-Type: ${content_type}`, '', body]
  const header = ['From: MAILER-DAEMON@x.org', `Content-Type: multipart/report; report-type=${type}; boundary=b`]
  return mail(...header, '', '--b', '', 'Hello', ...part, '--b--')
}

const CONTENTS: [string, () => Buffer][] = [
  ['990 text parts', () => parts(990, '', 'x'.repeat(20_000))],
  ['990 HTML parts', () => parts(990, 'Content-Type: text/html', '', '<div>'.repeat(1000))],
  ['10 MB of base64 in one line', () => encoded('base64', `${'QUJD'.repeat(2.5e6)}`)],
  ['a million pieces of base64', () => encoded('base64', 'QUI='.repeat(1e6))],
  ['3 million escaped bytes', () => encoded('quoted-printable', '=41'.repeat(3e6))],
  ['2 million soft line breaks', () => encoded('quoted-printable', 'x=\r\n'.repeat(2e6))],
  ['900 attached messages', () => parts(900, 'Content-Type: message/rfc822', '', 'X-A: b\r\n'.repeat(3000))],
  [
    'a report about 100,000 recipients',
    () => report('delivery-status', 'message/delivery-status', 'Final-Recipient: rfc822; a@b.de\r\n\r\n'.repeat(1e5)),
  ],
  [
    'a report with a million fields',
    () => report('delivery-status', 'message/delivery-status', 'Final-Recipient: rfc822; a@b.de\r\n'.repeat(7e5)),
  ],
  ['150,000 uuencoded lines', () => encoded('x-uuencode', `M${'!'.repeat(60)}\r\n`.repeat(150_000))],
  ['2 million lines that look like boundaries', () => mail(FROM, ...nested(90), '', 'Hello', '--\r\n'.repeat(2e6))],
  ['25 MB of CR', () => text('\r'.repeat(25e6))],
  ['12 MB of broken UTF-8', () => text('\xe4\xc3\xa4'.repeat(4e6), 'Content-Type: text/plain; charset=utf-8')],
  ['a charset of 900,000 characters', () => text('\xff', `Content-Type: text/plain; charset=${'x'.repeat(900_000)}`)],
]

const TEXTS: [string, () => Buffer][] = [
  ['xn-- labels', () => text(`${'xn--a.'.repeat(150_000)}xn`)],
  ['URL within URL', () => text('http://a.b/c?d='.repeat(60_000))],
  ['words of URLs', () => text(`${'http://a.b/#'.repeat(170)} `.repeat(480))],
  ['140,000 addresses', () => text('a@b.de '.repeat(140_000))],
  ['a gap of a million spaces', () => text(`a${' '.repeat(1e6)}b`)],
  ['announcements of quotes', () => text(`On 1${' a'.repeat(100)}\r\n`.repeat(4500))],
  ['60,000 announced quotes', () => text('On 1234 wrote:\r\n>\r\n'.repeat(60_000))],
  [
    '330,000 quoted lines',
    () => text('> x \r\n'.repeat(160_000), 'Content-Type: text/plain; format=flowed; delsp=yes'),
  ],
  ['UTF-7 shifts', () => text('+AOQ-'.repeat(190_000), 'Content-Type: text/plain; charset=utf-7')],
  [
    'lines of spaces from a mail system',
    () => mail('From: MAILER-DAEMON@x.org', '', `Hello${'\n'.repeat(100_000)}${' '.repeat(100_000)}`),
  ],
  ['a mail system that stammers', () => mail('From: MAILER-DAEMON@x.org', '', `Hello ${'user '.repeat(40_000)}`)],
  ['NUL bytes', () => text('x\0y', 'Subject: a\0b')],
]

const PAGES: [string, () => Buffer][] = [
  ['50,000 nested elements', () => html('<div>'.repeat(50_000))],
  ['elements that never close', () => html('<b>'.repeat(330_000))],
  ['330,000 paragraphs', () => html('<p>'.repeat(330_000))],
  ['tables within tables', () => html('<table><tr><td>'.repeat(60_000))],
  ['lists within lists', () => html('<ul><li>'.repeat(100_000))],
  ['elements closed in the wrong order', () => html('<b><p>'.repeat(80_000) + '</b>'.repeat(80_000))],
  ['a million <', () => html('<'.repeat(990_000))],
  ['styles that never end', () => html('<style>'.repeat(140_000))],
  ['comments that never end', () => html('<!--'.repeat(240_000))],
  ['an attribute of 990,000 characters', () => html(`<p title="${'x'.repeat(990_000)}">x</p>`)],
  ['90,000 attributes', () => html(`<p ${Array.from({ length: 90_000 }, (_, n) => `a${n}=b`).join(' ')}>x</p>`)],
  ['99,000 style declarations', () => html(`<p style="${'color:red;'.repeat(99_000)}">x</p>`)],
  ['quotes that never close', () => html('<a "'.repeat(240_000))],
  ['a picture shown 1,500 times', pictures],
]

describe('the parser', () => {
  const reader = createParser()
  afterAll(reader.close)

  test.each(REFUSED)('refuses %s', async (_, raw) => {
    expect(await reader.parse(raw(), LIMITS).catch((error) => error)).toBeInstanceOf(UnparsableMail)
  })

  test.each([...FIELDS, ...CONTENTS, ...TEXTS, ...PAGES])('reads %s', async (_, make) => {
    const raw = make()
    const parsed = await reader.parse(raw, LIMITS)
    const { text, body_html, subject } = parsed
    const isKept = parsed.attachments.some(({ content }) => content.length > raw.length / 3)
    expect(text.includes('Hello') || isKept).toBe(true)
    expect(`${text}${body_html}${subject}`).not.toContain('\0')
    expect(body_html.length).toBeLessThanOrEqual(6e6)
  })

  test.each([
    ['hang', { timeout_ms: 500 }, 'longer than 500 ms'],
    ['grow', { max_memory_bytes: 500e6 }, 'too much memory'],
    ['die', {}, 'ended'],
  ])('that would %s is ended, and another reads the next message', async (what, limits, reason) => {
    const parser = createParser(BROKEN)
    const [first, second] = await Promise.allSettled([
      parser.parse(Buffer.from(what), limits),
      parser.parse(Buffer.from('next')),
    ])
    expect(first).toMatchObject({
      status: 'rejected',
      reason: { name: 'UnparsableMail', message: expect.stringContaining(reason) },
    })
    expect(second).toMatchObject({ status: 'fulfilled', value: { text: 'next' } })
    await parser.close()
  })

  test('reads other mail while some take long, and of those one at a time', async () => {
    const parser = createParser(BROKEN)
    const gate = path.join(sharedFolder(), 'gate')
    const wait = Buffer.from(`wait ${gate}`)
    const isNext = async () => expect(await parser.parse(Buffer.from('next'))).toMatchObject({ text: 'next' })
    const refused = (options: ParserOptions) => expect(parser.parse(wait, options)).rejects.toBeInstanceOf(ParserBusy)

    const slow = [parser.parse(wait, { is_slow: true }), parser.parse(wait, { is_slow: true })]
    await isNext()
    await refused({ quick_ms: 100 })
    await refused({ is_slow: true })
    slow.push(
      parser.parse(wait, { quick_ms: 100, is_patient: true }),
      parser.parse(wait, { is_slow: true, is_patient: true }),
    )
    await isNext()
    writeFileSync(gate, '')
    expect(await Promise.all(slow)).toMatchObject(Array(4).fill({ text: wait.toString() }))
    await parser.close()
  })

  test('of one organization that takes long leaves the slow lane to another', async () => {
    const parser = createParser(BROKEN)
    const gate = path.join(sharedFolder(), 'gate')
    const wait = Buffer.from(`wait ${gate}`)
    const order: string[] = []
    const parse = (group: string, is_patient = false) =>
      parser.parse(wait, { is_slow: true, is_patient, group }).then(() => order.push(group))

    const noisy = [parse('noisy'), parse('noisy', true), parse('noisy', true)]
    await expect(parse('noisy')).rejects.toBeInstanceOf(ParserBusy)
    const other = parse('other')
    writeFileSync(gate, '')
    await Promise.all([...noisy, other])
    // The patient one came before the other, which then waits for one message, not for two.
    expect(order).toEqual(['noisy', 'noisy', 'other', 'noisy'])
    await parser.close()
  })

  test('that is closed says nothing about the messages in work, and reads the next one', async () => {
    const parser = createParser(BROKEN)
    await parser.parse(Buffer.from('first'))
    const open = [
      parser.parse(Buffer.from('hang')),
      parser.parse(Buffer.from('waits for it')),
      parser.parse(Buffer.from('hang'), { is_slow: true }),
    ]
    const settled = Promise.all(open.map((mail) => mail.catch(({ name, message }) => ({ name, message }))))
    await parser.close()
    expect(await settled).toEqual(Array(3).fill({ name: 'Error', message: 'The lane is closed' }))
    expect(await parser.parse(Buffer.from('next'))).toMatchObject({ text: 'next' })
    await parser.close()
  })

  test('that does not start says nothing about the message, and is started again for the next one', async () => {
    const script = pathToFileURL(path.join(mkdtempSync(path.join(tmpdir(), 'parser-')), 'parser.ts'))
    const parser = createParser(script)
    const error = await parser.parse(Buffer.from('first')).catch((error) => error)
    expect(error.message).toContain('before it was ready')
    expect(error).not.toBeInstanceOf(UnparsableMail)
    copyFileSync(BROKEN, script)
    expect(await parser.parse(Buffer.from('next'))).toMatchObject({ text: 'next' })
    await parser.close()
  })

  test('ends with the service that was killed, even in the middle of a message', async () => {
    const program = `
      import { askWorker, startWorker } from '${new URL('../../src/base/process/lane-worker.ts', import.meta.url).pathname}'
      const worker = await startWorker(new URL('${BROKEN}'), 0)
      void askWorker(worker, { work: { raw: Buffer.from('wait /nonexistent/file') } }).catch(() => {})
      console.log(worker.pid)`
    // The runner's own option for this would be passed on.
    const env = { ...process.env, BUN_FEATURE_FLAG_NO_ORPHANS: undefined }
    const service = spawn(process.execPath, ['-e', program], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    const pid = Number(await new Promise((resolve) => service.stdout.once('data', resolve)))
    const idle_ticks = ticksOf(pid)
    await until('it is in the middle of the message', () => ticksOf(pid) > idle_ticks + 20)
    service.kill('SIGKILL')
    await until('the parser has ended', () => !isRunning(pid))
  })

  test('that the system refuses a process is started for the next message', async () => {
    const { execPath } = process
    const parser = createParser()
    process.execPath = '/nonexistent/bun'
    const error = await parser.parse(text('')).catch((error) => error)
    process.execPath = execPath
    expect(error).toMatchObject({ code: 'ENOENT' })
    expect((await parser.parse(text(''))).text).toContain('Hello')
    await parser.close()
  })

  test('leaves the caller its bytes', async () => {
    const raw = text('')
    await parseInWorker(raw)
    expect(raw.length).toBeGreaterThan(0)
  })
})

describe('the desk', () => {
  let desk: Organization
  let mailbox_id: string

  beforeAll(async () => {
    await startApi()
    desk = await createOrganization()
    mailbox_id = (await createMailbox(desk.admin)).id
  })
  afterAll(stopApi)

  const received = (row: { ticket_id: string; message_id: string }) =>
    desk.agent.get(`/tickets/${row.ticket_id}/messages/${row.message_id}`).then(({ body }) => body.data)

  test.each(REFUSED)('files %s unread, with the original', async (_, raw) => {
    const original = raw()
    const row = await importMail(desk.admin, mailbox_id, original)
    expect(row).toMatchObject({ outcome: 'unparsed', from: { email: 'ann@example.com' } })
    const { attachments } = await received(row)
    expect(attachments).toMatchObject([{ filename: 'message.eml', size: original.length }])
  })

  test('files what is left to read, and then other mail as ever', async () => {
    const hostile = [pictures(), html('<div>'.repeat(50_000)), text('\r'.repeat(5e6)), text('a@b.de '.repeat(140_000))]
    for (const raw of [...hostile, text('next')]) {
      const row = await importMail(desk.admin, mailbox_id, raw)
      expect(row.outcome).toBe('ticket')
      expect((await received(row)).body).toStartWith('Hello')
    }
  })
})

/** A folder for a parser to look into, which runs as another user than root. */
function sharedFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'parser-'))
  chmodSync(folder, 0o755)
  return folder
}
