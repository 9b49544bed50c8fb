/** Tells who gets a public message of a ticket: for the email that leaves, and for who asks before. */
import { addressKey } from '../../base/address/email'
import { ZERO_ID } from '../../base/db/columns'
import { ApiError } from '../../base/errors'
import type { Format } from '../../base/html/formats'
import type { Scope } from '../../base/scope'
import { fromName } from '../templates/from-name'
import { type Conversation, ownAddresses } from './conversation'
import type { DraftRecipient, Quote } from './draft'
import { mayUseAddress } from './mailbox-address'
import type { Recipients } from './model'

/** Messages of a ticket among which the latest of its contact is looked for. */
const LATEST = 50

/** A ticket, as far as it says who gets its answers. */
type Answered = Pick<Conversation, 'id' | 'mailbox_id' | 'contact_id' | 'contact_name' | 'contact_email'>

type Recipient = DraftRecipient & { left_out: boolean }

/** Says where a public message without `cc` would go now. @throws TICKET_NOT_FOUND */
export async function getRecipients(scope: Scope, ticket_id: string): Promise<Recipients> {
  const { sql, organization_id } = scope
  const [ticket] = await sql<(Answered & { is_merged: boolean })[]>`
    select t.id, t.mailbox_id, t.contact_id, c.name as contact_name, c.email as contact_email,
      t.merged_into_id is not null as is_merged
    from tickets t left join contacts c on c.organization_id = ${organization_id} and c.id = t.contact_id
    where t.organization_id = ${organization_id} and t.id = ${ticket_id} and t.deleted_at is null`
  if (!ticket) throw new ApiError('TICKET_NOT_FOUND')
  const { mailbox, recipients } = await findRecipients(scope, ticket, undefined)
  const shown = mailbox && !ticket.is_merged ? recipients : []
  const ofKind = (wanted: DraftRecipient['kind']) =>
    shown
      .filter(({ kind }) => kind === wanted)
      .map(({ name, email, left_out }) => ({ name, email, ...(left_out && { left_out }) }))
  const from = mailbox ? { name: fromName(mailbox, scope.actor.name ?? ''), email: mailbox.address } : null
  return { from, to: ofKind('to'), cc: ofKind('cc'), quote: mailbox?.quote ?? 'none' }
}

/**
 * Finds the mailbox that would send a public message, and its recipients, the contact first: nobody without a contact
 * or a mailbox.
 * @param cc instead of the confirmed participants
 */
export async function findRecipients(scope: Scope, ticket: Answered, cc: string[] | undefined) {
  const { contact_name, contact_email } = ticket
  const mailbox = await findMailbox(scope, ticket)
  const recipients: Recipient[] = []
  if (!mailbox || contact_email === null) return { mailbox, recipients }
  const others = cc?.map((email) => ({ name: null, email, left_out: false })) ?? (await confirmed(scope, ticket.id))
  const own = await ownAddresses(
    scope,
    others.map(({ email }) => email),
  )
  const to = wantedAddress(mailbox, contact_email)
  recipients.push({ kind: 'to', name: contact_name, email: to, left_out: false })
  // The contact gets it once, at whichever address, unless the answer names another.
  const seen = new Set([to, ...(cc ? [] : mailbox.addresses)].map(addressKey))
  for (const other of others) {
    const key = addressKey(other.email)
    if (own.has(key) || seen.has(key)) continue
    seen.add(key)
    recipients.push({ kind: 'cc', ...other })
  }
  return { mailbox, recipients }
}

type Mailbox = {
  id: string
  address: string
  plus_addressing: boolean
  signature: string | null
  signature_format: Format | null
  quote: Quote
  from_name: string | null
  mailbox_name: string | null
  organization_name: string
}

/** The facts that say where the contact is written to: the latest email of the conversation, and its addresses. */
type Reachable = {
  latest: { sender_email: string; reply_to: string | null; directs_answers: boolean | null }[]
  addresses: string[]
}

/**
 * Finds the mailbox that received the conversation when it can send, else the default mailbox when that one can; with
 * the latest email of the conversation, newest first, and the addresses of its contact, which costs no statement more.
 */
export async function findMailbox({ sql, organization_id }: Scope, { id, mailbox_id, contact_id }: Answered) {
  const [mailbox] = await sql<(Mailbox & Reachable)[]>`
    select id, address, plus_addressing, signature, signature_format, quote,
      from_name, name as mailbox_name, (
        select o.name from organizations o where o.id = ${organization_id}
      ) as organization_name, array(
      select a.email from contact_addresses a
      where a.organization_id = ${organization_id} and a.contact_id = ${contact_id ?? ZERO_ID}
    ) as addresses, array(
      select json_build_object('sender_email', w.sender_email, 'directs_answers', w.directs_answers, 'reply_to', case
        when w.original_ticket_id is null or w.sender_verified then w.reply_to
      end) from messages w
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
 * Finds where the contact is written to: at the Reply-To of its latest email that is not forged, when that directs
 * answers, at the address of that email, or at the primary one. Unproven mail that a merge has brought from another
 * ticket directs no answer: it was judged for the conversation there.
 */
function wantedAddress({ latest, addresses }: Reachable, contact_email: string): string {
  const by_key = new Map(addresses.map((email) => [addressKey(email), email]))
  const last = latest.find(({ sender_email }) => by_key.has(addressKey(sender_email)))
  if (!last) return contact_email
  const address = by_key.get(addressKey(last.sender_email))!
  const { reply_to, directs_answers } = last
  return reply_to && (directs_answers ?? domainKey(reply_to) === domainKey(address)) ? reply_to : address
}

function domainKey(address: string): string {
  const key = addressKey(address)
  return key.slice(key.lastIndexOf('@'))
}

/** The confirmed participants, oldest first. */
async function confirmed({ sql, organization_id }: Scope, ticket_id: string) {
  return sql<{ name: string | null; email: string; left_out: boolean }[]>`
    select name, email, left_out from participants
    where organization_id = ${organization_id} and ticket_id = ${ticket_id} and confirmed
    order by id`
}
