/** The tickets of the list as they stand, for the way from one to the next, and from one that has left the list. */
import type { Ticket } from '../../../desk/tickets/model'

type Listed = Pick<Ticket, 'id'>

let rows: Listed[] = []
/** The ticket that stood below each one that has left; undefined for the last one. */
const followers = new Map<string, string | undefined>()

/** Takes the list as it is shown now. One that shares no ticket with that of before begins anew. */
export function keepNeighbours(now: Listed[]): void {
  const ids = new Set(now.map(({ id }) => id))
  if (!rows.some(({ id }) => ids.has(id))) followers.clear()
  else for (const [at, { id }] of rows.entries()) if (!ids.has(id)) followers.set(id, rows[at + 1]?.id)
  for (const id of ids) followers.delete(id)
  rows = now
}

/** @returns the place in the list beside a ticket. What stood below one that has left is the next one */
export function placeBeside(id: string | undefined, step: 1 | 0 | -1): number {
  const at = rows.findIndex((one) => one.id === id)
  if (at >= 0 || !id || !followers.has(id)) return at + step
  let below: string | undefined = id
  while (below && followers.has(below)) below = followers.get(below)
  const place = below ? rows.findIndex((one) => one.id === below) : rows.length
  return step === -1 ? place - 1 : place
}

/** The ticket that follows another one in the list, else the one before it; undefined when there is no other. */
export function nextAfter(id: string, step: 1 | -1 = 1): Listed | undefined {
  return rows[placeBeside(id, step)] ?? (step === 1 ? rows.findLast((one) => one.id !== id) : undefined)
}
