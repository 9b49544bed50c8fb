/**
 * Joins the lines of text that flows (RFC 3676). Pure, and linear in the length of the text.
 *
 * Own code because libmime 5.4 and postal-mime 4.0 join quoted lines with lines that are not quoted, so that an answer
 * reads as part of the quote above it: "%s are joined as far as they belong together" in mail-parse-flowed.test.ts.
 */

type Line = { depth: number; content: string }

const SIGNATURE = '-- '

/**
 * Writes each paragraph on one line.
 * @param text lines that end with LF
 * @param ends `drop` the space at the end of a line that goes on: it is there only to make the line flow (DelSp=yes)
 */
export function joinFlowed(text: string, ends: 'keep' | 'drop'): string {
  const paragraphs: string[] = []
  let pieces: string[] = []
  let open: Line | null = null
  for (const line of text.split('\n').map(readLine)) {
    // An empty line is meant as one, also where the line before it ends with a space.
    const is_continued = open !== null && open.depth === line.depth && line.content !== '' && line.content !== SIGNATURE
    if (!is_continued && pieces.length > 0) paragraphs.push(pieces.join(''))
    if (!is_continued) pieces = [mark(line)]
    const is_open = line.content.endsWith(' ') && line.content !== SIGNATURE
    pieces.push(is_open && ends === 'drop' ? line.content.slice(0, -1) : line.content)
    open = is_open ? line : null
  }
  return [...paragraphs, pieces.join('')].join('\n')
}

/** Counts the quote marks. A space behind them, or at the beginning, was put there to be removed (section 4.4). */
function readLine(line: string): Line {
  let depth = 0
  while (line[depth] === '>') depth += 1
  return { depth, content: line.slice(line[depth] === ' ' ? depth + 1 : depth) }
}

function mark({ depth, content }: Line): string {
  return '>'.repeat(depth) + (depth > 0 && content !== '' ? ' ' : '')
}
