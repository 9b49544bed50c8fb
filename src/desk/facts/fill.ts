/** Tells of the tickets that are older than the facts, for a background job. */
import { sweep } from '../../base/db/sweep'
import type { Connection } from '../../base/db/transact'
import { tellOld } from './facts'

/** Tickets of one transaction. */
const BATCH = 200

/**
 * Goes through the tickets of each organization that came before the facts, newest first, in steps beside the requests.
 * @returns how many steps
 */
export function fillFacts(connection: Connection): Promise<number> {
  const { sql } = connection
  const fills = { table: 'ticket_fact_fills', key: ['before_id'], is_old: sql`true`, size: 1, pause_ms: 50 }
  return sweep(connection, fills, async ({ sql, organization_id }, old) => {
    const [fill] = await sql<{ before_id: string }[]>`${old}`
    if (!fill) return 0
    const tickets = await sql<{ id: string }[]>`
      select id from tickets where organization_id = ${organization_id} and id < ${fill.before_id}
      order by id desc limit ${BATCH} for no key update`
    const ids = tickets.map(({ id }) => id)
    if (ids.length > 0) await tellOld({ sql, organization_id }, ids)
    await (ids.length < BATCH
      ? sql`delete from ticket_fact_fills where organization_id = ${organization_id}`
      : sql`update ticket_fact_fills set before_id = ${ids.at(-1)!} where organization_id = ${organization_id}`)
    return 1
  })
}
