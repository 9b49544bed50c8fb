/**
 * The number of tickets that match a list's conditions. It is exact without conditions, for a single one, for that one
 * together with a status, and for priority and assignee together: these numbers are kept (`desk/tallies/tallies.ts`,
 * `counts.ts`). Other numbers are counted, up to a cap.
 */
import { ZERO_ID } from '../../base/db/columns'
import type { Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { firstIdAt } from '../../base/shapes/ids'
import { type TallyKind, tally } from '../tallies/tallies'
import { inStatus } from './condition'
import type { TicketConditions } from './conditions'
import { countOf } from './counts'
import { filters, givenOf, type Selection } from './filter'

const DAY_MS = 86_400_000

/** A search, or several conditions, is counted so far. */
export const COUNTED_MOST = 10_000

/**
 * SQL for the number, as a scalar expression. A capped one that is larger than the cap says only that there are more.
 */
type Total = { total: Fragment; is_capped: boolean }

/** The total of a list, as a statement is to read it: counted up to one more than the cap, unless it is kept. */
export function totalOf(scope: Scope, conditions: TicketConditions, selected: Selection): Total {
  const { sql } = scope
  const kept = keptTotal(scope, conditions)
  if (kept) return { total: kept, is_capped: false }
  const most = sql.unsafe(`limit ${COUNTED_MOST + 1}`)
  const total = sql`(select count(*) from (select 1 ${selected.matching} ${most}) as counted)`
  return { total, is_capped: true }
}

/** SQL for a number that is kept. @returns undefined when there is none for these conditions */
function keptTotal(scope: Scope, conditions: TicketConditions): Fragment | undefined {
  const { status, merged } = conditions
  const counted = givenOf(conditions).filter(({ entry }) => entry.counted !== 'beside any')
  const ways = new Set(counted.map(({ entry }) => entry.counted))
  if (ways.size > 1) return undefined
  const [first] = counted
  // All tickets together are counted under the zero id.
  if (!first) return tallyOf(scope, 'tickets', ZERO_ID, status)
  const { entry, value } = first
  if (entry.counted === 'by merge') return countMerged(scope, merged!, status)
  if (entry.counted === 'by priority and assignee') return countOf(scope, conditions)
  if (entry.counted === 'by time') return countOfTime(scope, conditions)
  if (typeof entry.counted !== 'object' || entry.counted === null) return undefined
  const [[key, ...others] = [], ...more] = entry.counted.keys(value, scope.organization_id)
  return key === undefined || others.length + more.length > 0
    ? undefined
    : tallyOf(scope, entry.counted.kind, key, status)
}

function tallyOf(scope: Scope, kind: TallyKind, key: string, status: TicketConditions['status']): Fragment {
  const { sql, organization_id } = scope
  // Changes of tickets at the moment when a label is deleted may leave its tallies wrong.
  const ifLabel =
    kind === 'tickets_of_label'
      ? sql`and exists (select 1 from labels l where l.organization_id = ${organization_id} and l.id = ${key})`
      : sql``
  return tally(scope, kind, sql`and key = ${key} ${ifLabel} ${ofStatus(scope, status)}`)
}

/** Few tickets are merged: they are counted, and those that are not are the others. */
function countMerged(scope: Scope, merged: boolean, status: TicketConditions['status']): Fragment {
  const those = countRows(scope, { merged: true, status })
  if (merged) return those
  const all = tallyOf(scope, 'tickets', ZERO_ID, status)
  return scope.sql`(${all} - ${those})`
}

/**
 * Tickets made within a time: those of whole days are kept, those of the parts of days before and after are counted.
 */
function countOfTime(scope: Scope, conditions: TicketConditions): Fragment {
  const { sql } = scope
  const { status, created_after, created_before } = conditions
  const first = created_after === undefined ? undefined : startOfDay(created_after + DAY_MS)
  const end = created_before === undefined ? undefined : startOfDay(created_before)
  if (first !== undefined && end !== undefined && first >= end) return countRows(scope, conditions)
  const days = tally(
    scope,
    'tickets_of_day',
    sql`
      ${first === undefined ? sql`` : sql`and key >= ${firstIdAt(first)}`}
      ${end === undefined ? sql`` : sql`and key < ${firstIdAt(end)}`}
      ${ofStatus(scope, status)}`,
  )
  const before = first === undefined ? sql`0` : countRows(scope, { status, created_after, created_before: first })
  const after = end === undefined ? sql`0` : countRows(scope, { status, created_after: end - 1, created_before })
  return sql`(${days} + ${before} + ${after})`
}

function countRows(scope: Scope, conditions: TicketConditions): Fragment {
  const { sql, organization_id } = scope
  return sql`(
    select count(*) from tickets t
    where t.organization_id = ${organization_id} and t.deleted_at is null ${filters(scope, sql`t.id`, conditions)}
  )`
}

function ofStatus({ sql }: Scope, status: TicketConditions['status']): Fragment {
  return status ? sql`and ${inStatus(sql, status, sql`status`)}` : sql``
}

/** In milliseconds since 1970. */
function startOfDay(time_ms: number): number {
  return Math.floor(time_ms / DAY_MS) * DAY_MS
}
