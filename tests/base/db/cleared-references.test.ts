/**
 * Deletions on foreign keys that clear nothing: a cluster has no `on delete set null (column)`. The program clears what
 * points at the deleted row, in hidden tickets too.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import { nodeUrls } from '../../support/cluster'
import {
  createCompany,
  createContact,
  createPolicy,
  createSchedule,
  createTeam,
  insertTicketOf,
  joinTicket,
} from '../../support/factories'
import { createMailbox, importMail, rawMail } from '../../support/mail'

let organization: Organization

beforeAll(async () => {
  await startApi()
  if (!nodeUrls()) expect(await clearNothing()).toBe(10)
  organization = await createOrganization()
})
afterAll(stopApi)

/** Makes the keys refuse what they would clear. @returns how many there are */
async function clearNothing(): Promise<number> {
  const { sql } = connection()
  const keys = await sql<{ name: string; table: string; definition: string }[]>`
    select conname as name, conrelid::regclass::text as table, pg_get_constraintdef(oid) as definition
    from pg_constraint where contype = 'f' and confdeltype = 'n'`
  for (const { name, table, definition } of keys) {
    const plain = definition.replace(/ ON DELETE SET NULL \(\w+\)/, '')
    await sql.unsafe(`alter table ${table} drop constraint ${name}, add constraint ${name} ${plain}`)
  }
  return keys.length
}

/** Deletes something over HTTP. */
async function remove(path: string): Promise<void> {
  expect((await organization.admin.delete(path)).status).toBe(204)
}

/** A visible and a hidden ticket of a contact and a company. */
async function twoTickets(of: { contact_id?: string; company_id?: string; mailbox_id?: string }): Promise<string[]> {
  const { sql, organization_id } = organization.scope
  const ids = [(await insertTicketOf(organization.scope, of)).id, (await insertTicketOf(organization.scope, of)).id]
  await sql`
    update tickets set mailbox_id = ${of.mailbox_id ?? null}
    where organization_id = ${organization_id} and id = any(${ids}::uuid[])`
  await sql`update tickets set deleted_at = now() where organization_id = ${organization_id} and id = ${ids[1]!}`
  return ids
}

/** The rows that the tickets point at: one when that is the same. */
function referencesOf(ids: string[]) {
  const { sql, organization_id } = organization.scope
  return sql`
    select distinct contact_id, company_id, mailbox_id from tickets
    where organization_id = ${organization_id} and id = any(${ids}::uuid[])`
}

const NOTHING = [{ contact_id: null, company_id: null, mailbox_id: null }]

test('a mailbox is cleared from tickets and from the mail ledger', async () => {
  const { admin, scope } = organization
  const mailbox = await createMailbox(admin)
  const imported = await importMail(
    admin,
    mailbox.id,
    rawMail({ From: 'carla@customer.example', Message_ID: `<${newId()}@customer.example>` }),
  )
  const ids = [...(await twoTickets({ mailbox_id: mailbox.id })), imported.ticket_id]

  await remove(`/mailboxes/${mailbox.id}`)
  expect((await referencesOf(ids)).map(({ mailbox_id }) => mailbox_id)).toEqual([null, null])
  const ledger = await scope.sql`
    select mailbox_id, mailbox_address from inbound_messages
    where organization_id = ${scope.organization_id} and id = ${imported.id}`
  expect([...ledger]).toEqual([{ mailbox_id: null, mailbox_address: mailbox.address }])
})

test('a schedule is cleared from policies', async () => {
  const { admin } = organization
  const schedule = await createSchedule(admin)
  const { id } = await createPolicy(admin, { schedule_id: schedule.id, active: false })
  await remove(`/schedules/${schedule.id}`)
  expect((await admin.get(`/sla-policies/${id}`)).body.data.schedule_id).toBeNull()
})

test('a team is cleared from tickets and mailboxes', async () => {
  const { admin, scope } = organization
  const { sql, organization_id } = scope
  const team = await createTeam(admin)
  const mailbox = await createMailbox(admin, { team_id: team.id })
  const ids = await twoTickets({})
  await sql`
    update tickets set team_id = ${team.id} where organization_id = ${organization_id} and id = any(${ids}::uuid[])`

  await remove(`/teams/${team.id}`)
  const teams = await sql`
    select team_id from tickets where organization_id = ${organization_id} and id = any(${ids}::uuid[])
    union all select team_id from mailboxes where organization_id = ${organization_id} and id = ${mailbox.id}`
  expect([...teams]).toEqual([{ team_id: null }, { team_id: null }, { team_id: null }])
})

test('a message is cleared from the Message-IDs that lead to its ticket', async () => {
  const { admin, scope } = organization
  const mailbox = await createMailbox(admin)
  const id = `${newId()}@customer.example`
  const raw = rawMail({ From: 'dora@customer.example', Message_ID: `<${id}>` })
  const { ticket_id, message_id } = await importMail(admin, mailbox.id, raw)

  await remove(`/tickets/${ticket_id}/messages/${message_id}`)
  const anchors = await scope.sql`
    select ticket_id, message_id from email_anchors
    where organization_id = ${scope.organization_id} and email_message_id = ${id}`
  expect([...anchors]).toEqual([{ ticket_id, message_id: null }])
})

test('a contact that is erased is cleared from tickets', async () => {
  const contact = await createContact(organization.admin)
  const ids = await twoTickets({ contact_id: contact.id })
  await joinTicket(organization.scope, ids[0]!, [contact], 'confirmed')

  const erased = await organization.admin.post(`/contacts/${contact.id}/erase`)
  expect(erased.body.data.tickets).toBe(2)
  expect([...(await referencesOf(ids))]).toEqual(NOTHING)
})
test('a contact is cleared from tickets and participants', async () => {
  const { admin, scope } = organization
  const contact = await createContact(admin)
  const ids = await twoTickets({ contact_id: contact.id })
  const { id: other } = await insertTicketOf(scope, {})
  await joinTicket(scope, other, [contact], 'confirmed')

  await remove(`/contacts/${contact.id}`)
  expect([...(await referencesOf(ids))]).toEqual(NOTHING)
  const participants = await scope.sql`
    select contact_id from participants where organization_id = ${scope.organization_id} and ticket_id = ${other}`
  expect([...participants]).toEqual([{ contact_id: null }])
})

test('a company is cleared from tickets and contacts', async () => {
  const { admin } = organization
  const company = await createCompany(admin)
  const contact = await createContact(admin, { company_id: company.id })
  const ids = await twoTickets({ company_id: company.id })

  await remove(`/companies/${company.id}`)
  expect([...(await referencesOf(ids))]).toEqual(NOTHING)
  expect((await admin.get(`/contacts/${contact.id}`)).body.data.company).toBeNull()
})
