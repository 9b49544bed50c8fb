/**
 * Keeps the end of a long HTML mail as text. Mail programs show about as much as is rendered here (Gmail 102 kB), and
 * the sanitizer takes 80 microseconds for a kilobyte: eight times as long as reading its words. Pure.
 */
import { Parser } from 'htmlparser2'
import { limitDepth, UNREADABLE } from './elements'
import { SPACES } from './text'
import { WorkLimit } from './work-limit'

/** Characters of HTML that are rendered, at least. */
const RENDERED = 100_000
/** Start of an element that begins a new line. */
const NEXT_LINE = /<(?:p|div|table|tr|ul|ol|li|br|hr|h[1-6]|blockquote)[\s/>]/gi
/** Separates the words of an element from those around it. */
const BREAKS = new Map<string, string>([
  ...['p', 'div', 'table', 'tr', 'ul', 'ol', 'li', 'br', 'hr', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map(asLine),
  ...['blockquote', 'pre', 'dl', 'dt', 'dd', 'section', 'article', 'header', 'footer', 'center'].map(asLine),
  ...['td', 'th'].map((name): [string, string] => [name, ' ']),
])
const IS_UNREADABLE = new Set(UNREADABLE)
const IMAGE = /<img\b[^<>]*?\bsrc\s{0,9}=\s{0,9}["']?([^"'\s>]{1,2000})/gi
/** The end must not begin inside one of these. */
const RANGES = [['<!--', '-->'], ...UNREADABLE.map((name) => [`<${name}`, `</${name}`])] as [string, string][]

/**
 * Divides the HTML of a mail into what is rendered and its end, which is empty when all is rendered: HTML that is not
 * long, or whose end begins within a comment or the like, or shows an image that the mail holds itself.
 * @param holdsImage tells if the mail has the image of an address other than `cid:` and `data:`
 */
export function divideLong(html: string, holdsImage: (src: string) => boolean): { head: string; end: string } {
  if (html.length <= RENDERED) return { head: html, end: '' }
  NEXT_LINE.lastIndex = RENDERED
  const place = NEXT_LINE.exec(html)?.index ?? html.length
  const [head, end] = [html.slice(0, place), html.slice(place)]
  const written = head.toLowerCase()
  // A search for the last place is 30 times as slow as one that tells whether there is any.
  const is_within = RANGES.some(
    ([from, to]) => written.includes(from) && written.lastIndexOf(from) > written.lastIndexOf(to),
  )
  const images = end.matchAll(IMAGE)
  const has_own = images.some(([, src = '']) => /^(?:cid|data):/i.test(src) || holdsImage(src))
  return is_within || has_own ? { head: html, end: '' } : { head, end }
}

/**
 * Writes any HTML as text, with the addresses of links and the words for images.
 * @throws TooDeep
 */
export function wordsOfHtml(html: string): string {
  const pieces: string[] = []
  const links: { href: string; from: number }[] = []
  const limit = new WorkLimit()
  let unread = 0
  const parser = new Parser({
    onopentag(name, { href = '', alt = '' }) {
      limit.open()
      if (IS_UNREADABLE.has(name)) unread += 1
      if (name === 'a') links.push({ href, from: pieces.length })
      if (unread === 0) pieces.push(BREAKS.get(name) ?? '', alt)
    },
    ontext(text) {
      if (unread === 0) pieces.push(text.replace(SPACES, ' '))
    },
    onclosetag(name) {
      limit.close()
      if (IS_UNREADABLE.has(name)) unread -= 1
      const link = name === 'a' ? links.pop() : undefined
      if (unread > 0 || name === 'br') return
      if (link) pieces.push(addressOf(link.href, pieces.slice(link.from, link.from + 20)))
      pieces.push(BREAKS.get(name) ?? '')
    },
  })
  parser.end(limitDepth(html))
  return joinLines(pieces.join('').split('\n'))
}

function asLine(name: string): [string, string] {
  return [name, '\n']
}

/** The address of a link, unless it is shown already. */
function addressOf(href: string, shown: string[]): string {
  const address = /^\s*(?:mailto:|tel:|(?=https?:))([^\s]+)/i.exec(href)?.[1]
  return address === undefined || shown.join('').includes(address) ? '' : ` <${address}>`
}

function joinLines(lines: string[]): string {
  return lines
    .map((line) => line.replace(SPACES, ' ').trim())
    .filter((line, index, all) => line !== '' || all[index - 1] !== '')
    .join('\n')
    .trim()
}
