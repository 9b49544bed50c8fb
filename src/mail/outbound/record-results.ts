/**
 * Records an attempt to send an email: in its recipients, the message, the timeline, and as the id that a relay gave
 * it.
 */

import { Counter } from 'prom-client'
import { sharedTime } from '../../base/db/shared-time'
import type { Fragment, Sql } from '../../base/db/transact'
import { count } from '../../base/metrics/organization-figures'
import { afterCommit, type Scope } from '../../base/scope'
import type { Parked } from '../../delivery/outbox/lane-faults'
import { publishEmailEvents } from '../../desk/messages/message-events'
import { recordActivity } from '../../desk/timeline/activity'

const recipients = new Counter({
  name: 'deskwire_email_recipients_total',
  help: 'Recipients of emails whose server took it (sent), or who will never get it (failed)',
  labelNames: ['status'],
})
// The first failure of a process is an increase, too.
for (const status of ['sent', 'failed']) recipients.inc({ status }, 0)

/** The outcome of an attempt for one recipient. */
export type RecipientResult = { position: number; status: 'sent' | 'failed' | 'queued'; error: string | null }

/** The answer of a server to an attempt. */
type Said = {
  /** Attempts that were used, with this one. */
  attempts: number
  response: string | null
  /** The Message-ID that it put in place of ours. */
  message_id?: string
}

/**
 * Writes the results of recipients that were queued, and the status of the message: it is sent when one recipient's
 * server took it.
 * @param id of the message
 * @param said what the server said; undefined when it was not asked
 */
export async function recordResults(
  scope: Scope,
  id: string,
  ticket_id: string,
  results: RecipientResult[],
  said?: Said,
): Promise<void> {
  const { sql, organization_id } = scope
  const updated = await sql<{ email: string; status: string; error: string | null }[]>`
    with given as materialized (
      select * from json_to_recordset(${JSON.stringify(results)}::text::json) as x (position integer, status text, error text)
    )
    update message_recipients r set status = given.status, error = given.error from given
    where r.organization_id = ${organization_id} and r.message_id = ${id} and r.position = given.position
      and r.status = 'queued'
    returning r.email, r.status, r.error`
  await sql`
    update messages m set email_status = r.status, email_error = r.error
    from (
      select case when bool_or(status in ('sent', 'bounced')) then 'sent' when bool_or(status = 'queued') then 'queued'
          else 'failed' end as status,
        (array_agg(error order by position) filter (where error is not null))[1] as error
      from message_recipients where organization_id = ${organization_id} and message_id = ${id}
    ) r
    where m.organization_id = ${organization_id} and m.id = ${id} and m.email_status <> 'bounced'`
  if (said) {
    const stays = results.some(({ status }) => status === 'queued')
    await sql`
      update messages set email_attempts = ${said.attempts}, server_response = ${said.response}
        ${stays ? tryNoted(sql, said) : sql``}
      where organization_id = ${organization_id} and id = ${id}`
  }
  const sent = updated.filter(({ status }) => status === 'sent').map(({ email }) => email)
  const refused = updated.filter(({ status }) => status === 'failed')
  afterCommit(scope, () => {
    count(organization_id, 'emails_sent', sent.length)
    count(organization_id, 'emails_failed', refused.length)
    recipients.inc({ status: 'sent' }, sent.length)
    recipients.inc({ status: 'failed' }, refused.length)
  })
  if (sent.length > 0)
    await recordActivity(scope, ticket_id, [{ type: 'email_sent', data: { message_id: id, recipients: sent } }])
  for (const { email, error } of refused) {
    await recordActivity(scope, ticket_id, [
      { type: 'email_failed', data: { message_id: id, recipient: email, error } },
    ])
  }
  if (said?.message_id) await addServerAnchor(scope, id, ticket_id, said.message_id)
  await publishEmailEvents(scope, id, [
    ...(sent.length > 0 ? (['message.email_sent'] as const) : []),
    ...(refused.length > 0 ? (['message.email_failed'] as const) : []),
  ])
}

/** Adds an attempt that was not the last. Of many the first ten and the last ten are kept. */
function tryNoted(sql: Sql, { response }: Said): Fragment {
  const tried = JSON.stringify({ at: `${new Date(sharedTime()).toISOString().slice(0, 19)}Z`, response })
  return sql`, email_tries = case when jsonb_array_length(email_tries) >= 20 then email_tries - 10
    else coalesce(email_tries, '[]') end || ${tried}::text::jsonb`
}

/** Makes the id that a relay put in place of ours lead to the ticket, because answers refer to it. */
async function addServerAnchor(scope: Scope, id: string, ticket_id: string, server_message_id: string): Promise<void> {
  const { sql, organization_id } = scope
  await sql`
    insert into email_anchors (organization_id, email_message_id, ticket_id, message_id)
    values (${organization_id}, ${server_message_id}, ${ticket_id}, ${id})
    on conflict do nothing`
}

/** Shows on messages that were parked with another one what their mailbox's server has said. */
export async function recordWait({ sql, organization_id }: Scope, { ids, error }: Parked): Promise<void> {
  if (ids.length === 0) return
  await sql`
    update message_recipients set error = ${error}
    where organization_id = ${organization_id} and message_id = any(${ids}::uuid[]) and status = 'queued'`
  await sql`
    update messages set email_error = ${error}
    where organization_id = ${organization_id} and id = any(${ids}::uuid[]) and email_status = 'queued'`
}
