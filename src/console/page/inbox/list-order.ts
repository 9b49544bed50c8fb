/** The orders of the list, as a person chooses them and the service compares, and which totals events keep. */
import type { Ticket } from '../../../desk/tickets/model'
import { keptChoice } from '../kept-choice'
import { PRIORITIES } from './choices'

export const SORTS = [
  '-last_message_at',
  'waiting_since',
  'due_at',
  '-created_at',
  '-updated_at',
  '-priority',
  'created_at',
] as const

/** The order of lists that have none of their own. */
export const useOrder = keptChoice<(typeof SORTS)[number]>('order', SORTS)

const KEYS: Record<string, (ticket: Ticket) => string | number | null> = {
  created_at: ({ id }) => id,
  updated_at: ({ updated_at }) => updated_at,
  priority: ({ priority }) => -PRIORITIES.indexOf(priority),
  last_message_at: ({ last_message }) => last_message?.id ?? null,
  waiting_since: ({ waiting_since }) => waiting_since,
  due_at: ({ sla }) => sla?.due_at ?? null,
}

/** Orders two tickets as the service does: without a value they come last, whichever way the list goes. */
export function compare(one: Ticket, other: Ticket, sort: string): number {
  const key = KEYS[sort.replace('-', '')] ?? KEYS.created_at!
  const direction = sort.startsWith('-') ? -1 : 1
  const [a, b] = [key(one), key(other)]
  if (a !== b && (a === null || b === null)) return a === null ? 1 : -1
  if (a !== b) return a! < b! ? -direction : direction
  return one.id < other.id ? -direction : direction
}

/** Filters by messages, marks, drafts and promises. No event tells of these for tickets that are not shown. */
const UNTOLD = ['unread', 'waiting', 'has_draft', 'sla']

/** Tells if events alone keep the total of a list. */
export function isCountKept(filter: Record<string, string>): boolean {
  return !UNTOLD.some((name) => filter[name])
}
