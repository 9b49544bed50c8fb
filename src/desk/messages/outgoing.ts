/** Plans the email of a public message: the mailbox that sends it, and its recipients. */
import { domainsOf } from '../../base/address/domains'
import { addressKey } from '../../base/address/email'
import type { Scope } from '../../base/scope'
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
  const to = wantedAddress(mailbox.latest, contact_email) ?? contact_email
  const recipients: DraftRecipient[] = [{ kind: 'to', name: contact_name, email: to }]
  const seen = new Set([addressKey(to)])
  for (const { name, email } of others) {
    const key = addressKey(email)
    if (own.has(key) || seen.has(key)) continue
    seen.add(key)
    recipients.push({ kind: 'cc', name, email })
  }
  const [domain = ''] = domainsOf(mailbox.address)
  return { mailbox_id: mailbox.id, domain, recipients }
}

type Written = { sender_email: string; reply_to: string | null }

/**
 * Finds the mailbox that received the conversation when it can send, else the default mailbox when that one can; with
 * the latest email of the conversation, newest first, which costs no statement more.
 */
async function findMailbox({ sql, organization_id }: Scope, { id, mailbox_id }: Conversation) {
  const [mailbox] = await sql<{ id: string; address: string; latest: Written[] }[]>`
    select id, address, array(
      select json_build_object('sender_email', w.sender_email, 'reply_to', w.reply_to) from messages w
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
 * Finds where the contact wants answers: the Reply-To of its latest email that is not forged, when its domain is that
 * of the sender. A domain answers for its addresses; nobody can tell if another address belongs to the same person.
 */
function wantedAddress(latest: Written[], contact_email: string): string | undefined {
  const key = addressKey(contact_email)
  const wanted = latest.find(({ sender_email }) => addressKey(sender_email) === key)?.reply_to
  return wanted && domainKey(wanted) === domainKey(contact_email) ? wanted : undefined
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
