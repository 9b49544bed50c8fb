import type { QUOTES } from '../../base/db/schema'
import type { Format } from '../../base/html/formats'
import type { Message } from './model'

/** Stands for the sender of mail whose author cannot be read. */
export const UNKNOWN_SENDER = { name: 'Unknown sender', email: null }

/** The parts of a new message, which an agent, the API or an email writes. */
export type MessageDraft = {
  id?: string
  /** The text or HTML as the agent gave it, or the plain text of the email. */
  body: string
  /** As in `Message`. */
  format: Format
  /** Safe to put in a page. Images that are attachments have their unsigned address (`pictures.ts`). */
  body_html: string
  /** Plain text, for the search. */
  text: string
  reply_text?: string | null
  is_internal: boolean
  /** Null for an internal note. */
  direction: 'inbound' | 'outbound' | null
  /** `api` when it is missing. */
  channel?: 'email' | 'api' | 'portal'
  sender_name: string
  sender_email: string | null
  auto_reply?: boolean
  /** A mailing list passed it on. */
  from_list?: boolean
  /** As in `Message`. */
  sender_verified?: boolean | null
  /** As in `Message`. */
  reply_to?: string | null
  /** Answers go to `reply_to`. */
  directs_answers?: boolean
  cc?: string[]
  /** Without angle brackets. */
  email_message_id?: string | null
  /** Message-IDs of others that an email refers to. They lead to its ticket, too. */
  references?: string[]
  attachment_ids?: string[]
  /** Attachments of other messages that it shows. */
  picture_ids?: string[]
  /** The team begins the ticket with it. */
  begins_ticket?: boolean
  mentions?: Message['mentions']
  drafted_by?: Message['drafted_by']
  /** The member who wrote it. */
  author_id?: string | null
  /** The rule that wrote it. */
  rule_id?: string | null
  /** Set when the message is to be sent by email. */
  email?: DraftEmail
}

/** A message that is to be written. It has its id already, so that other statements can name it. */
export type DraftWithId = MessageDraft & { id: string }

/** Messages that an email quotes. */
export const MOST_QUOTED = 20

/** The earlier messages that an email quotes. */
export type Quote = (typeof QUOTES)[number]

/**
 * The email of a message: the mailbox that sends it, its recipients in the order of the header, and what stands below
 * the message. What is quoted is fixed now, so that each attempt quotes the same: a merge brings in messages of others.
 */
export type DraftEmail = {
  mailbox_id: string
  recipients: DraftRecipient[]
  signature_html: string | null
  quoted_ids: string[]
}

export type DraftRecipient = { kind: 'to' | 'cc'; name: string | null; email: string }
