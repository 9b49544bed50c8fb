/** Knows which elements of HTML are kept and which are read, and drops tags that would hide or break the rest. Pure. */

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

/** Elements whose end tag may be left out or does not exist, so that their tags say nothing about depth. */
const SHALLOW = /^(?:area|base|br|col|dd|dt|hr|img|input|li|link|meta|option|p|param|source|td|th|tr|wbr)$/i

/** Deeper elements lose their tags but keep their text: parsers recurse or turn quadratic at tens of thousands of levels. */
const MAX_DEPTH = 200

/** Drops the tags of elements that are unknown or too deep, and of drawings that never end; their text stays. */
export function limitDepth(html: string): string {
  const endless = endlessDrawings(html)
  let depth = 0
  return html.replace(/<(\/?)([a-z][a-z0-9]*)\b[^<>]*>?/gi, (tag, slash: string, name: string, offset: number) => {
    if (endless.has(offset)) return ''
    // An element that is not kept must not decide where others end either: `<b<p>` is one element of that name.
    const next = tag[1 + slash.length + name.length]
    if (!KNOWN.has(name.toLowerCase()) || next === undefined || !/[\s/>]/.test(next)) return ''
    if (SHALLOW.test(name)) return tag
    const is_deep = slash ? depth > MAX_DEPTH : depth >= MAX_DEPTH
    depth = Math.max(0, depth + (slash ? -1 : 1))
    return is_deep ? '' : tag
  })
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
