/** Knows which tickets changed since the person looked at them. It is in the memory of the page, and begins with it. */
import type { Ticket } from '../../../desk/tickets/model'
import { Cell } from '../cell'
import { signIn } from '../sign-in'

const begun = new Date().toISOString()
const looked = new Map<string, string>()
/** Grows with each look. */
export const looks = new Cell(0)

signIn.listen(() => {
  if (signIn.value.state === 'none') looked.clear()
})

/** Notes that the person sees the ticket as it is now, or has just changed it. */
export function look({ id, updated_at }: Pick<Ticket, 'id' | 'updated_at'>): void {
  if ((looked.get(id) ?? '') >= updated_at) return
  looked.set(id, updated_at)
  looks.value++
}

/** Tells if the ticket has changed since the person looked, or since the page was opened. */
export function isUnread({ id, updated_at }: Pick<Ticket, 'id' | 'updated_at'>): boolean {
  return updated_at > (looked.get(id) ?? begun)
}
