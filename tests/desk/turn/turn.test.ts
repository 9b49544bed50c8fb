/** Tickets keep of their messages which is the newest, since when a customer waits, and how many there are. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import type { Scope } from '../../../src/base/scope'
import { countUncounted } from '../../../src/desk/turn/turn'
import { createOrganization, startApi, stopApi } from '../../support/api'
import { createContact, createMessage, createTicket, insertTicket, uploadFile } from '../../support/factories'
import { expectTurns } from '../../support/turns'

beforeAll(() => startApi())
afterAll(stopApi)

/** Writes a message as releases do that know no columns of it. */
async function writeAsBefore({ sql, organization_id }: Scope, ticket_id: string, fields: Record<string, unknown> = {}) {
  const id = newId()
  const row = { organization_id, id, ticket_id, body: 'x', body_html: 'x', sender_name: 'Carla', ...fields }
  await sql`insert into messages ${sql({ direction: 'inbound', ...row })}`
  return id
}

function turnOf({ sql, organization_id }: Scope, id: string) {
  return sql`
    select last_message_id, waiting_message_id, message_count, attachment_count from tickets
    where organization_id = ${organization_id} and id = ${id}`.then(([row]) => row)
}

test('a description, answers, notes and files count, and the answer of the team ends the waiting', async () => {
  const { agent, scope } = await createOrganization()
  const file = await uploadFile(agent)
  const contact = await createContact(agent)
  const empty = await createTicket(agent, { contact_id: contact.id })
  expect(await turnOf(scope, empty.id)).toEqual({
    ...{ last_message_id: null, waiting_message_id: null, message_count: 0, attachment_count: 0 },
  })
  const ticket = await createTicket(agent, { contact_id: contact.id, description: 'Help' })
  const first = await turnOf(scope, ticket.id)
  expect(first).toMatchObject({ waiting_message_id: first!.last_message_id, message_count: 1 })
  await createMessage(agent, ticket.id, { is_internal: true, attachment_ids: [file.id.toUpperCase()] })
  expect(await turnOf(scope, ticket.id)).toEqual({ ...first, attachment_count: 1 })
  const answer = await createMessage(agent, ticket.id)
  expect(await turnOf(scope, ticket.id)).toEqual({
    ...{ last_message_id: answer.id, waiting_message_id: null, message_count: 2, attachment_count: 1 },
  })
  await agent.delete(`/tickets/${ticket.id}/messages/${answer.id}`)
  expect(await turnOf(scope, ticket.id)).toEqual({ ...first, attachment_count: 1 })
  await expectTurns(scope)
})

test('of messages that are written and deleted at once all are counted', async () => {
  const { admin, agent, scope } = await createOrganization()
  const ticket = await createTicket(agent, { contact_id: (await createContact(agent)).id, description: 'Help' })
  const made = await Promise.all([agent, admin, agent, admin].map((client) => createMessage(client, ticket.id)))
  await Promise.all([
    ...made.slice(0, 2).map(({ id }) => agent.delete(`/tickets/${ticket.id}/messages/${id}`)),
    ...[agent, admin].map((client) => createMessage(client, ticket.id)),
  ])
  expect(await turnOf(scope, ticket.id)).toMatchObject({ message_count: 5, waiting_message_id: null })
  await expectTurns(scope)
})

test('a picture that another ticket shows is counted there when its message goes', async () => {
  const { agent, scope } = await createOrganization()
  const ticket = await createTicket(agent, { contact_id: (await createContact(agent)).id })
  const file = await uploadFile(agent, 'x', 'x.png')
  const own = await createMessage(agent, ticket.id, { attachment_ids: [file.id] })
  const other = await createMessage(agent, ticket.id)
  const { sql, organization_id } = scope
  const row = { organization_id, message_id: other.id, attachment_id: file.id }
  await sql`insert into message_pictures ${sql(row)}`
  const split = await agent.post(`/tickets/${ticket.id}/split`, { message_ids: [other.id] })
  await sql`insert into message_pictures ${sql(row)} on conflict do nothing`
  await agent.delete(`/tickets/${ticket.id}/messages/${own.id}`)
  expect(await turnOf(scope, ticket.id)).toMatchObject({ message_count: 0, attachment_count: 0 })
  expect(await turnOf(scope, split.body.data.id)).toMatchObject({ message_count: 1, attachment_count: 1 })
  await expectTurns(scope)
})

test('tickets of older releases, and what these write beside this one, are counted by a job', async () => {
  const { agent, scope } = await createOrganization()
  const { sql, organization_id } = scope
  const older = await insertTicket(scope)
  const asked = await writeAsBefore(scope, older.id)
  await writeAsBefore(scope, older.id, { auto_reply: true })
  await writeAsBefore(scope, older.id, { direction: null, is_internal: true })
  const counted = await createTicket(agent, { contact_id: (await createContact(agent)).id, description: 'Help' })
  const mine = await createTicket(agent, { contact_id: (await createContact(agent)).id, description: 'Help' })
  await writeAsBefore(scope, counted.id, { direction: 'outbound' })
  expect(await turnOf(scope, counted.id)).toMatchObject({ message_count: null })
  expect(await turnOf(scope, mine.id)).toMatchObject({ message_count: 1 })
  await countUncounted(connection())
  expect(await turnOf(scope, older.id)).toMatchObject({ waiting_message_id: asked, message_count: 2 })
  expect(await turnOf(scope, counted.id)).toMatchObject({ waiting_message_id: null, message_count: 2 })
  await expectTurns(scope)
  await sql`
    update messages set ticket_id = ${mine.id} where organization_id = ${organization_id} and ticket_id = ${older.id}`
  await sql`delete from messages where organization_id = ${organization_id} and ticket_id = ${counted.id}`
  await countUncounted(connection())
  expect(await turnOf(scope, mine.id)).toMatchObject({ message_count: 3 })
  await expectTurns(scope)
  expect(await countUncounted(connection())).toBe(0)
})
