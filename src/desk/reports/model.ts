/** Models of reports. */
import { Type } from '@sinclair/typebox'
import { TICKET_PRIORITIES } from '../../base/db/schema'
import { Day, orNull, Uuid } from '../../base/shapes/answers'
import { CSV_FORM } from '../../base/shapes/csv-form'
import type { CsvForm } from '../../base/shapes/csv-text'
import { oneOf, optional } from '../../base/shapes/fields'
import { query, queryDay, queryWord, required } from '../../base/shapes/query'

const GROUPS = ['day', 'week', 'user', 'team', 'mailbox', 'label', 'company', 'priority'] as const
export type Group = (typeof GROUPS)[number]

export const ReportQuery = query({
  from: required(queryDay({ description: "The first day, in the organization's `time_zone`" })),
  to: required(queryDay({ description: 'The last day, at most 366 days with the first' })),
  group_by: queryWord(GROUPS, { description: 'Default day. Groups are as they are now' }),
  format: queryWord(['json', 'csv'], { description: 'Default json' }),
  ...CSV_FORM,
})
export type ReportQuery = { from: string; to: string; group_by?: Group; format?: 'json' | 'csv' } & CsvForm

const count = (description: string) => Type.Integer({ description })

const Spread = (description: string) =>
  Type.Object(
    {
      median: orNull(Type.Number({ description: 'Half of them took no longer' })),
      p90: orNull(Type.Number({ description: 'Nine of ten took no longer' })),
    },
    { description: `${description}. Interpolated, with 2 decimals at most; null: there was none` },
  )

const NameRef = Type.Object({ id: Uuid, name: Type.String() })
const named = (description: string) => optional(orNull(NameRef, { description }))

/** One group. Of the first eight keys a row has the one that the report is grouped by. */
export const ReportRow = Type.Object({
  day: optional(Day),
  week: optional(Type.String({ format: 'date', description: 'Its Monday, also when the report begins later' })),
  user: named('The assignee, of replies the sender. Null: nobody, or no member'),
  team: named('Null: no team'),
  mailbox: named('Null: no mailbox'),
  label: named('A ticket counts under each of its labels. Null: without one'),
  company: named('Null: no company'),
  priority: optional(oneOf(TICKET_PRIORITIES, { description: 'Of the tickets' })),
  created: count('Tickets that came'),
  resolved: count('Times that a ticket was resolved, or closed without it'),
  reopened: count('Times that a resolved or closed ticket was opened again'),
  replies: count("The team's public messages, without automatic ones and those that begin a ticket"),
  backlog: count("Open and pending tickets at the end of the row's days"),
  first_reply_minutes: Spread('From the creation of a ticket to the first reply, of those that got it'),
  resolve_minutes: Spread('From the creation of a ticket to each time that it was resolved'),
  sla: Type.Object(
    { kept: count('Promises that were kept'), breached: count('Promises that were breached') },
    { description: 'Promises of policies' },
  ),
  ratings: Type.Object(
    { good: count('Good ones'), bad: count('Bad ones') },
    { description: 'Ratings, of each ticket the newest' },
  ),
})
export type ReportRow = typeof ReportRow.static
