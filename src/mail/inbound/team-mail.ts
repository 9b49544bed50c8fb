/**
 * Files mail of the team: what a member passes on becomes mail of the customer who wrote it, and what a member answers
 * from a mail program is sent on like an answer over the API.
 */
import { addressKey, mailboxKey } from '../../base/address/email'
import { textToHtml } from '../../base/html/body'
import type { Scope } from '../../base/scope'
import { findByAddress } from '../../desk/contacts/queries'
import { newMessageId, readBounceTag, readLetterAnchor, readReplyTag } from '../../desk/messages/anchors'
import { addMessage } from '../../desk/messages/commands'
import { type Conversation, lockConversation, nextMessageId } from '../../desk/messages/conversation'
import type { MessageDraft } from '../../desk/messages/draft'
import { planEmail } from '../../desk/messages/outgoing'
import { bodyOfHtml } from '../../desk/messages/pictures'
import type { Answer } from '../parse/answer-words'
import { answerInWorker } from '../parse/lanes'
import { isQuoted } from '../parse/quotation'
import { REPLY_ABOVE } from '../parse/reply-words'
import type { Decision } from './decide'
import { ancestorsOf, htmlOf, placeOthers, type StoredPart } from './mail-draft'
import { type InboundMail, type Member, storableIds } from './message'
import type { Thread } from './thread'

/**
 * Gives the mail of a customer that a member passes on, as if the customer had written here; other mail as it is. Its
 * header is the member's, so that the message itself is still recognized.
 * @param mail whose sender was checked. Only proof counts: the words of the mail become a note in the member's name
 */
export function unwrapForwarded(mail: InboundMail): InboundMail {
  const { content, headers, passed_on, sender_verified } = mail
  const forwarded = content?.forwarded
  if (!passed_on || !forwarded || sender_verified !== true || !ownsAnchors(mail)) return { ...mail, passed_on: null }
  const { author, subject, message_id, text, format, body_html, reply_text, attachments } = forwarded
  const references = [...headers.references, ...storableIds(message_id === null ? [] : [message_id])]
  return {
    ...mail,
    sender: { name: author.name, email: author.address },
    sender_source: 'elsewhere',
    reply_to: null,
    directs: 'never',
    headers: { ...headers, subject, references, to: [], cc: [] },
    content: {
      ...content,
      text,
      format,
      body_html,
      reply_text,
      attachments: attachments ?? content.attachments,
      auto_reply: false,
    },
  }
}

/** True when a proof of the sender covers all fields of these names. */
function covers({ proof }: InboundMail, fields: string[]): boolean {
  return proof === 'whole message' || proof.some((covered) => fields.every((field) => covered.includes(field)))
}

/** True when the sender has written each id and address by which the mail may lead to a ticket. */
function ownsAnchors(mail: InboundMail): boolean {
  const { headers, recipient } = mail
  const fields = [
    ...(headers.in_reply_to.length > 0 ? ['in-reply-to'] : []),
    ...(headers.references.length > 0 ? ['references'] : []),
  ]
  if (!isTagged(recipient)) return covers(mail, fields)
  const key = addressKey(recipient)
  const field = fieldWith(mail, (address) => addressKey(address) === key)
  return field !== undefined && covers(mail, [...fields, field])
}

function isTagged(address: string): boolean {
  return [readReplyTag, readBounceTag, readLetterAnchor].some((read) => read(address) !== null)
}

/** The field of recipients that has such an address. */
function fieldWith({ headers: { to, cc } }: InboundMail, isWanted: (address: string) => boolean) {
  const has = (addresses: { address: string }[]) => addresses.some(({ address }) => isWanted(address))
  return has(to) ? 'to' : has(cc) ? 'cc' : undefined
}

/** Adds the words of the member above what was passed on, as a note on the ticket that the rest has become. */
export async function addNoteOf(
  scope: Scope,
  { passed_on }: InboundMail,
  ticket: Pick<Conversation, 'id' | 'code' | 'subject' | 'locked_at' | 'last_message_id'>,
): Promise<void> {
  if (!passed_on?.note) return
  const { by, note, note_html } = passed_on
  await addMessage({ ...scope, actor: by }, ticket, {
    body: note,
    format: 'text',
    body_html: note_html,
    text: note,
    is_internal: true,
    direction: null,
    channel: 'email',
    sender_name: by.name,
    sender_email: by.email,
  })
}

/**
 * True for mail that a member may have written to the customer of a ticket: proven to be the member's, with an anchor
 * of ours that the member has written. Nobody signs the address at RCPT, and some sign no ids: one who got mail of the
 * member could send it on as an answer.
 */
export function mayBeAnswerOfTeam(mail: InboundMail, decision: Decision): boolean {
  if (decision.outcome !== 'message' || decision.anchor !== 'issued' || mail.passed_on) return false
  // The first text of an answer that comes with several went out.
  if (decision.id_use !== 'own') return false
  if (mail.member === null || mail.sender_verified !== true || mail.content?.auto_reply !== false) return false
  return isAnchoredBySender(mail, decision)
}

/**
 * Takes the words out of mail that may be an answer of a member. To be called outside a transaction.
 * @returns null for all other mail, and for an answer without new words: the whole quotation would go out, which may
 *   hold what members wrote to each other
 */
export async function readAnswer({ organization_id }: Scope, mail: InboundMail): Promise<Answer | null> {
  if (mail.member === null || mail.sender_verified === false || mail.passed_on || !mail.content) return null
  const answer = await answerInWorker(mail.content, organization_id)
  return answer?.has_words ? answer : null
}

/**
 * True when the sender has written the ticket's address, or the id that led to the ticket and the address of the
 * mailbox. An id alone says nothing: a stranger may have given it to a mail that the member has answered in private.
 */
function isAnchoredBySender(mail: InboundMail, { rule, ticket_id, named_id }: Thread): boolean {
  const ticketOf = (address: string) => readReplyTag(address) ?? readLetterAnchor(address)?.ticket_id ?? ''
  const tagged = fieldWith(mail, (address) => [ticket_id, named_id].includes(ticketOf(address)))
  if (tagged && covers(mail, [tagged])) return true
  if (rule === 'reply_tag') return false
  const key = mailboxKey(mail.recipient)
  const field = fieldWith(mail, (address) => mailboxKey(address) === key)
  return mail.proof === 'whole message' || (field !== undefined && covers(mail, [rule.replaceAll('_', '-'), field]))
}

/**
 * Files an answer of a member, and sends it on to those who did not get it from the member.
 * @returns its message; undefined when the member is the contact of the ticket, whose mail is a customer's
 */
export async function fileAnswer(
  scope: Scope,
  mail: InboundMail,
  { answer, parts }: { answer: Answer; parts: StoredPart[] },
  ticket_id: string,
): Promise<{ ticket_id: string; message_id: string } | undefined> {
  const { member } = mail
  const conversation = await lockConversation(scope, ticket_id)
  if (!member || (await findByAddress(scope, member.email))?.id === conversation.contact_id) return undefined
  const draft = await draftAnswer(scope, mail, { answer, parts }, { conversation, member })
  return { ticket_id, message_id: (await addMessage({ ...scope, actor: member }, conversation, draft)).id }
}

/**
 * Files what a member writes to a letter, as a note: to one about a note, and to any other when the words of the letter
 * cannot be told from those of the member.
 * @returns its message
 */
export async function fileNote(
  scope: Scope,
  { member, content, sender_verified }: InboundMail,
  { answer, parts }: { answer: Answer | null; parts: StoredPart[] },
  ticket_id: string,
): Promise<{ ticket_id: string; message_id: string } | undefined> {
  if (!member || !content) return undefined
  const conversation = await lockConversation(scope, ticket_id)
  const { text, format, body_html: given } = answer ?? content
  const attachment_ids = parts.map((part) => part.id)
  const own = { body_html: htmlOf(given, parts), attachment_ids }
  const { body_html, picture_ids } = await placeOthers(scope, conversation.id, own)
  const { id } = await addMessage({ ...scope, actor: member }, conversation, {
    body: (answer ? answer.body : text) ?? bodyOfHtml(body_html),
    ...{ format, body_html, text, attachment_ids, picture_ids, sender_verified },
    is_internal: true,
    direction: null,
    channel: 'email',
    sender_name: member.name,
    sender_email: member.email,
  })
  return { ticket_id, message_id: id }
}

/**
 * Takes what a letter says out of an answer to it: that is not for the customer.
 * @returns null when it cannot be told from the words of the member
 */
export function withoutLetter(answer: Answer, link: string): Answer | null {
  const lines = answer.text.split('\n')
  const own = lines.filter((line, at) => !isQuoted(line) && !(/[:：]\s*$/.test(line) && isQuoted(lines[at + 1] ?? '')))
  const text = own.join('\n').trim()
  if (text === '' || text.includes(link) || own.some((line) => REPLY_ABOVE.test(line))) return null
  return own.length === lines.length
    ? answer
    : { body: text, format: 'text', body_html: textToHtml(text), text, has_words: true }
}

async function draftAnswer(
  scope: Scope,
  mail: InboundMail,
  { answer, parts }: { answer: Answer; parts: StoredPart[] },
  { conversation, member }: { conversation: Conversation; member: Member },
): Promise<MessageDraft> {
  const { headers } = mail
  const attachment_ids = parts.map((part) => part.id)
  const own = { body_html: htmlOf(answer.body_html, parts), attachment_ids }
  const { body_html, picture_ids } = await placeOthers(scope, conversation.id, own)
  const id = nextMessageId(conversation)
  const reached = new Set([...headers.to, ...headers.cc].map(({ address }) => addressKey(address)))
  // A member may be a participant, too.
  reached.add(addressKey(member.email))
  const plan = await planEmail({ ...scope, actor: member }, conversation, undefined)
  const recipients = plan?.recipients.filter(({ email }) => !reached.has(addressKey(email))) ?? []
  const own_id = headers.message_id === null ? [] : [headers.message_id]
  const draft = {
    id,
    body: answer.body ?? bodyOfHtml(body_html),
    format: answer.format,
    body_html,
    text: answer.text,
    is_internal: false,
    direction: 'outbound',
    channel: 'email',
    sender_name: member.name,
    sender_email: member.email,
    attachment_ids,
    picture_ids,
  } satisfies MessageDraft
  if (!plan || recipients.length === 0) {
    return { ...draft, email_message_id: headers.message_id, references: ancestorsOf(mail) }
  }
  const { domain, ...outgoing } = plan
  return {
    ...draft,
    cc: recipients.filter(({ kind }) => kind === 'cc').map(({ email }) => email),
    email_message_id: newMessageId(id, domain),
    references: [...own_id, ...ancestorsOf(mail)],
    email: { ...outgoing, recipients },
  }
}
