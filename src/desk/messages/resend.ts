/** Sends an email again to those who did not get it. */
import { addressKey, ERASED_EMAIL } from '../../base/address/email'
import { config } from '../../base/config'
import { ApiError } from '../../base/errors'
import { inTransaction, type Scope } from '../../base/scope'
import { requeueEmail } from '../../delivery/outbox/enqueue'
import { waitForFirstAttempt } from '../../delivery/outbox/first-attempt'
import { recordActivity } from '../timeline/activity'
import { lockConversation, ownAddresses } from './conversation'
import type { DraftRecipient } from './draft'
import type { Message } from './model'
import { planEmail } from './outgoing'
import { getMessage } from './queries'

/** Messages that are looked for at once. */
const STEP = 500

type Recipient = DraftRecipient & { position: number; email_key: string; is_failed: boolean }

/**
 * Queues an email anew for the recipients that failed or bounced, with the same Message-ID; the contact gets it at the
 * address of now. Waits for the outcome of the first attempt, up to EMAIL_INLINE_WAIT_MS.
 * @throws TICKET_NOT_FOUND, MESSAGE_NOT_FOUND, EMAIL_SEND_FAILED (nobody is left, no mailbox, or it is being sent just
 *   now)
 */
export async function resendMessage(scope: Scope, ticket_id: string, id: string): Promise<Message> {
  const message = await queueAgain(scope, ticket_id, id)
  await waitForFirstAttempt(scope, id, config.EMAIL_INLINE_WAIT_MS)
  // The email is queued whatever happens now.
  return getMessage(scope, ticket_id, id).catch(() => message)
}

/**
 * Sends again all emails of the organization that failed, for the operator.
 * @param since the lowest id of a message
 * @returns how many are queued, and how many cannot be sent: they have no contact or no mailbox any more
 */
export async function resendFailed(scope: Scope, since: string): Promise<{ queued: number; refused: number }> {
  const { sql, organization_id } = scope
  const counts = { queued: 0, refused: 0 }
  for (let after = since; ; ) {
    const rows = await sql<{ id: string; ticket_id: string }[]>`
      select id, ticket_id from messages
      where organization_id = ${organization_id} and email_status = 'failed' and id > ${after}
      order by id limit ${STEP}`
    for (const { id, ticket_id } of rows) {
      const is_queued = await queueAgain(scope, ticket_id, id).then(() => true, isRefused)
      counts[is_queued ? 'queued' : 'refused']++
    }
    const last = rows.at(-1)
    if (!last) return counts
    after = last.id
  }
}

function isRefused(error: unknown): false {
  if (error instanceof ApiError) return false
  throw error
}

function queueAgain(scope: Scope, ticket_id: string, id: string): Promise<Message> {
  return inTransaction(scope, async (scope) => {
    const conversation = await lockConversation(scope, ticket_id)
    await getMessage(scope, ticket_id, id)
    const recipients = await readRecipients(scope, id)
    if (!recipients.some(({ is_failed }) => is_failed)) throw refusal('There is nobody for whom the email failed')
    const plan = await planEmail(scope, conversation, [])
    if (!plan) throw refusal('The ticket has no contact, or there is no active mailbox that can send')
    const again = await chooseRecipients(scope, recipients, plan.recipients[0]!)
    if (again.length === 0) throw refusal('The email has reached the address of the contact')
    if (!(await requeueEmail(scope, id, plan.mailbox_id, conversation.locked_at))) {
      throw refusal('The email is being sent just now: try again when that has ended')
    }
    await queueRecipients(scope, id, again, plan.mailbox_id)
    const emails = again.map(({ email }) => email)
    await recordActivity(scope, ticket_id, [{ type: 'email_resent', data: { message_id: id, recipients: emails } }])
    return getMessage(scope, ticket_id, id)
  })
}

function refusal(reason: string): ApiError {
  return new ApiError('EMAIL_SEND_FAILED', { reason })
}

async function readRecipients({ sql, organization_id }: Scope, id: string): Promise<Recipient[]> {
  return sql<Recipient[]>`
    select position, kind, name, email, email_key,
      status in ('failed', 'bounced') and email_key <> ${ERASED_EMAIL} as is_failed
    from message_recipients where organization_id = ${organization_id} and message_id = ${id}
    order by position`
}

/**
 * Chooses those who failed, each address once, without mailboxes of ours and addresses that the email reaches anyhow.
 */
async function chooseRecipients(scope: Scope, all: Recipient[], contact: DraftRecipient): Promise<Recipient[]> {
  const wanted = all
    .filter(({ is_failed }) => is_failed)
    .map((one) => (one.kind === 'to' ? { ...one, ...contact, email_key: addressKey(contact.email) } : one))
  const emails = wanted.map(({ email }) => email)
  const taken = await ownAddresses(scope, emails)
  for (const { is_failed, email_key } of all) if (!is_failed) taken.add(email_key)
  return wanted.filter(({ email_key }) => {
    const is_new = !taken.has(email_key)
    taken.add(email_key)
    return is_new
  })
}

async function queueRecipients(
  { sql, organization_id }: Scope,
  id: string,
  again: Recipient[],
  mailbox_id: string,
): Promise<void> {
  await sql`
    with given as materialized (
      select * from json_to_recordset(${JSON.stringify(again)}::text::json)
        as x (position integer, name text, email text, email_key text)
    )
    update message_recipients r
    set status = 'queued', error = null, name = given.name, email = given.email, email_key = given.email_key
    from given
    where r.organization_id = ${organization_id} and r.message_id = ${id} and r.position = given.position`
  await sql`
    update messages m set email_error = null, mailbox_id = ${mailbox_id}, email_attempts = 0, email_status = case when exists (
        select 1 from message_recipients r
        where r.organization_id = ${organization_id} and r.message_id = ${id} and r.status = 'sent'
      ) then 'sent' else 'queued' end
    where m.organization_id = ${organization_id} and m.id = ${id}`
}
