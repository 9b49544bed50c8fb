/** Records a report about delivery: marks the message and its recipients, and writes a note for the team. */
import { addressKey } from '../../address/email'
import { textToHtml } from '../../html/body'
import { addMessage } from '../../messages/commands'
import { lockConversation } from '../../messages/conversation'
import type { Scope } from '../../scope'
import { recordActivity } from '../../timeline/activity'
import type { Bounce } from '../parse/parse'
import type { Reported } from './reported'

/** Characters of the report that the note quotes: it is for people, and the original has all of it. */
const MAX_WORDS = 10_000

/**
 * Marks the message as bounced and adds an internal note, when the report says that delivery failed and says anything
 * new. A warning that delivery is late, or a confirmation of it, changes nothing.
 * @param words body text, when the mail is not a formal DSN (RFC 3464): a person may have written it
 */
export async function recordBounce(
  scope: Scope,
  { ticket_id, message_id }: Reported,
  { kind, recipients, ...report }: Bounce,
  words = '',
): Promise<void> {
  if (kind !== 'failed') return
  const diagnostic = report.diagnostic || 'The report gives no reason'
  const failed = recipients.filter(({ action }) => action === 'failed').map(({ address }) => addressKey(address))
  const ticket = await lockConversation(scope, ticket_id)
  // Servers that report the same again and again add nothing.
  if (!(await markBounced(scope, message_id, failed, diagnostic))) return
  await recordActivity(scope, ticket_id, [{ type: 'email_bounced', data: { message_id, error: diagnostic } }])
  const to = failed.length > 0 ? ` to ${failed.join(', ')}` : ''
  const quoted = words.slice(0, MAX_WORDS).replaceAll('\u0000', '').toWellFormed()
  const body = `The email${to} could not be delivered: ${diagnostic}\n\n${quoted}`.trim()
  await addMessage(scope, ticket, {
    body,
    body_html: textToHtml(body),
    text: body,
    is_internal: true,
    direction: null,
    sender_name: scope.actor.name,
    sender_email: null,
  })
}

/**
 * Marks the recipients that the report names. When it names none of them, marks the only recipient that a server took
 * the message for; when there are several, none, because the others may well have got it.
 * @returns true when that says anything new
 */
async function markBounced(scope: Scope, id: string, failed: string[], diagnostic: string): Promise<boolean> {
  const { sql, organization_id } = scope
  const [marked] = await sql<{ is_new: boolean }[]>`
    with reported as materialized (
      select position, email_key = any(${failed}) as is_named,
        status in ('sent', 'bounced') as is_taken
      from message_recipients where organization_id = ${organization_id} and message_id = ${id}
    ), recipients as (
      update message_recipients r set status = 'bounced', error = ${diagnostic}
      from reported
      where r.organization_id = ${organization_id} and r.message_id = ${id} and r.position = reported.position
        and (is_named or is_taken and not (select bool_or(is_named) or count(*) filter (where is_taken) > 1 from reported))
        and (r.status <> 'bounced' or r.error is distinct from ${diagnostic})
      returning 1
    ), message as (
      update messages set email_status = 'bounced', email_error = ${diagnostic}
      where organization_id = ${organization_id} and id = ${id}
        and (email_status <> 'bounced' or email_error is distinct from ${diagnostic})
      returning 1
    )
    select exists (select from recipients) or exists (select from message) as is_new`
  return marked!.is_new
}
