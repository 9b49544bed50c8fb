/** Writes the earlier messages that stand below an answer in its email, and knows them again. Pure. */

import { isLong, textToHtml, textToPre } from '../../base/html/body'
import { type Language, languageOf } from '../../base/language'
import { MOST_QUOTED } from '../messages/draft'
import { ANNOUNCEMENT, type Quotable, type Quotation, quotationOf } from './pieces'

/** Bytes of the words of all quoted messages. */
const MOST_BYTES = 100_000

/** Stands where words are left out. */
const CUT = '[…]'

/**
 * The line above them. Mail programs and other desks write the same, so that everybody's programs end an answer there
 * (`mail/parse/reply-words.ts`).
 */
const LINES: Record<Language, string> = {
  english: '-----Original Message-----',
  german: '-----Ursprüngliche Nachricht-----',
}

/** A message with its words alone, without a quotation of its own and without pictures. */
export type Earlier = Omit<Quotable, 'body_html'>

/**
 * Writes earlier messages as text and as HTML.
 * @param earlier newest first; those that one email may not hold are left out
 * @returns null when none has words
 */
export function historyOf(earlier: Earlier[]): { text: string; html: string } | null {
  const spoken = earlier.map((one) => ({ ...one, words: one.words.trim() })).filter(({ words }) => words !== '')
  if (spoken.length === 0) return null
  const language = languageOf(spoken.map(({ words }) => words).join('\n'))
  const pieces: Quotation[] = []
  let left = MOST_BYTES
  let is_cut = false
  for (const { words, ...message } of spoken.slice(0, MOST_QUOTED)) {
    const kept = cutTo(words, left)
    left -= Buffer.byteLength(kept)
    is_cut = kept !== words
    const shown = is_cut ? `${kept}\n${CUT}` : kept
    const body_html = isLong(shown) ? textToPre(shown) : textToHtml(shown)
    pieces.push(quotationOf({ ...message, words: shown, body_html }, 'text', () => undefined, language))
    if (is_cut) break
  }
  const ends = !is_cut && spoken.length > MOST_QUOTED ? [{ text: `\n\n${CUT}`, body_html: `<div>${CUT}</div>` }] : []
  const all = [...pieces, ...ends]
  const line = LINES[language]
  const html = `<div>${line}</div>${all.map(({ body_html }) => body_html).join('')}`
  return {
    text: line + all.map(({ text }) => text).join(''),
    // Programs fold what has this class. The inner element keeps them from taking the first quotation for all.
    html: `<br><div class="gmail_quote"><div>${html}</div></div>`,
  }
}

/** Gives a text without what `historyOf` wrote at its end: as it is when words of somebody else stand there. */
export function withoutHistory(text: string): string {
  const lines = text.split(/\r?\n/)
  const rules = Object.values(LINES)
  const start = lines.findLastIndex((line) => rules.includes(line.trim()))
  const isOurs = (line: string) => line === '' || line === CUT || line.startsWith('>') || ANNOUNCEMENT.test(line)
  if (start < 0 || !lines.slice(start + 1).every((line) => isOurs(line.trim()))) return text
  return lines.slice(0, start).join('\n')
}

/** Cuts a text to its first bytes, at a character. */
function cutTo(text: string, bytes: number): string {
  if (text.length <= bytes / 3 || Buffer.byteLength(text) <= bytes) return text
  // The beginning of a character at the end is left out.
  return new TextDecoder().decode(Buffer.from(text).subarray(0, bytes), { stream: true })
}
