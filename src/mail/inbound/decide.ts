/**
 * Decides what messages become: many at a time, by as many statements as for one. Reads only, so that it can be asked
 * at any time. Three callers do:
 *
 * - `POST /inbound-messages?dry_run=true`, which shows the answer.
 * - `stored-parts.ts`, before it stores attachments: a message that was filed already needs none. `overtaking.ts` asks
 *   at
 *   the same stage, and only when an older message still waits: would this one start a ticket?
 * - `file-unrelated.ts` again, in the transaction that files the messages, once it holds the lock of the organization's
 *   mail. This answer counts: between the two, another process may have filed the same message, or the one that it
 *   answers.
 */
import type { SENDER_POLICIES } from '../../base/db/schema'
import { type Scope, together } from '../../base/scope'
import type { Bounce } from '../parse/parse'
import { type Filed, findFiled } from './fingerprint'
import type { InboundMail } from './message'
import { findLetters } from './own-mail'
import { findReported, type Reported } from './reported'
import { findThreads, type Thread } from './thread'
import { type Trust, trustIn } from './trust'

/**
 * What the Message-ID of a message is: its own; one that its sender gave to another text of the same date; or one of
 * ours, under which others wrote it, and which leads nowhere.
 */
type IdUse = 'own' | 'repeated' | 'copied'

export type Decision =
  | { outcome: 'duplicate' | 'unmatched_bounce' }
  | { outcome: 'own'; is_letter: boolean }
  | ({ outcome: 'bounce'; bounce: Bounce } & Reported)
  | ({ outcome: 'message'; trust: Trust; id_use: IdUse } & Thread)
  | { outcome: 'ticket' | 'unparsed'; rule: 'new'; trust: Trust; id_use: IdUse }

/** What was read about a message before it is decided on. */
type Findings = { filed: Filed | undefined; is_letter: boolean; trust: Trust; thread: Thread | undefined }

/** Decides on one message. */
export async function decide(scope: Scope, mail: InboundMail): Promise<Decision> {
  const [decision] = await decideAll(scope, [mail])
  return decision!
}

/** Decides on messages, each as if it were the only one. @returns a decision for each, in their order */
export async function decideAll(scope: Scope, mails: InboundMail[]): Promise<Decision[]> {
  const [filed, letters, policy] = await together([
    findFiled(scope, mails),
    findLetters(scope, mails),
    getSenderPolicy(scope),
  ])
  const trusts = mails.map((mail) => trustIn(mail, policy))
  const threads = await findThreads(
    scope,
    mails.flatMap((mail, place) =>
      // A report belongs to no conversation.
      mail.content && !mail.bounce && filed.get(place) !== 'again' && mail.ours !== 'sent'
        ? {
            place,
            ...mail,
            sender_email: mail.sender?.email ?? null,
            trust: trusts[place]!,
            is_repeated: filed.has(place) && mail.ours !== 'copied id',
          }
        : [],
    ),
  )
  return together(
    mails.map((mail, place) =>
      decideOne(scope, mail, {
        filed: filed.get(place),
        is_letter: letters.has(place),
        trust: trusts[place]!,
        thread: threads.get(place),
      }),
    ),
  )
}

/**
 * The first outcome that holds: a letter of the service, a duplicate, our own mail, mail that cannot be parsed, a
 * report about delivery, a message of a conversation that exists, else a new ticket.
 */
async function decideOne(
  scope: Scope,
  mail: InboundMail,
  { filed, is_letter, trust, thread }: Findings,
): Promise<Decision> {
  const { content, bounce, ours } = mail
  if (is_letter) return { outcome: 'own', is_letter }
  if (filed === 'again') return { outcome: 'duplicate' }
  if (ours === 'sent') return { outcome: 'own', is_letter }
  const id_use = ours === 'copied id' ? 'copied' : filed ? 'repeated' : 'own'
  if (!content) return { outcome: 'unparsed', rule: 'new', trust, id_use }
  if (bounce) {
    const about = await findReported(scope, mail, bounce)
    return about ? { outcome: 'bounce', bounce, ...about } : { outcome: 'unmatched_bounce' }
  }
  if (thread) return { outcome: 'message', ...thread, trust, id_use }
  return { outcome: 'ticket', rule: 'new', trust, id_use }
}

async function getSenderPolicy({ sql, organization_id }: Scope) {
  const [row] = await sql<{ sender_policy: (typeof SENDER_POLICIES)[number] }[]>`
    select sender_policy from organizations where id = ${organization_id}`
  return row?.sender_policy ?? 'flag'
}
