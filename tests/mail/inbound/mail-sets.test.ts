/** Mail of an organization that is filed together: each message becomes what it would become alone. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { createDesk, type Desk, type StartedDesk, startDesk } from '../../support/desk'
import { startDns } from '../../support/dns'
import { activityOf, createMessage, hearEvents, writtenEvents } from '../../support/factories'
import { drain, fileAsSet, importMail, ledgerOf, rawMail, readTicket } from '../../support/mail'
import { until } from '../../support/service'
import { withSettings } from '../../support/settings'
import { buildMail, sendMail } from '../../support/smtp'
import { changeSchema } from '../../support/triggers'

let shared: StartedDesk

beforeAll(async () => {
  shared = await startDesk()
})
afterAll(() => shared.stop())

type Fields = Record<string, string | undefined>

const CARLA = 'carla@customer.example'

/** Takes messages in this order without filing them. */
async function accept(desk: Desk, ...mails: [fields: Fields, body?: string][]): Promise<void> {
  for (const [fields, body] of mails) {
    const own = { Message_ID: `<${newId()}@customer.example>`, Date: new Date().toUTCString() }
    const raw = rawMail({ From: CARLA, To: desk.address, Subject: 'Printer', ...own, ...fields }, body)
    const { code } = await sendMail({ port: shared.port, from: CARLA, to: desk.address, raw })
    expect(code).toBe(250)
  }
}

/** The ledger in the order of arrival, with what became of each message. */
async function filed(desk: Desk) {
  const rows: { outcome: string; rule: string; ticket_id: string; subject: string }[] = await ledgerOf(desk)
  return rows.toReversed()
}

async function outcomes(desk: Desk) {
  return (await filed(desk)).map(({ outcome, rule }) => [outcome, rule])
}

test('messages of a set become tickets in the order in which they arrived, a new sender one contact', async () => {
  const desk = await createDesk()
  await accept(desk, ...Array.from({ length: 20 }, (_, index): [Fields] => [{ Subject: `Printer ${index}` }]))
  await fileAsSet(desk.id)
  const { data, meta } = (await desk.agent.get('/tickets?per_page=100')).body
  expect(meta.total).toBe(20)
  const oldest = data.toReversed()
  expect(oldest.map(({ subject }: { subject: string }) => subject)).toEqual(
    Array.from({ length: 20 }, (_, index) => `Printer ${index}`),
  )
  expect(oldest.map(({ code }: { code: string }) => Number(code.split('-')[1]))).toEqual(
    Array.from({ length: 20 }, (_, index) => index + 1),
  )
  expect(new Set(data.map((ticket: { contact: { id: string } }) => ticket.contact.id)).size).toBe(1)
  expect((await desk.agent.get('/contacts')).body.meta.total).toBe(1)
})

test('messages too large for one round become tickets in their order, and their answers stay theirs', async () => {
  const desk = await createDesk()
  const [first, last] = [`<${newId()}@customer.example>`, `<${newId()}@customer.example>`]
  const long = 'The printer is out of toner.\n'.repeat(20_000)
  await accept(
    desk,
    [{ Subject: 'One', Message_ID: first }, long],
    [{ Subject: 'Two' }, long],
    [{ Subject: 'Three', Message_ID: last }, long],
    [{ Subject: 'Four' }],
    [{ In_Reply_To: last }],
    [{ In_Reply_To: first }],
  )
  await fileAsSet(desk.id)
  // An answer waits a second for a message that takes long, and is put off then.
  await until('all are filed', async () => {
    await drain()
    return (await outcomes(desk)).every(([outcome]) => outcome !== 'pending')
  })
  const rows = await filed(desk)
  expect(rows.map(({ ticket_id }) => rows.findIndex((row) => row.ticket_id === ticket_id))).toEqual([0, 1, 2, 3, 2, 0])
  const { data } = (await desk.agent.get('/tickets')).body
  expect(data.map(({ subject }: { subject: string }) => subject)).toEqual(['Four', 'Three', 'Two', 'One'])
})

test('replies to each other within a set come to one ticket, and other mail does not', async () => {
  const desk = await createDesk()
  const [first, second] = [`<${newId()}@customer.example>`, `<${newId()}@customer.example>`]
  await accept(
    desk,
    [{ Message_ID: first, Cc: 'dora@customer.example' }, 'One'],
    [{ Subject: 'Toner' }],
    [{ Message_ID: second, In_Reply_To: first, From: 'dora@customer.example' }, 'Two'],
    [{ In_Reply_To: second, References: first }, 'Three'],
  )
  await fileAsSet(desk.id)
  const rows = await filed(desk)
  expect(rows.map(({ outcome, rule }) => [outcome, rule])).toEqual([
    ['ticket', 'new'],
    ['ticket', 'new'],
    ['message', 'in_reply_to'],
    ['message', 'in_reply_to'],
  ])
  const { messages } = await readTicket(desk.agent, rows[0]!.ticket_id)
  expect(messages.map(({ body }: { body: string }) => body.trim())).toEqual(['One', 'Two', 'Three'])
  expect(rows.map(({ ticket_id }) => ticket_id === rows[0]!.ticket_id)).toEqual([true, false, true, true])
})

test('an original that arrived after its reply joins the ticket of the reply, within a set too', async () => {
  const desk = await createDesk()
  const original = `<${newId()}@customer.example>`
  await accept(desk, [{ In_Reply_To: original }], [{ Message_ID: original }])
  await fileAsSet(desk.id)
  expect(await outcomes(desk)).toEqual([
    ['ticket', 'new'],
    ['message', 'message_id'],
  ])
})

test('a message that is in a set more than once is filed once, with or without a Message-ID', async () => {
  const desk = await createDesk()
  const [once, never] = [{ Message_ID: `<${newId()}@customer.example>`, Date: 'Sun, 22 Nov 2026 09:00:00 +0000' }, {}]
  const nameless = { Message_ID: undefined, Date: 'Sun, 22 Nov 2026 10:00:00 +0000' }
  await accept(desk, [once], [nameless], [never], [once], [nameless], [once])
  await fileAsSet(desk.id)
  expect((await outcomes(desk)).map(([outcome]) => outcome)).toEqual([
    'ticket',
    'ticket',
    'ticket',
    'duplicate',
    'duplicate',
    'duplicate',
  ])
})

test('messages of a set to one ticket, by whatever leads there, follow each other, and reopen it once', async () => {
  const desk = await shared.createDesk()
  const root = `<${newId()}@customer.example>`
  await accept(desk, [{ Message_ID: root }])
  await fileAsSet(desk.id)
  const { ticket_id } = (await filed(desk))[0]!
  const { code } = await readTicket(desk.agent, ticket_id)
  const ours = await createMessage(desk.agent, ticket_id)
  await desk.agent.patch(`/tickets/${ticket_id}`, { status: 'resolved' })
  await hearEvents(desk.scope)
  await accept(
    desk,
    [{ Subject: `[${code}] Printer` }, 'One'],
    [{ In_Reply_To: root }, 'Two'],
    [{ Cc: 'dora@customer.example', References: `<${ours.email_message_id}>` }, 'Three'],
  )
  await fileAsSet(desk.id)
  const ticket = await readTicket(desk.agent, ticket_id)
  expect(ticket.status).toBe('open')
  const bodies = ticket.messages.slice(2).map(({ body }: { body: string }) => body.trim())
  expect(bodies).toEqual(['One', 'Two', 'Three'])
  expect((await writtenEvents(desk.scope)).map(({ event }) => event)).toEqual([
    'message.created',
    'ticket.updated',
    'ticket.status_changed',
    'message.created',
    'message.created',
  ])
  const types = (await activityOf(desk.scope, ticket_id)).map(({ type }: { type: string }) => type)
  expect(types.filter((type: string) => type === 'participant_added')).toHaveLength(1)
})

test('a message that cannot be written is alone in being put off: the others of its set are filed in their order', async () => {
  const desk = await createDesk()
  const { sql } = connection()
  const attachments = [{ filename: 'a.txt', content: newId() }]
  await accept(desk, ...Array.from({ length: 5 }, (_, index): [Fields] => [{ Subject: `Printer ${index}` }]))
  const poison = await buildMail({ from: CARLA, subject: 'Poison', text: 'Hello', attachments })
  await sendMail({ port: shared.port, from: CARLA, to: desk.address, raw: poison })
  await accept(desk, ...Array.from({ length: 5 }, (_, index): [Fields] => [{ Subject: `Printer ${index + 5}` }]))
  await sql`alter table tickets add constraint refuse check (subject <> 'Poison') not valid`
  try {
    await fileAsSet(desk.id)
  } finally {
    await sql`alter table tickets drop constraint refuse`
  }
  const { data } = (await desk.agent.get('/tickets?per_page=100')).body
  expect(data.toReversed().map(({ subject }: { subject: string }) => subject)).toEqual(
    Array.from({ length: 10 }, (_, index) => `Printer ${index}`),
  )
  const left = await sql`
    select attempts, lease_token, run_at > now() as is_later from outbox where organization_id = ${desk.id}`
  expect(left).toMatchObject([{ attempts: 1, lease_token: null, is_later: true }])
  const uploads = await sql`select from attachments where organization_id = ${desk.id}`
  expect(uploads).toHaveLength(0)
  await sql`update outbox set run_at = now() where organization_id = ${desk.id}`
  await fileAsSet(desk.id)
  expect((await filed(desk)).map(({ outcome }) => outcome)).toEqual(Array(11).fill('ticket'))
})

test('a message that runs into a time limit again and again is put off, and mail behind it is filed', async () => {
  const desk = await createDesk()
  const { sql } = connection()
  await accept(desk, [{ Subject: 'Slow' }], [{}])
  await changeSchema(
    `create function end_slow() returns trigger language plpgsql as $$
      begin raise exception using errcode = '57014', message = 'too slow'; end $$`,
    `create trigger end_slow before insert on tickets for each row when (new.subject = 'Slow')
      execute function end_slow()`,
  )
  try {
    await fileAsSet(desk.id)
  } finally {
    await changeSchema('drop function end_slow cascade')
  }
  expect((await outcomes(desk)).map(([outcome]) => outcome)).toEqual(['pending', 'ticket'])
  const left = await sql`
    select attempts, lease_token, run_at > now() as is_later from outbox where organization_id = ${desk.id}`
  expect(left).toMatchObject([{ attempts: 1, lease_token: null, is_later: true }])
})

test('a message whose subject is cut within a character in the ledger is filed', async () => {
  const desk = await createDesk()
  await accept(desk, [{ Subject: `${'x'.repeat(900)}\r\n ${'x'.repeat(98)}😀` }], [{}])
  await fileAsSet(desk.id)
  expect((await outcomes(desk)).map(([outcome]) => outcome)).toEqual(['ticket', 'ticket'])
})

test('mail of two organizations is filed for each by itself, also when one of them cannot be written', async () => {
  const [desk, other] = [await createDesk(), await createDesk()]
  const same = { Message_ID: `<${newId()}@customer.example>`, Date: 'Sun, 22 Nov 2026 09:00:00 +0000' }
  await accept(desk, [same], [{ In_Reply_To: same.Message_ID }])
  await accept(other, [same], [{ In_Reply_To: same.Message_ID }])
  const { sql } = connection()
  await sql`alter table tickets add constraint refuse check (organization_id <> ${sql.unsafe(`'${other.id}'`)}) not valid`
  try {
    await Promise.all([fileAsSet(desk.id), fileAsSet(other.id)])
  } finally {
    await sql`alter table tickets drop constraint refuse`
  }
  expect((await outcomes(desk)).map(([outcome]) => outcome)).toEqual(['ticket', 'message'])
  expect((await outcomes(other)).map(([outcome]) => outcome)).toEqual(['pending', 'pending'])
  await sql`update outbox set run_at = now() where organization_id = ${other.id}`
  await drain()
  expect((await outcomes(other)).map(([outcome]) => outcome)).toEqual(['ticket', 'message'])
})

test('a report about an email of ours is recorded beside the mail of its set', async () => {
  const desk = await shared.createDesk()
  await accept(desk, [{}])
  await fileAsSet(desk.id)
  const { ticket_id } = (await filed(desk))[0]!
  const ours = await createMessage(desk.agent, ticket_id)
  await drain()
  const report = { From: 'MAILER-DAEMON@customer.example', In_Reply_To: `<${ours.email_message_id}>` }
  await accept(desk, [{ Subject: 'Toner' }], [{ Subject: 'Paper' }])
  const raw = rawMail({ ...report, To: desk.address, Subject: 'Undelivered', Message_ID: `<${newId()}@mx.example>` })
  await sendMail({ port: shared.port, from: '', to: desk.address, raw })
  await fileAsSet(desk.id)
  expect((await outcomes(desk)).map(([outcome]) => outcome)).toEqual(['ticket', 'ticket', 'ticket', 'bounce'])
})

test('each message of a set makes the events and entries that it makes alone', async () => {
  const desk = await createDesk()
  await hearEvents(desk.scope)
  await accept(desk, [{ Cc: 'dora@customer.example' }], [{ From: 'emil@customer.example' }])
  await fileAsSet(desk.id)
  expect((await writtenEvents(desk.scope)).map(({ event }) => event)).toEqual([
    'contact.created',
    'contact.created',
    'ticket.created',
    'message.created',
    'ticket.created',
    'message.created',
  ])
  const rows = await filed(desk)
  const types = await Promise.all(
    rows.map(async ({ ticket_id }) =>
      (await activityOf(desk.scope, ticket_id)).map(({ type }: { type: string }) => type).toSorted(),
    ),
  )
  expect(types).toEqual([
    ['created', 'message', 'participant_added'],
    ['created', 'message'],
  ])
})

test('a message whose sender is looked up slowly does not hold up the others, not even the next one', async () => {
  using dns = await startDns({ 'slow.example': 'silent', '_dmarc.slow.example': 'silent' })
  using _ = withSettings({ DNS_SERVERS: [dns.address] })
  const desk = await createDesk()
  await accept(desk, [{ From: 'ann@slow.example' }], [{}], [{}])
  const draining = drain()
  await until('the others are filed', async () =>
    (await outcomes(desk)).every(([outcome], index) => index === 0 || outcome === 'ticket'),
  )
  expect((await outcomes(desk))[0]![0]).toBe('pending')
  await draining
  for (const _ of ['a minute', 'four', 'five']) {
    await connection().sql`update outbox set run_at = now() where organization_id = ${desk.id}`
    await drain()
  }
  expect((await outcomes(desk))[0]![0]).toBe('ticket')
})

const repeated = (number: number, id = '<again@customer.example>'): [Fields, string] => [
  { Message_ID: id, Date: 'Sat, 21 Nov 2026 10:00:00 +0000' },
  `Text ${number}`,
]

test('of repeats in a set, and in two at once, as many are filed as of those that come alone', async () => {
  const desk = await createDesk()
  await accept(desk, ...Array.from({ length: 19 }, (_, number) => repeated(number)))
  await fileAsSet(desk.id)
  const ids = ['<2@customer.example>', '<3@customer.example>', '<4@customer.example>']
  await accept(desk, ...ids.map((id) => repeated(0, id)))
  await fileAsSet(desk.id)
  expect((await outcomes(desk)).map(([outcome]) => outcome)).toEqual([
    'ticket',
    ...Array(18).fill('message'),
    ...Array(3).fill('ticket'),
  ])
  const [mailbox] = (await desk.admin.get('/mailboxes')).body.data
  const imports = ids.map((id, number) => {
    const [fields, body] = repeated(number + 1, id)
    return importMail(desk.admin, mailbox.id, rawMail({ From: CARLA, To: desk.address, ...fields }, body))
  })
  await accept(desk, ...ids.map((id, number) => repeated(number + 10, id)))
  await Promise.all([fileAsSet(desk.id), ...imports])
  const rows = await filed(desk)
  expect(rows.filter(({ outcome }) => outcome === 'message')).toHaveLength(20)
  expect(rows.filter(({ outcome }) => outcome === 'spam')).toHaveLength(4)
})

test('of repeats in a set that have several ids as many are filed', async () => {
  const desk = await createDesk()
  await accept(desk, ...Array.from({ length: 20 }, (_, number) => repeated(number)))
  const ids = ['<2@customer.example>', '<3@customer.example>']
  await accept(desk, ...ids.map((id) => repeated(0, id)), repeated(20), repeated(1, ids[0]), repeated(1, ids[1]))
  await fileAsSet(desk.id)
  const rows = await filed(desk)
  expect(['ticket', 'message', 'spam'].map((kind) => rows.filter(({ outcome }) => outcome === kind).length)).toEqual([
    3, 20, 2,
  ])
})
