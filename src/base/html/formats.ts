/** Tells which of two forms a text has, `text` or `html`, when its writer or its row does not say it. Pure. */
import { TAGS } from './elements'
import { isTagName, VOID } from './tag-names'
import { unescapeHtml } from './text'

export type Format = 'text' | 'html'

const KEPT = new Set(TAGS)
/** Elements whose end tag may be left out, and void ones. */
const NEEDS_NO_END = new Set([...VOID, 'p', 'li', 'dt', 'dd', 'tr', 'td', 'th', 'thead', 'tbody'])

/** A sign that may begin a tag, a comment or a doctype. */
const SIGN = /<(?=[a-z/!])/gi
const DOCTYPE = /<!doctype\b[^<>]*>/iy
const NAME = /<(\/?)([a-z][^\s/<>]*)/iy
const ATTRIBUTE = /[\s/]*[^\s/<>="']+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'<>]+))?/y
const END = /\s*\/?>/y

/**
 * Tells the form of a body whose writer did not say it: HTML only when it shows an element that is kept, and when every
 * sign that could begin a tag does, of an element that ends. A text about HTML or with comparisons is text.
 */
export function formOf(body: string): Format {
  const open = new Map<string, number>()
  let shows_element = false
  SIGN.lastIndex = 0
  for (let sign = SIGN.exec(body); sign; sign = SIGN.exec(body)) {
    const tag = readTag(body, sign.index)
    if (!tag) return 'text'
    SIGN.lastIndex = tag.end
    if (tag.name === '') continue
    const opened = (open.get(tag.name) ?? 0) + (tag.is_end ? -1 : 1)
    if (opened < 0) return 'text'
    open.set(tag.name, opened)
    if (!tag.is_end && KEPT.has(tag.name)) shows_element = true
  }
  const all_end = open.entries().every(([name, count]) => count === 0 || NEEDS_NO_END.has(name))
  return shows_element && all_end ? 'html' : 'text'
}

type Tag = { name: string; is_end: boolean; end: number }

/** Reads the tag, comment or doctype at a place. The last two have no name. @returns undefined for any other text */
function readTag(html: string, place: number): Tag | undefined {
  if (html.startsWith('<!--', place)) {
    const end = html.indexOf('-->', place + 2)
    return end < 0 ? undefined : { name: '', is_end: false, end: end + 3 }
  }
  const doctype = matchAt(DOCTYPE, html, place)
  if (doctype) return { name: '', is_end: false, end: place + doctype[0].length }
  const [start, slash, name = ''] = matchAt(NAME, html, place) ?? []
  if (start === undefined) return undefined
  let end = place + start.length
  for (let one = slash ? null : matchAt(ATTRIBUTE, html, end); one; one = matchAt(ATTRIBUTE, html, end)) {
    end += one[0].length
  }
  const last = matchAt(END, html, end)
  return last ? { name: name.toLowerCase(), is_end: slash !== '', end: end + last[0].length } : undefined
}

function matchAt(pattern: RegExp, text: string, place: number): RegExpExecArray | null {
  pattern.lastIndex = place
  return pattern.exec(text)
}

/**
 * The form of a text that may be missing, such as that of a macro.
 * @param said by its writer; null in a row that a release without formats wrote
 */
export function formOfText(text: string | null, said: Format | null | undefined): Format | null {
  return text === null ? null : (said ?? formOf(text))
}

/**
 * A sign that begins a tag, with its name, or what parsers drop like a comment, such as `</3`, `<?php` and `<!x>`. It
 * begins no comment or doctype, nor what Office writes.
 */
const STRANGE = /<(?=\/?([a-z][^\s/>]{0,30})|\/|\?(?!xml)|!(?!--|doctype|\[))/gi

/** Shows tags with an unknown name, or none, as text: an address, a type, a placeholder, a broken heart. */
export function showStrangeTags(html: string): string {
  return html.replace(STRANGE, (sign, name = '') => (isTagName(name) ? sign : '&lt;'))
}

/** All tags that `textToHtml` and `textToPre` write. */
const OF_TEXT = /<(?:br|\/a|a href="[^"]*" rel="[^"]*" target="[^"]*"|div style="white-space: pre-wrap"|\/div)>/g

/** Tells the form of a row. One of a release without formats has null: it is text when its HTML is that of a text. */
export function formOfRow({
  format,
  body,
  body_html,
}: {
  format: Format | null
  body: string
  body_html: string
}): Format {
  if (format) return format
  const shown = body_html.replace(OF_TEXT, '')
  return !shown.includes('<') && unescapeHtml(shown) === body.replace(/\r\n?/g, '\n') ? 'text' : 'html'
}
