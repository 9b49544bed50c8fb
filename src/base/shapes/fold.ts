/** Folds text for comparison in searches, and makes text that the database can hold. Pure. */

/** Accents and points of alphabets. The vowel signs of other scripts are letters and stay. */
const ACCENTS = /[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u065f\u0670]/g

/** Letters that Unicode does not decompose into a plain letter and an accent. */
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

/**
 * Lower case, compatibility forms unified (NFKC), without accents. A search finds texts that are equal in this form.
 */
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
 * Foreign text as PostgreSQL can hold it, also within JSON: without NUL and without halves of characters.
 * @param max_length in UTF-16 units; the cut may go through a character, and its half is replaced
 */
export function storable(text: string, max_length = text.length): string {
  return text.slice(0, max_length).toWellFormed().replaceAll('\u0000', '\ufffd')
}

/** True for most text, which needs none of the work for other scripts. */
export function isAscii(text: string): boolean {
  return !/[^\0-\x7f]/.test(text)
}

/** Text as a part of a pattern of LIKE that stands for itself. */
export function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}
