import { Type } from '@sinclair/typebox'
import { toDomain } from '../../base/address/domains'
import { Instant, orNull, Uuid } from '../../base/shapes/answers'
import { externalIdBeside, externalIdFilter, externalIdInput } from '../../base/shapes/external-id'
import { body, nullable, optional, text } from '../../base/shapes/fields'
import { currencyInput, rateInput, ticketPrefixInput } from '../../base/shapes/money'
import { Paging, queryText, queryWithCustom } from '../../base/shapes/query'
import { RecentTicket } from '../contacts/model'
import { Custom, CustomChanges, CustomInput } from '../custom/model'

const name = text({ min: 1, max: 255 })
const domain = text({
  max: 10_000,
  rule: (value) => toDomain(value.trim()) !== undefined,
  code: 'INVALID_DOMAIN',
  fault: 'must be a domain such as example.com',
})
const domains = Type.Array(domain, {
  maxItems: 20,
  code: 'INVALID_DOMAIN',
  fault: 'must be a list of at most 20 domains',
  description: 'Contacts with an email at one of them, or below, are linked when they are created',
})
const currency = currencyInput({ description: "Default: the organization's" })
const ticket_prefix = ticketPrefixInput({ description: "Overrides the organization's" })
const notes = text({ max: 10_000, trim: false })

export const Company = Type.Object({
  id: Uuid,
  name: Type.String(),
  domains: Type.Array(Type.String(), {
    description: 'New contacts with an email at one of them, or below, are linked to the company',
  }),
  hourly_rate: orNull(
    Type.Number({ description: "Of time on its tickets; null: the user's, else the organization's" }),
  ),
  currency: Type.String({ description: 'ISO 4217 code, of the hourly rate' }),
  ticket_prefix: orNull(Type.String({ description: "Of its tickets' codes; null: the organization's" })),
  notes: orNull(Type.String({ description: 'For the team only' })),
  external_id: orNull(Type.String({ description: 'Its id in another system' })),
  custom: Custom,
  contact_count: Type.Integer({ description: 'Contacts that are linked now' }),
  ticket_count: Type.Integer({ description: 'Without deleted tickets' }),
  created_at: Instant,
  updated_at: Instant,
})
export type Company = typeof Company.static

/** The single company's answer. */
export const CompanyWithDetails = Type.Composite([
  Company,
  Type.Object({
    contacts: Type.Array(Type.Object({ id: Uuid, name: Type.String(), email: Type.String() }), {
      description: 'Newest first, at most 1,000; `GET /contacts?company_id=` has them all',
    }),
    recent_tickets: Type.Array(RecentTicket, { description: 'The newest 10' }),
    total_tickets: Type.Integer({ description: 'Without deleted tickets' }),
    total_time_minutes: Type.Integer({ description: 'With the time that was logged on deleted tickets' }),
  }),
])
export type CompanyWithDetails = typeof CompanyWithDetails.static

export const CompanyFilter = queryWithCustom({
  search: queryText({ description: 'Part of the name or of a domain, without regard to case' }),
  external_id: externalIdFilter,
  ...Paging,
})
export type CompanyFilter = typeof CompanyFilter.static

export const NewCompany = body({
  name,
  domains: optional(domains),
  hourly_rate: optional(rateInput()),
  currency: optional(currency),
  ticket_prefix: optional(ticket_prefix),
  notes: optional(notes),
  external_id: optional(externalIdInput),
  custom: CustomInput,
})
export type NewCompany = typeof NewCompany.static

const changes = {
  name: optional(name),
  domains: optional(domains),
  hourly_rate: optional(nullable(rateInput())),
  currency: optional(nullable(currency)),
  ticket_prefix: optional(nullable(ticket_prefix)),
  notes: optional(nullable(notes)),
  custom: CustomChanges,
}
export const CompanyChanges = body({ ...changes, external_id: optional(nullable(externalIdInput)) })
export type CompanyChanges = typeof CompanyChanges.static

/** The company with an external id: changes of it, or a new one, which needs `name`. */
export const CompanyByExternalId = body({ ...changes, external_id: externalIdBeside })
export type CompanyByExternalId = typeof CompanyByExternalId.static

export const Linked = Type.Object({ linked: Type.Integer({ description: 'How many contacts were linked' }) })
