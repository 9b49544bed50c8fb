/** Composes quotations, and takes them out again. Pure. */

import { ERASED } from '../../base/address/email'
import { unsignedUrl } from '../../base/attachment-url'
import type { Format } from '../../base/html/formats'
import { attachmentAt, placeSafeImages } from '../../base/html/image-addresses'
import { escapeHtml } from '../../base/html/text'
import type { Language } from '../../base/language'

/** A message that is quoted. */
export type Quotable = {
  words: string
  body_html: string
  sender_name: string
  sender_email: string | null
  created_at: string
}

/** A quotation as it stands below `body` and `body_html` of a message, and its words. */
export type Quotation = { body: string; body_html: string; text: string }

/**
 * Quotes a message below a text of a form. The HTML beside a plain text shows what the message looked like, too.
 * @param copyOf gives the copy of an attachment
 * @param language of the line above it
 */
export function quotationOf(
  message: Quotable,
  format: Format,
  copyOf: (attachment_id: string) => string | undefined,
  language: Language = 'english',
): Quotation {
  const { words, body_html } = message
  const line = announcement(message, language)
  const quoted = words.trimEnd().replace(/\r\n?/g, '\n').replace(/^/gm, '> ')
  const text = `\n\n${line}\n${quoted}`
  const place = (addressOf: (copy_id: string) => Record<string, string>) => {
    const images = placeSafeImages(body_html, (address) => {
      const copy_id = copyOf(attachmentAt(address) ?? '')
      return copy_id === undefined ? undefined : addressOf(copy_id)
    })
    return `<br><div>${escapeHtml(line)}</div><blockquote>${images}</blockquote>`
  }
  return {
    body: format === 'text' ? text : place((id) => ({ src: `cid:${id}` })),
    body_html: place((id) => ({ 'data-src': unsignedUrl(id) })),
    text,
  }
}

/** Matches the line above a quotation. */
export const ANNOUNCEMENT =
  /^(?:On \d{4}-\d\d-\d\d \d\d:\d\d UTC, .+ wrote|Am \d\d\.\d\d\.\d{4} um \d\d:\d\d UTC schrieb .+):$/

function announcement({ sender_name, sender_email, created_at }: Quotable, language: Language): string {
  const writer = (sender_email === null ? sender_name : `${sender_name} <${sender_email}>`).replace(/\s+/g, ' ')
  const [date = '', time = ''] = new Date(created_at).toISOString().slice(0, 16).split('T')
  return language === 'german'
    ? `Am ${date.split('-').reverse().join('.')} um ${time} UTC schrieb ${writer}:`
    : `On ${date} ${time} UTC, ${writer} wrote:`
}

/** The stored text of a message. */
type Stored = { body: string; body_html: string; format: Format | null }

/** Lengths of a quotation at the end of a text. */
export type Piece = { piece: number; body_length: number; html_length: number }

/**
 * Takes quotations out of a text.
 * @param pieces all that stand at its end, in their order
 * @param taken the numbers of those that go
 * @returns the text, and the pieces that are left: what stands in the place of one belongs to the one before
 */
export function withoutQuotations(stored: Stored, pieces: Piece[], taken: Set<number>): Stored & { left: Piece[] } {
  const html = `<br><blockquote>${ERASED}</blockquote>`
  const body = stored.format === 'text' ? `\n\n${ERASED}` : html
  const sum = (lengths: number[]) => lengths.reduce((total, length) => total + length, 0)
  let body_place = stored.body.length - sum(pieces.map(({ body_length }) => body_length))
  let html_place = stored.body_html.length - sum(pieces.map(({ html_length }) => html_length))
  const result = { body: stored.body.slice(0, body_place), body_html: stored.body_html.slice(0, html_place) }
  const left: Piece[] = []
  for (const one of pieces) {
    const is_taken = taken.has(one.piece)
    const own = {
      body: is_taken ? body : stored.body.slice(body_place, body_place + one.body_length),
      body_html: is_taken ? html : stored.body_html.slice(html_place, html_place + one.html_length),
    }
    result.body += own.body
    result.body_html += own.body_html
    body_place += one.body_length
    html_place += one.html_length
    const before = left.at(-1)
    if (!is_taken) left.push({ ...one })
    else if (before) {
      before.body_length += own.body.length
      before.html_length += own.body_html.length
    }
  }
  return { ...result, format: stored.format, left }
}
