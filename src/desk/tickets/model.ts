import { type Static, type TObject, Type } from '@sinclair/typebox'
import { withoutHeldPictures } from '../../base/html/image-addresses'
import { Instant, orNull, PageMeta, TicketCode, Uuid } from '../../base/shapes/answers'
import { body, flag, IdInput, IdsInput, oneOf, optional, text } from '../../base/shapes/fields'
import { Paging, queryId, queryWithCustom, queryWord } from '../../base/shapes/query'
import { formatInput, Message, MOST_CHARACTERS } from '../messages/model'
import { Sla } from '../promises/model'
import { TicketTimeEntry } from '../time-entries/model'
import { TURN } from '../turn/model'
import { FILTER_FIELDS, TICKET_FILTERS } from './conditions'
import { TICKET_SORTS } from './order'
import { CHANGES, INPUTS, SHOWN } from './ticket-fields'

/** A ticket in lists, in the answers of writes and in events. */
export const Ticket = Type.Object({
  id: Uuid,
  code: TicketCode,
  ...SHOWN,
  merged_into: orNull(Type.Object({ id: Uuid, code: TicketCode }), {
    description: 'The ticket that has its messages and time since a merge; then nothing of this one can be changed',
  }),
  split_from: orNull(Type.Object({ id: Uuid, code: TicketCode }), {
    description: 'The ticket that its first messages were taken from',
  }),
  sla: Sla,
  ...TURN,
  unread: orNull(Type.Boolean(), {
    description:
      'Somebody else has written since the caller has read it, or it was given messages by a merge. Never read: it is ' +
      "the caller's or nobody's, and its newest message younger than 90 days. Null for API keys and in events",
  }),
  read_to: orNull(Uuid, {
    description: 'The last message or note that the caller has read. Null as `unread`, or none',
  }),
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

/** The query of the list, with its order and its page. */
export const TicketQuery = queryWithCustom({
  ...TICKET_FILTERS,
  view_id: queryId({ not_found: 'VIEW_NOT_FOUND', description: 'A view, of which given parameters replace others' }),
  sort: queryWord(TICKET_SORTS, { description: 'Default -created_at' }),
  ...Paging,
})
export type TicketQuery = typeof TicketQuery.static
export type TicketFilter = Omit<TicketQuery, 'view_id'>

const { subject, contact_id: contact_of_new, ...inputs } = INPUTS
export const NEW_TICKET = {
  subject,
  description: optional(
    text({
      max: MOST_CHARACTERS,
      trim: false,
      description: 'The first message; blank: none. Pictures as in a message',
      measured: withoutHeldPictures,
    }),
  ),
  description_format: formatInput(),
  contact_id: contact_of_new,
  ...inputs,
}
export type NewTicket = Static<TObject<typeof NEW_TICKET>>

/** These are of one ticket alone. */
const { contact_id, external_id, ...changes } = CHANGES
export const TicketChanges = body({ ...changes, contact_id, external_id })
export type TicketChanges = typeof TicketChanges.static

/** A change of a ticket: the fields of a PATCH, and labels one by one. No label is both added and removed. */
export type TicketUpdate = TicketChanges & { add_label_ids?: string[]; remove_label_ids?: string[] }

export const TicketLabels = body({ label_ids: IdsInput({ not_found: 'LABEL_NOT_FOUND' }) })

const BulkFilter = body(FILTER_FIELDS, {
  description: 'At least one filter of the list: 100 tickets that match, newest first',
})

/** Refuses unknown filters: without them more tickets would be changed. */
function judgeFilter({ filter }: Record<string, unknown>) {
  if (typeof filter !== 'object' || filter === null) return []
  const unknown = Object.keys(filter).filter((name) => !Object.hasOwn(FILTER_FIELDS, name))
  return unknown.map((name) => ({
    path: `/filter/${name}`,
    code: 'VALIDATION_ERROR' as const,
    message: 'is no filter',
  }))
}

export const BulkChange = body(
  {
    ids: optional(
      Type.Array(Type.String({ fault: 'must be an id' }), {
        minItems: 1,
        maxItems: 100,
        fault: 'must be a list of 1 to 100 ids',
        description: 'Of tickets. Either these or `filter`',
      }),
    ),
    filter: optional(BulkFilter),
    cursor: optional(
      text({ max: 10_000, description: '`meta.next_cursor` of the call before, with the same `filter`' }),
    ),
    changes: body(
      {
        ...changes,
        add_label_ids: optional(IdsInput({ not_found: 'LABEL_NOT_FOUND', description: 'Without `label_ids`' })),
        remove_label_ids: optional(IdsInput({ not_found: 'LABEL_NOT_FOUND', description: 'Without `label_ids`' })),
      },
      { description: 'At least one' },
    ),
    dry_run: optional(flag({ description: 'Answers the same and changes nothing. Default false' })),
  },
  { whole: judgeFilter },
)
export type BulkChange = typeof BulkChange.static

const RESULTS = ['changed', 'unchanged', 'failed'] as const

export const BulkResult = Type.Object({
  data: Type.Array(
    Type.Object({
      id: Type.String({ description: 'As given, when it names no ticket' }),
      code: orNull(TicketCode, { description: 'Null: there is no such ticket' }),
      result: oneOf(RESULTS, { description: '`unchanged`: it was so already' }),
      error: orNull(
        Type.Object({
          code: Type.String({
            description: 'As a PATCH would answer; `SERVICE_UNAVAILABLE`: not reached in 25 seconds',
          }),
          message: Type.String({ description: 'For people' }),
          details: Type.Record(Type.String(), Type.Unknown(), { description: 'As of the error of a PATCH' }),
        }),
        { description: 'Of what failed' },
      ),
    }),
    { description: 'One for each ticket, in the order of `ids` or of the list' },
  ),
  meta: Type.Object({
    changed: Type.Integer({ description: 'Tickets that were changed' }),
    unchanged: Type.Integer({ description: 'Tickets that were so already' }),
    failed: Type.Integer({ description: 'Tickets with an error' }),
    next_cursor: orNull(Type.String({ description: 'Leads on to the tickets that match and were not in this call' })),
  }),
})
export type BulkResult = typeof BulkResult.static

export const Assignment = body({ assignee_id: IdInput({ not_found: 'USER_NOT_FOUND' }) })
