/**
 * Ticket numbers: one counter for each organization.
 *
 * A number is taken in a separate short commit, never in the transaction of the ticket, which would hold the
 * counter's row until its commit and make all tickets of the organization wait for each other.
 */
import { shortConnection } from '../db/pool'
import { gathered } from '../flow/gather'
import type { Scope } from '../scope'

/** Takes the next number of the organization. It is used up even when the ticket is not created after all. */
export function takeNumber({ organization_id }: Pick<Scope, 'organization_id'>): Promise<number> {
  return take(organization_id)
}

/** One statement at a time, on the one connection beside the pool. */
const take = gathered(takeNumbers, 1)

/** A number for each of the organizations. Rows are locked in one order, so that two processes never wait for each other. */
async function takeNumbers(ids: string[]): Promise<number[]> {
  const counters = await shortConnection()<{ organization_id: string; next_number: number }[]>`
    insert into ticket_counters as c (organization_id, next_number)
    select id, 1 + count(*) from unnest(${ids}::uuid[]) as id group by id order by id
    on conflict (organization_id) do update set next_number = c.next_number + excluded.next_number - 1
    returning organization_id, next_number`
  const next = new Map(counters.map(({ organization_id, next_number }) => [organization_id, next_number]))
  const fromLast = ids.toReversed().map((id) => {
    next.set(id, next.get(id)! - 1)
    return next.get(id)!
  })
  return fromLast.toReversed()
}
