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
export async function takeNumber(scope: Pick<Scope, 'organization_id'>): Promise<number> {
  const [number] = await takeNumbers(scope, 1)
  return number!
}

/** Takes the next numbers of the organization, in order. They are used up, too. */
export async function takeNumbers(
  { organization_id }: Pick<Scope, 'organization_id'>,
  count: number,
): Promise<number[]> {
  const first = await take({ organization_id, count })
  return Array.from({ length: count }, (_, index) => first + index)
}

type Wanted = { organization_id: string; count: number }

/** One statement at a time, on the one connection beside the pool. */
const take = gathered(takeForAll, { most_runs: 1 })

/**
 * Takes numbers for each of the organizations. Rows are locked in one order, so that two processes never wait for each other.
 * @returns the first number of each
 */
async function takeForAll(wanted: Wanted[]): Promise<number[]> {
  const counters = await shortConnection()<{ organization_id: string; next_number: number }[]>`
    insert into ticket_counters as c (organization_id, next_number)
    select id, 1 + sum(count)
    from unnest(${wanted.map((one) => one.organization_id)}::uuid[], ${wanted.map((one) => one.count)}::integer[])
      as x (id, count)
    group by id order by id
    on conflict (organization_id) do update set next_number = c.next_number + excluded.next_number - 1
    returning organization_id, next_number`
  const next = new Map(counters.map(({ organization_id, next_number }) => [organization_id, next_number]))
  const fromLast = wanted.toReversed().map(({ organization_id, count }) => {
    next.set(organization_id, next.get(organization_id)! - count)
    return next.get(organization_id)!
  })
  return fromLast.toReversed()
}
