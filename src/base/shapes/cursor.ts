/**
 * Cursors: signed positions in lists. A cursor names the last row of a page by the values that the list is sorted by.
 * Its signature covers the organization, the list, the filters and the sort too, so that it is good for nothing else.
 */
import { fieldError } from '../errors'
import { sign, verify } from '../secrets'

/** The values of the sort keys of one row, in the order of the keys. */
export type Position = (string | number)[]

/** All that decides which rows a list shows, and in which order. Only `per_page` may change during a walk. */
export type ListIdentity = { organization_id: string; name: string; filter: Record<string, unknown> }

const SIGNATURE_BYTES = 16

/** Writes a cursor: base64url of the signature and the position as JSON. */
export function cursorOf(list: ListIdentity, position: Position): string {
  const text = JSON.stringify(position)
  const signature = sign('cursor', signedText(list, text)).subarray(0, SIGNATURE_BYTES)
  return Buffer.concat([signature, Buffer.from(text)]).toString('base64url')
}

/**
 * Reads a cursor of `cursorOf`.
 * @param keys the number of sort keys; a release that sorts by other keys refuses the cursors of the one before it
 * @throws VALIDATION_ERROR when it was not made for this list, or not by this service
 */
export function positionOf(list: ListIdentity, cursor: string, keys: number): Position {
  const bytes = Buffer.from(cursor, 'base64url')
  const signature = bytes.subarray(0, SIGNATURE_BYTES)
  const text = bytes.subarray(SIGNATURE_BYTES).toString()
  // Several texts decode to the same bytes; only the one that was handed out is taken.
  const is_ours = bytes.toString('base64url') === cursor && verify('cursor', signedText(list, text), signature)
  const position: Position | undefined = is_ours ? JSON.parse(text) : undefined
  if (position?.length === keys) return position
  throw fieldError(
    'VALIDATION_ERROR',
    '/query/cursor',
    'must be a next_cursor of this list with these filters and sort',
  )
}

function signedText({ organization_id, name, filter }: ListIdentity, position: string): string {
  return JSON.stringify([organization_id, name, filter, position])
}
