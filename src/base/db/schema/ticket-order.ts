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

/** The sorts in both directions. */
export const MESSAGE_SORTS = (Object.keys(MESSAGES) as (keyof typeof MESSAGES)[]).flatMap((sort) =>
  (Object.keys(NONE) as Direction[]).map((direction) => ({ sort, direction })),
)
