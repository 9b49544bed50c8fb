/**
 * Creates tickets. Requests that come at the same time share a transaction, which looks up what they name, takes their
 * numbers, and writes.
 */
import { newId } from '../db/columns'
import { sharingKey } from '../db/sharing'
import { isAway } from '../db/violations'
import { ApiError, unknownIds } from '../errors'
import { byOrganization } from '../flow/by-organization'
import { gatheredBy } from '../flow/gather'
import { turns } from '../flow/turns'
import { type RenderedBody, showsNothing } from '../html/body'
import { render } from '../html/render'
import { createdEvent } from '../messages/commands'
import type { DraftWithId } from '../messages/draft'
import type { Message } from '../messages/model'
import { getMessages } from '../messages/queries'
import { inTransaction, type Scope, together } from '../scope'
import { currentTraceparent } from '../tracing/trace'
import { hasSubscriber, type NewEvent, publishEach } from '../webhooks/publish'
import { takeNumbers, takeNumbersInside } from './code'
import { type Inserted, insertTickets, lockNamed, showInserted, type TicketToInsert } from './insert-tickets'
import type { NewTicket, Ticket } from './model'
import { findReferences, type NewTicketReferences } from './references'

/** A ticket with a longer description is written alone, so that the statement of many tickets stays small. */
const SHARED_MOST_CHARACTERS = 20_000

/** Tickets that may wait for locked rows at the same time. Each holds a connection, and others need the rest of the pool. */
const WAITING_MOST = 3

type Body = RenderedBody & { body: string }

/** A ticket that was asked for. */
type Request = Pick<TicketToInsert, 'scope' | 'id' | 'traceparent'> & {
  input: NewTicket
  /** The description, as a message keeps it. */
  body: Body | undefined
  /** Of its ticket, once it was taken: another attempt to write it takes none. */
  number?: number
}

/** What became of a request: refused, or a ticket. It has no row when it was left out, or when its contact is missing. */
type Outcome = ApiError | { ticket: TicketToInsert; row: Inserted | undefined }

/**
 * Creates a ticket with its description as the first message.
 * @throws CONTACT_NOT_FOUND, USER_NOT_FOUND, LABEL_NOT_FOUND
 */
export async function createTicket(scope: Scope, input: NewTicket): Promise<Ticket> {
  // The id is made before the transaction begins, so that the time of creation is not after that of the last change.
  const body = await bodyOf(input.description, scope.organization_id)
  const request = { scope, id: newId(), input, body, traceparent: currentTraceparent() }
  const writeNow = () => inTransaction(scope, (scope) => writeAlone(scope, request))
  const is_long = (request.body?.body.length ?? 0) > SHARED_MOST_CHARACTERS
  if (is_long || scope.after_commit || scope.before_commit) return writeNow()
  const outcome = await writeShared(request)
  if (outcome instanceof ApiError) throw outcome
  const { ticket, row } = outcome
  return row ? showInserted(scope, ticket, row) : waitTurn(writeNow, scope.organization_id)
}

const waitTurn = turns(WAITING_MOST)

/**
 * One transaction at a time, as long as none waits for a lock: requests that come at the same time share it. One whose
 * connection was lost may have been committed, so it is not run again.
 */
const writeShared = gatheredBy(({ scope }: Request) => sharingKey(scope.organization_id), writeAll, {
  most_runs: 4,
  patience_ms: 20,
  mayRepeat: (error) => !isAway(error),
})

/**
 * Writes tickets of several requests. One whose contact or label is locked by others is left out, so that nobody waits for
 * it. The result is rows: a read that failed after the commit would make the requests write their tickets again.
 */
async function writeAll(requests: Request[]): Promise<Outcome[]> {
  const outcomes = await inTransaction({ ...requests[0]!.scope, alongside: undefined }, (scope) =>
    write(scope, requests, true),
  )
  // Each request was listed with its ticket, and only if that is written.
  for (const outcome of outcomes)
    if (!(outcome instanceof ApiError) && outcome.row) outcome.ticket.scope.alongside?.added()
  return outcomes
}

/** @throws CONTACT_NOT_FOUND, USER_NOT_FOUND, LABEL_NOT_FOUND */
async function writeAlone(scope: Scope, request: Request): Promise<Ticket> {
  const [outcome] = await write(scope, [request], false)
  if (outcome instanceof ApiError) throw outcome
  const { ticket, row } = outcome!
  if (!row) throw unknownIds('CONTACT_NOT_FOUND', '/contact_id', [ticket.references.contact.id])
  return showInserted(scope, ticket, row)
}

/**
 * Looks up what requests name, writes their tickets and publishes the events, in the caller's transaction.
 * @param is_shared the requests do not wait for rows that others have locked, and each is listed with its ticket
 */
async function write(shared: Scope, requests: Request[], is_shared: boolean): Promise<Outcome[]> {
  const { sql } = shared
  const found = await byOrganization(requests, organizationOf, (own, organization_id) =>
    findReferences(
      { sql, organization_id },
      own.map(({ input }) => input),
    ),
  )
  const accepted = requests.flatMap((request, index) => {
    const references = found[index]!
    return references instanceof ApiError ? [] : { request, scope: request.scope, references }
  })
  if (accepted.length === 0) return found as ApiError[]
  // Before tickets lock anything: the numbers are taken on another connection.
  const unnumbered = accepted.flatMap(({ request }) => (request.number === undefined ? request : []))
  await giveNumbers(unnumbered, is_shared ? takeNumbers : takeNumbersInside)
  const locked = await lockNamed(sql, accepted, is_shared ? 'leave out' : 'wait')
  const tickets = accepted.map(({ request, references }) => ticketOf(request, references, is_shared))
  const rows = await insertTickets(sql, tickets, locked)
  await publishNew(shared, tickets, rows)
  const by_id = new Map(tickets.map((ticket) => [ticket.id, { ticket, row: rows.get(ticket.id) }]))
  return requests.map(({ id }, index) => by_id.get(id) ?? (found[index] as ApiError))
}

function organizationOf({ scope }: Pick<Request, 'scope'>): string {
  return scope.organization_id
}

/** Gives numbers to requests that have none yet. */
async function giveNumbers(requests: Request[], take: typeof takeNumbers): Promise<void> {
  if (requests.length === 0) return
  const numbers = await take(requests.map((request) => ({ organization_id: organizationOf(request), count: 1 })))
  for (const [index, request] of requests.entries()) request.number = numbers[index]!
}

function ticketOf(request: Request, references: NewTicketReferences, is_shared: boolean): TicketToInsert {
  const { scope, id, number, traceparent, body, input } = request
  const { subject, priority = 'normal' } = input
  const audit_row = is_shared ? scope.alongside?.entry() : undefined
  const message = body && draftOf(body, references.contact)
  return { scope, id, number: number!, subject, priority, references, message, audit_row, traceparent }
}

type NewlyWritten = Pick<TicketToInsert, 'references' | 'message' | 'traceparent'> & {
  /** Of the transaction, and the ticket's organization. */
  scope: Scope
  shown: Ticket
}

/** Publishes the events of new tickets that somebody listens to. */
async function publishNew(shared: Scope, tickets: TicketToInsert[], rows: Map<string, Inserted>): Promise<void> {
  const heard = tickets.filter(({ id, references }) => rows.has(id) && references.subscribers.length > 0)
  if (heard.length === 0) return
  const written = await together(
    heard.map(async (ticket): Promise<NewlyWritten> => {
      const scope = { ...shared, organization_id: organizationOf(ticket) }
      return { ...ticket, scope, shown: await showInserted(scope, ticket, rows.get(ticket.id)!) }
    }),
  )
  const messages = await readHeard(written)
  await publishEach(
    shared,
    written.map(({ scope: { organization_id }, references: { subscribers }, shown, message, traceparent }) => {
      const events: NewEvent[] = [{ type: 'ticket.created', data: shown }]
      if (shown.assignee) events.push({ type: 'ticket.assigned', data: shown })
      const first = message && messages.get(message.id)
      if (first) events.push(createdEvent(first, shown))
      return { organization_id, events, subscribers, traceparent }
    }),
  )
}

/** Reads the first messages that somebody listens to, by id. */
async function readHeard(written: NewlyWritten[]): Promise<Map<string, Message>> {
  const heard = written.flatMap(({ scope, message, references: { subscribers } }) =>
    message && hasSubscriber(subscribers, 'message.created') ? { scope, id: message.id } : [],
  )
  const found = await byOrganization(heard, organizationOf, async (own) => {
    const ids = own.map(({ id }) => id)
    const messages = await getMessages(own[0]!.scope, ids)
    return ids.flatMap((id) => messages.get(id) ?? [])
  })
  return new Map(found.map((message) => [message.id, message]))
}

/** @returns undefined for a description without text */
async function bodyOf(description: string | undefined, organization_id: string): Promise<Body | undefined> {
  if (!description) return undefined
  const rendered = await render(description, organization_id)
  return showsNothing(rendered) ? undefined : { body: description, ...rendered }
}

/** The description as a message of the contact, for which no email is sent. */
function draftOf(body: Body, contact: NewTicketReferences['contact']): DraftWithId {
  return {
    id: newId(),
    ...body,
    is_internal: false,
    direction: 'inbound',
    sender_name: contact.name,
    sender_email: contact.email,
  }
}
