/** Knows which elements of HTML are kept and which are read, and drops tags that would hide or break the rest. Pure. */
import { VOID } from './tag-names'

/** Elements that are kept. */
export const TAGS = [
  ...['a', 'abbr', 'address', 'article', 'aside', 'b', 'big', 'blockquote', 'br', 'caption', 'center', 'cite', 'code'],
  ...['col', 'colgroup', 'dd', 'del', 'div', 'dl', 'dt', 'em', 'figcaption', 'figure', 'font', 'footer', 'h1', 'h2'],
  ...['h3', 'h4', 'h5', 'h6', 'header', 'hr', 'i', 'img', 'ins', 'kbd', 'li', 'main', 'mark', 'nav', 'ol', 'p', 'pre'],
  ...['q', 's', 'samp', 'section', 'small', 'span', 'strike', 'strong', 'sub', 'sup', 'table', 'tbody', 'td', 'tfoot'],
  ...['th', 'thead', 'time', 'tr', 'tt', 'u', 'ul', 'var'],
]

/** Elements whose content is not text for people. */
export const UNREADABLE = ['script', 'style', 'textarea', 'option', 'title', 'template', 'iframe', 'svg', 'math']
const KNOWN = new Set([...TAGS, ...UNREADABLE])

const HEADINGS = ['h1', 'h2', 'h3', 'h4', 'h5', 'h6']
/** Elements that end a paragraph whose end tag is left out. */
const AFTER_PARAGRAPH = [
  ...[
    'address',
    'article',
    'aside',
    'blockquote',
    'div',
    'dl',
    'figcaption',
    'figure',
    'footer',
    'header',
    'hr',
    'main',
  ],
  ...['nav', 'ol', 'p', 'pre', 'section', 'table', 'ul'],
]

/**
 * Innermost elements that the start of each element ends: the rules of htmlparser2, which parses next.
 */
const ENDED_BY: Record<string, string[]> = {
  ...Object.fromEntries(AFTER_PARAGRAPH.map((name) => [name, ['p']])),
  ...Object.fromEntries(HEADINGS.map((name) => [name, [...HEADINGS, 'p']])),
  tr: ['tr', 'th', 'td'],
  th: ['th'],
  td: ['thead', 'th', 'td'],
  tbody: ['thead', 'tbody'],
  tfoot: ['thead', 'tbody'],
  a: ['a'],
  li: ['li'],
  dd: ['dd', 'dt'],
  dt: ['dd', 'dt'],
  option: ['option'],
}

/**
 * Deeper elements lose their tags but keep their text: parsers recurse or turn quadratic at tens of thousands of
 * levels.
 */
const MAX_DEPTH = 200

/** Drops the tags of elements that are unknown or too deep, and of drawings that never end; their text stays. */
export function limitDepth(html: string): string {
  const endless = endlessDrawings(html)
  const open = new OpenElements()
  return html.replace(/<(\/?)([a-z][a-z0-9]*)\b[^<>]*>?/gi, (tag, slash: string, name: string, offset: number) => {
    if (endless.has(offset)) return ''
    // An element that is not kept must not decide where others end either: `<b<p>` is one element of that name.
    const next = tag[1 + slash.length + name.length]
    const element = name.toLowerCase()
    if (!KNOWN.has(element) || next === undefined || !/[\s/>]/.test(next)) return ''
    return (slash ? open.end(element) : open.start(element)) ? tag : ''
  })
}

/** Follows which elements are open, including those whose end tag is left out. Each method says if the tag is kept. */
class OpenElements {
  #names: string[] = []
  /** The number of elements that were dropped since the depth last fell, by name: their end tags are dropped too. */
  #dropped = new Map<string, number>()

  start(name: string): boolean {
    const ended = ENDED_BY[name]
    while (ended?.includes(this.#names.at(-1) ?? '')) this.#close(this.#names.length - 1)
    // It adds nothing to the depth.
    if (VOID.has(name)) return true
    if (this.#names.length >= MAX_DEPTH) {
      this.#dropped.set(name, (this.#dropped.get(name) ?? 0) + 1)
      return false
    }
    this.#names.push(name)
    return true
  }

  end(name: string): boolean {
    const dropped = this.#dropped.get(name) ?? 0
    if (dropped > 0) {
      this.#dropped.set(name, dropped - 1)
      return false
    }
    const place = this.#names.lastIndexOf(name)
    if (place >= 0) this.#close(place)
    return true
  }

  #close(place: number): void {
    this.#names.length = place
    if (this.#dropped.size > 0) this.#dropped.clear()
  }
}

/** Finds the places of tags that begin a drawing or formula without an end: browsers show the text behind them. */
function endlessDrawings(html: string): Set<number> {
  const endless = new Set<number>()
  for (const name of ['svg', 'math']) {
    const open: number[] = []
    for (const { 0: tag, index } of html.matchAll(new RegExp(`</?${name}(?=[\\s/>])[^<>]*>?`, 'gi'))) {
      if (tag.startsWith('</')) open.pop()
      else if (tag.endsWith('/>')) endless.add(index)
      else open.push(index)
    }
    for (const index of open) endless.add(index)
  }
  return endless
}
