/** Makes file names safe: the one rule for files that come by email and files that are uploaded. Pure. */

const MAX_LENGTH = 255
const MAX_ENDING = 16

/** Marks that show a name in another order than it is written, to hide its ending. */
const DIRECTION_MARKS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/**
 * Makes a file name safe to store, show and offer: no path, no control characters, at most 255 characters, of which a
 * cut keeps the ending. '' when nothing is left, as of `..`.
 */
export function safeFileName(name: string): string {
  const clean = name.replace(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/gu, '').replace(DIRECTION_MARKS, '')
  const base = clean.split(/[/\\]/).at(-1)!.trim()
  if (/^\.*$/.test(base)) return ''
  const characters = [...base]
  if (characters.length <= MAX_LENGTH) return base
  const ending = new RegExp(`\\.[^.]{1,${MAX_ENDING}}$`, 'u').exec(base)?.[0] ?? ''
  return characters.slice(0, MAX_LENGTH - [...ending].length).join('') + ending
}
