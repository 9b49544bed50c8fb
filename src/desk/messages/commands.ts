import { addressKey } from '../../base/address/email'
import { config } from '../../base/config'
import { insertRows } from '../../base/db/insert-rows'
import { fieldError } from '../../base/errors'
import type { RenderedBody } from '../../base/html/body'
import { inTransaction, ruleOf, type Scope, together } from '../../base/scope'
import { enqueueWork } from '../../delivery/outbox/enqueue'
import { waitForFirstAttempt } from '../../delivery/outbox/first-attempt'
import { findAudience, type NewEvent, publish } from '../../delivery/webhooks/publish'
import { personId } from '../../http/request/permissions'
import { claimAttachments } from '../attachments/claim-uploads'
import { removeSoon } from '../attachments/removals'
import { requireNoHold } from '../holds/holds'
import { keepAll, keepPromises, readAll } from '../promises/keep'
import { judgeMarks } from '../read-marks/keep-marks'
import { addToSearch, rebuildSearch } from '../search/ticket-document'
import { recordActivity } from '../timeline/activity'
import { addToTickets, recount } from '../turn/turn'
import { addAnchors } from './add-anchors'
import { messageEntry } from './add-messages'
import { newMessageId } from './anchors'
import { type Conversation, lockConversation, nextMessageId } from './conversation'
import type { DraftEmail, DraftWithId, MessageDraft } from './draft'
import { insertMessages } from './insert-messages'
import { handOverPictures } from './keep-pictures'
import { requireNothingBetween } from './list-messages'
import { eventData, type TicketOfEvent } from './message-events'
import type { Message, NewMessage } from './model'
import { findMailboxAddress, planEmail } from './outgoing'
import { insertPictures, placePictures } from './pictures'
import { findMentioned, getMessage, getWritten } from './queries'
import { renderWritten, withHeld } from './written-text'

/** `locked_at` is the time of the change. */
type TicketOfMessage = TicketOfEvent & { locked_at: string; last_message_id: string | null }

/** The fields of a message that the caller gives, besides its text. */
type Written = Omit<NewMessage, 'after' | 'format' | 'body'> &
  Pick<MessageDraft, 'drafted_by' | 'begins_ticket' | 'mentions'> & {
    /** Stands below the text. */
    quoted?: Omit<Text, 'format'> & { attachment_ids: string[] }
  }

/** The text of a message, whose images are not placed yet. */
type Text = RenderedBody & { body: string }

/**
 * Writes a note or a public reply of the caller. When the reply goes out by email, it waits for the outcome of the
 * first attempt, up to EMAIL_INLINE_WAIT_MS.
 * @throws TICKET_NOT_FOUND, EMPTY_BODY, EMAIL_SEND_FAILED (asked for, and impossible from the start),
 *   ATTACHMENT_NOT_FOUND, USER_NOT_FOUND (named); for `after` MESSAGE_NOT_FOUND, PRECONDITION_FAILED (others wrote
 *   since)
 */
export async function createMessage(scope: Scope, ticket_id: string, input: NewMessage): Promise<Message> {
  const text = await renderWritten(scope, input)
  const write = async (scope: Scope) => {
    const conversation = await lockConversation(scope, ticket_id)
    const message = await addWritten(scope, conversation, input, text)
    if (input.after !== undefined) await requireNothingBetween(scope, ticket_id, input.after, message.id)
    return message
  }
  const message = await withHeld(scope, text.held, () => inTransaction(scope, write))
  return withFirstAttempt(scope, ticket_id, message)
}

/**
 * Adds a message of the caller to a ticket that the caller's transaction has locked.
 * @throws EMAIL_SEND_FAILED (asked for, and impossible from the start), ATTACHMENT_NOT_FOUND, USER_NOT_FOUND (named)
 */
export async function addWritten(
  scope: Scope,
  conversation: Conversation,
  input: Written,
  text: Text,
): Promise<Message> {
  return addMessage(scope, conversation, await draftReply(scope, conversation, input, text))
}

/**
 * Waits for the outcome of the first attempt to send a message, up to EMAIL_INLINE_WAIT_MS, and reads it again. The
 * message is stored whatever happens now: an error here would make the client write it twice.
 */
export async function withFirstAttempt(scope: Scope, ticket_id: string, message: Message): Promise<Message> {
  if (message.email_status !== 'queued') return message
  await waitForFirstAttempt(scope, message.id, config.EMAIL_INLINE_WAIT_MS)
  return getMessage(scope, ticket_id, message.id).catch(() => message)
}

/**
 * Removes a message and its attachments, but those that another one shows. If its email has not gone out yet, it is not
 * sent any more.
 * @throws TICKET_NOT_FOUND, MESSAGE_NOT_FOUND, ON_HOLD
 */
export async function deleteMessage(scope: Scope, ticket_id: string, id: string): Promise<void> {
  await inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    const ticket = await lockConversation(scope, ticket_id)
    const message = await getMessage(scope, ticket_id, id)
    await requireNoHold(scope, [ticket_id])
    await handOverPictures(scope, scope.sql`m.id = ${id}`)
    // A ticket that was split off may hand a picture over to it at the same time.
    await sql`select 1 from messages where organization_id = ${organization_id} and id = ${id} for update`
    const attached = await sql<{ storage_key: string }[]>`
      select storage_key from attachments where organization_id = ${organization_id} and message_id = ${id}`
    await removeSoon(sql, attached)
    await sql`delete from outbox where organization_id = ${organization_id} and id = ${id}`
    // On a cluster no foreign key clears it.
    await sql`
      update email_anchors set message_id = null
      where organization_id = ${organization_id} and message_id = ${id}`
    await sql`delete from messages where organization_id = ${organization_id} and id = ${id}`
    await recount(scope, [ticket_id])
    await keepPromises(scope, [ticket_id])
    await judgeMarks(scope, [ticket_id])
    await rebuildSearch(scope, ticket_id)
    await recordActivity(scope, ticket_id, [
      { type: 'message_deleted', data: { message_id: id, is_internal: message.is_internal } },
    ])
    await publish(scope, [{ type: 'message.deleted', data: eventData(message, ticket) }])
  })
}

/**
 * Adds a message to a ticket, in the caller's transaction, with all that belongs to it: attachments, email, anchor,
 * activity, search words and event.
 * @throws ATTACHMENT_NOT_FOUND
 */
export async function addMessage(scope: Scope, ticket: TicketOfMessage, draft: MessageDraft): Promise<Message> {
  const id = draft.id ?? nextMessageId(ticket)
  const rule = ruleOf(scope.actor)
  const by_rule = rule && { rule_id: rule.id, auto_reply: true }
  const written = { ...draft, id, author_id: personId(scope), ...by_rule }
  const [, , , , audience, read, ...facts] = await together([
    writeMessage(scope, ticket.id, written),
    addToTickets(scope, [{ ...ticket, ticket_id: ticket.id, draft: written }]),
    completeMessage(scope, ticket.id, written),
    addToSearch(scope, { ...ticket, ticket_id: ticket.id, text: draft.text }),
    findAudience(scope),
    // Is sent behind the rows that it reads.
    getWritten(scope, [written]),
    ...readAll(scope, [ticket.id]),
  ])
  await keepAll(scope, facts, 'later')
  const message = read.get(id)!
  await publish(scope, [createdEvent(message, ticket)], { audience })
  return message
}

/** Adds the dependents of a message just inserted: attachments, email and anchors. @throws ATTACHMENT_NOT_FOUND */
async function completeMessage(scope: Scope, ticket_id: string, draft: DraftWithId): Promise<void> {
  await together([
    claimAttachments(scope, draft.id, draft.attachment_ids ?? []),
    insertPictures(scope, [draft]),
    draft.email && enqueueEmail(scope, draft.id, draft.email),
    addAnchors(scope, [{ ticket_id, draft }]),
  ])
}

/** The event of a new message. */
export function createdEvent(message: Message, ticket: TicketOfEvent): NewEvent {
  return { type: 'message.created', data: eventData(message, ticket) }
}

async function draftReply(
  scope: Scope,
  conversation: Conversation,
  input: Written,
  given: Text,
): Promise<MessageDraft> {
  const { actor } = scope
  const { is_internal = false, send_email, attachment_ids = [], cc, quote, drafted_by, begins_ticket, quoted } = input
  const mentions = input.mentions ?? (await findMentioned(scope, input.mention_user_ids ?? []))
  const id = nextMessageId(conversation)
  const { format, text } = given
  const on_ticket = { ...given, ticket_id: conversation.id, source: 'team' as const }
  const { body, body_html, uploads, pictures } = await placePictures(scope, on_ticket)
  const draft = {
    id,
    ...{ format, is_internal },
    body: body + (quoted?.body ?? ''),
    body_html: body_html + (quoted?.body_html ?? ''),
    text: text + (quoted?.text ?? ''),
    attachment_ids: [...new Set([...attachment_ids, ...uploads, ...(quoted?.attachment_ids ?? [])])],
    picture_ids: pictures,
    mentions,
    drafted_by,
    begins_ticket,
    sender_name: actor.name,
    sender_email: actor.email ?? (await findMailboxAddress(scope, conversation)),
  }
  if (is_internal) return { ...draft, direction: null }
  const plan =
    send_email === false ? undefined : await planEmail(scope, conversation, cc, begins_ticket ? 'none' : quote)
  if (!plan) {
    if (send_email) throw fieldError('EMAIL_SEND_FAILED', '/send_email', whyImpossible(conversation))
    return { ...draft, direction: 'outbound', cc }
  }
  const { domain, ...outgoing } = plan
  return {
    ...draft,
    direction: 'outbound',
    cc: outgoing.recipients.filter(({ kind }) => kind === 'cc').map(({ email }) => email),
    email_message_id: newMessageId(id, domain),
    email: outgoing,
  }
}

function whyImpossible({ contact_email }: Conversation): string {
  return contact_email === null ? 'The ticket has no contact' : 'There is no active mailbox that can send'
}

/** Writes the row and its entry in the timeline. */
async function writeMessage(scope: Scope, ticket_id: string, message: DraftWithId): Promise<void> {
  const { sql, organization_id } = scope
  await together([
    insertMessages(sql, [{ organization_id, ticket_id, draft: message }]),
    recordActivity(scope, ticket_id, [messageEntry(message)]),
  ])
}

async function enqueueEmail(scope: Scope, message_id: string, { mailbox_id, recipients }: DraftEmail): Promise<void> {
  const { sql, organization_id } = scope
  const rows = recipients.map(({ kind, name, email }, position) => {
    return { organization_id, message_id, position, kind, name, email, email_key: addressKey(email) }
  })
  await together([insertRows(sql, 'message_recipients', rows), enqueueWork(scope, 'email', message_id, mailbox_id)])
}
