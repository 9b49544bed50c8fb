/** An attachment's bytes over HTTP: never shown as a page of this origin, with ETag and byte ranges (RFC 9110). */
import { create as contentDisposition } from 'content-disposition'
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

/** A single range of bytes: from a position on, or as many as a suffix has (RFC 9110, section 14.1.2). */
const RANGE = /^bytes=[ \t]*(?:(\d+)-(\d*)|-(\d+))[ \t]*$/i

/** An invalid Range, several, one of another unit, or one for another version of the bytes counts as absent. */
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

/** Of bytes that are fewer, all. No Content-Range can say that of none: an empty file is answered as a whole. */
function suffixOf(length: number, size: number): ByteRange | 'unsatisfiable' | undefined {
  if (length === 0) return 'unsatisfiable'
  return size === 0 ? undefined : { start: Math.max(size - length, 0), end: size - 1 }
}

/** Whether an If-None-Match header names the tag, weak or strong. */
function namesTag(header: string | null, etag: string): boolean {
  if (header === null) return false
  return header.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag)
}
