/** SMTP smuggling: no line end hides a second message, neither in mail that arrives nor in mail that leaves. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createServer, type Socket } from 'node:net'
import { simpleParser } from 'mailparser'
import { newId } from '../../../src/base/db/columns'
import { type StartedDesk, smtpTo, startDesk } from '../../support/desk'
import { createMessage, createTicket, formOf } from '../../support/factories'
import { deliver, drain, ledgerOf, rawMail } from '../../support/mail'
import { type SmtpDialog, smtpDialog, startData } from '../../support/smtp'

const MAILBOX = 'help@desk.example'
let desk: StartedDesk
let wire: Wire

beforeAll(async () => {
  wire = await startWire()
  desk = await startDesk({ address: MAILBOX, smtp: smtpTo(wire) })
})
afterAll(async () => {
  wire.close()
  await desk.stop()
})

/** A session that is in the middle of DATA. */
const startMessage = () => startData(desk.port, 'eve@evil.example', MAILBOX)

/** Everything that the organization has: what must not grow. */
async function countRows() {
  const [ledger, tickets] = await Promise.all([desk.admin.get('/inbound-messages'), desk.agent.get('/tickets')])
  return { ledger: ledger.body.meta.total, tickets: tickets.body.meta.total }
}

const SMUGGLED = [
  'MAIL FROM:<ceo@customer.example>',
  `RCPT TO:<${MAILBOX}>`,
  'DATA',
  'From: ceo@customer.example\r\nMessage-ID: <smuggled@evil.example>\r\nSubject: Smuggled\r\n\r\nPay at once',
]

/** Bytes that some servers took as the end of a message; only CRLF, dot, CRLF ends one (RFC 5321, section 2.3.8). */
const ENDS = [
  ...[
    '\n.\n',
    '\n.\r\n',
    '\r.\r\n',
    '\r\n.\n',
    '\r\n.\r',
    '\r.\r',
    '\n.\r',
    '\r\n\0.\r\n',
    '\r\n.\0\r\n',
    '\r\r\n.\r\r\n',
  ],
  ...['\r\n.\r\r\n', '\r\n. \r\n', '\r\n.\t\r\n', '\r\n \r\n.\n', '\r\n\v.\r\n', '\x85.\x85', '\r\n.\x1a\r\n', '\f.\f'],
]

test.each([
  ['at once', Number.MAX_SAFE_INTEGER],
  ['byte by byte', 1],
  ['in pieces of five bytes', 5],
])('nothing but CRLF, dot, CRLF ends a message: %s', async (_, step) => {
  const before = (await ledgerOf(desk)).length
  const sent = await Promise.all(
    ENDS.map(async (end) => {
      const id = `${newId()}@evil.example`
      const head = `From: eve@evil.example\r\nMessage-ID: <${id}>\r\nSubject: Innocent\r\n\r\ninnocent`
      const text = Buffer.from(`${head}${end}${SMUGGLED.join('\r\n')}\r\n`, 'latin1')
      using dialog = await startMessage()
      await writeInSteps(dialog, Buffer.concat([text, Buffer.from('.\r\n')]), step)
      expect(await dialog.read()).toStartWith('250 2.0.0 Ok: queued')
      // A command has its own answer, which would come before this one.
      expect(await dialog.command('NOOP')).toBe('250 2.0.0 OK')
      return { id, text }
    }),
  )
  await drain()
  const rows = await ledgerOf(desk)
  for (const { id, text } of sent) {
    const [row, ...others] = rows.filter((one: { email_message_id: string }) => one.email_message_id === id)
    expect(others).toEqual([])
    const { text: stored } = await desk.admin.get(`/inbound-messages/${row.id}/raw`)
    expect(stored).toBe(text.toString())
  }
  expect(rows).toHaveLength(before + ENDS.length)
})

async function writeInSteps(dialog: SmtpDialog, bytes: Buffer, step: number): Promise<void> {
  for (let at = 0; at < bytes.length; at += step) {
    dialog.write(bytes.subarray(at, at + step))
    if (step < bytes.length) await new Promise(setImmediate)
  }
}

test('commands may follow the true end of a message, and are another message of their own', async () => {
  const before = await countRows()
  using dialog = await startMessage()
  const mail = (name: string) => rawMail({ From: `${name}@evil.example`, Message_ID: `<${newId()}@evil.example>` })
  dialog.write(`${mail('one')}.\r\n${SMUGGLED.slice(0, 3).join('\r\n')}\r\n`)
  for (const code of ['250', '250', '250', '354']) expect(await dialog.read()).toStartWith(code)
  dialog.write(`${mail('two')}.\r\n`)
  expect(await dialog.read()).toStartWith('250')
  await drain()
  const after = await countRows()
  expect(after).toEqual({ ledger: before.ledger + 2, tickets: before.tickets + 2 })
})

test('a message whose sender goes before its true end is none', async () => {
  const before = await countRows()
  for (const end of ['\r\n.', '\r\n.\r', '\n.\n', '\r\n']) {
    using dialog = await startMessage()
    dialog.write(`From: eve@evil.example\r\n\r\nHello${end}`)
    dialog.socket().end()
    await dialog.closed
  }
  await drain()
  expect(await countRows()).toEqual(before)
})

const MAIL_FROM = 'MAIL FROM:<eve@evil.example>'
const RCPT_TO = `RCPT TO:<${MAILBOX}>`
const MESSAGE = 'Subject: Abuse\r\n\r\nHello\r\n.'

/** Commands sent without waiting for answers, and the codes of the answers. None of it is a message. */
const ABUSE: [string, string[], string[]][] = [
  ['DATA before anything', ['DATA', MESSAGE], ['503', '500']],
  ['DATA before MAIL', ['EHLO x.example', 'DATA', MESSAGE], ['250', '503', '500']],
  ['DATA before RCPT', ['EHLO x.example', MAIL_FROM, 'DATA', MESSAGE], ['250', '250', '503', '500']],
  ['RCPT before MAIL', ['EHLO x.example', RCPT_TO, 'DATA', MESSAGE], ['250', '503', '503', '500']],
  ['MAIL before EHLO', [MAIL_FROM, RCPT_TO, 'DATA', MESSAGE], ['503', '503', '503', '500']],
  [
    'DATA for nobody that is here',
    ['EHLO x.example', MAIL_FROM, 'RCPT TO:<nobody@desk.example>', 'DATA', MESSAGE],
    ['250', '250', '550', '503', '500'],
  ],
  ['RSET before DATA', ['EHLO x.example', MAIL_FROM, RCPT_TO, 'RSET', 'DATA'], ['250', '250', '250', '250', '503']],
  [
    'a second EHLO',
    ['EHLO x.example', MAIL_FROM, RCPT_TO, 'EHLO y.example', 'DATA'],
    ['250', '250', '250', '250', '503'],
  ],
  ['a request of HTTP', ['POST / HTTP/1.1', 'Host: x', '', 'EHLO x.example', MAIL_FROM], ['421']],
  ['a proxy request', ['CONNECT smtp.example:25 HTTP/1.1', 'EHLO x.example', 'DATA'], ['500', '250', '503']],
  ['a line that does not end', [`EHLO ${'x'.repeat(100_000)}`], ['421']],
  ['an address that does not end', ['EHLO x.example', `MAIL FROM:<${'x'.repeat(20_000)}@x.example>`], ['250', '421']],
  [
    'a recipient of thousands of characters',
    ['EHLO x.example', MAIL_FROM, `RCPT TO:<${'x'.repeat(5000)}@desk.example>`],
    ['250', '250', '5'],
  ],
  ['CR in a command', ['EHLO x.example', `${MAIL_FROM}\r${RCPT_TO}\rDATA`, 'DATA'], ['250', '555', '503']],
  ['NUL in a command', ['EHLO x.example', `${MAIL_FROM}\0`, `RCPT TO:<${MAILBOX}\0@evil.example>`], ['250', '5', '5']],
  [
    'a message in BDAT for nobody that is here',
    ['EHLO x.example', MAIL_FROM, 'RCPT TO:<nobody@desk.example>', 'BDAT 7 LAST', 'hello'],
    ['250', '250', '550', '503'],
  ],
]

test.each(ABUSE)('%s is refused, and mail goes on', async (_, lines, codes) => {
  const before = await countRows()
  using dialog = await smtpDialog(desk.port)
  await dialog.read()
  dialog.write(`${lines.join('\r\n')}\r\n`)
  const answers: string[] = []
  for (const _ of codes) answers.push(await dialog.read())
  for (const [index, code] of codes.entries()) expect(answers[index]).toStartWith(code)
  dialog.destroy()
  await deliver(desk.port, {
    to: MAILBOX,
    raw: rawMail({ From: 'ann@customer.example', Subject: 'Still here' }, newId()),
  })
  expect(await countRows()).toEqual({ ledger: before.ledger + 1, tickets: before.tickets + 1 })
})

/** The bytes that went over the wire. */
type Wire = { port: number; sessions: Session[]; close(): void }
type Session = { commands: string[]; messages: Buffer[] }

/** A server that takes everything and keeps the bytes as they came: what a client sends is seen, not what it means. */
async function startWire(): Promise<Wire> {
  const sessions: Session[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    const session: Session = { commands: [], messages: [] }
    sessions.push(session)
    sockets.add(socket)
    let unread: Buffer = Buffer.alloc(0)
    let is_data = false
    socket.on('error', () => {})
    socket.on('data', (bytes: Buffer) => {
      unread = Buffer.concat([unread, bytes])
      for (;;) {
        const end = is_data ? '\r\n.\r\n' : '\r\n'
        const at = unread.indexOf(end)
        if (at < 0) return
        const taken = unread.subarray(0, at)
        unread = unread.subarray(at + end.length)
        if (is_data) session.messages.push(Buffer.concat([taken, Buffer.from('\r\n')]))
        else session.commands.push(taken.toString('latin1'))
        is_data = !is_data && taken.toString() === 'DATA'
        socket.write(is_data ? '354 Go on\r\n' : '250 Ok\r\n')
      }
    })
    socket.write('220 wire.example\r\n')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const bound = server.address()
  const close = () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  return { port: typeof bound === 'object' && bound ? bound.port : 0, sessions, close }
}

const HIDDEN = 'MAIL FROM:<ceo@desk.example>'

test.each<[string, string, string[]]>([
  ['a dot on a line', `one\n.\n${HIDDEN}`, ['one', '.', HIDDEN]],
  ['dots between lines of CRLF', `one\r\n.\r\n${HIDDEN}\r\n..\r\n...`, ['one', '.', HIDDEN, '..', '...']],
  ['lone carriage returns', `one\r.\r${HIDDEN}\rfour`, ['one', '.', HIDDEN, 'four']],
  ['mixed line ends', `one\n.\r\n${HIDDEN}\r.\nfour\r\r\n.\r\r\nfive`, ['one', '.', HIDDEN, '.', 'four', '.', 'five']],
  ['a line of 100 kB', `${'x'.repeat(100_000)}\n.\n${HIDDEN}`, ['x'.repeat(100_000), '.', HIDDEN]],
  ['a long line of dots', '.'.repeat(3000), ['.'.repeat(3000)]],
  ['words beyond ASCII that fill lines', `${'ü'.repeat(2000)}\n.\n${HIDDEN}`, ['ü'.repeat(2000), '.', HIDDEN]],
  ['HTML', `<p>one</p>\n.\n<p>${HIDDEN.replace(/[<>]/g, '')}</p>`, ['one', '.', HIDDEN.replace(/[<>]/g, '')]],
])('%s in an answer leaves whole, as one message', async (_, body, lines) => {
  const ticket = await createTicket(desk.agent)
  const before = messagesOf(wire).length
  await createMessage(desk.agent, ticket.id, { body })
  await drain()
  const [raw, ...others] = messagesOf(wire).slice(before)
  expect(others).toEqual([])
  expectPlainLines(raw!)
  const { text } = await simpleParser(unstuffed(raw!))
  const words = (value: string) => value.split(/\s+/).filter(Boolean)
  expect(words(text!)).toEqual(lines.flatMap(words))
})

test('a file with every line end leaves byte by byte, and its name hides nothing', async () => {
  const content = Buffer.from(`one\n.\n${HIDDEN}\r\n.\r\n\r.\r\0..\r\n${'x'.repeat(100_000)}`)
  const form = formOf(content, `a\r\n.\r\n${HIDDEN}\r\n.txt`)
  const { data: file } = (await desk.agent.post('/attachments', form)).body
  const ticket = await createTicket(desk.agent, { subject: `Printer ${HIDDEN}` })
  const before = messagesOf(wire).length
  await createMessage(desk.agent, ticket.id, { attachment_ids: [file.id] })
  await drain()
  const [raw, ...others] = messagesOf(wire).slice(before)
  expect(others).toEqual([])
  expectPlainLines(raw!)
  const { attachments } = await simpleParser(unstuffed(raw!))
  expect(attachments).toHaveLength(1)
  expect(Buffer.from(attachments[0]!.content).equals(content)).toBe(true)
})

function messagesOf({ sessions }: Wire): Buffer[] {
  return sessions.flatMap(({ messages }) => messages)
}

/** No line end but CRLF, no line over 998 bytes, no dot that a server could take for the end, no command but ours. */
function expectPlainLines(raw: Buffer): void {
  const text = raw.toString('latin1')
  expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/)
  expect(Math.max(...text.split('\r\n').map((line) => line.length))).toBeLessThanOrEqual(998)
  expect(text).not.toMatch(/(^|\r\n)\.(?!\.)/)
  const commands = wire.sessions.flatMap((session) => session.commands).filter((line) => line.startsWith('MAIL'))
  expect(commands.every((line) => line.startsWith(`MAIL FROM:<${MAILBOX}>`))).toBe(true)
}

function unstuffed(raw: Buffer): Buffer {
  return Buffer.from(raw.toString('latin1').replace(/(^|\r\n)\./g, '$1'), 'latin1')
}
