/** Reads an upload (`multipart/form-data` with a `file` part, RFC 7578) while it arrives, in constant memory. */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream as NodeReadableStream } from 'node:stream/web'
import { Busboy, type BusboyFileStream } from '@fastify/busboy'
import { config } from '../../base/config'
import { ApiError, fieldError } from '../../base/errors'
import { noteMade } from '../../base/process/collect'
import { contentLengthOf, inTime } from './arriving-body'

/** A file as the client named it; `bytes` must be read to its end or to its error. */
type UploadedFile = { filename: string; content_type: string; bytes: AsyncIterable<Uint8Array> }

/** Bytes that an upload may have besides the file: boundaries, headers and other parts. */
const OVERHEAD_BYTES = 1024 * 1024

/** Parts of an upload, the file among them. */
const MAX_PARTS = 20

/**
 * Bytes that the parser gets at once: between two pieces other requests have their turn, and the parser can be stopped.
 */
const PIECE_BYTES = 16_384

/**
 * Hands the file of an upload to `store` while it is still arriving, and returns what `store` returns. Other parts are
 * skipped. When the upload breaks off or grows too large, reading `bytes` fails and nothing more is read.
 * @throws BAD_REQUEST (not multipart, malformed or incomplete), VALIDATION_ERROR (no file, too many parts),
 *   PAYLOAD_TOO_LARGE
 */
export async function readUpload<T>(request: Request, store: (file: UploadedFile) => Promise<T>): Promise<T> {
  const limit_bytes = config.ATTACHMENT_MAX_BYTES
  const tooLarge = () => new ApiError('PAYLOAD_TOO_LARGE', { limit_bytes })
  if ((contentLengthOf(request) ?? 0) > limit_bytes + OVERHEAD_BYTES) throw tooLarge()
  const { body, parser } = openUpload(request, limit_bytes)
  let file: BusboyFileStream | undefined
  let result: Promise<T> | undefined
  let failure: unknown
  const whole = Promise.withResolvers<void>()
  whole.promise.catch(() => {})
  const fail = (error: Error) => {
    failure ??= error
    parser.destroy(error)
  }
  parser.on('partsLimit', () => fail(fieldError('VALIDATION_ERROR', '', `must have at most ${MAX_PARTS} parts`)))
  parser.on('file', (field, bytes, filename: string | undefined, _encoding, content_type) => {
    bytes.on('error', () => {})
    // Browsers send an empty name when no file was chosen.
    if (field !== 'file' || filename === '' || file) return void bytes.resume()
    file = bytes
    result = store({ filename: unescapeName(filename ?? ''), content_type, bytes: untilWhole(bytes, whole.promise) })
    bytes.once('limit', () => fail(tooLarge()))
    result.catch(fail)
  })
  try {
    await pipeline(Readable.fromWeb(body), (chunks) => inTime(chunks), inPieces, parser)
    whole.resolve()
  } catch (error) {
    failure ??=
      error instanceof ApiError
        ? error
        : new ApiError('BAD_REQUEST', { reason: 'The multipart body is malformed or incomplete' })
    file?.destroy(error as Error)
    whole.reject(failure)
    await result?.catch(() => {})
    throw failure
  }
  if (!result) throw fieldError('VALIDATION_ERROR', '/file', 'is required: a part with a file name')
  return result
}

/** Cuts chunks, which may hold thousands of parts. */
async function* inPieces(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    noteMade(chunk.length)
    for (let start = 0; start < chunk.length; start += PIECE_BYTES) yield chunk.subarray(start, start + PIECE_BYTES)
  }
}

/** Ends only when the whole upload has arrived: until then, an upload that breaks off may look like a shorter file. */
async function* untilWhole(bytes: AsyncIterable<Uint8Array>, whole: Promise<void>): AsyncGenerator<Uint8Array> {
  yield* bytes
  await whole
}

/** Reads `%22` and `%0A` as browsers mean them: a quote and a line break (HTML standard, multipart/form-data). */
function unescapeName(name: string): string {
  return name.replaceAll('%22', '"').replace(/%0[ad]/gi, ' ')
}

function openUpload(request: Request, fileSize: number) {
  const type = request.headers.get('content-type') ?? ''
  if (!/^multipart\/form-data\s*;/i.test(type) || !request.body) {
    throw new ApiError('BAD_REQUEST', { reason: 'The Content-Type must be multipart/form-data' })
  }
  try {
    const limits = {
      fileSize,
      files: MAX_PARTS,
      fields: MAX_PARTS,
      parts: MAX_PARTS,
      fieldSize: 65_536,
      headerPairs: 20,
      headerSize: 16_384,
    }
    const parser = new Busboy({ headers: { 'content-type': type }, limits, preservePath: true })
    return { body: request.body as unknown as NodeReadableStream<Uint8Array>, parser }
  } catch {
    throw new ApiError('BAD_REQUEST', { reason: 'The multipart body has no boundary' })
  }
}
