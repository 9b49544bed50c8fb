/**
 * Points the images of a text in HTML to attachments. Stored HTML has their unsigned addresses, `body` has
 * `cid:<attachment id>`. Every reading signs those that are the message's own or in `message_pictures`, and no others.
 */

import { attachmentOfContentId, unsignedUrl, withoutQuery } from '../../base/attachment-url'
import { insertRows } from '../../base/db/insert-rows'
import { attachmentAt, contentIdAt, placeSafeImages, rewriteImages } from '../../base/html/image-addresses'
import type { Scope } from '../../base/scope'
import { mayUse } from '../attachments/claim-uploads'

/** Attachments of other messages that one shows. Those beyond stay what they are: an address without its query. */
const MOST_SHOWN = 200
/** Ids that are looked for in a text. */
const MOST_NAMED = 1000

/** The writer of a text. Mail means pictures of public messages only, and no uploads. */
type Source = 'team' | 'mail'

type Text = {
  /** Null: no ticket of before, whose attachments it could show. */
  ticket_id: string | null
  body: string
  body_html: string
  source: Source
  /** Attachments of its own, whose images are placed already. */
  own_ids?: string[]
}

/** A text whose images are placed. */
type Placed = {
  body: string
  body_html: string
  /** Uploads that it shows and nothing uses yet. */
  uploads: string[]
  /** Attachments of other messages that it shows. */
  pictures: string[]
}

/** The attachments that images may mean: by their ids, and by their Content-IDs in lower case. */
type Named = { ids: Set<string>; content_ids: Set<string> }

type Found = { id: string; content_id: string | null; is_unused: boolean }

/**
 * Points the images of a text to attachments of its ticket, in the caller's transaction, which has locked the ticket.
 * Any other address of this service loses its query.
 * @param draft_id the draft whose text it is: its own uploads count as unused
 */
export async function placePictures(scope: Scope, text: Text, draft_id?: string): Promise<Placed> {
  const { body, body_html } = text
  const unused = { uploads: [], pictures: [] }
  if (!body_html.includes('<img ')) return { body, body_html, ...unused }
  const { idAt, found } = await findShown(scope, text, draft_id)
  const uploads = found.filter(({ is_unused }) => is_unused)
  const pictures = found.filter(({ is_unused }) => !is_unused).slice(0, MOST_SHOWN)
  const placed = new Set([...uploads, ...pictures].map(({ id }) => id))
  const placeAt = (address: string) => {
    const id = idAt(address)
    return id !== undefined && placed.has(id) ? id : undefined
  }
  return {
    body_html: placeSafeImages(body_html, (address, written) => {
      const id = placeAt(address)
      if (id) return { 'data-src': unsignedUrl(id) }
      const plain = withoutQuery(address)
      return plain === undefined ? undefined : { [written]: plain }
    }),
    body: rewriteImages(body, (address) => {
      const id = placeAt(address)
      return id ? `cid:${id}` : withoutQuery(address)
    }),
    uploads: uploads.map(({ id }) => id),
    pictures: pictures.map(({ id }) => id),
  }
}

/** Makes HTML that is stored the body of a message: its images name attachments by their ids. */
export function bodyOfHtml(body_html: string): string {
  return placeSafeImages(body_html, (address, written) => {
    const id = attachmentAt(address)
    return id ? { [written]: `cid:${id}` } : undefined
  })
}

/** Writes which attachments of others messages show. */
export async function insertPictures(
  { sql, organization_id }: Scope,
  messages: { id: string; picture_ids?: string[] | undefined }[],
): Promise<void> {
  const rows = messages.flatMap(({ id, picture_ids = [] }) =>
    picture_ids.map((attachment_id) => ({ organization_id, message_id: id, attachment_id })),
  )
  if (rows.length > 0) await insertRows(sql, 'message_pictures', rows)
}

/** Finds what drafts show of the attachments of their tickets. @returns the ids, by the drafts' own */
export async function picturesOfDrafts(
  { sql, organization_id }: Scope,
  drafts: { id: string; ticket: { id: string }; body_html: string }[],
): Promise<Map<string, Set<string>>> {
  const named = drafts.flatMap(({ id: draft_id, ticket, body_html }) =>
    [...namedIn(body_html).ids].map((id) => ({ draft_id, ticket_id: ticket.id, id })),
  )
  if (named.length === 0) return new Map()
  const rows = await sql<{ draft_id: string; id: string }[]>`
    with named as materialized (
      select * from json_to_recordset(${JSON.stringify(named)}::text::json) as x (draft_id uuid, ticket_id uuid, id uuid)
    )
    select n.draft_id, n.id from named n
    join attachments a on a.organization_id = ${organization_id} and a.id = n.id
    left join messages m on m.organization_id = ${organization_id} and m.id = a.message_id
    where m.ticket_id = n.ticket_id or exists (
      select 1 from message_pictures p
      join messages s on s.organization_id = ${organization_id} and s.id = p.message_id
      where p.organization_id = ${organization_id} and p.attachment_id = a.id and s.ticket_id = n.ticket_id
    )`
  const by_draft = Map.groupBy(rows, ({ draft_id }) => draft_id)
  return new Map([...by_draft].map(([draft_id, some]) => [draft_id, new Set(some.map(({ id }) => id))]))
}

/** Finds the attachments that a text shows. Of several with one Content-ID the newest is meant. */
async function findShown(scope: Scope, text: Text, draft_id: string | undefined) {
  const named = namedIn(text.ticket_id === null ? '' : text.body_html)
  for (const id of text.own_ids ?? []) named.ids.delete(id)
  const by_id = new Map((await findById(scope, named.ids, text, draft_id)).map((one) => [one.id, one]))
  const left = [...named.content_ids].filter((content_id) => !by_id.has(attachmentOfContentId(content_id) ?? ''))
  const by_content_id = new Map(
    (await findByContentId(scope, left, text)).map((one) => [one.content_id!.toLowerCase(), one]),
  )
  const idAt = (address: string): string | undefined => {
    const content_id = contentIdAt(address)
    const id = content_id === undefined ? attachmentAt(address) : attachmentOfContentId(content_id)
    return (by_id.get(id ?? '') ?? by_content_id.get(content_id?.toLowerCase() ?? ''))?.id
  }
  return { idAt, found: [...by_id.values(), ...by_content_id.values()] }
}

function namedIn(body_html: string): Named {
  const named: Named = { ids: new Set(), content_ids: new Set() }
  placeSafeImages(body_html, (address) => {
    const content_id = contentIdAt(address)
    const id = content_id === undefined ? attachmentAt(address) : attachmentOfContentId(content_id)
    if (id && named.ids.size < MOST_NAMED) named.ids.add(id)
    if (content_id && named.content_ids.size < MOST_NAMED) named.content_ids.add(content_id.toLowerCase())
    return undefined
  })
  return named
}

/**
 * Finds attachments that a text of the ticket may show, and locks them: of two messages that show one upload at the
 * same time the second finds it used.
 */
async function findById(
  scope: Scope,
  ids: Set<string>,
  { ticket_id, source }: Text,
  draft_id: string | undefined,
): Promise<Found[]> {
  if (ids.size === 0) return []
  const { sql, organization_id } = scope
  const isShown = (message: 'm' | 's') => sql`
    ${sql(message)}.ticket_id = ${ticket_id} ${source === 'mail' ? sql`and not ${sql(message)}.is_internal` : sql``}`
  const isFree = sql`
    a.message_id is null and (a.draft_id is null or a.draft_id = ${draft_id ?? null}) and ${mayUse(scope)}`
  return sql<Found[]>`
    select a.id, a.content_id, a.message_id is null as is_unused
    from attachments a
    left join messages m on m.organization_id = ${organization_id} and m.id = a.message_id
    where a.organization_id = ${organization_id} and a.id = any(${[...ids]}::uuid[])
      and a.scan is distinct from 'infected' and (${isShown('m')} or exists (
        select 1 from message_pictures p
        join messages s on s.organization_id = ${organization_id} and s.id = p.message_id
        where p.organization_id = ${organization_id} and p.attachment_id = a.id and ${isShown('s')}
      ) ${source === 'team' ? sql`or (${isFree})` : sql``})
    order by a.id for no key update of a`
}

/** @param content_ids in lower case */
async function findByContentId(scope: Scope, content_ids: string[], { ticket_id, source }: Text): Promise<Found[]> {
  if (content_ids.length === 0) return []
  const { sql, organization_id } = scope
  const rows = await sql<Found[]>`
    select a.id, a.content_id, false as is_unused
    from messages m
    join attachments a on a.organization_id = ${organization_id} and a.message_id = m.id
    where m.organization_id = ${organization_id} and m.ticket_id = ${ticket_id}
      ${source === 'mail' ? sql`and not m.is_internal` : sql``}
      and a.content_id is not null and a.scan is distinct from 'infected'
    order by a.id`
  return rows.filter((row) => content_ids.includes(row.content_id!.toLowerCase()))
}
