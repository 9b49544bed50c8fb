/** Erases what the tickets of a person say. Tickets, codes, times and amounts stay. */

import { ERASED, ERASED_EMAIL } from '../../base/address/email'
import { withChangeTime } from '../../base/db/change-time'
import { inTransaction, type Scope } from '../../base/scope'
import { dropLetters } from '../../delivery/told/tell-members'
import { type NewEvent, publish } from '../../delivery/webhooks/publish'
import { removeDrafts } from '../drafts/remove-drafts'
import { endRequests } from '../ratings/requests'
import { newDocument, organizationNumber, readForDocuments, rebuildSearch } from '../search/ticket-document'
import { ERASED_COLUMNS } from '../tickets/ticket-fields'
import { recount } from '../turn/turn'
import { type Erased, eraseMessages } from './erase-messages'
import { eraseQuotations } from './erase-quotations'
import { broughtFrom, saysAnything, walk, writtenOn } from './traces'

/** Tickets of one transaction. */
const TICKETS = 50
/** Messages of one transaction. */
const MESSAGES = 200

/** Erases tickets in many short transactions. What is erased already is done again without harm. */
export async function eraseTickets(scope: Scope, tickets: string[]): Promise<Erased> {
  const erased: Erased = { messages: 0, attachments: 0 }
  for (let start = 0; start < tickets.length; start += TICKETS) {
    const some = tickets.slice(start, start + TICKETS)
    await eraseMessagesOf(scope, some, erased)
    const quoted = await eraseQuotations(scope, () => quotedFrom(scope, some))
    erased.messages += quoted.messages
    erased.attachments += quoted.attachments
    erased.attachments += await inTransaction(scope, (inner) => eraseRows(inner, some))
  }
  return erased
}

/** The condition on `message_quotes q` for what was written on the tickets, and what a split has brought to them. */
function quotedFrom(scope: Scope, tickets: string[]) {
  const { sql, organization_id } = scope
  return sql`(q.source_ticket_id = any(${tickets}::uuid[]) or q.source_id = any(array(
    select id from messages where organization_id = ${organization_id} and ${writtenOn(scope, tickets)}
  )))`
}

function eraseMessagesOf(scope: Scope, tickets: string[], erased: Erased): Promise<void> {
  const { sql, organization_id } = scope
  return walk(
    (after) => sql<{ id: string; ticket_id: string; is_elsewhere: boolean }[]>`
      select id, ticket_id, original_ticket_id is not null and ${saysAnything(scope)} as is_elsewhere from messages
      where organization_id = ${organization_id} and ${writtenOn(scope, tickets)} and id > ${after}
      order by id limit ${MESSAGES}`,
    async (rows) => {
      const ids = rows.map(({ id }) => id)
      // The events of their tickets tell of the others.
      const moved = rows.filter(({ is_elsewhere }) => is_elsewhere)
      const events = moved.map(({ id, ticket_id }): NewEvent => {
        return { type: 'message.erased', data: { id, ticket: { id: ticket_id } } }
      })
      const { messages, attachments } = await inTransaction(scope, async (inner) => {
        const counts = await eraseMessages(inner, ids)
        await publish(inner, events)
        return counts
      })
      erased.messages += messages
      erased.attachments += attachments
    },
  )
}

/** Erases all but the messages of some tickets, in the caller's transaction. @returns how many attachments of drafts */
async function eraseRows(scope: Scope, ids: string[]): Promise<number> {
  const { sql, organization_id } = scope
  const [, time] = await withChangeTime(
    sql,
    sql`
      select 1 from tickets where organization_id = ${organization_id} and id = any(${ids}::uuid[] || array(
        select s.merged_into_id from tickets s
        where s.organization_id = ${organization_id} and s.id = any(${ids}::uuid[]) and s.merged_into_id is not null
      ))
      order by id for no key update`,
  )
  const these = sql`organization_id = ${organization_id} and ticket_id = any(${ids}::uuid[])`
  const attachments = await removeDrafts(scope, writtenOn(scope, ids))
  await endRequests(scope, ids)
  await dropLetters(scope, ids)
  await sql`delete from email_anchors where ${these}`
  // People who came by a merge take part in the tickets of others.
  await sql`
    delete from participants
    where ${these} and (original_ticket_id is null or original_ticket_id = any(${ids}::uuid[]))`
  await sql`
    update activities set ${scrubbed(scope)}
    where ${these} and (actor_type = 'contact' or type = any(${TELLING_TYPES}::text[]))`
  const written = writtenOn(scope, ids)
  await sql`
    update time_entries set description = null, updated_at = now()
    where organization_id = ${organization_id} and ${written} and description is not null`
  await sql`update timers set description = null where organization_id = ${organization_id} and ${written}`
  await eraseDocuments(scope, ids)
  const erased = await sql<{ id: string; is_hidden: boolean }[]>`
    update tickets set ${sql({ ...ERASED_COLUMNS, updated_at: time, erased_at: time })}
    where organization_id = ${organization_id} and id = any(${ids}::uuid[])
    returning id, deleted_at is not null as is_hidden`
  await recount(scope, ids)
  const shown = erased.filter(({ is_hidden }) => !is_hidden).map(({ id }) => id)
  await publish(
    scope,
    shown.sort().map((id) => ({ type: 'ticket.erased', data: { id } })),
  )
  await eraseFromMerged(scope, ids, time)
  return attachments
}

/**
 * Erases what merges have brought from the tickets to others: people, and words of documents. Tickets that have what
 * others wrote keep the words of that.
 * @param ids the caller has locked these and those that have their messages
 */
async function eraseFromMerged(scope: Scope, ids: string[], time: string): Promise<void> {
  const { sql, organization_id } = scope
  const targets = await sql<{ id: string; is_hidden: boolean }[]>`
    select id, deleted_at is not null as is_hidden from tickets t
    where t.organization_id = ${organization_id} and t.id = any(array(
      select s.merged_into_id from tickets s
      where s.organization_id = ${organization_id}
        and (s.id = any(${ids}::uuid[]) or s.merged_into_id = any(${ids}::uuid[]))
    ))`
  if (targets.length === 0) return
  const found = targets.map(({ id }) => id)
  const brought = () => sql`organization_id = ${organization_id} and ${broughtFrom(scope, ids)}`
  await sql`delete from participants where ${brought()} and not was_listed`
  await sql`
    update participants set confirmed = false, was_listed = false, original_ticket_id = null where ${brought()}`
  await sql`
    update tickets set updated_at = ${time}
    where organization_id = ${organization_id} and id = any(${found}::uuid[])`
  await recount(scope, found)
  // A hidden ticket has no search document.
  for (const { id, is_hidden } of targets) if (!is_hidden) await rebuildSearch(scope, id)
}

/** Leaves of the search documents of tickets, which the caller has locked, the code and the facets. */
async function eraseDocuments(scope: Scope, ids: string[]): Promise<void> {
  const { sql, organization_id } = scope
  const number = await organizationNumber(scope)
  const tickets = await readForDocuments(scope, ids)
  const documents = await Promise.all(
    tickets.map(async (row) => {
      return { id: row.id, ...(await newDocument(number, { ...row, subject: '', custom_words: null }, '')) }
    }),
  )
  await sql`
    with given as materialized (
      select * from json_to_recordset(${JSON.stringify(documents)}::text::json) as x (id uuid, vector text, size integer)
    )
    update ticket_search s set document = given.vector::tsvector, size = given.size from given
    where s.organization_id = ${organization_id} and s.ticket_id = given.id`
}

/**
 * Types of entries of a timeline that may hold a text, a name or an address of a person (`desk/timeline/activity.ts`).
 */
export const TELLING_TYPES = [
  ...['changed', 'time_changed', 'participant_added', 'participant_removed', 'participant_unconfirmed'],
  ...['email_sent', 'email_resent', 'email_failed', 'email_bounced'],
]

/**
 * The assignments that take a person out of an entry of a timeline. They use only functions whose result never changes.
 */
export function scrubbed({ sql }: Scope) {
  const replaced = (values: Record<string, string | null>) => sql`${JSON.stringify(values)}::text::jsonb`
  return sql`
    actor_name = case when actor_type = 'contact' then ${ERASED} else actor_name end,
    data = case
      when type = 'changed' and data ->> 'field' = any(${['contact', ...Object.keys(ERASED_COLUMNS)]}::text[])
        then data || '{"from": null, "to": null}'
      when type = 'time_changed' then data #- '{changes,description}'
      when type in ('participant_added', 'participant_removed', 'participant_unconfirmed')
        then data || ${replaced({ email: ERASED_EMAIL })}
      when type in ('email_sent', 'email_resent') then data || '{"recipients": []}'
      when type = 'email_failed' then data || ${replaced({ recipient: ERASED_EMAIL, error: null })}
      when type = 'email_bounced' then data || ${replaced({ error: ERASED })}
      else data
    end`
}
