/**
 * Makes words of strangers fit for a line of a terminal: what could move its cursor, or turn the text around, becomes
 * `?`.
 * @param most characters that are kept
 */
export function plainLine(text: string, most: number): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?').slice(0, most)
}
