/** The data of the events of a message, and of those about what became of its email. */
import type { Scope } from '../../base/scope'
import { type EventType, publish } from '../../delivery/webhooks/publish'
import type { Message } from './model'
import { getMessages } from './queries'

export type TicketOfEvent = { id: string; code: string; subject: string }

type EmailEvent = Extract<EventType, `message.email_${string}`>

/**
 * Publishes what became of an email, in the transaction that records it. `data` is the message as it is now. Nothing is
 * told of a message whose ticket was deleted.
 * @param types in the order in which they are told
 */
export async function publishEmailEvents(scope: Scope, message_id: string, types: EmailEvent[]): Promise<void> {
  if (types.length === 0) return
  const { sql, organization_id } = scope
  const [messages, [ticket]] = await Promise.all([
    getMessages(scope, [message_id]),
    sql<TicketOfEvent[]>`
      select t.id, t.code, t.subject from messages m
      join tickets t on t.organization_id = ${organization_id} and t.id = m.ticket_id and t.deleted_at is null
      where m.organization_id = ${organization_id} and m.id = ${message_id}`,
  ])
  const message = messages.get(message_id)
  if (!message || !ticket) return
  await publish(
    scope,
    types.map((type) => ({ type, data: eventData(message, ticket) })),
  )
}

/** The data of the events of a message. */
export function eventData(message: Message, { id, code, subject }: TicketOfEvent) {
  return { ...message, ticket: { id, code, subject } }
}
