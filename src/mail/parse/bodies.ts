/** Tells the body of a message from its attachments, and reads the body as text and as HTML. Pure. */
import sanitizeHtml from 'sanitize-html'
import { htmlToText, limitHtml, sanitizeEmailHtml, textToHtml, textToPre } from '../../base/html/body'
import type { Format } from '../../base/html/formats'
import { safeHtmlToText } from '../../base/html/text'
import { decodeBytes, detectCharset } from '../../base/mime/charset'
import { dropControls } from '../../base/mime/controls'
import { joinFlowed } from '../../base/mime/flowed'
import { fileName, hasName } from '../../base/mime/part-name'
import type { Part } from '../../base/mime/parts'
import { isReaction, withAnswerOfClick } from './clicks'
import { bytesToRead, partsOfHeld } from './held-pictures'
import { idOf, imagesByLocation } from './image-ids'
import { readQuotations } from './marked-quotation'
import type { Around, Quotes } from './reply-text'
import { isUnseen, saysAsMuch } from './unseen'

export type ParsedAttachment = {
  filename: string
  content_type: string
  content: Uint8Array
  /** The HTML names it so: the Content-ID, else the Content-Location. */
  content_id: string | null
}

/** The longest message that the API takes. A longer body is cut, and kept whole as a file. */
const MAX_BODY_LENGTH = 1_000_000
/** Charsets that may be found by the language, which takes milliseconds each. */
const MAX_DETECTIONS = 20

/** Characters and charset detections that are left, the parts that had to be cut, and the pictures that HTML held. */
type Budget = { text: number; html: number; detections: number; cut: Set<Part>; pictures: ParsedAttachment[] }

/** A body in its two forms; null where a form is missing. */
type Body = { text: string | null; html: string | null }

/** Classes with which mail programs mark the signature in HTML. */
const SIGNATURE = /\bclass=["']?(?:gmail_signature|moz-signature)\b/i

/** The text that newsletters have for programs without HTML is short. */
const MAX_NOTICE = 500
/** Length of the HTML that is searched for the words of such a text. */
const MAX_PAGE = 50_000

const SHOWN_TYPES = [
  ...[
    'text/html',
    'text/enriched',
    'text/richtext',
    'text/markdown',
    'text/x-markdown',
    'plain/text',
    'base/html/text',
  ],
  'message/delivery-status',
]

/** Text with commands in it (RFC 1896): worse to read than what is made from HTML. */
const ENRICHED_TYPES = ['text/enriched', 'text/richtext']

/** Text that is a thing of its own, also beside other forms of a message. */
const RECORDS = ['text/calendar', 'text/vcard', 'text/x-vcard', 'text/directory', 'text/csv']

const NOTHING: Body = { text: null, html: null }

type ReadBody = {
  /** The plain text; made from the HTML where there is no plain text. */
  text: string
  /** `html` when there is HTML. */
  format: Format
  /** Safe HTML; made from the text where there is no HTML. */
  body_html: string
  /** The text without the signature that its HTML marks: the reply is looked for here. */
  unsigned: string
  /** The text around the quotations that its HTML marks; null when it marks none. */
  around: Around | null
  /** Tells who wrote a quotation that no line announces. */
  quotes: Quotes
  /** Parts that are too long to be shown whole. */
  cut: Set<Part>
  /** Pictures that its HTML held itself, and names now as parts. */
  pictures: ParsedAttachment[]
}

/** Shows words that the page does not; above it, when it has as many of its own. */
function withWords(text: string, page: string): string {
  return saysAsMuch(text, page) ? `${textToHtml(text.trim())}<hr>${page}` : textToHtml(text)
}

/** Reads the body of a message. HTML is sanitized once, because that takes longer than all else. */
export function readBody(root: Part): ReadBody {
  const limits = { text: MAX_BODY_LENGTH, html: MAX_BODY_LENGTH, detections: MAX_DETECTIONS }
  const budget: Budget = { ...limits, cut: new Set(), pictures: [] }
  const body = withAnswerOfClick(root, renderPart(root, budget))
  const html = body.html?.trim() ? body.html : null
  const whole_html =
    html === null ? textToHtml(body.text ?? '') : dropControls(sanitizeEmailHtml(html, imagesByLocation(root)))
  const text = body.text ?? (html === null ? '' : safeHtmlToText(whole_html))
  const is_unseen = body.text !== null && html !== null && isUnseen(text, whole_html)
  const body_html = limitHtml(is_unseen ? withWords(text, whole_html) : whole_html, text)
  const { around, shows_own } = readQuotations(html ?? '')
  const is_marked = body.text === null && html !== null && SIGNATURE.test(html)
  const format = html === null ? 'text' : 'html'
  return {
    text,
    format,
    body_html,
    unsigned: (is_marked && unsignedText(html)) || text,
    quotes: shows_own ? 'own' : 'of others',
    around: around && { above: unsignedText(around.above), below: unsignedText(around.below) },
    cut: budget.cut,
    pictures: budget.pictures,
  }
}

/**
 * Lists everything that is not the body, in the order of the message. Text that the body shows is a file as well when
 * it has a name or was cut.
 */
export function readAttachments(part: Part, cut: Set<Part>): ParsedAttachment[] {
  if (part.children.length > 0) {
    const files = part.children.filter((child) => !isOtherForm(child, part))
    return files.flatMap((child) => readAttachments(child, cut))
  }
  if ((isBody(part) && !hasName(part) && !cut.has(part)) || isEmptyMultipart(part) || isReaction(part)) return []
  const { content } = part
  return [{ filename: fileName(part), content_type: cleanType(part.content_type), content, content_id: idOf(part) }]
}

/** True for a form that only some programs show, as AMP is one, of a message that has a form for all. */
function isOtherForm(part: Part, { content_type, children }: Part): boolean {
  if (content_type !== 'multipart/alternative' || RECORDS.includes(part.content_type)) return false
  if (!/^(?:text\/|application\/x-amp\b)/.test(part.content_type) || part.children.length > 0) return false
  return !isBody(part) && !hasName(part) && part.disposition !== 'attachment' && children.some(isBody)
}

function isEmptyMultipart(part: Part): boolean {
  return part.content_type.startsWith('multipart/') && part.content.length === 0
}

/** Gives a usable type: a missing type is text (RFC 2045 section 5.2), junk behind a type is cut, all else is bytes. */
function cleanType(content_type: string): string {
  if (content_type === '') return 'text/plain'
  return /^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+/.exec(content_type)?.[0] ?? 'application/octet-stream'
}

function renderPart(part: Part, budget: Budget): Body {
  if (part.children.length === 0) return renderLeaf(part, budget)
  const bodies = part.children.map((child) => renderPart(child, budget))
  if (part.content_type !== 'multipart/alternative') return joinBodies(bodies)
  const html = bodies.findLast((body) => body.html?.trim())?.html ?? null
  const texts = part.children.map((child, index) => ({
    text: bodies[index]?.text ?? '',
    rank: rankOf(child, bodies[index], html),
  }))
  const page = html !== null && texts.some(mayAskForHtml) ? htmlToText(html.slice(0, MAX_PAGE)).toLowerCase() : null
  const shown = texts.filter((one) => one.text.trim() !== '' && !(page !== null && asksForHtml(one, page)))
  const best = Math.min(...shown.map(({ rank }) => rank))
  // The last of equal forms is the best (RFC 2046 section 5.1.4).
  return { text: best < NO_TEXT ? (shown.findLast(({ rank }) => rank === best)?.text ?? null) : null, html }
}

const NO_TEXT = 4

/** Orders the forms in which a message has its words: plain text, text beside HTML, commands or a file, none. */
function rankOf(part: Part, body: Body | undefined, html: string | null): number {
  if (ENRICHED_TYPES.includes(part.content_type)) return html === null ? 2 : NO_TEXT
  if (part.children.length === 0 && hasName(part)) return 3
  if (part.children.length > 0) return body?.html === null ? 0 : 1
  return ['text/plain', ''].includes(part.content_type) ? 0 : 1
}

function mayAskForHtml({ text }: { text: string }): boolean {
  return text.length <= MAX_NOTICE && /html/i.test(text)
}

/**
 * True for a text that only says that the message is HTML: most of its words are not in the HTML, which is the `page`.
 */
function asksForHtml(form: { text: string }, page: string): boolean {
  if (!mayAskForHtml(form)) return false
  const words = form.text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  return words.filter((word) => page.includes(word)).length < words.length / 2
}

function joinBodies(bodies: Body[]): Body {
  const present = bodies.filter((body) => body.text?.trim() || body.html?.trim())
  if (present.length < 2) return present[0] ?? NOTHING
  const has_html = present.some((body) => body.html !== null)
  return {
    text: present.some((body) => body.text !== null) ? present.map(asText).join('\n\n') : null,
    html: has_html ? present.map((body) => body.html ?? textToPre(body.text ?? '')).join('\n') : null,
  }
}

function renderLeaf(part: Part, budget: Budget): Body {
  if (!isBody(part)) return NOTHING
  const declared = part.content_params.get('charset') ?? charsetOfPage(part)
  // The rest will be cut. No charset needs more than four bytes for a character but UTF-7, which takes long to decode.
  const most_bytes = Math.max(budget.text, budget.html) * (/utf-?7/i.test(declared ?? '') ? 1 : 4)
  const start = bytesToRead(part, most_bytes)
  budget.detections -= 1
  const whole = dropControls(decodeBytes(start, declared, budget.detections >= 0 ? detectCharset : undefined))
  const form = isHtml(part, whole) ? 'html' : 'text'
  const given = form === 'html' ? partsOfHeld(whole, budget.pictures) : whole
  const text = given.slice(0, budget[form]).toWellFormed()
  budget[form] -= text.length
  if (text.length < given.length || start.length < part.content.length) budget.cut.add(part)
  if (form === 'html') return { text: null, html: toHtml(text) }
  if (part.content_params.get('format')?.toLowerCase() !== 'flowed') return { text, html: null }
  return {
    text: joinFlowed(text, part.content_params.get('delsp')?.toLowerCase() === 'yes' ? 'drop' : 'keep'),
    html: null,
  }
}

/** Finds the charset that an HTML page names itself, which counts where the header of its part names none. */
function charsetOfPage({ content_type, content }: Part): string | null {
  if (content_type === 'text/plain') return null
  const start = content.toString('latin1', 0, 4096)
  return /<meta\b[^>]{0,200}\bcharset\s{0,9}=\s{0,9}["']?([\w:.-]{1,40})/i.exec(start)?.[1] ?? null
}

/**
 * True for text, unless it is meant as a file. A part with a broken type or an unknown disposition is body when it has
 * no name and looks like text, so that no words of a damaged message end up in a nameless file.
 */
function isBody(part: Part): boolean {
  const { content_type, disposition } = part
  if (disposition === 'attachment') return false
  if (content_type === 'text/plain' || content_type === '') return !hasName(part) || disposition === 'inline'
  if (hasName(part)) return false
  if (SHOWN_TYPES.includes(content_type)) return true
  const is_broken = !/^[a-z-]+\/[^\s/]+$/.test(content_type) || content_type.startsWith('multipart/')
  return is_broken && looksLikeText(part.content)
}

function looksLikeText(content: Buffer): boolean {
  const start = content.subarray(0, 4096)
  return start.length > 0 && !start.some((byte) => byte < 9 || (byte > 13 && byte < 27))
}

function isHtml(part: Part, text: string): boolean {
  if (part.content_type === 'text/html') return true
  return part.content_type !== 'text/plain' && /^\s*<(?:!doctype html|html|head|body)\b/i.test(text)
}

/** Writes text that only claims to be HTML, without a tag and without entities, as HTML. */
function toHtml(text: string): string {
  const is_html = /<(?:!|\/?[a-z][a-z0-9-]*(?::[a-z][a-z0-9]*)?[\s/>])|&#?\w{1,9};/i.test(text)
  return is_html ? text : textToHtml(text.trimEnd())
}

function asText(body: Body): string | null {
  return body.text ?? (body.html === null ? null : htmlToText(body.html))
}

function unsignedText(html: string): string {
  return dropControls(htmlToText(SIGNATURE.test(html) ? withoutSignature(html) : html))
}

function withoutSignature(html: string): string {
  return sanitizeHtml(html, {
    allowedTags: false,
    allowedAttributes: false,
    allowVulnerableTags: true,
    exclusiveFilter: ({ attribs }) => /^(?:gmail_signature|moz-signature)\b/.test(attribs.class ?? ''),
  })
}
