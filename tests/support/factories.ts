/** Factories: small functions that make what a test needs, and return it. */
import { addressKey } from '../../src/base/address/email'
import { newId } from '../../src/base/db/columns'
import { EVENTS } from '../../src/base/db/schema'
import { inTransaction, type Scope } from '../../src/base/scope'
import { lockConversation } from '../../src/desk/messages/conversation'
import { addParticipants, type Candidate, type Standing } from '../../src/desk/participants/commands'
import { rebuildSearch } from '../../src/desk/search/ticket-document'
import { type Client, checkEvent } from './api'

/** A contact and a ticket of it, straight into the database. `contact: null` makes a ticket without one. */
export async function insertTicket(
  scope: Scope,
  { contact = {}, subject = 'Printer on fire', mailbox_id = null }: TicketFields = {},
) {
  const { sql, organization_id } = scope
  const id = newId()
  const contact_id = contact && newId()
  const { name = 'Carla Contact', email = `carla.${id}@customer.example` } = contact ?? {}
  const [{ number } = { number: 0 }] = await sql<{ number: number }[]>`
    update ticket_counters set next_number = next_number + 1
    where organization_id = ${organization_id} returning next_number - 1 as number`
  if (contact_id) {
    await sql`
      insert into contacts (organization_id, id, name, email, email_key, search)
      values (${organization_id}, ${contact_id}, ${name}, ${email}, ${addressKey(email)},
        ${`${name} ${email}`.toLowerCase()})`
  }
  const code = `TKT-${number}`
  await sql`
    insert into tickets (organization_id, id, number, code, subject, contact_id, mailbox_id)
    values (${organization_id}, ${id}, ${number}, ${code}, ${subject}, ${contact_id}, ${mailbox_id})`
  await rebuildSearch(scope, id)
  return { id, code, subject, contact: { id: contact_id, name, email } }
}

export type TicketFields = {
  contact?: { name?: string; email?: string } | null
  subject?: string
  mailbox_id?: string | null
}

/** A mailbox, straight into the database; it can send when it has SMTP settings. */
export async function insertMailbox({ sql, organization_id }: Scope, fields: Partial<MailboxFields> = {}) {
  const id = newId()
  const { address = `support.${id}@acme.example`, active = true, is_default = true, smtp = true } = fields
  await sql`
    insert into mailboxes (organization_id, id, address, address_key, active, is_default, smtp_host, smtp_port, smtp_security)
    values (${organization_id}, ${id}, ${address}, ${addressKey(address)}, ${active}, ${is_default},
      ${smtp ? '127.0.0.1' : null}, ${smtp ? 2500 : null}, ${smtp ? 'none' : null})`
  return { id, address }
}

export type MailboxFields = { address: string; active: boolean; is_default: boolean; smtp: boolean }

/** Adds participants as an email does. */
export function joinTicket(scope: Scope, ticket_id: string, people: Candidate[], standing: Standing): Promise<void> {
  return inTransaction(scope, async (scope) => {
    await addParticipants(scope, await lockConversation(scope, ticket_id), people, standing)
  })
}

/** Posts a message; the fields of the body may be overridden. */
export async function createMessage(client: Client, ticket_id: string, fields: Record<string, unknown> = {}) {
  const answer = await client.post(`/tickets/${ticket_id}/messages`, { body: 'Have you tried water?', ...fields })
  if (answer.status !== 201) throw new Error(`creating a message answered ${answer.status} ${answer.text}`)
  return answer.body.data
}

/** Uploads a file. */
export async function uploadFile(
  client: Client,
  content: string | Uint8Array<ArrayBuffer> = 'hello',
  name = 'hello.txt',
) {
  const answer = await client.post('/attachments', formOf(content, name))
  if (answer.status !== 201) throw new Error(`uploading a file answered ${answer.status} ${answer.text}`)
  return answer.body.data
}

/** The form of an upload. */
export function formOf(content: string | Uint8Array<ArrayBuffer>, name: string, type = 'text/plain'): FormData {
  const form = new FormData()
  form.set('file', new File([content], name, { type }))
  return form
}

/** A contact, over HTTP. */
export async function createContact(client: Client, fields: Record<string, unknown> = {}) {
  const name = 'Carla Contact'
  const answer = await client.post('/contacts', { name, email: `carla.${newId()}@customer.example`, ...fields })
  if (answer.status !== 201) throw new Error(`creating a contact answered ${answer.status} ${answer.text}`)
  return answer.body.data
}

/** A company, over HTTP. */
export async function createCompany(client: Client, fields: Record<string, unknown> = {}) {
  const answer = await client.post('/companies', { name: 'Customer Ltd', ...fields })
  if (answer.status !== 201) throw new Error(`creating a company answered ${answer.status} ${answer.text}`)
  return answer.body.data
}

/** Time on a ticket, over HTTP. */
export async function logTime(client: Client, ticket_id: string, fields: Record<string, unknown> = {}) {
  const answer = await client.post(`/tickets/${ticket_id}/time-entries`, { duration_minutes: 60, ...fields })
  if (answer.status !== 201) throw new Error(`logging time answered ${answer.status} ${answer.text}`)
  return answer.body.data
}

/** A ticket of a contact and company that are there already, straight into the database. */
export async function insertTicketOf(
  scope: Scope,
  {
    contact_id = null,
    company_id = null,
    subject,
  }: { contact_id?: string | null; company_id?: string | null; subject?: string },
) {
  const ticket = await insertTicket(scope, { contact: null, ...(subject && { subject }) })
  await scope.sql`
    update tickets set contact_id = ${contact_id}, company_id = ${company_id}
    where organization_id = ${scope.organization_id} and id = ${ticket.id}`
  return { id: ticket.id, code: ticket.code, subject: ticket.subject }
}

/** Events about what people do. Those about mail on its way are more than most tests ask for. */
const HEARD = EVENTS.filter((event) => !/^(message[.]email|inbound_message)/.test(event))

/** Makes a webhook that hears of everything, straight into the database: without one no event is written. */
export async function hearEvents({ sql, organization_id }: Scope, events: readonly string[] = HEARD): Promise<void> {
  await sql`
    insert into webhooks (organization_id, id, url, events)
    values (${organization_id}, ${newId()}, 'https://receiver.example/', ${events as string[]}::text[])`
}

/** The events that a webhook gets, oldest first, as it gets them. */
export async function writtenEvents({ sql, organization_id }: Scope) {
  const rows = await sql<{ body: string }[]>`
    select body from events e where organization_id = ${organization_id} and exists (
      select 1 from deliveries d where d.organization_id = ${organization_id} and d.event_id = e.id
    ) order by id`
  const events = rows.map(({ body }) => JSON.parse(body))
  const check = await checkEvent()
  // An erasure takes all but the ids from what was told before.
  for (const event of events) if (Object.keys(event.data).some((key) => !['id', 'ticket'].includes(key))) check(event)
  return events
}

/** The timeline of a ticket, oldest entry first. */
export function activityOf({ sql, organization_id }: Scope, ticket_id: string) {
  return sql<{ type: string; data: Record<string, unknown> }[]>`
    select type, data from activities
    where organization_id = ${organization_id} and ticket_id = ${ticket_id} order by id`
}

/** A ticket, over HTTP; of a new contact unless `contact_id` is given. */
export async function createTicket(client: Client, fields: Record<string, unknown> = {}) {
  const contact_id = fields.contact_id ?? (await createContact(client)).id
  const answer = await client.post('/tickets', { subject: 'Printer on fire', ...fields, contact_id })
  if (answer.status !== 201) throw new Error(`creating a ticket answered ${answer.status} ${answer.text}`)
  return answer.body.data
}

/** A team, over HTTP. */
export async function createTeam(admin: Client, fields: Record<string, unknown> = {}) {
  const answer = await admin.post('/teams', { name: `Team ${newId()}`, ...fields })
  if (answer.status !== 201) throw new Error(`creating a team answered ${answer.status} ${answer.text}`)
  return answer.body.data
}

/** A schedule of two days, over HTTP. */
export async function createSchedule(admin: Client, fields: Record<string, unknown> = {}) {
  const hours = { mon: [['08:00', '12:00']], sun: [['00:00', '24:00']] }
  const answer = await admin.post('/schedules', { name: `Schedule ${newId()}`, hours, ...fields })
  if (answer.status !== 201) throw new Error(`creating a schedule answered ${answer.status} ${answer.text}`)
  return answer.body.data
}

/** A policy that promises a first answer to urgent tickets, over HTTP. */
export async function createPolicy(admin: Client, fields: Record<string, unknown> = {}) {
  const targets = [{ priority: 'urgent', first_reply_minutes: 60 }]
  const answer = await admin.post('/sla-policies', { name: `Policy ${newId()}`, targets, ...fields })
  if (answer.status !== 201) throw new Error(`creating a policy answered ${answer.status} ${answer.text}`)
  return answer.body.data
}

/** A label, over HTTP. */
export async function createLabel(client: Client, fields: Record<string, unknown> = {}) {
  const answer = await client.post('/labels', { name: `Label ${newId()}`, color: '#EF4444', ...fields })
  if (answer.status !== 201) throw new Error(`creating a label answered ${answer.status} ${answer.text}`)
  return answer.body.data
}
