/** Mailboxes whose server is at fault: their mail waits without using attempts, and leaves when the server is back. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { claim } from '../../../src/delivery/outbox/claim'
import { endWaits } from '../../../src/delivery/outbox/lane-faults'
import { checkMailboxFaults } from '../../../src/operate/doctor/mailbox-faults'
import { type StartedDesk, smtpTo, startDesk } from '../../support/desk'
import { createContact, createMessage, createTicket } from '../../support/factories'
import { createMailbox, drain, keepDraining } from '../../support/mail'
import { freePort } from '../../support/ports'
import { type RawSmtpOptions, startRawSmtp } from '../../support/raw-smtp'
import { withSettings } from '../../support/settings'
import { startSmtpSink } from '../../support/smtp'

let desk: StartedDesk

beforeAll(async () => {
  desk = await startDesk({ smtp: null })
})
afterAll(() => desk.stop())

/** A mailbox that sends to `port`, the default one from now on. */
function mailboxTo({ port }: { port: number }, smtp: Record<string, unknown> = {}) {
  const address = `help.${newId().slice(-12)}@desk.example`
  return createMailbox(desk.admin, { address, is_default: true, smtp: smtpTo({ port }, smtp) })
}

/** A message that nobody has tried to send. */
async function write(fields: Record<string, unknown> = {}) {
  const { id: contact_id } = await createContact(desk.agent)
  const ticket = await createTicket(desk.agent, { contact_id })
  const { id } = await createMessage(desk.agent, ticket.id, fields)
  return { id, ticket_id: ticket.id }
}

async function read({ ticket_id, id }: { ticket_id: string; id: string }) {
  return (await desk.agent.get(`/tickets/${ticket_id}/messages/${id}`)).body.data
}

async function sendingOf({ id }: { id: string }) {
  return (await desk.admin.get(`/mailboxes/${id}`)).body.data.sending
}

/** Lets the next try of every mailbox take place now. */
async function tryNow() {
  await connection().sql`update lane_faults set try_at = now()`
  await drain()
}

async function rowOf({ id }: { id: string }) {
  const [row] = await connection().sql<{ attempts: number; claims: number; parked: boolean }[]>`
    select attempts, claims, run_at = 'infinity' as parked from outbox where id = ${id}`
  return row
}

async function triesOf({ id }: { id: string }) {
  const [fault] = await connection().sql<{ tries: number; wait_s: number }[]>`
    select tries, extract(epoch from try_at - now())::float8 as wait_s from lane_faults where lane_id = ${id}`
  return fault
}

describe('a fault of the mailbox uses no attempt: the message stays queued with its error, and goes out later,', () => {
  const at = (stage: RegExp, reply: string | null): RawSmtpOptions => {
    return { answer: (line) => (stage.test(line) ? reply : undefined) }
  }
  test.each<[string, RawSmtpOptions, RegExp]>([
    ['greeting of 554', { greeting: '554 5.3.2 No service here' }, /^554 5\.3\.2/],
    ['greeting of 421', { greeting: '421 4.3.2 Busy' }, /^421 4\.3\.2/],
    ['no greeting', { greeting: null }, /closed/],
    ['EHLO and HELO refused', at(/LO/, '550 5.7.1 Not you'), /^550 5\.7\.1/],
    ['a break at MAIL', at(/^MAIL/, null), /closed/],
    ['a break at RCPT', at(/^RCPT/, null), /closed/],
    ['a break at MAIL with PIPELINING', { extensions: ['PIPELINING'], ...at(/^MAIL/, null) }, /closed/],
    ['nonsense at MAIL', at(/^MAIL/, 'What?'), /^protocol: /],
    ['451 at MAIL', at(/^MAIL/, '451 4.7.1 Slow down'), /^451 4\.7\.1/],
    ['530 at MAIL', at(/^MAIL/, '530 5.7.0 Authentication required'), /^530 5\.7\.0/],
    ['421 at RCPT', at(/^RCPT/, '421 4.7.0 Too many'), /^421 4\.7\.0/],
    ['452 4.3.1 at RCPT', at(/^RCPT/, '452 4.3.1 Disk full'), /^452 4\.3\.1/],
    ['421 at DATA', at(/^DATA$/, '421 4.3.2 Going down'), /^421 4\.3\.2/],
    ['451 4.3.0 at the end of the message', at(/^\.$/, '451 4.3.0 Queue down'), /^451 4\.3\.0/],
    ['421 at the end of the message', at(/^\.$/, '421 4.4.2 Too slow'), /^421 4\.4\.2/],
  ])('%s', async (_, options, error) => {
    using server = await startRawSmtp(options)
    const mailbox = await mailboxTo(server)
    const message = await write()
    await drain()
    const email_error = expect.stringMatching(error)
    expect(await read(message)).toMatchObject({ email_status: 'queued', email_error, email_sent: false })
    expect(await rowOf(message)).toMatchObject({ attempts: 0, parked: true })
    const failing_since = expect.any(String)
    expect(await sendingOf(mailbox)).toEqual({ ok: false, error: email_error, failing_since, queued: 1 })

    using sink = await startSmtpSink()
    await desk.admin.patch(`/mailboxes/${mailbox.id}`, { smtp: smtpTo(sink) })
    await drain()
    expect(await read(message)).toMatchObject({ email_status: 'sent', email_error: null })
    expect(sink.messages).toHaveLength(1)
    expect(await sendingOf(mailbox)).toEqual({ ok: true, error: null, failing_since: null, queued: 0 })
  })

  test('a server that nobody listens for, a name that nobody knows, a refused password, an unknown certificate', async () => {
    using tls = await startSmtpSink({ tls: 'starttls' })
    using auth = await startSmtpSink({ auth: { user: 'desk', pass: 'right' } })
    const cases: [Record<string, unknown>, RegExp][] = [
      [{ port: await freePort() }, /^connect: /],
      [{ host: 'mail.nowhere.invalid', port: 25 }, /not found|no server name/],
      [{ port: auth.port, username: 'desk', password: 'wrong' }, /^535/],
      [{ port: tls.port, security: 'starttls' }, /^tls: .*certificate/],
    ]
    for (const [smtp, error] of cases) {
      await mailboxTo({ port: 1 }, smtp)
      const message = await write()
      await drain()
      expect(await read(message)).toMatchObject({ email_status: 'queued', email_error: expect.stringMatching(error) })
      expect((await rowOf(message))!.attempts).toBe(0)
    }
  })
})

describe('while a mailbox is at fault', () => {
  test('one of its messages tries at the delays of the schedule, each time another one, at most 15 minutes apart', async () => {
    using server = await startRawSmtp({ answer: (line) => (/^MAIL/.test(line) ? '451 4.3.0 Down' : undefined) })
    const mailbox = await mailboxTo(server)
    const messages = [await write(), await write(), await write()]
    await drain()
    expect(await triesOf(mailbox)).toMatchObject({ tries: 1 })
    expect((await triesOf(mailbox))!.wait_s).toBeWithin(50, 67)
    const asked = () => server.lines.filter((line) => line.startsWith('RCPT')).length
    for (const [tries, least, most] of [
      [2, 290, 331],
      [3, 890, 901],
      [4, 890, 901],
      [5, 890, 901],
    ] as const) {
      const before = server.lines.filter((line) => line.startsWith('MAIL')).length
      await tryNow()
      expect(server.lines.filter((line) => line.startsWith('MAIL'))).toHaveLength(before + 1)
      const fault = await triesOf(mailbox)
      expect(fault!.tries).toBe(tries)
      expect(fault!.wait_s).toBeWithin(least, most)
    }
    expect(asked()).toBe(0)
    for (const message of messages) expect(await rowOf(message)).toMatchObject({ attempts: 0, parked: true })
    expect((await sendingOf(mailbox)).queued).toBe(3)
  })

  test('a try that succeeds frees all at once, the oldest first', async () => {
    const port = await freePort()
    const mailbox = await mailboxTo({ port })
    const messages = []
    for (let n = 0; n < 5; n++) messages.push(await write({ body: `number ${n}` }))
    await drain()
    using sink = await startSmtpSink({ port })
    await drain()
    expect(sink.messages).toHaveLength(0)
    await tryNow()
    expect(sink.messages).toHaveLength(5)
    for (const message of messages) expect((await read(message)).email_status).toBe('sent')
    expect(await sendingOf(mailbox)).toMatchObject({ ok: true, queued: 0 })
  })

  test('a good test of the mailbox frees all at once, and a bad one nothing', async () => {
    const port = await freePort()
    const mailbox = await mailboxTo({ port })
    const messages = [await write(), await write()]
    await drain()
    expect((await desk.admin.post(`/mailboxes/${mailbox.id}/test`)).body.data.ok).toBe(false)
    for (const message of messages) expect((await rowOf(message))!.parked).toBe(true)
    using sink = await startSmtpSink({ port })
    expect((await desk.admin.post(`/mailboxes/${mailbox.id}/test`)).body.data.ok).toBe(true)
    await drain()
    expect(sink.messages).toHaveLength(2)
  })

  test('a new message is answered at once, queued with the error', async () => {
    const mailbox = await mailboxTo({ port: await freePort() })
    await write()
    await drain()
    const settings = withSettings({ EMAIL_INLINE_WAIT_MS: 60_000 })
    try {
      await using _ = keepDraining()
      const message = await read(await write())
      const expected = { email_sent: false, email_status: 'queued', email_error: expect.stringMatching(/^connect: /) }
      expect(message).toMatchObject(expected)
      expect(await triesOf(mailbox)).toMatchObject({ tries: 1 })
    } finally {
      settings.restore()
    }
  })

  test('what waits is claimed by nobody, and another mailbox of the organization sends', async () => {
    const mailbox = await mailboxTo({ port: await freePort() })
    const waiting = [await write(), await write(), await write()]
    await drain()
    const before = await Promise.all(waiting.map(rowOf))
    using sink = await startSmtpSink()
    await mailboxTo(sink)
    const other = await write()
    await drain()
    await drain()
    expect((await read(other)).email_status).toBe('sent')
    expect(await Promise.all(waiting.map(rowOf))).toEqual(before)
    expect((await sendingOf(mailbox)).queued).toBe(3)
  })

  test('an error of one message shows no address of its recipient on the others', async () => {
    const reply = (line: string) => (/^RCPT/.test(line) ? `451 4.3.0 ${/<(.*)>/.exec(line)![1]}: try later` : undefined)
    using server = await startRawSmtp({ answer: reply })
    const mailbox = await mailboxTo(server)
    const messages = [await write(), await write()]
    await drain()
    const errors = (await Promise.all(messages.map(read))).map((message) => message.email_error)
    expect(errors.filter((error) => error.includes('@'))).toHaveLength(1)
    expect((await sendingOf(mailbox)).error).toBe('451 4.3.0 <[address]>: try later'.replace('<', '').replace('>', ''))
  })

  test('a message that waits for longer than EMAIL_GIVE_UP_SECONDS fails, the others wait on', async () => {
    const mailbox = await mailboxTo({ port: await freePort() })
    const [old, young] = [await write(), await write()]
    await drain()
    await connection().sql`update outbox set queued_at = now() - interval '432001 seconds' where id = ${old.id}`
    await endWaits(connection())
    await drain()
    const email_error = expect.stringMatching(/^connect: /)
    expect(await read(old)).toMatchObject({ email_status: 'failed', email_error })
    expect(await rowOf(old)).toBeUndefined()
    expect(await read(young)).toMatchObject({ email_status: 'queued', email_error })
    expect(await sendingOf(mailbox)).toMatchObject({ ok: false, queued: 1 })
  })

  test('of a server that is away for a day every answer leaves once when it is back', async () => {
    const mailbox = await mailboxTo({ port: await freePort() })
    const messages = []
    for (let count = 0; count < 5; count++) messages.push(await write())
    await drain()
    const { sql } = connection()
    // A try each hour.
    for (let hours = 1; hours <= 24; hours++) {
      await sql`update outbox set queued_at = now() - make_interval(hours => ${hours}) where lane_id = ${mailbox.id}`
      await sql`update lane_faults set failing_since = now() - make_interval(hours => ${hours})`
      await tryNow()
    }
    for (const message of messages) expect(await rowOf(message)).toMatchObject({ attempts: 0, parked: true })
    using sink = await startSmtpSink()
    await desk.admin.patch(`/mailboxes/${mailbox.id}`, { smtp: smtpTo(sink) })
    await drain()
    for (const message of messages) expect(await read(message)).toMatchObject({ email_status: 'sent' })
    const recipients = sink.messages.flatMap(({ to }) => to)
    expect([recipients.length, new Set(recipients).size]).toEqual([5, 5])
  })

  test('the turn of a message that is deleted goes to the next one', async () => {
    const port = await freePort()
    await mailboxTo({ port })
    const [first, second] = [await write(), await write()]
    await drain()
    await connection().sql`update lane_faults set try_at = now()`
    expect((await desk.agent.delete(`/tickets/${first.ticket_id}/messages/${first.id}`)).status).toBe(204)
    await desk.agent.delete(`/tickets/${second.ticket_id}`)
    const third = await write()
    using sink = await startSmtpSink({ port })
    await drain()
    expect(await read(third)).toMatchObject({ email_status: 'sent' })
    await tryNow()
    expect(sink.messages).toHaveLength(1)
  })

  test('a worker that is killed during its try loses nothing: the message tries again when its lease ends', async () => {
    const port = await freePort()
    const mailbox = await mailboxTo({ port })
    const [message, other] = [await write(), await write()]
    await drain()
    await connection().sql`update lane_faults set try_at = now()`
    const { sql } = connection()
    await sql`update outbox set run_at = now() where id = ${message.id}`
    await claim(sql, 'email', desk.scope.organization_id, [{ lane_id: mailbox.id, room: 1 }], newId())
    await sql`
      update lane_faults set tried_id = ${message.id}, try_at = now() + interval '600 s' where lane_id = ${mailbox.id}`
    using sink = await startSmtpSink({ port })
    await drain()
    expect(sink.messages).toHaveLength(0)
    await sql`update outbox set lease_until = now() where id = ${message.id}`
    await drain()
    for (const one of [message, other]) expect((await read(one)).email_status).toBe('sent')
    expect(sink.messages).toHaveLength(2)
  })

  test('a break from DATA on uses an attempt, and does not free the others', async () => {
    let broken = /^MAIL/
    using server = await startRawSmtp({ answer: (line) => (broken.test(line) ? null : undefined) })
    const mailbox = await mailboxTo(server)
    const messages = [await write(), await write()]
    await drain()
    broken = /^DATA$/
    await tryNow()
    expect((await Promise.all(messages.map(rowOf))).map((row) => row!.attempts).sort()).toEqual([0, 1])
    expect(await triesOf(mailbox)).toMatchObject({ tries: 2 })
    expect(await sendingOf(mailbox)).toMatchObject({ ok: false, queued: 2 })
  })
})

test('the doctor names mailboxes at fault with what waits, and organizations whose email was given up', async () => {
  const { sql } = connection()
  await sql`delete from lane_faults`
  await sql`delete from stats`
  expect(await checkMailboxFaults(connection())).toEqual([])
  const mailbox = await mailboxTo({ port: await freePort() })
  await write()
  await drain()
  const { organization_id } = desk.scope
  await sql`
    insert into stats (organization_id, size_s, at, emails_failed) values (${organization_id}, 900, now() - interval '1 hour', 3)`
  const [fault, failed] = (await checkMailboxFaults(connection())).map(({ message }) => message)
  expect(fault).toContain(`${mailbox.address}: 1 waiting since `)
  expect(fault).toContain('connect: ')
  expect(failed).toContain(`3 recipients (organization ${organization_id}: 3)`)
})

test('a mailbox that is switched off keeps its mail without using attempts, and sends it when it is switched on', async () => {
  using sink = await startSmtpSink()
  const mailbox = await mailboxTo(sink)
  const message = await write()
  await desk.admin.patch(`/mailboxes/${mailbox.id}`, { active: false })
  await drain()
  expect(await rowOf(message)).toMatchObject({ attempts: 0, parked: true })
  await desk.admin.patch(`/mailboxes/${mailbox.id}`, { active: true })
  await drain()
  expect(await read(message)).toMatchObject({ email_status: 'sent' })
})

test('mail that waits for a mailbox fails when the mailbox is deleted', async () => {
  const mailbox = await mailboxTo({ port: await freePort() })
  const messages = [await write(), await write()]
  await drain()
  expect((await desk.admin.delete(`/mailboxes/${mailbox.id}`)).status).toBe(204)
  await drain()
  for (const message of messages) {
    expect(await read(message)).toMatchObject({ email_status: 'failed', email_error: 'The mailbox was removed' })
  }
})
