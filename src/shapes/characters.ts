/** Characters of texts: how many there are, and which of them cannot be stored. Pure. */

/** Counts characters as users do: a letter outside the first plane is one, although a JavaScript string has two for it. */
export function codePoints(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

/** True for text without NUL and lone surrogates: PostgreSQL cannot store the first, UTF-8 cannot write the second. */
export function isCleanText(value: string): boolean {
  return !value.includes('\u0000') && value.isWellFormed()
}
