/** Writes the letters that tell members of tickets, when they leave: of what is there and may be told by then. */
import { ZERO_ID } from '../../base/db/columns'
import type { NOTIFY_REASONS } from '../../base/db/schema'
import { sharedTime } from '../../base/db/shared-time'
import type { Scope } from '../../base/scope'
import { letterAddress, letterMessageId } from '../../desk/messages/anchors'
import { mayUseAddress } from '../../desk/messages/mailbox-address'
import { beginningOf, excerptOf } from '../../desk/turn/shown-turn'
import { isOver } from '../../desk/viewing/queries'
import { type NewsLine, newsLetter, type ReadyLetter } from './letter-texts'
import { findWay } from './ways'

type News = { reason: (typeof NOTIFY_REASONS)[number]; message_id: string | null }
type Closed = { about_id: string; member_id: string; news: News[] }

/** A member and a ticket, as far as both are there. */
type Facts = {
  email: string
  notify: News['reason'][]
  ticket_id: string
  code: string
  subject: string
  mailbox_id: string | null
  is_looking: boolean
}

type Quoted = { id: string; is_internal: boolean; sender_name: string; last_text: string; last_is_html: boolean }

/**
 * Closes a letter to a member, so that later news make another one, and writes it.
 * @returns undefined when nothing is to be told: the member is gone, wants it no more or looks at the ticket, or the
 *   ticket or its messages are gone, or no letter can leave
 */
export async function writeMemberLetter(scope: Scope, id: string): Promise<ReadyLetter | undefined> {
  const { sql, organization_id } = scope
  // A cluster takes no time of its own beside a column.
  const closed_at = new Date(sharedTime()).toISOString()
  const [closed] = await sql<Closed[]>`
    update letters set closed_at = coalesce(closed_at, ${closed_at}::timestamptz)
    where organization_id = ${organization_id} and id = ${id} returning about_id, member_id, news`
  const [facts, way] = closed ? await Promise.all([findFacts(scope, closed), findWay(scope)]) : []
  if (!closed || !facts || !way || facts.is_looking) return undefined
  const [quoted, mailbox] = await Promise.all([findQuoted(scope, closed.news), findMailbox(scope, facts.mailbox_id)])
  const lines = newsLines(closed.news, facts, quoted)
  if (lines.length === 0) return undefined
  const { email, ticket_id, code, subject } = facts
  const about = { ticket_id, is_about_note: lines.some(({ is_internal }) => is_internal) }
  const reply_to = mailbox?.plus_addressing ? letterAddress(mailbox.address, about) : undefined
  const answer = reply_to || way.type === 'mailbox' ? (about.is_about_note ? 'note' : 'customer') : 'nobody'
  return {
    mailbox_id: way.type === 'mailbox' ? way.mailbox_id : null,
    recipient: email,
    reply_to,
    messageId: (domain) => letterMessageId(about, id, domain),
    ...newsLetter({ organization_id, ticket: { id: ticket_id, code, subject }, lines, answer }),
  }
}

async function findFacts({ sql, organization_id }: Scope, { about_id, member_id }: Closed): Promise<Facts | undefined> {
  const [facts] = await sql<Facts[]>`
    select u.email, m.notify, t.id as ticket_id, t.code, t.subject, t.mailbox_id, exists (
      select from viewers v
      where v.organization_id = ${organization_id} and v.ticket_id = t.id and v.user_id = ${member_id}
        and not ${isOver(sql)}
    ) as is_looking
    from tickets n
    join tickets t on t.organization_id = ${organization_id} and t.id = coalesce(n.merged_into_id, n.id)
      and t.deleted_at is null
    join memberships m on m.organization_id = ${organization_id} and m.user_id = ${member_id} and m.active
      and m.removed_at is null
    join users u on u.id = m.user_id
    where n.organization_id = ${organization_id} and n.id = ${about_id}`
  return facts
}

async function findQuoted({ sql, organization_id }: Scope, news: News[]): Promise<Map<string, Quoted>> {
  const ids = news.flatMap(({ message_id }) => message_id ?? [])
  const rows = await sql<Quoted[]>`
    select lm.id, lm.is_internal, lm.sender_name, ${beginningOf(sql)} from messages lm
    where lm.organization_id = ${organization_id} and lm.id = any(${ids}::uuid[])`
  return new Map(rows.map((row) => [row.id, row]))
}

/** The mailbox to which answers about a ticket come: its own, else the default one. */
async function findMailbox({ sql, organization_id }: Scope, mailbox_id: string | null) {
  const own = mailbox_id ?? ZERO_ID
  const [mailbox] = await sql<{ address: string; plus_addressing: boolean }[]>`
    select m.address, m.plus_addressing from mailboxes m
    where m.organization_id = ${organization_id} and m.active and ${mayUseAddress(sql)}
      and (m.is_default or m.id = ${own})
    order by m.id = ${own} desc limit 1`
  return mailbox
}

/** The news that the member still wants, each once, without those whose message is gone. */
function newsLines(news: News[], { notify }: Facts, quoted: Map<string, Quoted>): NewsLine[] {
  const wanted = news.filter(({ reason, message_id }, place) => {
    const first = news.findIndex((one) => one.reason === reason && one.message_id === message_id)
    return first === place && notify.includes(reason) && (message_id === null || quoted.has(message_id))
  })
  return wanted.map(({ reason, message_id }) => {
    const {
      sender_name = '',
      is_internal = false,
      last_text = '',
      last_is_html = false,
    } = quoted.get(message_id ?? '') ?? {}
    return { reason, name: sender_name, is_internal, excerpt: excerptOf(last_text, last_is_html) }
  })
}
