import { Type } from '@sinclair/typebox'
import { TICKET_PRIORITIES, TICKET_STATUSES } from '../../base/db/schema'
import { Instant, orNull, PageMeta, TicketCode, Uuid } from '../../base/shapes/answers'
import { body, IdInput, IdsInput, nullable, oneOf, optional, text } from '../../base/shapes/fields'
import { Paging, query, queryId, queryIds, queryInstant, queryText, queryWord } from '../../base/shapes/query'
import { Message } from '../messages/model'
import { TicketTimeEntry } from '../time-entries/model'
import type { TicketStatus } from './status'

/** Columns to sort by, `-` for descending. */
const TICKET_SORTS = ['created_at', '-created_at', 'updated_at', '-updated_at', 'priority', '-priority'] as const
export type TicketSort = (typeof TICKET_SORTS)[number]

const subject = text({ min: 1, max: 255 })
const status = oneOf(TICKET_STATUSES, { code: 'INVALID_STATUS' })
const priority = oneOf(TICKET_PRIORITIES, { code: 'INVALID_PRIORITY' })

/** A ticket in lists, in the answers of writes and in events. */
export const Ticket = Type.Object({
  id: Uuid,
  code: TicketCode,
  subject: Type.String(),
  status: oneOf(TICKET_STATUSES, { description: 'From closed only to open, from resolved not to pending' }),
  priority: oneOf(TICKET_PRIORITIES, { description: 'Of the work; `normal` when none is given' }),
  contact: orNull(Type.Object({ id: Uuid, name: Type.String(), email: Type.String() }), {
    description: 'Who submitted it; null once the contact is deleted',
  }),
  company: orNull(Type.Object({ id: Uuid, name: Type.String() }), { description: "The contact's" }),
  assignee: orNull(Type.Object({ id: Uuid, name: Type.String() }), { description: 'Who works on it' }),
  labels: Type.Array(
    Type.Object({ id: Uuid, name: Type.String(), color: Type.String({ description: 'Hex colour code #RRGGBB' }) }),
    { description: 'By name' },
  ),
  created_at: Instant,
  updated_at: Instant,
})
export type Ticket = typeof Ticket.static

export const TicketWithMessages = Type.Composite([
  Ticket,
  Type.Object({
    messages: Type.Array(Message, { description: 'Oldest first, with internal notes' }),
    time_entries: Type.Array(TicketTimeEntry, { description: 'The latest day first' }),
  }),
])
export type TicketWithMessages = typeof TicketWithMessages.static

export const TicketListMeta = Type.Composite([
  PageMeta,
  Type.Object({
    total_is_exact: Type.Optional(
      Type.Boolean({
        description:
          'False when more tickets may match a search or several filters than `total` counts; absent with `cursor`',
      }),
    ),
  }),
])
export type TicketListMeta = typeof TicketListMeta.static

/** The conditions of a ticket list: it shows the tickets for which all given ones hold. */
export type TicketConditions = {
  status?: TicketStatus
  priority?: (typeof TICKET_PRIORITIES)[number]
  assignee_id?: string
  contact_id?: string
  company_id?: string
  /** Any of them. */
  label_ids?: string[]
  search?: string
  /** In milliseconds since 1970; exclusive, like `created_before`. */
  created_after?: number
  created_before?: number
}

/** The conditions as a query spells them, with the order and the page of the list. */
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
  contact_id: IdInput({ not_found: 'CONTACT_NOT_FOUND', description: 'The contact who submitted the ticket' }),
  priority: optional(priority),
  assignee_id: optional(IdInput({ not_found: 'USER_NOT_FOUND' })),
  label_ids: optional(IdsInput({ not_found: 'LABEL_NOT_FOUND' })),
})
export type NewTicket = typeof NewTicket.static

export const TicketChanges = body({
  subject: optional(subject),
  status: optional(status),
  priority: optional(priority),
  assignee_id: optional(nullable(IdInput({ not_found: 'USER_NOT_FOUND', description: 'Null: unassigns' }))),
  label_ids: optional(IdsInput({ not_found: 'LABEL_NOT_FOUND', description: 'Replaces all labels' })),
})
export type TicketChanges = typeof TicketChanges.static

export const TicketLabels = body({ label_ids: IdsInput({ not_found: 'LABEL_NOT_FOUND' }) })

export const Assignment = body({ assignee_id: IdInput({ not_found: 'USER_NOT_FOUND' }) })
