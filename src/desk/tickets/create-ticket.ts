/**
 * Creates tickets. Requests that come at the same time share a transaction, which looks up what they name, takes their
 * numbers, and writes.
 */
import { newId } from '../../base/db/columns'
import { isAway } from '../../base/db/violations'
import { ApiError, unknownIds } from '../../base/errors'
import { requireFree } from '../../base/external-ids'
import { gathered } from '../../base/flow/gather'
import { turns } from '../../base/flow/turns'
import { type RenderedBody, showsNothing } from '../../base/html/body'
import { render } from '../../base/html/render'
import { inTransaction, type Scope, together } from '../../base/scope'
import { currentTraceparent } from '../../base/tracing/trace'
import { type NewEvent, publishEach } from '../../delivery/webhooks/publish'
import type { Custom } from '../custom/model'
import { changedCustom } from '../custom/values'
import { createdEvent } from '../messages/commands'
import type { DraftWithId } from '../messages/draft'
import { numberTaken, takeNumbers, takeNumbersInside } from './code'
import {
  documentsOf,
  type Inserted,
  insertedBy,
  insertTickets,
  lockNamed,
  showInserted,
  type TicketToInsert,
} from './insert-tickets'
import type { NewTicket, Ticket } from './model'
import { findReferences, type NewTicketReferences } from './references'

/** A ticket with a longer description is written alone, so that the statement of many tickets stays small. */
const SHARED_MOST_CHARACTERS = 20_000

/**
 * Tickets that may wait for locked rows at the same time. Each holds a connection, and others need the rest of the
 * pool.
 */
const WAITING_MOST = 3

type Body = RenderedBody & { body: string }

/** A ticket that was asked for. */
type Request = Pick<TicketToInsert, 'scope' | 'id' | 'traceparent'> & {
  input: NewTicket
  custom: Custom
  /** The description, as a message keeps it. */
  body: Body | undefined
  /** Number of its ticket, once it was taken: another attempt to write it takes none. */
  number?: number | undefined
}

/**
 * The outcome of a request: refused, or a ticket. It has no row when it was left out, or when its contact is missing.
 */
type Outcome = ApiError | { ticket: TicketToInsert; row: Inserted | undefined }

/**
 * Creates a ticket with its description as the first message.
 * @throws INVALID_CUSTOM, CONTACT_NOT_FOUND, USER_NOT_FOUND, LABEL_NOT_FOUND
 */
export async function createTicket(scope: Scope, input: NewTicket): Promise<Ticket> {
  // The id is made before the transaction begins, so that the time of creation is not after that of the last change.
  const custom = changedCustom({}, input.custom)
  const body = await bodyOf(input.description, scope.organization_id)
  const request = { scope, id: newId(), input, custom, body, traceparent: currentTraceparent() }
  const writeNow = () => inTransaction(scope, (scope) => writeAlone(scope, request))
  const is_long = (request.body?.body.length ?? 0) > SHARED_MOST_CHARACTERS
  // The lock of an external id is not waited for together with others.
  const is_named = typeof input.external_id === 'string'
  if (is_long || is_named || scope.after_commit || scope.before_commit) return writeNow()
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
const writeShared = gathered(writeAll, {
  key: ({ scope }: Request) => scope.organization_id,
  most_runs: 4,
  patience_ms: 20,
  mayRepeat: (error) => !isAway(error),
})

/**
 * Writes tickets of several requests. One whose contact or label is locked by others is left out, so that nobody waits
 * for it. The result is rows: a read that failed after the commit would make the requests write their tickets again.
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
  await requireFree(scope, 'tickets', request.input.external_id)
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
  const found = await findReferences(
    shared,
    requests.map(({ input }) => input),
  )
  const accepted = requests.flatMap((request, index) => {
    const references = found[index]!
    return references instanceof ApiError ? [] : { request, scope: request.scope, references }
  })
  if (accepted.length === 0) return found as ApiError[]
  // Before tickets lock anything: the numbers are taken on another connection.
  const unnumbered = accepted.flatMap(({ request }) => (request.number === undefined ? request : []))
  await giveNumbers(shared, unnumbered, is_shared ? takeNumbers : takeNumbersInside)
  const locked = await lockNamed(shared, accepted, is_shared ? 'leave out' : 'wait')
  const tickets = accepted.map(({ request, references }) => ticketOf(request, references, is_shared))
  const rows = insertedBy(tickets, locked)
  const documents = await documentsOf(tickets)
  const { locked_at } = locked
  await together([
    insertTickets(shared, tickets, { inserted: rows, documents, locked_at }),
    publishNew(shared, tickets, rows),
  ]).catch((error) => {
    const told = numberTaken(error)
    // Then all take new ones.
    if (told !== error) for (const { request } of accepted) request.number = undefined
    throw told
  })
  const by_id = new Map(tickets.map((ticket) => [ticket.id, { ticket, row: rows.get(ticket.id) }]))
  return requests.map(({ id }, index) => by_id.get(id) ?? (found[index] as ApiError))
}

/** Gives numbers to requests that have none yet. */
async function giveNumbers({ organization_id }: Scope, requests: Request[], take: typeof takeNumbers): Promise<void> {
  if (requests.length === 0) return
  const first = await take(organization_id, requests.length)
  for (const [index, request] of requests.entries()) request.number = first + index
}

function ticketOf(request: Request, references: NewTicketReferences, is_shared: boolean): TicketToInsert {
  const { scope, id, number, traceparent, body, input, custom } = request
  const { subject, priority = 'normal', external_id } = input
  const audit_row = is_shared ? scope.alongside?.entry() : undefined
  const message = body && draftOf(body, references.contact)
  return {
    scope,
    id,
    number: number!,
    subject,
    priority,
    custom,
    external_id,
    references,
    message,
    audit_row,
    traceparent,
  }
}

/** Publishes the events of new tickets, which were sent to the database before. */
async function publishNew(shared: Scope, tickets: TicketToInsert[], rows: Map<string, Inserted>): Promise<void> {
  const written = tickets.filter(({ id }) => rows.has(id))
  const shown = await together(written.map((ticket) => showInserted(shared, ticket, rows.get(ticket.id)!)))
  await publishEach(
    shared,
    written.map(({ id, references: { subscribers }, traceparent }, index) => {
      const ticket = shown[index]!
      const events: NewEvent[] = [{ type: 'ticket.created', data: ticket }]
      if (ticket.assignee) events.push({ type: 'ticket.assigned', data: ticket })
      const first = rows.get(id)!.message
      if (first) events.push(createdEvent(first, ticket))
      return { events, subscribers, traceparent }
    }),
  )
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
