/** Writes the outcomes of messages into the mail ledger. */

import { searchKeys } from '../../base/address/search-keys'
import { insertRows } from '../../base/db/insert-rows'
import type { Fragment } from '../../base/db/transact'
import { noteFiled } from '../../base/metrics/filed-mail'
import type { InboundSteps } from '../../base/metrics/inbound-steps'
import { count, type Figure } from '../../base/metrics/organization-figures'
import { afterCommit, type Scope, together } from '../../base/scope'
import { storable } from '../../base/shapes/fold'
import { type Audience, type NewEvent, publishEach } from '../../delivery/webhooks/publish'
import { removeSoon } from '../../desk/attachments/removals'
import type { Decision } from './decide'
import { heldAs, mergeFingerprints, repeatOf } from './fingerprint'
import type { InboundMail } from './message'
import { presented, taken } from './select-ledger'

const MAX_LEDGER_SUBJECT = 1000
/** Addresses of To and Cc that the ledger keeps. */
const MAX_RECIPIENTS = 50

/** The figure that an outcome counts as; all others are `mail_others`. */
const FIGURE: Partial<Record<Decision['outcome'], Figure>> = {
  ticket: 'mail_tickets',
  unparsed: 'mail_tickets',
  message: 'mail_messages',
  bounce: 'mail_bounces',
}

export type FiledMail = {
  mail: InboundMail
  decision: Decision
  /** The message that it became, or that it reports about; undefined when there is none. */
  about: { ticket_id: string; message_id: string } | undefined
  steps: InboundSteps
}

/** Writes the outcomes, with the fingerprints by which other deliveries of the messages are found. */
export async function writeOutcomes(scope: Scope, filed: FiledMail[], audience: Audience): Promise<void> {
  const { sql, organization_id } = scope
  const rows = filed.map(rowOf)
  const others = rows.filter(({ outcome }) => outcome !== 'duplicate')
  const duplicates = rows.filter(({ outcome }) => outcome === 'duplicate')
  const repeats = rows.filter(({ is_repeat }) => is_repeat)
  await together([
    insertFingerprints(scope, others, mergeFingerprints(scope)),
    insertFingerprints(scope, [...duplicates, ...repeats.map(repeatOf)], sql`on conflict do nothing`),
    sql`
      with given as materialized (
        select * from json_to_recordset(${JSON.stringify(rows)}::text::json) as x (id uuid, outcome text, rule text, led_by text,
          email_message_id text, from_name text, from_email text, subject text, ticket_id uuid, message_id uuid,
          sender_verified boolean, authentication jsonb, named text[],
          from_keys text[], to_keys text[], spam_score real, spam_by text)
      )
      update inbound_messages i
      set outcome = g.outcome, rule = g.rule, led_by = g.led_by, email_message_id = g.email_message_id, from_name = g.from_name,
        from_email = g.from_email, subject = g.subject, ticket_id = g.ticket_id, message_id = g.message_id,
        sender_verified = g.sender_verified, authentication = g.authentication, recipients = i.recipients || g.named,
        spam_score = coalesce(g.spam_score, i.spam_score), spam_by = coalesce(g.spam_by, i.spam_by), from_keys = i.from_keys || g.from_keys, to_keys = i.to_keys || g.to_keys
      from given g
      where i.organization_id = ${organization_id} and i.id = g.id`,
  ])
  await dropOriginals(
    scope,
    filed.flatMap(({ mail, decision }) => (decision.outcome === 'own' && decision.is_letter ? mail.id : [])),
  )
  await publishFiled(scope, filed, audience)
  afterCommit(scope, () => {
    for (const [index, { id, outcome, rule, ticket_id, message_id }] of rows.entries()) {
      const { mail, steps } = filed[index]!
      const bytes = mail.raw.length
      count(organization_id, FIGURE[outcome] ?? 'mail_others')
      noteFiled({ organization_id, inbound_message_id: id, outcome, rule, ticket_id, message_id, bytes }, steps)
    }
  })
}

/** Tells of rows that got their outcome, in the order given. */
async function publishFiled(scope: Scope, filed: FiledMail[], audience: Audience): Promise<void> {
  const ids = filed.map(({ mail }) => mail.id)
  const rows = await presented<{ id: string }>(scope, scope.sql`${taken(scope)} and id = any(${ids}::uuid[])`)
  const row_of = new Map(rows.map((row) => [row.id, row]))
  const changes = filed.map(({ mail, steps: { traceparent } }) => {
    const events: NewEvent[] = [{ type: 'inbound_message.filed', data: row_of.get(mail.id) }]
    return { events, audience, traceparent }
  })
  await publishEach(scope, changes)
}

/** Removes the originals of letters, which hold a link that opens an account. */
async function dropOriginals({ sql, organization_id }: Scope, ids: string[]): Promise<void> {
  if (ids.length === 0) return
  const letters = await sql<{ storage_key: string | null }[]>`
    select storage_key from inbound_messages
    where organization_id = ${organization_id} and id = any(${ids}::uuid[]) for update`
  await sql`
    update inbound_messages set storage_key = null
    where organization_id = ${organization_id} and id = any(${ids}::uuid[])`
  await removeSoon(sql, letters)
}

/** @param on_conflict for a fingerprint that is known already */
function insertFingerprints(
  { sql, organization_id }: Scope,
  rows: ReturnType<typeof rowOf>[],
  on_conflict: Fragment,
): Promise<unknown> {
  const fingerprints = rows.map(({ id, fingerprint, words, from_list }) => {
    return { organization_id, fingerprint, inbound_message_id: id, words: words === null ? null : [words], from_list }
  })
  return insertRows(sql, 'inbound_fingerprints', fingerprints, on_conflict)
}

function rowOf({ mail, decision, about }: FiledMail) {
  const { id, headers, passed_on, fingerprint, sender_verified, authentication } = mail
  const sender = passed_on?.by ?? mail.sender
  const addresses = [...headers.to, ...headers.cc].map(({ address }) => storable(address))
  const named = [...new Set(addresses)].slice(0, MAX_RECIPIENTS)
  return {
    id,
    fingerprint: decision.is_held ? heldAs(fingerprint.text) : fingerprint.text,
    repeats: fingerprint.repeats,
    words: fingerprint.words,
    from_list: headers.list !== null,
    outcome: decision.outcome,
    rule: 'rule' in decision ? decision.rule : null,
    led_by: 'led_by' in decision ? decision.led_by : null,
    email_message_id: headers.message_id,
    from_name: sender?.name || null,
    from_email: sender?.email ?? null,
    subject: headers.subject === null ? null : storable(headers.subject, MAX_LEDGER_SUBJECT),
    ticket_id: about?.ticket_id ?? null,
    message_id: about?.message_id ?? null,
    sender_verified,
    authentication,
    named,
    from_keys: searchKeys([sender?.email ?? null, headers.from && storable(headers.from.address)]),
    to_keys: searchKeys(named),
    spam_score: mail.spam?.score ?? null,
    spam_by: decision.spam_by,
    is_repeat: decision.is_repeat,
  }
}
