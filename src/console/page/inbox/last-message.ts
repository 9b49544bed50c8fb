/** Makes of what a ticket tells of its messages what it is after another one, as the service does. */
import type { MessageOfTicket } from '../../../desk/messages/model'
import type { Ticket } from '../../../desk/tickets/model'

/** Characters that are read for an excerpt, and code points that it has at most. */
const [READ, SHOWN] = [4000, 160]

type Turn = Partial<
  Pick<Ticket, 'last_message' | 'waiting_since' | 'message_count' | 'attachment_count' | 'draft_count'>
>

/** @param is_mine the person wrote it. The page counts the drafts of that person itself (`withDrafts`) */
export function turnAfter(ticket: Ticket, message: MessageOfTicket, is_mine: boolean): Turn {
  const { id, direction, sender, created_at, auto_reply, attachments, drafted_by } = message
  // The answer to an act and its event tell of the same message.
  if (direction !== null && (ticket.last_message?.id ?? '') >= id) return {}
  const was_draft = drafted_by && !is_mine && ticket.draft_count
  const drafts = was_draft ? { draft_count: ticket.draft_count! - 1 } : {}
  const files = attachments?.length ?? 0
  if (direction === null) return { ...drafts, attachment_count: Math.max(ticket.attachment_count, files) }
  const is_asking = direction === 'inbound' && !auto_reply && /^(open|pending)$/.test(ticket.status)
  const is_answer = direction === 'outbound' && !auto_reply
  return {
    ...drafts,
    last_message: { id, direction, sender, excerpt: excerptOf(message), created_at },
    waiting_since: is_answer ? null : (ticket.waiting_since ?? (is_asking ? created_at : null)),
    message_count: ticket.message_count + 1,
    attachment_count: ticket.attachment_count + files,
  }
}

/** The ticket with one draft more or less of the person. */
export function withDrafts(ticket: Ticket, step: number): Ticket {
  return { ...ticket, draft_count: Math.max(0, (ticket.draft_count ?? 0) + step) }
}

/** A ticket that was made just now, with what its event does not know. */
export function asNew(ticket: Ticket, me: { id: string; email: string }): Ticket {
  const { last_message, assignee } = ticket
  const is_of_others = !!last_message && last_message.sender.email !== me.email
  return { ...ticket, unread: is_of_others && (!assignee || assignee.id === me.id), draft_count: 0 }
}

/** The beginning of a message as one line. Its HTML is text here, and shown as text. */
function excerptOf({ reply_text, format, body, body_html, direction, email_message_id }: MessageOfTicket): string {
  const is_text = format === 'text' || (direction === 'inbound' && !!email_message_id)
  const text = reply_text || (is_text ? body : withoutTags(body_html.slice(0, READ)))
  return Array.from(text.slice(0, READ).replace(/\s+/g, ' ').trim()).slice(0, SHOWN).join('')
}

const NAMED: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', nbsp: ' ', '#39': "'" }

function withoutTags(html: string): string {
  const text = html.replace(/<\/(?:p|div|li|h\d|t[dh]|pre|blockquote)>|<br[^>]*>/g, ' ').replace(/<[^>]*>?/g, '')
  return text.replace(/&(\w+|#39);/g, (whole, name: string) => NAMED[name] ?? whole)
}
