/** Characters of texts: how many there are, and which of them cannot be stored. Pure. */

/**
 * Counts characters as users do: a letter outside the first plane is one, although a JavaScript string has two for it.
 */
export function codePoints(text: string): number {
  let count = text.length
  // An iterator takes ten times as long, and a text may have eight million.
  for (let at = 1; at < text.length; at++) {
    if (!isPair(text, at - 1)) continue
    count--
    at++
  }
  return count
}

/** The first characters of a text, at most so many: a list does it for each row, which an iterator would slow down. */
export function firstCharacters(text: string, most: number): string {
  if (text.length <= most) return text
  let end = 0
  for (let left = most; left > 0; left--) end += isPair(text, end) ? 2 : 1
  return text.slice(0, end)
}

const HIGH = 0xd800
const LOW = 0xdc00

/** Tells if one character of two units begins at a place. */
function isPair(text: string, at: number): boolean {
  return isSurrogate(text, at, HIGH) && isSurrogate(text, at + 1, LOW)
}

function isSurrogate(text: string, at: number, kind: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === kind
}

/** True for text without NUL and lone surrogates: PostgreSQL cannot store the first, UTF-8 cannot write the second. */
export function isCleanText(value: string): boolean {
  return !value.includes('\u0000') && value.isWellFormed()
}

/** True for text without control characters, which can stand in one line of a header or a letter. */
export function isOneLine(text: string): boolean {
  return !/\p{Cc}/u.test(text)
}
