/** Reads a ticket and its messages as one text, the newest first until it is full. */
import { LAST_ID } from '../../base/db/columns'
import type { Fragment } from '../../base/db/transact'
import { type Format, formOfRow } from '../../base/html/formats'
import { renderText } from '../../base/html/render'
import { type Scope, together } from '../../base/scope'
import { channelOf } from '../messages/queries'
import { getTicketSummary } from '../tickets/queries'
import { beginningOf, entryOf, gap, type Told } from './markdown'
import type { TranscriptQuery } from './model'

/** Bytes of a transcript. */
const MOST_BYTES = 500_000
/** Room for the line that says how many messages are left out. */
const GAP_BYTES = 100
/** Bytes of texts, and messages, that are read at once. The message that reaches the first is the last of a step. */
const STEP_BYTES = 1_000_000
const STEP_MESSAGES = 100

/**
 * Writes the conversation of a ticket, oldest first.
 * @returns at most 500 kB of Markdown with the newest messages, without drafts
 * @throws TICKET_NOT_FOUND
 */
export async function transcriptOf(
  scope: Scope,
  ticket_id: string,
  { include_internal = false }: TranscriptQuery,
): Promise<string> {
  const { sql, organization_id } = scope
  const shown = () => sql`and m.ticket_id = ${ticket_id} ${include_internal ? sql`` : sql`and not m.is_internal`}`
  const [ticket, [{ total }]] = await together([
    getTicketSummary(scope, ticket_id),
    sql<[{ total: number }]>`
      select count(*)::int as total from messages m where m.organization_id = ${organization_id} ${shown()}`,
  ])
  const begin = beginningOf(ticket)
  const entries = await newestEntries(scope, { shown, total }, MOST_BYTES - Buffer.byteLength(begin) - GAP_BYTES)
  const left_out = total - entries.length
  return begin + (left_out > 0 ? gap(left_out) : '') + entries.reverse().join('')
}

type Shown = {
  /** A condition on `messages m`. */
  shown: () => Fragment
  total: number
}

/** Writes messages, the newest first, until the next one has no room. The newest is cut rather than left out. */
async function newestEntries(scope: Scope, { shown, total }: Shown, room: number): Promise<string[]> {
  const entries: string[] = []
  let left = room
  for (let before = LAST_ID; entries.length < total; ) {
    const rows = await readStep(scope, shown, before)
    for (const row of rows) {
      const { entry, is_cut } = entryOf({ ...row, words: await toldWords(scope, row) }, left)
      if (is_cut) return entries.length > 0 ? entries : [entry]
      entries.push(entry)
      left -= Buffer.byteLength(entry)
      before = row.id
    }
    if (rows.length === 0) break
  }
  return entries
}

type Row = Omit<Told, 'words'> & {
  id: string
  reply_text: string | null
  /** These are empty where they are not needed. */
  body: string
  body_html: string
  format: Format | null
}

/** The texts of a step are read once it is known which they are: the database knows lengths without reading them. */
function readStep({ sql, organization_id }: Scope, shown: () => Fragment, before: string): Promise<Row[]> {
  return sql<Row[]>`
    select m.id, m.created_at, m.is_internal, m.direction, ${channelOf(sql)} as channel, m.sender_name, m.sender_email,
      m.sender_verified, m.auto_reply, m.format, left(m.reply_text, ${MOST_BYTES}) as reply_text,
      case when m.reply_text is null then left(m.body, ${MOST_BYTES}) else '' end as body,
      case when m.reply_text is null and m.format is distinct from 'text' then m.body_html else '' end as body_html,
      coalesce(length(regexp_replace(m.body, '[[:space:]]+', '', 'g'))
        > length(regexp_replace(m.reply_text, '[[:space:]]+', '', 'g')), false) as leaves_out,
      (
        select coalesce(json_agg(a.filename order by a.id), '[]') from attachments a
        where a.organization_id = ${organization_id} and a.message_id = m.id
      ) as files
    from (
      select f.id, sum(f.bytes) over (order by f.id desc rows between unbounded preceding and 1 preceding) as bytes
      from (
        select m.id, octet_length(m.body) + octet_length(m.body_html) + coalesce(octet_length(m.reply_text), 0) as bytes
        from messages m where m.organization_id = ${organization_id} ${shown()} and m.id < ${before}
        order by m.id desc limit ${STEP_MESSAGES}
      ) f
    ) f
    join messages m on m.organization_id = ${organization_id} and m.id = f.id
    where f.bytes is null or f.bytes < ${STEP_BYTES}
    order by m.id desc`
}

/** The words of a message; of an email its new part. */
function toldWords({ organization_id }: Scope, row: Row): string | Promise<string> {
  if (row.reply_text !== null) return row.reply_text
  const is_mail = row.direction === 'inbound' && row.channel === 'email'
  return is_mail || formOfRow(row) === 'text' ? row.body : renderText(row.body_html, organization_id)
}
