/**
 * Finds the new part of a reply: without quoted history and signature. When in doubt it keeps more: answers between
 * quoted lines stay together with the lines that they answer, and words below a quotation or a signature stay. Pure,
 * and linear in the length of the text.
 *
 * Own code because email-reply-parser 2.3, the only package for this platform (talon is Python), cuts 17 of the 37
 * texts of mail-parse-reply.test.ts in the wrong place, hides answers between quoted lines, and takes 11 seconds for a
 * line of 100 KB that begins like an announcement.
 */
import { announcementOf, dropSeparators, findHistory, isQuoted, isSeparator, plainLines } from './quotation'
import { ANSWER_WORDS, DEVICE_SIGNATURES, FOOTER, GATEWAY_WARNING, REPLY_ABOVE } from './reply-words'

/** Longest signature, with the line above it. */
const MAX_SIGNATURE_LINES = 25
/** Signatures below each other, and paragraphs of lists, scanners and lawyers. */
const MAX_FOOTERS = 5

/** Four words that are no names and the end of a sentence, or five words without one. */
const WORD = "\\p{L}[\\p{L}\\p{M}'’-]*[,;]?"
const PLAIN_WORD = "[\\p{Ll}\\p{Lo}][\\p{Ll}\\p{Lo}\\p{M}'’-]*[,;]?"
const SENTENCE = new RegExp(
  `\\p{L}[,;]? ${PLAIN_WORD} (?:${WORD} ){1,20}${WORD}["”)]?[.!…]|\\p{L}{5}[。！]|(?:^| )(?:${PLAIN_WORD} ){4}\\p{Ll}`,
  'u',
)
const POSTSCRIPT = /^\s*(?:p\.? ?p?\.? ?s|n\.?b)\b\.?\s*[:,.–—-]?\s*\S/im
/** Words with which somebody speaks to the reader. The saying in a signature speaks to nobody. */
const SPEAKS =
  /[?？؟]|(?<![\p{L}\p{N}])(?:i|i['’]m|my|me|please|pls|forgot|ich|mir|mein|bitte|noch|je|mon|merci|svp|yo|mi|por favor|io|mio|per favore|ik|mijn|graag|jag|jeg|minä|proszę|prosím|пожалуйста)(?![\p{L}\p{N}@.])/iu
/** A name or a greeting at the end of a letter. */
const SIGN_OFF = /^.{1,40}[^\s.!?:…]$/

type MailKind = 'answer' | 'first mail'

/** The writer of a quotation at the end that no line announces: `own` when the HTML of the mail shows it so. */
export type Quotes = 'own' | 'of others'

/**
 * Finds the reply in a plain text; gives the whole text when nothing would be left.
 * @param mail a `first mail` may list the fields of another mail itself: only what mail programs mark is cut from it
 */
export function replyText(text: string, mail: MailKind = 'answer', quotes?: Quotes): string {
  return ownText(text, mail, quotes) || text.trim()
}

/** Finds the reply in a plain text as `replyText` does; '' when nothing would be left. */
export function ownText(text: string, mail: MailKind = 'answer', quotes: Quotes = 'of others'): string {
  const lines = withoutRequest(text.replace(/\r\n?/g, '\n').split('\n'))
  const plain = plainLines(lines)
  const history = findHistory(plain, mail)
  const kept = history < 0 ? lines : dropSeparators(lines.slice(0, history))
  return withoutQuotation(kept, plain, quotes).join('\n').trim()
}

/** Texts above and below the quotations that the HTML of a mail marks. */
export type Around = { above: string; below: string }

/** Finds the reply of a mail; null when it has no words. @param mail as for `replyText` */
export function replyOf(
  { unsigned, around, quotes }: { unsigned: string; around: Around | null; quotes: Quotes },
  mail: MailKind,
): string | null {
  const by_words = replyText(unsigned, mail, quotes)
  return (around === null ? by_words : replyAround(unsigned, around, by_words, mail, quotes)) || null
}

/** Ends a reply where the HTML says that it ends, or sooner. Words below a quotation stay. */
function replyAround(text: string, { above, below }: Around, by_words: string, mail: MailKind, quotes: Quotes): string {
  const ends = dropSeparators(above.split('\n')).join('\n')
  const footed = withoutFooter(ownText(below, mail, quotes).split('\n')).join('\n')
  const own = [ownText(ends, mail, quotes), footed].filter((words) => words.trim() !== '').join('\n\n')
  if (own === '' || startOf(own, by_words) !== null) return by_words
  return startOf(text, own) ?? own
}

/** Gives the start of a text that has just these words, whatever the white space; null when it begins otherwise. */
function startOf(text: string, words: string): string | null {
  let position = 0
  for (const [word] of words.matchAll(/\S+/g)) {
    for (const character of word) {
      while (/\s/.test(text[position] ?? '')) position += 1
      if (!text.startsWith(character, position)) return null
      position += character.length
    }
  }
  return text.slice(0, position).trim()
}

/**
 * Cuts at the request of a helpdesk to answer above it. In mail of the helpdesk itself nothing stands above the
 * request: its words are below.
 */
function withoutRequest(lines: string[]): string[] {
  const request = lines.findIndex(
    (line) => line.length <= 200 && REPLY_ABOVE.test(line) && ANSWER_WORDS.test(line) && !isQuoted(line),
  )
  if (request < 0) return lines
  const above = lines.slice(0, request)
  const has_words = above.some((line) => !isSeparator(line) && !isQuoted(line) && !GATEWAY_WARNING.test(line))
  return has_words ? dropSeparators(above) : lines.slice(request + 1)
}

/**
 * Drops the quotation at the end with its announcement. Words below it stay, but a quotation that stands between the
 * words above and below is dropped, too, when a mail program announced it. Several quotations are what the answers
 * belong to. One that the writer shows stays, unless a line announces it.
 */
function withoutQuotation(lines: string[], plain: string[], quotes: Quotes): string[] {
  const end = lines.findLastIndex(isQuoted) + 1
  if (end === 0) return withoutSignature(lines)
  let start = end
  while (start > 0 && (isQuoted(lines[start - 1] ?? '') || lines[start - 1]?.trim() === '')) start -= 1
  const below = withoutFooter(withoutSignature(lines.slice(end)))
  const announced = announcementOf(plain, start, hasText(below) ? 'between' : 'last')
  if (announced === null && quotes === 'own') return [...lines.slice(0, end), ...below]
  const above = announced === null ? lines.slice(0, start) : dropSeparators(lines.slice(0, announced))
  if (!hasText(below)) return withoutSignature(above)
  const is_between = announced !== null && hasText(above) && !above.some(isQuoted)
  return is_between
    ? [...withoutSignature(above), '', ...below.slice(below.findIndex((line) => line.trim() !== ''))]
    : [...lines.slice(0, end), ...below]
}

/** Drops signatures: the one of the writer, and those of lists below it. */
function withoutSignature(lines: string[]): string[] {
  let kept = withoutDevice(lines)
  for (let count = 0; count < MAX_FOOTERS; count += 1) {
    const start = signatureStart(kept)
    if (start < 0) break
    kept = kept.slice(0, start)
  }
  return withoutDevice(kept)
}

function withoutDevice(lines: string[]): string[] {
  const last = lines.findLastIndex((line) => line.trim() !== '')
  return DEVICE_SIGNATURES.some((pattern) => pattern.test(lines[last] ?? '')) ? lines.slice(0, last) : lines
}

/**
 * Finds the delimiter of a signature; -1 without one. Words that somebody wrote below it make it a mere line. What
 * follows `-- ` with its space (RFC 3676 section 4.3), or follows a name, may be a saying.
 */
function signatureStart(lines: string[]): number {
  const start = lines.findLastIndex((line) => /^--\s?$/.test(line))
  if (start < 0 || lines.length - start > MAX_SIGNATURE_LINES || lines.slice(start).some(isQuoted)) return -1
  const above = lines.slice(0, start)
  const [first = '', ...others] = lines
    .slice(start + 1)
    .join('\n')
    .split(/\n\s*\n/)
  const is_exact = lines[start] !== '--'
  if (!is_exact && above.includes('--') && !FOOTER.test(first)) return -1
  const is_signed = SIGN_OFF.test(above.findLast((line) => line.trim() !== '')?.trim() ?? '')
  const is_answer = is_exact ? POSTSCRIPT.test(first) : isWritten(first, is_signed ? SPEAKS : SENTENCE)
  return is_answer || others.some((paragraph) => isWritten(paragraph)) ? -1 : start
}

/** Drops what lists, virus scanners and lawyers put at the end. */
function withoutFooter(lines: string[]): string[] {
  let kept = dropSeparators(lines)
  for (let count = 0; count < MAX_FOOTERS; count += 1) {
    const start = kept.findLastIndex((line) => line.trim() === '') + 1
    if (!FOOTER.test(kept.slice(start).join('\n'))) break
    kept = dropSeparators(kept.slice(0, start))
  }
  return kept
}

/** True for a paragraph that reads like words of a person, and not like those of a list, a scanner or a lawyer. */
function isWritten(paragraph: string, sign = SENTENCE): boolean {
  if (FOOTER.test(paragraph)) return false
  return POSTSCRIPT.test(paragraph) || SPEAKS.test(paragraph) || sign.test(paragraph.replace(/\s+/g, ' '))
}

function hasText(lines: string[]): boolean {
  return lines.some((line) => !isSeparator(line))
}
