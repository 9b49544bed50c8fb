/** Reads an email that is to be sent, and describes the message for it. */

import { contentIdOf } from '../../base/attachment-url'
import { type Format, formOfRow } from '../../base/html/formats'
import { render } from '../../base/html/render'
import { safeHtmlToText } from '../../base/html/text'
import { placeImages } from '../../base/html/view'
import type { Scope } from '../../base/scope'
import { decrypt } from '../../base/secrets'
import type { OutboxJob } from '../../delivery/outbox/job'
import { type Scan, waitsForScan } from '../../desk/attachments/scan'
import { storage } from '../../desk/attachments/storage'
import { bounceAddress, replyAddress } from '../../desk/messages/anchors'
import { mayUseAddress } from '../../desk/messages/mailbox-address'
import { readHistory } from '../../desk/quotations/read-history'
import { fromName } from '../../desk/templates/from-name'
import type { CustomerReply, DkimSigner, MailAttachment } from './compose'
import type { MailboxSmtp } from './settings'

/** A message with its ticket and the mailbox that sends it, whose columns are null once it is deleted. */
export type Email = {
  ticket_id: string
  code: string
  subject: string
  body: string
  format: Format | null
  body_html: string
  signature_html: string | null
  quoted_ids: string[] | null
  email_message_id: string
  begins_ticket: boolean
  is_automatic: boolean
  organization_name: string
  mailbox_id: string | null
  address: string | null
  mailbox_name: string | null
  from_name: string | null
  sender_name: string
  /** It may send: it is switched on, and may use its address. */
  active: boolean | null
  plus_addressing: boolean | null
  verp: boolean | null
  /** Password and private key are encrypted. */
  smtp: (Omit<MailboxSmtp, 'password' | 'tokens'> & { password: string | null }) | null
  /** The settings for tokens; null: it signs in without them. */
  sign_in_version: string | null
  dkim: DkimSigner | null
}

/** `is_queued` until an attempt has sent to the recipient or failed for good. */
export type MailRecipient = {
  position: number
  kind: 'to' | 'cc'
  name: string | null
  email: string
  is_queued: boolean
}

/** Reads the email of a job; undefined when the message or its ticket is gone, or was not to be sent. */
export async function readEmail({ sql, organization_id }: Scope, job: OutboxJob): Promise<Email | undefined> {
  const [email] = await sql<Email[]>`
    select t.id as ticket_id, t.code, t.subject, m.body, m.format, m.body_html, m.signature_html, m.quoted_ids,
      m.email_message_id, m.begins_ticket, m.auto_reply as is_automatic, o.name as organization_name, b.id as mailbox_id, b.address, b.name as mailbox_name, b.from_name, m.sender_name,
      b.active and b.may_use_address as active, b.plus_addressing, b.verp,
      case when b.smtp_host is not null then json_build_object(
        'host', b.smtp_host, 'port', b.smtp_port, 'security', b.smtp_security, 'username', b.smtp_username,
        'password', b.smtp_password
      ) end as smtp, (
        select s.version from mailbox_sign_ins s where s.organization_id = ${organization_id} and s.id = ${job.lane_id}
      ) as sign_in_version,
      case when b.dkim_domain is not null then json_build_object(
        'domain', b.dkim_domain, 'selector', b.dkim_selector, 'private_key', b.dkim_private_key
      ) end as dkim
    from messages m
    join tickets t on t.organization_id = ${organization_id} and t.id = m.ticket_id
    join organizations o on o.id = ${organization_id}
    left join (
      select m.*, ${mayUseAddress(sql)} as may_use_address from mailboxes m
      where m.organization_id = ${organization_id} and m.id = ${job.lane_id}
    ) b on true
    where m.organization_id = ${organization_id} and m.id = ${job.id} and m.email_message_id is not null
      and t.deleted_at is null`
  return email
}

/** Reads the recipients of a message in the order of its header. */
export async function readRecipients({ sql, organization_id }: Scope, id: string): Promise<MailRecipient[]> {
  return sql<MailRecipient[]>`
    select position, kind, name, email, status = 'queued' as is_queued from message_recipients
    where organization_id = ${organization_id} and message_id = ${id}
    order by position`
}

/** Keeps the files of a message from being sent: `infected`, `pending`, or null. @param id of the message */
export async function readFilesFault(scope: Scope, id: string): Promise<Scan | null> {
  const rows = await readFiles(scope, id)
  if (rows.some(({ scan }) => scan === 'infected')) return 'infected'
  return rows.some(({ scan }) => waitsForScan(scan)) ? 'pending' : null
}

/**
 * Describes the message for an email. @param id of the message
 * @param address of the mailbox
 */
export async function replyOf(
  scope: Scope,
  id: string,
  email: Email,
  address: string,
  recipients: MailRecipient[],
): Promise<CustomerReply> {
  const shownAs = (writer: string) => ({ sender_name: fromName(email, writer), sender_email: address })
  const [conversation, files, history, { text }] = await Promise.all([
    email.begins_ticket ? [] : readConversation(scope, email.ticket_id, id),
    readFiles(scope, id),
    readHistory(scope, email.quoted_ids ?? [], shownAs),
    render(email.body, formOfRow(email), scope.organization_id),
  ])
  const ofKind = (kind: MailRecipient['kind']) =>
    recipients.filter((one) => one.kind === kind).map(({ name, email }) => ({ name, address: email }))
  const shown = new Set<string>()
  const placeInline = (attachment_id: string) => {
    if (!files.some((file) => file.id === attachment_id)) return undefined
    shown.add(attachment_id)
    return `cid:${contentIdOf(attachment_id)}`
  }
  const signature = email.signature_html === null ? '' : placeImages(email.signature_html, () => undefined, 'load')
  const html = placeImages(email.body_html, placeInline, 'load')
  return {
    from: { name: fromName(email, email.sender_name), address },
    envelope_from: email.verp ? bounceAddress(address, id) : undefined,
    to: ofKind('to'),
    cc: ofKind('cc'),
    reply_to: email.plus_addressing ? { address: replyAddress(address, email.ticket_id) } : undefined,
    subject: email.subject,
    is_answer: !email.begins_ticket,
    is_automatic: email.is_automatic,
    code: email.code,
    message_id: email.email_message_id,
    in_reply_to: conversation.at(-1),
    references: conversation,
    text: [text, signature && safeHtmlToText(signature), history?.text].filter(Boolean).join('\n\n'),
    html: [html, signature && `<br><div>${signature}</div>`, history?.html].join(''),
    attachments: files
      .filter(({ id, is_own }) => is_own || shown.has(id))
      .map((file) => ({
        ...attachmentOf(file),
        ...(shown.has(file.id) && { is_inline: true, content_id: contentIdOf(file.id) }),
      })),
    dkim: email.dkim && {
      ...email.dkim,
      private_key: decryptColumn(scope, email, 'dkim_private_key', email.dkim.private_key),
    },
  }
}

/** Decrypts a secret of the mailbox that sends an email. @throws Error when no SECRET_KEY fits */
export function decryptColumn(
  { organization_id }: Scope,
  { mailbox_id }: Email,
  column: 'smtp_password' | 'dkim_private_key',
  encrypted: string,
): string {
  return decrypt(encrypted, { column: `mailboxes.${column}`, organization_id, id: mailbox_id ?? '' })
}

type StoredFile = {
  id: string
  filename: string
  content_type: string
  size: number
  storage_key: string
  scan: Scan | null
  /** False: it belongs to another message, and this one shows it. */
  is_own: boolean
}

function attachmentOf({ filename, content_type, size, storage_key }: StoredFile): MailAttachment {
  return { filename, content_type, size, content: () => storage().open(storage_key) }
}

/** Reads the Message-IDs of the conversation before this message, oldest first. */
async function readConversation({ sql, organization_id }: Scope, ticket_id: string, id: string): Promise<string[]> {
  const rows = await sql<{ email_message_id: string }[]>`
    select email_message_id from messages
    where organization_id = ${organization_id} and ticket_id = ${ticket_id} and id < ${id}
      and email_message_id is not null
    order by id`
  return rows.map(({ email_message_id }) => email_message_id)
}

/** Reads the files that a message may send: its own, and those of others that it shows. */
async function readFiles({ sql, organization_id }: Scope, id: string): Promise<StoredFile[]> {
  return sql<StoredFile[]>`
    select a.id, a.filename, a.content_type, a.size, a.storage_key, a.scan, true as is_own from attachments a
    where a.organization_id = ${organization_id} and a.message_id = ${id}
    union all
    select a.id, a.filename, a.content_type, a.size, a.storage_key, a.scan, false from message_pictures p
    join attachments a on a.organization_id = ${organization_id} and a.id = p.attachment_id
    where p.organization_id = ${organization_id} and p.message_id = ${id} and a.message_id is distinct from ${id}
    order by id`
}
