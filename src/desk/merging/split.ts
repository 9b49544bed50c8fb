/** Splits tickets: some messages become the first ones of a new ticket. */
import { newId } from '../../base/db/columns'
import { insertRows } from '../../base/db/insert-rows'
import { unknownIds } from '../../base/errors'
import { inTransaction, type Scope, together } from '../../base/scope'
import { asIds } from '../../base/shapes/ids'
import { publish } from '../../delivery/webhooks/publish'
import { findOrCreateContacts } from '../contacts/senders'
import { spreadHold } from '../holds/holds'
import { lockConversation, lockMail } from '../messages/conversation'
import { UNKNOWN_SENDER } from '../messages/draft'
import { receivedSince } from '../messages/received-since'
import { addToEach, type Candidate, type Standing } from '../participants/commands'
import { keepPromises } from '../promises/keep'
import { judgeMarks } from '../read-marks/keep-marks'
import { rebuildSearch } from '../search/ticket-document'
import { eventsOfNew } from '../tickets/changes'
import type { Ticket } from '../tickets/model'
import { openTickets } from '../tickets/open-tickets'
import { getTicketSummary } from '../tickets/queries'
import { type EntryActor, recordActivity } from '../timeline/activity'
import { recount } from '../turn/turn'
import type { NewSplit } from './model'
import { codeOf } from './move'

type Chosen = {
  id: string
  direction: 'inbound' | 'outbound' | null
  sender_name: string
  sender_email: string | null
  sender_verified: boolean | null
  cc: string[]
  /** The contact that wrote it, as its timeline knows: somebody else may have the address by now. */
  writer_id: string | null
  /** The mailbox of the ticket that it was written on. */
  mailbox_id: string | null
}

/** An answer goes to each of them: as by mail that opens a ticket. */
const MOST_CONFIRMED = 20

/**
 * Opens a ticket with some messages of another one, which keep their ids, dates and attachments and count as written
 * there. Contact, participants and mailbox are as if the oldest message of a customer had opened it; without one they
 * are those of the other ticket. Time stays.
 * @throws TICKET_NOT_FOUND, TICKET_MERGED, MESSAGE_NOT_FOUND
 */
export function splitTicket(scope: Scope, id: string, { message_ids, subject }: NewSplit): Promise<Ticket> {
  return inTransaction(scope, async (scope) => {
    await lockMail(scope)
    const { locked_at } = await lockConversation(scope, id)
    const [old, chosen] = await together([getTicketSummary(scope, id), readChosen(scope, id, message_ids)])
    const opener = chosen.find(({ direction }) => direction === 'inbound')
    const new_id = await open(scope, old, opener && isOpener(opener) ? opener : undefined, subject ?? old.subject)
    await spreadHold(scope, id, [new_id])
    const ids = chosen.map((message) => message.id)
    await moveMessages(scope, ids, new_id)
    await together([
      touch(scope, id, locked_at),
      recount(scope, [id, new_id]),
      judgeMarks(scope, [id]),
      rebuildSearch(scope, id),
      rebuildSearch(scope, new_id),
    ])
    await keepPromises(scope, [id, new_id])
    const [before, after] = await together([getTicketSummary(scope, id), getTicketSummary(scope, new_id)])
    const new_ticket = { id: new_id, code: after.code, subject: after.subject }
    await recordActivity(scope, id, [{ type: 'split', data: { into: codeOf(after), message_ids: ids } }])
    await recordActivity(scope, new_id, [{ type: 'split', data: { from: codeOf(before), message_ids: ids } }])
    const moved = { message_ids: ids, time_entry_ids: [] }
    await publish(scope, [
      ...eventsOfNew(after),
      { type: 'ticket.split', data: { ...before, new_ticket, message_ids: ids, moved } },
    ])
    return after
  })
}

/** @returns the messages, oldest first @throws MESSAGE_NOT_FOUND for those of another ticket */
async function readChosen({ sql, organization_id }: Scope, ticket_id: string, given: string[]): Promise<Chosen[]> {
  const chosen = await sql<Chosen[]>`
    select m.id, m.direction, m.sender_name, m.sender_email, m.sender_verified, m.cc, w.mailbox_id, (
      select c.id from activities a
      left join merged_contacts g on g.organization_id = ${organization_id} and g.id = a.actor_id
      join contacts c on c.organization_id = ${organization_id} and c.id = case a.actor_type
        when 'contact' then coalesce(g.contact_id, a.actor_id)
        when 'system' then null
        else w.contact_id
      end
      where a.organization_id = ${organization_id} and a.type = 'message' and a.data ->> 'message_id' = m.id::text
        and a.ticket_id = any(array(
          select w.id
          union all select w.split_from_id
          union all
          select s.id from tickets s
          where s.organization_id = ${organization_id} and s.merged_into_id = w.split_from_id
        ))
      limit 1
    ) as writer_id
    from messages m
    join tickets w on w.organization_id = ${organization_id} and w.id = coalesce(m.original_ticket_id, m.ticket_id)
    where m.organization_id = ${organization_id} and m.ticket_id = ${ticket_id} and m.id = any(${asIds(given)}::uuid[])
    order by m.id`
  const found = new Set(chosen.map(({ id }) => id))
  const unknown = [...new Set(given)].filter((id) => !found.has(id.toLowerCase()))
  if (unknown.length > 0) throw unknownIds('MESSAGE_NOT_FOUND', '/message_ids', unknown)
  return chosen
}

/** Tells if the customer's message could have opened the ticket. An erased message has no sender any more. */
function isOpener({ sender_email, sender_name }: Chosen): boolean {
  return sender_email !== null || sender_name === UNKNOWN_SENDER.name
}

/** Opens the new ticket with its participants. @returns its id */
async function open(scope: Scope, old: Ticket, opener: Chosen | undefined, subject: string): Promise<string> {
  const id = newId()
  const contact_id = opener ? (opener.writer_id ?? (await contactOf(scope, opener))) : (old.contact?.id ?? null)
  const filed = opener && (await filedAs(scope, opener))
  const mailbox_id = opener ? (filed?.mailbox_id ?? opener.mailbox_id) : await mailboxOf(scope, old.id)
  const { actor } = scope
  await openTickets(scope, [{ id, subject, contact_id, mailbox_id, actor, first: null, split_from_id: old.id }])
  const ticket = { id, contact_id }
  // The writer has named the people, not the agent who splits.
  const by: EntryActor = opener ? { type: 'contact', id: contact_id, name: opener.sender_name } : actor
  for (const [standing, people] of await peopleOf(scope, old.id, opener, filed)) {
    await addToEach(scope, [{ ticket, actor: by, candidates: people.map((one) => ({ ...one, standing })) }])
  }
  return id
}

async function contactOf(scope: Scope, { sender_name: name, sender_email: email }: Chosen): Promise<string | null> {
  if (email === null) return null
  const [contact] = await findOrCreateContacts(scope, [{ name, email }])
  return contact!.id
}

async function mailboxOf({ sql, organization_id }: Scope, ticket_id: string): Promise<string | null> {
  const [ticket] = await sql<{ mailbox_id: string | null }[]>`
    select mailbox_id from tickets where organization_id = ${organization_id} and id = ${ticket_id}`
  return ticket!.mailbox_id
}

type Filed = { mailbox_id: string | null; recipients: string[] }

/** How a message came in, as far as the ledger knows it: its mailbox, and the addresses in To and Cc. */
async function filedAs({ sql, organization_id }: Scope, { id }: Chosen): Promise<Filed | undefined> {
  const [filed] = await sql<Filed[]>`
    select mailbox_id, recipients from inbound_messages
    where organization_id = ${organization_id} and message_id = ${id}
      and id between ${receivedSince(id)} and ${id}
    order by id limit 1`
  return filed
}

/**
 * Finds the participants: the recipients of the message, confirmed as by mail that opens a ticket
 * (`mail/inbound/trust`); without a message those of the old ticket. Of an email whose ledger row is gone only Cc is
 * known.
 */
async function peopleOf(
  { sql, organization_id }: Scope,
  old_id: string,
  opener?: Chosen,
  filed?: Filed,
): Promise<[Standing, Candidate[]][]> {
  if (opener) {
    const [policy] = await sql<{ is_flag: boolean }[]>`
      select sender_policy = 'flag' as is_flag from organizations where id = ${organization_id}`
    const confirms = opener.sender_verified ?? policy!.is_flag
    const emails = [...new Set([...(filed?.recipients ?? []), ...opener.cc])]
    const people = emails.map((email) => ({ name: null, email }))
    const most = confirms ? MOST_CONFIRMED : 0
    return [
      ['confirmed', people.slice(0, most)],
      ['listed', people.slice(most)],
    ]
  }
  const rows = await sql<(Candidate & { confirmed: boolean })[]>`
    select name, email, confirmed from participants
    where organization_id = ${organization_id} and ticket_id = ${old_id} order by id`
  const of = (wanted: boolean) =>
    rows.filter(({ confirmed }) => confirmed === wanted).map(({ name, email }) => ({ name, email }))
  return [
    ['confirmed', of(true)],
    ['listed', of(false)],
  ]
}

/** Sets the time of change of a locked ticket. */
async function touch({ sql, organization_id }: Scope, id: string, locked_at: string): Promise<void> {
  await sql`update tickets set updated_at = ${locked_at} where organization_id = ${organization_id} and id = ${id}`
}

/** Moves messages with the anchors that name them. */
async function moveMessages(scope: Scope, ids: string[], ticket_id: string): Promise<void> {
  const { sql, organization_id } = scope
  const [, anchors] = await together([
    sql`
      update messages set ticket_id = ${ticket_id}, original_ticket_id = null
      where organization_id = ${organization_id} and id = any(${ids}::uuid[])`,
    sql<{ email_message_id: string; message_id: string }[]>`
      delete from email_anchors where organization_id = ${organization_id} and message_id = any(${ids}::uuid[])
      returning email_message_id, message_id`,
  ])
  const rows = anchors.map((anchor) => ({ organization_id, ticket_id, ...anchor }))
  await insertRows(sql, 'email_anchors', rows, sql`on conflict do nothing`)
}
