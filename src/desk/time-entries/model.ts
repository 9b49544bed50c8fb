import { Type } from '@sinclair/typebox'
import { Day, Instant, orNull, PageMeta, TicketCode, Uuid, unchecked } from '../../base/shapes/answers'
import { CSV_FORM } from '../../base/shapes/csv-form'
import { body, dayInput, flag, IdInput, minutesInput, nullable, optional, text } from '../../base/shapes/fields'
import { rateInput } from '../../base/shapes/money'
import { Paging, query, queryDay, queryFlag, queryId, queryWord } from '../../base/shapes/query'

export const duration_minutes = minutesInput({ code: 'INVALID_DURATION' })
const description = text({ max: 10_000, trim: false })
const date = dayInput()

const TicketRef = Type.Object({ id: Uuid, code: TicketCode, subject: Type.String() })
const NameRef = Type.Object({ id: Uuid, name: Type.String() })

const currency = Type.String({ description: 'ISO 4217 code' })

export const TimeEntry = Type.Object({
  id: Uuid,
  ticket: TicketRef,
  user: NameRef,
  duration_minutes: Type.Integer({ description: 'Whole minutes of work' }),
  description: orNull(Type.String({ description: 'What was done' })),
  billable: Type.Boolean({ description: 'Whether its amount counts in totals' }),
  rate: orNull(Type.Number({ description: 'Of an hour; null: none is set anywhere' })),
  currency,
  amount: orNull(
    Type.Number({
      description: '(duration_minutes / 60) * rate, rounded half-up to the decimals of the currency (ISO 4217)',
    }),
  ),
  date: Day,
  original_ticket: orNull(Type.Object({ id: Uuid, code: TicketCode }), {
    description: 'The ticket that it was logged on, while a merge has it elsewhere. Its company counts',
  }),
  created_at: Instant,
})
export type TimeEntry = typeof TimeEntry.static

/** An entry in the answer of its ticket. */
export const TicketTimeEntry = Type.Omit(TimeEntry, ['ticket'])
export type TicketTimeEntry = typeof TicketTimeEntry.static

/** Facts of work besides how long it took. */
export const WorkFields = {
  description: optional(description),
  billable: optional(flag()),
  date: optional(date),
  rate: optional(rateInput()),
}

const user_id = IdInput({
  not_found: 'USER_NOT_FOUND',
  description: 'Who worked: an active member. Default the caller; admins name others, an API key must name one',
})

export const NewTimeEntry = body({ duration_minutes, ...WorkFields, user_id: optional(user_id) })
export type NewTimeEntry = typeof NewTimeEntry.static

export const TimeEntryChanges = body({
  duration_minutes: optional(duration_minutes),
  description: optional(nullable(description)),
  billable: optional(flag()),
  date: optional(date),
  rate: optional(rateInput()),
})
export type TimeEntryChanges = typeof TimeEntryChanges.static

const Period = {
  date_from: queryDay({ description: 'Entries on or after this day' }),
  date_to: queryDay({ description: 'Entries on or before this day' }),
}
export type Period = { date_from?: string; date_to?: string }

export const TimeEntryFilter = query({
  ticket_id: queryId(),
  user_id: queryId(),
  company_id: queryId(),
  billable: queryFlag(),
  ...Period,
  ...Paging,
})
export type TimeEntryFilter = typeof TimeEntryFilter.static

const Totals = Type.Object(
  {
    duration_minutes: Type.Integer({ description: 'Whole minutes of work' }),
    billable_amount: orNull(Type.Number({ description: 'Null when the billable amounts have several currencies' })),
    by_currency: Type.Array(
      Type.Object({ currency, billable_amount: Type.Number({ description: 'In this currency' }) }),
      { description: 'The billable amount for each currency' },
    ),
  },
  { description: 'Of all pages; absent with `cursor`' },
)
export type Totals = typeof Totals.static

export const TimeEntryPage = unchecked(
  Type.Object({
    data: Type.Array(TimeEntry),
    meta: Type.Composite([PageMeta, Type.Object({ totals: Type.Optional(Totals) })]),
  }),
)
export type TimeEntryPage = typeof TimeEntryPage.static

const SUMMARY_GROUPS = ['company', 'user', 'ticket', 'day'] as const
export type SummaryGroup = (typeof SUMMARY_GROUPS)[number]

export const SummaryQuery = query({
  group_by: queryWord(SUMMARY_GROUPS, { description: 'Default company; `ticket` for at most 10000 tickets' }),
  ...Period,
})
export type SummaryQuery = typeof SummaryQuery.static

/** One group and currency. Of the first four keys an item has the one that the summary is grouped by. */
export const SummaryItem = Type.Object({
  company: optional(orNull(NameRef)),
  user: optional(NameRef),
  ticket: optional(TicketRef),
  day: optional(Day),
  total_minutes: Type.Integer({ description: 'Of all entries' }),
  billable_minutes: Type.Integer({ description: 'Of the billable entries' }),
  total_amount: Type.Number({ description: 'Of the billable entries' }),
  currency,
})
export type SummaryItem = typeof SummaryItem.static

export const ExportQuery = query({ format: queryWord(['csv'], { description: 'Default csv' }), ...CSV_FORM, ...Period })
