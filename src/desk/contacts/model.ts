import { Type } from '@sinclair/typebox'
import { isEmailAddress } from '../../base/address/email'
import { Instant, orNull, TicketCode, Uuid } from '../../base/shapes/answers'
import { externalIdBeside, externalIdFilter, externalIdInput } from '../../base/shapes/external-id'
import { body, IdInput, nullable, optional, text } from '../../base/shapes/fields'
import { Paging, queryId, queryText, queryWithCustom, queryWord } from '../../base/shapes/query'
import { Custom, CustomChanges, CustomInput } from '../custom/model'

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
/** Addresses of one contact. */
export const MAX_ADDRESSES = 20
const address = text({ max: 254, rule: isEmailAddress, code: 'INVALID_EMAIL' })
const addresses = (minItems: number, description: string) =>
  Type.Array(address, {
    minItems,
    maxItems: MAX_ADDRESSES,
    code: 'INVALID_EMAIL',
    fault: `must be a list of at most ${MAX_ADDRESSES} email addresses`,
    description,
  })
const phone = text({ max: 64 })
const notes = text({ max: 10_000, trim: false })

export const Contact = Type.Object({
  id: Uuid,
  name: Type.String(),
  email: Type.String({ description: 'The primary address' }),
  emails: Type.Array(Type.String(), { description: 'All addresses, the primary one first' }),
  phone: orNull(Type.String({ description: 'As given, without spaces around it' })),
  company: orNull(Type.Object({ id: Uuid, name: Type.String() }, { description: 'Null: linked to none' })),
  notes: orNull(Type.String({ description: 'For the team only' })),
  external_id: orNull(Type.String({ description: 'Its id in another system' })),
  custom: Custom,
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

export const ContactFilter = queryWithCustom({
  search: queryText({ description: 'Part of the name or of an address, without regard to case and accents' }),
  company_id: queryId(),
  email: queryText({ description: 'One of the addresses exactly, without regard to case' }),
  external_id: externalIdFilter,
  sort: queryWord(CONTACT_SORTS, { description: 'Default -created_at' }),
  ...Paging,
})
export type ContactFilter = typeof ContactFilter.static

export const NewContact = body({
  name,
  email,
  emails: optional(addresses(0, 'More addresses, in their order')),
  phone: optional(phone),
  company_id: optional(
    nullable(
      IdInput({
        not_found: 'COMPANY_NOT_FOUND',
        description: 'Absent: linked by the domain of the first address that has one; null: no link',
      }),
    ),
  ),
  notes: optional(notes),
  external_id: optional(externalIdInput),
  custom: CustomInput,
})
export type NewContact = typeof NewContact.static

const changes = {
  name: optional(name),
  email: optional(email),
  emails: optional(addresses(1, 'Replaces all addresses; the first is the primary one unless `email` says which')),
  phone: optional(nullable(phone)),
  company_id: optional(nullable(IdInput({ not_found: 'COMPANY_NOT_FOUND' }))),
  notes: optional(nullable(notes)),
  custom: CustomChanges,
}
export const ContactChanges = body({ ...changes, external_id: optional(nullable(externalIdInput)) })
export type ContactChanges = typeof ContactChanges.static

/** The contact with an external id: changes of it, or a new one, which needs `name` and `email`. */
export const ContactByExternalId = body({ ...changes, external_id: externalIdBeside })
export type ContactByExternalId = typeof ContactByExternalId.static

export const ContactMerge = body({
  source_ids: Type.Array(Type.String({ fault: 'must be an id' }), {
    minItems: 1,
    maxItems: 20,
    fault: 'must be a list of 1 to 20 ids',
    not_found: 'CONTACT_NOT_FOUND',
    description: 'Contacts that are the same person: their tickets and addresses become those of this one',
  }),
})
export type ContactMerge = typeof ContactMerge.static
