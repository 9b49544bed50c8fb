/** Puts the words of documents of older releases into blocks, and adds the facets of their tickets. */
import { fillSome } from '../../base/db/fills'
import type { Connection } from '../../base/db/transact'
import { prefixOf } from './blocks'
import { organizationNumber } from './ticket-document'
import { facetWord } from './words'

/** Documents that one step changes: a tenth of a second, in which their tickets cannot change. */
const STEP = 200

/** In bytes, for each word. */
const ROOM_OF_BLOCK = 5

type Ticket = { id: string; number: number; facets: string[] }

/**
 * For a background job. Until an organization is done, its searches look for words in both forms (`ticket-search.ts`).
 */
export function fillDocuments(connection: Connection): Promise<void> {
  return fillSome(connection, 'ticket_search.document', async (sql, organization_id, after) => {
    const locked = await sql<{ id: string }[]>`
      select id from tickets where organization_id = ${organization_id} and id in (
        select ticket_id from ticket_search
        where organization_id = ${organization_id} and ticket_id > ${after} order by ticket_id limit ${STEP}
      )
      order by id for share`
    const ids = locked.map(({ id }) => id)
    // A statement behind the lock: it sees what changed meanwhile.
    const tickets = await sql<Ticket[]>`
      select id, number, array_remove(array[status, priority, assignee_id::text] || custom_words::text[], null) || array(
        select label_id::text from ticket_labels l where l.organization_id = ${organization_id} and l.ticket_id = t.id
      ) as facets
      from tickets t where organization_id = ${organization_id} and id = any(${ids}::uuid[])`
    const number = await organizationNumber({ sql, organization_id })
    const given = tickets.map(({ id, facets, ...ticket }) => {
      const prefix = `${prefixOf(number, ticket.number)}:`
      return { id, start: `'${prefix}`, facets: facets.map((facet) => `${prefix}${facetWord(facet)}`) }
    })
    // A document that has its block stays as it is.
    await sql`
      with given as materialized (
        select * from json_to_recordset(${JSON.stringify(given)}::text::json) as x (id uuid, start text, facets text[])
      )
      update ticket_search s set size = s.size + length(s.document) * ${ROOM_OF_BLOCK},
        document = replace(s.document::text, ${`'${number}:`}, given.start)::tsvector || array_to_tsvector(given.facets)
      from given
      where s.organization_id = ${organization_id} and s.ticket_id = given.id`
    return ids.at(-1)
  })
}
