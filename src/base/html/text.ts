/**
 * Writes sanitized HTML as plain text. Pure, and linear in the length.
 *
 * Own code because html-to-text recurses over the depth and copies every line once for each list or quote around it: a
 * megabyte in 190 quotes takes it 16 seconds. The test is "a body of a million characters of %s is rendered" in
 * message-body.test.ts.
 */

/** Blocks that an empty line separates from their neighbours, and blocks that only begin a new line. */
const PARAGRAPHS = new Set(['p', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'dl', 'table', 'pre', 'blockquote'])
const LINES = new Set([
  ...['div', 'li', 'dt', 'dd', 'tr', 'caption', 'address', 'article', 'aside', 'section', 'header', 'footer', 'main'],
  ...['nav', 'figure', 'figcaption', 'center', 'hr', 'br'],
])

const PRE_STYLE = / style="[^"]*white-space:\s*pre/
const VOID = new Set(['br', 'col', 'hr', 'img'])

/** Deeper quotes and lists get no more marks, which would multiply the text. */
const MAX_LEVELS = 8

/** Words of invisible characters, with which newsletters fill the preview line of mailboxes, and soft hyphens. */
const INVISIBLE = /\u00ad|(?:^|\s)[\u034f\u180e\u200b-\u200f\u2060-\u2064\u2800\u3164\uffa0]+(?=\s|$)/g

/** White space that is not one space alone. Replacing that too would take longer than all else. */
export const SPACES = /\s{2,}|[^\S ]/g

type Writer = {
  pieces: string[]
  /** Line breaks that are due before the next text. */
  breaks: number
  needs_space: boolean
  /** The number of open elements, and at which of them white space began to count; 0 while it does not count. */
  depth: number
  preformatted: number
  quotes: number
  /** The quotes around the line before: an empty line between two lines has the quotes of both. */
  last_quotes: number
  /** One for each open list: the number of its last item, or null for bullets. */
  lists: (number | null)[]
  marker: string
  /** One for each open row of a table. */
  rows: Row[]
  links: { href: string; start: number }[]
}

/**
 * A row of a table is one line as long as each of its cells is one: blocks in such cells begin no line.
 * `start` is the place of the last cell, -1 before the first.
 */
type Row = { start: number; has_lines: boolean; joins: boolean }

/**
 * Writes HTML as text. The HTML must be as the sanitizer writes it: balanced, attributes in double quotes, special
 * characters escaped. Quotes get `> `, items `* ` or a number, links their address where it is not the text, images
 * their alternative text.
 */
export function safeHtmlToText(html: string): string {
  const writer: Writer = {
    pieces: [],
    breaks: 0,
    needs_space: false,
    depth: 0,
    preformatted: 0,
    quotes: 0,
    last_quotes: 0,
    lists: [],
    marker: '',
    rows: [],
    links: [],
  }
  for (const [token, slash, name, attributes] of html.matchAll(/<(\/?)([a-z][a-z0-9]*)([^>]*)>|[^<]+|</g)) {
    if (name === undefined) writeText(writer, unescapeHtml(token))
    else if (slash) closeTag(writer, name)
    else openTag(writer, name, attributes ?? '')
  }
  const lines = writer.pieces.join('').split('\n')
  return lines.map((line) => line.trimEnd()).join('\n')
}

function openTag(writer: Writer, name: string, attributes: string): void {
  breakLine(writer, name)
  if (!VOID.has(name)) writer.depth += 1
  if (writer.preformatted === 0 && (name === 'pre' || PRE_STYLE.test(attributes))) writer.preformatted = writer.depth
  if (name === 'blockquote') writer.quotes += 1
  else if (name === 'ul') writer.lists.push(null)
  else if (name === 'ol') writer.lists.push(Number(attribute(attributes, 'start') || 1) - 1)
  else if (name === 'li') writer.marker = nextMarker(writer)
  else if (name === 'tr') writer.rows.push({ start: -1, has_lines: false, joins: false })
  else if (name === 'td' || name === 'th') openCell(writer)
  else if (name === 'img') writeText(writer, attribute(attributes, 'alt'))
  else if (name === 'hr') writeText(writer, '---')
  else if (name === 'a') writer.links.push({ href: attribute(attributes, 'href'), start: writer.pieces.length })
  if (name === 'hr') breakLine(writer, name)
}

function closeTag(writer: Writer, name: string): void {
  if (name === 'a') closeLink(writer)
  else if (name === 'ul' || name === 'ol') writer.lists.pop()
  else if (name === 'tr') writer.rows.pop()
  breakLine(writer, name)
  if (name === 'blockquote') writer.quotes -= 1
  if (writer.preformatted === writer.depth) writer.preformatted = 0
  if (!VOID.has(name)) writer.depth -= 1
}

function openCell(writer: Writer): void {
  const row = writer.rows.at(-1)
  writer.needs_space = true
  if (!row) return
  if (row.has_lines) writer.breaks = Math.max(writer.breaks, 1)
  else if (row.start >= 0) writer.breaks = 0
  Object.assign(row, { start: writer.pieces.length, joins: row.start >= 0 && !row.has_lines, has_lines: false })
}

function closeLink(writer: Writer): void {
  const link = writer.links.pop()
  if (!link?.href) return
  const address = link.href.replace(/^(?:mailto|tel):([^?]*).*$/is, '$1')
  const shown = writer.pieces
    .slice(link.start, link.start + 20)
    .join('')
    .trim()
  if (shown === '' || address.replace(/\/$/, '').endsWith(shown.replace(/\/$/, ''))) return
  writer.needs_space = true
  writeText(writer, `<${address}>`)
}

function breakLine(writer: Writer, name: string): void {
  if (writer.rows.at(-1)?.joins) return
  // A list within a list follows its item without an empty line.
  const is_inner = (name === 'ul' || name === 'ol') && writer.lists.length > 0
  if (PARAGRAPHS.has(name) && !is_inner) writer.breaks = Math.max(writer.breaks, 2)
  else if (name === 'br') writer.breaks += 1
  else if (LINES.has(name) || is_inner) writer.breaks = Math.max(writer.breaks, 1)
}

function writeText(writer: Writer, text: string): void {
  if (writer.preformatted > 0) {
    for (const [index, line] of text.split(/\r?\n/).entries()) {
      if (index > 0) writer.breaks += 1
      if (line !== '') write(writer, line)
    }
    return
  }
  const words = text.replace(INVISIBLE, '').replace(SPACES, ' ')
  if (words.startsWith(' ')) writer.needs_space = true
  if (words.trim() !== '') write(writer, words.trim())
  if (words.endsWith(' ')) writer.needs_space = true
}

function write(writer: Writer, text: string): void {
  const { pieces, breaks, marker } = writer
  for (const row of writer.rows) {
    if (breaks > 0 && row.start >= 0 && pieces.length > row.start) row.has_lines = true
    row.joins = false
  }
  if (pieces.length === 0 || breaks > 0) {
    const shared = '> '.repeat(Math.min(writer.quotes, writer.last_quotes, MAX_LEVELS))
    if (pieces.length > 0) pieces.push(`\n${shared}`.repeat(Math.min(breaks, 3) - 1), '\n')
    pieces.push('> '.repeat(Math.min(writer.quotes, MAX_LEVELS)))
    // Further lines of an item stand below its beginning.
    const levels = marker ? writer.lists.length - 1 : writer.lists.length
    pieces.push('  '.repeat(Math.min(Math.max(0, levels), MAX_LEVELS)))
  } else if (writer.needs_space) {
    pieces.push(' ')
  }
  pieces.push(marker, text)
  writer.breaks = 0
  writer.last_quotes = writer.quotes
  writer.needs_space = false
  writer.marker = ''
}

function nextMarker(writer: Writer): string {
  const last = writer.lists.at(-1)
  if (last === undefined || last === null) return '* '
  writer.lists[writer.lists.length - 1] = last + 1
  return `${last + 1}. `
}

function attribute(attributes: string, name: string): string {
  return unescapeHtml(new RegExp(` ${name}="([^"]*)"`).exec(attributes)?.[1] ?? '')
}

/** Writes text for HTML, outside of tags and in attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;')
}

/** Undoes what `escapeHtml` writes. */
export function unescapeHtml(text: string): string {
  if (!text.includes('&')) return text
  return text
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&amp;/g, '&')
}
