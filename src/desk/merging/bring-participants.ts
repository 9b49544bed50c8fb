/** Lists the people of merged tickets on the tickets that have their messages, and removes them again. */
import { addressKey } from '../../base/address/email'
import { type Scope, together } from '../../base/scope'
import { channelOf } from '../messages/queries'
import { addToEach, type CandidatesOfTicket } from '../participants/commands'
import { recordActivity } from '../timeline/activity'

/** Candidates that one call of `addToEach` takes. */
const CHUNK = 100

type Brought = {
  /** The contact of the participant; null for the contact itself. */
  id: string | null
  name: string | null
  email: string
  /** All addresses of the contact. */
  emails: string[]
  confirmed: boolean
  original_ticket_id: string
}

/**
 * Lists the participants of merged tickets, and their contacts as confirmed ones, in the caller's transaction, which
 * has locked all of them. An unproven mail that opened a merged ticket confirms nobody by itself: who forges one would
 * get the answers of another conversation.
 * @param from the merged tickets
 */
export async function bringParticipants(
  scope: Scope,
  ticket: CandidatesOfTicket['ticket'],
  from: string[],
): Promise<void> {
  if (from.length === 0) return
  const { sql, organization_id } = scope
  // A person who came to a merged ticket by another merge comes here from the first ticket.
  const [rows, isUnproven] = await together([
    sql<Brought[]>`
      select null::uuid as id, c.name, c.email, array(
        select a.email from contact_addresses a where a.organization_id = ${organization_id} and a.contact_id = c.id
      ) as emails, true as confirmed, t.id as original_ticket_id
      from tickets t join contacts c on c.organization_id = ${organization_id} and c.id = t.contact_id
      where t.organization_id = ${organization_id} and t.id = any(${from}::uuid[])
      union all
      select p.id, p.name, p.email, array[p.email], p.confirmed and not p.was_listed, p.ticket_id from participants p
      where p.organization_id = ${organization_id} and p.ticket_id = any(${from}::uuid[])
        and (p.original_ticket_id is null or p.was_listed)
      order by original_ticket_id, email`,
    findUnproven(scope, from),
  ])
  // The first row of an address that comes twice counts.
  const candidates = rows
    .map((row) => ({ ...row, confirmed: row.confirmed && !isUnproven(row) }))
    .toSorted((a, b) => Number(b.confirmed) - Number(a.confirmed))
    .map(({ name, email, original_ticket_id, confirmed }) => {
      return { name, email, original_ticket_id, standing: confirmed ? ('confirmed' as const) : ('listed' as const) }
    })
  for (let start = 0; start < candidates.length; start += CHUNK) {
    await addToEach(scope, [{ ticket, actor: scope.actor, candidates: candidates.slice(start, start + CHUNK) }])
  }
}

/** A ticket that an unproven mail has opened. */
type Opened = {
  id: string
  /** Participants that an agent has added, or later mail. */
  added: string[]
  /** An agent has given it its contact. */
  has_given_contact: boolean
  /** Addresses that other mail of it names which is proven, and customers who wrote by other ways. */
  named: (string | null)[]
}

/**
 * Finds people that only the unproven mail names which opened the ticket. A ticket that was split is opened by its
 * oldest message of a customer. Later mail that confirms anybody adds an entry to the timeline after its own.
 */
async function findUnproven(scope: Scope, ids: string[]): Promise<(row: Brought) => boolean> {
  const { sql, organization_id } = scope
  const byAgent = sql`a.actor_type in ('user', 'api_key')`
  const written = sql`
    m.organization_id = ${organization_id} and m.ticket_id = coalesce(t.merged_into_id, t.id)
    and coalesce(m.original_ticket_id, m.ticket_id) = t.id and m.direction = 'inbound'`
  const entries = sql`a.organization_id = ${organization_id} and a.ticket_id = t.id`
  const rows = await sql<Opened[]>`
    select t.id, array(
      select a.data ->> 'participant_id' from activities a
      where ${entries} and a.type = 'participant_added' and (${byAgent} or a.id > (
        select l.id from activities l
        where l.organization_id = ${organization_id} and l.ticket_id = t.id and l.type = 'message'
          and l.data ->> 'message_id' <> o.id::text
        order by l.id limit 1
      ))
    ) as added, exists (
      select from activities a
      where ${entries} and a.type = 'changed' and a.data @> '{"field": "contact", "from": null}' and ${byAgent}
    ) as has_given_contact, array(
      select unnest(array_append(m.cc, m.sender_email)) from messages m
      where ${written} and m.id <> o.id and (m.sender_verified or ${channelOf(sql)} <> 'email')
    ) as named
    from tickets t join lateral (
      select m.id, m.sender_verified, ${channelOf(sql)} as channel from messages m where ${written} order by m.id limit 1
    ) o on o.channel = 'email' and o.sender_verified is not true
    where t.organization_id = ${organization_id} and t.id = any(${ids}::uuid[])
      and (t.split_from_id is not null or exists (
        select from activities a where ${entries} and a.type = 'created' and a.actor_type = 'contact'
      ))`
  const opened = new Map(rows.map((row) => [row.id, { ...row, keys: new Set(row.named.map(keyOf)) }]))
  return ({ id, emails, original_ticket_id }) => {
    const ticket = opened.get(original_ticket_id)
    if (!ticket || emails.some((email) => ticket.keys.has(addressKey(email)))) return false
    return id === null ? !ticket.has_given_contact : !ticket.added.includes(id)
  }
}

/** An erased message has no sender. */
function keyOf(email: string | null): string {
  return addressKey(email ?? '')
}

/** Removes people who came from merged tickets, unless somebody has confirmed them since. */
export async function removeBrought(scope: Scope, ticket_ids: string[], brought_by: string[]): Promise<void> {
  const { sql, organization_id } = scope
  const these = () => sql`
    organization_id = ${organization_id} and ticket_id = any(${ticket_ids}::uuid[])
    and original_ticket_id = any(${brought_by}::uuid[])`
  const [removed] = await together([
    sql<{ id: string; ticket_id: string; email: string }[]>`
      delete from participants where ${these()} and not was_listed returning id, ticket_id, email`,
    sql`update participants set confirmed = false, was_listed = false, original_ticket_id = null where ${these()}`,
  ])
  for (const { id, ticket_id, email } of removed) {
    await recordActivity(scope, ticket_id, [{ type: 'participant_removed', data: { participant_id: id, email } }])
  }
}
