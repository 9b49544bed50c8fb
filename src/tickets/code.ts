/**
 * Ticket numbers: one counter for each organization (decisions.md section 4).
 *
 * A number is taken in a short commit of its own, never in the transaction of the ticket, which would hold the
 * counter's row until its commit and make all tickets of the organization wait for each other. While one statement is
 * under way, further requests of this process wait and share the next one.
 */
import { shortConnection } from '../db/client'
import type { Scope } from '../scope'

type Waiter = { resolve(number: number): void; reject(error: unknown): void }

let waiting = new Map<string, Waiter[]>()
let is_serving = false

/** The next number of the organization. It is used up even when the ticket is not made after all. */
export function takeNumber({ organization_id }: Pick<Scope, 'organization_id'>): Promise<number> {
  return new Promise((resolve, reject) => {
    const waiters = waiting.get(organization_id) ?? []
    waiting.set(organization_id, waiters)
    waiters.push({ resolve, reject })
    if (!is_serving) void serveAll()
  })
}

async function serveAll(): Promise<void> {
  is_serving = true
  while (waiting.size > 0) {
    const batch = waiting
    waiting = new Map()
    await serve(batch).catch((error) => {
      for (const { reject } of [...batch.values()].flat()) reject(error)
    })
  }
  is_serving = false
}

/** Rows are locked in the order of their ids, so that two processes never wait for each other. */
async function serve(batch: Map<string, Waiter[]>): Promise<void> {
  const ids = [...batch.keys()].sort()
  const counts = ids.map((id) => batch.get(id)!.length)
  const counters = await shortConnection()<{ organization_id: string; next_number: number }[]>`
    insert into ticket_counters as c (organization_id, next_number)
    select id, 1 + count from unnest(${ids}::uuid[], ${counts}::integer[]) as taken (id, count)
    on conflict (organization_id) do update set next_number = c.next_number + excluded.next_number - 1
    returning organization_id, next_number`
  for (const { organization_id, next_number } of counters) {
    const waiters = batch.get(organization_id)!
    waiters.forEach(({ resolve }, index) => {
      resolve(next_number - waiters.length + index)
    })
  }
}
