/**
 * Knows which tickets changed since the person looked at them, here or in another tab. The page keeps
 * this in memory only.
 */
import type { Ticket } from '../../../desk/tickets/model'
import { Cell } from '../cell'
import { personHere, signIn } from '../sign-in'

const begun = new Date().toISOString()
const looked = new Map<string, string>()
/** Grows with each look. */
export const looks = new Cell(0)

signIn.listen(() => {
  if (signIn.value.state === 'none') looked.clear()
})

type Seen = Pick<Ticket, 'id' | 'updated_at'>
const tabs = new BroadcastChannel('deskwire looks')
tabs.onmessage = ({ data: { by, seen } }: MessageEvent<{ by: string | undefined; seen: Seen }>) => {
  if (by === personHere()) note(seen)
}

/** Notes that the person sees the ticket as it is now, or has just changed it. */
export function look({ id, updated_at }: Seen): void {
  if (note({ id, updated_at })) tabs.postMessage({ by: personHere(), seen: { id, updated_at } })
}

/** @returns false when it was noted before */
function note({ id, updated_at }: Seen): boolean {
  if ((looked.get(id) ?? '') >= updated_at) return false
  looked.set(id, updated_at)
  looks.value++
  return true
}

/** Tells if the ticket has changed since the person looked, or since the page was opened. */
export function isUnread({ id, updated_at }: Seen): boolean {
  return updated_at > (looked.get(id) ?? begun)
}
