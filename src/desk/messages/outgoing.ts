/** Plans the email of a public message: the mailbox that sends it, and its recipients. */
import { domainsOf } from '../../base/address/domains'
import { addressKey } from '../../base/address/email'
import { ZERO_ID } from '../../base/db/columns'
import { isLong, renderBody, textToPre } from '../../base/html/body'
import type { Scope } from '../../base/scope'
import { findValues } from '../templates/ticket-values'
import { expand } from '../templates/variables'
import { type Conversation, ownAddresses } from './conversation'
import type { DraftEmail, DraftRecipient } from './draft'
import { mayUseAddress } from './mailbox-address'

/** Messages of a ticket among which the latest of its contact is looked for. */
const LATEST = 50

/** An email as planned: `domain` is the mailbox's in ASCII, for the Message-ID. */
type EmailPlan = DraftEmail & { domain: string }

/**
 * Plans the email of a public message; undefined when it cannot be sent: no contact, no active mailbox with SMTP.
 * @param cc instead of the confirmed participants
 */
export async function planEmail(
  scope: Scope,
  conversation: Conversation,
  cc: string[] | undefined,
): Promise<EmailPlan | undefined> {
  const { contact_name, contact_email } = conversation
  if (contact_email === null) return undefined
  const mailbox = await findMailbox(scope, conversation)
  if (!mailbox) return undefined
  const others = cc?.map((email) => ({ name: null, email })) ?? (await confirmedParticipants(scope, conversation.id))
  const own = await ownAddresses(
    scope,
    others.map(({ email }) => email),
  )
  const to = wantedAddress(mailbox, contact_email)
  const recipients: DraftRecipient[] = [{ kind: 'to', name: contact_name, email: to }]
  // The contact gets it once, at whichever address, unless the answer names another.
  const seen = new Set([to, ...(cc ? [] : mailbox.addresses)].map(addressKey))
  for (const { name, email } of others) {
    const key = addressKey(email)
    if (own.has(key) || seen.has(key)) continue
    seen.add(key)
    recipients.push({ kind: 'cc', name, email })
  }
  const [domain = ''] = domainsOf(mailbox.address)
  return { mailbox_id: mailbox.id, domain, recipients, signature_html: await signatureOf(scope, conversation, mailbox) }
}

/** Writes the signature of a mailbox for an answer of the caller; null without one. */
async function signatureOf(
  scope: Scope,
  { id }: Conversation,
  { signature }: { signature: string | null },
): Promise<string | null> {
  const values = signature === null ? undefined : await findValues(scope, id)
  if (signature === null || !values) return null
  const expanded = expand(signature, values)
  // A long one would hold up other requests.
  return isLong(expanded) ? textToPre(expanded) : renderBody(expanded).body_html
}

/** What says where the contact is written to: the latest email of the conversation, and its addresses. */
type Reachable = { latest: { sender_email: string; reply_to: string | null }[]; addresses: string[] }

/**
 * Finds the mailbox that received the conversation when it can send, else the default mailbox when that one can; with
 * the latest email of the conversation, newest first, and the addresses of its contact, which costs no statement more.
 */
async function findMailbox({ sql, organization_id }: Scope, { id, mailbox_id, contact_id }: Conversation) {
  const [mailbox] = await sql<({ id: string; address: string; signature: string | null } & Reachable)[]>`
    select id, address, signature, array(
      select a.email from contact_addresses a
      where a.organization_id = ${organization_id} and a.contact_id = ${contact_id ?? ZERO_ID}
    ) as addresses, array(
      select json_build_object('sender_email', w.sender_email, 'reply_to', case
        when w.original_ticket_id is null or w.sender_verified then w.reply_to
      end)
      from messages w
      where w.organization_id = ${organization_id} and w.ticket_id = ${id} and w.direction = 'inbound'
        and w.sender_email is not null and not w.auto_reply and w.sender_verified is not false
      order by w.id desc limit ${LATEST}
    ) as latest
    from mailboxes m
    where organization_id = ${organization_id} and active and smtp_host is not null and ${mayUseAddress(sql)}
      and (is_default or id = ${mailbox_id})
    order by coalesce(id = ${mailbox_id}, false) desc
    limit 1`
  return mailbox
}

/**
 * Finds where the contact is written to: at the address of its latest email that is not forged, else at the primary
 * one. A Reply-To of that email counts when its domain is that of the sender. A domain answers for its addresses;
 * nobody can tell if another address belongs to the same person. Unproven mail that a merge has brought from another
 * ticket directs no answer: it was judged for the conversation there.
 */
function wantedAddress({ latest, addresses }: Reachable, contact_email: string): string {
  const by_key = new Map(addresses.map((email) => [addressKey(email), email]))
  const last = latest.find(({ sender_email }) => by_key.has(addressKey(sender_email)))
  if (!last) return contact_email
  const address = by_key.get(addressKey(last.sender_email))!
  return last.reply_to && domainKey(last.reply_to) === domainKey(address) ? last.reply_to : address
}

function domainKey(address: string): string {
  const key = addressKey(address)
  return key.slice(key.lastIndexOf('@'))
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

async function confirmedParticipants({ sql, organization_id }: Scope, ticket_id: string) {
  return sql<{ name: string | null; email: string }[]>`
    select name, email from participants
    where organization_id = ${organization_id} and ticket_id = ${ticket_id} and confirmed
    order by id`
}
