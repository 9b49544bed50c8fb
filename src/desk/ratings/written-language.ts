/** Tells in which language a contact is asked: that of its newest mail. */
import { addressKey } from '../../base/address/email'
import { safeHtmlToText } from '../../base/html/text'
import { type Language, languageOf } from '../../base/language'
import type { Scope } from '../../base/scope'
import { beginningOf } from '../turn/shown-turn'

/** Tickets of the contact in which its newest mail is looked for, beside the one that it is asked about. */
const TICKETS = 20
/** Messages among which it is looked for. */
const LATEST = 50

type Newest = { last_text: string; last_is_html: boolean; sender_email: string; is_forged: boolean; keys: string[] }

/**
 * Reads the newest words of the contact of a ticket: those on the ticket, else on its newest others.
 * @returns their language, English without any; and whether nobody but a forger wrote in its name
 */
export async function readWriter(
  { sql, organization_id }: Scope,
  { ticket_id, contact_id }: { ticket_id: string; contact_id: string },
): Promise<{ language: Language; is_forged: boolean }> {
  const rows = await sql<Newest[]>`
    select ${beginningOf(sql)}, lm.sender_email, coalesce(not lm.sender_verified, false) as is_forged, array(
      select a.email_key from contact_addresses a
      where a.organization_id = ${organization_id} and a.contact_id = ${contact_id}
    ) as keys
    from messages lm
    where lm.organization_id = ${organization_id} and lm.direction = 'inbound' and not lm.auto_reply
      and lm.sender_email is not null and (lm.ticket_id = ${ticket_id} or lm.ticket_id = any(array(
        select t.id from tickets t
        where t.organization_id = ${organization_id} and t.contact_id = ${contact_id} and t.deleted_at is null
        order by t.id desc limit ${TICKETS}
      )))
    order by lm.ticket_id = ${ticket_id} desc, lm.id desc limit ${LATEST}`
  const own = rows.filter(({ sender_email, keys }) => keys.includes(addressKey(sender_email)))
  const newest = own.find(({ is_forged }) => !is_forged)
  if (!newest) return { language: 'english', is_forged: own.length > 0 }
  const { last_text, last_is_html } = newest
  const text = last_is_html ? safeHtmlToText(last_text.replace(/<[^>]*$|&[^;\s]*$/, '')) : last_text
  return { language: languageOf(text), is_forged: false }
}
