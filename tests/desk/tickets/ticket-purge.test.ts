import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connection } from '../../../src/base/db/pool'
import { purgeDeletedTickets } from '../../../src/desk/tickets/purge'
import { createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import {
  createCompany,
  createContact,
  createLabel,
  createMessage,
  createTicket,
  logTime,
  uploadFile,
} from '../../support/factories'

beforeAll(() => startApi())
afterAll(stopApi)

/** Tables whose rows belong to tickets, with the number of rows. */
const TABLES = ['tickets', 'messages', 'activities', 'ticket_labels', 'ticket_search', 'participants', 'attachments']

test('a deleted ticket is purged after the retention with all that hangs on it', async () => {
  const organization = await createOrganization()
  const { agent, scope } = organization
  const [kept, gone] = [await createFullTicket(organization), await createFullTicket(organization)]
  const before = await countRows(organization)
  await agent.delete(`/tickets/${gone.id}`)
  const [attachment] = await scope.sql<{ storage_key: string }[]>`
    select a.storage_key from attachments a join messages m on m.organization_id = a.organization_id and m.id = a.message_id
    where m.ticket_id = ${gone.id}`

  expect(await purgeDeletedTickets(connection(), 30)).toBe(0)
  expect((await countRows(organization)).messages).toBe(before.messages!)

  await scope.sql`update tickets set deleted_at = now() - interval '30 days 1 minute' where id = ${gone.id}`
  expect(await purgeDeletedTickets(connection(), 30)).toBe(1)
  const after = await countRows(organization)
  for (const table of TABLES) expect([table, after[table]! * 2]).toEqual([table, before[table]!])
  const removals = await scope.sql`select from storage_removals where storage_key = ${attachment!.storage_key}`
  expect(removals).toHaveLength(1)
  expect((await agent.get(`/tickets/${kept.id}`)).status).toBe(200)
})

test('deleted tickets that one organization has on hold keep none of others from being purged', async () => {
  const [holding, other] = [await createOrganization(), await createOrganization()]
  const label = await createLabel(holding.agent)
  const { sql } = connection()
  const contact = await createContact(holding.agent)
  await sql`
    insert into tickets (organization_id, id, number, code, subject, contact_id, deleted_at)
    select ${holding.scope.organization_id}, gen_random_uuid(), n, 'HELD-' || n, 'Held', ${contact.id}, now() - interval '2 years'
    from generate_series(1, 10000) n`
  await sql`
    insert into ticket_labels (organization_id, ticket_id, label_id)
    select organization_id, id, ${label.id} from tickets where organization_id = ${holding.scope.organization_id}`
  expect((await holding.admin.patch('/retention', { hold_label_ids: [label.id] })).status).toBe(200)
  const ticket = await createTicket(other.agent)
  await other.agent.delete(`/tickets/${ticket.id}`)
  await sql`
    update tickets set deleted_at = now() - interval '1 year'
    where organization_id = ${other.scope.organization_id} and id = ${ticket.id}`
  expect(await purgeDeletedTickets(connection(), 30)).toBe(1)
})

test('a purged ticket with time keeps code, subject, company and contact for its time, and nothing else', async () => {
  const organization = await createOrganization()
  const { agent, scope } = organization
  const company = await createCompany(agent)
  const contact = await createContact(agent, { company_id: company.id })
  const ticket = await createFullTicket(organization, { contact_id: contact.id })
  const entry = await logTime(agent, ticket.id)
  await agent.delete(`/tickets/${ticket.id}`)
  await scope.sql`update tickets set deleted_at = now() - interval '31 days' where id = ${ticket.id}`

  expect(await purgeDeletedTickets(connection(), 30)).toBe(1)
  expect(await purgeDeletedTickets(connection(), 30)).toBe(0)
  const rows = await countRows(organization)
  expect(rows).toMatchObject({ tickets: 1, messages: 0, activities: 0, ticket_labels: 0, ticket_search: 0 })
  const [row] = await scope.sql`select contact_id, assignee_id, mailbox_id from tickets where id = ${ticket.id}`
  expect(row).toEqual({ contact_id: contact.id, assignee_id: null, mailbox_id: null })
  const shown = (await agent.get(`/time-entries?company_id=${company.id}`)).body.data
  expect(shown).toMatchObject([{ id: entry.id, ticket: { code: ticket.code, subject: ticket.subject } }])
  expect((await agent.get(`/companies/${company.id}`)).body.data.total_time_minutes).toBe(60)
  expect((await agent.get(`/tickets/${ticket.id}`)).status).toBe(404)
})

test('more tickets than one batch are purged, two jobs at once share them', async () => {
  const { id, scope } = await createOrganization()
  const { sql } = scope
  await sql`
    insert into tickets (organization_id, id, number, code, subject, deleted_at)
    select ${id}, gen_random_uuid(), n, 'TKT-' || n, 'x', now() - interval '31 days' from generate_series(1, 120) n`
  const counts = await Promise.all([purgeDeletedTickets(connection(), 30), purgeDeletedTickets(connection(), 30)])
  expect(counts[0]! + counts[1]!).toBe(120)
  expect(await sql`select from tickets where organization_id = ${id}`).toHaveLength(0)
})

async function createFullTicket({ agent }: Organization, fields: Record<string, unknown> = {}) {
  const label = await createLabel(agent)
  const ticket = await createTicket(agent, { description: 'It burns', label_ids: [label.id], ...fields })
  await agent.patch(`/tickets/${ticket.id}`, { assignee_id: agent.user_id })
  const file = await uploadFile(agent)
  await createMessage(agent, ticket.id, { attachment_ids: [file.id] })
  await agent.post(`/tickets/${ticket.id}/participants`, { email: 'pat@customer.example' })
  return ticket
}

async function countRows({ id, scope }: Organization): Promise<Record<string, number>> {
  const { sql } = scope
  const counts = TABLES.map(async (table) => {
    const [row] = await sql<{ count: number }[]>`select count(*) from ${sql(table)} where organization_id = ${id}`
    return [table, row!.count]
  })
  return Object.fromEntries(await Promise.all(counts))
}
