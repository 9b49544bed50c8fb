/** International domains: the Punycode spelling (as in mail) and the Unicode spelling are one address. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { createOrganization, type Organization } from '../../support/api'
import { createDesk, NO_SERVER, type StartedDesk, smtpTo, startDesk } from '../../support/desk'
import { activityOf, createCompany, createContact, createMessage, createTicket } from '../../support/factories'
import { deliver, importMail, ledgerOf, rawMail, readTicket } from '../../support/mail'

const PUNYCODE = 'xn--mnchen-3ya.test'
let started: StartedDesk

beforeAll(async () => {
  started = await startDesk()
})
afterAll(() => started.stop())

/** Two spellings of an address, either of which may be known first. */
const PAIRS = [
  ['people, then Punycode', 'kauf@münchen.test', `Kauf@${PUNYCODE}`],
  ['Punycode, then people', `kauf@${PUNYCODE}`, 'Kauf@MÜNCHEN.test'],
  ['capitals, then Punycode', 'kauf@MÜNCHEN.test', `kauf@${PUNYCODE.toUpperCase()}`],
] as const

async function contactsOf({ agent }: Organization, query = ''): Promise<string[]> {
  const { data } = (await agent.get(`/contacts?${query}`)).body
  return data.map(({ email }: { email: string }) => email)
}

describe.each(PAIRS)('%s: a contact', (_, email, other) => {
  test('is not created a second time, and keeps the spelling', async () => {
    const desk = await createOrganization()
    await createContact(desk.agent, { email })
    const answer = await desk.agent.post('/contacts', { name: 'Kauf', email: other })
    expect([answer.status, answer.body.error.code]).toEqual([422, 'EMAIL_ALREADY_EXISTS'])
    expect(answer.body.error.details).toMatchObject({ errors: [{ path: '/email' }] })
    expect(await contactsOf(desk)).toEqual([email])
    await createContact((await createOrganization()).agent, { email: other })
  })

  test('is found by either', async () => {
    const desk = await createOrganization()
    await createContact(desk.agent, { email })
    await createContact(desk.agent, { email: `other@${PUNYCODE}` })
    expect(await contactsOf(desk, `email=${encodeURIComponent(other)}`)).toEqual([email])
  })

  test('gives its address to no other in an update, and may change the spelling', async () => {
    const { agent } = await createOrganization()
    const kauf = await createContact(agent, { email })
    const bob = await createContact(agent)
    const refused = await agent.patch(`/contacts/${bob.id}`, { email: other })
    expect([refused.status, refused.body.error.code]).toEqual([422, 'EMAIL_ALREADY_EXISTS'])
    expect((await agent.get(`/contacts/${bob.id}`)).body.data).toEqual(bob)
    expect((await agent.patch(`/contacts/${kauf.id}`, { email: other })).body.data).toMatchObject({ email: other })
  })
})

test('another local part, or another domain, is another contact', async () => {
  const { agent } = await createOrganization()
  const emails = ['kauf@münchen.test', `käuf@${PUNYCODE}`, 'kauf@munchen.test', 'kauf@sub.münchen.test']
  for (const email of emails) await createContact(agent, { email })
})

/** A desk whose answers stay in the outbox, with functions that file mail and read participants. */
async function openDesk() {
  const desk = await createDesk({ smtp: smtpTo(NO_SERVER) })
  const file = (from: string, fields: Record<string, string> = {}) => {
    const mail = { From: from, To: desk.address, Subject: 'Printer', Message_ID: `<${newId()}@mail.example>` }
    return importMail(desk.admin, desk.mailbox_id, rawMail({ ...mail, ...fields }))
  }
  const participants = async (ticket_id: string) => {
    const { data } = (await desk.agent.get(`/tickets/${ticket_id}/participants`)).body
    return data.map(({ email, confirmed }: { email: string; confirmed: boolean }) => [email, confirmed])
  }
  return { ...desk, file, participants }
}

describe.each(PAIRS)('%s: mail of', (_, email, other) => {
  test('the contact is theirs: it threads by the code, makes its Cc participants, and no contact', async () => {
    const desk = await openDesk()
    const contact = await createContact(desk.agent, { email })
    const ticket = await createTicket(desk.agent, { contact_id: contact.id })
    const fields = { Subject: `Re: [${ticket.code}]`, Cc: 'bob@customer.test', To: `${desk.address}, ${other}` }
    await deliver(started.port, { from: 'kauf@relay.test', to: desk.address, raw: rawMail({ From: other, ...fields }) })
    expect((await ledgerOf(desk))[0]).toMatchObject({ outcome: 'message', rule: 'subject_code', ticket_id: ticket.id })
    const { ours } = await answer(desk, ticket.id)
    await desk.file(other, { In_Reply_To: `<${ours}>`, Cc: 'eve@customer.test' })
    expect(await desk.participants(ticket.id)).toEqual([
      ['bob@customer.test', false],
      ['eve@customer.test', true],
    ])
    expect(await contactsOf(desk)).toEqual([email])
  })

  test("a new conversation is the contact's", async () => {
    const desk = await openDesk()
    const contact = await createContact(desk.agent, { email })
    const { ticket_id } = await desk.file(other)
    expect((await desk.agent.get(`/tickets/${ticket_id}`)).body.data.contact).toMatchObject({ id: contact.id, email })
    expect(await contactsOf(desk)).toEqual([email])
  })

  test('a participant is known by both: confirmed, threaded by the code, and listed once', async () => {
    const desk = await openDesk()
    const contact = await createContact(desk.agent, { email: 'ann@customer.test' })
    const person = await createContact(desk.agent, { email: other })
    const ticket = await createTicket(desk.agent, { contact_id: contact.id })
    const add = (email: string) => desk.agent.post(`/tickets/${ticket.id}/participants`, { email })
    const added = (await add(email)).body.data
    expect(added).toMatchObject({ email, contact_id: person.id, confirmed: true })
    expect((await add(other)).body.data).toEqual(added)
    expect(await desk.file(other, { Subject: ticket.code })).toMatchObject({ outcome: 'ticket' })
    expect(await desk.file(other, { Subject: `[${ticket.code}]` })).toMatchObject({ rule: 'subject_code' })
    await desk.file('ann@customer.test', { Subject: `[${ticket.code}]`, Cc: `${other}, ${email}` })
    expect(await desk.participants(ticket.id)).toEqual([[email, true]])
    const activity = (await activityOf(desk.scope, ticket.id)).filter(({ type }) => type === 'participant_added')
    expect(activity).toHaveLength(1)
  })

  test('who was not confirmed is, when an agent adds the other spelling', async () => {
    const desk = await openDesk()
    const { ticket_id } = await desk.file('ann@customer.test')
    const { ours } = await answer(desk, ticket_id)
    await desk.file(email, { In_Reply_To: `<${ours}>` })
    expect(await desk.participants(ticket_id)).toEqual([[email, false]])
    await desk.agent.post(`/tickets/${ticket_id}/participants`, { email: other })
    expect(await desk.participants(ticket_id)).toEqual([[email, true]])
  })

  test('the contact makes nobody a participant by their own address', async () => {
    const desk = await openDesk()
    const contact = await createContact(desk.agent, { email })
    const ticket = await createTicket(desk.agent, { contact_id: contact.id })
    const { status } = await desk.agent.post(`/tickets/${ticket.id}/participants`, { email: other })
    expect(status).toBe(422)
    const { recipients } = await answer(desk, ticket.id, { cc: [other, 'bob@customer.test', 'BOB@customer.test'] })
    expect(recipients).toEqual([email, 'bob@customer.test'])
  })
})

test('mail of a colleague, linked to the company by hand, threads by the code', async () => {
  const desk = await openDesk()
  const { id: company_id } = await createCompany(desk.agent)
  const contact = await createContact(desk.agent, { company_id })
  await createContact(desk.agent, { email: 'kauf@münchen.test', company_id })
  const ticket = await createTicket(desk.agent, { contact_id: contact.id })
  const row = await desk.file(`kauf@${PUNYCODE}`, { Subject: `[${ticket.code}]` })
  expect(row).toMatchObject({ rule: 'subject_code', ticket_id: ticket.id })
})

test('of two contacts that are there from before, the one with the key is found, and the other stays as it is', async () => {
  const desk = await openDesk()
  const { sql, organization_id } = desk.scope
  const first = await createContact(desk.agent, { email: 'kauf@münchen.test' })
  const second = await createContact(desk.agent, { email: `2kauf@${PUNYCODE}` })
  await sql`
    update contacts set email = substr(email, 2), email_key = email_key || ' ' || id
    where organization_id = ${organization_id} and id = ${second.id}`
  const row = await desk.file(`kauf@${PUNYCODE}`)
  expect((await readTicket(desk.agent, row.ticket_id)).contact.id).toBe(first.id)
  const { body } = await desk.agent.patch(`/contacts/${second.id}`, { email: `kauf@${PUNYCODE}`, name: 'Kauf' })
  expect(body.data).toMatchObject({ email: `kauf@${PUNYCODE}`, name: 'Kauf' })
  expect(await contactsOf(desk, `email=kauf@${PUNYCODE}`)).toEqual(['kauf@münchen.test'])
  expect((await desk.agent.patch(`/contacts/${second.id}`, { email: 'KAUF@münchen.test' })).status).toBe(422)
})

async function answer({ agent }: Organization, ticket_id: string, fields: Record<string, unknown> = {}) {
  const { email_message_id, email_recipients } = await createMessage(agent, ticket_id, fields)
  return { ours: email_message_id, recipients: email_recipients.map(({ email }: { email: string }) => email) }
}
