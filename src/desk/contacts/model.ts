import { Type } from '@sinclair/typebox'
import { isEmailAddress } from '../../base/address/email'
import { Instant, orNull, TicketCode, Uuid } from '../../base/shapes/answers'
import { body, IdInput, nullable, optional, text } from '../../base/shapes/fields'
import { Paging, query, queryId, queryText, queryWord } from '../../base/shapes/query'

/** Columns to sort by, `-` for descending. */
const CONTACT_SORTS = ['created_at', '-created_at', 'updated_at', '-updated_at', 'name', '-name'] as const
export type ContactSort = (typeof CONTACT_SORTS)[number]

const name = text({ min: 1, max: 255 })
const email = text({
  max: 254,
  rule: isEmailAddress,
  code: 'INVALID_EMAIL',
  description: 'Unique without regard to case, and to whether an international domain is Punycode',
})
const phone = text({ max: 64 })
const notes = text({ max: 10_000, trim: false })

export const Contact = Type.Object({
  id: Uuid,
  name: Type.String(),
  email: Type.String(),
  phone: orNull(Type.String({ description: 'As given, without spaces around it' })),
  company: orNull(Type.Object({ id: Uuid, name: Type.String() }, { description: 'Null: linked to none' })),
  notes: orNull(Type.String({ description: 'For the team only' })),
  ticket_count: Type.Integer({ description: 'Without deleted tickets' }),
  created_at: Instant,
  updated_at: Instant,
})
export type Contact = typeof Contact.static

export const RecentTicket = Type.Object({ id: Uuid, code: TicketCode, subject: Type.String() })

/** The single contact's answer, and the `data` of its events. */
export const ContactWithTickets = Type.Composite([
  Contact,
  Type.Object({
    recent_tickets: Type.Array(RecentTicket, { description: 'The newest 10' }),
    total_tickets: Type.Integer({ description: 'Without deleted tickets' }),
  }),
])
export type ContactWithTickets = typeof ContactWithTickets.static

export const ContactFilter = query({
  search: queryText({ description: 'Part of the name or email, without regard to case and accents' }),
  company_id: queryId(),
  email: queryText({ description: 'The exact email, without regard to case' }),
  sort: queryWord(CONTACT_SORTS, { description: 'Default -created_at' }),
  ...Paging,
})
export type ContactFilter = typeof ContactFilter.static

export const NewContact = body({
  name,
  email,
  phone: optional(phone),
  company_id: optional(
    nullable(
      IdInput({
        not_found: 'COMPANY_NOT_FOUND',
        description: 'Absent: linked by the domain of the email; null: no link',
      }),
    ),
  ),
  notes: optional(notes),
})
export type NewContact = typeof NewContact.static

export const ContactChanges = body({
  name: optional(name),
  email: optional(email),
  phone: optional(nullable(phone)),
  company_id: optional(nullable(IdInput({ not_found: 'COMPANY_NOT_FOUND' }))),
  notes: optional(nullable(notes)),
})
export type ContactChanges = typeof ContactChanges.static
