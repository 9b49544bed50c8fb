/**
 * Ticket numbers: one counter for each organization.
 *
 * A number is taken in a separate short commit, never in the transaction of the ticket, which would hold the
 * counter's row until its commit and make all tickets of the organization wait for each other.
 */
import { shortConnection } from '../db/pool'
import { DeadlockError } from '../db/violations'
import { gatheredBy } from '../flow/gather'
import { within } from '../flow/within'
import type { Scope } from '../scope'

/** Takes the next number of the organization. It is used up even when the ticket is not created after all. */
export async function takeNumber(scope: Pick<Scope, 'organization_id'>): Promise<number> {
  const [number] = await takeNumbers(scope, 1)
  return number!
}

/** Takes the next numbers of the organization, in order. They are used up, too. */
async function takeNumbers(
  { organization_id }: Pick<Scope, 'organization_id'>,
  count: number,
): Promise<number[]> {
  const first = await take({ organization_id, count })
  return Array.from({ length: count }, (_, index) => first + index)
}

/** The longest that a transaction waits for numbers. The server looks for deadlocks of its own after a second. */
const WAIT_MS = 2000

/**
 * Takes the next numbers for a transaction that holds locks. Who changes the counter's table may wait for them: a move of the
 * organization to another machine of a cluster does. The server does not see that the transaction waits in turn, so after
 * some time it is run again, and then waits without locks.
 * @throws DeadlockError
 */
export async function takeNumbersInside(scope: Pick<Scope, 'organization_id'>, count: number): Promise<number[]> {
  const taken = takeNumbers(scope, count)
  return within(WAIT_MS, taken, new DeadlockError('ticket numbers were waited for too long'))
}

type Wanted = { organization_id: string; count: number }

/** One statement of an organization at a time, all on the one connection beside the pool. */
const take = gatheredBy(({ organization_id }: Wanted) => organization_id, takeForAll, { most_runs: 1 })

/**
 * Takes numbers of an organization.
 * @returns the first number of each
 */
async function takeForAll(wanted: Wanted[]): Promise<number[]> {
  const { organization_id } = wanted[0]!
  const sum = wanted.reduce((total, { count }) => total + count, 0)
  const [counter] = await shortConnection()<{ next_number: number }[]>`
    insert into ticket_counters as c (organization_id, next_number) values (${organization_id}, ${1 + sum})
    on conflict (organization_id) do update set next_number = c.next_number + excluded.next_number - 1
    returning next_number`
  let next = counter!.next_number - sum
  return wanted.map(({ count }) => {
    next += count
    return next - count
  })
}
