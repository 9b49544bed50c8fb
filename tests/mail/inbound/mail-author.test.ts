/**
 * The sender of mail whose From is an address of ours, of nobody or of a program, and the address that answers go to.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { type StartedDesk, startDesk } from '../../support/desk'
import { createContact, createMessage } from '../../support/factories'
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
    'a form of Google that rewrites From',
    { From: 'Ivy <support@desk.example>', X_Google_Original_From: IVY },
    'support@desk.example',
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
  expect(row).toMatchObject({ outcome: 'ticket', from: { email: sender.email }, sender_verified: null })
  const { contact, messages } = await readTicket(desk.agent, row.ticket_id)
  expect({ ...sender, name: 'any' }).toEqual({ email: contact.email, name: 'any' })
  expect(messages[0].sender).toEqual(sender)
})

test.each<[string, Fields, { name: string; email: string }]>([
  ...['mailer', 'form', 'Forms', 'form-submission', 'webform', 'notification', 'notifications', 'notify'].map(
    (word): [string, Fields, { name: string; email: string }] => [
      `${word}@`,
      { From: `Shop <${word}@shop.example>`, Reply_To: IVY },
      { name: 'Ivy', email: 'ivy@visitor.example' },
    ],
  ),
  [
    'a form that writes the name into From',
    { From: 'Ivy Visitor <mailer@shop.example>', Reply_To: 'ivy@visitor.example' },
    { name: 'Ivy Visitor', email: 'ivy@visitor.example' },
  ],
  [
    'a list that puts its address into From',
    { From: 'Ivy via Team <team@lists.example>', Reply_To: `Team <team@lists.example>, ${IVY}` },
    { name: 'Ivy', email: 'ivy@visitor.example' },
  ],
  [
    'a list that is marked',
    { From: 'Team <team@lists.example>', Reply_To: IVY, Precedence: 'list' },
    { name: 'Ivy', email: 'ivy@visitor.example' },
  ],
])('the visitor in Reply-To wrote mail of %s, is not verified, and gets the answer', async (_, fields, sender) => {
  const row = await receive(fields, 'bounces@shop.example')
  expect(row).toMatchObject({ outcome: 'ticket', from: sender, sender_verified: null })
  const { contact, messages } = await readTicket(desk.agent, row.ticket_id)
  expect([contact.email, messages[0].sender]).toEqual([sender.email, sender])
  expect(await answer(row.ticket_id)).toEqual([sender.email])
})

test.each<[string, Fields]>([
  ['of the domain of the form', { From: 'mailer@shop.example', Reply_To: 'orders@SHOP.example' }],
  ['of nobody', { From: 'mailer@shop.example', Reply_To: 'noreply@visitor.example' }],
  ['of a mailbox of ours', { From: 'mailer@shop.example', Reply_To: 'support@desk.example' }],
  ['in mail of an address that only begins alike', { From: 'formsby@shop.example', Reply_To: IVY }],
  [
    'that List-Post names',
    { From: 'a@shop.example', Reply_To: 'x@l.example', List_Id: 'y', List_Post: '<mailto:x@l.example>' },
  ],
  ['that List-Id names', { From: 'a@shop.example', Reply_To: 'team@l.example', List_Id: 'Team <team.l.example>' }],
  [
    'to which a list was written',
    { From: 'a@shop.example', Reply_To: 'team@l.example', Precedence: 'list', To: 'team@l.example' },
  ],
])('a Reply-To %s is not the writer of mail of a contact', async (_, fields) => {
  await desk.agent.post('/contacts', { name: 'Shop', email: fields.From })
  const row = await receive(fields, 'bounces@shop.example')
  expect(row.from.email).toBe(fields.From as string)
})

test('the name of a form does not show the address of somebody else for the visitor', async () => {
  const row = await receive({ From: '"form@shop.example Shop" <form@shop.example>', Reply_To: 'eve@attacker.example' })
  expect(row.from).toEqual({ name: 'Shop', email: 'eve@attacker.example' })
})

test('mail of the form senders of the organization is by the address in Reply-To, that of other contacts is not', async () => {
  await desk.admin.patch('/organization', { form_senders: ['Hello@Site.example', 'wix.example'] })
  const senderOf = async (From: string) => (await receive({ From, Reply_To: IVY })).from.email
  for (const from of ['hello@site.example', 'a@wix.example', 'a@crm.wix.example']) {
    expect(await senderOf(from)).toBe('ivy@visitor.example')
  }
  for (const from of ['a@site.example', 'a@notwix.example', 'a@wix.example']) {
    await createContact(desk.agent, { email: from })
    expect(await senderOf(from)).toBe(from === 'a@wix.example' ? 'ivy@visitor.example' : from)
  }
  await desk.admin.patch('/organization', { form_senders: [] })
  expect(await senderOf('a@wix.example')).toBe('a@wix.example')
})

test('who names a customer in Reply-To joins no ticket of the customer, and makes nobody a participant', async () => {
  const first = await receive({ From: IVY, Message_ID: '<first@visitor.example>' })
  const { code } = await readTicket(desk.agent, first.ticket_id)
  const forged = { From: 'Ivy via Team <eve@attacker.example>', Reply_To: IVY, Cc: 'eve@attacker.example' }
  for (const fields of [{ In_Reply_To: '<first@visitor.example>' }, { Subject: `[${code}]` }]) {
    const row = await receive({ ...forged, ...fields }, 'eve@attacker.example')
    expect(row).toMatchObject({ outcome: 'ticket', rule: 'new', sender_verified: null })
    expect(await answer(row.ticket_id)).toEqual(['ivy@visitor.example'])
  }
  const { email_message_id } = await createMessage(desk.agent, first.ticket_id)
  const held = await receive({ ...forged, In_Reply_To: `<${email_message_id}>` }, 'eve@attacker.example')
  expect(held).toMatchObject({ outcome: 'message', ticket_id: first.ticket_id })
  expect(await answer(first.ticket_id)).toEqual(['ivy@visitor.example'])
})

test('mail from a mailbox of ours that names nobody else has an unknown sender, and no answer goes in a circle', async () => {
  const row = await receive({ From: 'support@desk.example' }, 'support@desk.example')
  expect(row).toMatchObject({ outcome: 'ticket', from: { name: null, email: null } })
  const { contact } = await readTicket(desk.agent, row.ticket_id)
  expect(contact).toBeNull()
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
