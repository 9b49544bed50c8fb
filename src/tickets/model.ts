import { Type } from '@sinclair/typebox'
import { ACTOR_TYPES, TICKET_PRIORITIES, TICKET_STATUSES } from '../db/schema'
import { Message } from '../messages/model'
import {
  body,
  IdInput,
  IdsInput,
  Instant,
  nullable,
  oneOf,
  optional,
  orNull,
  Paging,
  query,
  queryId,
  queryIds,
  queryInstant,
  queryText,
  queryWord,
  text,
  Uuid,
} from '../model'
import { TicketTimeEntry } from '../time-entries/model'

/** A column to sort by, `-` for descending; equal ones follow by creation in the same direction. */
export const TICKET_SORTS = ['created_at', '-created_at', 'updated_at', '-updated_at', 'priority', '-priority'] as const

const subject = text({ min: 1, max: 255 })
const status = oneOf(TICKET_STATUSES, { code: 'INVALID_STATUS' })
const priority = oneOf(TICKET_PRIORITIES, { code: 'INVALID_PRIORITY' })

/** A ticket in lists, in the answers of writes and in events. */
export const Ticket = Type.Object({
  id: Uuid,
  code: Type.String({ description: 'Prefix of the organization and number', examples: ['ACME-42'] }),
  subject: Type.String(),
  status: oneOf(TICKET_STATUSES),
  priority: oneOf(TICKET_PRIORITIES),
  contact: orNull(Type.Object({ id: Uuid, name: Type.String(), email: Type.String() })),
  company: orNull(Type.Object({ id: Uuid, name: Type.String() })),
  assignee: orNull(Type.Object({ id: Uuid, name: Type.String() })),
  labels: Type.Array(Type.Object({ id: Uuid, name: Type.String(), color: Type.String() })),
  created_at: Instant,
  updated_at: Instant,
})
export type Ticket = typeof Ticket.static

export const TicketWithMessages = Type.Composite([
  Ticket,
  Type.Object({ messages: Type.Array(Message), time_entries: Type.Array(TicketTimeEntry) }),
])
export type TicketWithMessages = typeof TicketWithMessages.static

export const TicketFilter = query({
  status: queryWord(TICKET_STATUSES, { code: 'INVALID_STATUS' }),
  priority: queryWord(TICKET_PRIORITIES, { code: 'INVALID_PRIORITY' }),
  assignee_id: queryId(),
  contact_id: queryId(),
  company_id: queryId(),
  label_ids: queryIds({ description: 'Tickets with any of these labels, separated by commas' }),
  search: queryText({
    description:
      'Subject and messages: all words must match, "words in quotes" as a phrase, the last word also as a prefix; or a ticket code',
  }),
  created_after: queryInstant({ description: 'Exclusive' }),
  created_before: queryInstant({ description: 'Exclusive' }),
  sort: queryWord(TICKET_SORTS, { description: 'Default -created_at' }),
  ...Paging,
})
export type TicketFilter = typeof TicketFilter.static

export const NewTicket = body({
  subject,
  description: optional(text({ max: 1_000_000, trim: false, description: 'The first message; blank: none' })),
  contact_id: IdInput({ description: 'The contact who submitted the ticket' }),
  priority: optional(priority),
  assignee_id: optional(IdInput()),
  label_ids: optional(IdsInput()),
})
export type NewTicket = typeof NewTicket.static

export const TicketChanges = body({
  subject: optional(subject),
  status: optional(status),
  priority: optional(priority),
  assignee_id: optional(nullable(IdInput({ description: 'Null: unassigns' }))),
  label_ids: optional(IdsInput({ description: 'Replaces all labels' })),
})
export type TicketChanges = typeof TicketChanges.static

export const TicketLabels = body({ label_ids: IdsInput() })

export const Assignment = body({ assignee_id: IdInput() })

export const ActivityPage = query(Paging)

/** An entry of the timeline; the types and their data are in `tickets/activity.ts`. */
export const Activity = Type.Object({
  id: Uuid,
  type: Type.String(),
  actor: Type.Object({ type: oneOf(ACTOR_TYPES), id: orNull(Uuid), name: orNull(Type.String()) }),
  data: Type.Record(Type.String(), Type.Unknown()),
  created_at: Instant,
})
export type Activity = typeof Activity.static
