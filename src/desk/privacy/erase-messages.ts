/** Erases messages with their files and recipients: they stay as rows without what they said and who wrote them. */

import { ERASED, ERASED_EMAIL } from '../../base/address/email'
import { withChangeTime } from '../../base/db/change-time'
import type { Scope } from '../../base/scope'
import { publish } from '../../delivery/webhooks/publish'
import { removeSoon } from '../attachments/removals'
import { rebuildSearch } from '../search/ticket-document'
import { recount } from '../turn/turn'
import { saysAnything } from './traces'

export type Erased = { messages: number; attachments: number }

/**
 * Erases messages in the caller's transaction. What waits to be sent is not sent any more. Names of the team stay.
 * Outbox rows come first, as where a sent email is recorded, so that the two do not wait for each other.
 */
export async function eraseMessages(scope: Scope, ids: string[]): Promise<Erased> {
  const { sql, organization_id } = scope
  const these = sql`organization_id = ${organization_id} and message_id = any(${ids}::uuid[])`
  await sql`
    delete from outbox where organization_id = ${organization_id} and id = any(${ids}::uuid[]) and kind = 'email'`
  await sql`
    update message_recipients set name = null, email = ${ERASED_EMAIL}, email_key = ${ERASED_EMAIL}, error = null,
      status = case when status = 'queued' then 'failed' else status end
    where ${these}`
  const { count: messages } = await sql`
    update messages set body = ${ERASED}, format = 'text', body_html = ${ERASED}, reply_text = null, reply_to = null,
      cc = '{}', email_error = null, signature_html = null, server_response = null, email_tries = null,
      sender_name = case when direction = 'inbound' then ${ERASED} else sender_name end,
      sender_email = case when direction = 'inbound' then null else sender_email end,
      email_message_id = case when direction = 'inbound' then null else email_message_id end,
      email_status = case when email_status = 'queued' then 'failed' else email_status end
    where organization_id = ${organization_id} and id = any(${ids}::uuid[]) and ${saysAnything(scope)}`
  await sql`delete from email_anchors where ${these}`
  await sql`delete from message_quotes where ${these}`
  const removed = await sql<{ storage_key: string }[]>`delete from attachments where ${these} returning storage_key`
  await removeSoon(sql, removed)
  return { messages, attachments: removed.length }
}

/** Tells in the caller's transaction that an erasure took words of messages, unless their ticket is hidden. */
export async function tellErased(scope: Scope, ticket_id: string, ids: string[]): Promise<void> {
  const { sql, organization_id } = scope
  const [[ticket], time] = await withChangeTime(
    sql,
    sql<{ is_hidden: boolean }[]>`
      select deleted_at is not null as is_hidden from tickets
      where organization_id = ${organization_id} and id = ${ticket_id} for no key update`,
  )
  await sql`update tickets set updated_at = ${time} where organization_id = ${organization_id} and id = ${ticket_id}`
  await recount(scope, [ticket_id])
  // A hidden ticket is not told of, and has no search document.
  if (ticket?.is_hidden) return
  await rebuildSearch(scope, ticket_id)
  await publish(
    scope,
    ids.map((id) => ({ type: 'message.erased', data: { id, ticket: { id: ticket_id } } })),
  )
}
