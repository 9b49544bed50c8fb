/** Finds mail whose words are there and whose HTML shows none of them. Pure, and linear in the length. */
import { safeHtmlToText } from '../../base/html/text'

/** A word, or a character of a script without blanks between words. */
const WORD = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[\p{L}\p{N}\p{M}]+/gu
/** A word that is long enough to tell something, and how many of them are looked for first. */
const LONG_WORD = /[\p{L}\p{N}]{4,40}/gu
const FIRST = 3

/** True when the HTML shows none of the words of a text. */
export function isUnseen(text: string, body_html: string): boolean {
  const first = text.slice(0, 1000).match(LONG_WORD) ?? []
  if (first.slice(0, FIRST).some((word) => showsWord(body_html, word))) return false
  const words = wordSet(text)
  return words.size > 0 && !shares(words, safeHtmlToText(body_html))
}

/** True when the HTML says as much as a text: the text may only tell where to find it. */
export function saysAsMuch(text: string, body_html: string): boolean {
  return wordSet(safeHtmlToText(body_html)).size >= wordSet(text).size
}

/** True when safe HTML has a word outside of its tags, as far as that is seen at once. */
function showsWord(body_html: string, word: string): boolean {
  const place = body_html.indexOf(word)
  if (place < 0 || isLetter(body_html[place - 1]) || isLetter(body_html[place + word.length])) return false
  return body_html.lastIndexOf('<', place) <= body_html.lastIndexOf('>', place)
}

function isLetter(character = ''): boolean {
  return /[\p{L}\p{N}\p{M}]/u.test(character)
}

function shares(words: Set<string>, shown: string): boolean {
  if (words.size === 0) return false
  return shown.matchAll(WORD).some(([word]) => words.has(word.toLowerCase()))
}

function wordSet(text: string): Set<string> {
  return new Set(text.toLowerCase().match(WORD))
}
