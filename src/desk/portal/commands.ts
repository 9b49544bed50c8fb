/** Writes what customers write, in their name: as their mail would, but no mail is sent. */
import { newId } from '../../base/db/columns'
import { ApiError, fieldError } from '../../base/errors'
import { isLong, type RenderedBody, showsNothing } from '../../base/html/body'
import { render } from '../../base/html/render'
import { inTransaction, type Scope, together } from '../../base/scope'
import { publish } from '../../delivery/webhooks/publish'
import { type Customer, requireCustomer } from '../../http/request/permissions'
import { holdUploads } from '../attachments/claim-uploads'
import { discardUploads, uploadAttachment } from '../attachments/commands'
import { addMessage, createdEvent } from '../messages/commands'
import { lockConversation, nextMessageId } from '../messages/conversation'
import type { DraftWithId } from '../messages/draft'
import { EMPTY_BODY } from '../messages/model'
import { getMessage } from '../messages/queries'
import { addParticipants } from '../participants/commands'
import { rateTicket } from '../rating-requests/commands'
import type { NewRating } from '../ratings/model'
import { isFinished } from '../ratings/requests'
import { eventsOfNew } from '../tickets/changes'
import { openTickets } from '../tickets/open-tickets'
import { reopenTickets } from '../tickets/reopen'
import type { MyAttachment, MyMessage, MyRatedTicket, MyTicket, NewMyMessage, NewMyTicket } from './model'
import { contactOfShown, getMyTicket, getWritten } from './queries'

/** Opens a ticket of the customer. @throws EMPTY_BODY, ATTACHMENT_NOT_FOUND; INVALID_TOKEN when the token has ended */
export async function createMyTicket(scope: Scope, { subject, ...input }: NewMyTicket): Promise<MyTicket> {
  const rendered = await renderBody(scope, input.body)
  return inTransaction(scope, async (outer) => {
    const inner = await asCustomer(outer)
    const { actor } = inner
    // A ticket that is refused takes no number.
    await holdUploads(inner, input.attachment_ids ?? [])
    const [id, contact_id] = [newId(), actor.id]
    const first = draftOf(actor, newId(), input, rendered)
    const opened = await openTickets(inner, [{ id, subject, contact_id, mailbox_id: null, actor, first }])
    const { ticket } = opened.get(id)!
    const message = await getMessage(inner, id, first.id)
    await publish(inner, [...eventsOfNew(ticket), createdEvent(message, ticket)])
    const { rating: _, ...opened_ticket } = await getMyTicket(inner, id)
    return opened_ticket
  })
}

/**
 * Writes a message of the customer, which opens the ticket again. Who writes in the ticket of a colleague takes part in
 * it from then on.
 * @throws TICKET_NOT_FOUND, TICKET_MERGED, EMPTY_BODY, ATTACHMENT_NOT_FOUND; INVALID_TOKEN when the token has ended
 */
export async function createMyMessage(scope: Scope, ticket_id: string, input: NewMyMessage): Promise<MyMessage> {
  const rendered = await renderBody(scope, input.body)
  return inTransaction(scope, async (outer) => {
    const inner = await asCustomer(outer)
    const { actor } = inner
    await contactOfShown(inner, ticket_id)
    const conversation = await lockConversation(inner, ticket_id).catch(withoutTarget)
    // The ticket may have become another customer's before it was locked.
    const contact_id = await contactOfShown(inner, ticket_id)
    const id = nextMessageId(conversation)
    await addMessage(inner, conversation, draftOf(actor, id, input, rendered))
    if (contact_id !== actor.id) await addParticipants(inner, conversation, [actor], 'confirmed')
    const reopened = await reopenTickets(inner, [{ ticket_id, actor }], conversation.locked_at)
    await publish(inner, reopened.get(ticket_id) ?? [])
    return getWritten(inner, id)
  })
}

/**
 * Rates a ticket of the customer's own, once the team is done with it.
 * @throws TICKET_NOT_FOUND, also for a ticket of a colleague; TICKET_MERGED, INVALID_STATUS; INVALID_TOKEN when the
 *   token has ended
 */
export async function rateMine(scope: Scope, ticket_id: string, rating: NewRating): Promise<MyRatedTicket> {
  return inTransaction(scope, async (outer) => {
    const inner = await asCustomer(outer)
    await contactOfShown(inner, ticket_id)
    await rateTicket(inner, ticket_id, rating, (_, { contact, status }) => {
      if (contact?.id !== inner.actor.id) throw new ApiError('TICKET_NOT_FOUND')
      if (!isFinished(status)) throw new ApiError('INVALID_STATUS')
    }).catch(withoutTarget)
    return getMyTicket(inner, ticket_id)
  })
}

/**
 * Stores a file that only the customer can use.
 * @throws as `uploadAttachment`; INVALID_TOKEN when the token has ended
 */
export async function uploadMine(scope: Scope, request: Request): Promise<MyAttachment> {
  const { scan: _, ...attachment } = await uploadAttachment(scope, request)
  // The contact may have been erased while the bytes arrived.
  await inTransaction(scope, asCustomer).catch(async (error) => {
    await discardUploads(scope, [attachment.id])
    throw error
  })
  return attachment
}

/** Says of a merged ticket that it is merged, but not into which one: that may be a ticket of others. */
function withoutTarget(error: unknown): never {
  throw error instanceof ApiError && error.code === 'TICKET_MERGED' ? new ApiError('TICKET_MERGED') : error
}

/** @throws EMPTY_BODY */
async function renderBody({ organization_id }: Scope, body: string): Promise<RenderedBody> {
  const rendered = await render(body, 'text', organization_id)
  if (isLong(body) && showsNothing(rendered)) throw fieldError('EMPTY_BODY', '/body', EMPTY_BODY)
  return rendered
}

/**
 * Gives the scope the customer as it is now. Contact and token stay until the caller's transaction ends: an erasure,
 * which ends the tokens first, waits for what is being written and finds it then. The contact is locked first, as by
 * its deletion.
 * @throws INVALID_TOKEN when one of them is gone
 */
async function asCustomer(scope: Scope): Promise<Scope & { actor: Customer }> {
  const { sql, organization_id } = scope
  const customer = requireCustomer(scope)
  const [[contact], [token]] = await together([
    sql<{ name: string; email: string }[]>`
      select name, email from contacts where organization_id = ${organization_id} and id = ${customer.id} for share`,
    sql<{ id: string }[]>`
      select id from contact_tokens where organization_id = ${organization_id} and id = ${customer.token.id}
      for key share`,
  ])
  if (!contact || !token) throw new ApiError('INVALID_TOKEN')
  return { ...scope, actor: { ...customer, ...contact } }
}

function draftOf(
  { name, email }: Customer,
  id: string,
  { body, attachment_ids }: NewMyMessage,
  rendered: RenderedBody,
): DraftWithId {
  return {
    ...{ id, body, ...rendered, attachment_ids },
    is_internal: false,
    direction: 'inbound',
    channel: 'portal',
    sender_name: name,
    sender_email: email,
    sender_verified: true,
  }
}
