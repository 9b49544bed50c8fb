/** Creates tickets whose first message the team writes, and those of people who may be no contacts yet. */
import { DeadlockError } from '../../base/db/violations'
import { ApiError, below, fieldError } from '../../base/errors'
import { inTransaction, type Scope } from '../../base/scope'
import { requireRight } from '../../http/request/permissions'
import { findOrCreateContacts } from '../contacts/senders'
import { addWritten } from '../messages/commands'
import { lockConversation, ownAddresses } from '../messages/conversation'
import { renderWritten, type WrittenText, withHeld } from '../messages/written-text'
import { insertQuotes, quoteMessages } from '../quotations/quote-messages'
import { createTicket } from '../tickets/create-ticket'
import { renderDescription } from '../tickets/description'
import type { NewTicket, Ticket } from '../tickets/model'
import { getTicketSummary } from '../tickets/queries'
import type { TicketToBegin } from './model'

/**
 * Creates a ticket. One that only has a description shares its steps with others (`createTicket`).
 * @throws as `createTicket`; FORBIDDEN, EMPTY_BODY, INVALID_EMAIL (it is of a mailbox), EMAIL_SEND_FAILED (asked for,
 *   and impossible from the start), ATTACHMENT_NOT_FOUND; what `quoteMessages` throws
 */
export async function beginTicket(scope: Scope, input: TicketToBegin): Promise<Ticket> {
  const { contact, message, contact_id, ...fields } = input
  if (contact) requireRight(scope, 'contacts:write')
  if (message) requireRight(scope, 'messages:write')
  if (!contact && !message) return createTicket(scope, { ...fields, contact_id: contact_id! })
  const field = message ? '/message/body' : '/description'
  const text = await (message ? renderWritten(scope, { ...message, field }) : renderDescription(scope, fields))
  // The pictures are stored by then.
  const described = message ? undefined : { text: text && { ...text, held: [] } }
  const write = async (scope: Scope) => {
    const ticket = await (contact
      ? createFor(scope, contact, fields, described)
      : createTicket(scope, { ...fields, contact_id: contact_id! }, described))
    if (!message || !text) return ticket
    await below('/message', addFirst(scope, ticket.id, message, text, ends))
    return getTicketSummary(scope, ticket.id)
  }
  const ends: (() => void)[] = []
  try {
    return await withHeld(scope, text?.held ?? [], () => inTransaction(scope, write), field)
  } finally {
    for (const end of ends) end()
  }
}

/** Adds the first message of a ticket, with what it quotes. */
async function addFirst(
  scope: Scope,
  ticket_id: string,
  { quote_message_ids, ...message }: NonNullable<TicketToBegin['message']>,
  text: WrittenText,
  ends: (() => void)[],
): Promise<void> {
  const conversation = await lockConversation(scope, ticket_id)
  const quoted = quote_message_ids && (await quoteMessages(scope, quote_message_ids, text, ends))
  const written = { ...message, begins_ticket: true, ...(quoted && { quoted }) }
  const { id } = await addWritten(scope, conversation, written, text)
  if (quoted) await insertQuotes(scope, id, quoted)
}

/**
 * Creates a ticket for the one who has an address.
 * @throws INVALID_EMAIL; DeadlockError when the contact was deleted meanwhile
 */
async function createFor(
  scope: Scope,
  { email, name = '' }: NonNullable<TicketToBegin['contact']>,
  fields: Omit<NewTicket, 'contact_id'>,
  described: Parameters<typeof createTicket>[2],
): Promise<Ticket> {
  const own = await ownAddresses(scope, [email])
  if (own.size > 0) throw fieldError('INVALID_EMAIL', '/contact/email', 'must not be the address of a mailbox')
  const [contact] = await findOrCreateContacts(scope, [{ name, email }])
  return createTicket(scope, { ...fields, contact_id: contact!.id }, described).catch((error) => {
    const is_gone = error instanceof ApiError && error.code === 'CONTACT_NOT_FOUND'
    throw is_gone ? new DeadlockError('the contact was deleted or merged meanwhile') : error
  })
}
