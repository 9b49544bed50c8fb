/** Puts the words of documents of older releases into blocks, and adds the facets of their tickets. */
import { fillSome } from '../db/fills'
import type { Connection } from '../db/transact'

/** Documents that one step changes: a tenth of a second, in which their tickets cannot change. */
const STEP = 200

/** For a background job. Until an organization is done, its searches look for words in both forms (`ticket-search.ts`). */
export function fillDocuments(connection: Connection): Promise<void> {
  return fillSome(connection, 'ticket_search.document', async (sql, organization_id, after) => {
    const tickets = await sql<{ id: string }[]>`
      select id from tickets where organization_id = ${organization_id} and id in (
        select ticket_id from ticket_search
        where organization_id = ${organization_id} and ticket_id > ${after} order by ticket_id limit ${STEP}
      )
      order by id for share`
    await sql`
      update ticket_search s set size = s.size + length(s.document) * ${ROOM_OF_BLOCK},
        document = document_in_block(s.document, s.organization_id, s.ticket_id)
          || ticket_facets(s.organization_id, s.ticket_id)
      where s.organization_id = ${organization_id} and s.ticket_id = any(${tickets.map(({ id }) => id)}::uuid[])`
    return tickets.at(-1)?.id
  })
}

/** In bytes, for each word. */
const ROOM_OF_BLOCK = 5
