/** Tags of single objects: what an ETag is made of, and whether an If-Match still holds. */
import { createHash } from 'node:crypto'
import fresh from 'fresh'
import { ApiError } from '../../base/errors'
import { LargeAnswer } from './answer'

/** Parts of a ticket that no change of it sets: what follows from messages and time, and what its reader has read. */
const FOLLOWING = new Set([
  ...['messages', 'time_entries', 'last_message', 'waiting_since', 'message_count', 'attachment_count', 'draft_count'],
  ...['unread', 'read_to', 'updated_at', 'sla'],
])

/**
 * Returns the tag of what a GET shows. That of a ticket ends with a second hash, of what If-Match is about: people read
 * a ticket and customers write on it while somebody changes it.
 * @param text the JSON of what is shown
 */
export function tagOf(shown: { data: object }, text = JSON.stringify(shown)): string {
  const whole = hashOf(text)
  if (!('unread' in shown.data)) return `"${whole}"`
  const own = Object.entries(shown.data).filter(([name]) => !FOLLOWING.has(name))
  return `"${whole}.${hashOf(JSON.stringify(own))}"`
}

/** The end that modules of Apache which compress give a tag. One of ours is never shorter than that of a row. */
const CODING = /(?<="[\w.-]{27,64})-(?:gzip|br)(?=")/g

/**
 * Checks an If-Match header, if there is one. A tag is of a row, whatever the bytes of an answer: what a proxy that
 * compresses adds, `W/` before it or its coding at the end, is ignored.
 * @param shown what the GET shows; undefined when there is nothing, for which no tag holds
 * @throws PRECONDITION_FAILED
 */
export function requireTag(header: string | null, shown: { data: object } | LargeAnswer | undefined): void {
  if (header === null || (shown && header.trim() === '*')) return
  const version = shown instanceof LargeAnswer ? shown.version : shown
  const current = version && judged(tagOf(version))
  const named = header.replace(CODING, '').split(',')
  if (!named.some((tag) => judged(tag.trim().replace(/^W\//, '')) === current))
    throw new ApiError('PRECONDITION_FAILED')
}

/** The part of a tag that If-Match is about. No header has a line break. */
function judged(tag: string): string {
  return tag.replace(/^"[\w-]{27}\.([\w-]{27})"$/, '\n$1')
}

/** Tells whether If-None-Match names the tag, also as a proxy that compresses made it. */
export function isNamed({ headers }: Request, etag: string): boolean {
  return fresh({ 'if-none-match': headers.get('if-none-match')?.replace(CODING, '') }, { etag })
}

/** The signatures in addresses of attachments (`base/attachment-url.ts`), in JSON fields and in HTML. */
const SIGNATURES =
  /(\/api\/v1\/attachments\/[0-9a-f-]{36}\/content)\?organization=[0-9a-f-]{36}&(?:amp;)?expires=\d+&(?:amp;)?signature=[\w-]+/g

/** The signatures change every five minutes although the object does not, so they are left out. */
function hashOf(text: string): string {
  const lasting = text.includes('signature=') ? text.replace(SIGNATURES, '$1') : text
  return createHash('sha256').update(lasting).digest('base64url').slice(0, 27)
}
