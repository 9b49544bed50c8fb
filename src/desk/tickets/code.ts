/**
 * Ticket numbers: one counter for each organization.
 *
 * A number is taken in a separate short commit, never in the transaction of the ticket, which would hold the
 * counter's row until its commit and make all tickets of the organization wait for each other.
 */
import { shortConnection } from '../../base/db/pool'
import { DeadlockError, violates } from '../../base/db/violations'
import { within } from '../../base/flow/within'

/**
 * The longest that a transaction with locks waits for numbers. The server looks for deadlocks of its own after a
 * second.
 */
const WAIT_MS = 2000

/**
 * Takes the next numbers for a transaction that holds locks. Who changes the counter's table may wait for them: a move
 * of the organization to another machine of a cluster does. The server does not see that the transaction waits in turn,
 * so after some time it is run again, and then waits without locks.
 * @returns the first number
 * @throws DeadlockError
 */
export async function takeNumbersInside(organization_id: string, count: number): Promise<number> {
  return within(
    WAIT_MS,
    takeNumbers(organization_id, count),
    new DeadlockError('ticket numbers were waited for too long'),
  )
}

/**
 * Takes the next numbers of an organization. They are used up even when the tickets are not created after all. A crash
 * may give back numbers, but none of a ticket that was committed.
 * @returns the first number
 */
export async function takeNumbers(organization_id: string, count: number): Promise<number> {
  const sql = shortConnection()
  const [counter] = await sql<[{ next_number: number }]>`
    insert into ticket_counters (organization_id, next_number) values (${organization_id}, ${1 + count})
    on conflict (organization_id) do update
      set next_number = ticket_counters.next_number + excluded.next_number - 1
    returning next_number`
  return counter.next_number - count
}

/** Makes the counter go on behind a number, which an import gives to a ticket. */
export async function passNumber(organization_id: string, number: number): Promise<void> {
  const sql = shortConnection()
  await sql`
    insert into ticket_counters (organization_id, next_number) values (${organization_id}, ${number + 1})
    on conflict (organization_id) do update
      set next_number = greatest(ticket_counters.next_number, excluded.next_number)`
}

/**
 * The error of a transaction that writes tickets with numbers that it took: when an import has given one of them to
 * another ticket meanwhile, it runs again.
 */
export function numberTaken(error: unknown): unknown {
  return violates(error, 'tickets_number') ? new DeadlockError('an import has taken a ticket number') : error
}
