/** Orders of ticket lists by what follows from messages, told once for their indexes and for statements. */
import { ZERO_ID } from '../columns'

/** Comes behind all other ids. */
export const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** A ticket without a message comes last, whichever way the list is sorted. */
const NONE = { asc: LAST_ID, desc: ZERO_ID }

type Direction = keyof typeof NONE

/** Names, for each sort, the message that the time is taken from. @param of the columns, such as `t.` */
const MESSAGES = {
  last_message_at: (of: string) => `${of}last_message_id`,
  waiting_since: (of: string) => `case when ${of}status in ('open', 'pending') then ${of}waiting_message_id end`,
}

/** SQL for the value that a list is sorted by. @param of the columns, such as `t.` */
export function messageKey(sort: keyof typeof MESSAGES, direction: Direction, of = ''): string {
  return `coalesce(${MESSAGES[sort](of)}, '${NONE[direction]}'::uuid)`
}

/** A ticket without a promise that runs comes last, whichever way the list is sorted. */
const NEVER = { asc: 'infinity', desc: '-infinity' }

/** SQL for the time that a list is sorted by which shows what is due. @param of the columns, such as `t.` */
export function dueKey(direction: Direction, of = ''): string {
  return `coalesce(${of}sla_due_at, '${NEVER[direction]}'::timestamptz)`
}

/** The indexes of these sorts, in both directions: their names, and the values that they are sorted by. */
export const SORT_INDEXES = (Object.keys(NONE) as Direction[]).flatMap((direction) => [
  ...(Object.keys(MESSAGES) as (keyof typeof MESSAGES)[]).map((sort) => {
    return { name: `tickets_${sort}_${direction}`, key: messageKey(sort, direction) }
  }),
  { name: `tickets_due_at_${direction}`, key: dueKey(direction) },
])
