/**
 * Creates tickets. Requests that come at the same time share a transaction, which looks up what they name, takes their
 * numbers, and writes.
 */
import { newId, timeOfId, toInstant } from '../../base/db/columns'
import { isAway } from '../../base/db/violations'
import { ApiError, unknownIds } from '../../base/errors'
import { requireFree } from '../../base/external-ids'
import { gathered } from '../../base/flow/gather'
import { turns } from '../../base/flow/turns'
import { inTransaction, type Scope, together } from '../../base/scope'
import { asIds } from '../../base/shapes/ids'
import { currentTraceparent } from '../../base/tracing/trace'
import { type Audience, publishEach } from '../../delivery/webhooks/publish'
import { permits, personId } from '../../http/request/permissions'
import type { Custom } from '../custom/model'
import { changedCustom } from '../custom/values'
import { createdEvent } from '../messages/commands'
import type { DraftWithId } from '../messages/draft'
import { showNew } from '../messages/insert-messages'
import type { Message } from '../messages/model'
import { placePictures } from '../messages/pictures'
import { getWritten } from '../messages/queries'
import { type WrittenText, withHeld } from '../messages/written-text'
import { promiseNew } from '../promises/keep'
import { type Assignee, type Coming, choose, keepTurns, lockCandidates } from '../teams/assign'
import { newTurn } from '../turn/shown-turn'
import { eventsOfNew } from './changes'
import { numberTaken, takeNumbers, takeNumbersInside } from './code'
import { type Body, draftOf, renderDescription } from './description'
import { type Locked, lockNamed } from './lock-named'
import type { NewTicket, Ticket } from './model'
import { getTicketSummary } from './queries'
import { findReferences, type NewTicketReferences } from './references'
import { newFields } from './ticket-fields'
import { changedAt, promisedParts, type TicketToWrite, writeTickets } from './write-tickets'

/** A ticket with a longer description is written alone, so that the statement of many tickets stays small. */
const SHARED_MOST_CHARACTERS = 20_000

/**
 * Tickets that may wait for locked rows at the same time. Each holds a connection, and others need the rest of the
 * pool.
 */
const WAITING_MOST = 3

/** A description that is rendered, and whose pictures are stored. */
type Described = { text: WrittenText | undefined }

/** A ticket that was asked for. */
type Request = {
  scope: Scope
  id: string
  /** The trace of the request. */
  traceparent: string | null
  input: NewTicket
  custom: Custom
  /** The description, as a message keeps it. */
  body: Body | undefined
  /** Number of its ticket, once it was taken: another attempt to write it takes none. */
  number?: number | undefined
}

/** A ticket that is written for a request. */
type Created = TicketToWrite & {
  scope: Scope
  /** As answers show it; undefined when its contact has got another company since it was looked up. */
  shown: Ticket | undefined
  /** The first message as answers show it. */
  message: Message | undefined
  audience: Audience
  traceparent: string | null
}

/** A request whose references are there. */
type Accepted = { request: Request; references: NewTicketReferences }

/** The outcome of a request: refused, or a ticket; null when it was left out, or when its contact is missing. */
type Outcome = ApiError | Created | null

/**
 * Creates a ticket with its description as the first message.
 * @param described the description, when the caller has begun a transaction: its pictures are stored before that
 * @throws INVALID_CUSTOM, CONTACT_NOT_FOUND, USER_NOT_FOUND, TEAM_NOT_FOUND, LABEL_NOT_FOUND
 */
export async function createTicket(scope: Scope, input: NewTicket, described?: Described): Promise<Ticket> {
  // The id is made before the transaction begins, so that the time of creation is not after that of the last change.
  const custom = changedCustom({}, input.custom)
  const body = described ? described.text : await renderDescription(scope, input)
  const request: Request = { scope, id: newId(), input, custom, body, traceparent: currentTraceparent() }
  if (body?.body_html.includes('<img ')) return writeWithPictures(request, body)
  const writeNow = () => inTransaction(scope, (scope) => writeAlone(scope, request))
  const is_long = (request.body?.body.length ?? 0) > SHARED_MOST_CHARACTERS
  // The lock of an external id is not waited for together with others.
  const is_named = typeof input.external_id === 'string'
  if (is_long || is_named || scope.after_commit || scope.before_commit) return writeNow()
  const outcome = await writeShared(request)
  if (outcome instanceof ApiError) throw outcome
  return outcome ? show(scope, outcome) : waitTurn(writeNow, scope.organization_id)
}

/** Writes a ticket whose description shows images: uploads among them become files of the first message. */
function writeWithPictures({ scope, ...request }: Request, text: WrittenText): Promise<Ticket> {
  const write = async (scope: Scope) => {
    const { body, body_html, uploads } = await placePictures(scope, { ...text, ticket_id: request.id, source: 'team' })
    return writeAlone(scope, { ...request, scope, body: { ...text, body, body_html, attachment_ids: uploads } })
  }
  return withHeld(scope, text.held, () => inTransaction(scope, write), '/description')
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
  for (const outcome of outcomes) if (outcome && !(outcome instanceof ApiError)) outcome.scope.alongside?.added()
  return outcomes
}

/** @throws CONTACT_NOT_FOUND, USER_NOT_FOUND, LABEL_NOT_FOUND */
async function writeAlone(scope: Scope, request: Request): Promise<Ticket> {
  await requireFree(scope, 'tickets', request.input.external_id)
  const [outcome] = await write(scope, [request], false)
  if (outcome instanceof ApiError) throw outcome
  if (!outcome) throw unknownIds('CONTACT_NOT_FOUND', '/contact_id', asIds([request.input.contact_id]))
  return show(scope, outcome)
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
  const coming = accepted.flatMap(comingOf)
  const [locked, candidates] = await together([
    lockNamed(shared, accepted, is_shared ? 'leave out' : 'wait'),
    lockCandidates(
      shared,
      coming.map(({ team_id }) => team_id),
    ),
  ])
  const writable = accepted.filter(({ references }) => isLocked(references, locked))
  const given = choose(candidates, writable.flatMap(comingOf))
  const tickets = writable.map(({ request, references }) => {
    return ticketOf(request, references, { locked, given_to: given.get(request.id), is_shared })
  })
  const also = () => together([publishNew(shared, tickets), keepTurns(shared, candidates)])
  await writeTickets(shared, tickets, also).catch((error) => {
    const told = numberTaken(error)
    // Then all take new ones.
    if (told !== error) for (const { request } of accepted) request.number = undefined
    throw told
  })
  const by_id = new Map(tickets.map((ticket) => [ticket.id, ticket]))
  return requests.map(({ id }, index) => {
    const references = found[index]!
    return references instanceof ApiError ? references : (by_id.get(id) ?? null)
  })
}

/** Gives numbers to requests that have none yet. */
async function giveNumbers({ organization_id }: Scope, requests: Request[], take: typeof takeNumbers): Promise<void> {
  if (requests.length === 0) return
  const first = await take(organization_id, requests.length)
  for (const [index, request] of requests.entries()) request.number = first + index
}

/** Tells if all that a ticket names is locked. */
function isLocked({ contact, labels, team }: NewTicketReferences, locked: Locked): boolean {
  const is_team_locked = team === null || locked.teams.has(team.id)
  return locked.contacts.has(contact.id) && labels.every(({ id }) => locked.labels.has(id)) && is_team_locked
}

/** A ticket that comes to a team without an assignee. */
function comingOf({ request, references: { team, assignee } }: Accepted): Coming[] {
  return team && !assignee ? [{ id: request.id, team_id: team.id }] : []
}

type Settled = { locked: Locked; given_to: Assignee | undefined; is_shared: boolean }

function ticketOf(request: Request, found: NewTicketReferences, { locked, given_to, is_shared }: Settled): Created {
  const { scope, id, number, traceparent, body, input, custom } = request
  const { prefix, organization_number, audience, contact, company, team, mailbox, labels, parent } = found
  const assignee = given_to ?? found.assignee
  const company_id = locked.contacts.get(contact.id) ?? null
  const { organization_id, actor } = scope
  const code = `${prefix}-${number}`
  const updated_at = changedAt(locked.locked_at, id)
  const fields = newFields(input, { contact, company, assignee, team, mailbox, labels, parent, custom })
  const times = { created_at: toInstant(timeOfId(id)), updated_at: toInstant(updated_at) }
  const first = body && draftOf(body, contact)
  const turn = newTurn(first, permits(scope, 'drafts:read') ? 0 : null)
  const marks = { unread: isUnread(scope, assignee, first), read_to: null }
  const is_same = company_id === (company?.id ?? null)
  const settled = is_same ? fields : { ...fields, company: company_id ? { id: company_id } : null }
  const promised = promiseNew(locked.policies, promisedParts(id, settled, first))
  return {
    ...{ scope, id, number: number!, code, updated_at, organization_number, actor, first, audience, traceparent },
    given_to,
    fields: settled,
    promised,
    audit_row: is_shared ? scope.alongside?.entry() : undefined,
    // In the order of `present`, so that both have one tag.
    shown: is_same
      ? {
          id,
          code,
          ...fields,
          merged_into: null,
          split_from: null,
          sla: promised?.sla ?? null,
          ...turn,
          ...marks,
          ...times,
        }
      : undefined,
    message: first && showNew({ organization_id, draft: first }),
  }
}

/** Tells if a new ticket is unread by its caller. @returns null for one who reads nothing, such as an API key */
function isUnread(scope: Scope, assignee: Ticket['assignee'], first: DraftWithId | undefined): boolean | null {
  const reader_id = personId(scope)
  if (reader_id === null) return null
  return first !== undefined && first.author_id !== reader_id && (assignee?.id ?? reader_id) === reader_id
}

/** The ticket as answers show it. */
async function show(scope: Scope, { id, shown }: Created): Promise<Ticket> {
  return shown ?? getTicketSummary(scope, id)
}

/** Publishes the events of new tickets, which were sent to the database before. */
async function publishNew(shared: Scope, tickets: Created[]): Promise<void> {
  const [shown, read] = await together([
    together(tickets.map((ticket) => show(shared, ticket))),
    // The others are as they were written.
    getWritten(
      shared,
      tickets.flatMap(({ first }) => (first?.attachment_ids?.length ? first : [])),
    ),
  ])
  await publishEach(
    shared,
    tickets.map(({ message, audience, traceparent, scope: { actor } }, index) => {
      const ticket = shown[index]!
      const events = eventsOfNew(ticket)
      if (message) events.push(createdEvent(read.get(message.id) ?? message, ticket))
      return { events, audience, traceparent, actor }
    }),
  )
}
