/** Names the file that a part of a message becomes. */
import libmime from 'libmime'
import { decodeWords } from './encoded-words'
import { headerText, oneLine, splitHeader } from './headers'
import type { Part } from './parts'
import { safeFileName } from './safe-file-name'

/** Bytes of an attached message in which its subject is looked for. */
const MAX_HEADER_BYTES = 65_536
/** Length of the encoded subject that is read; far more than a name can hold. */
const MAX_SUBJECT_LENGTH = 4000

/** True when the sender gave the part a name. */
export function hasName(part: Part): boolean {
  return givenName(part) !== ''
}

/**
 * Gives the name of an attachment: `filename`, else the `name` of its type, the subject of an attached message, its
 * Content-ID or Content-Location, and last a default for its type. Safe as `safeFileName` makes it, and never empty.
 */
export function fileName(part: Part): string {
  const given = givenName(part)
  if (given) return given
  if (part.content_type === 'message/rfc822')
    return safeFileName(`${safeFileName(attachedSubject(part)) || 'message'}.eml`)
  const extension = defaultExtension(part.content_type)
  const id = safeFileName(oneLine(contentId(part)?.split('@')[0] ?? contentLocation(part)?.split(/[?#]/)[0] ?? ''))
  if (id === '') return `attachment.${extension}`
  return /\.\w{1,5}$/.test(id) ? id : safeFileName(`${id}.${extension}`)
}

/** Gives the Content-ID without brackets; null when there is none. */
export function contentId(part: Part): string | null {
  const id = headerText(part.fields, 'content-id')?.replace(/^<|>$/g, '').trim()
  return id || null
}

/** Gives the address by which HTML of the message may name the part (RFC 2557); null when there is none. */
export function contentLocation(part: Part): string | null {
  const location = headerText(part.fields, 'content-location')?.replace(/^[<"]|[>"]$|\s/g, '')
  return location || null
}

function givenName(part: Part): string {
  const name = part.disposition_params.get('filename') || part.content_params.get('name') || ''
  return safeFileName(oneLine(decodeWords(name)))
}

function attachedSubject(part: Part): string {
  const start = part.content.toString('latin1', 0, MAX_HEADER_BYTES)
  const end = start.search(/\r?\n\r?\n/)
  const header = end < 0 ? start : start.slice(0, end)
  // Only this field is split off, because a thousand messages may be attached.
  const field = /^subject[ \t]*:.*(?:\r?\n[ \t].*)*/im.exec(header)?.[0].slice(0, MAX_SUBJECT_LENGTH) ?? ''
  return headerText(splitHeader(Buffer.from(field, 'latin1')), 'subject')?.replace(/[/\\]/g, ' ') ?? ''
}

/** Names a picture that a text holds itself. @param number from 1 on */
export function pictureName(content_type: string, number: number): string {
  return `image-${number}.${defaultExtension(content_type)}`
}

function defaultExtension(content_type: string): string {
  if (content_type === 'text/calendar') return 'ics'
  if (content_type === '' || content_type === 'text/plain' || content_type === 'text/rfc822-headers') return 'txt'
  return libmime.detectExtension(content_type)
}
