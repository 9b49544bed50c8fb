import { newId } from '../db/columns'
import { unknownIds } from '../errors'
import { isBlank, renderBody } from '../html/body'
import { messageEntry } from '../messages/add-messages'
import { completeMessage, createdEvent, insertMessage } from '../messages/commands'
import type { DraftWithId, MessageDraft } from '../messages/draft'
import { getMessage } from '../messages/queries'
import { asStatement, inTransaction, type Scope, together } from '../scope'
import { newDocument, rebuildSearch } from '../search/ticket-document'
import { type ActivityEntry, insertActivities, recordActivity } from '../timeline/activity'
import { stopTimersOfTicket } from '../timers/commands'
import { type NewEvent, publish, type Subscriber } from '../webhooks/publish'
import { activityOf, changesOf, eventsOf, labelChanges } from './changes'
import { takeNumber } from './code'
import type { NewTicket, Ticket } from './model'
import { lockTicket } from './queries'
import { findReferences, type NewTicketReferences, resolveUpdate, type TicketUpdate } from './references'
import { fields, present, type TicketRow, withNames } from './row'

type TicketInput = NewTicket & {
  /** When the caller has to know it before the ticket is written. */
  id?: string
  /** The mailbox that received the conversation. */
  mailbox_id?: string | null
}

/**
 * Creates a ticket with its first message.
 * @param first the first message, when it came by email; without it the description becomes the first message
 * @throws CONTACT_NOT_FOUND, USER_NOT_FOUND, LABEL_NOT_FOUND
 */
export async function createTicket(scope: Scope, input: TicketInput, first?: MessageDraft): Promise<Ticket> {
  const references = await findReferences(scope, input)
  const number = await takeNumber(scope)
  // Made before the transaction begins, so that the time of creation is not after that of the last change.
  const { id = newId() } = input
  const draft = first ?? draftOf(input.description, references.contact)
  const message = draft && { ...draft, id: draft.id ?? newId() }
  const has_subscribers = references.subscribers.length > 0
  const write = async (scope: Scope) => {
    const [ticket] = await together([
      insertTicket(scope, { ...input, id, number }, references, message),
      message && completeMessage(scope, id, message),
    ])
    if (has_subscribers) await publishNew(scope, ticket, message, references.subscribers)
    return ticket
  }
  // Without an email and without events all is one statement: a description is written with its ticket.
  return first || has_subscribers ? inTransaction(scope, write) : asStatement(scope, write)
}

/**
 * Changes a ticket: the one way for PATCH, assign, unassign, labels and reopening by email. All of an update is applied or
 * nothing; no change, no event.
 * @throws TICKET_NOT_FOUND, INVALID_STATUS, USER_NOT_FOUND, LABEL_NOT_FOUND
 */
export function updateTicket(scope: Scope, id: string, update: TicketUpdate): Promise<Ticket> {
  return inTransaction(scope, async (scope) => {
    const before = await lockTicket(scope, id)
    const wanted = { ...before, ...(await resolveUpdate(scope, before, update)) }
    const changes = changesOf(before, wanted)
    if (Object.keys(changes).length === 0) return before
    const after = { ...wanted, updated_at: await writeTicket(scope, before, wanted) }
    if (changes.subject) await rebuildSearch(scope, id)
    await recordActivity(scope, id, activityOf(before, after, changes))
    await publish(scope, eventsOf(before, after, changes))
    return after
  })
}

/**
 * Hides the ticket with its messages and attachments. The time logged on it stays in time entries, and running timers are
 * logged now. A job removes the rows later (`purge.ts`).
 * @throws TICKET_NOT_FOUND
 */
export async function deleteTicket(scope: Scope, id: string): Promise<void> {
  await inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    const ticket = await lockTicket(scope, id)
    await stopTimersOfTicket(scope, id)
    await sql`
      with search as (
        delete from ticket_search where organization_id = ${organization_id} and ticket_id = ${id}
      )
      update tickets set deleted_at = now() where organization_id = ${organization_id} and id = ${id}`
    await publish(scope, [{ type: 'ticket.deleted', data: ticket }])
  })
}

/** The description as a message of the contact, for which no email is sent; undefined without one. */
function draftOf(description: string | undefined, contact: NewTicketReferences['contact']): MessageDraft | undefined {
  if (!description || isBlank(description)) return undefined
  return {
    body: description,
    ...renderBody(description),
    is_internal: false,
    direction: 'inbound',
    sender_name: contact.name,
    sender_email: contact.email,
  }
}

async function publishNew(
  scope: Scope,
  ticket: Ticket,
  message: DraftWithId | undefined,
  subscribers: Subscriber[],
): Promise<void> {
  const events: NewEvent[] = [{ type: 'ticket.created', data: ticket }]
  if (ticket.assignee) events.push({ type: 'ticket.assigned', data: ticket })
  if (message) events.push(createdEvent(await getMessage(scope, ticket.id, message.id), ticket))
  await publish(scope, events, { subscribers })
}

/**
 * Writes ticket, labels, first message, search document and timeline in one statement. It locks the contact's row, so that
 * a company that the contact gets at the same time reaches this ticket too.
 */
async function insertTicket(
  scope: Scope,
  { id, number, subject, priority = 'normal', mailbox_id = null }: TicketInput & { id: string; number: number },
  { contact, assignee_id, labels, prefix, organization_number }: NewTicketReferences,
  message: DraftWithId | undefined,
): Promise<Ticket> {
  const { sql, organization_id } = scope
  const code = `${prefix}-${number}`
  const { vector, size } = newDocument(organization_number, code, subject, message?.text ?? '')
  const timeline: ActivityEntry[] = [{ type: 'created', data: {} }]
  if (message) timeline.push(messageEntry(message))
  const [row] = await sql<TicketRow[]>`
    with contact as materialized (
      select id, company_id from contacts where organization_id = ${organization_id} and id = ${contact.id} for share
    ), t as (
      insert into tickets (organization_id, id, number, code, subject, priority,
        contact_id, company_id, assignee_id, mailbox_id, updated_at)
      select ${organization_id}, ${id}, ${number}, ${code}, ${subject}, ${priority},
        contact.id, contact.company_id, ${assignee_id}, ${mailbox_id}, greatest(clock_timestamp(), uuid_time(${id}))
      from contact
      returning *
    ), labelled as (
      insert into ticket_labels (organization_id, ticket_id, label_id)
      select t.organization_id, t.id, unnest(${labels.map((label) => label.id)}::uuid[]) from t
    ), searchable as (
      insert into ticket_search (organization_id, ticket_id, document, size)
      select t.organization_id, t.id, ${vector}::tsvector, ${size} from t
    ), timeline as (
      ${insertActivities(scope, id, timeline, sql`, t`)}
    )
    ${message ? sql`, message as (${insertMessage(scope, id, message, sql`from t`)})` : sql``}
    select ${fields(sql)} from t ${withNames(sql)}`
  if (!row) throw unknownIds('CONTACT_NOT_FOUND', '/contact_id', [contact.id])
  return { ...present(row), labels }
}

/**
 * Writes labels and ticket. By two statements: the trigger that counts a changed status must find the labels as they stay.
 * @returns the time of the change. It is the clock's, because `now()` is from before the wait for the lock
 */
async function writeTicket(scope: Scope, before: Ticket, after: Ticket): Promise<string> {
  const { sql, organization_id } = scope
  const { id, subject, status, priority, assignee } = after
  const { added, removed } = labelChanges(before, after)
  const [, [row]] = await together([
    added.length + removed.length > 0 && writeLabels(scope, id, added, removed),
    sql<{ updated_at: string }[]>`
      update tickets set subject = ${subject}, status = ${status}, priority = ${priority},
        assignee_id = ${assignee?.id ?? null}, updated_at = clock_timestamp()
      where organization_id = ${organization_id} and id = ${id}
      returning updated_at`,
  ])
  return row!.updated_at
}

async function writeLabels(
  scope: Scope,
  id: string,
  added: { id: string }[],
  removed: { id: string }[],
): Promise<void> {
  const { sql, organization_id } = scope
  await sql`
    with removed as (
      delete from ticket_labels
      where organization_id = ${organization_id} and ticket_id = ${id}
        and label_id = any(${removed.map((label) => label.id)}::uuid[])
    )
    insert into ticket_labels (organization_id, ticket_id, label_id)
    select ${organization_id}, ${id}, unnest(${added.map((label) => label.id)}::uuid[])`
}
