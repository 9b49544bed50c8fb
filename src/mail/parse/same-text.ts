/** Compares texts that mail systems have wrapped anew, and to which lists add words. Pure, and linear in the length. */
import { safeHtmlToText } from '../../base/html/text'
import { ownText } from './reply-text'

/** A mail that may be one of ours that has come back. */
export type Returning = {
  text: string
  /** It came by a list, or by a forwarder that keeps our From: they add words to it. */
  may_have_more: boolean
  /** The HTML that we sent. */
  sent: string[]
}

/** True when a mail has a text that we sent. Who quotes it answers it, and writes words of their own. */
export function isCopy({ text, may_have_more, sent }: Returning): boolean {
  return sent.some((html) => {
    const ours = safeHtmlToText(html)
    if (withoutSpace(text) === withoutSpace(ours)) return true
    return may_have_more && holdsText(text, ours) && holdsText(ownText(text), ownText(ours))
  })
}

/** True when one of the texts has all words of the other in a row; false when that one has no words. */
export function areWithin(one: string, other: string): boolean {
  const [shorter, longer] = [inOneLine(one), inOneLine(other)].sort((a, b) => a.length - b.length)
  return holdsWords(longer!, shorter!)
}

/** True when a text has all words of another one in a row; false when that one has no words. */
function holdsText(whole: string, part: string): boolean {
  return holdsWords(inOneLine(whole), inOneLine(part))
}

/** Compares bytes: looking for a text within a text takes the product of their lengths, such as minutes. */
function holdsWords(whole: string, words: string): boolean {
  return words !== '' && Buffer.from(` ${whole} `).includes(` ${words} `)
}

function withoutSpace(text: string): string {
  return text.replace(/\s+/g, '')
}

function inOneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
