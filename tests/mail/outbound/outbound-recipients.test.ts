/** Recipients whose address is written differently in RCPT: the answer of the server is recorded for each, once. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import ipaddr from 'ipaddr.js'

import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { composeReply } from '../../../src/mail/outbound/compose'
import { sendMail } from '../../../src/mail/outbound/transport'
import { type StartedDesk, smtpTo, startDesk } from '../../support/desk'
import { createMessage } from '../../support/factories'
import { createMailbox, drain, importMail, rawMail } from '../../support/mail'
import { type RawSmtpOptions, startRawSmtp } from '../../support/raw-smtp'

let desk: StartedDesk

beforeAll(async () => {
  desk = await startDesk({ smtp: null })
})
afterAll(() => desk.stop())

type Server = Awaited<ReturnType<typeof startRawSmtp>>

/** The answer to a mail, after the first attempt to send it. */
async function answerTo(server: Server, fields: Record<string, string>) {
  const address = `help.${newId().slice(-12)}@desk.example`
  const mailbox = await createMailbox(desk.admin, { address, is_default: true, smtp: smtpTo(server) })
  const { ticket_id } = await importMail(
    desk.admin,
    mailbox.id,
    rawMail({ To: address, Subject: 'Printer', ...fields }),
  )
  const { id } = await createMessage(desk.agent, ticket_id)
  await drain()
  return read(ticket_id, id)
}

async function read(ticket_id: string, id: string) {
  const { data } = (await desk.agent.get(`/tickets/${ticket_id}/messages/${id}`)).body
  return { ...data, ticket_id, outcomes: data.email_recipients.map(outcomeOf) }
}

function outcomeOf({ email, status, error }: { email: string; status: string; error: string | null }) {
  return [email, status, error]
}

/** Every attempt that there may still be. */
async function drainAll({ id }: { id: string }) {
  await connection().sql`update outbox set run_at = now() where id = ${id}`
  await drain()
}

function startServer(refused?: string, reply = '550 5.1.1 No such user') {
  const answer: RawSmtpOptions['answer'] = (line) => (line === `RCPT TO:<${refused}>` ? reply : undefined)
  return startRawSmtp({ answer })
}

function recipientsOf({ lines }: Server): string[] {
  return lines.flatMap((line) => /^RCPT TO:<(.*)>$/.exec(line)?.[1] ?? [])
}

/** As a mail names them, and as they stand in RCPT. */
const WRITTEN = [
  ['a..b@docomo.test', '"a..b"@docomo.test'],
  ['.a@docomo.test', '".a"@docomo.test'],
  ['a.@docomo.test', '"a."@docomo.test'],
  ['Upper@DOCOMO.Test', 'Upper@docomo.test'],
  ['kauf@bücher.test', 'kauf@xn--bcher-kva.test'],
  ['Info@BÜCHER.test', 'Info@xn--bcher-kva.test'],
] as const

test.each(WRITTEN)('%s gets an answer once', async (address, written) => {
  using server = await startServer()
  const message = await answerTo(server, { From: `<${address}>` })
  expect(recipientsOf(server)).toEqual([written])
  expect(message).toMatchObject({ email_status: 'sent', outcomes: [[address, 'sent', null]] })
  await drainAll(message)
  expect(server.messages).toHaveLength(1)
})

test.each(WRITTEN)('a refusal of %s is theirs alone', async (address, written) => {
  using server = await startServer(written)
  const people = { From: 'ann@customer.test', Cc: `<${address}>, bob..c@docomo.test` }
  const message = await answerTo(server, people)
  expect(message.outcomes).toEqual([
    ['ann@customer.test', 'sent', null],
    [address, 'failed', '550 5.1.1 No such user'],
    ['bob..c@docomo.test', 'sent', null],
  ])
  await drainAll(message)
  expect([server.messages.length, recipientsOf(server).length]).toEqual([1, 3])
})

test('who is refused for now is tried again alone', async () => {
  using server = await startServer('"a..b"@docomo.test', '452 4.2.2 Mailbox full')
  const first = await answerTo(server, { From: 'a..b@docomo.test', Cc: '.a@docomo.test' })
  expect(first.outcomes).toEqual([
    ['a..b@docomo.test', 'queued', '452 4.2.2 Mailbox full'],
    ['.a@docomo.test', 'sent', null],
  ])
  server.answer()
  await drainAll(first)
  expect((await read(first.ticket_id, first.id)).email_recipients.map(outcomeOf)).toEqual([
    ['a..b@docomo.test', 'sent', null],
    ['.a@docomo.test', 'sent', null],
  ])
  expect(recipientsOf(server).slice(2)).toEqual(['"a..b"@docomo.test'])
})

test('all refused are all told', async () => {
  using server = await startRawSmtp({ answer: (line) => (/^RCPT/.test(line) ? '550 5.1.1 No such user' : undefined) })
  const message = await answerTo(server, { From: 'a..b@docomo.test', Cc: 'kauf@bücher.test' })
  expect(message.outcomes).toEqual([
    ['a..b@docomo.test', 'failed', '550 5.1.1 No such user'],
    ['kauf@bücher.test', 'failed', '550 5.1.1 No such user'],
  ])
})

test('every recipient is either accepted or refused, under the address that was given', async () => {
  using server = await startServer('"a."@docomo.test')
  const given = [
    ...WRITTEN.map(([address]) => address),
    'kauf@xn--bcher-kva.test',
    '"a, b"@docomo.test',
    '"a b"@docomo.test',
  ]
  const people = { from: { address: 'help@desk.test' }, to: given.map((address) => ({ address })) }
  const mail = composeReply({ ...people, subject: 'x', code: 'A-1', text: 'x', html: 'x', message_id: '1@a.b' })
  const smtp = { host: '127.0.0.1', port: server.port, security: 'none' } as const
  const { rejected } = await sendMail(smtp, mail, { allowed: [ipaddr.parseCIDR('127.0.0.0/8')] })
  expect(rejected.map(({ address, code }) => [address, code])).toEqual([
    ['"a, b"@docomo.test', 553],
    ['a.@docomo.test', 550],
  ])
  expect(recipientsOf(server)).toEqual([...WRITTEN.map(([, written]) => written), '"a b"@docomo.test'])
})
