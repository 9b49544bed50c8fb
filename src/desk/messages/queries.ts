import { attachmentUrl } from '../../base/attachment-url'
import { hasFewRows } from '../../base/db/few-rows'
import type { Fragment, Sql } from '../../base/db/transact'
import { ApiError, unknownIds } from '../../base/errors'
import { type Format, formOfRow } from '../../base/html/formats'
import { viewHtml } from '../../base/html/view'
import type { Scope } from '../../base/scope'
import { asIds } from '../../base/shapes/ids'
import { withUrl } from '../attachments/queries'
import { requireTicket } from '../timeline/require-ticket'
import type { DraftWithId } from './draft'
import type { Message } from './model'

/** Reads a message. @throws TICKET_NOT_FOUND, MESSAGE_NOT_FOUND (also for a message of another ticket) */
export async function getMessage(scope: Scope, ticket_id: string, id: string): Promise<Message> {
  const { sql, organization_id } = scope
  const [[row]] = await Promise.all([
    sql<MessageRow[]>`
      select ${messageFields(scope)} from messages m
      where m.organization_id = ${organization_id} and m.ticket_id = ${ticket_id} and m.id = ${id}`,
    requireTicket(scope, ticket_id),
  ])
  if (!row) throw new ApiError('MESSAGE_NOT_FOUND')
  return presentMessage(organization_id, row)
}

/** Reads messages by their ids, whatever their tickets. @returns them by id */
export async function getMessages(scope: Scope, ids: string[]): Promise<Map<string, Message>> {
  const rows = await readMessages<MessageRow>(scope, ids, messageFields(scope))
  return new Map(rows.map((row) => [row.id, presentMessage(scope.organization_id, row)]))
}

/**
 * Reads messages that the caller has just written. Their texts are those of the drafts: a long one takes the database
 * milliseconds to give back.
 * @returns them by id
 */
export async function getWritten(scope: Scope, drafts: DraftWithId[]): Promise<Map<string, Message>> {
  const texts = new Map(
    drafts.map(({ id, body, body_html, reply_text = null }) => [id, { body, body_html, reply_text }]),
  )
  const rows = await readMessages<Details>(scope, [...texts.keys()], detailFields(scope))
  return new Map(rows.map((row) => [row.id, presentMessage(scope.organization_id, { ...row, ...texts.get(row.id)! })]))
}

async function readMessages<Row extends object>(scope: Scope, ids: string[], fields: Fragment): Promise<Row[]> {
  if (ids.length === 0) return []
  const { sql, organization_id } = scope
  const given = ids.map((id, place) => ({ place, id }))
  return sql<Row[]>`
    select ${fields}
    from json_to_recordset(${JSON.stringify(given)}::text::json) as g (place integer, id uuid)
    join messages m on m.organization_id = ${organization_id} and m.id = g.id
    where ${hasFewRows(sql)}`
}

/** A row of `messageFields`. */
export type MessageRow = Omit<Message, 'attachments' | 'format'> & {
  /** Null in a row of a release without formats. */
  format: Format | null
  attachments: Omit<Message['attachments'][number], 'url'>[]
  /** Attachments of other messages that it shows. */
  pictures: string[] | null
}

type Details = Omit<MessageRow, 'body' | 'body_html' | 'reply_text'>

/** The columns of a message; needs `messages m`. They are the response, except for the signatures in addresses. */
export function messageFields(scope: Scope) {
  return scope.sql`
    m.body, m.body_html, m.reply_text, ${detailFields(scope)}`
}

/** The columns without the texts. */
export function detailFields({ sql, organization_id }: Scope) {
  return sql`
    m.id, m.format, m.is_internal, m.direction, ${channelOf(sql)} as channel,
    json_build_object('name', m.sender_name, 'email', m.sender_email) as sender,
    (
      select coalesce(json_agg(json_build_object(
        'id', a.id, 'filename', a.filename, 'content_type', a.content_type, 'size', a.size, 'scan', a.scan
      ) order by a.id), '[]')
      from attachments a where a.organization_id = ${organization_id} and a.message_id = m.id
    ) as attachments,
    (
      select json_agg(p.attachment_id) from message_pictures p
      where p.organization_id = ${organization_id} and p.message_id = m.id
    ) as pictures,
    m.email_status in ('sent', 'bounced') as email_sent, m.email_status, m.email_error, m.email_message_id,
    (
      select coalesce(json_agg(json_build_object(
        'kind', r.kind, 'email', r.email, 'status', r.status, 'error', r.error
      ) order by r.position), '[]')
      from message_recipients r where r.organization_id = ${organization_id} and r.message_id = m.id
    ) as email_recipients,
    m.cc, m.auto_reply, m.sender_verified, m.reply_to, m.mentions, m.drafted_by, (
      select json_build_object('id', o.id, 'code', o.code) from tickets o
      where o.organization_id = ${organization_id} and o.id = m.original_ticket_id
    ) as original_ticket, m.created_at`
}

/**
 * SQL for the channel of a message `m`. Rows of releases without channels have null there: an email has a text of its
 * own, or brought its id.
 */
export function channelOf(sql: Sql) {
  return sql`coalesce(m.channel, case
    when m.reply_text is not null or (m.direction = 'inbound' and m.email_message_id is not null) then 'email' else 'api'
  end)`
}

/** Makes the function that gives the addresses of the attachments that a message may show. */
export function urlsOf(
  organization_id: string,
  { attachments, pictures }: Pick<MessageRow, 'attachments' | 'pictures'>,
) {
  const ids = new Set([...attachments.map(({ id }) => id), ...(pictures ?? [])])
  return (id: string) => (ids.has(id) ? attachmentUrl(organization_id, id) : undefined)
}

/** Makes the response of a row of `messageFields`; other columns of the row are left out. */
export function presentMessage(organization_id: string, row: MessageRow): Message {
  const { id, body, reply_text, is_internal, direction, channel, sender, cc, auto_reply, created_at } = row
  const { sender_verified, reply_to, mentions, drafted_by, original_ticket } = row
  const { email_sent, email_status, email_error, email_message_id, email_recipients } = row
  const attachments = row.attachments.map((attachment) => withUrl(organization_id, attachment))
  return {
    id,
    body,
    format: formOfRow(row),
    body_html: viewHtml(row.body_html, urlsOf(organization_id, row), direction === 'inbound' ? 'wait' : 'as written'),
    reply_text,
    is_internal,
    direction,
    channel,
    sender,
    attachments,
    email_sent,
    email_status,
    email_error,
    email_message_id,
    email_recipients,
    cc,
    auto_reply,
    sender_verified,
    reply_to,
    mentions,
    drafted_by,
    original_ticket,
    created_at,
  }
}

/** Finds the active members that a note names, by name. @throws USER_NOT_FOUND at /mention_user_ids */
export async function findMentioned({ sql, organization_id }: Scope, ids: string[]): Promise<Message['mentions']> {
  if (ids.length === 0) return []
  const members = await sql<Message['mentions']>`
    select u.id, u.name from memberships m join users u on u.id = m.user_id
    where m.organization_id = ${organization_id} and m.user_id = any(${asIds(ids)}::uuid[])
      and m.active and m.removed_at is null
    order by lower(u.name), u.id`
  const found = new Set(members.map(({ id }) => id))
  const unknown = [...new Set(ids)].filter((id) => !found.has(id.toLowerCase()))
  if (unknown.length > 0) throw unknownIds('USER_NOT_FOUND', '/mention_user_ids', unknown)
  return [...members]
}
