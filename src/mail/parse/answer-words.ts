/** Takes the words of an answer out of a mail, for those who get it from us. Pure. */
import { textToHtml } from '../../base/html/body'
import { safeHtmlToText } from '../../base/html/text'
import type { ParsedMail } from './parse'
import { ownText, replyText } from './reply-text'

/** The new words of a mail. */
export type Answer = {
  /** Null for an answer in HTML: then it is `body_html`. */
  body: string | null
  /** Images of the message itself still have `cid:` addresses. */
  body_html: string
  text: string
  /** False when all of its text is quoted. */
  has_words: boolean
}

export type AnsweringMail = Pick<ParsedMail, 'text' | 'body_html' | 'reply_text'>

/**
 * The words of an answer: as HTML when nothing is quoted below them in either form, else their text. A quotation may
 * hold what members wrote to each other, and is not for the customer.
 */
export function answerOf({ text: whole, body_html, reply_text }: AnsweringMail): Answer {
  const trimmed = whole.trim()
  // Mail without the signs of an answer was read as a first mail, of which less is cut.
  const text = replyText(reply_text ?? trimmed)
  const has_words = reply_text === null || ownText(reply_text) !== ''
  if (squeeze(text) !== squeeze(trimmed) || hasQuotation(body_html)) {
    return { body: text, body_html: textToHtml(text), text, has_words }
  }
  return body_html === textToHtml(whole)
    ? { body: trimmed, body_html: textToHtml(trimmed), text, has_words }
    : { body: null, body_html, text, has_words }
}

function hasQuotation(body_html: string): boolean {
  const page = safeHtmlToText(body_html)
  return squeeze(ownText(page)) !== squeeze(page)
}

function squeeze(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
