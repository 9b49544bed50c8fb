/** The `data` of each event, for the OpenAPI document: the resource as the API returns it, and what its type adds. */
import { type TObject, type TSchema, Type } from '@sinclair/typebox'
import { type EVENTS, PROMISE_METRICS } from './base/db/schema'
import { Instant, TicketCode, Uuid } from './base/shapes/answers'
import { oneOf } from './base/shapes/fields'
import { CompanyWithDetails } from './desk/companies/model'
import { ContactWithTickets } from './desk/contacts/model'
import { LabelWithUsage } from './desk/labels/model'
import { MessageOfTicket } from './desk/messages/model'
import { Ticket } from './desk/tickets/model'
import { TimeEntry } from './desk/time-entries/model'
import { InboundMessage } from './mail/inbound-messages/model'

const id = Type.Object({ id: Uuid })
const refs = Type.Object({ id: Uuid, code: TicketCode, subject: Type.String() })
const ids = (description: string) => Type.Array(Uuid, { description })
const moved = Type.Object(
  { message_ids: ids('Messages that moved'), time_entry_ids: ids('Time that moved') },
  { description: 'What moved, which has no events of its own' },
)
const sources = Type.Array(refs, { description: 'The tickets that were merged, or are no more' })
const change = Type.Object({ from: Type.Any({ description: 'Before' }), to: Type.Any({ description: 'After' }) })
const changes = Type.Record(Type.String(), change, { description: 'Each field that changed; of `custom` only those' })
const counts = Type.Object({
  created: Type.Integer({ description: 'Rows that were made' }),
  updated: Type.Integer({ description: 'Rows that were changed' }),
})

const promise = Type.Object(
  {
    metric: oneOf(PROMISE_METRICS, { description: 'What was promised' }),
    due_at: { ...Instant, description: 'When it is due, or was' },
  },
  { description: 'The promise that it is about' },
)

const also = (model: TObject, more: Parameters<typeof Type.Object>[0]) => Type.Intersect([model, Type.Object(more)])

export const EVENT_MODELS: Record<(typeof EVENTS)[number], TSchema> = {
  'ticket.created': Ticket,
  'ticket.updated': also(Ticket, { changes }),
  'ticket.deleted': Ticket,
  'ticket.assigned': Ticket,
  'ticket.status_changed': also(Ticket, {
    previous_status: { ...Ticket.properties.status, description: 'Before the change' },
  }),
  'ticket.erased': id,
  'ticket.merged': also(Ticket, { sources, moved }),
  'ticket.unmerged': also(Ticket, { sources, moved }),
  'ticket.split': also(Ticket, { new_ticket: refs, message_ids: ids('Its first messages'), moved }),
  'ticket.rated': Ticket,
  'ticket.sla_due_soon': also(Ticket, { promise }),
  'ticket.sla_breached': also(Ticket, { promise }),
  'message.created': MessageOfTicket,
  'message.deleted': MessageOfTicket,
  'message.email_sent': MessageOfTicket,
  'message.email_failed': MessageOfTicket,
  'message.email_bounced': MessageOfTicket,
  'message.erased': Type.Object({ id: Uuid, ticket: id }),
  'contact.created': ContactWithTickets,
  'contact.updated': ContactWithTickets,
  'contact.deleted': Type.Union([
    also(ContactWithTickets, { merged_into: Type.Optional(id) }),
    // An erasure leaves no more.
    id,
  ]),
  'company.created': CompanyWithDetails,
  'company.updated': CompanyWithDetails,
  'company.deleted': CompanyWithDetails,
  'label.created': LabelWithUsage,
  'label.updated': LabelWithUsage,
  'label.deleted': LabelWithUsage,
  'time_entry.created': TimeEntry,
  'time_entry.updated': TimeEntry,
  'time_entry.deleted': TimeEntry,
  'inbound_message.filed': InboundMessage,
  'organization.imported': Type.Record(Type.String(), counts, { description: 'By kind of row' }),
  'test.ping': Type.Object({ webhook_id: Uuid }),
}
