/** Text as searches compare it, and as the database can hold it. */

/** Accents and points of alphabets; the vowel signs of other scripts are letters and stay. */
const ACCENTS = /[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u065f\u0670]/g

/** Letters whose other form or accent is not a matter of decomposition. */
const LETTERS: Record<string, string> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  ħ: 'h',
  ı: 'i',
  ς: 'σ',
}
const OTHER = new RegExp(`[${Object.keys(LETTERS).join('')}]`, 'g')

/** Lower case, compatibility forms unified (NFKC), without accents: what is equal here is found by a search. */
export function fold(text: string): string {
  if (isAscii(text)) return text.toLowerCase()
  return text
    .normalize('NFKD')
    .toLowerCase()
    .replace(ACCENTS, '')
    .replace(OTHER, (letter) => LETTERS[letter]!)
    .normalize('NFKC')
}

/**
 * Text of others as PostgreSQL can hold it, also within JSON: without NUL, and without halves of characters, which a
 * cut leaves too.
 */
export function storable(text: string, max_length = text.length): string {
  return text.slice(0, max_length).toWellFormed().replaceAll('\u0000', '\ufffd')
}

/** Most text is; it needs none of the work for other scripts. */
export function isAscii(text: string): boolean {
  return !/[^\0-\x7f]/.test(text)
}
