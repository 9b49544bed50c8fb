/** Lists sender rules, and finds those that are about a message. */
import { domainsOf } from '../../base/address/domains'
import { addressKey } from '../../base/address/email'
import type { SENDER_RULE_ACTIONS } from '../../base/db/schema'
import type { Scope } from '../../base/scope'
import { type Page, page } from '../../base/shapes/page'
import type { Paging } from '../../base/shapes/query'
import type { SenderRule as Shown } from './model'

/** The verdict of a rule on a message. */
export type SenderRule = (typeof SENDER_RULE_ACTIONS)[number]

/** Lists the sender rules of the organization, newest first. */
export function listSenderRules(scope: Scope, query: Paging): Promise<Page<Shown>> {
  const { sql, organization_id } = scope
  return page(scope, query, {
    name: 'sender-rules',
    sort: { keys: [{ sql: sql`id`, field: 'id' }], direction: 'desc' },
    rows: ({ slice }) => sql<Shown[]>`
      select id, sender, action, created_at from sender_rules
      where organization_id = ${organization_id} ${slice}`,
    count: () => sql<{ total: number }[]>`
      select count(*) as total from sender_rules where organization_id = ${organization_id}`,
  })
}

/** A message, as far as rules ask. */
type Asked = {
  headers: { from: { address: string } | null }
  sender: { email: string } | undefined
  envelope_sender: string | null
  member: object | null
  sender_verified: boolean | null
  is_undecided: boolean
  authentication: { spf: string } | null
}

/**
 * Finds the rule that is about each message: by From, or by the envelope. One that blocks counts also for a sender that
 * another field names. The rule of an address comes before that of its domain, and a domain before those above it; of
 * equal ones `block` counts. Members are not blocked, and forged senders are not allowed.
 * @returns undefined for messages that no rule is about
 */
export async function findRules({ sql, organization_id }: Scope, mails: Asked[]): Promise<(SenderRule | undefined)[]> {
  const keys = [...new Set(mails.flatMap((mail) => addressesOf(mail).flatMap(keysOf)))]
  if (keys.length === 0) return []
  const rows = await sql<{ sender_key: string; action: SenderRule }[]>`
    select sender_key, action from sender_rules
    where organization_id = ${organization_id} and sender_key = any(${keys}::text[])`
  const actions = new Map(rows.map(({ sender_key, action }) => [sender_key, action]))
  return mails.map((mail) => ruleOf(mail, actions))
}

function ruleOf(mail: Asked, actions: Map<string, SenderRule>): SenderRule | undefined {
  const { member, sender_verified, is_undecided, authentication, envelope_sender } = mail
  const is_forged = sender_verified === false || is_undecided
  const is_member = member !== null && !is_forged
  const is_envelope_good = ['pass', 'none', 'neutral'].includes(authentication?.spf ?? 'none')
  const found = [
    ...keysOf(fromOf(mail)).map((key) => ({ key, may_allow: !is_forged })),
    ...keysOf(envelope_sender).map((key) => ({ key, may_allow: !is_forged && is_envelope_good })),
    ...keysOf(mail.sender?.email ?? null).map((key) => ({ key, may_allow: false })),
  ]
    .map(({ key, may_allow }) => ({ key, may_allow, action: actions.get(key) }))
    .filter(({ action, may_allow }) => (action === 'block' ? !is_member : action === 'allow' && may_allow))
    .toSorted((a, b) => compareLevels(a.key, b.key) || Number(b.action === 'block') - Number(a.action === 'block'))
  return found[0]?.action
}

/** Orders keys: addresses first, then the longest domain. */
function compareLevels(a: string, b: string): number {
  const level = (key: string) => (key.includes('@') ? 1000 : key.length)
  return level(b) - level(a)
}

function addressesOf(mail: Asked): (string | null)[] {
  return [fromOf(mail), mail.envelope_sender, mail.sender?.email ?? null]
}

function fromOf({ headers }: Asked): string | null {
  return headers.from?.address ?? null
}

/** The keys of rules that an address falls under. */
function keysOf(address: string | null): string[] {
  return address?.includes('@') ? [addressKey(address), ...domainsOf(address)] : []
}
