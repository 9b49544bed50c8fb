/**
 * Finds mail of ours that comes back from mailing lists and forwarders, and tells it from mail that only copies its
 * ids.
 */
import { safeHtmlToText } from '../../base/html/text'
import type { Scope } from '../../base/scope'
import { readMessageId, readReplyTag } from '../../desk/messages/anchors'
import { findLiveTokens } from '../letters/live-links'
import { tokensIn } from '../parse/parse'
import { ownText } from '../parse/reply-text'
import type { InboundMail } from './message'
import { holdsText, isSameText } from './same-text'

/** Mail that we sent, or words of others under our Message-ID or our reply address. */
export type Ours = 'sent' | 'copied id' | 'copied address'

/** Addresses of Reply-To whose tags are read; our own mail has one. */
const MAX_TAGGED_REPLY_TO = 50
/** Emails of the tickets that a Reply-To names, the newest first, with which a text is compared. */
const MAX_COMPARED = 20

type Sent = { place: number; is_named: boolean; body_html: string }

/**
 * Finds mail with our Message-ID, or the one that our relay gave it, or under any other id with our reply address in
 * its Reply-To, which nobody else asks for. It is ours when it has the text that we sent. A report about delivery may
 * have copied that address, so there it does not count. Another organization of the service may write to us like
 * anybody else.
 * @returns what such mail is, by its place in the list
 */
export async function findOurs({ sql, organization_id }: Scope, mails: InboundMail[]): Promise<Map<number, Ours>> {
  const rows = mails.flatMap(({ headers: { message_id, reply_to }, content }, place) => {
    const tagged = (content?.bounce ? [] : reply_to)
      .slice(0, MAX_TAGGED_REPLY_TO)
      .flatMap(({ address }) => readReplyTag(address) ?? [])
    const ours = message_id && readMessageId(message_id)
    return message_id || tagged.length > 0 ? { place, email_message_id: message_id, ours, tagged } : []
  })
  if (rows.length === 0) return new Map()
  const found = await sql<Sent[]>`
    with given as materialized (
      select * from json_to_recordset(${JSON.stringify(rows)}::text::json)
        as x (place integer, email_message_id text, ours uuid, tagged uuid[])
    )
    select g.place, true as is_named, m.body_html
    from given g join messages m on m.organization_id = ${organization_id} and m.id = g.ours
    where m.direction = 'outbound'
    union all
    select g.place, true, m.body_html
    from given g
    join email_anchors a on a.organization_id = ${organization_id} and a.email_message_id = g.email_message_id
    join messages m on m.organization_id = ${organization_id} and m.id = a.message_id
    where m.direction = 'outbound'
    union all
    select g.place, false, latest.body_html
    from given g cross join lateral (
      select m.body_html from messages m
      where m.organization_id = ${organization_id} and m.ticket_id = any(g.tagged) and m.direction = 'outbound'
      order by m.id desc limit ${MAX_COMPARED}
    ) latest`
  const ofPlace = Map.groupBy(found, ({ place }) => place)
  return new Map(ofPlace.entries().map(([place, sent]) => [place, compare(mails[place]!, sent)]))
}

/**
 * Finds mail that holds a link of a letter of the service which still opens an account: the letter itself, or the mail
 * of a responder that quotes it. Nobody but its recipient may read it.
 * @returns the places of such mail in the list
 */
export async function findLetters(scope: Scope, mails: InboundMail[]): Promise<Set<number>> {
  const tokens = mails.map(({ content, raw }) => (content ? content.link_tokens : tokensIn(raw)))
  const live = await findLiveTokens(scope, [...new Set(tokens.flat())])
  return new Set(mails.keys().filter((place) => tokens[place]!.some((token) => live.has(token))))
}

function compare(mail: InboundMail, sent: Sent[]): Ours {
  if (sent.some(({ body_html }) => isCopyOf(mail, safeHtmlToText(body_html)))) return 'sent'
  return sent.some(({ is_named }) => is_named) ? 'copied id' : 'copied address'
}

/**
 * True when a message has the text that we sent. Lists, and forwarders that keep our From, add words to it. They quote
 * nothing: in a quotation it is what somebody answers.
 */
function isCopyOf({ content, headers, is_from_mailbox }: InboundMail, text: string): boolean {
  if (!content) return false
  if (isSameText(content.text, text)) return true
  if (headers.list === null && !is_from_mailbox) return false
  return holdsText(content.text, text) && holdsText(ownText(content.text), ownText(text))
}
