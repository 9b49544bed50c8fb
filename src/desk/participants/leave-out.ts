/** Takes out of a conversation the people that its contact has left out of a reply. */
import { addressKey } from '../../base/address/email'
import { type Scope, together } from '../../base/scope'
import { receivedSince } from '../messages/received-since'
import { type EntryActor, recordActivities } from '../timeline/activity'

/** A reply of the contact, whose sender is proven. */
export type ReplyOfContact = {
  ticket_id: string
  actor: EntryActor
  /** The message that it answers. */
  answered_id: string
  /** Keys of the addresses that it names, without ours and the contact's own. */
  named: Set<string>
}

type Participant = {
  ticket_id: string
  id: string
  email: string
  left_out: boolean
  is_by_agent: boolean
  /** Every address of the person. */
  addresses: string[]
  /** Addresses in To and Cc of the answered message. */
  reached: string[]
}

/**
 * Compares the recipients of replies with those of the messages that they answer. Who is missing in a reply that names
 * others is no confirmed participant any more, unless an agent has added the person; a reply to the organization alone
 * only marks who got the answered message.
 * @param replies of different tickets, which the caller has locked
 */
export async function leaveOut(scope: Scope, replies: ReplyOfContact[]): Promise<void> {
  if (replies.length === 0) return
  const { sql, organization_id } = scope
  const by_ticket = new Map(replies.map((reply) => [reply.ticket_id, reply]))
  const reached = (await findReached(scope, replies)).map((person) => {
    const { named } = by_ticket.get(person.ticket_id)!
    return { ...person, is_missing: !person.addresses.some((email) => named.has(addressKey(email))) }
  })
  const isAlone = ({ ticket_id }: Participant) => by_ticket.get(ticket_id)!.named.size === 0
  const removed = reached.filter((one) => one.is_missing && !isAlone(one) && !one.is_by_agent)
  const marked = reached.filter((one) => one.left_out !== (one.is_missing && isAlone(one)))
  const idsOf = (people: Participant[]) => people.map(({ id }) => id)
  await together([
    sql`
      update participants set confirmed = false
      where organization_id = ${organization_id} and id = any(${idsOf(removed)}::uuid[])`,
    sql`
      update participants set left_out = not left_out
      where organization_id = ${organization_id} and id = any(${idsOf(marked)}::uuid[])`,
    recordActivities(
      sql,
      removed.map(({ ticket_id, id, email }) => ({
        organization_id,
        ticket_id,
        actor: by_ticket.get(ticket_id)!.actor,
        entry: { type: 'participant_unconfirmed', data: { participant_id: id, email } },
      })),
    ),
  ])
}

/** Finds the confirmed participants who were in To or Cc of the answered messages. */
async function findReached({ sql, organization_id }: Scope, replies: ReplyOfContact[]): Promise<Participant[]> {
  const given = replies.map(({ ticket_id, answered_id }) => ({
    ticket_id,
    answered_id,
    since: receivedSince(answered_id),
  }))
  const rows = await sql<Participant[]>`
    select p.ticket_id, p.id, p.email, p.left_out, exists (
      select from activities a
      where a.organization_id = ${organization_id} and a.ticket_id = coalesce(p.original_ticket_id, p.ticket_id)
        and a.type = 'participant_added' and a.actor_type in ('user', 'api_key')
        and (a.data ->> 'participant_id' = p.id::text or a.data ->> 'email' = p.email)
    ) as is_by_agent, array(
      select o.email from contact_addresses o
      where o.organization_id = ${organization_id} and o.contact_id = p.contact_id
      union all select p.email
    ) as addresses, array(
      select r.email from message_recipients r
      where r.organization_id = ${organization_id} and r.message_id = g.answered_id
      union all
      select unnest(m.cc) from messages m where m.organization_id = ${organization_id} and m.id = g.answered_id
      union all
      select unnest(i.recipients) from inbound_messages i
      where i.organization_id = ${organization_id} and i.message_id = g.answered_id
        and i.id between g.since and g.answered_id
    ) as reached
    from json_to_recordset(${JSON.stringify(given)}::text::json) 
      as g (ticket_id uuid, answered_id uuid, since uuid)
    join participants p on p.organization_id = ${organization_id} and p.ticket_id = g.ticket_id and p.confirmed`
  return rows.filter(({ addresses, reached }) => {
    const keys = new Set(reached.map(addressKey))
    return addresses.some((email) => keys.has(addressKey(email)))
  })
}
