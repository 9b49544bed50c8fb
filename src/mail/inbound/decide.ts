/**
 * Decides what messages become: many at a time, by as many statements as for one. Reads only, so that it can be asked at
 * any time. Three callers do:
 *
 * - `POST /inbound-messages?dry_run=true`, which shows the answer.
 * - `stored-parts.ts`, before it stores attachments: a message that was filed already needs none. `overtaking.ts` asks at
 *   the same stage, and only when an older message still waits: would this one start a ticket?
 * - `file-unrelated.ts` again, in the transaction that files the messages, once it holds the lock of the organization's
 *   mail. This answer counts: between the two, another process may have filed the same message, or the one that it answers.
 */
import type { SENDER_POLICIES } from '../../db/schema'
import { readMessageId, readReplyTag } from '../../messages/anchors'
import { type Scope, together } from '../../scope'
import type { Bounce } from '../parse/parse'
import { findFiled } from './fingerprint'
import type { InboundMail } from './message'
import { findReported, type Reported } from './reported'
import { findThreads, type Rule, type Thread } from './thread'
import { type AnchorKind, type Trust, trustIn } from './trust'

export type Decision =
  | { outcome: 'duplicate' | 'own' | 'unmatched_bounce' }
  | ({ outcome: 'bounce'; bounce: Bounce } & Reported)
  | { outcome: 'message'; rule: Rule; ticket_id: string; is_known: boolean; anchor: AnchorKind; trust: Trust }
  | { outcome: 'ticket' | 'unparsed'; rule: 'new'; trust: Trust }

/** Addresses of Reply-To whose tags are read; our own mail has one. */
const MAX_TAGGED_REPLY_TO = 50

/** What was read about a message before it is decided on. */
type Findings = { is_filed: boolean; is_own: boolean; trust: Trust; thread: Thread | undefined }

/** Decides on one message. */
export async function decide(scope: Scope, mail: InboundMail): Promise<Decision> {
  const [decision] = await decideAll(scope, [mail])
  return decision!
}

/** Decides on messages, each as if it were the only one. @returns a decision for each, in their order */
export async function decideAll(scope: Scope, mails: InboundMail[]): Promise<Decision[]> {
  const [filed, own, policy] = await together([
    findFiled(
      scope,
      mails.map(({ fingerprint }) => fingerprint),
    ),
    findOwn(scope, mails),
    getSenderPolicy(scope),
  ])
  const trusts = mails.map((mail) => trustIn(mail, policy))
  const threads = await findThreads(
    scope,
    mails.flatMap((mail, place) =>
      // A report belongs to no conversation.
      mail.content && !mail.bounce && !filed.has(place) && !own.has(place)
        ? { place, ...mail, sender_email: mail.sender?.email ?? null, trust: trusts[place]! }
        : [],
    ),
  )
  return together(
    mails.map((mail, place) =>
      decideOne(scope, mail, {
        is_filed: filed.has(place),
        is_own: own.has(place),
        trust: trusts[place]!,
        thread: threads.get(place),
      }),
    ),
  )
}

/**
 * The first outcome that holds: a duplicate, our own mail, mail that cannot be parsed, a report about delivery, a message
 * of a conversation that exists, else a new ticket.
 */
async function decideOne(
  scope: Scope,
  mail: InboundMail,
  { is_filed, is_own, trust, thread }: Findings,
): Promise<Decision> {
  const { content, bounce } = mail
  if (is_filed) return { outcome: 'duplicate' }
  if (is_own) return { outcome: 'own' }
  if (!content) return { outcome: 'unparsed', rule: 'new', trust }
  if (bounce) {
    const about = await findReported(scope, mail, bounce)
    return about ? { outcome: 'bounce', bounce, ...about } : { outcome: 'unmatched_bounce' }
  }
  if (thread) return { outcome: 'message', ...thread, trust }
  // The null sender wants no answer, and nothing says which conversation this is about.
  if (mail.envelope_sender === '') return { outcome: 'unmatched_bounce' }
  return { outcome: 'ticket', rule: 'new', trust }
}

async function getSenderPolicy({ sql, organization_id }: Scope) {
  const [row] = await sql<{ sender_policy: (typeof SENDER_POLICIES)[number] }[]>`
    select sender_policy from organizations where id = ${organization_id}`
  return row?.sender_policy ?? 'flag'
}

/**
 * Finds mail of this organization that comes back from mailing lists and forwarders. It has our Message-ID, or the
 * one that our relay gave it, or under any other id our reply address in its Reply-To, which nobody else asks for. A
 * report about delivery may have copied that address, so there it does not count. Another organization of the service
 * may write to us like anybody else.
 * @returns the places of such mail in the list
 */
async function findOwn({ sql, organization_id }: Scope, mails: InboundMail[]): Promise<Set<number>> {
  const rows = mails.flatMap(({ headers: { message_id, reply_to }, content }, place) => {
    const tagged = (content?.bounce ? [] : reply_to)
      .slice(0, MAX_TAGGED_REPLY_TO)
      .flatMap(({ address }) => readReplyTag(address) ?? [])
    const ours = message_id && readMessageId(message_id)
    return message_id || tagged.length > 0 ? { place, email_message_id: message_id, ours, tagged } : []
  })
  if (rows.length === 0) return new Set()
  const found = await sql<{ place: number }[]>`
    select g.place
    from json_to_recordset(${JSON.stringify(rows)}::text::json)
      as g (place integer, email_message_id text, ours uuid, tagged uuid[])
    where exists (
      select 1 from messages m
      where m.organization_id = ${organization_id} and m.id = g.ours and m.direction = 'outbound'
    ) or exists (
      select 1 from email_anchors a
      left join messages m on m.organization_id = ${organization_id} and m.id = a.message_id
      where a.organization_id = ${organization_id} and a.email_message_id = g.email_message_id
        and (m.direction = 'outbound' or m.id is null and g.ours is not null)
    ) or exists (
      select 1 from tickets t where t.organization_id = ${organization_id} and t.id = any(g.tagged)
    )`
  return new Set(found.map(({ place }) => place))
}
