/** Answers with an attachment's bytes: with ETag and byte ranges (RFC 9110), and never as a page of this origin. */
import { create as contentDisposition } from 'content-disposition'
import type { Scope } from '../../base/scope'
import { isNamed } from '../../http/request/tags'
import { getStoredAttachment } from './queries'
import { requireClean } from './scan'
import { storage } from './storage'
import type { ByteRange } from './store'

/**
 * Answers GET and HEAD: 200, 206 for one range (several ranges get all bytes), 304, or 416 without a body.
 * @throws ATTACHMENT_NOT_FOUND, ATTACHMENT_INFECTED; SERVICE_UNAVAILABLE while it waits for a scan
 */
export async function contentResponse(scope: Scope, id: string, request: Request): Promise<Response> {
  const { filename, content_type, size, scan, digest, storage_key } = await getStoredAttachment(scope, id)
  requireClean(scan)
  const etag = `"${digest}"`
  const headers: Record<string, string> = {
    etag,
    'accept-ranges': 'bytes',
    'cache-control': 'private, no-cache',
    'content-security-policy': "default-src 'none'; sandbox",
  }
  if (isNamed(request, etag)) {
    return new Response(null, { status: 304, headers })
  }
  const range = rangeOf(request, size, etag)
  if (range === 'unsatisfiable') {
    return new Response(null, { status: 416, headers: { ...headers, 'content-range': `bytes */${size}` } })
  }
  headers['content-type'] = content_type
  headers['content-disposition'] = contentDisposition(filename)
  headers['content-length'] = String(range ? range.end - range.start + 1 : size)
  if (range) headers['content-range'] = `bytes ${range.start}-${range.end}/${size}`
  // HEAD gets the stream too: the server leaves it unread and sends the length.
  return new Response(await storage().open(storage_key, range), { status: range ? 206 : 200, headers })
}

/**
 * One range of bytes: `bytes=0-4`, `bytes=5-`, or `bytes=-5` for the last five (RFC 9110, section 14.1.2).
 *
 * Hand-written, because range-parser 1.3 and header-range-parser 2.0 give one result, "unsatisfiable", to ranges that
 * the RFC answers in three ways: they refuse a suffix that is longer than the file (`bytes=-10` of 5 bytes, answered
 * with all
 * 5), an end before the start (`bytes=3-1`, to be ignored) and another unit (`lines=9-`, to be ignored). The tests
 * "Range: %s answers %i with %j" and "a range of an empty file" fail with both.
 */
const RANGE = /^bytes=[ \t]*(?:(\d+)-(\d*)|-(\d+))[ \t]*$/i

/**
 * Returns the range that a GET asks for. Returns undefined, for all bytes, when the header is missing or invalid, names
 * several ranges or another unit, or when If-Range names another version.
 */
function rangeOf({ method, headers }: Request, size: number, etag: string): ByteRange | 'unsatisfiable' | undefined {
  const condition = headers.get('if-range')
  const [is_one, first, last, suffix] = RANGE.exec(headers.get('range') ?? '') ?? []
  if (!is_one || method !== 'GET' || (condition !== null && condition !== etag)) return undefined
  if (suffix !== undefined) return suffixOf(Number(suffix), size)
  const start = Number(first)
  const end = last ? Number(last) : Number.POSITIVE_INFINITY
  if (end < start) return undefined
  return start < size ? { start, end: Math.min(end, size - 1) } : 'unsatisfiable'
}

/** An empty file is answered as a whole: no Content-Range can describe a range of no bytes. */
function suffixOf(length: number, size: number): ByteRange | 'unsatisfiable' | undefined {
  if (length === 0) return 'unsatisfiable'
  return size === 0 ? undefined : { start: Math.max(size - length, 0), end: size - 1 }
}
