/** The writer of mail with a Reply-To, and who gets the answer: the API tells the recipients of the next email. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { addressKey } from '../../../src/base/address/email'
import { newId } from '../../../src/base/db/columns'
import { type Desk, forgedZone, provenZone, type StartedDesk, startDeskWithDns } from '../../support/desk'
import type { TestDns } from '../../support/dns'
import { createContact, createMessage } from '../../support/factories'
import { deliver, drain, ledgerOf, rawMail, readTicket } from '../../support/mail'

let started: StartedDesk
let dns: TestDns

beforeAll(async () => {
  const judged = await startDeskWithDns({
    ...provenZone('passes.example'),
    ...forgedZone('rejects.example'),
    '_dmarc.lax.example': { TXT: ['v=DMARC1; p=none'] },
    // One suffix says what it is, the other has no record, as that of a country or of a host for everybody.
    '_dmarc.suffix.example': { TXT: ['v=DMARC1; p=none; psd=y'] },
    '_dmarc.dead.unknown.example': 'silent',
  })
  started = judged
  dns = judged.dns
})
afterAll(() => started.stop())

type Fields = Record<string, string | string[] | undefined>

/** Delivers over SMTP; gives the ledger row. */
async function file(desk: Desk, From: string, fields: Fields = {}) {
  const header = { From, To: desk.address, Subject: 'Pump', Message_ID: `<${newId()}@mail.example>`, ...fields }
  const raw = rawMail(header)
  await deliver(started.port, { from: toAscii(From), to: desk.address, raw })
  return (await ledgerOf(desk))[0]
}

function toAscii(address: string): string {
  return addressKey(address.replace(/^.*<|>.*$/g, ''))
}

type Addressee = { email: string }

/** Compares who would get an answer with who gets it. @returns their addresses, the contact's first */
async function answersOf({ agent }: Desk, ticket_id: string): Promise<string[]> {
  const { to, cc } = (await agent.get(`/tickets/${ticket_id}/recipients`)).body.data
  const { email_recipients } = await createMessage(agent, ticket_id)
  expect(email_recipients.map(({ kind, email }: Addressee & { kind: string }) => [kind, email])).toEqual([
    ...to.map(({ email }: Addressee) => ['to', email]),
    ...cc.map(({ email }: Addressee) => ['cc', email]),
  ])
  started.sink.messages.length = 0
  await drain()
  const told = [...to, ...cc].map(({ email }: Addressee) => addressKey(email))
  expect(started.sink.messages.flatMap((one) => one.to.map(addressKey)).toSorted()).toEqual(told.toSorted())
  return told
}

type Mail = {
  From: string
  Reply_To: string | string[]
  more?: Fields
  /** From is an address of a contact. */
  known?: true
  writer: string
  answers: string[]
  verified?: boolean
}

const NULL = 'anna@unknown.example'
const TRUE = 'anna@passes.example'
const FALSE = 'anna@rejects.example'
const EVE = 'eve@elsewhere.example'

const MAILS: Record<string, Mail> = {
  'the same domain, unproven': mail(NULL, 'orders@UNKNOWN.example', NULL, 'orders@unknown.example'),
  'the same domain, proven': { ...mail(TRUE, 'orders@passes.example', TRUE), verified: true },
  'the same domain, forged': { ...mail(FALSE, 'eve@rejects.example', FALSE, FALSE), verified: false },
  'a subdomain by its record': mail('anna@lax.example', 'help@desk.lax.example', 'anna@lax.example'),
  'a domain above by its record': mail('anna@desk.lax.example', 'help@lax.example', 'anna@desk.lax.example'),
  'a subdomain without records': mail(NULL, 'help@desk.unknown.example', 'help@desk.unknown.example'),
  'another domain, a stranger': mail(NULL, EVE, EVE),
  'another domain, a proven stranger': mail(TRUE, EVE, EVE),
  'another domain, a forged stranger': { ...mail(FALSE, EVE, FALSE, FALSE), verified: false },
  'another domain, a contact': { ...mail(NULL, EVE, NULL, NULL), known: true },
  'another domain, a proven contact': { ...mail(TRUE, EVE, TRUE), known: true, verified: true },
  'another domain, a forged contact': { ...mail(FALSE, EVE, FALSE, FALSE), known: true, verified: false },
  'two addresses': mail(NULL, `${EVE}, max@elsewhere.example`, NULL, NULL),
  'two addresses of the same domain': mail(NULL, ['a@unknown.example', 'b@unknown.example'], NULL, NULL),
  'one address twice': mail(NULL, ['orders@unknown.example', 'Orders@Unknown.example'], NULL, 'orders@unknown.example'),
  'a mailbox of ours': mail(NULL, 'US+x', NULL, NULL),
  nobody: mail(NULL, 'no-reply@elsewhere.example', NULL, NULL),
  'an address in To': { ...mail(NULL, EVE, NULL), more: { To: `US, ${EVE}` }, answers: [NULL, EVE] },
  'an address in Cc of the same domain': {
    ...mail(NULL, 'boss@unknown.example', NULL),
    more: { Cc: 'boss@unknown.example' },
    answers: [NULL, 'boss@unknown.example'],
  },
  'the list': { ...mail(NULL, 'team@lists.example', NULL, NULL), more: { List_Id: '<team.lists.example>' } },
  'the writer in mail of a list that is a contact': {
    ...mail('team@lists.example', EVE, EVE),
    more: { List_Id: '<team.lists.example>' },
    known: true,
  },
  'the writer in forged mail of a list': {
    ...mail('team@rejects.example', EVE, EVE),
    more: { Precedence: 'list' },
    verified: false,
  },
  'a visitor of a form that is a contact': { ...mail('mailer@unknown.example', EVE, EVE), known: true },
  'a visitor of a forged form': { ...mail('mailer@rejects.example', EVE, EVE), verified: false },
  'a visitor of a proven form': mail('mailer@passes.example', EVE, EVE),
  'the organization of a form': mail('mailer@lax.example', 'a@mail.lax.example', 'mailer@lax.example'),
  'a visitor of a site in form_senders': { ...mail('hello@site.example', EVE, EVE), known: true },
  'another name below a public suffix': mail('a@one.suffix.example', 'a@two.suffix.example', 'a@two.suffix.example'),
  'a contact, another name below a suffix': {
    ...mail('a@one.suffix.example', 'a@two.suffix.example', 'a@one.suffix.example', 'a@one.suffix.example'),
    known: true,
  },
  'a contact, another name below a suffix without records': {
    ...mail('a@one.free.example', 'a@two.free.example', 'a@one.free.example', 'a@one.free.example'),
    known: true,
  },
  'the suffix itself': {
    ...mail('a@one.suffix.example', 'a@suffix.example', 'a@one.suffix.example', 'a@one.suffix.example'),
    known: true,
  },
  'the domain in Punycode': mail('a@bücher.example', 'b@xn--bcher-kva.example', 'a@bücher.example'),
  'a domain that looks alike': {
    ...mail('a@bücher.example', 'a@bücher.example'.replace('e', 'е'), 'a@bücher.example', 'a@bücher.example'),
    known: true,
  },
  'a domain whose DNS is silent': { ...mail(NULL, 'a@dead.unknown.example', NULL, NULL), known: true },
  'a domain literal': { ...mail(NULL, 'eve@[192.0.2.1]', NULL, NULL), known: true },
}

/** @param answer where it goes, the Reply-To without it */
function mail(From: string, Reply_To: string | string[], writer: string, answer = String(Reply_To)): Mail {
  return { From, Reply_To, writer, answers: [answer] }
}

test.each(Object.entries(MAILS))('a Reply-To of %s has its writer and its answer', async (_, given) => {
  const { From, Reply_To, more, known, writer, answers, verified = null } = given
  const desk = await started.createDesk()
  await desk.admin.patch('/organization', { form_senders: ['hello@site.example'] })
  if (known) await createContact(desk.agent, { email: From })
  const [local, domain] = desk.address.split('@')
  const ours = (value: string) => value.replace('US+x', `${local}+x@${domain}`).replace('US', desk.address)
  const fields = Object.entries({ Reply_To, ...more }).map(([name, value]) => [name, [value ?? []].flat().map(ours)])
  const row = await file(desk, From, Object.fromEntries(fields))
  expect(row).toMatchObject({ outcome: 'ticket', sender_verified: verified })
  const { messages, contact } = await readTicket(desk.agent, row.ticket_id)
  expect([messages[0].sender.email, contact.email]).toEqual([writer, writer])
  expect(await answersOf(desk, row.ticket_id)).toEqual(answers.map(addressKey))
})

/** Mail of a stranger with a ticket, and the id of our answer. */
async function converse(from: string, fields: Fields = {}) {
  const desk = await started.createDesk()
  const id = `<${newId()}@mail.example>`
  const { ticket_id } = await file(desk, from, { Message_ID: id, ...fields })
  const answer = async () => `<${(await createMessage(desk.agent, ticket_id)).email_message_id}>`
  return { desk, ticket_id, id, answer }
}

test('an unproven Reply-To counts until somebody else has written on the ticket', async () => {
  const { desk, ticket_id, id, answer } = await converse(NULL)
  expect((await file(desk, NULL, { In_Reply_To: id, Reply_To: 'b@unknown.example' })).ticket_id).toBe(ticket_id)
  expect(await answersOf(desk, ticket_id)).toEqual(['b@unknown.example'])
  const In_Reply_To = await answer()
  for (const fields of [{ In_Reply_To }, { In_Reply_To: id }]) {
    const row = await file(desk, NULL, { ...fields, Reply_To: 'c@unknown.example' })
    expect(row).toMatchObject({ ticket_id })
    expect(await answersOf(desk, ticket_id)).toEqual([NULL])
  }
})

test.each<[string, (desk: Desk, ticket_id: string, id: string) => Promise<unknown>]>([
  ['a note', (desk, id) => createMessage(desk.agent, id, { is_internal: true })],
  ['an answer that is not sent', (desk, id) => createMessage(desk.agent, id, { send_email: false })],
  ['another person', (desk, _, id) => file(desk, 'bob@unknown.example', { In_Reply_To: id })],
])('an unproven Reply-To does not count after %s', async (_, write) => {
  const { desk, ticket_id, id } = await converse(NULL, { Cc: 'bob@unknown.example' })
  await write(desk, ticket_id, id)
  expect(await file(desk, NULL, { In_Reply_To: id, Reply_To: 'c@unknown.example' })).toMatchObject({ ticket_id })
  expect((await answersOf(desk, ticket_id))[0]).toBe(NULL)
})

test('the Reply-To of the newest proven mail of the contact counts, and goes with the next one without', async () => {
  const { desk, ticket_id, id, answer } = await converse(TRUE)
  const In_Reply_To = await answer()
  await file(desk, TRUE, { In_Reply_To, Reply_To: 'b@passes.example' })
  await file(desk, TRUE, { In_Reply_To, Reply_To: 'c@elsewhere.example' })
  expect(await answersOf(desk, ticket_id)).toEqual(['c@elsewhere.example'])
  await file(desk, 'bob@passes.example', { In_Reply_To, Reply_To: 'd@passes.example' })
  await file(desk, TRUE, { In_Reply_To: id, Reply_To: 'e@passes.example', Auto_Submitted: 'auto-replied' })
  expect(await answersOf(desk, ticket_id)).toEqual(['c@elsewhere.example'])
  await file(desk, TRUE, { In_Reply_To })
  expect(await answersOf(desk, ticket_id)).toEqual([TRUE])
})

test('forged mail of the contact moves no answer', async () => {
  const { desk, ticket_id, answer } = await converse(FALSE)
  await file(desk, FALSE, { In_Reply_To: await answer(), Reply_To: 'eve@rejects.example' })
  expect(await answersOf(desk, ticket_id)).toEqual([FALSE])
})

test('mail of a form that is a contact joins the ticket of the form, and subscribes no visitor', async () => {
  const { desk, ticket_id, id } = await converse('mailer@unknown.example')
  const row = await file(desk, 'mailer@unknown.example', { In_Reply_To: id, Reply_To: `Eve <${EVE}>` })
  expect(row).toMatchObject({ outcome: 'message', ticket_id, from: { name: 'Eve', email: EVE } })
  const { data } = (await desk.agent.get(`/tickets/${ticket_id}/participants`)).body
  expect(data).toMatchObject([{ email: EVE, confirmed: false }])
  expect(await answersOf(desk, ticket_id)).toEqual(['mailer@unknown.example'])
})

test('a stranger who names a customer in Reply-To joins no ticket of the customer, but by an id of ours', async () => {
  const { desk, ticket_id, id, answer } = await converse(NULL)
  const forged = { Reply_To: NULL, Cc: EVE }
  const { code } = await readTicket(desk.agent, ticket_id)
  for (const fields of [{ In_Reply_To: id }, { Subject: `[${code}]` }]) {
    const row = await file(desk, EVE, { ...forged, ...fields })
    expect(row).toMatchObject({ outcome: 'ticket', rule: 'new', sender_verified: null, from: { email: NULL } })
    expect(await answersOf(desk, row.ticket_id)).toEqual([NULL])
  }
  expect(await file(desk, EVE, { ...forged, In_Reply_To: await answer() })).toMatchObject({ ticket_id })
  expect(await answersOf(desk, ticket_id)).toEqual([NULL])
})

test('the name of a contact that a stranger names in Reply-To stays', async () => {
  const desk = await started.createDesk()
  const contact = await createContact(desk.agent, { email: NULL, name: 'Anna' })
  const { ticket_id } = await file(desk, EVE, { Reply_To: `Boss <${NULL}>` })
  expect((await readTicket(desk.agent, ticket_id)).contact.id).toBe(contact.id)
  const { name, emails, updated_at } = contact
  expect((await desk.agent.get(`/contacts/${contact.id}`)).body.data).toMatchObject({ name, emails, updated_at })
})

test('a proven member who asks for answers elsewhere stays the writer of an answer, not of what a form sends', async () => {
  const { desk, ticket_id, answer } = await converse(NULL)
  const member = { email: `max.${newId()}@passes.example` }
  await desk.admin.post('/users', { ...member, name: 'Max', password: 'correct horse battery' })
  const ours = await answer()
  await drain()
  const answered = await file(desk, member.email, { In_Reply_To: ours, Reply_To: EVE })
  expect(answered).toMatchObject({ outcome: 'message', ticket_id, from: { email: member.email } })
  expect((await readTicket(desk.agent, ticket_id)).messages.at(-1)).toMatchObject({ direction: 'outbound' })
  const sent_by_form = await file(desk, member.email, { Reply_To: EVE })
  expect(sent_by_form).toMatchObject({ outcome: 'ticket', from: { email: EVE }, sender_verified: null })
})

test('who is blocked is blocked also as the writer in Reply-To, and nobody is allowed there', async () => {
  const desk = await started.createDesk()
  const rule = (sender: string, action: string) => desk.admin.post('/sender-rules', { sender, action })
  expect((await rule(EVE, 'block')).status).toBe(201)
  expect(await file(desk, NULL, { Reply_To: EVE })).toMatchObject({ outcome: 'spam', spam_by: 'sender_rule' })
  await rule('friend@elsewhere.example', 'allow')
  await rule('unknown.example', 'block')
  expect(await file(desk, NULL, { Reply_To: 'friend@elsewhere.example' })).toMatchObject({ outcome: 'spam' })
})

test('the ledger finds mail by From as well, and erasure of that person takes it', async () => {
  const desk = await started.createDesk()
  const raw = rawMail({ From: NULL, To: desk.address, Reply_To: EVE, Subject: 'Pump', Message_ID: `<${newId()}@x>` })
  await deliver(started.port, { from: 'bounce@relay.example', to: desk.address, raw })
  for (const from of [NULL, '@unknown.example', EVE, 'bounce@relay.example']) {
    expect(await ledgerOf(desk, `&from=${from}`)).toHaveLength(1)
  }
  const { id } = await createContact(desk.agent, { email: NULL })
  expect((await desk.admin.get(`/contacts/${id}/export`)).text).toContain('bounce@relay.example')
  expect((await desk.admin.post(`/contacts/${id}/erase`, {})).status).toBe(200)
  expect(await ledgerOf(desk)).toMatchObject([{ from: { email: null }, envelope_from: null, email_message_id: null }])
})

test('a mailbox of another organization in Reply-To is an address like any other', async () => {
  const [desk, other] = [await started.createDesk(), await started.createDesk()]
  const { ticket_id } = await file(desk, NULL, { Reply_To: other.address })
  expect((await readTicket(desk.agent, ticket_id)).contact.email).toBe(other.address)
})

test('who makes the DNS of a domain fail directs no answer by Reply-To', async () => {
  const desk = await started.createDesk()
  dns.add({ '_dmarc.fails.example': 'fails' })
  await file(desk, 'anna@fails.example', { Reply_To: 'eve@fails.example' })
  for (let checks = 0; checks < 3; checks++) {
    await desk.scope.sql`update outbox set run_at = now() where kind = 'inbound'`
    await drain()
  }
  const [row] = await ledgerOf(desk)
  expect(row).toMatchObject({ outcome: 'ticket', sender_verified: null, from: { email: 'anna@fails.example' } })
  expect(await answersOf(desk, row.ticket_id)).toEqual(['anna@fails.example'])
})

test('a row of before directs answers within the domain of its sender', async () => {
  const { desk, ticket_id } = await converse(NULL, { Reply_To: 'b@unknown.example' })
  const { sql, organization_id } = desk.scope
  await sql`update messages set directs_answers = null where organization_id = ${organization_id}`
  expect(await answersOf(desk, ticket_id)).toEqual(['b@unknown.example'])
  await sql`update messages set reply_to = ${EVE} where organization_id = ${organization_id}`
  expect(await answersOf(desk, ticket_id)).toEqual([NULL])
})
