import type { PendingQuery, Row } from 'postgres'
import { withUrl } from '../attachments/queries'
import type { Sql } from '../db/client'
import { ApiError } from '../errors'
import type { PageMeta } from '../model'
import { pageOf } from '../query'
import type { Scope } from '../scope'
import { viewHtml } from './html-view'
import type { Message, MessageFilter } from './model'

type MessagePage = { data: Message[]; meta?: PageMeta }

/** The messages of a ticket, oldest first; a page, with `meta`, when the query asks for one. @throws TICKET_NOT_FOUND */
export async function listMessages(scope: Scope, ticket_id: string, filter: MessageFilter): Promise<MessagePage> {
  const { sql } = scope
  const shown = () => (filter.include_internal === false ? sql`and not m.is_internal` : sql``)
  if (filter.page === undefined && filter.per_page === undefined) {
    const [data] = await Promise.all([selectMessages(scope, ticket_id, shown()), requireTicket(scope, ticket_id)])
    return { data }
  }
  const { page, per_page, offset } = pageOf(filter)
  const [data, total] = await Promise.all([
    selectMessages(scope, ticket_id, shown(), sql`limit ${per_page} offset ${offset}`),
    countMessages(scope, ticket_id, shown()),
    requireTicket(scope, ticket_id),
  ])
  return { data, meta: { total, page, per_page } }
}

/** @throws TICKET_NOT_FOUND, MESSAGE_NOT_FOUND (also for a message of another ticket) */
export async function getMessage(scope: Scope, ticket_id: string, id: string): Promise<Message> {
  const { sql } = scope
  const [messages] = await Promise.all([
    selectMessages(scope, ticket_id, sql`and m.id = ${id}`),
    requireTicket(scope, ticket_id),
  ])
  if (!messages[0]) throw new ApiError('MESSAGE_NOT_FOUND')
  return messages[0]
}

/** A row of `messageFields`. */
export type MessageRow = Omit<Message, 'attachments'> & { attachments: Omit<Message['attachments'][number], 'url'>[] }
type Fragment = PendingQuery<Row[]>

async function selectMessages(scope: Scope, ticket_id: string, condition: Fragment, range?: Fragment) {
  const { sql, organization_id } = scope
  const rows = await sql<MessageRow[]>`
    select ${messageFields(sql)} from messages m
    where m.organization_id = ${organization_id} and m.ticket_id = ${ticket_id} ${condition}
    order by m.id ${range ?? sql``}`
  return rows.map((row) => presentMessage(organization_id, row))
}

/** The columns of a message; needs `messages m`. They are the response, but for the signatures in addresses. */
export function messageFields(sql: Sql) {
  return sql`
    m.id, m.body, m.body_html, m.reply_text, m.is_internal, m.direction,
    json_build_object('name', m.sender_name, 'email', m.sender_email) as sender,
    (
      select coalesce(json_agg(json_build_object(
        'id', a.id, 'filename', a.filename, 'content_type', a.content_type, 'size', a.size
      ) order by a.id), '[]')
      from attachments a where a.organization_id = m.organization_id and a.message_id = m.id
    ) as attachments,
    m.email_status in ('sent', 'bounced') as email_sent, m.email_status, m.email_error, m.email_message_id,
    (
      select coalesce(json_agg(json_build_object(
        'email', r.email, 'status', r.status, 'error', r.error
      ) order by r.position), '[]')
      from message_recipients r where r.organization_id = m.organization_id and r.message_id = m.id
    ) as email_recipients,
    m.cc, m.auto_reply, m.created_at`
}

/** A row of `messageFields` as the response has it; other columns of the row are left out. */
export function presentMessage(organization_id: string, row: MessageRow): Message {
  const { id, body, reply_text, is_internal, direction, sender, cc, auto_reply, created_at } = row
  const { email_sent, email_status, email_error, email_message_id, email_recipients } = row
  const attachments = row.attachments.map((attachment) => withUrl(organization_id, attachment))
  const urlOf = (id: string) => attachments.find((attachment) => attachment.id === id)?.url
  return {
    id,
    body,
    body_html: viewHtml(row.body_html, urlOf),
    reply_text,
    is_internal,
    direction,
    sender,
    attachments,
    email_sent,
    email_status,
    email_error,
    email_message_id,
    email_recipients,
    cc,
    auto_reply,
    created_at,
  }
}

async function countMessages(scope: Scope, ticket_id: string, condition: Fragment): Promise<number> {
  const { sql, organization_id } = scope
  const [count] = await sql<{ total: number }[]>`
    select count(*) as total from messages m
    where m.organization_id = ${organization_id} and m.ticket_id = ${ticket_id} ${condition}`
  return count!.total
}

async function requireTicket({ sql, organization_id }: Scope, ticket_id: string): Promise<void> {
  const found = await sql`
    select from tickets where organization_id = ${organization_id} and id = ${ticket_id} and deleted_at is null`
  if (found.length === 0) throw new ApiError('TICKET_NOT_FOUND')
}
