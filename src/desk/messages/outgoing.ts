/** Plans the email of a public message: the mailbox that sends it, and its recipients. */
import { domainsOf } from '../../base/address/domains'
import { ERASED } from '../../base/address/email'
import { isLong, renderBody, textToPre } from '../../base/html/body'
import { type Format, formOf } from '../../base/html/formats'
import { type Scope, together } from '../../base/scope'
import { findValues } from '../templates/ticket-values'
import { expand } from '../templates/variables'
import { findMailbox, findRecipients } from './addressees'
import type { Conversation } from './conversation'
import { type DraftEmail, MOST_QUOTED, type Quote } from './draft'

/** An email as planned: `domain` is the mailbox's in ASCII, for the Message-ID. */
type EmailPlan = DraftEmail & { domain: string }

/**
 * Plans the email of a public message; undefined when it cannot be sent: no contact, no active mailbox with SMTP.
 * @param cc instead of the confirmed participants
 * @param quote instead of what the mailbox says
 */
export async function planEmail(
  scope: Scope,
  conversation: Conversation,
  cc: string[] | undefined,
  quote?: Quote,
): Promise<EmailPlan | undefined> {
  const { mailbox, recipients } = await findRecipients(scope, conversation, cc)
  if (!mailbox || recipients.length === 0) return undefined
  const [domain = ''] = domainsOf(mailbox.address)
  const [signature_html, quoted_ids] = await together([
    signatureOf(scope, conversation, mailbox),
    findQuoted(scope, conversation, quote ?? mailbox.quote),
  ])
  return { mailbox_id: mailbox.id, domain, recipients, signature_html, quoted_ids }
}

/** Finds the public messages to quote, newest first; one more than an email quotes when there are more. */
async function findQuoted({ sql, organization_id }: Scope, { id }: Conversation, quote: Quote): Promise<string[]> {
  if (quote === 'none') return []
  const rows = await sql<{ id: string }[]>`
    select id from messages
    where organization_id = ${organization_id} and ticket_id = ${id} and not is_internal and body <> ${ERASED}
    order by id desc limit ${quote === 'last' ? 1 : MOST_QUOTED + 1}`
  return rows.map(({ id }) => id)
}

/** Writes the signature of a mailbox for an answer of the caller; null without one. */
async function signatureOf(
  scope: Scope,
  { id }: Conversation,
  { signature, signature_format }: { signature: string | null; signature_format: Format | null },
): Promise<string | null> {
  const values = signature === null ? undefined : await findValues(scope, id)
  if (signature === null || !values) return null
  // A process of a release without formats may have written it.
  const format = signature_format ?? formOf(signature)
  const expanded = expand(signature, values, format)
  // A long one would hold up other requests.
  return isLong(expanded) ? textToPre(expanded) : renderBody(expanded, format).body_html
}

/**
 * The address that a program writes from: the mailbox that would send, else one that only receives; null without any.
 */
export async function findMailboxAddress(scope: Scope, conversation: Conversation): Promise<string | null> {
  const sending = await findMailbox(scope, conversation)
  if (sending) return sending.address
  const { sql, organization_id } = scope
  const { mailbox_id } = conversation
  const [mailbox] = await sql<{ address: string }[]>`
    select address from mailboxes
    where organization_id = ${organization_id} and active and (is_default or id = ${mailbox_id})
    order by coalesce(id = ${mailbox_id}, false) desc
    limit 1`
  return mailbox?.address ?? null
}
