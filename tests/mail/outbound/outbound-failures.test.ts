/** Failing servers: which refusals are tried again, which are final, and that no recipient gets a message twice. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import ipaddr from 'ipaddr.js'
import { simpleParser } from 'mailparser'

import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { takeLease } from '../../../src/delivery/outbox/claim'
import { bounceAddress } from '../../../src/desk/messages/anchors'
import { composeReply } from '../../../src/mail/outbound/compose'
import { sendEmail } from '../../../src/mail/outbound/send'
import type { SendOptions } from '../../../src/mail/outbound/settings'
import { sendMail } from '../../../src/mail/outbound/transport'
import { type StartedDesk, smtpTo, startDesk } from '../../support/desk'
import { activityOf, createContact, createMessage, createTicket, uploadFile } from '../../support/factories'
import { createMailbox, drain } from '../../support/mail'
import { startRawSmtp } from '../../support/raw-smtp'
import { startSmtpSink } from '../../support/smtp'

const allowed = [ipaddr.parseCIDR('127.0.0.0/8')]
let desk: StartedDesk

beforeAll(async () => {
  desk = await startDesk({ smtp: null })
})
afterAll(() => desk.stop())

/** A mailbox that sends to `port`, the default one from now on. */
function mailboxTo(
  { port }: { port: number },
  fields: Record<string, unknown> = {},
  smtp: Record<string, unknown> = {},
) {
  const address = `help.${newId().slice(-12)}@desk.example`
  return createMailbox(desk.admin, { address, is_default: true, smtp: smtpTo({ port }, smtp), ...fields })
}

/** An answer, after the first attempt to send it. */
async function answer(fields: Record<string, unknown> = {}, contact: Record<string, unknown> = {}) {
  const { id: contact_id } = await createContact(desk.agent, contact)
  const ticket = await createTicket(desk.agent, { contact_id })
  const { id } = await createMessage(desk.agent, ticket.id, fields)
  await drain()
  return readMessage(ticket.id, id)
}

async function readMessage(ticket_id: string, id: string) {
  const { data } = (await desk.agent.get(`/tickets/${ticket_id}/messages/${id}`)).body
  return { ...data, ticket_id }
}

/** The next attempt, without the wait. */
async function again({ ticket_id, id }: { ticket_id: string; id: string }) {
  await connection().sql`update lane_faults set try_at = now()`
  await connection().sql`update outbox set run_at = now() where id = ${id}`
  await drain()
  return readMessage(ticket_id, id)
}

async function waitOf({ id }: { id: string }) {
  const [row] = await connection().sql<{ attempts: number; delay_s: number }[]>`
    select attempts, extract(epoch from run_at - now())::float8 as delay_s from outbox where id = ${id}`
  return row
}

function messageIdsOf(messages: string[]): (string | undefined)[] {
  return messages.map((raw) => /^Message-ID:\s*<(.*)>\r$/im.exec(raw)?.[1])
}

describe('a passing failure is tried again by the schedule, with the same Message-ID:', () => {
  const once = (text: string | null, at: RegExp) => {
    let failed = false
    return (line: string) => {
      if (failed || !at.test(line)) return undefined
      failed = true
      return text
    }
  }

  test.each<[what: string, at: RegExp, reply: string | null, error: RegExp]>([
    ['the connection is lost after the end of the message', /^\.$/, null, /closed/],
    ['the connection is lost within the message', /^\.\.$/, null, /closed|reset|EPIPE/i],
    ['the connection is lost at DATA', /^DATA$/, null, /closed/],
    ['451 after the end of the message', /^\.$/, '451 4.7.1 Later', /^451 4\.7\.1 Later$/],
    ['450 to the recipient', /^RCPT/, '450 4.2.0 Greylisted', /^450 4\.2\.0 Greylisted$/],
  ])('%s', async (_, at, reply, error) => {
    using server = await startRawSmtp({ answer: once(reply, at) })
    await mailboxTo(server)
    const file = await uploadFile(desk.agent, 'x'.repeat(300_000), 'large.txt')
    const message = await answer({ attachment_ids: [file.id] })
    expect(message).toMatchObject({
      email_sent: false,
      email_status: 'queued',
      email_error: expect.stringMatching(error),
    })
    const { attempts, delay_s } = (await waitOf(message))!
    expect(attempts).toBe(1)
    expect(delay_s).toBeWithin(40, 67)
    const before = server.messages.length

    expect(await again(message)).toMatchObject({ email_sent: true, email_status: 'sent', email_error: null })
    expect(server.messages).toHaveLength(before + 1)
    expect(new Set(messageIdsOf(server.messages))).toEqual(new Set([message.email_message_id]))
    const sent = (await activityOf(desk.scope, message.ticket_id)).filter(({ type }) => type === 'email_sent')
    expect(sent).toHaveLength(1)
  })
})

test.each([
  ['MAIL', /^MAIL/],
  ['RCPT', /^RCPT/],
  ['DATA', /^DATA$/],
  ['the end of the message', /^\.$/],
])('a 5xx to %s is final at once', async (_, at) => {
  using server = await startRawSmtp({ answer: (line) => (at.test(line) ? '550 5.7.1 Refused' : undefined) })
  await mailboxTo(server)
  const message = await answer()
  expect(message).toMatchObject({ email_sent: false, email_status: 'failed', email_error: '550 5.7.1 Refused' })
  expect(await waitOf(message)).toBeUndefined()
  server.answer()
  await drain()
  expect(server.messages.length).toBeLessThanOrEqual(1)
})

test('a message above the size that the server announces is refused in clear words, unsent', async () => {
  using sink = await startSmtpSink({ max_bytes: 50_000 })
  await mailboxTo(sink)
  const file = await uploadFile(desk.agent, 'x'.repeat(60_000), 'large.txt')
  const message = await answer({ attachment_ids: [file.id] })
  const email_error = '552 5.3.4 The message is larger than the 50000 bytes that the server takes'
  expect(message).toMatchObject({ email_status: 'failed', email_error })
  expect(sink.messages).toHaveLength(0)
})

test('who was refused keeps his answer, and who was not is asked again, when the rest is lost after its end', async () => {
  using server = await startRawSmtp({
    answer: (line, connection) => {
      if (line === 'RCPT TO:<gone@customer.example>') return '550 5.1.1 No such user'
      return line === '.' && connection === 1 ? null : undefined
    },
  })
  await mailboxTo(server)
  const first = await answer({ cc: ['gone@customer.example', 'bob@customer.example'] })
  expect(statusesOf(first)).toEqual(['queued', 'queued', 'queued'])
  const second = await again(first)
  expect(statusesOf(second)).toEqual(['sent', 'failed', 'sent'])
  expect(second.email_recipients[1].error).toBe('550 5.1.1 No such user')
})

test('a process that ends between the 250 and its record sends the message again, with the same Message-ID', async () => {
  using server = await startRawSmtp()
  await mailboxTo(server)
  const ticket = await createTicket(desk.agent)
  const { id } = await createMessage(desk.agent, ticket.id)
  const job = await takeLease(desk.scope, id)
  await sendEmail(job!, connection())
  expect(await readMessage(ticket.id, id)).toMatchObject({ email_status: 'queued' })

  await connection().sql`update outbox set lease_until = now() where id = ${id}`
  await drain()
  const message = await readMessage(ticket.id, id)
  expect(message).toMatchObject({ email_status: 'sent', email_recipients: [{ status: 'sent' }] })
  expect(messageIdsOf(server.messages)).toEqual([message.email_message_id, message.email_message_id])
  const sent = (await activityOf(desk.scope, ticket.id)).filter(({ type }) => type === 'email_sent')
  expect(sent).toHaveLength(1)
})

describe('a kept connection', () => {
  const send = ({ port }: { port: number }, id: string, options: Partial<SendOptions> = {}) => {
    const people = { from: { address: 'a@desk.example' }, to: [{ address: 'ann@customer.example' }] }
    const text = { subject: 'x', code: 'A-1', text: 'x', html: 'x' }
    const mail = composeReply({ ...people, ...text, message_id: id })
    return sendMail({ host: '127.0.0.1', port, security: 'none' }, mail, { allowed, ...options })
  }
  const failure = (sending: Promise<unknown>) => sending.then(() => undefined, String)

  test('serves many messages', async () => {
    using server = await startRawSmtp()
    for (const id of ['1@a.b', '2@a.b', '3@a.b']) await send(server, id)
    expect([server.connections(), messageIdsOf(server.messages)]).toEqual([1, ['1@a.b', '2@a.b', '3@a.b']])
  })

  test('that the server ends before a message sends it over another one, once', async () => {
    const ends = (line: string, connection: number) => (/^MAIL.*/.test(line) && connection === 1 ? null : undefined)
    using server = await startRawSmtp()
    await send(server, '1@a.b')
    server.answer(ends)
    await send(server, '2@a.b')
    expect([server.connections(), messageIdsOf(server.messages)]).toEqual([2, ['1@a.b', '2@a.b']])
  })

  test('that is lost after the end of a message does not send it again by itself', async () => {
    using server = await startRawSmtp()
    await send(server, '1@a.b')
    server.answer((line) => (line === '.' ? null : undefined))
    expect(await failure(send(server, '2@a.b'))).toContain('closed')
    expect(messageIdsOf(server.messages)).toEqual(['1@a.b', '2@a.b'])
  })

  test('serves on after a refusal', async () => {
    using server = await startRawSmtp()
    server.answer((line) => (line === '.' ? '554 5.6.0 Not this' : undefined))
    expect(await failure(send(server, '1@a.b'))).toContain('554 5.6.0')
    server.answer()
    for (const id of ['2@a.b', '3@a.b', '4@a.b']) await send(server, id)
    expect(server.lines).toContain('RSET')
    expect(server.lines).not.toContain('QUIT')
    expect(server.connections()).toBeLessThanOrEqual(2)
  })

  test('on which the server falls silent after the end of a message is given up', async () => {
    using server = await startRawSmtp({ answer: (line) => (line === '.' ? '' : undefined) })
    expect(await failure(send(server, '1@a.b', { timeouts: { silence_ms: 2000 } }))).toContain('timeout: ')
    expect(server.messages).toHaveLength(1)
  })
})

describe('an answer of a server that a database cannot hold', () => {
  test.each([
    ['NUL', '550 5.1.1 a\0b', '550 5.1.1 a\ufffdb'],
    ['half a character, where it is cut', `550 5.1.1 ${'x'.repeat(989)}😀`, `550 5.1.1 ${'x'.repeat(989)}\ufffd`],
  ])('is kept without: %s', async (_, reply, error) => {
    using server = await startRawSmtp({ answer: (line) => (/^RCPT.*bob/.test(line) ? reply : undefined) })
    await mailboxTo(server)
    const { email_status, email_recipients } = await answer({ cc: ['bob@customer.example'] })
    expect([email_status, email_recipients[1]]).toMatchObject(['sent', { status: 'failed', error }])
    expect(server.messages).toHaveLength(1)
  })

  test.each([randomBytes(2000).toString('hex'), 'a\0b'])(
    'does not count as the Message-ID that it gave',
    async (id) => {
      const reply = `250 2.0.0 OK <${id}.prod.outlook.com>`
      using server = await startRawSmtp({ answer: (line) => (line === '.' ? reply : undefined) })
      await mailboxTo(server)
      expect(await answer()).toMatchObject({ email_status: 'sent' })
      expect(server.messages).toHaveLength(1)
    },
  )
})

describe('international addresses', () => {
  const cc = ['jörg@bücher.example', 'bob@bücher.example']

  test('fail alone where the server has no SMTPUTF8, and the others get a message of ASCII', async () => {
    using server = await startRawSmtp()
    await mailboxTo(server)
    const message = await answer({ cc })
    expect(statusesOf(message)).toEqual(['sent', 'failed', 'sent'])
    expect(message).toMatchObject({ email_sent: true, email_status: 'sent' })
    expect(message.email_recipients[1].error).toMatch(/^550 5\.6\.7 .*SMTPUTF8/)
    const commands = server.lines.filter((line) => /^(MAIL|RCPT)/.test(line))
    expect(commands.slice(1)).toEqual([
      `RCPT TO:<${message.email_recipients[0].email}>`,
      'RCPT TO:<bob@xn--bcher-kva.example>',
    ])
    expect([...server.lines, ...server.messages].join('')).not.toMatch(/[\x80-\xff]/)
    const mail = await simpleParser(Buffer.from(server.messages[0]!, 'latin1'))
    expect([mail.cc].flat()[0]?.value).toEqual([{ name: '', address: 'bob@bücher.example' }])
  })

  test('get a message with SMTPUTF8 where the server has it, and the others one without', async () => {
    using server = await startRawSmtp({ extensions: ['SMTPUTF8', '8BITMIME'] })
    const mailbox = await mailboxTo(server)
    const message = await answer({ cc })
    expect(statusesOf(message)).toEqual(['sent', 'sent', 'sent'])
    const lines = server.lines.map((line) => Buffer.from(line, 'latin1').toString())
    expect(lines.filter((line) => line.startsWith('MAIL'))).toEqual([
      expect.not.stringContaining('SMTPUTF8'),
      expect.stringMatching(new RegExp(`^MAIL FROM:<${mailbox.address}> .*SMTPUTF8`)),
    ])
    expect(lines.filter((line) => line.includes('jörg'))).toEqual(['RCPT TO:<jörg@bücher.example>'])
    const mail = await simpleParser(Buffer.from(server.messages[1]!, 'latin1'))
    expect([mail.cc].flat()[0]?.value.map(({ address }) => address)).toEqual(cc)
    expect(new Set(messageIdsOf(server.messages))).toEqual(new Set([message.email_message_id]))
  })

  test('wait with the others while the server cannot be asked', async () => {
    using server = await startRawSmtp({ greeting: '421 4.3.2 Busy' })
    await mailboxTo(server)
    expect(statusesOf(await answer({ cc }))).toEqual(['queued', 'queued', 'queued'])
  })

  test.each(['starttls', 'tls'] as const)('are asked for after encryption, with %s', async (tls) => {
    using sink = await startSmtpSink({ tls, auth: { user: 'u', pass: 'p' } })
    const people = { from: { address: 'a@desk.example' }, to: [{ name: 'Jörg', address: cc[0]! }] }
    const mail = composeReply({ ...people, subject: 'x', code: 'A-1', text: 'x', html: 'x', message_id: '1@a.b' })
    const smtp = { host: 'localhost', port: sink.port, security: tls, username: 'u', password: 'p' }
    const result = await sendMail(smtp, mail, { allowed, ca: sink.ca })
    expect(result.rejected).toEqual([])
    expect((await sink.waitFor(1))[0]).toMatchObject({ to: [cc[0]!], tls: true, parameters: { SMTPUTF8: true } })
  })

  test('of a mailbox are for all that it sends', async () => {
    using server = await startRawSmtp()
    await mailboxTo(server, { address: `hülfe.${newId().slice(-12)}@desk.example`, verp: true })
    const message = await answer()
    expect(message).toMatchObject({ email_status: 'failed', email_error: expect.stringContaining('SMTPUTF8') })
    expect(server.lines.filter((line) => line.startsWith('MAIL'))).toEqual([])
  })

  test('of a mailbox: a domain goes as ASCII, also in the Message-ID', async () => {
    using server = await startRawSmtp()
    const address = `help.${newId().slice(-12)}@bücher.example`
    await mailboxTo(server, { address })
    const message = await answer()
    expect(message).toMatchObject({
      email_status: 'sent',
      email_message_id: expect.stringMatching(/@xn--bcher-kva\.example$/),
    })
    expect(server.messages.join('')).not.toMatch(/[\x80-\xff]/)
    expect(messageIdsOf(server.messages)).toEqual([message.email_message_id])
  })
})

describe('the envelope sender', () => {
  test('names the message when the mailbox wants it, and the header does not', async () => {
    using sink = await startSmtpSink()
    const mailbox = await mailboxTo(sink, { verp: true })
    const message = await answer()
    const [mail] = await sink.waitFor(1)
    expect(mail!.from).toBe(bounceAddress(mailbox.address, message.id))
    expect(mail!.from).toMatch(/^help\.[0-9a-f]{12}\+[0-9a-z]{38}@desk\.example$/)
    expect((await simpleParser(mail!.raw)).from!.value[0]!.address).toBe(mailbox.address)
  })

  test('is the plain address otherwise, and where it leaves no room', async () => {
    using sink = await startSmtpSink()
    const plain = await mailboxTo(sink)
    await answer()
    const long = await mailboxTo(sink, { address: `${newId().slice(0, 30)}@desk.example`, verp: true })
    await answer()
    expect((await sink.waitFor(2)).map(({ from }) => from)).toEqual([plain.address, long.address])
  })
})

function statusesOf(message: { email_recipients: { status: string }[] }): string[] {
  return message.email_recipients.map(({ status }) => status)
}
