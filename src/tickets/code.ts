/**
 * Ticket numbers: one counter for each organization.
 *
 * A number is taken in a separate short commit, never in the transaction of the ticket, which would hold the
 * counter's row until its commit and make all tickets of the organization wait for each other.
 */
import { insertRows } from '../db/insert-rows'
import { shortConnection } from '../db/pool'
import { DeadlockError } from '../db/violations'
import { within } from '../flow/within'

type NumbersWanted = { organization_id: string; count: number }

/** The longest that a transaction with locks waits for numbers. The server looks for deadlocks of its own after a second. */
const WAIT_MS = 2000

/**
 * Takes the next numbers for a transaction that holds locks. Who changes the counter's table may wait for them: a move of the
 * organization to another machine of a cluster does. The server does not see that the transaction waits in turn, so after
 * some time it is run again, and then waits without locks.
 * @returns the first number of each
 * @throws DeadlockError
 */
export async function takeNumbersInside(wanted: NumbersWanted[]): Promise<number[]> {
  return within(WAIT_MS, takeNumbers(wanted), new DeadlockError('ticket numbers were waited for too long'))
}

/**
 * Takes the next numbers of organizations. They are used up even when the tickets are not created after all.
 * @returns the first number of each
 */
export async function takeNumbers(wanted: NumbersWanted[]): Promise<number[]> {
  const sums = new Map<string, number>()
  for (const { organization_id, count } of wanted) sums.set(organization_id, (sums.get(organization_id) ?? 0) + count)
  const next = await raiseCounters(sums)
  return wanted.map(({ organization_id, count }) => {
    const first = next.get(organization_id)!
    next.set(organization_id, first + count)
    return first
  })
}

/**
 * Takes so many numbers of each organization. In the order of their ids, so that two processes never wait for each other.
 * @returns the first number of each
 */
async function raiseCounters(sums: Map<string, number>): Promise<Map<string, number>> {
  const sql = shortConnection()
  const rows = [...sums].sort().map(([organization_id, sum]) => ({ organization_id, next_number: 1 + sum }))
  const counters = await insertRows<{ organization_id: string; next_number: number }>(
    sql,
    'ticket_counters',
    rows,
    sql`
      on conflict (organization_id) do update
        set next_number = ticket_counters.next_number + excluded.next_number - 1
      returning organization_id, next_number`,
  )
  return new Map(
    counters.map(({ organization_id, next_number }) => [organization_id, next_number - sums.get(organization_id)!]),
  )
}
