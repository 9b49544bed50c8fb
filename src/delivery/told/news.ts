/** Reads out of events what members may want to be told by mail. Pure. */
import { addressKey } from '../../base/address/email'
import type { NOTIFY_REASONS } from '../../base/db/schema'
import type { Actor } from '../../base/scope'
import { personId } from '../../http/request/permissions'

type Reason = (typeof NOTIFY_REASONS)[number]

/** Tells if any members of an organization want letters, and if any want those of tickets without an assignee. */
export type Readers = { any: boolean; of_unassigned: boolean }

/** A thing to tell of a ticket. */
export type News = {
  reason: Reason
  ticket_id: string
  message_id: string | null
  /** The member that it is about; null: those that the reason finds. */
  user_id: string | null
  /** The member who did it, and is not told. */
  by_id: string | null
  /** The key of the address that wrote it: a member who has it is not told. */
  by_key: string | null
  /** A machine wrote it. Nobody is told of one at a member's address: two of them would never stop. */
  is_automatic: boolean
}

type Told = { type: string; data: unknown }

/** The fields of an event's data that are read. */
type Data = {
  id: string
  ticket?: { id: string }
  assignee?: { id: string } | null
  direction?: 'inbound' | 'outbound' | null
  mentions?: { id: string }[]
  sender?: { email: string | null }
  auto_reply?: boolean
}

/** Events of one change. `actor` goes before the scope's. */
type Change = { events: Told[]; audience: { members: Readers }; actor?: Actor }

/** @returns what concerns members, if some want letters */
export function newsOf(scope: { actor: Actor }, changes: Change[]): News[] {
  return changes.flatMap(({ events, audience, actor = scope.actor }) => {
    if (!audience.members.any) return []
    const written = events.filter(({ type }) => type === 'message.created').map(({ data }) => data as Data)
    const inbound = written.find(({ direction }) => direction === 'inbound')
    const by = {
      by_id: personId({ actor }),
      by_key: inbound?.sender?.email ? addressKey(inbound.sender.email) : null,
      is_automatic: inbound?.auto_reply ?? false,
    }
    const is_unassigned = events.some(({ type, data }) => type === 'ticket.created' && !(data as Data).assignee)
    return events.flatMap(({ type, data }): News[] => {
      const { id, ticket, assignee, direction, mentions = [] } = data as Data
      if (type === 'ticket.assigned' && assignee && assignee.id !== by.by_id) {
        return [{ reason: 'assigned', ticket_id: id, message_id: null, user_id: assignee.id, ...by }]
      }
      if (type === 'ticket.created' && is_unassigned && audience.members.of_unassigned) {
        return [{ reason: 'new_unassigned', ticket_id: id, message_id: inbound?.id ?? null, user_id: null, ...by }]
      }
      if (type !== 'message.created' || !ticket) return []
      const on = { ticket_id: ticket.id, message_id: id, ...by }
      if (direction === 'inbound') return is_unassigned ? [] : [{ reason: 'reply_on_mine', user_id: null, ...on }]
      return mentions.map(({ id: user_id }) => ({ reason: 'mentioned', user_id, ...on }))
    })
  })
}
