/** Line ends in bytes. */

export const CR = 0x0d
export const LF = 0x0a

/** Gives the position behind the line break of the line at `position`; the end of the bytes for the last line. */
export function endOfLine(bytes: Buffer, position: number): number {
  const newline = bytes.indexOf(LF, position)
  return newline < 0 ? bytes.length : newline + 1
}
