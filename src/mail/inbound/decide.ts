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
import { addressKey } from '../../base/address/email'
import type { SENDER_POLICIES, SPAM_JUDGES, SPAM_POLICIES } from '../../base/db/schema'
import { type Scope, together } from '../../base/scope'
import { readLetterAnchor } from '../../desk/messages/anchors'
import type { Bounce } from '../parse/parse'
import { findRules, type SenderRule } from '../sender-rules/queries'
import { type Filed, findFiled, findRoomForRepeats } from './fingerprint'
import type { InboundMail } from './message'
import { findLetters } from './own-mail'
import { findReported, type Reported } from './reported'
import { findThreads, lettersNamedBy, type Thread } from './thread'
import { type Trust, trustIn } from './trust'

/**
 * The kind of a message's Message-ID: its own; one that its sender gave to another text of the same date; or one of
 * ours, under which others wrote it, and which leads nowhere.
 */
type IdUse = 'own' | 'repeated' | 'copied'

type Becomes =
  | { outcome: 'duplicate' | 'unmatched_bounce' | 'spam' }
  | { outcome: 'own'; is_letter: boolean }
  | ({ outcome: 'bounce'; bounce: Bounce } & Reported)
  | ({ outcome: 'message'; trust: Trust; id_use: IdUse } & Thread)
  | { outcome: 'ticket' | 'unparsed'; rule: 'new'; trust: Trust; id_use: IdUse }

/**
 * The fate of a message, who said if it is spam, if it counts as one of the repeats of its sender, and if it is held,
 * or a copy of one that is.
 */
export type Decision = Becomes & { spam_by: (typeof SPAM_JUDGES)[number] | null; is_repeat: boolean; is_held: boolean }

/** The facts that were read about a message before it is decided on. */
type Findings = { filed: Filed | undefined; is_letter: boolean; trust: Trust; thread: Thread | undefined }

/** Decides on one message. */
export async function decide(scope: Scope, mail: InboundMail): Promise<Decision> {
  const [decision] = await decideAll(scope, [mail])
  return decision!
}

/**
 * Decides on messages, each as if it were the only one; but repeats of a sender count together.
 * @returns a decision for each, in their order
 */
export async function decideAll(scope: Scope, mails: InboundMail[]): Promise<Decision[]> {
  const [{ filed, held }, letters, policies, rules, contacts] = await together([
    findFiled(scope, mails),
    findLetters(scope, mails),
    getPolicies(scope),
    findRules(scope, mails),
    findContacts(scope, mails),
  ])
  const trusts = mails.map((mail) => trustIn(mail, policies.sender_policy))
  const [threads, rooms] = await together([
    findThreads(
      scope,
      mails.flatMap((mail, place) =>
        // A report belongs to no conversation.
        mail.content && !mail.bounce && filed.get(place) !== 'again' && mail.ours !== 'sent'
          ? {
              place,
              ...mail,
              sender_email: threadedBy(mail),
              trust: trusts[place]!,
              is_of_member: mayAnswerLetters(mail),
              is_repeated: filed.has(place) && mail.ours !== 'copied id',
            }
          : [],
      ),
    ),
    findRoomForRepeats(scope, mails, filed),
  ])
  const heldOf = (place: number) => ({ outcome: held.has(place) ? ('duplicate' as const) : ('spam' as const) })
  const decisions = await together(
    mails.map(async (mail, place) => {
      const known = filed.get(place)
      const becomes = await decideOne(scope, mail, {
        filed: known,
        is_letter: letters.has(place),
        trust: trusts[place]!,
        thread: threads.get(place),
      })
      const [rule, spam_by] = [rules[place], rules[place] ? 'sender_rule' : (mail.spam?.by ?? null)] as const
      const is_known = mail.member !== null || contacts.has(addressKey(mail.sender?.email ?? ''))
      const is_held = isHeld(mail, becomes, { rule, policy: policies.spam_policy, is_known })
      const is_shown = !is_held && becomes.outcome !== 'duplicate' && becomes.outcome !== 'own'
      const is_repeat = is_shown && known === 'with another text' && !mail.is_released
      return { ...(is_held ? heldOf(place) : becomes), spam_by, is_repeat, is_held }
    }),
  )
  const repeats = new Map<string, number>()
  return decisions.map((decision, place): Decision => {
    if (!decision.is_repeat) return decision
    const sender = mails[place]!.fingerprint.repeats
    const before = repeats.get(sender) ?? 0
    repeats.set(sender, before + 1)
    if (before < rooms[place]!) return decision
    return { ...heldOf(place), spam_by: 'repeat', is_repeat: false, is_held: true }
  })
}

/**
 * Tells if a message waits for its release. A rule of the organization holds whatever is shown to people or counts;
 * others' words hold no conversation that goes on, and nobody who is known and proven.
 */
function isHeld(
  { is_released, spam, sender_verified }: InboundMail,
  becomes: Becomes,
  { rule, policy, is_known }: { rule: SenderRule | undefined; policy: string; is_known: boolean },
): boolean {
  const { outcome } = becomes
  if (is_released || outcome === 'duplicate' || outcome === 'own') return false
  if (rule) return rule === 'block'
  if (!spam?.is_spam || policy === 'mark' || outcome === 'bounce' || outcome === 'unmatched_bounce') return false
  const is_answer = outcome === 'message' && becomes.anchor === 'issued'
  return !is_answer && !(sender_verified === true && is_known)
}

/**
 * Gives the first outcome that holds, before spam is held: a letter of the service, a machine's answer to one, a
 * duplicate, our own mail, mail that cannot be parsed, a report about delivery, a message of a conversation that
 * exists, else a new ticket.
 */
async function decideOne(
  scope: Scope,
  mail: InboundMail,
  { filed, is_letter, trust, thread }: Findings,
): Promise<Becomes> {
  const { content, bounce, ours } = mail
  if (is_letter || isLetterToMember(mail)) return { outcome: 'own', is_letter: true }
  // Two machines that answer letters would never stop.
  if (content?.auto_reply && lettersNamedBy(mail.headers, mail.recipient).length > 0) {
    return { outcome: 'own', is_letter: false }
  }
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

/** True for a letter that came back. */
function isLetterToMember({ headers: { message_id } }: InboundMail): boolean {
  return message_id !== null && readLetterAnchor(message_id) !== null
}

/** True for mail that nothing denies to be a member's. */
function mayAnswerLetters({ member, sender_verified, is_undecided, passed_on, ours }: InboundMail): boolean {
  return member !== null && sender_verified !== false && !is_undecided && !passed_on && ours !== 'copied id'
}

/** The address by whose tickets mail is threaded: a form and a stranger lead to their own, not to those of Reply-To. */
function threadedBy({ sender, sender_source, headers }: InboundMail): string | null {
  return (sender_source === 'reply_to' ? headers.from?.address : sender?.email) ?? null
}

type Policies = { sender_policy: (typeof SENDER_POLICIES)[number]; spam_policy: (typeof SPAM_POLICIES)[number] }

async function getPolicies({ sql, organization_id }: Scope): Promise<Policies> {
  const [row] = await sql<Policies[]>`
    select sender_policy, spam_policy from organizations where id = ${organization_id}`
  return row ?? { sender_policy: 'flag', spam_policy: 'hold' }
}

/** Finds the contacts among the proven senders of spam. @returns the keys of their addresses */
async function findContacts({ sql, organization_id }: Scope, mails: InboundMail[]): Promise<Set<string>> {
  const proven = mails.filter(({ spam, sender_verified }) => spam?.is_spam && sender_verified === true)
  if (proven.length === 0) return new Set()
  const keys = proven.map(({ sender }) => addressKey(sender?.email ?? ''))
  const rows = await sql<{ email_key: string }[]>`
    select email_key from contact_addresses
    where organization_id = ${organization_id} and email_key = any(${keys}::text[])`
  return new Set(rows.map(({ email_key }) => email_key))
}
