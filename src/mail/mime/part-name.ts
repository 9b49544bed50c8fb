/** The file name that an attachment is stored and offered under. */
import libmime from 'libmime'
import { headerText, oneLine, splitHeader } from './headers'
import type { Part } from './parts'
import { decodeWords } from './words'

const MAX_LENGTH = 255
/** Of an attached message. */
const MAX_HEADER_BYTES = 65_536
/** Encoded; far more than a name can hold. */
const MAX_SUBJECT_LENGTH = 4000

/** True when the sender gave the part a name. */
export function hasName(part: Part): boolean {
  return givenName(part) !== ''
}

/**
 * The name of an attachment: filename, then name of its type, the subject of an attached message, its Content-ID, and
 * last a default for its type. Without paths and control characters, at most 255 characters.
 */
export function fileName(part: Part): string {
  const given = givenName(part)
  if (given) return given
  if (part.content_type === 'message/rfc822')
    return `${cleanFileName(attachedSubject(part), MAX_LENGTH - 4) || 'message'}.eml`
  const extension = defaultExtension(part.content_type)
  return cleanFileName(contentId(part)?.split('@')[0] ?? '', MAX_LENGTH - 10, extension) || `attachment.${extension}`
}

/** The Content-ID without brackets; null when there is none. */
export function contentId(part: Part): string | null {
  const id = headerText(part.fields, 'content-id')?.replace(/^<|>$/g, '').trim()
  return id || null
}

/** Drops paths and characters that a file system or a header may trip over, and cuts to the length, keeping the ending. */
export function cleanFileName(name: string, max_length = MAX_LENGTH, extension?: string): string {
  const base =
    oneLine(name)
      .split(/[/\\]/)
      .at(-1)
      ?.replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '')
      .trim() ?? ''
  if (base === '' || /^\.+$/.test(base)) return ''
  const full = extension && !/\.\w{1,5}$/.test(base) ? `${base}.${extension}` : base
  const characters = Array.from(full)
  if (characters.length <= max_length) return full
  const ending = /\.[^.]{1,16}$/.exec(full)?.[0] ?? ''
  return characters.slice(0, max_length - ending.length).join('') + ending
}

function givenName(part: Part): string {
  const name = part.disposition_params.get('filename') || part.content_params.get('name') || ''
  return cleanFileName(decodeWords(name))
}

function attachedSubject(part: Part): string {
  const start = part.content.toString('latin1', 0, MAX_HEADER_BYTES)
  const end = start.search(/\r?\n\r?\n/)
  const header = end < 0 ? start : start.slice(0, end)
  // Not the whole header: a thousand messages may be attached.
  const field = /^subject[ \t]*:.*(?:\r?\n[ \t].*)*/im.exec(header)?.[0].slice(0, MAX_SUBJECT_LENGTH) ?? ''
  return headerText(splitHeader(Buffer.from(field, 'latin1')), 'subject')?.replace(/[/\\]/g, ' ') ?? ''
}

function defaultExtension(content_type: string): string {
  if (content_type === 'text/calendar') return 'ics'
  if (content_type === '' || content_type === 'text/plain' || content_type === 'text/rfc822-headers') return 'txt'
  return libmime.detectExtension(content_type)
}
