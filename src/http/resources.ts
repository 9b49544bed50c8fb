/** Whether what a path names is there: asked when a body or query is wrong, because an unknown path comes first. */
import { ApiError, type ErrorCode } from '../errors'
import type { Scope } from '../scope'

/** Where the resource of a path parameter is, its key, and what must hold besides the organization. */
const RESOURCES: Record<string, { table: string; key?: string; code: ErrorCode; live?: string; parent?: string }> = {
  ticket_id: { table: 'tickets', code: 'TICKET_NOT_FOUND', live: 'deleted_at' },
  message_id: { table: 'messages', code: 'MESSAGE_NOT_FOUND', parent: 'ticket_id' },
  participant_id: { table: 'participants', code: 'PARTICIPANT_NOT_FOUND', parent: 'ticket_id' },
  attachment_id: { table: 'attachments', code: 'ATTACHMENT_NOT_FOUND' },
  contact_id: { table: 'contacts', code: 'CONTACT_NOT_FOUND' },
  company_id: { table: 'companies', code: 'COMPANY_NOT_FOUND' },
  label_id: { table: 'labels', code: 'LABEL_NOT_FOUND' },
  time_entry_id: { table: 'time_entries', code: 'TIME_ENTRY_NOT_FOUND' },
  webhook_id: { table: 'webhooks', code: 'WEBHOOK_NOT_FOUND', live: 'deleted_at' },
  delivery_id: { table: 'deliveries', code: 'DELIVERY_NOT_FOUND', parent: 'webhook_id' },
  user_id: { table: 'memberships', key: 'user_id', code: 'USER_NOT_FOUND', live: 'removed_at' },
  mailbox_id: { table: 'mailboxes', code: 'MAILBOX_NOT_FOUND' },
  inbound_message_id: { table: 'inbound_messages', code: 'INBOUND_MESSAGE_NOT_FOUND' },
}

/** @throws the resource's own 404 for the first path parameter that names nothing in the organization */
export function requirePath(scope: Scope, params: Record<string, string>): Promise<void> {
  return findRows(scope, params, false)
}

/** As `requirePath`, and holds the rows until the transaction ends; without parameters that of the organization. */
export async function lockPath(scope: Scope, params: Record<string, string>): Promise<void> {
  await findRows(scope, params, true)
  if (Object.keys(params).length > 0) return
  await scope.sql`select from organizations where id = ${scope.organization_id} for update`
}

async function findRows(scope: Scope, params: Record<string, string>, lock: boolean): Promise<void> {
  const { sql, organization_id } = scope
  for (const [name, id] of Object.entries(params)) {
    const resource = RESOURCES[name]
    if (!resource) continue
    const { table, key = 'id', code, live, parent } = resource
    const found = await sql`
      select from ${sql(table)}
      where organization_id = ${organization_id} and ${sql(key)} = ${id}
        ${live ? sql`and ${sql(live)} is null` : sql``}
        ${parent ? sql`and ${sql(parent)} = ${params[parent] ?? null}` : sql``}
      ${lock ? sql`for update` : sql``}`
    if (found.length === 0) throw new ApiError(code)
  }
}
