/** The answers of the export and the erasure of a person. */
import { Type } from '@sinclair/typebox'
import { LEDGER_OUTCOMES, SENDER_RULE_ACTIONS, TICKET_PRIORITIES, TICKET_STATUSES } from '../../base/db/schema'
import { Day, Instant, orNull, TicketCode, Uuid } from '../../base/shapes/answers'
import { oneOf } from '../../base/shapes/fields'
import { Custom } from '../custom/model'
import { Draft } from '../drafts/model'
import { Message } from '../messages/model'
import { Rating } from '../ratings/model'
import { Ticket } from '../tickets/model'
import { PLAIN } from '../tickets/ticket-fields'

const text = (description: string) => orNull(Type.String({ description }))

const PersonTicket = Type.Object({
  id: Uuid,
  code: TicketCode,
  ...Type.Pick(Ticket, PLAIN).properties,
  status: oneOf(TICKET_STATUSES, { description: 'As of the ticket' }),
  priority: oneOf(TICKET_PRIORITIES, { description: 'As of the ticket' }),
  rating: orNull(Rating, { description: 'By the person' }),
  created_at: Instant,
  updated_at: Instant,
  deleted_at: orNull(Instant, { description: 'Hidden since then, and not removed for good yet' }),
})
export type PersonTicket = typeof PersonTicket.static

const PersonMessage = Type.Composite([Type.Object({ ticket_id: Uuid }), Message])
export type PersonMessage = typeof PersonMessage.static

const PersonTime = Type.Object({
  id: Uuid,
  ticket_id: Uuid,
  date: Day,
  duration_minutes: Type.Integer({ description: 'Time of the work' }),
  description: text('What was done'),
})
export type PersonTime = typeof PersonTime.static

const PersonParticipation = Type.Object({
  ticket_id: Uuid,
  name: text('Null: not known'),
  email: Type.String(),
  confirmed: Type.Boolean({ description: 'Only confirmed participants get public replies' }),
  created_at: Instant,
})
export type PersonParticipation = typeof PersonParticipation.static

const PersonMail = Type.Object({
  id: Uuid,
  ticket_id: orNull(Uuid),
  received_at: Instant,
  from_name: text('The display name'),
  from_email: text('Null: there is no usable address'),
  envelope_sender: Type.String({ description: 'Empty for reports and for imports' }),
  recipients: Type.Array(Type.String(), { description: 'Addresses of the envelope, of To and Cc' }),
  subject: text('As sent'),
  size: Type.Integer({ description: 'Bytes of the original' }),
  outcome: oneOf(LEDGER_OUTCOMES, { description: 'As of the inbound message' }),
  remote_address: text('IP address of the server that delivered it'),
  helo: text('What that server called itself'),
  email_message_id: text('Without angle brackets'),
})
export type PersonMail = typeof PersonMail.static

/** All that is kept of a person. */
const PersonRule = Type.Object({
  sender: Type.String({ description: 'An address of the person' }),
  action: oneOf(SENDER_RULE_ACTIONS, { description: 'What becomes of mail from there' }),
  created_at: Instant,
})
export type PersonRule = typeof PersonRule.static

export const Person = Type.Object({
  contact: Type.Object(
    {
      id: Uuid,
      name: Type.String(),
      email: Type.String(),
      emails: Type.Array(Type.String(), { description: 'All addresses, the primary one first' }),
      phone: text('As given'),
      notes: text('For the team only'),
      external_id: text('Its id in another system'),
      custom: Custom,
      created_at: Instant,
      updated_at: Instant,
    },
    { description: 'The contact itself' },
  ),
  tickets: Type.Array(PersonTicket, { description: 'Hidden ones too' }),
  messages: Type.Array(PersonMessage, {
    description: 'All of these tickets, notes too, and what the person wrote in others',
  }),
  drafts: Type.Array(Draft, { description: 'Of answers in these tickets, without hidden ones' }),
  time_entries: Type.Array(PersonTime, { description: 'Work on these tickets' }),
  participations: Type.Array(PersonParticipation, { description: 'Tickets in which the person takes part' }),
  inbound_messages: Type.Array(PersonMail, { description: 'The mail ledger of the person and of these tickets' }),
  sender_rules: Type.Array(PersonRule, { description: 'What holds or lets pass the mail of the person' }),
})
export type Person = typeof Person.static

export const Erasure = Type.Object({
  tickets: Type.Integer({ description: 'Tickets of the contact' }),
  messages: Type.Integer({ description: 'Messages whose text was erased' }),
  attachments: Type.Integer({ description: 'Files that were removed' }),
})
export type Erasure = typeof Erasure.static
