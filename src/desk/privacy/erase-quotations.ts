/** Erases quotations: the words of erased messages below those of others, and the copies of their files. */
import type { Fragment } from '../../base/db/transact'
import type { Format } from '../../base/html/formats'
import { inTransaction, type Scope } from '../../base/scope'
import { removeSoon } from '../attachments/removals'
import { findHeld } from '../holds/holds'
import { type Piece, withoutQuotations } from '../quotations/pieces'
import { type Erased, tellErased } from './erase-messages'
import { noteErasedIds } from './erasure-notes'

/**
 * Erases quotations in a short transaction for each ticket that has some. What is on hold stays. Who quotes a message
 * holds it until its own words are written, so what is not here yet will not find these words any more.
 * @param sources a condition on `message_quotes q`
 */
export async function eraseQuotations(scope: Scope, sources: () => Fragment): Promise<Erased> {
  const erased: Erased = { messages: 0, attachments: 0 }
  const seen = new Set<string>()
  for (;;) {
    // A deletion hands pictures over: another message may have become the one that was found.
    const quoting = (await findQuoting(scope, sources)).filter(({ id }) => !seen.has(id))
    if (quoting.length === 0) return erased
    for (const [ticket_id, some] of Map.groupBy(quoting, (row) => row.ticket_id)) {
      const ids = some.map(({ id }) => id)
      const { messages, attachments } = await inTransaction(scope, (inner) => eraseOn(inner, ticket_id, ids, sources))
      erased.messages += messages
      erased.attachments += attachments
    }
    for (const { id } of quoting) seen.add(id)
  }
}

async function findQuoting({ sql, organization_id }: Scope, sources: () => Fragment) {
  return sql<{ id: string; ticket_id: string }[]>`
    select distinct m.id, m.ticket_id from message_quotes q
    join messages m on m.organization_id = ${organization_id} and m.id = q.message_id
    where q.organization_id = ${organization_id} and (${sources()})
    order by m.id`
}

/** @param ids messages of the ticket */
async function eraseOn(scope: Scope, ticket_id: string, ids: string[], sources: () => Fragment): Promise<Erased> {
  const { sql, organization_id } = scope
  await sql`
    select 1 from tickets where organization_id = ${organization_id} and id = ${ticket_id} for no key update`
  const erased: Erased = { messages: 0, attachments: 0 }
  if ((await findHeld(scope, [ticket_id])).length > 0) return erased
  const told: string[] = []
  const noted: string[] = []
  for (const id of ids) {
    const copies = await eraseFrom(scope, id, sources)
    if (!copies) continue
    told.push(id)
    noted.push(id, ...copies.ids)
    erased.messages += 1
    erased.attachments += copies.removed
  }
  if (told.length === 0) return erased
  await noteErasedIds(scope, noted)
  await tellErased(scope, ticket_id, told)
  return erased
}

type Source = Piece & { source_id: string; attachment_ids: string[]; is_sought: boolean }

/** @returns the copies that are gone with the words; undefined when another erasure was faster */
async function eraseFrom(scope: Scope, id: string, sources: () => Fragment) {
  const { sql, organization_id } = scope
  const [message] = await sql<{ body: string; body_html: string; format: Format | null }[]>`
    select body, body_html, format from messages where organization_id = ${organization_id} and id = ${id}
    for no key update`
  const rows = await sql<Source[]>`
    select q.piece, q.source_id, q.body_length, q.html_length, q.attachment_ids, (${sources()}) as is_sought
    from message_quotes q
    where q.organization_id = ${organization_id} and q.message_id = ${id} order by q.piece`
  const sought = rows.filter(({ is_sought }) => is_sought)
  if (!message || sought.length === 0) return undefined
  const taken = new Set(sought.map(({ piece }) => piece).filter((piece) => piece > 0))
  const pieces = rows.filter(({ body_length }) => body_length !== null)
  const { body, body_html, left } = withoutQuotations(message, pieces, taken)
  await sql`
    update messages set body = ${body}, body_html = ${body_html}
    where organization_id = ${organization_id} and id = ${id}`
  const gone = rows.filter(({ piece, is_sought }) => is_sought || taken.has(piece))
  const copies = gone.flatMap(({ attachment_ids }) => attachment_ids)
  const removed = await sql<{ storage_key: string }[]>`
    delete from attachments where organization_id = ${organization_id} and id = any(${copies}::uuid[])
    returning storage_key`
  await removeSoon(sql, removed)
  await sql`
    delete from message_quotes q
    where q.organization_id = ${organization_id} and q.message_id = ${id}
      and (q.piece = any(${[...taken]}::integer[]) or ${sources()})`
  for (const { piece, body_length, html_length } of left) {
    await sql`
      update message_quotes set body_length = ${body_length}, html_length = ${html_length}
      where organization_id = ${organization_id} and message_id = ${id} and piece = ${piece}
        and body_length is not null`
  }
  return { ids: copies, removed: removed.length }
}
