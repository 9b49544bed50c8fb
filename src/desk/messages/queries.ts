import { ZERO_ID } from '../../base/db/columns'
import { hasFewRows } from '../../base/db/few-rows'
import type { Fragment } from '../../base/db/transact'
import { ApiError, unknownIds } from '../../base/errors'
import { turns } from '../../base/flow/turns'
import { viewHtml } from '../../base/html/view'
import type { Scope } from '../../base/scope'
import type { PageMeta } from '../../base/shapes/answers'
import { asIds } from '../../base/shapes/ids'
import { isPageAsked, page } from '../../base/shapes/page'
import type { InSteps, Steps } from '../../http/request/steps'
import { withUrl } from '../attachments/queries'
import { requireTicket } from '../timeline/require-ticket'
import type { Message, MessageFilter } from './model'

/** Bytes of texts that are read and answered at once. The message that reaches it is the last one of a step. */
export const STEP_SIZE = 1_000_000
const STEP_MESSAGES = 100
/** Messages that a refused one is shown at most. */
const LATER_SHOWN = 20
/** Two steps at a time are read in this process, without counting first steps. */
const inTurn = turns(2)

export type MessagePage = { data: Message[]; meta?: PageMeta }

/**
 * Lists the messages of a ticket, oldest first; a page, with `meta`, when the query asks for one. In steps when they
 * are too large to be held at once.
 * @throws TICKET_NOT_FOUND
 */
export async function listMessages(
  scope: Scope,
  ticket_id: string,
  filter: MessageFilter,
): Promise<InSteps<MessagePage>> {
  const { sql } = scope
  const shown = () => (filter.include_internal === false ? sql`and not m.is_internal` : sql``)
  if (isPageAsked(filter)) return pageOfMessages(scope, ticket_id, filter, shown)
  const [data] = await Promise.all([
    messagesOf(scope, { ticket_id, shown, most: Number.POSITIVE_INFINITY }),
    requireTicket(scope, ticket_id),
  ])
  return { data }
}

/** Reads the ids of a page first: the texts may be too large to read one message more than the page shows. */
async function pageOfMessages(
  scope: Scope,
  ticket_id: string,
  filter: MessageFilter,
  shown: () => Fragment,
): Promise<InSteps<MessagePage>> {
  const { sql, organization_id } = scope
  const matching = () => sql`
    from messages m where m.organization_id = ${organization_id} and m.ticket_id = ${ticket_id} ${shown()}`
  const { data: ids, meta } = await page(scope, filter, {
    name: `messages of ${ticket_id}`,
    sort: { keys: [{ sql: sql`m.id`, field: 'id' }], direction: 'asc' },
    rows: ({ slice }) => sql<{ id: string }[]>`select m.id ${matching()} ${slice}`,
    count: () => sql<{ total: number }[]>`select count(*) as total ${matching()}`,
    parent: () => requireTicket(scope, ticket_id),
  })
  const [first, last] = [ids[0], ids.at(-1)]
  if (!first || !last) return { data: [], meta }
  const onPage = () => sql`${shown()} and m.id between ${first.id} and ${last.id}`
  return { data: await messagesOf(scope, { ticket_id, shown: onPage, most: ids.length }), meta }
}

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
  const { sql, organization_id } = scope
  const given = ids.map((id, place) => ({ place, id }))
  const rows = await sql<MessageRow[]>`
    select ${messageFields(scope)}
    from json_to_recordset(${JSON.stringify(given)}::text::json) as g (place integer, id uuid)
    join messages m on m.organization_id = ${organization_id} and m.id = g.id
    where ${hasFewRows(sql)}`
  return new Map(rows.map((row) => [row.id, presentMessage(organization_id, row)]))
}

/**
 * Refuses a message of somebody who has not seen all that came before it. It is written already, behind the lock of the
 * ticket, so nobody writes another one meanwhile.
 * @param after the last message that its author has seen; null: none
 * @param id of the message
 * @throws MESSAGE_NOT_FOUND (`after` is no message of the ticket), PRECONDITION_FAILED
 */
export async function requireNothingBetween(
  scope: Scope,
  ticket_id: string,
  after: string | null,
  id: string,
): Promise<void> {
  const { sql, organization_id } = scope
  const seen = after === null ? ZERO_ID : asIds([after])[0]
  const shown = () => sql`and m.id > ${seen ?? ZERO_ID} and m.id < ${id}`
  const [row] = await sql<{ total: number; is_known: boolean }[]>`
    select count(*) as total, exists (
      select 1 from messages s where s.organization_id = ${organization_id} and s.id = ${seen ?? ZERO_ID}
        and s.ticket_id = ${ticket_id}
    ) as is_known
    from messages m where m.organization_id = ${organization_id} and m.ticket_id = ${ticket_id} ${shown()}`
  const { total, is_known } = row!
  if (after !== null && !is_known) throw unknownIds('MESSAGE_NOT_FOUND', '/after', [after])
  if (total === 0) return
  const { messages } = await readStep(scope, { ticket_id, shown, most: LATER_SHOWN })
  throw new ApiError('PRECONDITION_FAILED', { messages, total })
}

/** Some messages of a ticket in their order. */
type List = {
  ticket_id: string
  /** A condition on `messages m`. */
  shown: () => Fragment
  most: number
}

/** The first messages of a list; `is_last` when there are no more. */
type Step = { messages: Message[]; is_last: boolean }

/** Reads a list; gives the list itself when one step reads it, else its steps. */
async function messagesOf(scope: Scope, list: List): Promise<Message[] | Steps<Message>> {
  const first = await readStep(scope, list)
  return first.is_last ? first.messages : stepsFrom(scope, list, first)
}

/** Reads each step with one statement: between them a reader holds no connection, and removed messages are left out. */
async function* stepsFrom(scope: Scope, list: List, first?: Step): AsyncGenerator<Message[]> {
  const { sql } = scope
  let step = first ?? (await inTurn(() => readStep(scope, list)))
  for (let { most } = list; ; ) {
    yield step.messages
    if (step.is_last) return
    const after = step.messages.at(-1)!.id
    most -= step.messages.length
    const shown = () => sql`${list.shown()} and m.id > ${after}`
    step = await inTurn(() => readStep(scope, { ticket_id: list.ticket_id, shown, most }))
  }
}

/**
 * Reads the first messages of a list, until they have enough bytes. The database knows lengths without reading the
 * texts.
 */
async function readStep(scope: Scope, { ticket_id, shown, most }: List): Promise<Step> {
  const { sql, organization_id } = scope
  const rows = await sql<(MessageRow & { next_id: string | null })[]>`
    select * from (
      select f.*, lead(f.id) over before as next_id, sum(
        octet_length(f.body) + octet_length(f.body_html) + coalesce(octet_length(f.reply_text), 0) +
        octet_length(f.attachments::text) + octet_length(f.email_recipients::text) + octet_length(f.cc::text)
      ) over before as before
      from (
        select ${messageFields(scope)} from messages m
        where m.organization_id = ${organization_id} and m.ticket_id = ${ticket_id} ${shown()}
        order by m.id limit ${Math.min(most, STEP_MESSAGES)}
      ) f
      window before as (order by f.id rows between unbounded preceding and 1 preceding)
    ) m
    where m.before is null or m.before < ${STEP_SIZE}
    order by m.id`
  const is_cut = (rows.at(-1)?.next_id ?? null) !== null
  const is_full = rows.length === STEP_MESSAGES && most > rows.length
  return { messages: rows.map((row) => presentMessage(organization_id, row)), is_last: !is_cut && !is_full }
}

/**
 * Makes the expression that estimates the bytes of all messages of `tickets t`; null without any. The ticket's own
 * statement uses it, where counting attachments would cost too much: each message counts as a hundredth of a step more.
 */
export function sizeOfMessages({ sql, organization_id }: Scope) {
  return sql`(
    select sum(
      ${sql.unsafe(String(STEP_SIZE / STEP_MESSAGES))} + octet_length(m.body) + octet_length(m.body_html) +
      coalesce(octet_length(m.reply_text), 0)
    )
    from messages m where m.organization_id = ${organization_id} and m.ticket_id = t.id
  )`
}

/**
 * All messages of a ticket in steps, and a version that changes when one of them changes. Texts never change, so the
 * version does not read them. Messages that arrive later are not shown, because the version does not cover them.
 */
export async function versionedMessages(scope: Scope, ticket_id: string) {
  const { sql, organization_id } = scope
  const [row] = await sql<{ version: string | null; last_id: string | null }[]>`
    select encode(sha256(string_agg(sha256(convert_to(f::text, 'UTF8')), '' order by f.id)), 'hex') as version,
      max(f.id::text) as last_id
    from (
      select ${detailFields(scope)}, octet_length(m.body), octet_length(m.body_html), octet_length(m.reply_text)
      from messages m where m.organization_id = ${organization_id} and m.ticket_id = ${ticket_id}
    ) f`
  const { version, last_id } = row!
  const shown = () => sql`and m.id <= ${last_id}`
  return { version, messages: stepsFrom(scope, { ticket_id, shown, most: Number.POSITIVE_INFINITY }) }
}

/** A row of `messageFields`. */
export type MessageRow = Omit<Message, 'attachments'> & { attachments: Omit<Message['attachments'][number], 'url'>[] }

/** The columns of a message; needs `messages m`. They are the response, except for the signatures in addresses. */
export function messageFields(scope: Scope) {
  return scope.sql`
    m.body, m.body_html, m.reply_text, ${detailFields(scope)}`
}

/** The columns without the texts. */
function detailFields({ sql, organization_id }: Scope) {
  return sql`
    m.id, m.is_internal, m.direction,
    json_build_object('name', m.sender_name, 'email', m.sender_email) as sender,
    (
      select coalesce(json_agg(json_build_object(
        'id', a.id, 'filename', a.filename, 'content_type', a.content_type, 'size', a.size
      ) order by a.id), '[]')
      from attachments a where a.organization_id = ${organization_id} and a.message_id = m.id
    ) as attachments,
    m.email_status in ('sent', 'bounced') as email_sent, m.email_status, m.email_error, m.email_message_id,
    (
      select coalesce(json_agg(json_build_object(
        'email', r.email, 'status', r.status, 'error', r.error
      ) order by r.position), '[]')
      from message_recipients r where r.organization_id = ${organization_id} and r.message_id = m.id
    ) as email_recipients,
    m.cc, m.auto_reply, m.sender_verified, m.reply_to, m.created_at`
}

/** Makes the response of a row of `messageFields`; other columns of the row are left out. */
export function presentMessage(organization_id: string, row: MessageRow): Message {
  const { id, body, reply_text, is_internal, direction, sender, cc, auto_reply, created_at } = row
  const { sender_verified, reply_to } = row
  const { email_sent, email_status, email_error, email_message_id, email_recipients } = row
  const attachments = row.attachments.map((attachment) => withUrl(organization_id, attachment))
  const urlOf = (id: string) => attachments.find((attachment) => attachment.id === id)?.url
  return {
    id,
    body,
    body_html: viewHtml(row.body_html, urlOf, direction === 'inbound' ? 'wait' : 'as written'),
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
    sender_verified,
    reply_to,
    created_at,
  }
}
