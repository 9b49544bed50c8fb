/** Reads forms of providers, `multipart/form-data` or URL-encoded, of which one field is an email. */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Busboy, type BusboyFileStream } from '@fastify/busboy'
import { ApiError, fieldError } from '../../base/errors'

/** Fields of a form. A provider sends some 20. */
const MAX_FIELDS = 100
/** The most of every field but the email. */
const MAX_FIELD_BYTES = 65_536
/** Bytes that the parser gets at once: between two pieces other requests have their turn. */
const PIECE_BYTES = 16_384

/** The parts of a form that are kept: the texts of fields that were asked for, and the bytes of the email. */
export type Form = { fields: Map<string, string[]>; original: Uint8Array | undefined }

type Wanted = {
  /** The field with the email. */
  original: string
  /** Fields whose text is kept; all others are skipped. */
  fields: RegExp
  limit_bytes: number
}

/**
 * Reads a form while it arrives. Bytes are kept as they are: an email need not be UTF-8. A field that comes twice has
 * its first value, like with providers' own libraries, but two emails are refused.
 * @throws BAD_REQUEST for what is no form, or a broken one; VALIDATION_ERROR for too many or too long fields, or two
 *   emails; PAYLOAD_TOO_LARGE for an email above the limit
 */
export async function readForm(type: string, chunks: AsyncIterable<Uint8Array>, wanted: Wanted): Promise<Form> {
  const { limit_bytes } = wanted
  const form: Form = { fields: new Map(), original: undefined }
  let failure: Error | undefined
  const parser = openParser(type, limit_bytes)
  const fail = (error: Error) => {
    failure ??= error
    parser.destroy(error)
  }
  const tooLarge = (name: string) =>
    name === wanted.original
      ? new ApiError('PAYLOAD_TOO_LARGE', { limit_bytes })
      : fieldError('VALIDATION_ERROR', `/${name}`, `must have at most ${MAX_FIELD_BYTES} bytes`)
  const keep = (name: string, bytes: Uint8Array) => {
    if (name !== wanted.original) {
      form.fields.set(name, [...(form.fields.get(name) ?? []), new TextDecoder().decode(bytes)])
    } else if (form.original) fail(fieldError('VALIDATION_ERROR', `/${name}`, 'must be there once'))
    else form.original = bytes
  }
  const isWanted = (name: string) => name === wanted.original || wanted.fields.test(name)
  const mostOf = (name: string) => (name === wanted.original ? limit_bytes : MAX_FIELD_BYTES)
  const tooMany = () => fail(fieldError('VALIDATION_ERROR', '', `must have at most ${MAX_FIELDS} fields`))
  parser.on('partsLimit', tooMany).on('fieldsLimit', tooMany).on('filesLimit', tooMany)
  parser.on('field', (name, value: string, _nameCut, is_cut) => {
    if (!isWanted(name)) return
    if (is_cut || value.length > mostOf(name)) return fail(tooLarge(name))
    keep(name, Buffer.from(value, 'latin1'))
  })
  parser.on('file', (name, stream: BusboyFileStream) => {
    stream.on('error', () => {})
    if (!isWanted(name)) return void stream.resume()
    const pieces: Uint8Array[] = []
    let size = 0
    stream.on('data', (piece: Uint8Array) => {
      size += piece.length
      if (size > mostOf(name)) fail(tooLarge(name))
      else pieces.push(piece)
    })
    stream.once('limit', () => fail(tooLarge(name)))
    stream.on('end', () => failure || keep(name, Buffer.concat(pieces)))
  })
  try {
    await pipeline(Readable.from(chunks), inPieces, parser)
  } catch (error) {
    if (failure) throw failure
    if (error instanceof ApiError) throw error
    throw new ApiError('BAD_REQUEST', { reason: 'The form is malformed or incomplete' })
  }
  if (failure) throw failure
  return form
}

/** Every part of a multipart form counts as a file: others would be decoded as text. */
function openParser(type: string, limit_bytes: number): InstanceType<typeof Busboy> {
  const is_multipart = /^multipart\/form-data\s*;/i.test(type)
  if (!is_multipart && !/^application\/x-www-form-urlencoded\s*(;|$)/i.test(type)) {
    throw new ApiError('BAD_REQUEST', { reason: 'The Content-Type must be multipart/form-data' })
  }
  const limits = {
    fileSize: limit_bytes + 1,
    fieldSize: limit_bytes + 1,
    files: MAX_FIELDS,
    fields: MAX_FIELDS,
    parts: MAX_FIELDS,
    headerPairs: 20,
    headerSize: 16_384,
  }
  const headers = { 'content-type': is_multipart ? type : 'application/x-www-form-urlencoded' }
  try {
    return new Busboy({ headers, limits, defCharset: 'latin1', isPartAFile: () => true })
  } catch {
    throw new ApiError('BAD_REQUEST', { reason: 'The multipart body has no boundary' })
  }
}

/** Cuts chunks, which may hold thousands of parts. */
async function* inPieces(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    for (let start = 0; start < chunk.length; start += PIECE_BYTES) yield chunk.subarray(start, start + PIECE_BYTES)
  }
}
