/** Exports all that is kept of a person, in lists that are read while they are sent. */

import { audit } from '../../base/audit/audit'
import { ZERO_ID } from '../../base/db/columns'
import type { Fragment } from '../../base/db/transact'
import { byteSteps } from '../../base/flow/byte-steps'
import type { Scope } from '../../base/scope'
import type { InSteps, Steps } from '../../http/request/steps'
import type { Draft } from '../drafts/model'
import { getDrafts } from '../drafts/queries'
import { type MessageRow, messageFields, presentMessage } from '../messages/queries'
import { presentRating, RATING_COLUMNS, type RatingColumns } from '../ratings/model'
import { PLAIN } from '../tickets/ticket-fields'
import type {
  Person,
  PersonMail,
  PersonMessage,
  PersonParticipation,
  PersonRule,
  PersonTicket,
  PersonTime,
} from './model'
import { type Traces, tracesOf, writtenOn } from './traces'

/** Rows of one step. */
const STEP = 500
/** Rows that are looked at for the person's address at once. Only those that may be the person's leave the database. */
const LOOK = 20_000
/** Each text counts as so many bytes at least: a step has 20 messages or drafts at most. */
const LEAST_BYTES = 100_000

/**
 * Gives what is kept of a contact: its tickets with all messages, notes and drafts, what the person wrote in other
 * tickets, and the mail of the person. Files come as signed addresses. Noted in the audit log.
 * @throws CONTACT_NOT_FOUND
 */
export async function exportPerson(scope: Scope, contact_id: string): Promise<InSteps<Person>> {
  const traces = await tracesOf(scope, contact_id)
  const { sql, organization_id } = scope
  const [contact] = await sql<Person['contact'][]>`
    select id, name, email, array_prepend(email, array(
      select a.email from contact_addresses a
      where a.organization_id = ${organization_id} and a.contact_id = c.id and a.email_key <> c.email_key
      order by a.position, a.email_key
    )) as emails, phone, notes, external_id, custom, created_at, updated_at
    from contacts c where organization_id = ${organization_id} and id = ${traces.contact_id}`
  await audit(scope, { action: 'contact.exported', resource: { type: 'contact', id: traces.contact_id } })
  return {
    contact: contact!,
    tickets: ticketsOf(scope, traces),
    messages: messagesOf(scope, traces),
    drafts: draftsOf(scope, traces),
    time_entries: timeOf(scope, traces),
    participations: participationsOf(scope, traces),
    inbound_messages: mailOf(scope, traces),
    sender_rules: rulesOf(scope, traces),
  }
}

/** Splits ids into steps. */
function* stepsOf(ids: string[]): Generator<string[]> {
  for (let start = 0; start < ids.length; start += STEP) yield ids.slice(start, start + STEP)
}

async function* ticketsOf({ sql, organization_id }: Scope, { tickets }: Traces): Steps<PersonTicket> {
  for (const ids of stepsOf(tickets)) {
    const rows = await sql<(Omit<PersonTicket, 'rating'> & RatingColumns)[]>`
      select id, code, ${sql(PLAIN)}, ${sql(RATING_COLUMNS)}, created_at, updated_at, deleted_at from tickets
      where organization_id = ${organization_id} and id = any(${ids}::uuid[]) order by id`
    yield rows.map(({ rating_score, rating_comment, rated_at, ...row }) => {
      return { ...row, rating: presentRating({ rating_score, rating_comment, rated_at }) }
    })
  }
}

async function* messagesOf(scope: Scope, traces: Traces): Steps<PersonMessage> {
  const { sql, organization_id } = scope
  for (const tickets of stepsOf(traces.tickets)) {
    const rows = await sql<Sized[]>`
      select id, ${sizeOfText(scope)} + coalesce(octet_length(reply_text), 0) as size from messages where organization_id = ${organization_id} and ${writtenOn(scope, tickets)}
      order by ticket_id, id`
    yield* readMessages(scope, rows)
  }
  const own = new Set(traces.tickets)
  for await (const { part } of partsOf(scope, 'messages')) {
    const rows = await sql<(Sized & { ticket_id: string; sender_email: string | null })[]>`
      select id, coalesce(original_ticket_id, ticket_id) as ticket_id, sender_email,
        ${sizeOfText(scope)} + coalesce(octet_length(reply_text), 0) as size from messages
      where organization_id = ${organization_id} and ${part} and sender_email ilike any(${traces.address_like}::text[])
      order by id`
    yield* readMessages(
      scope,
      rows.filter((row) => traces.isAddress(row.sender_email) && !own.has(row.ticket_id)),
    )
  }
}

type Sized = { id: string; size: number }

/** Makes the expression of the bytes of a message or draft, which the database knows without reading the texts. */
function sizeOfText({ sql }: Scope): Fragment {
  return sql`${sql.unsafe(String(LEAST_BYTES))} + octet_length(body) + octet_length(body_html)`
}

async function* readMessages(scope: Scope, messages: Sized[]): Steps<PersonMessage> {
  const { sql, organization_id } = scope
  for (const step of byteSteps(messages)) {
    const ids = step.map(({ id }) => id)
    const rows = await sql<(MessageRow & { ticket_id: string })[]>`
      select m.ticket_id, ${messageFields(scope)} from messages m
      where m.organization_id = ${organization_id} and m.id = any(${ids}::uuid[]) order by m.ticket_id, m.id`
    yield rows.map((row) => ({ ticket_id: row.ticket_id, ...presentMessage(organization_id, row) }))
  }
}

async function* draftsOf(scope: Scope, traces: Traces): Steps<Draft> {
  const { sql, organization_id } = scope
  for (const tickets of stepsOf(traces.tickets)) {
    const rows = await sql<Sized[]>`
      select id, ${sizeOfText(scope)} as size from drafts where organization_id = ${organization_id} and ${writtenOn(scope, tickets)}
      order by ticket_id, id`
    for (const step of byteSteps(rows)) {
      yield await getDrafts(
        scope,
        step.map(({ id }) => id),
      )
    }
  }
}

async function* timeOf(scope: Scope, { tickets }: Traces): Steps<PersonTime> {
  const { sql, organization_id } = scope
  for (const ids of stepsOf(tickets)) {
    const rows = await sql<PersonTime[]>`
      select id, ticket_id, date, duration_minutes, description from time_entries
      where organization_id = ${organization_id} and ${writtenOn(scope, ids)} order by id`
    yield [...rows]
  }
}

async function* participationsOf({ sql, organization_id }: Scope, traces: Traces): Steps<PersonParticipation> {
  const rows = await sql<PersonParticipation[]>`
    select ticket_id, name, email, confirmed, created_at from participants
    where organization_id = ${organization_id}
      and (email_key = any(${traces.email_keys}::text[]) or contact_id = ${traces.contact_id})
    order by id`
  yield [...rows]
}

async function* rulesOf({ sql, organization_id }: Scope, { email_keys }: Traces): Steps<PersonRule> {
  const rows = await sql<PersonRule[]>`
    select sender, action, created_at from sender_rules
    where organization_id = ${organization_id} and sender_key = any(${email_keys}::text[]) order by id`
  yield [...rows]
}

async function* mailOf(scope: Scope, { isAddress, address_like, email_keys, tickets }: Traces): Steps<PersonMail> {
  const { sql, organization_id } = scope
  const own = new Set(tickets)
  for await (const { part } of partsOf(scope, 'inbound_messages')) {
    const rows = await sql<(PersonMail & { ticket_id: string | null; is_from: boolean })[]>`
      select id, ticket_id, received_at, from_name, from_email, envelope_sender, recipients, subject, size, outcome,
        remote_address, helo, email_message_id, from_keys && ${email_keys}::text[] as is_from
      from inbound_messages
      where organization_id = ${organization_id} and ${part} and (
        from_email ilike any(${address_like}::text[]) or envelope_sender ilike any(${address_like}::text[])
        or array_to_string(recipients, ' ') ilike any(${address_like}::text[])
        or from_keys && ${email_keys}::text[]
        or ticket_id in (select unnest(${tickets}::uuid[]))
      )
      order by id`
    const found = rows.filter(
      (row) =>
        row.is_from ||
        isAddress(row.from_email) ||
        isAddress(row.envelope_sender) ||
        row.recipients.some(isAddress) ||
        (row.ticket_id !== null && own.has(row.ticket_id)),
    )
    yield found.map(({ is_from: _, ...row }) => row)
  }
  const refused = await sql<PersonMail[]>`
    select id, null as ticket_id, received_at, null as from_name, null as from_email, envelope_sender,
      array[recipient] as recipients, null as subject, 0 as size, 'refused' as outcome, remote_address, helo,
      null as email_message_id
    from refused_messages
    where organization_id = ${organization_id}
      and (envelope_sender ilike any(${address_like}::text[]) or recipient ilike any(${address_like}::text[]))
    order by id`
  yield refused.filter((row) => isAddress(row.envelope_sender) || row.recipients.some(isAddress))
}

/** Conditions on the id of a table, each of which holds for `LOOK` rows that follow the last ones. */
async function* partsOf({ sql, organization_id }: Scope, table: string): AsyncGenerator<{ part: Fragment }> {
  for (let after: string | undefined = ZERO_ID; after !== undefined; ) {
    const [last]: { id: string }[] = await sql<{ id: string }[]>`
      select id from ${sql(table)} where organization_id = ${organization_id} and id > ${after}
      order by id offset ${LOOK - 1} limit 1`
    yield { part: last ? sql`id > ${after} and id <= ${last.id}` : sql`id > ${after}` }
    after = last?.id
  }
}
