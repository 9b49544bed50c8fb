/** Reads what somebody answered with a click: a meeting accepted or declined, a mail with an emoji. Pure. */
import { oneLine } from '../../base/mime/headers'
import { findParts, type Part } from '../../base/mime/parts'
import { calendarLines, calendarMethod, fieldOf, wordsOf } from './calendar'
import { invitationOf } from './invitation'
import { ownText } from './reply-text'

type Body = { text: string | null; html: string | null }

const REACTION = 'text/vnd.google.email-reaction+json'
const EMOJI = /\p{Extended_Pictographic}|\p{Regional_Indicator}|\u20e3/u
const MAX_EMOJI = 40
/** Bytes of the part with the emoji, and what Gmail says beside it. */
const MAX_REACTION = 1000

const ANSWERS: Record<string, string> = {
  ACCEPTED: 'Accepted',
  DECLINED: 'Declined',
  TENTATIVE: 'Tentatively accepted',
  DELEGATED: 'Delegated',
}

/** Parts that HTML does not show. Each ends at the next `<` or at the end: the time grows with the length alone. */
const NOTHING_SEEN = /<style\b[\s\S]*?(?:<\/style>|$)|<[^<>]*>|&nbsp;/gi

const IMAGE_WITH_WORDS = /<img\b[^<>]*?\balt\s{0,9}=\s{0,9}["']?[^"'\s>]/i

/** True for the part that holds an emoji of Gmail (developers.google.com/workspace/gmail/reactions/format). */
export function isReaction({ content_type, disposition }: Part): boolean {
  return content_type === REACTION && disposition !== 'attachment'
}

/** Gives the emoji of a reaction, or says how a meeting was answered or called; else the body as it is. */
export function withAnswerOfClick(root: Part, body: Body): Body {
  const emoji = findParts(root, REACTION).filter(isReaction).map(emojiIn).find(Boolean)
  // Gmail writes who reacted, and quotes the mail. Words beyond that are words of a person.
  if (emoji && ownText(body.text ?? '').length <= MAX_REACTION) return { text: emoji, html: null }
  const is_empty = !body.text?.trim() && !(body.html ?? '').replace(NOTHING_SEEN, '').trim()
  const has_alternative = IMAGE_WITH_WORDS.test(body.html ?? '')
  const answer = is_empty ? (meetingAnswer(root) ?? (has_alternative ? null : invitationOf(root))) : null
  return answer === null ? body : { text: answer, html: null }
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
