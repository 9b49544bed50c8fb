/**
 * Finds mail of ours that comes back from mailing lists and forwarders, and tells it from mail that only copies its
 * ids.
 */
import { gathered } from '../../base/flow/gather'
import type { Scope } from '../../base/scope'
import { readMessageId, readReplyTag } from '../../desk/messages/anchors'
import { withoutHistory } from '../../desk/quotations/history'
import { findLiveTokens } from '../letters/live-links'
import { isCopyInWorker } from '../parse/lanes'
import { tokensIn } from '../parse/parse'
import type { InboundMail } from './message'

/** Addresses of Reply-To whose tags are read; our own mail has one. */
const MAX_TAGGED_REPLY_TO = 50
/** Emails of the tickets that a Reply-To names, the newest first, with which a text is compared. */
const MAX_COMPARED = 20
/** Bytes of what was sent. The email that reaches it is the last one with which a text is compared. */
const MAX_COMPARED_BYTES = 2_000_000

type Sent = { place: number; is_named: boolean; id: string; size: number }

/**
 * Tells of mail with our Message-ID, or the one that our relay gave it, or under any other id with our reply address in
 * its Reply-To, which nobody else asks for. It is ours when it has the text that we sent. A report about delivery may
 * have copied that address, so there it does not count. Another organization of the service may write to us like
 * anybody else. To be called outside a transaction: the parser compares long texts. Nothing comes back before the
 * transaction that sent it has ended.
 * @param sent what `findSent` has found
 */
export async function withOurs(scope: Scope, mail: InboundMail, sent: Sent[]): Promise<InboundMail> {
  if (sent.length === 0) return mail
  if (await isOneOf(scope, mail, sent)) return { ...mail, ours: 'sent' }
  return { ...mail, ours: sent.some(({ is_named }) => is_named) ? 'copied id' : 'copied address' }
}

/** Finds the emails that a message names. Messages of an organization that ask at the same time share a statement. */
export const findSent = gathered(
  async (asked: { scope: Scope; mail: InboundMail }[]) => {
    const rows = asked.flatMap(({ mail }, place) => anchorsOf(mail, place))
    const found = rows.length === 0 ? [] : await findSentOf(asked[0]!.scope, rows)
    const ofPlace = Map.groupBy(found, ({ place }) => place)
    return asked.map((_, place) => ofPlace.get(place) ?? [])
  },
  { key: ({ scope }) => scope.organization_id, most_runs: 1, rest_ms: 20 },
)

function anchorsOf({ headers: { message_id, reply_to }, content }: InboundMail, place: number) {
  const tagged = (content?.bounce ? [] : reply_to)
    .slice(0, MAX_TAGGED_REPLY_TO)
    .flatMap(({ address }) => readReplyTag(address) ?? [])
  const ours = message_id && readMessageId(message_id)
  return message_id || tagged.length > 0 ? [{ place, email_message_id: message_id, ours, tagged }] : []
}

function findSentOf({ sql, organization_id }: Scope, rows: ReturnType<typeof anchorsOf>): Promise<Sent[]> {
  return sql<Sent[]>`
    with given as materialized (
      select * from json_to_recordset(${JSON.stringify(rows)}::text::json)
        as x (place integer, email_message_id text, ours uuid, tagged uuid[])
    )
    select g.place, true as is_named, m.id, octet_length(m.body_html) as size
    from given g join messages m on m.organization_id = ${organization_id} and m.id = g.ours
    where m.direction = 'outbound'
    union all
    select g.place, true, m.id, octet_length(m.body_html)
    from given g
    join email_anchors a on a.organization_id = ${organization_id} and a.email_message_id = g.email_message_id
    join messages m on m.organization_id = ${organization_id} and m.id = a.message_id
    where m.direction = 'outbound'
    union all
    select g.place, false, latest.id, latest.size
    from given g cross join lateral (
      select m.id, octet_length(m.body_html) as size from messages m
      where m.organization_id = ${organization_id} and m.direction = 'outbound' and m.ticket_id = any(array(
          select coalesce(t.merged_into_id, t.id) from tickets t
          where t.organization_id = ${organization_id} and t.id = any(g.tagged)
        ))
      order by m.id desc limit ${MAX_COMPARED}
    ) latest`
}

/** True when a message has the text of one of the emails. */
async function isOneOf({ sql, organization_id }: Scope, mail: InboundMail, sent: Sent[]): Promise<boolean> {
  const { content, headers, is_from_mailbox } = mail
  if (!content) return false
  let size = 0
  const compared = sent.filter((one) => {
    const is_room = size < MAX_COMPARED_BYTES
    size += one.size
    return is_room
  })
  const rows = await sql<{ body_html: string }[]>`
    select body_html || coalesce('<br>' || signature_html, '') as body_html from messages
    where organization_id = ${organization_id} and id = any(${compared.map(({ id }) => id)}::uuid[])`
  const may_have_more = headers.list !== null || is_from_mailbox
  const texts = { may_have_more, sent: rows.map(({ body_html }) => body_html) }
  // The messages that it quoted may be deleted or erased by now.
  for (const text of new Set([content.text, withoutHistory(content.text)])) {
    if (await isCopyInWorker({ ...texts, text }, organization_id)) return true
  }
  return false
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
