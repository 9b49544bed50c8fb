/**
 * Knows which tickets changed since the person looked at them, here, in another tab, or before the page was loaded. All
 * times are those of the service. The browser keeps ids and times, for each person, and nothing else of a ticket.
 */
import type { Ticket } from '../../../desk/tickets/model'
import { Cell } from '../cell'
import { personHere, signIn } from '../sign-in'

type Seen = Pick<Ticket, 'id' | 'updated_at'>

/** Tickets that are remembered. What is older than those counts as looked at. */
const MOST = 1000

/** The time of a ticket that the person saw last. */
let looked = new Map<string, string>()
/** Changes before that moment do not count: when the person used this browser first. */
let begun: string | undefined
/** Tickets that the person has just changed, as they were before. */
const changed = new Map<string, string>()
/** Grows with each look. */
export const looks = new Cell(0)

let person: string | undefined
signIn.listen(readFor)
readFor()

function readFor(): void {
  if (person === personHere()) return
  person = personHere()
  changed.clear()
  const [since, times] = readKept() ?? []
  begun = since ?? undefined
  looked = new Map(times)
  looks.value++
}

const tabs = new BroadcastChannel('deskwire looks')
tabs.onmessage = ({ data: { by, seen } }: MessageEvent<{ by: string | undefined; seen: Seen }>) => {
  if (by === person) note(seen)
}

/** Tells if it is known since when the person looks. */
export function hasBegun(): boolean {
  return begun !== undefined
}

/** Begins. @param newest the time of the last change that the service knows of */
export function begin(newest: string): void {
  begun = newest
  keep()
  looks.value++
}

/** Notes that the person sees the ticket as it is now. */
export function look({ id, updated_at }: Seen): void {
  if (!note({ id, updated_at })) return
  keep()
  tabs.postMessage({ by: person, seen: { id, updated_at } })
}

/** Notes that the person has changed these: what they become is no news. @param before as they were read */
export function lookAfterChange(before: Seen[]): void {
  for (const { id, updated_at } of before) changed.set(id, updated_at)
}

/** Makes tickets unread again, which were so before a change that the person took back. */
export function unlook(tickets: Seen[]): void {
  for (const { id } of tickets) {
    changed.delete(id)
    looked.delete(id)
  }
  keep()
  looks.value++
}

/** Takes tickets as they are read: those that the person has changed are known now. */
export function meet(tickets: Seen[]): void {
  for (const ticket of changed.size > 0 ? tickets : []) {
    if (ticket.updated_at > (changed.get(ticket.id) ?? ticket.updated_at) && changed.delete(ticket.id)) look(ticket)
  }
}

/** @returns false when it was noted before */
function note({ id, updated_at }: Seen): boolean {
  if ((looked.get(id) ?? '') >= updated_at) return false
  looked.set(id, updated_at)
  looks.value++
  return true
}

/** Tells if the ticket has changed since the person looked, or since the person began. */
export function isUnread({ id, updated_at }: Seen): boolean {
  return begun !== undefined && updated_at > (looked.get(id) ?? begun)
}

function storageKey(): string {
  return `deskwire looked ${person}`
}

function readKept(): [begun: string | null, times: [string, string][]] | undefined {
  try {
    return person && JSON.parse(localStorage.getItem(storageKey())!)
  } catch {
    return undefined
  }
}

function keep(): void {
  if (looked.size > MOST) {
    const byTime = [...looked].sort(([, one], [, other]) => (one < other ? 1 : -1))
    const last = byTime[MOST]![1]
    begun = begun! > last ? begun : last
    looked = new Map(byTime.slice(0, MOST))
  }
  // A browser may refuse to keep anything: then it holds until the page is left.
  try {
    if (person) localStorage.setItem(storageKey(), JSON.stringify([begun, [...looked]]))
  } catch {}
}
