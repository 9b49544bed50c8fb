import { addressKey } from '../../base/address/email'
import { newId } from '../../base/db/columns'
import { insertRows } from '../../base/db/insert-rows'
import { ApiError, fieldError } from '../../base/errors'
import { inTransaction, type Scope, together } from '../../base/scope'
import { type Conversation, lockConversation, ownAddresses } from '../messages/conversation'
import { type EntryActor, recordActivities, recordActivity } from '../timeline/activity'
import type { NewParticipant, Participant } from './model'
import { findParticipant } from './queries'

/** An email may name thousands of recipients: no more than these become participants at a time. */
const MAX_CANDIDATES = 100

/** Someone who may take part; `name` is empty or null when it is not known. */
export type Candidate = {
  name: string | null
  email: string
  /** The merged ticket that brings them. */
  original_ticket_id?: string | null
}

/** Public replies go to confirmed participants; the others are only listed. */
export type Standing = 'confirmed' | 'listed'

type TicketOfParticipants = Pick<Conversation, 'id' | 'contact_id'>

/**
 * Adds a participant in the name of an agent, which confirms it. An existing participant is only confirmed.
 * @throws TICKET_NOT_FOUND, VALIDATION_ERROR for the ticket's contact and for mailboxes of the organization
 */
export async function createParticipant(scope: Scope, ticket_id: string, input: NewParticipant): Promise<Participant> {
  return inTransaction(scope, async (scope) => {
    const conversation = await lockConversation(scope, ticket_id)
    await addParticipants(scope, conversation, [{ name: input.name ?? null, email: input.email }], 'confirmed')
    const [participant, agents] = await together([
      findParticipant(scope, ticket_id, input.email),
      addedByAgents(scope, ticket_id),
    ])
    if (!participant) throw fieldError('VALIDATION_ERROR', '/email', "is the contact's or one of your own mailboxes")
    const { id, email } = participant
    // Mail had confirmed the person already: a merge asks if an agent has, too.
    if (!agents.has(id)) {
      await recordActivity(scope, ticket_id, [{ type: 'participant_added', data: { participant_id: id, email } }])
    }
    return participant
  })
}

/** The ids of participants that agents have added to a ticket, or confirmed. */
async function addedByAgents({ sql, organization_id }: Scope, ticket_id: string): Promise<Set<string>> {
  const rows = await sql<{ id: string }[]>`
    select data ->> 'participant_id' as id from activities
    where organization_id = ${organization_id} and ticket_id = ${ticket_id} and type = 'participant_added'
      and actor_type in ('user', 'api_key')`
  return new Set(rows.map(({ id }) => id))
}

/**
 * Adds participants to a ticket that the caller's transaction has locked or created. The ticket's contact and mailboxes
 * of the organization are left out. Existing participants stay unchanged, except that they may become confirmed.
 */
export function addParticipants(
  scope: Scope,
  ticket: TicketOfParticipants,
  candidates: Candidate[],
  standing: Standing,
): Promise<void> {
  return addToEach(scope, [{ ticket, actor: scope.actor, candidates: candidates.map((one) => ({ ...one, standing })) }])
}

/** People who may take part in a ticket, and who names them. */
export type CandidatesOfTicket = {
  ticket: TicketOfParticipants
  actor: EntryActor
  candidates: (Candidate & { standing: Standing })[]
}

/**
 * As `addParticipants`, for several different tickets by the same statements. A person who is confirmed otherwise than
 * by a merge stays when that is undone.
 */
export async function addToEach(scope: Scope, given: CandidatesOfTicket[]): Promise<void> {
  const wanted = given.map((one) => ({ ...one, candidates: one.candidates.slice(0, MAX_CANDIDATES) }))
  const emails = wanted.flatMap(({ candidates }) => candidates.map(({ email }) => email))
  if (emails.length === 0) return
  const [own, contacts] = await together([ownAddresses(scope, emails), holdContacts(scope, emails)])
  const { sql, organization_id } = scope
  const rows = wanted.flatMap((one) => rowsOf(one, own, contacts)).map((row) => ({ organization_id, ...row }))
  // A participant whose address is written in another way keeps it as it is.
  const changed = await insertRows<{ ticket_id: string; id: string; email: string }>(
    sql,
    'participants',
    rows,
    sql`
      on conflict (organization_id, ticket_id, email_key) do update
        set confirmed = true, left_out = false, name = coalesce(participants.name, excluded.name),
          was_listed = excluded.original_ticket_id is not null
            and (participants.was_listed or participants.original_ticket_id is null),
          original_ticket_id = excluded.original_ticket_id
        where excluded.confirmed and (
          not participants.confirmed
          or participants.original_ticket_id is not null and excluded.original_ticket_id is null
        )
      returning ticket_id, id, email`,
  )
  const actors = new Map(given.map(({ ticket, actor }) => [ticket.id, actor]))
  await recordActivities(
    sql,
    changed.map(({ ticket_id, id, email }) => ({
      organization_id,
      ticket_id,
      actor: actors.get(ticket_id)!,
      entry: { type: 'participant_added', data: { participant_id: id, email } },
    })),
  )
}

type KnownContact = { id: string; name: string }

/** Finds the contacts with these addresses, and keeps them until the transaction ends. @returns them by their keys */
async function holdContacts({ sql, organization_id }: Scope, emails: string[]): Promise<Map<string, KnownContact>> {
  const contacts = await sql<(KnownContact & { email_key: string })[]>`
    select c.id, c.name, a.email_key from contact_addresses a
    join contacts c on c.organization_id = ${organization_id} and c.id = a.contact_id
    where a.organization_id = ${organization_id}
      and a.email_key = any(${[...new Set(emails.map(addressKey))]}::text[])
    order by c.id for key share of c`
  return new Map(contacts.map((contact) => [contact.email_key, contact]))
}

/** Removes a participant from a ticket. @throws TICKET_NOT_FOUND, PARTICIPANT_NOT_FOUND */
export async function deleteParticipant(scope: Scope, ticket_id: string, id: string): Promise<void> {
  await inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    await lockConversation(scope, ticket_id)
    const [removed] = await sql<{ email: string }[]>`
      delete from participants
      where organization_id = ${organization_id} and ticket_id = ${ticket_id} and id = ${id}
      returning email`
    if (!removed) throw new ApiError('PARTICIPANT_NOT_FOUND')
    await recordActivity(scope, ticket_id, [
      { type: 'participant_removed', data: { participant_id: id, email: removed.email } },
    ])
  })
}

/**
 * The candidates who may become participants, each address once, with the values of their rows. Of an address that is
 * given twice the first counts.
 * @param own keys of mailboxes of the organization
 * @param contacts those with addresses of candidates, by key
 */
function rowsOf({ ticket, candidates }: CandidatesOfTicket, own: Set<string>, contacts: Map<string, KnownContact>) {
  const seen = new Set<string>()
  const rows = []
  for (const { name, email, standing, original_ticket_id } of candidates) {
    const email_key = addressKey(email)
    const contact = contacts.get(email_key)
    const is_contact = contact !== undefined && contact.id === ticket.contact_id
    if (own.has(email_key) || seen.has(email_key) || is_contact) continue
    seen.add(email_key)
    const confirmed = standing === 'confirmed'
    const row = { id: newId(), ticket_id: ticket.id, email, email_key, confirmed, original_ticket_id }
    rows.push({ ...row, name: name || contact?.name, contact_id: contact?.id })
  }
  return rows
}
