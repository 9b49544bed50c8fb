/** A kind of things, as the import needs to know it, and helpers of all kinds. */
import type { TSchema } from '@sinclair/typebox'
import { insertRows } from '../../base/db/insert-rows'
import type { Fault } from '../../base/errors'
import { holdExternalIds } from '../../base/external-ids'
import type { Scope } from '../../base/scope'
import type { Losses } from './fitting'
import type { Referred } from './known'

/** A line of a file that is right by itself. */
export type Line<Input> = {
  file: string
  line: number
  /** Its key, for people. */
  name: string
  /** Its own key, then others by which it may be referred to. */
  keys: string[]
  /** Its id in the other system, when it has one there. */
  given_id: string | undefined
  digest: string
  input: Input
  created_ms: number
  /** As PostgreSQL takes it, with milliseconds. */
  updated_at: string
  losses: Losses
}

/** Where a line belongs: the row of it, which is new or was imported before. */
export type Placed<Input> = Line<Input> & { id: string; is_new: boolean }

/**
 * Gives the id of what a key names: null when it was deleted here, undefined when no import has brought it.
 */
export type Find = (kind: Referred, key: string) => string | null | undefined

/** Things that a kind has made ready outside the transaction, by the key of the line. */
export type Prepared = Map<string, unknown>

export type Kind<Input> = {
  /** Name of the file and of its numbers. */
  name: string
  model: TSchema
  /** Lines of one transaction. */
  most: number
  /** Makes what the model takes of a line: the shape of the API has objects where a create has ids. */
  shape(given: Record<string, unknown>): object
  /** The keys that it names, by their kinds. */
  references?(input: Input): [Referred, string][]
  /** Says what is wrong with the things that it names. What a row can be without is left out of it. */
  judge?(input: Input, find: Find, losses: Losses): Fault[]
  /** Does what a transaction must not wait for. A line that throws is left out, with the faults of an ApiError. */
  prepare?(scope: Scope, lines: (Line<Input> & { row_id?: string })[], prepared: Prepared): Promise<void>
  /** Finds what is here already, by email or name. @returns ids by the key of the line */
  match?(scope: Scope, lines: Line<Input>[], find: Find): Promise<Map<string, string>>
  /** Reads and locks rows. @returns by id what tells a change; without those that are gone */
  states(scope: Scope, ids: string[]): Promise<Map<string, string>>
  /** Tells what `states` says after the line was written. */
  stateOf(line: Line<Input>, prepared: Prepared): string
  /** Writes new and changed rows. @returns the lines that are left as they are here, with the reason */
  write(scope: Scope, lines: Placed<Input>[], find: Find, prepared: Prepared): Promise<Left<Input> | undefined>
}

export type Left<Input> = Map<Placed<Input>, string>

type TableWithTimes = 'companies' | 'contacts' | 'labels' | 'teams' | 'time_entries' | 'tickets'

/** Locks rows and reads their times of change. */
export async function timesOf(scope: Scope, table: TableWithTimes, ids: string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const { sql, organization_id } = scope
  const is_there = table === 'tickets' ? sql`and deleted_at is null and merged_into_id is null` : sql``
  const rows = await sql<{ id: string; state: string }[]>`
    select id, to_char(updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as state from ${sql(table)}
    where organization_id = ${organization_id} and id = any(${ids}::uuid[]) ${is_there}
    order by id for no key update`
  return new Map(rows.map(({ id, state }) => [id, state]))
}

/** Inserts rows, and writes those that are there anew. @param fixed columns that a change leaves as they are */
export async function upsert(
  { sql }: Scope,
  table: string,
  rows: Parameters<typeof insertRows>[2],
  fixed: string[] = [],
): Promise<void> {
  if (rows.length === 0) return
  const columns = [...new Set(rows.flatMap(Object.keys))].filter(
    (column) => !['organization_id', 'id', ...fixed].includes(column),
  )
  const changes = columns.map((column) => sql`${sql(column)} = excluded.${sql(column)}`)
  const set = changes.reduce((all, change) => sql`${all}, ${change}`)
  await insertRows(sql, table, rows, sql`on conflict (organization_id, id) do update set ${set}`)
}

/** The key in an object of the API, such as `contact: {id}`, unless the field of a create has it. */
export function keyIn(given: Record<string, unknown>, field: string, object: string): unknown {
  if (given[field] !== undefined) return given[field]
  const named = given[object]
  return typeof named === 'object' && named !== null ? (named as { id?: unknown }).id : named
}

/** The fault of a key that no import has brought. */
export function unknownKey(path: string, kind: string): Fault {
  return { path, message: `names nothing in ${kind} of this or an earlier import` }
}

/** Leaves out what is named and was deleted here, or was never there. */
export function leaveUnknown(losses: Losses, path: string, kind: Referred, id: string | null | undefined): void {
  if (id) return
  const message = id === null ? 'was deleted here' : `names nothing in ${kind} of this or an earlier import`
  losses.left_out.push({ path, message })
}

/** Finds what has the external ids of lines here already: a program has brought it. @returns ids by key */
export async function byExternalId<T extends { external_id?: string }>(
  scope: Scope,
  table: 'companies' | 'contacts' | 'tickets',
  lines: Line<T>[],
): Promise<Map<string, string>> {
  const given = lines.flatMap(({ input }) => input.external_id ?? [])
  const ids = await holdExternalIds(scope, table, given)
  return new Map(
    lines.flatMap(({ keys, input }) => {
      const id = ids.get(input.external_id ?? '')
      return id ? [[keys[0]!, id] as const] : []
    }),
  )
}

/** Finds what has the names of lines here already, without regard to case. @returns ids by key */
export async function matchNames<T extends { name: string }>(
  { sql, organization_id }: Scope,
  table: 'labels' | 'teams',
  lines: Line<T>[],
): Promise<Map<string, string>> {
  const given = JSON.stringify(lines.map(({ keys, input }) => ({ key: keys[0], name: input.name })))
  const found = await sql<{ key: string; id: string }[]>`
    with g as materialized (select * from json_to_recordset(${given}::text::json) as x (key text, name text))
    select g.key, l.id from g
    join ${sql(table)} l on l.organization_id = ${organization_id} and lower(l.name) = lower(g.name)`
  return new Map(found.map(({ key, id }) => [key, id]))
}
