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

/** The beginning of a message as one line, as the service writes it. Its HTML is text here, and shown as text. */
function excerptOf({ reply_text, format, body, body_html, direction, email_message_id }: MessageOfTicket): string {
  const is_text = format === 'text' || (direction === 'inbound' && !!email_message_id)
  const text = reply_text || (is_text ? body : withoutTags(body_html.slice(0, READ)))
  return Array.from(text.slice(0, READ).replace(/\s+/g, ' ').trim()).slice(0, SHOWN).join('')
}

const PARAGRAPH = /^(?:p|h\d|ul|ol|dl|table|pre|blockquote)$/
const LINE = /^(?:div|li|d[td]|tr|hr|br)$/
/** Invisible characters in words of their own, and soft hyphens. */
const INVISIBLE = /\u00ad|(?:^|\s)[\u034f\u180e\u200b-\u200f\u2060-\u2064\u2800\u3164\uffa0]+(?=\s|$)/g

/** Writes HTML as text with the marks of lists, quotes, links and images. */
function withoutTags(html: string): string {
  const said: string[] = []
  const lists: number[] = []
  const links: { href: string; start: number }[] = []
  let [breaks, quotes, quotes_before, marker] = [0, 0, 0, '']
  const write = (text: string) => {
    if (!text.trim()) return said.push(text && ' ')
    if (said.length === 0 || breaks > 0) {
      const empty = '> '.repeat(Math.min(quotes, quotes_before)).repeat(said.length > 0 ? Math.min(breaks, 3) - 1 : 0)
      said.push(` ${empty}${'> '.repeat(quotes)}`)
    }
    said.push(marker, text.replace(INVISIBLE, ''))
    ;[breaks, quotes_before, marker] = [0, quotes, '']
  }
  const begin = (name: string, tag: string) => {
    if (name === 'blockquote') quotes++
    else if (name === 'ul' || name === 'ol')
      lists.push(name === 'ul' ? Number.NaN : Number(attributeOf(tag, 'start') || 1))
    else if (name === 'li') marker = Number.isNaN(lists.at(-1) ?? Number.NaN) ? '* ' : `${lists[lists.length - 1]!++}. `
    else if (name === 'img') write(attributeOf(tag, 'alt'))
    else if (name === 'hr') write('---')
    else if (name === 'a') links.push({ href: attributeOf(tag, 'href'), start: said.length })
    else if (name === 'td' || name === 'th') said.push(' ')
  }
  const end = (name: string) => {
    if (name === 'blockquote') quotes--
    else if (name === 'ul' || name === 'ol') lists.pop()
    else if (name === 'a') {
      const { href, start } = links.pop() ?? { href: '', start: 0 }
      const address = href.replace(/^(?:mailto|tel):([^?]*).*$/is, '$1')
      const shown = said.slice(start).join('').trim()
      if (href && shown && !address.replace(/\/$/, '').endsWith(shown.replace(/\/$/, ''))) write(` <${address}>`)
    }
  }
  for (const [token, slash, name] of html
    .replace(/<[^>]*$|&[^;\s]*$/, '')
    .matchAll(/<(\/?)([a-z][a-z0-9]*)[^>]*>|[^<]+|</g)) {
    if (!name) {
      write(unescaped(token))
      continue
    }
    if (slash) end(name)
    if (name === 'br') breaks++
    else if (PARAGRAPH.test(name) && !(/^[uo]l$/.test(name) && lists.length > 0)) breaks = Math.max(breaks, 2)
    else if (PARAGRAPH.test(name) || LINE.test(name)) breaks = Math.max(breaks, 1)
    if (!slash) begin(name, token)
  }
  return said.join('')
}

const NAMED: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"' }

function unescaped(text: string): string {
  return text.replace(/&(amp|lt|gt|quot);/g, (_, name: string) => NAMED[name]!)
}

function attributeOf(tag: string, name: string): string {
  return unescaped(new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1] ?? '')
}
