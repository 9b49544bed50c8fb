/** Tags of single objects: what an ETag is made of, and whether an If-Match still holds. */
import { createHash } from 'node:crypto'
import fresh from 'fresh'
import { ApiError } from '../../base/errors'
import { LargeAnswer } from './answer'

/**
 * Returns the tags that hold for what a GET shows, the tag of its own answer first. Where the GET shows more than the
 * answers of writes do (a ticket's messages and time entries), the tag of those answers holds too.
 */
export function tagsOf(shown: { data: object } | LargeAnswer): string[] {
  if (shown instanceof LargeAnswer) return shown.versions.map((version) => etagOf(JSON.stringify(version)))
  const { data } = shown
  const { messages, time_entries, ...own } = data as Record<string, unknown>
  const tags = [etagOf(JSON.stringify({ data }))]
  // A message of 20 MB takes 50 ms of a processor.
  return messages || time_entries ? [...tags, etagOf(JSON.stringify({ data: own }))] : tags
}

/** The end that modules of Apache which compress give a tag. One of ours is never shorter than that of a row. */
const CODING = /(?<="[\w-]{27,64})-(?:gzip|br)(?=")/g

/**
 * Checks an If-Match header, if there is one. A tag is of a row, whatever the bytes of an answer: what a proxy that
 * compresses adds, `W/` before it or its coding at the end, is ignored.
 * @param shown what the GET shows; undefined when there is nothing, for which no tag holds
 * @throws PRECONDITION_FAILED
 */
export function requireTag(header: string | null, shown: { data: object } | LargeAnswer | undefined): void {
  if (header === null || (shown && header.trim() === '*')) return
  const current = shown ? tagsOf(shown) : []
  const named = header.replace(CODING, '').split(',')
  if (!named.some((tag) => current.includes(tag.trim().replace(/^W\//, '')))) throw new ApiError('PRECONDITION_FAILED')
}

/** Tells whether If-None-Match names the tag, also as a proxy that compresses made it. */
export function isNamed({ headers }: Request, etag: string): boolean {
  return fresh({ 'if-none-match': headers.get('if-none-match')?.replace(CODING, '') }, { etag })
}

/** The signatures in addresses of attachments (`desk/attachments/signed-url.ts`), in JSON fields and in HTML. */
const SIGNATURES =
  /(\/api\/v1\/attachments\/[0-9a-f-]{36}\/content)\?organization=[0-9a-f-]{36}&(?:amp;)?expires=\d+&(?:amp;)?signature=[\w-]+/g

/** The signatures change every five minutes although the object does not, so they are left out. */
export function etagOf(text: string): string {
  const lasting = text.includes('signature=') ? text.replace(SIGNATURES, '$1') : text
  return `"${createHash('sha256').update(lasting).digest('base64url').slice(0, 27)}"`
}
