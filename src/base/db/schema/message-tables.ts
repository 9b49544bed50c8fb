/** Tables of messages, drafts and files. */
import { sql } from 'drizzle-orm'
import { bigint, boolean, check, index, integer, jsonb, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { createdAt, instant, updatedAt } from '../columns'
import { distributedTable, isOneOf, isStorageKey, localTable, moved, reference, tenant } from './table-parts'
import { tickets } from './ticket-tables'
import {
  AUTHOR_TYPES,
  EMAIL_STATUSES,
  MESSAGE_CHANNELS,
  MESSAGE_DIRECTIONS,
  QUOTES,
  RECIPIENT_KINDS,
  RECIPIENT_STATUSES,
  SCANS,
  SEND_ERRORS,
  TEXT_FORMATS,
} from './word-lists'

export const messages = distributedTable(
  'messages',
  {
    ...tenant(),
    ticket_id: uuid().notNull(),
    ...moved(),
    /** Text as the agent gave it, or the plain text of the email. */
    body: text().notNull(),
    /** Null in rows of releases without formats (`base/html/formats.ts`). The same holds below. */
    format: text({ enum: TEXT_FORMATS }),
    /** Sanitized: safe to show in a page. */
    body_html: text().notNull(),
    /** The new part of an inbound email, without quoted history and signature. */
    reply_text: text(),
    is_internal: boolean().notNull().default(false),
    direction: text({ enum: MESSAGE_DIRECTIONS }),
    /** Null in rows of releases without channels (`desk/messages/queries.ts`). */
    channel: text({ enum: MESSAGE_CHANNELS }),
    sender_name: text().notNull(),
    sender_email: text(),
    auto_reply: boolean().notNull().default(false),
    /** A mailing list passed it on: rules never answer it. */
    from_list: boolean().notNull().default(false),
    /** The rule that wrote it, which counts its answers here. That a machine wrote it, `auto_reply` says. */
    rule_id: uuid(),
    /** Inbound email: true when DMARC proves From, false when From is forged, null when nobody can tell. */
    sender_verified: boolean(),
    /** Inbound email: where its sender wants answers, when that is another address. */
    reply_to: text(),
    /** Answers go to `reply_to`; null in rows of before: when its domain is the sender's. */
    directs_answers: boolean(),
    cc: text().array().notNull().default(sql`'{}'`),
    /** Without angle brackets. */
    email_message_id: text(),
    email_status: text({ enum: EMAIL_STATUSES }).notNull().default('none'),
    email_error: text(),
    /** The mailbox that sends its email; null in rows of releases that did not keep it. The same holds below. */
    mailbox_id: uuid(),
    email_attempts: integer(),
    /** The last words of the mailbox's server. */
    server_response: text(),
    /** Attempts after which it stayed queued: the first ones and the last ones. */
    email_tries: jsonb().$type<{ at: string; response: string | null }[]>(),
    /** The mailbox's signature as its email has it, sanitized. */
    signature_html: text(),
    /** The earlier messages that its email quotes below that, newest first; one more than it may quote says so. */
    quoted_ids: uuid().array(),
    /** The member who wrote it. Null for other writers, and in rows that are older than the column. */
    author_id: uuid(),
    /** The team began the ticket with it: its email answers nothing. */
    begins_ticket: boolean().notNull().default(false),
    /** The author of the draft that it was sent from, with the name at that time. */
    drafted_by: jsonb().$type<{ type: (typeof AUTHOR_TYPES)[number]; id: string; name: string }>(),
    mentions: mentions(),
    created_at: createdAt(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    index('messages_ticket').on(table.organization_id, table.ticket_id, table.id),
    reference('messages_ticket', [table.organization_id, table.ticket_id], tickets, 'cascade'),
    index('messages_outbound')
      .on(table.organization_id, table.id, table.ticket_id)
      .where(sql`${table.email_status} <> 'none'`),
    index('messages_undelivered')
      .on(table.organization_id, table.email_status, table.id)
      .where(sql`${table.email_status} in ('queued', 'failed', 'bounced')`),
    index('messages_mailbox')
      .on(table.organization_id, table.mailbox_id, table.id)
      .where(sql`${table.mailbox_id} is not null`),
    check('messages_direction', isOneOf(table.direction, MESSAGE_DIRECTIONS)),
    check('messages_channel', isOneOf(table.channel, MESSAGE_CHANNELS)),
    check('messages_note', sql`${table.is_internal} = (${table.direction} is null)`),
    check('messages_email_status', isOneOf(table.email_status, EMAIL_STATUSES)),
  ],
)

/** Makes a column for the members that a note names, with their names at that time. */
function mentions() {
  return jsonb().$type<{ id: string; name: string }[]>().notNull().default([])
}

/** Replies and notes that are not sent yet. */
export const drafts = distributedTable(
  'drafts',
  {
    ...tenant(),
    ticket_id: uuid().notNull(),
    ...moved(),
    author_type: text({ enum: AUTHOR_TYPES }).notNull(),
    author_id: uuid().notNull(),
    body: text().notNull(),
    format: text({ enum: TEXT_FORMATS }),
    /** Sanitized: safe to show in a page. */
    body_html: text().notNull(),
    /** Plain text, for the search once it is sent. */
    text: text().notNull(),
    is_internal: boolean().notNull(),
    /** Null: the confirmed participants when it is sent. */
    cc: text().array(),
    /** Null: as the mailbox says when it is sent. */
    quote: text({ enum: QUOTES }),
    /** The newest public message that its author has seen. It may be deleted since. */
    based_on: uuid(),
    /** The author before, with the name at that time: an API key, or a member who left. */
    written_by: jsonb().$type<{ type: (typeof AUTHOR_TYPES)[number]; id: string; name: string }>(),
    /** A person has changed what an API key wrote: the key changes it no more. */
    is_taken: boolean().notNull().default(false),
    /** When a reply is sent by itself. */
    send_at: instant(),
    /** Not once public messages have come that its author has not seen. */
    unless_answered: boolean().notNull().default(true),
    /** Why it was not sent by itself. */
    send_error: text({ enum: SEND_ERRORS }),
    mentions: mentions(),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    index('drafts_ticket').on(table.organization_id, table.ticket_id, table.id),
    index('drafts_author').on(table.organization_id, table.author_id, table.id),
    reference('drafts_ticket', [table.organization_id, table.ticket_id], tickets, 'cascade'),
    check('drafts_author_type', isOneOf(table.author_type, AUTHOR_TYPES)),
    check('drafts_send_error', isOneOf(table.send_error, SEND_ERRORS)),
  ],
)

/** Recipients of a message that goes out by email, with the outcome for each. */
export const message_recipients = distributedTable(
  'message_recipients',
  {
    organization_id: uuid().notNull(),
    message_id: uuid().notNull(),
    position: integer().notNull(),
    kind: text({ enum: RECIPIENT_KINDS }).notNull(),
    name: text(),
    email: text().notNull(),
    /** See `addressKey`. */
    email_key: text().notNull(),
    status: text({ enum: RECIPIENT_STATUSES }).notNull().default('queued'),
    error: text(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.message_id, table.position] }),
    index('message_recipients_email').on(table.organization_id, table.email_key, table.message_id),
    index('message_recipients_domain').on(
      table.organization_id,
      sql`substring(${table.email_key} from '[^@]*$')`,
      table.message_id,
    ),
    reference('message_recipients_message', [table.organization_id, table.message_id], messages, 'cascade'),
    check('message_recipients_kind', isOneOf(table.kind, RECIPIENT_KINDS)),
    check('message_recipients_status', isOneOf(table.status, RECIPIENT_STATUSES)),
  ],
)

/** Message-IDs that lead to a ticket: those of its messages, and those that its messages referred to. */
export const email_anchors = distributedTable(
  'email_anchors',
  {
    organization_id: uuid().notNull(),
    /** Without angle brackets. */
    email_message_id: text().notNull(),
    ticket_id: uuid().notNull(),
    message_id: uuid(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.email_message_id, table.ticket_id] }),
    index('email_anchors_ticket').on(table.organization_id, table.ticket_id),
    index('email_anchors_message').on(table.organization_id, table.message_id),
    reference('email_anchors_ticket', [table.organization_id, table.ticket_id], tickets, 'cascade'),
    reference('email_anchors_message', [table.organization_id, table.message_id], messages),
  ],
)

export const attachments = distributedTable(
  'attachments',
  {
    ...tenant(),
    /** Null until a message uses the upload. */
    message_id: uuid(),
    /** The draft that uses the upload. */
    draft_id: uuid(),
    /** Id of the user, API key or contact who uploaded it; null for a file of an email and rows of older releases. */
    uploader_id: uuid(),
    /** A contact uploaded it, so that nobody else can use it. */
    is_by_contact: boolean().notNull().default(false),
    filename: text().notNull(),
    content_type: text().notNull(),
    size: bigint({ mode: 'number' }).notNull(),
    /** SHA-256 of the bytes, lower case hex: the ETag. */
    digest: text().notNull(),
    storage_key: text().notNull(),
    /** Content-ID of an inline image of an email, without angle brackets. */
    content_id: text(),
    /** The finding of a scan for viruses; null when it came while there was no scanner. */
    scan: text({ enum: SCANS }),
    created_at: createdAt(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.id] }),
    index('attachments_pending').on(table.organization_id, table.id).where(sql`${table.scan} = 'pending'`),
    index('attachments_message').on(table.organization_id, table.message_id, table.id),
    index('attachments_draft').on(table.organization_id, table.draft_id).where(sql`${table.draft_id} is not null`),
    index('attachments_storage').on(table.storage_key),
    index('attachments_unused').on(table.id).where(sql`${table.message_id} is null`),
    index('attachments_unused_by').on(table.organization_id, table.uploader_id).where(sql`${table.message_id} is null`),
    reference('attachments_message', [table.organization_id, table.message_id], messages, 'cascade'),
    reference('attachments_draft', [table.organization_id, table.draft_id], drafts, 'cascade'),
    check('attachments_size', sql`${table.size} >= 0`),
    check('attachments_scan', isOneOf(table.scan, SCANS)),
    check('attachments_storage_key', isStorageKey(table.storage_key, 'attachments')),
  ],
)

/** Attachments of other messages that a message shows: of its ticket, as long as a split does not part the two. */
export const message_pictures = distributedTable(
  'message_pictures',
  { organization_id: uuid().notNull(), message_id: uuid().notNull(), attachment_id: uuid().notNull() },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.message_id, table.attachment_id] }),
    index('message_pictures_attachment').on(table.organization_id, table.attachment_id),
    reference('message_pictures_message', [table.organization_id, table.message_id], messages, 'cascade'),
    reference('message_pictures_attachment', [table.organization_id, table.attachment_id], attachments, 'cascade'),
  ],
)

/**
 * Sources of the quotations that stand below a text, in its rows: `piece` counts them from 1. A quotation has the
 * message that it shows, and those that this one quoted itself. 0 stands for the source of files alone.
 *
 * It says whose words these are, also when the source is gone: an erasure finds them by it.
 */
export const message_quotes = distributedTable(
  'message_quotes',
  {
    organization_id: uuid().notNull(),
    message_id: uuid().notNull(),
    piece: integer().notNull(),
    source_id: uuid().notNull(),
    /** The ticket that the source was written on, and the contact of that ticket. */
    source_ticket_id: uuid().notNull(),
    contact_id: uuid(),
    /** Address of a customer who wrote it: see `addressKey`. */
    sender_key: text(),
    /** UTF-16 units of the quotation in `body` and `body_html`; null when it only quotes the source indirectly. */
    body_length: integer(),
    html_length: integer(),
    /** Copies of files of the source. */
    attachment_ids: uuid().array().notNull().default(sql`'{}'`),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.message_id, table.piece, table.source_id] }),
    index('message_quotes_source').on(table.organization_id, table.source_id),
    index('message_quotes_ticket').on(table.organization_id, table.source_ticket_id),
    index('message_quotes_contact')
      .on(table.organization_id, table.contact_id)
      .where(sql`${table.contact_id} is not null`),
    index('message_quotes_sender')
      .on(table.organization_id, table.sender_key)
      .where(sql`${table.sender_key} is not null`),
    reference('message_quotes_message', [table.organization_id, table.message_id], messages, 'cascade'),
  ],
)

/** Stored bytes whose row is gone, or may never be committed. A background job removes them after `due_at`. */
export const storage_removals = localTable(
  'storage_removals',
  { storage_key: text().primaryKey(), due_at: instant().notNull().default(sql`now()`) },
  (table) => [
    index('storage_removals_due').on(table.due_at),
    check('storage_removals_storage_key', isStorageKey(table.storage_key, '(attachments|inbound)')),
  ],
)
