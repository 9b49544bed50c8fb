/** Points the images of imported messages to files of the folder, also to those of other messages of a ticket. */

import { unsignedUrl } from '../../base/attachment-url'
import type { Format } from '../../base/html/formats'
import { contentIdAt, placeSafeImages, rewriteImages } from '../../base/html/image-addresses'
import type { Scope } from '../../base/scope'
import { storeAttachments } from '../../desk/attachments/commands'
import type { DraftWithId } from '../../desk/messages/draft'
import { insertPictures, placePictures } from '../../desk/messages/pictures'
import { readHeld } from '../../desk/messages/written-text'
import { hashOf } from './key-hashes'
import { findKnown, keyOf, noteKnown } from './known'
import type { ImportedMessage } from './model'

/** Marks the Content-ID that stands for a path until the row of the file is known. */
const OF_FOLDER = '@folder'
/** The place of files in a folder. */
const FILES = 'files/'
/** The place of attachments in an export: its texts name them by the id alone. */
export const EXPORTED = 'files/attachments/'

export type Ways = { shown: (html: string) => string; kept: (body: string) => string }

/**
 * Makes the functions that point the images of a message to its files: `shown` for HTML that is rendered, `kept` for
 * the body.
 * @param ids of its attachments
 */
export function imagesOfFolder({ attachments = [] }: ImportedMessage, ids: string[]): Ways {
  const own = new Map<string, string>()
  for (const [at, { url, content_id }] of attachments.entries()) {
    const id = ids[at]
    if (!id) continue
    own.set(url, id)
    if (url.startsWith(EXPORTED)) own.set(`cid:${url.slice(EXPORTED.length)}`, id)
    if (content_id) own.set(`cid:${content_id}`, id)
  }
  return {
    shown: (html) =>
      rewriteImages(html, (address) => {
        const id = own.get(address)
        if (id) return unsignedUrl(id)
        return address.startsWith(FILES) ? `cid:${address}${OF_FOLDER}` : undefined
      }),
    kept: (body) =>
      rewriteImages(body, (address) => {
        const id = own.get(address)
        return id && `cid:${id}`
      }),
  }
}

/**
 * Makes files of the pictures that a text holds itself, which nothing uses yet.
 * @param there files that its message has already
 * @returns the text that names them, the HTML to render, and the ids of those that are new
 */
export async function storeHeld(
  scope: Scope,
  body: string,
  format: Format | undefined,
  there: readonly { id: string; digest: string }[] = [],
) {
  const read = readHeld({ body, format, kept: new Map(there.map(({ id, digest }) => [digest, id])) })
  const { held } = read
  const files = held.map(({ bytes, ...file }) => ({ ...file, body: bytes }))
  if (files.length > 0) await storeAttachments(scope, files, 'scan later')
  const ids = new Set([...held, ...there].map(({ id }) => id))
  const html = rewriteImages(read.body, (address) => {
    const id = contentIdAt(address)
    return id !== undefined && ids.has(id) ? unsignedUrl(id) : undefined
  })
  return { body: read.body, format: read.format, html, ids: held.map(({ id }) => id) }
}

/** Remembers the rows of the files of messages by their paths. */
export async function noteFiles(
  scope: Scope,
  messages: (Pick<ImportedMessage, 'attachments'> & { ids: string[] })[],
): Promise<void> {
  const noted = messages.flatMap(({ attachments = [], ids }) =>
    attachments.flatMap(({ url }, at) => {
      const row_id = ids[at]
      return row_id ? { keys: [keyOf('attachments', url)], row_id, digest: hashOf(''), state: '' } : []
    }),
  )
  if (noted.length > 0) await noteKnown(scope, noted)
}

/**
 * Points the images that a message has not brought to attachments of its ticket, in the transaction that wrote it.
 * @returns its body
 */
export async function placeImages(
  scope: Scope,
  ticket_id: string,
  draft: DraftWithId,
  own_ids: string[],
): Promise<string> {
  if (!draft.body_html.includes('<img ')) return draft.body
  const { sql, organization_id } = scope
  const known = await filesNamed(scope, draft)
  const text = {
    body: rewriteImages(draft.body, (address) => {
      const id = known.get(`${EXPORTED}${address.replace(/^cid:/, '')}`)
      return id && `cid:${id}`
    }),
    body_html: placeSafeImages(draft.body_html, (address) => {
      const id = known.get(pathAt(address) ?? '')
      return id ? { 'data-src': unsignedUrl(id) } : undefined
    }),
  }
  const source = draft.direction === 'inbound' ? 'mail' : 'team'
  const { body, body_html, pictures } = await placePictures(scope, { ...text, ticket_id, source, own_ids })
  if (body === draft.body && body_html === draft.body_html) return body
  await sql`
    update messages set body = ${body}, body_html = ${body_html}
    where organization_id = ${organization_id} and id = ${draft.id}`
  await sql`
    delete from message_pictures where organization_id = ${organization_id} and message_id = ${draft.id}`
  await insertPictures(scope, [{ id: draft.id, picture_ids: pictures }])
  return body
}

/** Finds the rows of files that the images of a text name. @returns by their paths */
async function filesNamed(scope: Scope, { body_html }: DraftWithId): Promise<Map<string, string>> {
  const paths = new Set<string>()
  placeSafeImages(body_html, (address) => {
    const path = pathAt(address)
    if (path) paths.add(path)
    return undefined
  })
  const known = await findKnown(
    scope,
    [...paths].map((path) => keyOf('attachments', path)),
  )
  return new Map(
    [...paths].flatMap((path) => {
      const row = known.get(keyOf('attachments', path))
      return row ? [[path, row.row_id] as const] : []
    }),
  )
}

function pathAt(address: string): string | undefined {
  const content_id = contentIdAt(address)
  return content_id?.endsWith(OF_FOLDER) ? content_id.slice(0, -OF_FOLDER.length) : undefined
}
