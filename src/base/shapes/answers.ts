/** Models of what goes out: the fields that many answers have, and the frames around objects and lists. */
import { FormatRegistry, type Static, type TSchema, Type } from '@sinclair/typebox'
import { config } from '../config'
import { isUuid } from './ids'
import { isDay, timeOf } from './time'

FormatRegistry.Set('uuid', isUuid)
FormatRegistry.Set('date-time', (value) => timeOf(value) !== undefined)
FormatRegistry.Set('date', isDay)

export const Uuid = Type.String({
  format: 'uuid',
  description: 'UUIDv7, lower case',
  examples: ['019c0a3e-5b1c-7d40-9c4e-2f6a1b8d3e57'],
})

/** A point in time as all answers show it: ISO 8601, UTC, whole seconds. */
export const Instant = Type.String({
  format: 'date-time',
  pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$',
  description: 'UTC, whole seconds',
  examples: ['2026-01-31T09:00:00Z'],
})

/** The name by which people know a ticket. */
export const TicketCode = Type.String({
  description: "The company's prefix, else the organization's, and a number",
  examples: ['ACME-42'],
})

export const Day = Type.String({
  format: 'date',
  pattern: '^\\d{4}-\\d\\d-\\d\\d$',
  description: 'A day, YYYY-MM-DD',
  examples: ['2026-01-31'],
})

/**
 * A field that may also be null. A `description` here says what this field is when its schema is shared with others.
 */
export const orNull = <T extends TSchema>(schema: T, options: { description?: string } = {}) =>
  Type.Union([{ ...schema, ...options }, Type.Null()])

/** The answer with a single object. */
export function one<T extends TSchema>(schema: T) {
  return unchecked(Type.Object({ data: schema }))
}

/** The answer with a list that has no pages. */
export function list<T extends TSchema>(schema: T) {
  return unchecked(Type.Object({ data: Type.Array(schema) }))
}

export const PageMeta = Type.Object({
  total: Type.Optional(Type.Integer({ description: 'Of all pages; absent with `cursor`' })),
  page: Type.Optional(Type.Integer({ description: 'From 1; absent with `cursor`' })),
  per_page: Type.Integer({ description: 'At most 100' }),
  next_cursor: orNull(Type.String(), {
    description: 'The `cursor` of the next page. Null at the end; with `sort=updated_at` never null',
  }),
})
export type PageMeta = Static<typeof PageMeta>

/** The answer with a page of a list (`page` in `page.ts` makes it), for a list whose `meta` says no more. */
export function pageOf<T extends TSchema>(schema: T) {
  return pageWith(schema, PageMeta)
}

/** The answer with a page of a list, and what it says of the list. */
export function pageWith<T extends TSchema, M extends TSchema>(schema: T, meta: M) {
  return unchecked(Type.Object({ data: Type.Array(schema), meta }))
}

/** The answer with a list that has pages, and `meta`, only when the request asks for a page. */
export function listOrPage<T extends TSchema>(schema: T) {
  return unchecked(Type.Object({ data: Type.Array(schema), meta: Type.Optional(PageMeta) }))
}

export const NoContent = Type.Undefined({ description: 'No content' })

/**
 * The schema as Elysia is to use it. Tests check every answer against its model. Production does not: the check of a
 * page of 20 tickets takes about 100 us of CPU, the rest of its JSON 21 us.
 */
export function unchecked<T extends TSchema>(schema: T): T {
  return config.CHECK_RESPONSES ? schema : { ...schema, noValidate: true }
}
