/** The parts of a new message, which an agent, the API or an email writes. */
export type MessageDraft = {
  id?: string
  /** As given by the agent, or the plain text of the email. */
  body: string
  /** Safe to put in a page. Images that are attachments have their unsigned address. */
  body_html: string
  /** Plain text, for the search. */
  text: string
  reply_text?: string | null
  is_internal: boolean
  /** Null for an internal note. */
  direction: 'inbound' | 'outbound' | null
  sender_name: string
  sender_email: string | null
  auto_reply?: boolean
  cc?: string[]
  /** Without angle brackets. */
  email_message_id?: string | null
  /** Message-IDs that an email refers to, which lead to its ticket from now on too; none of ours. */
  references?: string[]
  attachment_ids?: string[]
  /** Set when the message is to be sent by email. */
  email?: OutgoingEmail
}

export type OutgoingEmail = { mailbox_id: string; recipients: Recipient[] }

export type Recipient = { kind: 'to' | 'cc'; name: string | null; email: string }
