/** The tickets of the list as they stand, for the way from one to the next. */
import type { Ticket } from '../../../desk/tickets/model'
import { Cell } from '../cell'

export const neighbours = new Cell<Ticket[]>([])

/** The ticket that follows another one in the list, else the one before it; undefined when there is no other. */
export function nextAfter(id: string, step: 1 | -1 = 1): Ticket | undefined {
  const at = neighbours.value.findIndex((one) => one.id === id)
  return neighbours.value[at + step] ?? (step === 1 ? neighbours.value.findLast((one) => one.id !== id) : undefined)
}
