/** An attachment's bytes over HTTP: never shown as a page of this origin, with ETag and byte ranges (RFC 9110). */
import { create as contentDisposition } from 'content-disposition'
import parseRange from 'range-parser'
import type { Scope } from '../scope'
import { getStoredAttachment } from './queries'
import { type ByteRange, storage } from './storage'

/**
 * The answer to GET or HEAD: 200, 206 for a single range (several ranges get the whole), 304, or 416 without a body.
 * @throws ATTACHMENT_NOT_FOUND
 */
export async function contentResponse(scope: Scope, id: string, request: Request): Promise<Response> {
  const { filename, content_type, size, digest, storage_key } = await getStoredAttachment(scope, id)
  const etag = `"${digest}"`
  const headers: Record<string, string> = {
    etag,
    'accept-ranges': 'bytes',
    'cache-control': 'private, no-cache',
    'content-security-policy': "default-src 'none'; sandbox",
  }
  if (namesTag(request.headers.get('if-none-match'), etag)) return new Response(null, { status: 304, headers })
  const range = rangeOf(request, size, etag)
  if (range === 'unsatisfiable') {
    return new Response(null, { status: 416, headers: { ...headers, 'content-range': `bytes */${size}` } })
  }
  headers['content-type'] = content_type
  headers['content-disposition'] = contentDisposition(filename)
  headers['content-length'] = String(range ? range.end - range.start + 1 : size)
  if (range) headers['content-range'] = `bytes ${range.start}-${range.end}/${size}`
  // For HEAD too: the server leaves the body unread, and takes the length from it.
  return new Response(await storage().open(storage_key, range), { status: range ? 206 : 200, headers })
}

/** A malformed Range, one of another unit, or one for another version of the bytes counts as absent. */
function rangeOf(request: Request, size: number, etag: string): ByteRange | 'unsatisfiable' | undefined {
  const header = request.headers.get('range')
  const condition = request.headers.get('if-range')
  if (!header || (condition !== null && condition !== etag)) return undefined
  const ranges = parseRange(size, header)
  if (ranges === -1) return /^\s*bytes\s*=/i.test(header) ? 'unsatisfiable' : undefined
  if (ranges === -2 || ranges.type !== 'bytes' || ranges.length !== 1) return undefined
  return ranges[0]
}

/** Whether an If-None-Match header names the tag, weak or strong. */
function namesTag(header: string | null, etag: string): boolean {
  if (header === null) return false
  return header.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag)
}
