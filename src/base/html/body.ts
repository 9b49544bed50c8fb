/** Renders message bodies: plain text or HTML in, safe HTML and plain text out. Pure. */
import { LinkifyIt } from 'linkify-it'
import sanitizeHtml, { type IOptions } from 'sanitize-html'
import { showBackgrounds } from './backgrounds'
import { dropHidingColors } from './colors'
import { limitDepth, TAGS, UNREADABLE } from './elements'
import { type Format, formOf, showStrangeTags } from './formats'
import { withoutHidden } from './hidden'
import { contentIdAt, placeSafeImages } from './image-addresses'
import { divideLong, wordsOfHtml } from './long-mail'
import { styleReader } from './styles'
import { escapeHtml, safeHtmlToText } from './text'
import { TooDeep, WorkLimit } from './work-limit'

/** Characters of a body that takes so long to render that other requests would wait: up to 1.5 µs each. */
const LONG = 10_000
/** Characters of HTML that are kept of a body, whatever it holds: escaped quotes alone would be six million. */
const MAX_HTML = 2_000_000

/**
 * A body as it is shown, with the form that it was read in.
 *
 * `body_html` runs nothing, and loads nothing but the https images that its author put into
 * `src`; `view.ts` turns it into what a page shows.
 */
export type RenderedBody = { format: Format; body_html: string; text: string }

/** True for a body that is rendered beside the service (`render.ts`). */
export function isLong(body: string): boolean {
  return body.length > LONG
}

const MAX_LINK_LENGTH = 2048
/** Further addresses stay text: a megabyte of addresses would be twelve megabytes of links. */
const MAX_LINKS = 5000

const linkify = new LinkifyIt().set({ fuzzyLink: false, fuzzyEmail: true })

/**
 * Renders a body that somebody wrote here, in the form that its writer said, else in the one that it seems to have. The
 * time is linear in the length, whatever the input.
 */
export function renderBody(body: string, format: Format = formOf(body)): RenderedBody {
  if (format === 'text') {
    const text = body.replace(/\r\n?/g, '\n')
    return { format, body_html: limitHtml(textToHtml(text), text), text }
  }
  const body_html = sanitize(showStrangeTags(body), writtenImage)
  const text = safeHtmlToText(body_html)
  return { format, body_html: limitHtml(body_html, text), text }
}

/**
 * Gives HTML that is too large as its plain text. Text that is too large even so, nearly all of it escaped characters,
 * is cut and says so: all of it is in the plain text of the message.
 */
export function limitHtml(html: string, text: string): string {
  if (html.length <= MAX_HTML) return html
  const plain = textToPre(text)
  if (plain.length <= MAX_HTML) return plain
  // An escaped character has at most five.
  const start = text.slice(0, MAX_HTML / 5 - 100).replace(/[\ud800-\udbff]$/, '')
  return `${textToPre(start)}\n<p>[The rest is in the plain text of this message]</p>`
}

/** Writes plain text as HTML with few characters more: no links, and line breaks as they are. */
export function textToPre(text: string): string {
  const escaped = text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
  return `<div style="white-space: pre-wrap">${escaped}</div>`
}

/**
 * Makes the HTML of an email safe; the end of a long one becomes text. No image loads: the address of each is in
 * `data-src`. Images of the message itself get a `cid:` address until `embedImages` knows where they are stored,
 * because mail is parsed before that. What is hidden is left out, unless nothing else is there.
 * @param idOf gives the id of the image of the message that has an address other than `cid:`; null for all others
 */
export function sanitizeEmailHtml(html: string, idOf: IdOf = () => null): string {
  const visible = withoutHidden(html)
  const shown = sanitizeVisible(visible, idOf)
  if ((visible === html && !TEXT_FIELD.test(html)) || !isEmpty(shown)) return shown
  return sanitizeVisible(html.replace(TEXT_FIELD, '<$1pre'), idOf)
}

/** Holds text that only its reader would send. */
const TEXT_FIELD = /<(\/?)textarea\b/gi

function isEmpty(body_html: string): boolean {
  return showsNothing({ format: 'html', body_html, text: safeHtmlToText(body_html) })
}

function sanitizeVisible(html: string, idOf: IdOf): string {
  const { head, end } = divideLong(showBackgrounds(showStrangeTags(html), idOf), (src) => idOf(src) !== null)
  const shown = sanitize(head, (image) => mailedImage(image, idOf))
  return end === '' ? shown : shown + textToPre(unlessTooDeep(end, wordsOfHtml, withoutTags))
}

/**
 * Replaces the `cid:` addresses that `sanitizeEmailHtml` leaves.
 * @param address gives the address of the attachment with a Content-ID; undefined leaves it as it is
 */
export function embedImages(safe_html: string, address: (content_id: string) => string | undefined): string {
  return placeSafeImages(safe_html, (src) => {
    const content_id = contentIdAt(src)
    const place = content_id === undefined ? undefined : address(content_id)
    return place === undefined ? undefined : { 'data-src': place }
  })
}

/** Leaves out the images of an email whose `cid:` address names nothing. */
export function dropUnknownImages(safe_html: string): string {
  return safe_html.replace(/<img data-src="cid:[^"]*"[^>]*>/g, '')
}

/** Writes HTML as text: without styles and scripts, headings as they are, with the text after `</body>`. */
export function htmlToText(html: string): string {
  return safeHtmlToText(sanitizeEmailHtml(html))
}

/** True when a rendered body shows nothing: white space, characters of no width, neither text nor image. */
export function showsNothing({ format, body_html, text }: RenderedBody): boolean {
  const words = format === 'html' ? text.replace(/&(?:nbsp|zwnj|zwj|#160|#xa0|#8203|#x200b);/gi, '') : text
  return hasNoText(words) && !/<img [^>]*src=/.test(body_html)
}

function hasNoText(text: string): boolean {
  return text.replace(/\s|\p{C}|\u034f|\u115f|\u1160|\u17b4|\u17b5|\u2800|\u3164|\uffa0/gu, '') === ''
}

/** Writes plain text as HTML: escaped, line breaks kept, links made. */
export function textToHtml(text: string): string {
  const lines = text.replace(/\r\n?/g, '\n')
  let result = ''
  let position = 0
  let links = 0
  for (const { index } of lines.matchAll(LINK_SIGN)) {
    // In the word before.
    if (index < position) continue
    links += 1
    if (links > MAX_LINKS) break
    let start = index
    while (start > position && !/\s/.test(lines[start - 1] ?? '')) start -= 1
    const word = /^\S+/.exec(lines.slice(start))?.[0] ?? ''
    result += linesToHtml(lines.slice(position, start)) + linkWord(word)
    position = start + word.length
  }
  return result + linesToHtml(lines.slice(position))
}

const LINK_SIGN = /:\/\/|@/g

function linesToHtml(lines: string): string {
  return escapeHtml(lines).replaceAll('\n', '<br>\n')
}

/** Makes the links of a word of limited length, because link detection is quadratic in a run without white space. */
function linkWord(word: string): string {
  if (word.length > MAX_LINK_LENGTH || (word.match(/xn--/gi)?.length ?? 0) > 8) return escapeHtml(word)
  let result = ''
  let position = 0
  for (const link of linkify.match(word) ?? []) {
    if (!isSafeLink(link.url)) continue
    const attributes = `href="${escapeHtml(link.url)}" rel="noopener noreferrer nofollow" target="_blank"`
    result += `${escapeHtml(word.slice(position, link.index))}<a ${attributes}>${escapeHtml(link.text)}</a>`
    position = link.lastIndex
  }
  return result + escapeHtml(word.slice(position))
}

/** Gives the id of an image of the message by its address. */
type IdOf = (address: string) => string | null

/** The attributes of an image as they were given: `later` is `data-src`. */
type ImageSource = { src: string; later: string }

/** Where the address of an image stands: in `src`, which loads it, or in `data-src`, which does not. */
type ImageAddress = { src: string } | { 'data-src': string }

/** Gives the place of the address of an image; null drops the image. */
type Place = (image: ImageSource) => ImageAddress | null

function sanitize(html: string, place: Place): string {
  const safe = (given: string) => sanitizeHtml(given, sanitizerOptions(place))
  return unlessTooDeep(
    html,
    () => dropHidingColors(safe(limitDepth(html))),
    () => safe(withoutTags(html)),
  )
}

/** Reads HTML another way when it hides its end tags from `limitDepth`, in comments or attributes. */
function unlessTooDeep(html: string, read: (html: string) => string, otherwise: (html: string) => string): string {
  try {
    return read(html)
  } catch (error) {
    if (!(error instanceof TooDeep)) throw error
    return otherwise(html)
  }
}

function withoutTags(html: string): string {
  return html.replace(/<[^<>]*>?/g, ' ')
}

function sanitizerOptions(place: Place): IOptions {
  const limit = new WorkLimit()
  const styleOf = styleReader()
  return {
    allowedTags: TAGS,
    allowedAttributes: {
      '*': ['style', 'dir', 'lang', 'align', 'title'],
      a: ['href', 'rel', 'target'],
      img: ['src', 'data-src', 'alt', 'width', 'height', 'referrerpolicy', 'loading'],
      table: ['width', 'border', 'cellpadding', 'cellspacing', 'bgcolor'],
      td: ['width', 'height', 'valign', 'bgcolor', 'colspan', 'rowspan'],
      th: ['width', 'height', 'valign', 'bgcolor', 'colspan', 'rowspan'],
      tr: ['valign', 'bgcolor'],
      col: ['width', 'span'],
      font: ['color', 'face', 'size'],
      ol: ['start', 'type'],
      time: ['datetime'],
    },
    // `styleOf` has left the allowed declarations.
    parseStyleAttributes: false,
    allowedSchemes: ['http', 'https', 'mailto', 'tel'],
    allowedSchemesByTag: { img: ['data', 'https'] },
    allowProtocolRelative: false,
    nonTextTags: UNREADABLE,
    transformTags: {
      '*': (tagName, attribs) => {
        if (attribs.style === undefined) return { tagName, attribs }
        const { style, ...others } = attribs
        const kept = limit.canRead(style) ? styleOf(style) : ''
        return { tagName, attribs: kept ? { ...attribs, style: kept } : others }
      },
      a: (tagName, { href, rel: _, target: __, ...attribs }) => {
        if (!href || !isSafeLink(href)) return { tagName, attribs }
        return { tagName, attribs: { ...attribs, href, rel: 'noopener noreferrer nofollow', target: '_blank' } }
      },
      img: (tagName, { src, 'data-src': later, referrerpolicy: _, loading: __, ...attribs }) => {
        const address = place({ src: (src ?? '').trim(), later: (later ?? '').trim() })
        if (!address) return { tagName, attribs: {} }
        return { tagName, attribs: { ...address, ...attribs, referrerpolicy: 'no-referrer', loading: 'lazy' } }
      },
    },
    exclusiveFilter: (frame) => frame.tag === 'img' && !frame.attribs.src && !frame.attribs['data-src'],
    onOpenTag: () => limit.open(),
    onCloseTag: () => limit.close(),
  }
}

/** True for an absolute address. A relative one would point into the page that shows the message. */
function isSafeLink(href: string): boolean {
  return /^\s*(?:https?:\/\/|mailto:|tel:)/i.test(href)
}

/** A picture that the text itself holds, of a type that runs nothing. It asks nobody for anything. */
const HELD_IMAGE = /^data:image\/(?:png|jpe?g|gif|webp);base64,[a-z0-9+/=\s]*$/i

/**
 * Places an image of an email. Its address waits in `data-src`: loading it would show the sender who reads the message,
 * when and where.
 */
function mailedImage({ src, later }: ImageSource, idOf: IdOf): ImageAddress | null {
  const address = src || later
  if (HELD_IMAGE.test(address)) return { src: address }
  const id = contentIdAt(address) ?? idOf(address)
  if (id !== null) return { 'data-src': `cid:${encodeURIComponent(id.toWellFormed())}` }
  return /^https?:\/\//i.test(address) ? { 'data-src': address } : null
}

/**
 * Places an image of a body that came through the API: an https address stays in `src`. An address in `data-src` stays
 * there, because an agent who quotes a customer's HTML must not load the customer's images by it.
 */
function writtenImage({ src, later }: ImageSource): ImageAddress | null {
  if (/^https:\/\//i.test(src)) return { src }
  const address = src || later
  if (HELD_IMAGE.test(address)) return { src: address }
  return /^(?:https?:\/\/|cid:)/i.test(address) ? { 'data-src': address } : null
}
