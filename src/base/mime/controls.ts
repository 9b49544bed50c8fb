/** Drops characters that control a terminal or a printer, and that nobody can see. Pure. */

const CONTROLS = /[\0-\x08\x0b-\x1f\x7f-\x9f]/

/** Drops control characters but tabs and line feeds. CR LF, and a lone CR, is a line feed. */
export function dropControls(text: string): string {
  if (!CONTROLS.test(text)) return text
  return text.replace(/\r\n?/g, '\n').replace(new RegExp(CONTROLS, 'g'), '')
}
