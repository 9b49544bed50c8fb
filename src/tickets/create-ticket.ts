/**
 * Creates tickets. Requests that come at the same time share each of the three steps: to look up what they name, to take
 * their numbers, and to write.
 */
import { newId } from '../db/columns'
import { isAway } from '../db/violations'
import { unknownIds } from '../errors'
import { gathered } from '../flow/gather'
import { isBlank, renderBody } from '../html/body'
import { createdEvent } from '../messages/commands'
import type { DraftWithId } from '../messages/draft'
import type { Message } from '../messages/model'
import { getMessages } from '../messages/queries'
import { asStatement, inTransaction, type Scope, together } from '../scope'
import { hasSubscriber, type NewEvent, publishEach, type Subscriber } from '../webhooks/publish'
import { takeNumber } from './code'
import { insertTickets, type TicketToInsert } from './insert-tickets'
import type { NewTicket, Ticket } from './model'
import { findReferences, type NewTicketReferences } from './references'

/** A ticket with a longer description is written alone, so that the statement of many tickets stays small. */
const SHARED_MOST_CHARACTERS = 20_000

/**
 * Creates a ticket with its description as the first message.
 * @throws CONTACT_NOT_FOUND, USER_NOT_FOUND, LABEL_NOT_FOUND
 */
export async function createTicket(scope: Scope, input: NewTicket): Promise<Ticket> {
  const references = await findReferences(scope, input)
  const number = await takeNumber(scope)
  const { subject, priority = 'normal', description } = input
  const message = draftOf(description, references.contact)
  // The id is made before the transaction begins, so that the time of creation is not after that of the last change.
  const ticket = { scope, id: newId(), number, subject, priority, mailbox_id: null, references, message }
  const is_long = message !== undefined && message.body.length > SHARED_MOST_CHARACTERS
  const shared = is_long || scope.after_commit || scope.before_commit ? undefined : await writeShared(ticket)
  return shared ?? inOneCommit(scope, [ticket], (scope) => writeAlone(scope, ticket))
}

/**
 * One statement at a time, as long as none waits for a lock: 16 requests at once cost PostgreSQL 0.55 ms of CPU for a ticket,
 * with two statements at a time 0.69 and with one for each request 1.1. A statement whose connection was lost may have been
 * committed, so it is not sent again.
 */
const writeShared = gathered(writeAll, { most_runs: 4, patience_ms: 20, mayRepeat: (error) => !isAway(error) })

/** Writes tickets of several requests. One whose contact is locked by others is left out, so that nobody waits for it. */
function writeAll(tickets: TicketToInsert[]): Promise<(Ticket | undefined)[]> {
  return inOneCommit({ ...tickets[0]!.scope, alongside: undefined }, tickets, async (scope) => {
    const written = await write(scope, tickets, 'leave out')
    // Each request commits what belongs to it, and only if its ticket was written.
    await together(tickets.map((ticket, index) => written[index] && ticket.scope.alongside?.(scope)))
    return written
  })
}

/** @throws CONTACT_NOT_FOUND */
async function writeAlone(scope: Scope, ticket: TicketToInsert): Promise<Ticket> {
  const [written] = await write(scope, [ticket], 'wait')
  if (!written) throw unknownIds('CONTACT_NOT_FOUND', '/contact_id', [ticket.references.contact.id])
  return written
}

/** Runs what writes tickets. Without events and what else commits with them it is one statement, which needs no other transaction. */
function inOneCommit<T>(scope: Scope, tickets: TicketToInsert[], work: (scope: Scope) => Promise<T>): Promise<T> {
  const has_more = tickets.some(({ references, scope }) => references.subscribers.length > 0 || scope.alongside)
  return has_more ? inTransaction(scope, work) : asStatement(scope, work)
}

/** Writes tickets and publishes their events. @returns undefined for a ticket whose contact is missing or left out */
async function write(
  scope: Scope,
  tickets: TicketToInsert[],
  locked_contacts: 'wait' | 'leave out',
): Promise<(Ticket | undefined)[]> {
  const written = await insertTickets(scope.sql, tickets, locked_contacts)
  const published = tickets.flatMap(({ references: { subscribers }, message }, index) => {
    const ticket = written[index]
    const { organization_id } = tickets[index]!.scope
    return ticket && subscribers.length > 0 ? { organization_id, subscribers, ticket, message } : []
  })
  if (published.length > 0) await publishNew(scope, published)
  return written
}

type NewlyWritten = {
  organization_id: string
  subscribers: Subscriber[]
  ticket: Ticket
  message: DraftWithId | undefined
}

async function publishNew(scope: Scope, written: NewlyWritten[]): Promise<void> {
  const heard = written.filter(({ subscribers }) => hasSubscriber(subscribers, 'message.created'))
  const keys = heard.flatMap(({ organization_id, message }) => (message ? { organization_id, id: message.id } : []))
  const messages = keys.length > 0 ? await getMessages(scope.sql, keys) : new Map<string, Message>()
  await publishEach(
    scope,
    written.map(({ organization_id, subscribers, ticket, message }) => {
      const events: NewEvent[] = [{ type: 'ticket.created', data: ticket }]
      if (ticket.assignee) events.push({ type: 'ticket.assigned', data: ticket })
      const shown = message && messages.get(message.id)
      if (shown) events.push(createdEvent(shown, ticket))
      return { organization_id, events, subscribers }
    }),
  )
}

/** The description as a message of the contact, for which no email is sent; undefined without one. */
function draftOf(description: string | undefined, contact: NewTicketReferences['contact']): DraftWithId | undefined {
  if (!description || isBlank(description)) return undefined
  return {
    id: newId(),
    body: description,
    ...renderBody(description),
    is_internal: false,
    direction: 'inbound',
    sender_name: contact.name,
    sender_email: contact.email,
  }
}
