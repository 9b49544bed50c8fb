/** Compares texts that mail systems have wrapped anew, and to which lists add words. Pure. */

/** True when the texts differ only in white space. */
export function isSameText(one: string, other: string): boolean {
  return withoutSpace(one) === withoutSpace(other)
}

/** True when a text has all words of another one in a row; false when that one has no words. */
export function holdsText(whole: string, part: string): boolean {
  const words = inOneLine(part)
  return words !== '' && ` ${inOneLine(whole)} `.includes(` ${words} `)
}

function withoutSpace(text: string): string {
  return text.replace(/\s+/g, '')
}

function inOneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
