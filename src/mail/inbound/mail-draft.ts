/** Makes the draft of a message of a ticket from an email. */
import { firstCharacters } from '../../base/address/characters'
import { addressKey } from '../../base/address/email'
import { unsignedUrl } from '../../base/attachment-url'
import { newId } from '../../base/db/columns'
import { dropUnknownImages, embedImages, textToHtml } from '../../base/html/body'
import type { Scope } from '../../base/scope'
import { readLetterAnchor, readMessageId } from '../../desk/messages/anchors'
import type { MessageDraft } from '../../desk/messages/draft'
import { placePictures } from '../../desk/messages/pictures'
import { endsOf } from '../parse/parse'
import type { Decision } from './decide'
import type { InboundMail } from './message'

/** An attachment of an email, stored and waiting for its message. */
export type StoredPart = { id: string; content_id: string | null }

const MAX_SUBJECT = 255
/** Message-IDs that lead to a ticket by one email. */
export const MAX_ANCESTORS = 50

const UNPARSED = 'This email could not be read. The original is attached as message.eml.'

/** Characters that nobody can see, or click in a list. */
const INVISIBLE = /^[\p{Cf}\p{Z}\p{Cc}\p{Default_Ignorable_Code_Point}\u2800]*$/u

type Filed = Extract<Decision, { id_use: unknown }>

/** @param writer its contact, or who stands for an unknown one */
export function draftOf(
  mail: InboundMail,
  parts: StoredPart[],
  writer: { name: string; email: string | null },
  decision: Filed,
) {
  const { content, headers, sender } = mail
  const body = content?.text ?? UNPARSED
  return {
    id: newId(),
    body,
    format: content?.format ?? 'text',
    body_html: content ? htmlOf(content.body_html, parts) : textToHtml(body),
    text: body,
    reply_text: content?.reply_text ?? null,
    is_internal: false,
    direction: 'inbound',
    channel: 'email',
    sender_name: sender?.name || writer.name,
    sender_email: sender?.email ?? writer.email,
    auto_reply: content?.auto_reply ?? false,
    from_list: headers.list !== null,
    // The check was of the member who passed it on.
    sender_verified: mail.passed_on ? null : mail.sender_verified,
    reply_to: mail.reply_to,
    directs_answers: mail.directs === 'always' || (mail.directs === 'at first' && decision.outcome !== 'message'),
    cc: content ? [...new Set(headers.cc.map(({ address }) => address))] : [],
    email_message_id: decision.id_use === 'copied' ? null : headers.message_id,
    references: ancestorsOf(mail),
    attachment_ids: parts.map(({ id }) => id),
    picture_ids: [] as string[],
  } satisfies MessageDraft
}

/** The subject of the ticket that the email opens. */
export function subjectOf({ headers }: InboundMail): string {
  const subject = (headers.subject ?? '').replace(/\p{Cc}+/gu, ' ').trim()
  const shown = firstCharacters(subject, MAX_SUBJECT).trim()
  return INVISIBLE.test(shown) ? '(no subject)' : shown
}

/**
 * Its other authors, and the people it went to, besides the address that it came in by, and those from which it was
 * passed on to us.
 */
export function othersOf({ content, headers, recipient }: InboundMail): { name: string; email: string }[] {
  if (!content) return []
  const ways = new Set([recipient, ...headers.ways].map(addressKey))
  return [...headers.co_authors, ...headers.to, ...headers.cc]
    .filter(({ address }) => !ways.has(addressKey(address)))
    .map(({ name, address }) => ({ name, email: address }))
}

/** Points images of the message (`cid:`) to the stored attachments. Some programs write an id in another case there. */
export function htmlOf(body_html: string, parts: StoredPart[]): string {
  const ids = new Map(parts.map(({ id, content_id }) => [content_id, id]))
  const ids_in_lower_case = new Map(parts.map(({ id, content_id }) => [content_id?.toLowerCase(), id]))
  return embedImages(body_html, (content_id) => {
    const id = ids.get(content_id) ?? ids_in_lower_case.get(content_id.toLowerCase())
    return id === undefined ? undefined : unsignedUrl(id)
  })
}

/**
 * Points the images that the mail did not bring to attachments of public messages of its ticket, which the caller's
 * transaction has locked, and leaves out those that name nothing.
 * @param ticket_id null: the mail opens a ticket
 */
export async function placeOthers(
  scope: Scope,
  ticket_id: string | null,
  { body_html: given, attachment_ids: own_ids }: { body_html: string; attachment_ids: string[] },
): Promise<{ body_html: string; picture_ids: string[] }> {
  const text = { ticket_id, body: '', body_html: given, source: 'mail' as const, own_ids }
  const { body_html, pictures } = await placePictures(scope, text)
  return { body_html: dropUnknownImages(body_html), picture_ids: pictures }
}

/** Ids of others that it refers to. Another answer to the same message may name nothing else. */
export function ancestorsOf({ headers }: InboundMail): string[] {
  const ids = [...new Set([...headers.in_reply_to, ...headers.references])].filter(
    (id) => !readMessageId(id) && !readLetterAnchor(id),
  )
  return endsOf(ids, MAX_ANCESTORS)
}
