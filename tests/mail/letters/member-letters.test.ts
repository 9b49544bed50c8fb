/** Members are told of tickets by mail: each of what is theirs, once, and never of what they did themselves. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { readLetterAnchor } from '../../../src/desk/messages/anchors'
import type { Client } from '../../support/api'
import { type Desk, type StartedDesk, startDesk } from '../../support/desk'
import { createContact, createMessage, createTicket } from '../../support/factories'
import { deliver, drain, ledgerOf, rawMail, readTicket } from '../../support/mail'
import { answerAddress, lettersTo, passTime, wants } from '../../support/member-letters'

let started: StartedDesk
let desk: Desk

beforeAll(async () => {
  started = await startDesk()
})
beforeEach(async () => {
  desk = await started.createDesk()
})
afterAll(() => started.stop())

/** A ticket of the agent's, of which nobody was told yet. */
async function ownTicket(): Promise<string> {
  const { id } = await createTicket(desk.agent, { assignee_id: desk.agent.user_id, subject: 'Pump leaks' })
  return id
}

/** Mail of the contact of a ticket. */
async function writes(ticket_id: string, body: string, fields: Record<string, string> = {}): Promise<void> {
  const { contact, code } = await readTicket(desk.agent, ticket_id)
  const raw = rawMail(
    { From: contact.email, To: desk.address, Subject: `[${code}]`, Message_ID: `<${newId()}@x>`, ...fields },
    body,
  )
  await deliver(started.port, { from: contact.email, to: desk.address, raw })
}

const letters = (client: Client = desk.agent) => lettersTo(started, client.email)

test('who gets a ticket is told at once, with its subject and a link', async () => {
  await wants(desk.agent, 'assigned')
  const { id, code } = await createTicket(desk.admin, { subject: 'Pump: see evil.example\u2028now' })
  await desk.admin.patch(`/tickets/${id}`, { assignee_id: desk.agent.user_id })
  const [letter, ...others] = await letters()
  expect(others).toEqual([])
  expect(letter!.subject).toBe(`${code}: Pump: see evil. example now`)
  expect(letter!.text).toContain(`/#/${desk.id}/tickets/${id}`)
  expect(letter!.headers.get('auto-submitted')).toBe('auto-generated')
  expect(answerAddress(letter!)).toStartWith(desk.address.split('@')[0]!)
  for (const anchor of [answerAddress(letter!), letter!.messageId!.slice(1, -1)]) {
    expect(readLetterAnchor(anchor)).toEqual({ ticket_id: id, is_about_note: false })
  }
})

test('nobody is told of an own act', async () => {
  await wants(desk.agent, 'assigned', 'mentioned', 'new_unassigned', 'reply_on_mine')
  const id = await ownTicket()
  await createTicket(desk.agent)
  await createMessage(desk.agent, id, { is_internal: true, mention_user_ids: [desk.agent.user_id] })
  await createMessage(desk.agent, id)
  await createContact(desk.agent, { email: desk.agent.email })
  await deliver(started.port, { to: desk.address, raw: rawMail({ From: desk.agent.email, To: desk.address }) })
  expect(await letters()).toEqual([])
})

test('a note tells those that it names, a reply of the customer the assignee', async () => {
  await Promise.all([wants(desk.agent, 'reply_on_mine'), wants(desk.admin, 'mentioned')])
  const id = await ownTicket()
  await createMessage(desk.agent, id, { body: 'Look, Ada', is_internal: true, mention_user_ids: [desk.admin.user_id] })
  await writes(id, 'It <b>drips</b>, see below.')
  expect((await letters()).map(({ text }) => text)).toEqual([expect.stringContaining('> It <b>drips</b>, see below.')])
  expect((await letters(desk.admin)).map(({ text }) => text)).toEqual([expect.stringContaining('> Look, Ada')])
})

test('a ticket that nobody has is told to those who ask for it, whoever opens it', async () => {
  await wants(desk.agent, 'new_unassigned')
  const from = `kim.${newId()}@kunde.example`
  await deliver(started.port, {
    from,
    to: desk.address,
    raw: rawMail({ From: `Kim <${from}>`, Subject: 'Pump' }, 'Drips'),
  })
  const [letter, ...others] = await letters()
  expect(others).toEqual([])
  expect(letter!.text).toContain('Kim opened a ticket, assigned to nobody:')
  expect(letter!.text).toContain('> Drips')
})

test('of one ticket the first letter leaves at once, and what follows as one, however much it is', async () => {
  await wants(desk.agent, 'reply_on_mine', 'mentioned')
  const id = await ownTicket()
  await writes(id, 'First')
  expect(await letters()).toHaveLength(1)
  const note = { is_internal: true, mention_user_ids: [desk.agent.user_id] }
  for (let count = 0; count < 30; count++) await createMessage(desk.admin, id, { ...note, body: `Note ${count}` })
  await writes(id, 'Second')
  expect(await letters()).toEqual([])
  const { sql } = desk.scope
  const waiting = await sql<{ is_in_time: boolean }[]>`
    select o.run_at = l.closed_at + interval '300 seconds' as is_in_time from outbox o
    join letters l on l.organization_id = ${desk.id} and l.closed_at is not null
    where o.organization_id = ${desk.id} and o.kind = 'letter'`
  expect([...waiting]).toEqual([{ is_in_time: true }])
  await passTime(desk)
  const [letter, ...others] = await letters()
  expect(others).toEqual([])
  expect(letter!.text!.match(/> Note \d+/g)).toHaveLength(20)
  await writes(id, 'Third')
  expect(await letters()).toEqual([])
})

test('two who tell at the same time make one letter', async () => {
  await wants(desk.agent, 'mentioned')
  const id = await ownTicket()
  const note = { is_internal: true, mention_user_ids: [desk.agent.user_id] }
  await Promise.all(
    ['a', 'b', 'c', 'd'].map((word) => createMessage(desk.admin, id, { ...note, body: `Note ${word}` })),
  )
  const sent = await letters()
  expect(sent.map(({ text }) => text!.match(/> Note \w/g)!.length)).toEqual([4])
})

test('nobody is told who looks at the ticket, and the next letter does not wait', async () => {
  await wants(desk.agent, 'reply_on_mine')
  const id = await ownTicket()
  await desk.agent.put(`/tickets/${id}/viewing`, {})
  await writes(id, 'Seen')
  expect(await letters()).toEqual([])
  await desk.agent.delete(`/tickets/${id}/viewing`)
  await writes(id, 'Unseen')
  const [letter] = await letters()
  expect(letter!.text).toContain('> Unseen')
  expect(letter!.text).not.toContain('> Seen')
})

test.each<[string, (id: string) => Promise<unknown>]>([
  ['who was removed', () => desk.admin.delete(`/users/${desk.agent.user_id}`)],
  ['who was deactivated', () => desk.admin.patch(`/users/${desk.agent.user_id}`, { active: false })],
  ['who wants it no more', () => wants(desk.agent)],
  ['whose ticket was deleted', (id) => desk.admin.delete(`/tickets/${id}`)],
  [
    'whose ticket has lost the message',
    async (id) => {
      const { messages } = await readTicket(desk.agent, id)
      await desk.admin.delete(`/tickets/${id}/messages/${messages.at(-1).id}`)
    },
  ],
  [
    'whose contact was erased',
    async (id) => {
      const { contact } = await readTicket(desk.agent, id)
      const erased = await desk.admin.post(`/contacts/${contact.id}/erase`)
      expect(erased.status).toBe(200)
      const { sql } = desk.scope
      expect([...(await sql`select 1 from letters where organization_id = ${desk.id}`)]).toEqual([])
    },
  ],
])('no letter leaves to a member %s', async (_, happens) => {
  await wants(desk.agent, 'reply_on_mine')
  const id = await ownTicket()
  await writes(id, 'Earlier')
  expect(await letters()).toHaveLength(1)
  await writes(id, 'Private')
  await drain()
  await happens(id)
  await passTime(desk)
  expect(await letters()).toEqual([])
})

test('nobody of another organization is told, and who is in both only as wanted there', async () => {
  const other = await started.createDesk()
  await wants(desk.agent, 'mentioned')
  await wants(other.agent, 'mentioned', 'new_unassigned')
  const id = await ownTicket()
  const foreign = { is_internal: true, body: 'x', mention_user_ids: [other.agent.user_id] }
  const refused = await desk.admin.post(`/tickets/${id}/messages`, foreign)
  expect([refused.status, refused.body.error.code]).toEqual([422, 'USER_NOT_FOUND'])
  await createTicket(desk.admin)
  expect(await letters(other.agent)).toEqual([])
})

test('a process that ends after it closed a letter leaves it to the next one; what comes then is another letter', async () => {
  await wants(desk.agent, 'mentioned')
  const id = await ownTicket()
  const note = { is_internal: true, mention_user_ids: [desk.agent.user_id] }
  await createMessage(desk.admin, id, { ...note, body: 'Before' })
  const { sql } = desk.scope
  await sql`update letters set closed_at = now() where organization_id = ${desk.id}`
  await createMessage(desk.admin, id, { ...note, body: 'After' })
  const [first, ...others] = await letters()
  expect(others).toEqual([])
  expect(first!.text).toContain('> Before')
  await passTime(desk)
  const [second] = await letters()
  expect([second!.text!.includes('> After'), second!.text!.includes('> Before')]).toEqual([true, false])
})

test('a letter that the server cannot take now is tried again with the same id', async () => {
  await wants(desk.agent, 'mentioned')
  const id = await ownTicket()
  const { body } = await desk.admin.get(`/mailboxes/${desk.mailbox_id}`)
  await desk.admin.patch(`/mailboxes/${desk.mailbox_id}`, { smtp: { ...body.data.smtp, port: 1 } })
  await createMessage(desk.admin, id, { is_internal: true, mention_user_ids: [desk.agent.user_id] })
  expect(await letters()).toEqual([])
  await desk.admin.patch(`/mailboxes/${desk.mailbox_id}`, { smtp: body.data.smtp })
  expect(await letters()).toHaveLength(1)
})

test('without a mailbox that sends, or a tag, a letter has no Reply-To, or does not leave', async () => {
  await wants(desk.agent, 'mentioned')
  const note = { is_internal: true, mention_user_ids: [desk.agent.user_id] }
  await desk.admin.patch(`/mailboxes/${desk.mailbox_id}`, { plus_addressing: false })
  await createMessage(desk.admin, await ownTicket(), note)
  expect((await letters()).map(answerAddress)).toEqual([''])
  await desk.admin.patch(`/mailboxes/${desk.mailbox_id}`, { active: false })
  await createMessage(desk.admin, await ownTicket(), note)
  expect(await letters()).toEqual([])
  const { sql } = desk.scope
  const left = await sql`select from letters where organization_id = ${desk.id} and closed_at is null`
  expect(left.length).toBe(0)
})

test("a machine at a member's address tells nobody: two of them would go on for ever", async () => {
  await Promise.all([wants(desk.agent, 'new_unassigned'), wants(desk.admin, 'new_unassigned')])
  const raw = rawMail({ From: desk.admin.email, To: desk.address, Subject: 'Away', Auto_Submitted: 'auto-replied' })
  await deliver(started.port, { from: desk.admin.email, to: desk.address, raw })
  expect(await letters()).toEqual([])
  expect((await ledgerOf(desk))[0]).toMatchObject({ outcome: 'ticket' })
})

test.each<[string, (client: Client) => Promise<unknown>]>([
  ['its author', async () => undefined],
  ['the admins, once its author is gone', (agent) => desk.admin.delete(`/users/${agent.user_id}`)],
])('a draft that could not be sent at its time is told to %s', async (who, happens) => {
  const member = await desk.addMember('agent', 'Mia')
  const other = await desk.addMember('admin', 'Bo')
  await Promise.all([wants(member, 'draft_kept'), wants(other, 'draft_kept')])
  const id = await ownTicket()
  const send_at = new Date(Date.now() + 3_600_000).toISOString()
  const draft = await member.post(`/tickets/${id}/drafts`, { body: 'Later', send_at })
  expect(draft.status).toBe(201)
  await writes(id, 'In between')
  await happens(member)
  const { sql } = desk.scope
  await sql`update drafts set send_at = now() - interval '1 second' where organization_id = ${desk.id} and send_at > now()`
  await sql`update outbox set run_at = now() where organization_id = ${desk.id} and kind = 'draft'`
  await drain()
  const texts = [await letters(member), await letters(other)].map((some) => some.map(({ text }) => text))
  const told = [expect.stringContaining('A draft could not be sent at its time, and is kept.')]
  expect(texts).toEqual(who === 'its author' ? [told, []] : [[], told])
})
