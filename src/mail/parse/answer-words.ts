/** Takes the words of an answer out of a mail, for those who get it from us. Pure. */
import { textToHtml } from '../../base/html/body'
import type { Format } from '../../base/html/formats'
import { safeHtmlToText } from '../../base/html/text'
import type { ParsedMail } from './parse'
import { ownText, type Quotes, replyText } from './reply-text'

/** The new words of a mail. */
export type Answer = {
  /** Null for an answer in HTML: then it is `body_html`. */
  body: string | null
  format: Format
  /** Images of the message itself still have `cid:` addresses. */
  body_html: string
  text: string
  /** False when all of its text is quoted. */
  has_words: boolean
}

export type AnsweringMail = Pick<ParsedMail, 'text' | 'format' | 'body_html' | 'reply_text' | 'quotes'>

/**
 * The words of an answer: as HTML when nothing is quoted below them in either form, else their text. A quotation may
 * hold what members wrote to each other, and is not for the customer.
 */
export function answerOf({ text: whole, format, body_html, reply_text, quotes }: AnsweringMail): Answer {
  const trimmed = whole.trim()
  // Mail without the signs of an answer was read as a first mail, of which less is cut.
  const text = replyText(reply_text ?? trimmed, 'answer', quotes)
  const has_words = reply_text === null || ownText(reply_text, 'answer', quotes) !== ''
  if (squeeze(text) !== squeeze(trimmed) || hasQuotation(body_html, quotes)) {
    return { body: text, format: 'text', body_html: textToHtml(text), text, has_words }
  }
  return format === 'text'
    ? { body: trimmed, format, body_html: textToHtml(trimmed), text, has_words }
    : { body: null, format, body_html, text, has_words }
}

function hasQuotation(body_html: string, quotes: Quotes): boolean {
  const page = safeHtmlToText(body_html)
  return squeeze(ownText(page, 'answer', quotes)) !== squeeze(page)
}

function squeeze(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
