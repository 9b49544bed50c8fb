/** Reads the earlier messages that an email quotes, each time that it is composed. */

import { ERASED } from '../../base/address/email'
import { renderText } from '../../base/html/render'
import type { Scope } from '../../base/scope'
import { channelOf } from '../messages/queries'
import { type Earlier, historyOf } from './history'

/** Characters that are read of a message, of a plain text and of HTML: more of one are not sent. */
const MOST_TEXT = 100_001
const MOST_HTML = 500_000

type Row = Omit<Earlier, 'words'> & { direction: string; text: string | null; html: string | null }

/**
 * Reads messages that were quoted when an answer was written. What was deleted or erased since is left out of each
 * later attempt, and so is a note.
 * @param ids of the messages
 * @param shownAs gives what a customer sees as the sender of a member's answer
 * @returns null when nothing is left to quote
 */
export async function readHistory(
  { sql, organization_id }: Scope,
  ids: string[],
  shownAs: (member: string) => { sender_name: string; sender_email: string },
): Promise<ReturnType<typeof historyOf>> {
  if (ids.length === 0) return null
  const is_mail = sql`m.direction = 'inbound' and ${channelOf(sql)} = 'email'`
  const rows = await sql<Row[]>`
    select m.direction, m.sender_name, m.sender_email, m.created_at, case
        when ${is_mail} then left(coalesce(m.reply_text, m.body), ${MOST_TEXT})
        when m.format = 'text' then left(m.body, ${MOST_TEXT})
      end as text, case when not (${is_mail}) then left(m.body_html, ${MOST_HTML}) end as html
    from messages m
    join tickets t on t.organization_id = ${organization_id} and t.id = m.ticket_id and t.deleted_at is null
    where m.organization_id = ${organization_id} and m.id = any(${ids}::uuid[]) and not m.is_internal
      and m.body <> ${ERASED}
    order by m.id desc`
  const earlier: Earlier[] = []
  for (const { direction, text, html, ...message } of rows) {
    // The end of HTML may be cut off within a tag or a character reference.
    const words = text ?? (await renderText((html ?? '').replace(/<[^>]*$|&[^;\s]*$/, ''), organization_id))
    earlier.push({ ...message, ...(direction === 'outbound' && shownAs(message.sender_name)), words })
  }
  return historyOf(earlier)
}
