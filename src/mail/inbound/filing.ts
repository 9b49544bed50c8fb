/**
 * Files messages: the one way in for the outbox and for imports. `readMail` parses, `decide` says what the message
 * becomes (a dry run ends there), `fileMail` carries it out.
 */
import { addressKey } from '../../address/email'
import { findOrCreateContact } from '../../contacts/commands'
import { type ContactRef, findContact } from '../../contacts/queries'
import { newId } from '../../db/columns'
import { isPassing } from '../../db/violations'
import { log, safeError } from '../../log'
import { addMessage } from '../../messages/commands'
import { type Conversation, lockConversation } from '../../messages/conversation'
import type { MessageDraft } from '../../messages/draft'
import { noteFiled } from '../../metrics/filed-mail'
import { addParticipants, type Standing } from '../../participants/commands'
import { type Actor, afterCommit, type Scope, together } from '../../scope'
import { createTicket, updateTicket } from '../../tickets/commands'
import { type ParserOptions, parseInWorker } from '../parse/lanes'
import { endsOf, UnparsableMail } from '../parse/parse'
import { withSenders } from './author'
import { type Decision, decide } from './decide'
import { draftOf, MAX_ANCESTORS, othersOf, type StoredPart, subjectOf } from './mail-draft'
import { type InboundMail, inboundMail, type LedgerEntry } from './message'
import { recordBounce } from './record-bounce'
import { discardParts, storeParts } from './stored-parts'

type Draft = MessageDraft & { id: string }

/** Stands for a sender without an address: nobody gets mail there (RFC 2606). */
const NOBODY = { name: 'Unknown sender', email: 'unknown@sender.invalid' }
const MAX_LEDGER_SUBJECT = 1000
/** As many as `cc` of a message may have. */
const MAX_CONFIRMED = 20
/** Recipients of one mail that are listed at all. */
const MAX_LISTED = 100

/**
 * Parses a message, in another process, and finds its sender. A message that the parser refuses is an InboundMail without
 * content.
 * @throws ParserBusy unless `is_patient`; other errors say nothing about the message: it is to be tried again
 */
export async function readMail(
  scope: Scope,
  entry: LedgerEntry,
  raw: Uint8Array,
  options: ParserOptions,
): Promise<InboundMail> {
  const [mail] = await withSenders(scope, [await parseEntry(entry, raw, options)])
  return mail!
}

async function parseEntry(entry: LedgerEntry, raw: Uint8Array, options: ParserOptions): Promise<InboundMail> {
  try {
    return inboundMail(entry, raw, await parseInWorker(raw, options))
  } catch (error) {
    if (!(error instanceof UnparsableMail)) throw error
    log.warn({ error: safeError(error) }, 'an email could not be parsed, its original is attached to a ticket')
    return inboundMail(entry, raw, null)
  }
}

/**
 * Stores the attachments of a message, and returns what files it: to be called once in a transaction, after its ledger
 * row was written. When filing fails for good the attachments go again; after a passing fault they wait for another try.
 */
export async function fileMail(scope: Scope, mail: InboundMail): Promise<(transaction: Scope) => Promise<void>> {
  const parts = await storeParts(scope, mail)
  return async (transaction) => {
    try {
      await carryOut(transaction, mail, parts)
    } catch (error) {
      if (!isPassing(error)) await discardParts(scope, parts)
      throw error
    }
  }
}

/** Decides under the locks of the conversation, does it, and writes the ledger row. */
async function carryOut(scope: Scope, mail: InboundMail, parts: StoredPart[]): Promise<void> {
  const sender = mail.sender ?? NOBODY
  // The statements run in this order: what is read here is as the locks have left it.
  const [, decision, known] = await together([
    lockRelatives(scope, mail),
    decide(scope, mail),
    findContact(scope, sender.email),
  ])
  switch (decision.outcome) {
    case 'duplicate':
    case 'own':
    case 'unmatched_bounce':
      return writeOutcome(scope, mail, decision)
    case 'bounce':
      await recordBounce(scope, decision, decision.bounce, mail.content?.bounce ? '' : mail.content?.text)
      return writeOutcome(scope, mail, decision, decision)
  }
  const contact = known ?? (await findOrCreateContact(scope, sender))
  const draft = draftOf(mail, parts, contact)
  const { id, name, email } = contact
  const actor: Actor = { type: 'contact', id, name, email }
  if (decision.outcome === 'message') return addReply({ ...scope, actor }, mail, decision, draft)
  return openTicket({ ...scope, actor }, mail, decision, draft, contact)
}

/**
 * Waits until nobody files another delivery of the message, or a message of its conversation, and keeps others waiting
 * until the transaction ends. Locks are taken in one order, so that two never wait for each other.
 */
async function lockRelatives({ sql, organization_id }: Scope, { headers, fingerprint }: InboundMail): Promise<void> {
  const { message_id, in_reply_to, references } = headers
  const ids = [message_id ?? fingerprint.text, ...endsOf([...in_reply_to, ...references], MAX_ANCESTORS)]
  const keys = ids.map((id) => `${organization_id} ${id}`)
  await sql`
    select pg_advisory_xact_lock(key) from (
      select distinct hashtextextended(id, 0) as key from unnest(${keys}::text[]) as id order by key offset 0
    ) as sorted`
}

/** Writes the outcome into the ledger, with the fingerprint by which another delivery of the message is found. */
async function writeOutcome(
  scope: Scope,
  { id, headers, sender, fingerprint, sender_verified, authentication }: InboundMail,
  decision: Decision,
  filed?: { ticket_id: string; message_id: string },
): Promise<void> {
  const { sql, organization_id } = scope
  const { outcome } = decision
  const rule = 'rule' in decision ? decision.rule : null
  const { ticket_id = null, message_id = null } = filed ?? {}
  await sql`
    with fingerprint as (
      insert into inbound_fingerprints (organization_id, fingerprint, inbound_message_id)
      values (${organization_id}, ${fingerprint.text}, ${id})
      on conflict (organization_id, fingerprint) do update set inbound_message_id = excluded.inbound_message_id
        where ${outcome !== 'duplicate'}
    )
    update inbound_messages
    set outcome = ${outcome}, rule = ${rule},
      email_message_id = ${headers.message_id}, from_name = ${sender?.name || null},
      from_email = ${sender?.email ?? null}, subject = ${headers.subject?.slice(0, MAX_LEDGER_SUBJECT) ?? null},
      ticket_id = ${ticket_id}, message_id = ${message_id},
      sender_verified = ${sender_verified}, authentication = ${authentication && JSON.stringify(authentication)}::text::jsonb
    where organization_id = ${organization_id} and id = ${id}`
  const row = { organization_id, inbound_message_id: id, outcome, rule, ticket_id, message_id }
  afterCommit(scope, () => noteFiled(row))
}

/** Starts a conversation. */
async function openTicket(
  scope: Scope,
  mail: InboundMail,
  decision: Extract<Decision, { rule: 'new' }>,
  draft: Draft,
  contact: ContactRef,
): Promise<void> {
  const { mailbox_id } = mail
  const ticket = { id: newId(), contact_email: contact.email }
  const input = { id: ticket.id, subject: subjectOf(mail), contact_id: contact.id, mailbox_id }
  await together([
    createTicket(scope, input, draft),
    writeOutcome(scope, mail, decision, { ticket_id: ticket.id, message_id: draft.id }),
  ])
  await addRecipients(scope, ticket, mail, decision.trust.opens_with)
}

/** Adds the message to a conversation that exists, and reopens its ticket. */
async function addReply(
  scope: Scope,
  mail: InboundMail,
  decision: Extract<Decision, { outcome: 'message' }>,
  draft: Draft,
): Promise<void> {
  const { ticket_id } = decision
  const conversation = await lockConversation(scope, ticket_id)
  await together([
    addMessage(scope, conversation, draft),
    writeOutcome(scope, mail, decision, { ticket_id, message_id: draft.id }),
    addPeople(scope, conversation, mail, decision),
  ])
  const is_answer = decision.trust.reopens && !draft.auto_reply && conversation.status !== 'open'
  // Every other status may become open again.
  if (is_answer && (await reopens(scope))) await updateTicket(scope, ticket_id, { status: 'open' })
}

/**
 * Adds the recipients of the contact's mail as participants, confirmed as far as its sender can be trusted. A stranger
 * who writes with an anchor of ours is only listed: a forwarded mail must not subscribe anybody.
 */
async function addPeople(
  scope: Scope,
  conversation: Conversation,
  mail: InboundMail,
  { is_known, anchor, trust }: Extract<Decision, { outcome: 'message' }>,
): Promise<void> {
  const { sender } = mail
  const { contact_email } = conversation
  if (contact_email && sender && addressKey(contact_email) === addressKey(sender.email)) {
    await addRecipients(scope, conversation, mail, trust.adds[anchor])
  } else if (sender && !is_known) {
    await addParticipants(scope, conversation, [sender], 'listed')
  }
}

/** Adds the recipients of a mail. Of a long list only the first are confirmed: an answer goes to each of them. */
async function addRecipients(
  scope: Scope,
  ticket: Pick<Conversation, 'id' | 'contact_email'>,
  mail: InboundMail,
  standing: Standing,
): Promise<void> {
  const others = othersOf(mail)
  const most = standing === 'confirmed' ? MAX_CONFIRMED : 0
  await addParticipants(scope, ticket, others.slice(0, most), 'confirmed')
  await addParticipants(scope, ticket, others.slice(most, MAX_LISTED), 'listed')
}

async function reopens({ sql, organization_id }: Scope): Promise<boolean> {
  const [row] = await sql<{ reopen_on_reply: boolean }[]>`
    select reopen_on_reply from organizations where id = ${organization_id}`
  return row?.reopen_on_reply ?? true
}
