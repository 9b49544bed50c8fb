/** Column types that read in the form of the API, so that a select list is a response. */
import { type SQL, sql } from 'drizzle-orm'
import { customType, numeric, uuid } from 'drizzle-orm/pg-core'
import { newUuid } from '../runtime/new-uuid'
import { isCorrected, sharedTime } from './shared-time'

/**
 * Makes a new id: UUIDv7 (RFC 9562), so ids sort by the time of creation. Without a time of ours each id comes after
 * the last one; with it, one of 8,000 within the same millisecond did not.
 */
export const newId = (): string => (isCorrected() ? newUuid('hex', sharedTime()) : newUuid())

/** An id that no row has, and that comes before all others: ids are UUIDv7. */
export const ZERO_ID = '00000000-0000-0000-0000-000000000000'

/** An id that comes after all others. */
export const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** A point in time: `timestamptz` with microseconds in the table, `YYYY-MM-DDThh:mm:ssZ` when read. */
export const instant = customType<{ data: string; driverData: string }>({ dataType: () => 'timestamp with time zone' })

/** The time of creation is the time in the row's id, computed by the database, so order by id is order by time. */
export const createdAt = () =>
  instant()
    .notNull()
    .generatedAlwaysAs((): SQL => sql`uuid_time(id)`)

/** The same time, with microseconds as statements take it: `YYYY-MM-DDThh:mm:ss.uuuuuuZ`. */
export function timeOfId(id: string): string {
  const time_ms = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
  return new Date(time_ms).toISOString().replace('Z', '000Z')
}

/**
 * Set by the database on insert; commands write `now()` on every change. For tickets and contacts, which clients follow
 * by it, they write the time that was read behind a lock, on insert too (`change-time.ts`).
 */
export const updatedAt = () => instant().notNull().default(sql`now()`)

/** An id that the application makes (see `newId`). */
export const id = () => uuid().notNull().$defaultFn(newId)

/** An hourly rate: 0 to 1,000,000 with the decimals that its currency lets it have, a JSON number when read. */
export const rate = () => numeric({ mode: 'number' })

/** A document of lexemes (PostgreSQL full text search). */
export const tsvector = customType<{ data: string; driverData: string }>({ dataType: () => 'tsvector' })

/** Bytes. */
export const bytes = customType<{ data: Uint8Array; driverData: Uint8Array }>({ dataType: () => 'bytea' })

/** Converts a timestamp as PostgreSQL or JavaScript writes it, in UTC, to the API's form: whole seconds, cut. */
export function toInstant(text: string): string {
  return `${text.slice(0, 10)}T${text.slice(11, 19)}Z`
}
