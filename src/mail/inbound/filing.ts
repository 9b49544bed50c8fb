/** Files a message: the decision carried out, in one transaction with its ledger row. */

import { addressKey } from '../../address/email'
import { unsignedUrl } from '../../attachments/signed-url'
import { findOrCreateContact } from '../../contacts/commands'
import { type ContactRef, findContact } from '../../contacts/queries'
import { newId } from '../../db/columns'
import { embedImages, textToHtml } from '../../html/body'
import { readMessageId } from '../../messages/anchors'
import { addMessage } from '../../messages/commands'
import { type Conversation, lockConversation } from '../../messages/conversation'
import type { MessageDraft } from '../../messages/draft'
import { noteFiled } from '../../metrics/filed-mail'
import { addParticipants } from '../../participants/commands'
import { type Actor, afterCommit, type Scope, together } from '../../scope'
import { createTicket, updateTicket } from '../../tickets/commands'
import { endsOf } from '../parse/parse'
import { type Decision, decide } from './decide'
import type { Inbound } from './message'
import { recordBounce } from './record-bounce'

/** An attachment of the message, stored and waiting for it. */
export type StoredPart = { id: string; content_id: string | null }

/** Where a message came in, besides what it says. */
export type Arrival = Inbound & { ledger_id: string; mailbox_id: string | null; parts: StoredPart[] }

/** Nobody can be answered there (RFC 2606). */
const NOBODY = { name: 'Unknown sender', email: 'unknown@sender.invalid' }
const MAX_SUBJECT = 255
const MAX_LEDGER_SUBJECT = 1000
const MAX_ANCESTORS = 50

/** Decides, carries it out and writes the ledger row. To be called in a transaction. */
export async function fileMessage(scope: Scope, arrival: Arrival): Promise<void> {
  const sender = arrival.sender ?? NOBODY
  // What is read here is as the locks have left it.
  const [, decision, known] = await together([
    waitForRelatives(scope, arrival),
    decide(scope, arrival),
    findContact(scope, sender.email),
  ])
  switch (decision.outcome) {
    case 'duplicate':
    case 'own':
    case 'unmatched_bounce':
      return writeLedger(scope, arrival, decision)
    case 'bounce':
      await recordBounce(scope, decision, decision.bounce, arrival.mail?.bounce ? '' : arrival.mail?.text)
      return writeLedger(scope, arrival, decision, decision)
    case 'message':
      return addReply(scope, arrival, decision, known ?? (await findOrCreateContact(scope, sender)))
    default:
      return openTicket(scope, arrival, decision, known ?? (await findOrCreateContact(scope, sender)))
  }
}

type Filed = { ticket_id: string; message_id: string }

/**
 * A second delivery of a message, and messages of its conversation, that are filed just now are waited for and found
 * filed. In one order, so that two never wait for each other.
 */
async function waitForRelatives({ sql, organization_id }: Scope, arrival: Arrival): Promise<void> {
  const { message_id, in_reply_to, references } = arrival.headers
  const ids = [message_id ?? arrival.fingerprint.text, ...endsOf([...in_reply_to, ...references], MAX_ANCESTORS)]
  const keys = ids.map((id) => `${organization_id} ${id}`)
  await sql`
    select pg_advisory_xact_lock(key) from (
      select distinct hashtextextended(id, 0) as key from unnest(${keys}::text[]) as id order by key offset 0
    ) as sorted`
}

/** What became of the message, and what tells another delivery of it. */
async function writeLedger(scope: Scope, arrival: Arrival, decision: Decision, filed?: Filed): Promise<void> {
  const { sql, organization_id } = scope
  const { headers, sender, fingerprint, ledger_id } = arrival
  const { outcome } = decision
  const rule = 'rule' in decision ? decision.rule : null
  const { ticket_id = null, message_id = null } = filed ?? {}
  await sql`
    with fingerprint as (
      insert into inbound_fingerprints (organization_id, fingerprint, inbound_message_id)
      values (${organization_id}, ${fingerprint.text}, ${ledger_id})
      on conflict (organization_id, fingerprint) do update set inbound_message_id = excluded.inbound_message_id
        where ${outcome !== 'duplicate'}
    )
    update inbound_messages
    set outcome = ${outcome}, rule = ${rule},
      email_message_id = ${headers.message_id}, from_name = ${sender?.name || null},
      from_email = ${sender?.email ?? null}, subject = ${headers.subject?.slice(0, MAX_LEDGER_SUBJECT) ?? null},
      ticket_id = ${ticket_id}, message_id = ${message_id}
    where organization_id = ${organization_id} and id = ${ledger_id}`
  const row = { organization_id, inbound_message_id: ledger_id, outcome, rule, ticket_id, message_id }
  afterCommit(scope, () => noteFiled(row))
}

/** A new conversation. */
async function openTicket(scope: Scope, arrival: Arrival, decision: Decision, contact: ContactRef): Promise<void> {
  const inName = { ...scope, actor: actorOf(contact) }
  const ticket = { id: newId(), contact_email: contact.email }
  const draft = draftOf(arrival, contact)
  const input = {
    id: ticket.id,
    subject: subjectOf(arrival),
    contact_id: contact.id,
    mailbox_id: arrival.mailbox_id,
  }
  await together([
    createTicket(inName, input, draft),
    writeLedger(scope, arrival, decision, { ticket_id: ticket.id, message_id: draft.id }),
  ])
  await addParticipants(inName, ticket, othersOf(arrival), true)
}

/** A message in a conversation that is there. */
async function addReply(
  scope: Scope,
  arrival: Arrival,
  decision: Extract<Decision, { outcome: 'message' }>,
  contact: ContactRef,
): Promise<void> {
  const { ticket_id } = decision
  const inName = { ...scope, actor: actorOf(contact) }
  const conversation = await lockConversation(scope, ticket_id)
  const draft = draftOf(arrival, contact)
  await together([
    addMessage(inName, conversation, draft),
    writeLedger(scope, arrival, decision, { ticket_id, message_id: draft.id }),
    addPeople(inName, conversation, arrival, decision),
  ])
  const is_answer = !draft.auto_reply && conversation.status !== 'open'
  // Every other status may become open again.
  if (is_answer && (await reopens(scope))) await updateTicket(inName, ticket_id, { status: 'open' })
}

/**
 * The contact's mail makes its recipients participants. Listed without being confirmed are those whom a mail names that
 * only guesses the code, and who writes only because they hold an anchor of ours: neither a mail in the contact's name
 * nor a forwarded one must subscribe a stranger.
 */
async function addPeople(
  scope: Scope,
  conversation: Conversation,
  arrival: Arrival,
  { is_known, rule }: Extract<Decision, { outcome: 'message' }>,
): Promise<void> {
  const { sender } = arrival
  const { contact_email } = conversation
  if (contact_email && sender && addressKey(contact_email) === addressKey(sender.email)) {
    await addParticipants(scope, conversation, othersOf(arrival), rule !== 'subject_code')
  } else if (sender && !is_known) {
    await addParticipants(scope, conversation, [sender], false)
  }
}

async function reopens({ sql, organization_id }: Scope): Promise<boolean> {
  const [row] = await sql<{ reopen_on_reply: boolean }[]>`
    select reopen_on_reply from organizations where id = ${organization_id}`
  return row?.reopen_on_reply ?? true
}

function draftOf(arrival: Arrival, contact: { name: string; email: string }) {
  const { mail, parts, headers, sender } = arrival
  const id = newId()
  const body = mail?.text ?? UNPARSED
  return {
    id,
    body,
    body_html: mail ? htmlOf(mail.body_html, parts) : textToHtml(body),
    text: body,
    reply_text: mail?.reply_text ?? null,
    is_internal: false,
    direction: 'inbound',
    sender_name: sender?.name || contact.name,
    sender_email: contact.email,
    auto_reply: mail?.auto_reply || arrival.envelope_sender === '',
    cc: mail ? [...new Set(headers.cc.map(({ address }) => address))] : [],
    email_message_id: headers.message_id,
    references: ancestorsOf(arrival),
    attachment_ids: parts.map((part) => part.id),
  } satisfies MessageDraft
}

const UNPARSED = 'This email could not be read. The original is attached as message.eml.'

/** Images of the message (`cid:`) point to the stored attachments. */
function htmlOf(body_html: string, parts: StoredPart[]): string {
  const addresses = new Map(parts.map(({ id, content_id }) => [content_id, unsignedUrl(id)]))
  return embedImages(body_html, (content_id) => addresses.get(content_id) ?? null)
}

function subjectOf({ headers }: Arrival): string {
  const subject = (headers.subject ?? '').replace(/\p{Cc}+/gu, ' ').trim()
  const shown = [...subject].slice(0, MAX_SUBJECT).join('').trim()
  return INVISIBLE.test(shown) ? '(no subject)' : shown
}

/** Nothing that anybody could see, or click in a list. */
const INVISIBLE = /^[\p{Cf}\p{Z}\p{Cc}\p{Default_Ignorable_Code_Point}\u2800]*$/u

/** To whom it went besides the address that it came in by. */
function othersOf({ mail, headers, recipient }: Arrival) {
  if (!mail) return []
  return [...headers.to, ...headers.cc]
    .filter(({ address }) => address.toLowerCase() !== recipient.toLowerCase())
    .map(({ name, address }) => ({ name, email: address }))
}

/** Siblings of the message may refer to them alone. */
function ancestorsOf({ headers }: Arrival): string[] {
  const ids = [...new Set([...headers.in_reply_to, ...headers.references])].filter((id) => !readMessageId(id))
  return endsOf(ids, MAX_ANCESTORS)
}

function actorOf({ id, name, email }: { id: string; name: string; email: string }): Actor {
  return { type: 'contact', id, name, email }
}
