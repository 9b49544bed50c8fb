/** Reads what somebody answered with a click: a meeting accepted or declined, a mail with an emoji. Pure. */
import { decodeBytes } from '../../base/mime/charset'
import { oneLine } from '../../base/mime/headers'
import { findParts, type Part } from '../../base/mime/parts'
import { ownText } from './reply-text'

type Body = { text: string | null; html: string | null }

const REACTION = 'text/vnd.google.email-reaction+json'
const EMOJI = /\p{Extended_Pictographic}|\p{Regional_Indicator}|\u20e3/u
const MAX_EMOJI = 40
/** Bytes of the part with the emoji, and what Gmail says beside it. */
const MAX_REACTION = 1000

/** Bytes of a calendar in which its fields are looked for. */
const MAX_CALENDAR = 65_536
const MAX_WORDS = 2000

const ANSWERS: Record<string, string> = {
  ACCEPTED: 'Accepted',
  DECLINED: 'Declined',
  TENTATIVE: 'Tentatively accepted',
  DELEGATED: 'Delegated',
}

/** Parts that HTML does not show. Each ends at the next `<` or at the end: the time grows with the length alone. */
const NOTHING_SEEN = /<style\b[\s\S]*?(?:<\/style>|$)|<[^<>]*>|&nbsp;/gi

/** True for the part that holds an emoji of Gmail (developers.google.com/workspace/gmail/reactions/format). */
export function isReaction({ content_type, disposition }: Part): boolean {
  return content_type === REACTION && disposition !== 'attachment'
}

/** Gives the emoji of a reaction, or says how a meeting was answered without words; else the body as it is. */
export function withAnswerOfClick(root: Part, body: Body): Body {
  const emoji = findParts(root, REACTION).filter(isReaction).map(emojiIn).find(Boolean)
  // Gmail writes who reacted, and quotes the mail. Words beyond that are words of a person.
  if (emoji && ownText(body.text ?? '').length <= MAX_REACTION) return { text: emoji, html: null }
  const is_empty = !body.text?.trim() && !(body.html ?? '').replace(NOTHING_SEEN, '').trim()
  const answer = is_empty ? meetingAnswer(root) : null
  return answer === null ? body : { text: answer, html: null }
}

/** Gives the method of the calendar of a message (RFC 5546), in lower case; null without a calendar that has one. */
export function calendarMethod(part: Part): string | null {
  const [calendar] = findParts(part, 'text/calendar')
  if (!calendar) return null
  const method = calendar.content_params.get('method') ?? fieldOf(calendarLines(calendar), 'METHOD')?.value
  return method?.trim().toLowerCase() ?? null
}

function emojiIn({ content }: Part): string | null {
  try {
    const { emoji } = JSON.parse(content.toString('utf8', 0, MAX_REACTION))
    return typeof emoji === 'string' &&
      emoji.length <= MAX_EMOJI &&
      EMOJI.test(emoji) &&
      !/[\p{L}\p{Cc}\s]/u.test(emoji)
      ? emoji
      : null
  } catch {
    return null
  }
}

/** Says how the meeting was answered, with its title and the words of the person who answers; null when it was not. */
function meetingAnswer(root: Part): string | null {
  const method = calendarMethod(root)
  const [calendar] = findParts(root, 'text/calendar')
  if (!calendar || (method !== 'reply' && method !== 'counter')) return null
  const lines = calendarLines(calendar)
  const status = /;PARTSTAT="?([A-Z]+)/i.exec(fieldOf(lines, 'ATTENDEE')?.params ?? '')?.[1]?.toUpperCase() ?? ''
  const answer = method === 'counter' ? 'Proposed a new time' : ANSWERS[status]
  if (!answer) return null
  const title = wordsOf(fieldOf(lines, 'SUMMARY')?.value)
  const comment = wordsOf(fieldOf(lines, 'COMMENT')?.value)
  return [title ? `${answer}: ${oneLine(title)}` : answer, comment].filter(Boolean).join('\n\n')
}

/** The lines of a calendar, unfolded (RFC 5545 section 3.1). */
function calendarLines({ content, content_params }: Part): string[] {
  const text = decodeBytes(content.subarray(0, MAX_CALENDAR), content_params.get('charset') ?? 'utf-8')
  return text.replace(/\r?\n[ \t]/g, '').split(/\r?\n/)
}

function fieldOf(lines: string[], name: string): { params: string; value: string } | undefined {
  const pattern = new RegExp(`^${name}((?:;[^:";]*(?:"[^"]*")?)*):(.*)$`, 'i')
  const found = lines.map((line) => pattern.exec(line)).find(Boolean)
  return found ? { params: found[1] ?? '', value: found[2] ?? '' } : undefined
}

function wordsOf(value = ''): string {
  return value
    .slice(0, MAX_WORDS)
    .replace(/\\n/gi, '\n')
    .replace(/\\([,;\\])/g, '$1')
    .toWellFormed()
    .trim()
}
