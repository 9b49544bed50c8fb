/** SQL for what a ticket tells of its messages, and its form in answers. */
import type { Static, TObject } from '@sinclair/typebox'
import { codePoints, firstCharacters } from '../../base/address/characters'
import { ERASED } from '../../base/address/email'
import { timeOfId, toInstant } from '../../base/db/columns'
import type { Fragment, Sql } from '../../base/db/transact'
import { safeHtmlToText } from '../../base/html/text'
import type { Scope } from '../../base/scope'
import type { TURN } from './model'
import { counted } from './turn'

export type Turn = Static<TObject<typeof TURN>>

/** Characters of a text that are read for an excerpt: with more there would be too few of HTML that has much markup. */
const READ = 4000
/** Code points of an excerpt. */
const SHOWN = 160

/** The columns of the newest message are null without one. */
export type TurnRow = Omit<Turn, 'last_message'> & {
  last_id: string | null
  last_direction: 'inbound' | 'outbound'
  last_name: string
  last_email: string | null
  last_text: string
  last_is_html: boolean
  last_at: string
}

/** SQL for the beginning of a message `lm`, and whether it is HTML. */
export function beginningOf(sql: Sql): Fragment {
  const is_text = sql`(lm.format = 'text' or lm.direction = 'inbound' and lm.email_message_id is not null)`
  return sql`
    left(
      coalesce(nullif(lm.reply_text, ''), case when ${is_text} then lm.body else lm.body_html end),
      ${sql.unsafe(String(READ))}
    ) as last_text,
    coalesce(lm.reply_text, '') = '' and ${is_text} is not true as last_is_html`
}

/** The columns of `tickets t`; needs `withLastMessage`. @param reads_drafts SQL: the reader may read drafts */
export function turnColumns(scope: Scope, reads_drafts: Fragment): Fragment {
  const { sql, organization_id } = scope
  const { message_count, attachment_count, waiting_message_id } = counted(scope)
  return sql`
    lm.id as last_id, lm.direction as last_direction, lm.sender_name as last_name, lm.sender_email as last_email,
    ${beginningOf(sql)}, lm.created_at as last_at, ${waitingSince(sql, waiting_message_id)} as waiting_since,
    ${message_count} as message_count,
    ${attachment_count} as attachment_count, case when ${reads_drafts} then (
      select count(*)::integer from drafts d where d.organization_id = ${organization_id} and d.ticket_id = t.id
    ) end as draft_count`
}

/** SQL: the time since when a customer waits for an answer to `tickets t`. @param id of the first message */
export function waitingSince(sql: Sql, id = sql`t.waiting_message_id`): Fragment {
  return sql`case when t.status in ('open', 'pending') then uuid_time(${id}) end`
}

/** The table that `turnColumns` reads the newest message from. */
export function withLastMessage(scope: Scope): Fragment {
  const { sql, organization_id } = scope
  return sql`
    left join messages lm on lm.organization_id = ${organization_id} and lm.id = ${counted(scope).last_message_id}`
}

/** A row of `turnColumns` as answers show it. */
export function presentTurn(row: TurnRow): Turn {
  const { last_id, waiting_since, message_count, attachment_count, draft_count } = row
  return {
    last_message: last_id === null ? null : lastOf(last_id, row),
    waiting_since,
    message_count,
    attachment_count,
    draft_count,
  }
}

function lastOf(id: string, row: TurnRow): NonNullable<Turn['last_message']> {
  return {
    id,
    direction: row.last_direction,
    sender: { name: row.last_name, email: row.last_email },
    excerpt: excerptOf(row.last_text, row.last_is_html),
    created_at: row.last_at,
  }
}

/** @param text of which the end may be cut off, within a tag or a character reference too */
export function excerptOf(text: string, is_html: boolean): string {
  if (text === ERASED) return ''
  const plain = is_html ? safeHtmlToText(text.replace(/<[^>]*$|&[^;\s]*$/, '')) : text
  // All that was read took a sixth of the service's time for a list. It is seldom needed: a text may begin with blanks.
  const first = firstCharacters(onOneLine(plain.slice(0, 2 * SHOWN)), SHOWN)
  return codePoints(first) === SHOWN ? first : firstCharacters(onOneLine(plain.slice(0, READ)), SHOWN)
}

function onOneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

/** The first message of a new ticket: it is from the customer, and text or HTML as it stands. */
type First = {
  id: string
  format: string
  body: string
  body_html: string
  sender_name: string
  sender_email: string | null
}

/** A new ticket as `presentTurn` shows it. @param draft_count null for a reader who may read none */
export function newTurn(first: First | undefined, draft_count: 0 | null): Turn {
  if (!first) return { last_message: null, waiting_since: null, message_count: 0, attachment_count: 0, draft_count }
  const { id, format, body, body_html, sender_name, sender_email } = first
  const last_at = toInstant(timeOfId(id))
  const is_html = format !== 'text'
  return presentTurn({
    ...{ last_id: id, last_direction: 'inbound', last_name: sender_name, last_email: sender_email },
    ...{ last_text: (is_html ? body_html : body).slice(0, READ), last_is_html: is_html, last_at },
    ...{ waiting_since: last_at, message_count: 1, attachment_count: 0, draft_count },
  })
}
