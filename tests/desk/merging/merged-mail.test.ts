/** Mail to tickets that were merged or split, and what erasure and export find of them. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { replyAddress } from '../../../src/desk/messages/anchors'
import { NO_SERVER, type StartedDesk, smtpTo, startDesk } from '../../support/desk'
import {
  activityOf,
  createCompany,
  createContact,
  createMessage,
  createTicket,
  hearEvents,
  logTime,
  writtenEvents,
} from '../../support/factories'
import { deliver, importMail, ledgerOf, rawMail, readTicket } from '../../support/mail'

let desk: StartedDesk

beforeAll(async () => {
  desk = await startDesk({ address: 'help@desk.example', smtp: smtpTo(NO_SERVER) })
})
afterAll(() => desk.stop())

type Fields = Record<string, string | undefined>

function mailOf(from: string, fields: Fields = {}, body?: string) {
  const mail = { From: from, To: 'help@desk.example', Subject: 'Printer', Message_ID: `<${newId()}@mail.example>` }
  return rawMail({ ...mail, ...fields }, body)
}

const file = (from: string, fields?: Fields, body?: string) =>
  importMail(desk.admin, desk.mailbox_id, mailOf(from, fields, body))

/** A conversation of a new contact, whose mail refers to another id, with an answer of ours. */
async function converse(contact = `person.${newId().slice(-8)}@${newId()}.example`) {
  const [message_id, ancestor] = [`${newId()}@mail.example`, `${newId()}@mail.example`]
  const row = await file(contact, { Message_ID: `<${message_id}>`, References: `<${ancestor}>` }, `Words of ${contact}`)
  const answer = await createMessage(desk.agent, row.ticket_id)
  const { code } = await readTicket(desk.agent, row.ticket_id)
  const ours: string = answer.email_message_id
  return { contact, message_id, ancestor, id: row.ticket_id as string, code: code as string, ours }
}

async function act(path: string, body?: unknown) {
  const answer = await desk.agent.post(path, body)
  if (answer.status >= 300) throw new Error(`${path} answered ${answer.status} ${answer.text}`)
  return answer.body.data
}

const merge = (target: { id: string }, ...sources: { id: string }[]) =>
  act(`/tickets/${target.id}/merge`, { source_ids: sources.map(({ id }) => id) })
const unmerge = ({ id }: { id: string }) => act(`/tickets/${id}/unmerge`)
const split = (id: string, message_ids: string[], more = {}) => act(`/tickets/${id}/split`, { message_ids, ...more })

describe('mail to a merged ticket', () => {
  const RULES: [string, (ticket: Awaited<ReturnType<typeof converse>>) => Fields][] = [
    ['in_reply_to', ({ ours }) => ({ In_Reply_To: `<${ours}>` })],
    ['in_reply_to', ({ message_id }) => ({ In_Reply_To: `<${message_id}>` })],
    ['references', ({ ancestor }) => ({ References: `<${ancestor}>` })],
    ['message_id', ({ ancestor }) => ({ Message_ID: `<${ancestor}>` })],
    ['reply_tag', ({ id }) => ({ To: replyAddress('help@desk.example', id) })],
    ['subject_code', ({ code }) => ({ Subject: `Re: Printer [${code}]` })],
  ]
  test.each(RULES)('comes to the end of the chain by %s, and reopens it', async (rule, fields) => {
    const [source, middle, target] = [await converse(), await converse(), await converse()]
    await merge(middle, source)
    await merge(target, middle)
    await desk.agent.patch(`/tickets/${target.id}`, { status: 'closed' })
    const given = fields(source)
    const to = given.To ?? 'help@desk.example'
    await deliver(desk.port, { to, raw: mailOf(source.contact, given, 'Since') })
    const [row] = await ledgerOf(desk)
    expect(row).toMatchObject({ outcome: 'message', rule, ticket_id: target.id })
    const { messages, status } = await readTicket(desk.agent, target.id)
    expect([messages.at(-1).body.trim(), messages.at(-1).original_ticket, status]).toEqual(['Since', null, 'open'])
    expect(await readTicket(desk.agent, source.id)).toMatchObject({ status: 'closed', messages: [] })
    await unmerge(source)
    const back = await file(source.contact, { Subject: `[${source.code}]`, In_Reply_To: `<${source.ours}>` })
    expect(back.ticket_id).toBe(source.id)
  })

  test('comes there for a colleague of its contact, and for no stranger', async () => {
    const domain = `${newId()}.example`
    const company = await createCompany(desk.agent, { name: 'Colleagues', domains: [domain] })
    const source = await converse(`one@${domain}`)
    const target = await converse()
    await merge(target, source)
    const row = await file(`two@${domain}`, { Subject: `[${source.code}]` })
    expect(row).toMatchObject({ rule: 'subject_code', ticket_id: target.id })
    expect((await file(`stranger@${newId()}.example`, { Subject: `[${source.code}]` })).rule).toBe('new')
    expect(company.name).toBe('Colleagues')
  })

  test('never comes to a closed source while merges run', async () => {
    const target = await converse()
    const sources = []
    for (let n = 0; n < 6; n++) sources.push(await converse())
    const mails = sources.flatMap((source) =>
      [1, 2, 3].map((n) => file(source.contact, { In_Reply_To: `<${source.ours}>` }, `Late ${n}`)),
    )
    const merges = sources.map((source) => merge(target, source))
    const [rows] = await Promise.all([Promise.all(mails), Promise.all(merges)])
    const { messages } = await readTicket(desk.agent, target.id)
    const ids = new Set(messages.map(({ id }: { id: string }) => id))
    expect(rows.filter(({ message_id }) => !ids.has(message_id))).toEqual([])
    expect(messages.length).toBe(2 + 6 * 2 + 18)
    for (const source of sources) {
      expect(await readTicket(desk.agent, source.id)).toMatchObject({ status: 'closed', messages: [] })
    }
  })
})

describe('a split', () => {
  test('opens a ticket as if the oldest message of a customer had, and a merge undoes it', async () => {
    const old = await converse()
    const other = `other.${newId().slice(-8)}@customer.example`
    const many = Array.from({ length: 19 }, (_, i) => `p${i}@private.example`)
    const row = await file(other, {
      In_Reply_To: `<${old.ours}>`,
      To: 'help@desk.example, boss@private.example',
      Cc: ['friend@private.example', 'help@desk.example', ...many].join(', '),
    })
    await logTime(desk.agent, old.id)
    const note = await createMessage(desk.agent, old.id, { body: 'A note', is_internal: true })
    await hearEvents(desk.scope)
    const began = (await writtenEvents(desk.scope)).length
    const made = await split(old.id, [note.id, row.message_id])
    const contact = await createdContact(other)
    expect(made).toMatchObject({ subject: 'Printer', status: 'open', contact: { id: contact.id }, assignee: null })
    expect(made.split_from).toEqual({ id: old.id, code: old.code })
    const [from, into] = [await readTicket(desk.agent, old.id), await readTicket(desk.agent, made.id)]
    expect(into.messages.map(({ id }: { id: string }) => id)).toEqual([row.message_id, note.id])
    expect(into.messages[0].original_ticket).toBe(null)
    expect([from.messages.length, from.time_entries.length, into.time_entries.length]).toEqual([2, 1, 0])
    const people = (await desk.agent.get(`/tickets/${made.id}/participants?per_page=100`)).body.data
    expect(people.map(({ email }: { email: string }) => email)).toEqual([
      'boss@private.example',
      'friend@private.example',
      ...many,
    ])
    expect(people.filter(({ confirmed }: { confirmed: boolean }) => !confirmed).length).toBe(2)
    const events = (await writtenEvents(desk.scope)).slice(began)
    const ids = [row.message_id, note.id]
    expect(events.map(({ event, data }) => [event, data.id])).toEqual([
      ['ticket.created', made.id],
      ['ticket.split', old.id],
    ])
    expect(events[1].data).toMatchObject({
      new_ticket: { id: made.id, code: made.code, subject: 'Printer' },
      message_ids: ids,
      moved: { message_ids: ids, time_entry_ids: [] },
    })
    const types = (await activityOf(desk.scope, made.id)).map(({ type }) => type)
    expect([...new Set(types)]).toEqual(['created', 'participant_added', 'split'])
    const reply = await file(other, { In_Reply_To: `<${(await ledgerOf(desk))[0].email_message_id}>` })
    expect(reply.ticket_id).toBe(made.id)
    const found = (await desk.agent.get(`/tickets?search="a note"`)).body.data
    expect(found.map(({ id }: { id: string }) => id)).toEqual([made.id])
    await merge(old, made)
    expect((await readTicket(desk.agent, old.id)).messages.length).toBe(5)
  })

  test('without a message of a customer takes what the old ticket has; its messages stay when a merge is undone', async () => {
    const [target, source] = [await converse(), await converse()]
    await act(`/tickets/${source.id}/participants`, { email: 'third@customer.example' })
    const [, answer] = (await readTicket(desk.agent, source.id)).messages
    await merge(target, source)
    const made = await split(target.id, [answer.id], { subject: 'Apart' })
    expect([made.subject, made.contact.email]).toEqual(['Apart', target.contact])
    await unmerge(source)
    expect((await readTicket(desk.agent, source.id)).messages.length).toBe(1)
    expect((await readTicket(desk.agent, made.id)).messages[0].original_ticket).toBe(null)
    const row = await file(source.contact, { In_Reply_To: `<${source.ours}>` })
    expect(row.ticket_id).toBe(made.id)
  })

  test('of messages of another ticket, or of none, is refused and changes nothing', async () => {
    const [old, other] = [await converse(), await converse()]
    const [foreign] = (await readTicket(desk.agent, other.id)).messages
    const [own] = (await readTicket(desk.agent, old.id)).messages
    const before = await desk.agent.get('/tickets?per_page=1')
    for (const [message_ids, code] of [
      [[own.id, foreign.id, 'no id'], 'MESSAGE_NOT_FOUND'],
      [[], 'VALIDATION_ERROR'],
      [undefined, 'VALIDATION_ERROR'],
      [Array(101).fill(own.id), 'VALIDATION_ERROR'],
    ] as const) {
      const answer = await desk.agent.post(`/tickets/${old.id}/split`, { message_ids })
      expect([answer.status, answer.body.error.code]).toEqual([422, code])
      if (code === 'MESSAGE_NOT_FOUND') expect(answer.body.error.details.ids).toEqual([foreign.id, 'no id'])
    }
    expect((await desk.agent.get('/tickets?per_page=1')).body).toEqual(before.body)
  })
})

async function createdContact(email: string) {
  return (await desk.agent.get(`/contacts?email=${email}`)).body.data[0]
}

describe('a person of a merged ticket', () => {
  test.each(['the source', 'the target'] as const)('of %s is exported and erased alone', async (which) => {
    const [target, source] = [await converse(), await converse()]
    const [own, others] = which === 'the source' ? [source, target] : [target, source]
    const entry = await logTime(desk.agent, own.id, { description: 'Work for one' })
    const kept = await logTime(desk.agent, others.id, { description: 'Work for the other' })
    await act(`/tickets/${source.id}/participants`, { email: `third.of.${source.contact}` })
    const word = (contact: string) => contact.split('@')[1]!.split('.')[0]!
    await merge(target, source)
    const contact = await createdContact(own.contact)
    const exported = (await desk.admin.get(`/contacts/${contact.id}/export`)).body
    expect(exported.data.messages.map(({ body }: { body: string }) => body.trim())).toContain(`Words of ${own.contact}`)
    expect(JSON.stringify(exported)).not.toContain(`Words of ${others.contact}`)
    expect(exported.data.time_entries.map(({ id }: { id: string }) => id)).toEqual([entry.id])

    expect((await desk.admin.post(`/contacts/${contact.id}/erase`)).status).toBe(200)
    const { messages } = await readTicket(desk.agent, target.id)
    const texts = messages.map(({ body }: { body: string }) => body.trim())
    expect(texts).toContain(`Words of ${others.contact}`)
    expect(texts).not.toContain(`Words of ${own.contact}`)
    const description = async ({ id }: { id: string }) =>
      (await desk.agent.get(`/time-entries/${id}`)).body.data.description
    expect([await description(entry), await description(kept)]).toEqual([null, 'Work for the other'])
    const people = (await desk.agent.get(`/tickets/${target.id}/participants`)).body.data
    expect(people.length).toBe(which === 'the source' ? 0 : 2)
    const found = async (text: string) => (await desk.agent.get(`/tickets?search="${text}"`)).body.data.length
    expect([await found(word(others.contact)), await found(word(own.contact))]).toEqual([1, 0])
    await unmerge(source)
    expect((await readTicket(desk.agent, own.id)).messages.map(({ body }: { body: string }) => body)).toEqual([
      '[erased]',
      '[erased]',
    ])
  })
})

test('a ticket without a contact is split into one without', async () => {
  const contact = await createContact(desk.agent)
  const ticket = await createTicket(desk.agent, { contact_id: contact.id })
  const note = await createMessage(desk.agent, ticket.id, { body: 'Note', is_internal: true })
  await desk.agent.delete(`/contacts/${contact.id}`)
  expect(await split(ticket.id, [note.id])).toMatchObject({ contact: null, company: null })
})
