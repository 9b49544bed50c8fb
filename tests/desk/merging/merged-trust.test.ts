/** Merges carry nothing that was judged for one ticket into another: who gets the answers of the real conversation. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { forgedZone, provenZone, type StartedDesk, startDeskWithDns } from '../../support/desk'
import { createMessage } from '../../support/factories'
import { deliver, drain, ledgerOf, rawMail, readTicket } from '../../support/mail'

/** Domains by what DMARC says of mail from 127.0.0.1 in their name. */
const DOMAINS = { proven: 'passes.example', unknown: 'unknown.example', forged: 'rejects.example' }
type Standing = keyof typeof DOMAINS

let desk: StartedDesk

beforeAll(async () => {
  desk = await startDeskWithDns({ ...provenZone('passes.example'), ...forgedZone('rejects.example') })
})
afterAll(() => desk.stop())

const person = (standing: Standing) => `p.${newId()}@${DOMAINS[standing]}`

/** Delivers a mail; gives its ledger row. */
async function mail(from: string, fields: Record<string, string> = {}) {
  const own = { From: from, To: desk.address, Subject: 'Printer', Message_ID: `<${newId()}@mail.example>` }
  await deliver(desk.port, { from, to: desk.address, raw: rawMail({ ...own, ...fields }) })
  return (await ledgerOf(desk))[0] as { ticket_id: string; message_id: string }
}

async function act(path: string, body?: unknown) {
  const answer = await desk.agent.post(path, body)
  if (answer.status >= 300) throw new Error(`${path} answered ${answer.status} ${answer.text}`)
  return answer.body.data
}

/** Merges a ticket into that of another customer. @returns both, and who takes part there, confirmed or not */
async function mergeIntoReal(source_id: string) {
  const customer = person('proven')
  const { ticket_id } = await mail(customer)
  await act(`/tickets/${ticket_id}/merge`, { source_ids: [source_id] })
  return { customer, ticket_id, people: await peopleOf(ticket_id) }
}

async function peopleOf(ticket_id: string): Promise<Record<string, boolean>> {
  const { data } = (await desk.agent.get(`/tickets/${ticket_id}/participants?per_page=100`)).body
  return Object.fromEntries(
    data.map(({ email, confirmed }: { email: string; confirmed: boolean }) => [email, confirmed]),
  )
}

/** Answers on a ticket. @returns the addresses that get it */
async function answered(ticket_id: string): Promise<string[]> {
  const before = desk.sink.messages.length
  await createMessage(desk.agent, ticket_id)
  await drain()
  return desk.sink.messages.slice(before).flatMap(({ to }) => to)
}

test('whom only an unproven mail names that opened the source is not confirmed by a merge, nor is its contact', async () => {
  for (const standing of ['unknown', 'forged'] as const) {
    const [forger, friend] = [person(standing), `friend.${newId()}@attacker.example`]
    const { ticket_id: source } = await mail(forger, { Cc: friend })
    const { customer, ticket_id, people } = await mergeIntoReal(source)
    expect(people).toEqual({ [forger]: false, [friend]: false })
    expect(await answered(ticket_id)).toEqual([customer])
    expect((await readTicket(desk.agent, ticket_id)).messages.length).toBe(3)
  }
})

test('whom a proven mail names that opened the source is confirmed by a merge, and so is its contact', async () => {
  const [contact, friend] = [person('proven'), `friend.${newId()}@private.example`]
  const { ticket_id: source } = await mail(contact, { Cc: friend })
  const { customer, ticket_id, people } = await mergeIntoReal(source)
  expect(people).toEqual({ [contact]: true, [friend]: true })
  expect((await answered(ticket_id)).toSorted()).toEqual([customer, contact, friend].toSorted())
})

test('whom an agent has added to a ticket that an unproven mail opened stays confirmed in a merge', async () => {
  const [forger, friend, added] = [person('unknown'), `friend.${newId()}@x.example`, `added.${newId()}@x.example`]
  const { ticket_id: source } = await mail(forger, { Cc: friend })
  // The mail has confirmed one of them already.
  for (const email of [friend, added]) await act(`/tickets/${source}/participants`, { email })
  const { people } = await mergeIntoReal(source)
  expect(people).toEqual({ [forger]: false, [friend]: true, [added]: true })
})

test('whom other mail has named, proven or confirmed by itself, stays confirmed in a merge', async () => {
  const [contact, friend, colleague] = [person('unknown'), `f.${newId()}@x.example`, person('proven')]
  const { ticket_id: source } = await mail(contact, { Cc: `${friend}, ${colleague}` })
  const answer = await createMessage(desk.agent, source)
  const later = `later.${newId()}@x.example`
  const references = { In_Reply_To: `<${answer.email_message_id}>` }
  expect((await mail(contact, { ...references, Cc: later })).ticket_id).toBe(source)
  expect((await mail(colleague, references)).ticket_id).toBe(source)
  const { people } = await mergeIntoReal(source)
  expect(people).toEqual({ [contact]: false, [friend]: false, [colleague]: true, [later]: true })
})

test('a ticket that an agent opened brings its contact as a confirmed one, whatever mail came to it', async () => {
  const contact = person('unknown')
  const { body } = await desk.agent.post('/contacts', { name: 'Known', email: contact })
  const source = await act('/tickets', { subject: 'By us', contact_id: body.data.id })
  const answer = await createMessage(desk.agent, source.id)
  await mail(contact, { In_Reply_To: `<${answer.email_message_id}>` })
  const { people } = await mergeIntoReal(source.id)
  expect(people).toEqual({ [contact]: true })
})

test('what an unproven mail names is not confirmed through a split, a chain of merges or their undoing', async () => {
  const [forger, friend, contact] = [person('unknown'), `friend.${newId()}@attacker.example`, person('proven')]
  const { ticket_id: first, message_id } = await mail(forger, { Cc: friend })
  const apart = await act(`/tickets/${first}/split`, { message_ids: [message_id] })
  expect(await peopleOf(apart.id)).toEqual({ [friend]: true })
  const { ticket_id: middle } = await mail(contact)
  await act(`/tickets/${middle}/merge`, { source_ids: [apart.id] })
  const { ticket_id, people } = await mergeIntoReal(middle)
  expect(people).toEqual({ [contact]: true, [forger]: false, [friend]: false })
  await act(`/tickets/${apart.id}/unmerge`)
  expect(await peopleOf(ticket_id)).toEqual({ [contact]: true })
  expect(await peopleOf(apart.id)).toEqual({ [friend]: true })
})

test('the Reply-To of unproven mail that a merge has brought directs no answer', async () => {
  for (const standing of ['unknown', 'proven'] as const) {
    const contact = person(standing)
    const elsewhere = `elsewhere.${newId()}@${DOMAINS[standing]}`
    const { ticket_id: target } = await mail(contact, { Subject: 'Contract' })
    const { ticket_id: source } = await mail(contact, { Reply_To: elsewhere })
    expect(await answered(source)).toEqual([elsewhere])
    await act(`/tickets/${target}/merge`, { source_ids: [source] })
    expect(await answered(target)).toEqual([standing === 'proven' ? elsewhere : contact])
  }
})
