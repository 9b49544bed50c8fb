/**
 * Text whose lines flow (RFC 3676). Not libmime's: it joins what is quoted with what is not, so that an answer reads as
 * part of the quote above it. Pure, and linear in the length of the text.
 */

type Line = { depth: number; content: string }

const SIGNATURE = '-- '

/**
 * The text with each paragraph on one line.
 * @param text lines that end with LF
 * @param del_sp whether the space at the end of a line is only there to make it flow
 */
export function joinFlowed(text: string, del_sp: boolean): string {
  const paragraphs: string[] = []
  let pieces: string[] = []
  let open: Line | null = null
  for (const line of text.split('\n').map(readLine)) {
    // An empty line is meant as one, also where the line before it ends with a space.
    const goesOn = open !== null && open.depth === line.depth && line.content !== '' && line.content !== SIGNATURE
    if (!goesOn && pieces.length > 0) paragraphs.push(pieces.join(''))
    if (!goesOn) pieces = [mark(line)]
    const flows = line.content.endsWith(' ') && line.content !== SIGNATURE
    pieces.push(flows && del_sp ? line.content.slice(0, -1) : line.content)
    open = flows ? line : null
  }
  return [...paragraphs, pieces.join('')].join('\n')
}

/** Quote marks are counted; a space behind them, or at the beginning, was put there to be removed (section 4.4). */
function readLine(line: string): Line {
  let depth = 0
  while (line[depth] === '>') depth += 1
  return { depth, content: line.slice(line[depth] === ' ' ? depth + 1 : depth) }
}

function mark({ depth, content }: Line): string {
  return '>'.repeat(depth) + (depth > 0 && content !== '' ? ' ' : '')
}
