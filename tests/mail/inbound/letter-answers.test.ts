/**
 * Answers of members to letters about tickets: to the customer, or a note. From anybody else the ids and addresses of
 * letters lead nowhere, and what a letter quotes never leaves.
 */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { type Client, PASSWORD, signIn } from '../../support/api'
import { forgedZone, provenZone, type StartedDesk, startDeskWithDns } from '../../support/desk'
import { createMessage } from '../../support/factories'
import { deliver, drain, ledgerOf, rawMail, readTicket } from '../../support/mail'
import { answerAddress, lettersTo } from '../../support/member-letters'

let desk: StartedDesk
const members = new Map<string, Client>()

const PROVEN = 'alan@team.example'
const UNKNOWN = 'uma@unknown.example'
const FORGED = 'fred@rejects.example'

beforeAll(async () => {
  const zone = { ...provenZone('team.example'), ...forgedZone('rejects.example') }
  desk = await startDeskWithDns(zone, { address: 'support@desk.example' })
  for (const email of [PROVEN, UNKNOWN, FORGED]) {
    const { status } = await desk.admin.post('/users', { email, name: email.split('@')[0], password: PASSWORD })
    expect(status).toBe(201)
    members.set(email, await signIn(email))
  }
})
beforeEach(() => {
  desk.sink.messages.length = 0
})
afterAll(() => desk.stop())

type Fields = Record<string, string | undefined>

async function receive(from: string, fields: Fields, body: string, to = desk.address) {
  const raw = rawMail({ From: from, To: to, Subject: 'Re', Message_ID: `<${newId()}@mail.example>`, ...fields }, body)
  await deliver(desk.port, { from, to, raw })
  return (await ledgerOf(desk))[0]
}

/** A ticket of a member, and the letter that the member gets of it: about a note, or about the customer's mail. */
async function told(email: string, about: 'note' | 'mail') {
  const contact = `kim.${newId()}@kunde.example`
  const { ticket_id } = await receive(contact, { Subject: 'Pump leaks' }, 'It drips.')
  const user_id = members.get(email)!.user_id
  if (about === 'note') {
    const note = { is_internal: true, body: 'Kim never pays.', mention_user_ids: [user_id] }
    await createMessage(desk.admin, ticket_id, note)
  } else {
    await members.get(email)!.patch(`/tickets/${ticket_id}`, { assignee_id: user_id })
    await receive(
      contact,
      { References: '<none@x>', Subject: `[${(await readTicket(desk.admin, ticket_id)).code}]` },
      'Secret code 4711.',
    )
  }
  const [letter] = await lettersTo(desk, email)
  desk.sink.messages.length = 0
  const { messages } = await readTicket(desk.admin, ticket_id)
  return {
    contact,
    ticket_id,
    letter: letter!,
    id: letter!.messageId!,
    tagged: answerAddress(letter!),
    before: messages.length,
  }
}

const quotationOf = ({ text = '' }) =>
  `On Tue, Nov 17, 2026 at 9:00 AM Desk <support@desk.example> wrote:\n${text.replace(/^/gm, '> ')}`

async function lastOf(ticket_id: string) {
  await drain()
  return (await readTicket(desk.admin, ticket_id)).messages
}

test('a new member is told of all but tickets that nobody has', async () => {
  const { body } = await members.get(PROVEN)!.get('/auth/me')
  const notify = {
    assigned: 'mail',
    reply_on_mine: 'mail',
    mentioned: 'mail',
    new_unassigned: 'none',
    draft_kept: 'mail',
  }
  expect(body.notify).toEqual(notify)
})

test.each<[string, (about: Awaited<ReturnType<typeof told>>) => [Fields, string]]>([
  ['its address', ({ tagged }) => [{}, tagged]],
  ['its id', ({ id }) => [{ In_Reply_To: id }, desk.address]],
])('the answer of a member to a letter, by %s, goes to the customer without what the letter says', async (_, lead) => {
  const about = await told(PROVEN, 'mail')
  const { contact, ticket_id, letter, before } = about
  const [fields, to] = lead(about)
  const row = await receive(PROVEN, fields, `Turn it off.\n\n${quotationOf(letter)}`, to)
  expect(row).toMatchObject({ outcome: 'message', ticket_id, sender_verified: true })
  const messages = await lastOf(ticket_id)
  expect(messages).toHaveLength(before + 1)
  expect(messages.at(-1)).toMatchObject({ body: 'Turn it off.', direction: 'outbound', sender: { email: PROVEN } })
  expect(desk.sink.messages.map(({ to }) => to)).toEqual([[contact]])
  expect(desk.sink.messages[0]!.raw.toString()).not.toContain('4711')
})

test.each<[string, (letter: string, quotation: string) => string, string]>([
  ['below the quotation', (_, quotation) => `${quotation}\n\nTurn it off.`, 'outbound'],
  ['between quoted lines', (letter) => `${letter.replace(/^/gm, '> ')}\n\nTurn it off.\n\n> bye`, 'outbound'],
  ['below the letter as it is', (letter) => `${letter}\n\nTurn it off.`, 'note'],
  ['above the letter as it is', (letter) => `Turn it off.\n\n${letter}`, 'outbound'],
])('what the letter says never leaves with an answer %s', async (_, write, becomes) => {
  const { ticket_id, letter, tagged } = await told(PROVEN, 'mail')
  await receive(PROVEN, {}, write(letter.text!, quotationOf(letter)), tagged)
  const last = (await lastOf(ticket_id)).at(-1)
  expect(last.is_internal ? 'note' : last.direction).toBe(becomes)
  expect(desk.sink.messages).toHaveLength(becomes === 'note' ? 0 : 1)
  const sent = desk.sink.messages.map(({ raw }) => raw.toString()).join()
  expect([sent.includes('4711'), sent.includes(`/tickets/${ticket_id}`)]).toEqual([false, false])
})

test.each([PROVEN, UNKNOWN])('what %s answers to a letter about a note is a note', async (email) => {
  const { ticket_id, letter, id, tagged, before } = await told(email, 'note')
  const row = await receive(email, { In_Reply_To: id }, `I see.\n\n${quotationOf(letter)}`, tagged)
  expect(row).toMatchObject({ outcome: 'message', ticket_id })
  const messages = await lastOf(ticket_id)
  expect(messages).toHaveLength(before + 1)
  expect(messages.at(-1)).toMatchObject({ body: 'I see.', is_internal: true, direction: null, sender: { email } })
  expect(messages.at(-1).sender_verified).toBe(email === PROVEN ? true : null)
  expect(desk.sink.messages).toEqual([])
})

test('a letter about a note goes before whatever else the answer names', async () => {
  const { ticket_id, id } = await told(PROVEN, 'note')
  const other = await told(PROVEN, 'mail')
  const row = await receive(PROVEN, { In_Reply_To: other.id, References: id, Cc: other.tagged }, 'I see.', other.tagged)
  expect(row.ticket_id).toBe(ticket_id)
  expect((await lastOf(ticket_id)).at(-1)).toMatchObject({ is_internal: true })
  expect(desk.sink.messages).toEqual([])
})

test.each<[string, 'note' | 'mail', string]>([
  ['a stranger', 'note', 'eve@elsewhere.example'],
  ['a stranger', 'mail', 'eve@elsewhere.example'],
  ['somebody who forges a member', 'note', FORGED],
  ['somebody who forges a member', 'mail', FORGED],
])('from %s the id and address of a letter about a %s lead nowhere', async (_, about, from) => {
  const { ticket_id, id, tagged, before } = await told(PROVEN, about)
  const row = await receive(from, { In_Reply_To: id, References: id }, 'Let me in.', tagged)
  expect(row).toMatchObject({ outcome: 'ticket', rule: 'new' })
  expect(row.ticket_id).not.toBe(ticket_id)
  expect(await lastOf(ticket_id)).toHaveLength(before)
  // Nor do they become anchors of the ticket that it opens.
  expect(await receive(from, { In_Reply_To: id }, 'Again.')).toMatchObject({ outcome: 'ticket' })
})

test('what the contact answers to a letter that somebody passed on is mail of its own', async () => {
  const { contact, ticket_id, id, tagged, before } = await told(PROVEN, 'note')
  expect(await receive(contact, { In_Reply_To: id }, 'What is this?', tagged)).toMatchObject({ rule: 'new' })
  expect(await lastOf(ticket_id)).toHaveLength(before)
})

test('a letter leads nowhere in another organization', async () => {
  const { id, tagged, ticket_id } = await told(PROVEN, 'note')
  const other = await desk.createDesk()
  const tag = tagged.slice(tagged.indexOf('+'), tagged.indexOf('@'))
  const to = other.address.replace('@', `${tag}@`)
  const raw = rawMail({ From: other.agent.email, To: to, In_Reply_To: id }, 'Hello')
  await deliver(desk.port, { from: other.agent.email, to, raw })
  const [row] = await ledgerOf(other)
  expect(row).toMatchObject({ outcome: 'ticket' })
  expect(row.ticket_id).not.toBe(ticket_id)
})

test.each<[string, 'note' | 'mail']>([
  ['by its address', 'note'],
  ['by its address', 'mail'],
  ['by its id', 'mail'],
])('what a machine answers to a letter, %s, about a %s, is dropped, so that it never goes on', async (by, about) => {
  const { ticket_id, id, tagged, before } = await told(PROVEN, about)
  const is_by_id = by === 'by its id'
  const away = { ...(is_by_id && { In_Reply_To: id }), Subject: 'Away', Auto_Submitted: 'auto-replied' }
  const row = await receive(PROVEN, away, 'I am away.', is_by_id ? desk.address : tagged)
  expect(row).toMatchObject({ outcome: 'own', ticket_id: null })
  expect(await lastOf(ticket_id)).toHaveLength(before)
  expect(desk.sink.messages).toEqual([])
})

test('a letter that comes back to a mailbox opens nothing, and its original is not kept', async () => {
  const { contact, ticket_id } = await told(PROVEN, 'mail')
  const code = (await readTicket(desk.admin, ticket_id)).code
  await receive(contact, { Subject: `[${code}]` }, 'Again.')
  await desk.scope.sql`update outbox set run_at = now() where organization_id = ${desk.id} and kind = 'letter'`
  await drain()
  const { raw } = desk.sink.messages.find(({ to }) => to.includes(PROVEN))!
  await deliver(desk.port, { from: PROVEN, to: desk.address, raw })
  const [row] = await ledgerOf(desk)
  expect(row).toMatchObject({ outcome: 'own', ticket_id: null })
  expect((await desk.admin.get(`/inbound-messages/${row.id}/raw`)).status).toBe(404)
})

test('a letter leads to the ticket that its own was merged into', async () => {
  const { ticket_id, tagged } = await told(PROVEN, 'note')
  const target = await told(PROVEN, 'mail')
  await desk.admin.post(`/tickets/${target.ticket_id}/merge`, { source_ids: [ticket_id] })
  expect(await receive(PROVEN, {}, 'I see.', tagged)).toMatchObject({ ticket_id: target.ticket_id })
  expect((await lastOf(target.ticket_id)).at(-1)).toMatchObject({ is_internal: true, body: 'I see.' })
})
