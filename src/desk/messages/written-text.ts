/** Reads a text of the team: renders it, and makes files of the pictures that it holds itself. */
import { createHash } from 'node:crypto'
import { codePoints } from '../../base/address/characters'
import { config } from '../../base/config'
import { newId } from '../../base/db/columns'
import { ApiError, fieldError } from '../../base/errors'
import { type RenderedBody, showsNothing } from '../../base/html/body'
import { type Format, formOf } from '../../base/html/formats'
import { type HeldPicture, mayHoldPictures, takePictures } from '../../base/html/image-addresses'
import { render } from '../../base/html/render'
import { pictureName } from '../../base/mime/part-name'
import type { Scope } from '../../base/scope'
import { asIds } from '../../base/shapes/ids'
import { allowFiles } from '../attachments/allowance'
import { discardUploads, storeAttachments } from '../attachments/commands'
import { EMPTY_BODY, MOST_CHARACTERS } from './model'

/** Files of a message together with the pictures that its text holds. */
const MOST_FILES = 50

type HeldFile = HeldPicture & { id: string; filename: string }

/** A text as it is kept, and the pictures that it held: they have their ids, and are not stored yet. */
export type WrittenText = RenderedBody & { body: string; held: HeldFile[] }

type Given = {
  body: string
  format?: Format | undefined
  attachment_ids?: string[] | undefined
  /** Default `/body`. */
  field?: string
  /** Files of the text of before, by their digests: a picture that is one of them is not stored again. */
  kept?: Map<string, string>
}

/**
 * Renders the body of a message of the team. To be called outside a transaction.
 * @throws EMPTY_BODY, VALIDATION_ERROR (too long, too many pictures), PAYLOAD_TOO_LARGE (a picture)
 */
export async function renderWritten(scope: Scope, given: Given): Promise<WrittenText> {
  const written = await readWritten(scope, given)
  if (showsNothing(written)) throw fieldError('EMPTY_BODY', given.field ?? '/body', EMPTY_BODY)
  return written
}

/** As `renderWritten`, also for a text that shows nothing. */
export async function readWritten({ organization_id }: Scope, given: Given): Promise<WrittenText> {
  const { field = '/body' } = given
  const { body, format, held } = readHeld(given)
  if (body.length > MOST_CHARACTERS && codePoints(body) > MOST_CHARACTERS) {
    throw fieldError('VALIDATION_ERROR', field, `must be text of at most ${MOST_CHARACTERS} characters`)
  }
  const others = new Set(asIds(given.attachment_ids ?? []))
  if (held.length > 0 && held.length + others.size > MOST_FILES) {
    throw fieldError('VALIDATION_ERROR', field, `must have at most ${MOST_FILES} pictures and attachments together`)
  }
  return { body, held, ...(await render(body, format, organization_id)) }
}

/**
 * Takes the pictures out of a text in HTML that it holds itself, and names them as files in their places.
 * @throws PAYLOAD_TOO_LARGE for a larger one than a file may be
 */
export function readHeld(given: Pick<Given, 'body' | 'format' | 'kept'>) {
  const taken = given.format === 'text' ? { body: given.body, held: [] } : takeHeld(given)
  const format = given.format ?? formOf(taken.body)
  return { format, ...(format === 'text' ? { body: given.body, held: [] } : taken) }
}

function takeHeld({ body, kept }: Pick<Given, 'body' | 'kept'>): { body: string; held: HeldFile[] } {
  const held: HeldFile[] = []
  if (!mayHoldPictures(body)) return { body, held }
  const limit_bytes = config.ATTACHMENT_MAX_BYTES
  const taken = takePictures(body, (picture) => {
    if (picture.bytes.length > limit_bytes) throw new ApiError('PAYLOAD_TOO_LARGE', { limit_bytes })
    const known = kept?.get(createHash('sha256').update(picture.bytes).digest('hex'))
    const id = known ?? newId()
    if (!known) held.push({ ...picture, id, filename: pictureName(picture.content_type, held.length + 1) })
    return `cid:${id}`
  })
  return { body: taken, held }
}

/**
 * Stores the pictures that a text held as uploads of the caller, which the work gives to a message or draft. When the
 * work fails, they are removed.
 * @throws PAYLOAD_TOO_LARGE, SERVICE_UNAVAILABLE, ATTACHMENT_INFECTED; what the work throws
 */
export async function withHeld<T>(scope: Scope, held: HeldFile[], work: () => Promise<T>, field = '/body'): Promise<T> {
  if (held.length === 0) return work()
  const allowance = await allowFiles(
    scope,
    held.reduce((sum, { bytes }) => sum + bytes.length, 0),
  )
  try {
    const files = held.map(({ bytes, ...file }) => ({ ...file, body: bytes, uploader_id: scope.actor.id, field }))
    await storeAttachments(scope, files, 'refuse infected')
  } finally {
    allowance.end()
  }
  try {
    return await work()
  } catch (error) {
    await discardUploads(
      scope,
      held.map(({ id }) => id),
    ).catch(() => {})
    throw error
  }
}
