/**
 * Creates tickets. Requests that come at the same time share each of the three steps: to look up what they name, to take
 * their numbers, and to write.
 */
import { newId } from '../db/columns'
import { isAway } from '../db/violations'
import { unknownIds } from '../errors'
import { gatheredBy } from '../flow/gather'
import { turns } from '../flow/turns'
import { isBlank, renderBody } from '../html/body'
import { createdEvent } from '../messages/commands'
import type { DraftWithId } from '../messages/draft'
import type { Message } from '../messages/model'
import { getMessages } from '../messages/queries'
import { inTransaction, type Scope, together } from '../scope'
import { currentTraceparent } from '../tracing/trace'
import { hasSubscriber, type NewEvent, publishEach, type Subscriber } from '../webhooks/publish'
import { takeNumber } from './code'
import { type Inserted, insertTickets, showInserted, type TicketToInsert } from './insert-tickets'
import type { NewTicket, Ticket } from './model'
import { findReferences, type NewTicketReferences } from './references'

/** A ticket with a longer description is written alone, so that the statement of many tickets stays small. */
const SHARED_MOST_CHARACTERS = 20_000

/** Tickets that may wait for locked rows at the same time. Each holds a connection, and others need the rest of the pool. */
const WAITING_MOST = 3

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
  const ticket = {
    scope,
    id: newId(),
    number,
    subject,
    priority,
    references,
    message,
    traceparent: currentTraceparent(),
  }
  const is_long = message !== undefined && message.body.length > SHARED_MOST_CHARACTERS
  // A statement that may wait for a lock runs in a transaction: the driver sends others behind it if it is not in one.
  const writeNow = () => inTransaction(scope, (scope) => writeAlone(scope, ticket))
  if (is_long || scope.after_commit || scope.before_commit) return writeNow()
  const row = await writeShared(ticket)
  return row ? showInserted(scope, ticket, row) : waitTurn(writeNow, scope.organization_id)
}

const waitTurn = turns(WAITING_MOST)

/**
 * One transaction of an organization at a time, as long as none waits for a lock: then requests that come at the same time
 * share it. One whose connection was lost may have been committed, so it is not run again.
 */
const writeShared = gatheredBy(({ scope }: TicketToInsert) => scope.organization_id, writeAll, {
  most_runs: 4,
  patience_ms: 20,
  mayRepeat: (error) => !isAway(error),
})

/**
 * Writes tickets of several requests. One whose contact or label is locked by others is left out, so that nobody waits for
 * it. The result is rows: a read that failed after the commit would make the requests write their tickets again.
 */
async function writeAll(tickets: TicketToInsert[]): Promise<(Inserted | undefined)[]> {
  // Each request is listed with its ticket, and only if that is written.
  const listed = tickets.map((ticket) => ({ ...ticket, audit_row: ticket.scope.alongside?.entry() }))
  const written = await inTransaction({ ...tickets[0]!.scope, alongside: undefined }, (scope) =>
    write(scope, listed, 'leave out'),
  )
  for (const [index, { scope, audit_row }] of listed.entries())
    if (audit_row && written[index]) scope.alongside?.added()
  return written
}

/** @throws CONTACT_NOT_FOUND */
async function writeAlone(scope: Scope, ticket: TicketToInsert): Promise<Ticket> {
  const [row] = await write(scope, [ticket], 'wait')
  if (!row) throw unknownIds('CONTACT_NOT_FOUND', '/contact_id', [ticket.references.contact.id])
  return showInserted(scope, ticket, row)
}

/** Writes tickets and publishes their events. @returns undefined for a ticket that is left out or whose contact is missing */
async function write(
  scope: Scope,
  tickets: TicketToInsert[],
  locked_rows: 'wait' | 'leave out',
): Promise<(Inserted | undefined)[]> {
  const rows = await insertTickets(scope, tickets, locked_rows)
  const published = tickets.flatMap((ticket, index) => {
    const row = rows[index]
    return row && ticket.references.subscribers.length > 0 ? newlyWritten(scope, ticket, row) : []
  })
  if (published.length > 0) await publishNew(scope, await together(published))
  return rows
}

type NewlyWritten = {
  subscribers: Subscriber[]
  ticket: Ticket
  message: DraftWithId | undefined
  traceparent: string | null
}

async function newlyWritten(scope: Scope, ticket: TicketToInsert, row: Inserted): Promise<NewlyWritten> {
  const { references, message, traceparent } = ticket
  return { subscribers: references.subscribers, ticket: await showInserted(scope, ticket, row), message, traceparent }
}

async function publishNew(scope: Scope, written: NewlyWritten[]): Promise<void> {
  const heard = written.filter(({ subscribers }) => hasSubscriber(subscribers, 'message.created'))
  const ids = heard.flatMap(({ message }) => message?.id ?? [])
  const messages = ids.length > 0 ? await getMessages(scope, ids) : new Map<string, Message>()
  const { organization_id } = scope
  await publishEach(
    scope,
    written.map(({ subscribers, ticket, message, traceparent }) => {
      const events: NewEvent[] = [{ type: 'ticket.created', data: ticket }]
      if (ticket.assignee) events.push({ type: 'ticket.assigned', data: ticket })
      const shown = message && messages.get(message.id)
      if (shown) events.push(createdEvent(shown, ticket))
      return { organization_id, events, subscribers, traceparent }
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
