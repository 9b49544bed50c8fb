/**
 * Finds who wrote a message when From does not say: lists and forms write an address of ours there, and machines one
 * that nobody reads.
 */
import { domainsOf, toDomain } from '../../base/address/domains'
import { addressKey, isEmailAddress, mailboxKey } from '../../base/address/email'
import type { Scope } from '../../base/scope'
import { isOfList, type MailHeaders } from '../parse/parse'
import type { InboundMail, Member, ReplyAddress, Sender } from './message'
import { domainOf } from './own-domains'
import type { SenderSource } from './trust'

type Address = MailHeaders['reply_to'][number]

/** Addresses of Reply-To that are looked at. */
const MAX_REPLY_TO = 10

/** Local parts of addresses at which nobody reads: words of their own, also among others such as `news-noreply`. */
const UNREAD =
  /(?:^|[-_.+])(?:no[-_.]?repl(?:y|ies)|no[-_.]?response|do[-_.]?not[-_.]?(?:reply|respond|answer)|(?:keine|nicht)[-_.]?antwort(?:en)?|ne[-_.]?pas[-_.]?repondre|no[-_.]?(?:responder|contestar)|nao[-_.]?respond(?:a|er)|non[-_.]?risponder?e?|niet[-_.]?(?:beantwoorden|reageren)|svar[-_.]?(?:ej|ikke|inte))(?=$|[-_.+\d])/
/** Names of programs and of the accounts that they run under. */
const PROGRAM =
  /^(?:wordpress|www-?data|apache2?|httpd|nginx|nobody|web-?server|php-?mailer|cgi(?:-?mailer)?|form-?mail(?:er)?)\d{0,3}$/
/** Local parts of addresses from which forms and shops write in the name of a visitor. */
const FORM = /^(?:mailer|forms?|form-submission|webform|notifications?|notify)$/
/** Envelope senders that name one message only: reports come back there. */
const RETURN_PATH = /^(?:bounces?|returns?|mailer-daemon|postmaster|srs[01]|prvs|msprvs\d|btv1)(?=$|[-_.+=@\d])|=/

/**
 * Chooses the sender of each message of an organization, as far as that does not depend on who is proven, and the
 * Reply-To that may count; finds members of the team among the senders. An address of ours is never a sender: a mailbox
 * of the organization, or one that the message says it was passed on from.
 */
export async function withSenders(scope: Scope, mails: InboundMail[]): Promise<InboundMail[]> {
  const [known, form_senders] = await Promise.all([
    findKnown(scope, [...new Set(mails.flatMap(candidatesOf))]),
    mails.some(({ headers }) => answersElsewhere(headers)) ? readFormSenders(scope) : [],
  ])
  return mails.map((mail) => {
    const ways = new Set(mail.headers.ways.map(mailboxKey))
    const isMailbox = (address: string) => known.get(addressKey(address))?.is_mailbox ?? false
    const isOurs = (address: string) => isMailbox(address) || ways.has(mailboxKey(address))
    const sender = chooseSender(mail, isOurs, isMailbox)
    const sender_source = sourceOf(mail, sender, isMailbox)
    const from = mail.headers.from?.address
    const is_contact = from !== undefined && (known.get(addressKey(from))?.is_contact ?? false)
    const is_stranger = sender_source === 'from' && !is_contact
    const writes = sender_source === 'from' && isForm(mail.headers, form_senders) ? 'always' : 'never'
    const reply = replyOf(mail.headers, sender, isOurs, writes === 'never' && is_stranger ? 'unless forged' : writes)
    // Nobody writes to customers as the null sender.
    const may_be_member = sender_source === 'from' && mail.envelope_sender !== ''
    const member = may_be_member && from ? (known.get(addressKey(from))?.member ?? null) : null
    const forwarded = mail.content?.forwarded ?? null
    const is_customers = forwarded !== null && !isMailbox(forwarded.author.address)
    const passed_on =
      member && is_customers ? { by: member, note: forwarded.note, note_html: forwarded.note_html } : null
    const is_from_mailbox = from !== undefined && isMailbox(from)
    return { ...mail, sender, reply, sender_source, member, passed_on, is_from_mailbox }
  })
}

/** The meaning of an address for the organization: it is a mailbox, or the address of a contact or an active member. */
type Known = { key: string; is_mailbox: boolean; is_contact: boolean; member: Omit<Member, 'type'> | null }

/** @returns what is known, by the keys of the addresses as given, with their `+tag` */
async function findKnown({ sql, organization_id }: Scope, addresses: string[]) {
  if (addresses.length === 0) return new Map<string, Omit<Known, 'key' | 'member'> & { member: Member | null }>()
  const rows = await sql<Known[]>`
    select g.key, b.id is not null as is_mailbox, ca.contact_id is not null as is_contact,
      case when u.id is not null then json_build_object('id', u.id, 'name', u.name, 'email', u.email, 'role', m.role) end
        as member
    from unnest(${addresses.map(addressKey)}::text[], ${addresses.map(mailboxKey)}::text[]) as g (key, mailbox_key)
    left join mailboxes b on b.organization_id = ${organization_id} and b.address_key = g.mailbox_key
    left join (
      users u join memberships m on m.organization_id = ${organization_id} and m.user_id = u.id and m.active
        and m.removed_at is null
    ) on u.email_key = g.key
    left join contact_addresses ca on ca.organization_id = ${organization_id} and ca.email_key = g.key
    where b.id is not null or u.id is not null or ca.contact_id is not null`
  return new Map(
    rows.map(({ key, member, ...is }) => [key, { ...is, member: member && { type: 'user' as const, ...member } }]),
  )
}

function candidatesOf({ headers, content, sender, envelope_sender }: InboundMail): string[] {
  const { from, original_from, sender: resent } = headers
  const named = [
    from,
    sender && { address: sender.email },
    original_from,
    ...answersTo(headers),
    resent,
    content?.forwarded?.author,
  ]
  return [...named.flatMap((one) => one?.address ?? []), ...(envelope_sender ? [envelope_sender] : [])]
}

type IsOurs = (address: string) => boolean

/**
 * Says where the sender was read: in From, in another field of mail from a mailbox of ours, or of anybody else's mail.
 */
function sourceOf({ headers, sender: read }: InboundMail, sender: Sender | undefined, isMailbox: IsOurs): SenderSource {
  if (!headers.from) return 'elsewhere'
  if (sender === undefined || sender === read) return 'from'
  return isMailbox(headers.from.address) ? 'list' : 'elsewhere'
}

/**
 * From, unless the address is ours or nobody reads there; then the first usable one of X-Original-From (or Google's),
 * Reply-To and Sender; then the envelope sender; then an address at which nobody reads. Mail without From has its
 * sender already.
 */
function chooseSender(mail: InboundMail, isOurs: IsOurs, isMailbox: IsOurs): Sender | undefined {
  const { headers, sender } = mail
  const { from, original_from, sender: resent } = headers
  if (!from) return sender && !isMailbox(sender.email) ? sender : undefined
  const isUsable = (address: string) => !isOurs(address) && !isNobody(address)
  if (isUsable(from.address)) return sender
  // People who write to themselves have their own address in Delivered-To: only a Reply-To says that it is a form's.
  const is_way = !isMailbox(from.address) && !isNobody(from.address)
  const others = [original_from, ...answersTo(headers), is_way ? null : resent]
  const other = others.find((one) => one !== null && isUsable(one.address))
  if (other) return { name: other.name, email: other.address }
  return is_way ? sender : senderInEnvelope(mail, isOurs, isMailbox(from.address) ? 'mailbox' : 'nobody')
}

/** True for mail of a form, or of a list, which writes in the name of the person in Reply-To. */
function isForm({ from, list }: MailHeaders, form_senders: string[]): boolean {
  return from !== null && (list !== null || FORM.test(localPart(from.address)) || isAmong(form_senders, from.address))
}

/**
 * The Reply-To that may count: one address, which is not ours, not the sender's, not nobody's, and not among the
 * recipients, as that of a list is. A list adds its own address to that of the writer.
 */
function replyOf(
  { from, reply_to, list, to, cc }: MailHeaders,
  sender: Sender | undefined,
  isOurs: IsOurs,
  writes: ReplyAddress['writes'],
): ReplyAddress | null {
  const recipients = new Set([...to, ...cc].map(({ address }) => addressKey(address)))
  const of_list = new Set([...recipients, addressKey(from?.address ?? '')])
  const isLists = (address: string) => list !== null && (isOfList(list, address) || of_list.has(addressKey(address)))
  const named = new Map(
    reply_to.flatMap((one) => (isLists(one.address) ? [] : [[addressKey(one.address), one] as const])),
  )
  const [[key, one] = []] = named
  if (!sender || named.size !== 1 || !one || key === addressKey(sender.email)) return null
  if (reply_to.length > MAX_REPLY_TO) return null
  const is_usable = !recipients.has(key!) && !isOurs(one.address) && !isNobody(one.address)
  return is_usable ? { name: one.name, address: one.address, writes } : null
}

/** True when the list has the address, or its domain or one above it. */
function isAmong(form_senders: string[], address: string): boolean {
  const names = new Set([addressKey(address), ...domainsOf(address)])
  return form_senders.some((one) => names.has(one.includes('@') ? addressKey(one) : (toDomain(one) ?? '')))
}

async function readFormSenders({ sql, organization_id }: Scope): Promise<string[]> {
  const [row] = await sql<{ form_senders: string[] }[]>`
    select form_senders from organizations where id = ${organization_id}`
  return row?.form_senders ?? []
}

/** True when Reply-To has an address of another domain than From. */
function answersElsewhere(headers: MailHeaders): boolean {
  const domain = headers.from && domainOf(headers.from.address)
  return answersTo(headers).some(({ address }) => domainOf(address) !== domain)
}

function answersTo({ reply_to }: MailHeaders): Address[] {
  return reply_to.slice(0, MAX_REPLY_TO)
}

/** @param from whose address From is: any other is better than a mailbox of ours */
function senderInEnvelope({ sender, envelope_sender }: InboundMail, isOurs: IsOurs, from: 'mailbox' | 'nobody') {
  const envelope = envelope_sender && isEmailAddress(envelope_sender) ? envelope_sender : null
  if (envelope === null || isOurs(envelope)) return from === 'mailbox' ? undefined : sender
  const is_person = !isNobody(envelope) && !RETURN_PATH.test(localPart(envelope))
  return is_person || from === 'mailbox' ? { name: '', email: envelope } : sender
}

function isNobody(address: string): boolean {
  const local = localPart(address)
  return UNREAD.test(local) || PROGRAM.test(local)
}

function localPart(address: string): string {
  return address.slice(0, address.lastIndexOf('@')).toLowerCase()
}
