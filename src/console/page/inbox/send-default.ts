/** The status that "Send" sets, as each person chooses. */
import type { Ticket } from '../../../desk/tickets/model'
import { keptChoice } from '../kept-choice'
import { NEXT } from './choices'
import type { NextStatus } from './sending'

/** `open`: the status stays as it is. */
export const WAYS = ['open', 'pending', 'resolved'] as const
export type Way = (typeof WAYS)[number]

export const useSendDefault = keptChoice<Way>('sends', WAYS)

/** The status that a way sets on a ticket; undefined when it stays. */
export function statusOf(way: Way, { status }: Ticket): NextStatus | undefined {
  return way === 'open' || way === status || !NEXT[status].includes(way) ? undefined : way
}
