/** The sender of mail whose From is an address of ours, of nobody or of a program, and the address that answers go to. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/db/columns'
import { type StartedDesk, startDesk } from '../../support/desk'
import { createMessage } from '../../support/factories'
import { createMailbox, deliver, drain, ledgerOf, rawMail, readTicket } from '../../support/mail'

let desk: StartedDesk

beforeAll(async () => {
  desk = await startDesk({ address: 'support@desk.example' })
  await createMailbox(desk.admin, { address: 'vertrieb@bücher.example' })
})
afterAll(() => desk.stop())

type Fields = Record<string, string | string[] | undefined>

/** Delivers over SMTP; gives the ledger row. @param from the envelope sender */
async function receive(fields: Fields, from = 'relay@customer.example', to = desk.address) {
  const header = { To: to, Subject: 'Pump', Message_ID: `<${newId()}@mail.example>`, ...fields }
  await deliver(desk.port, { from, to, raw: rawMail(header) })
  return (await ledgerOf(desk))[0]
}

/** The recipients of an answer of the team. */
async function answer(ticket_id: string, fields: Record<string, unknown> = {}) {
  desk.sink.messages.length = 0
  await createMessage(desk.agent, ticket_id, fields)
  await drain()
  return desk.sink.messages.flatMap(({ to }) => to)
}

const IVY = 'Ivy <ivy@visitor.example>'

test.each<[string, Fields, string, { name: string; email: string }]>([
  [
    'a group that rewrites From',
    { From: "'Ivy' via Support <support@desk.example>", X_Original_From: IVY, Reply_To: 'Group <group@lists.example>' },
    'bounces+1@lists.example',
    { name: 'Ivy', email: 'ivy@visitor.example' },
  ],
  [
    'a group that names the writer in Reply-To',
    { From: 'Support <SUPPORT@Desk.Example>', Reply_To: IVY, List_Id: '<support.desk.example>' },
    'support+bnc@desk.example',
    { name: 'Ivy', email: 'ivy@visitor.example' },
  ],
  [
    'a form that writes another mailbox of ours, in Punycode',
    { From: 'Shop <vertrieb@xn--bcher-kva.example>', Reply_To: '"Visitor, Ivy" <ivy@visitor.example>' },
    'www-data@web.desk.example',
    { name: 'Visitor, Ivy', email: 'ivy@visitor.example' },
  ],
  [
    'a form with a tagged address of ours',
    {
      From: 'support+form@desk.example',
      Reply_To: ['support@desk.example', '=?utf-8?Q?Z=C3=B6e?= <zoe@visitor.example>'],
    },
    '',
    { name: 'Zöe', email: 'zoe@visitor.example' },
  ],
  [
    'a list that names the writer in Sender',
    { From: 'support@desk.example', Reply_To: 'support@desk.example', Sender: IVY },
    'support@desk.example',
    { name: 'Ivy', email: 'ivy@visitor.example' },
  ],
  [
    'a copier that only its envelope names',
    { From: 'Scanner <support@desk.example>' },
    'scanner@office.example',
    { name: 'scanner', email: 'scanner@office.example' },
  ],
  [
    'WordPress',
    { From: 'WordPress <wordpress@firm.example>', Reply_To: IVY },
    'web123@host.example',
    { name: 'Ivy', email: 'ivy@visitor.example' },
  ],
  ...[
    'noreply',
    'No-Reply',
    'do_not_reply',
    'donotreply',
    'news-noreply',
    'no.reply+7',
    'keine-antwort',
    'nepasrepondre',
  ].map((word): [string, Fields, string, { name: string; email: string }] => [
    `${word}@`,
    { From: `Shop <${word}@shop.example>`, Reply_To: `\r\n "Ivy"\r\n <ivy@visitor.example>` },
    'bounce@shop.example',
    { name: 'Ivy', email: 'ivy@visitor.example' },
  ]),
  [
    'a machine whose Reply-To is nobody either',
    { From: 'Shop <noreply@shop.example>', Reply_To: 'no-reply@shop.example', Sender: 'news@shop.example' },
    'bounce@shop.example',
    { name: 'news', email: 'news@shop.example' },
  ],
  [
    'a machine that only its envelope names',
    { From: 'noreply@shop.example' },
    'orders@shop.example',
    { name: 'orders', email: 'orders@shop.example' },
  ],
  [
    'a machine whose envelope names one message only',
    { From: 'Shop <noreply@shop.example>' },
    'bounces+123=desk.example@shop.example',
    { name: 'Shop', email: 'noreply@shop.example' },
  ],
  [
    'a person who wants answers elsewhere',
    { From: IVY, Reply_To: 'someone@elsewhere.example', Sender: 'assistant@visitor.example' },
    'relay@visitor.example',
    { name: 'Ivy', email: 'ivy@visitor.example' },
  ],
  [
    'a former address of ours',
    { From: 'help@former.example', X_Forwarded_For: 'help@former.example support@desk.example', Reply_To: IVY },
    'help@former.example',
    { name: 'Ivy', email: 'ivy@visitor.example' },
  ],
  [
    'a person who writes to himself and passes it on',
    { From: 'Max <max@customer.example>', To: 'max@customer.example', Delivered_To: 'max@customer.example' },
    'relay@customer.example',
    { name: 'Max', email: 'max@customer.example' },
  ],
])('the sender in mail of %s is found', async (_, fields, envelope, sender) => {
  const row = await receive(fields, envelope)
  // The null sender of a message that is no answer opens no ticket.
  if (envelope === '') expect(row.from).toEqual(sender)
  else {
    expect(row).toMatchObject({ outcome: 'ticket', from: { email: sender.email }, sender_verified: null })
    const { contact, messages } = await readTicket(desk.agent, row.ticket_id)
    expect({ ...sender, name: 'any' }).toEqual({ email: contact.email, name: 'any' })
    expect(messages[0].sender).toEqual(sender)
  }
})

test('mail from a mailbox of ours that names nobody else has an unknown sender, and no answer goes in a circle', async () => {
  const row = await receive({ From: 'support@desk.example' }, 'support@desk.example')
  expect(row).toMatchObject({ outcome: 'ticket', from: { name: null, email: null } })
  const { contact } = await readTicket(desk.agent, row.ticket_id)
  expect(contact.email).toBe('unknown@sender.invalid')
})

test('an answer to mail that a group passed on reaches its writer', async () => {
  const { ticket_id } = await receive({ From: 'via <support@desk.example>', X_Original_From: IVY, Reply_To: IVY })
  expect(await answer(ticket_id)).toEqual(['ivy@visitor.example'])
})

test('an answer goes to the Reply-To of the same domain, and back to the sender when a later mail has none', async () => {
  const From = `Anna <anna@shop.example>`
  const first = await receive({ From, Reply_To: 'Orders <orders@SHOP.example>', Message_ID: '<r1@shop.example>' })
  const { messages } = await readTicket(desk.agent, first.ticket_id)
  expect(messages[0]).toMatchObject({ sender: { email: 'anna@shop.example' }, reply_to: 'orders@SHOP.example' })
  expect(await answer(first.ticket_id)).toEqual(['orders@shop.example'])
  expect(await answer(first.ticket_id, { cc: ['anna@shop.example'] })).toEqual([
    'orders@shop.example',
    'anna@shop.example',
  ])
  await receive({ From: 'Bob <bob@shop.example>', References: '<r1@shop.example>', Reply_To: 'bob2@shop.example' })
  await receive({
    From,
    References: '<r1@shop.example>',
    Reply_To: 'away@shop.example',
    Auto_Submitted: 'auto-replied',
  })
  expect(await answer(first.ticket_id)).toEqual(['orders@shop.example'])
  await receive({ From, References: '<r1@shop.example>' })
  expect(await answer(first.ticket_id)).toEqual(['anna@shop.example'])
})

test.each([
  ['another domain', 'anna@elsewhere.example', 'anna@elsewhere.example'],
  ['a subdomain', 'anna@mail.shop.example', 'anna@mail.shop.example'],
  ['a domain that ends alike', 'anna@myshop.example', 'anna@myshop.example'],
  ['the sender', 'ANNA@shop.example', null],
  ['a mailbox of ours', 'support@desk.example', null],
  ['nobody', 'noreply@shop.example', null],
])('a Reply-To of %s does not move answers', async (_, Reply_To, shown) => {
  const { ticket_id } = await receive({ From: 'anna@shop.example', Reply_To })
  const { messages } = await readTicket(desk.agent, ticket_id)
  expect(messages[0].reply_to).toBe(shown)
  expect(await answer(ticket_id)).toEqual(['anna@shop.example'])
})

test.each<[string, Fields]>([
  ['X-Forwarded-To', { X_Forwarded_To: 'help@former.example' }],
  ['X-Forwarded-For with both ends', { X_Forwarded_For: 'HELP@former.example support@desk.example' }],
  ['X-Forwarded-For with commas', { X_Forwarded_For: 'help@former.example,\r\n support@desk.example' }],
  ['Delivered-To in brackets', { Delivered_To: '<help@former.example>' }],
  [
    'the last of several Delivered-To',
    { Delivered_To: ['support@desk.example', 'x@y.example', 'Help@Former.example'] },
  ],
])('a former address that %s names is no participant', async (_, fields) => {
  const raw = { From: 'carl@customer.example', To: 'help@former.example, dora@customer.example', ...fields }
  const { ticket_id } = await receive(raw)
  const { data } = (await desk.agent.get(`/tickets/${ticket_id}/participants`)).body
  expect(data.map(({ email }: { email: string }) => email)).toEqual(['dora@customer.example'])
})
