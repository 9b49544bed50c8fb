/** Records the outcome of an email: its recipients, the message, the timeline, and the id that a relay gave it. */
import type { Scope } from '../../scope'
import { recordActivity } from '../../timeline/activity'

/** The outcome of an attempt for a recipient who still waits. */
export type Result = { position: number; status: 'sent' | 'failed' | 'queued'; error: string | null }

/** Records the outcome of each recipient and of the message, which is sent when a server took it for anybody. */
export async function recordResults(
  scope: Scope,
  id: string,
  ticket_id: string,
  results: Result[],
  server_message_id?: string,
): Promise<void> {
  const { sql, organization_id } = scope
  const updated = await sql<{ email: string; status: string; error: string | null }[]>`
    update message_recipients r set status = given.status, error = given.error
    from json_to_recordset(${JSON.stringify(results)}::text::json) as given (position integer, status text, error text)
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
  const sent = updated.filter(({ status }) => status === 'sent').map(({ email }) => email)
  const refused = updated.filter(({ status }) => status === 'failed')
  if (sent.length > 0)
    await recordActivity(scope, ticket_id, [{ type: 'email_sent', data: { message_id: id, recipients: sent } }])
  for (const { email, error } of refused) {
    await recordActivity(scope, ticket_id, [
      { type: 'email_failed', data: { message_id: id, recipient: email, error } },
    ])
  }
  if (server_message_id) await addServerAnchor(scope, id, ticket_id, server_message_id)
}

/** Some relays put a Message-ID of their own in place of ours; answers refer to that one. */
async function addServerAnchor(scope: Scope, id: string, ticket_id: string, server_message_id: string): Promise<void> {
  const { sql, organization_id } = scope
  await sql`
    insert into email_anchors (organization_id, email_message_id, ticket_id, message_id)
    values (${organization_id}, ${server_message_id}, ${ticket_id}, ${id})
    on conflict do nothing`
}
