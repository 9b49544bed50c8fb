/**
 * The CSV export: one snapshot of the entries, in constant memory at the pace of its reader. It holds a connection for as
 * long as it takes, so that only some run at a time and a reader who stops reading is cut off.
 */
import type { Sql } from '../db/transact'
import { streamOf } from '../flow/stream'
import { turns } from '../flow/turns'
import { inTransaction, type Scope } from '../scope'
import { CSV_HEADER, type CsvRow, csvRows } from './csv'
import type { Period } from './model'
import { matches } from './queries'

/** Three run at a time in this process; the next one waits. */
const inTurn = turns(3)
/** More make garbage faster than it is collected: 500 grow the process by 131 MiB over a million rows, 50 by 60 MiB. */
const ROWS_AT_ONCE = 50

/**
 * Exports the entries between two days, in the order of the list. An error before the first row is thrown; a later one
 * breaks the stream.
 * @param stall_ms how long the reader may read nothing
 */
export async function exportTimeEntries(
  scope: Scope,
  period: Period,
  stall_ms?: number,
): Promise<ReadableStream<Uint8Array>> {
  const cursor = await openCursor(scope, period)
  return streamOf(linesOf(cursor), { end: () => cursor.end(), stall_ms })
}

async function* linesOf(cursor: Cursor): AsyncGenerator<string> {
  yield CSV_HEADER
  for (let rows = await cursor.next(); rows.length > 0; rows = await cursor.next()) yield csvRows(rows)
}

/** The name of the file: `time-entries_<from>_<to>.csv`. */
export function exportName({ date_from = 'all', date_to = 'all' }: Period): string {
  return `time-entries_${date_from}_${date_to}.csv`
}

type Cursor = { next(): Promise<CsvRow[]>; end(): Promise<void> }

/**
 * Opens a transaction that stays open until `end`, which may be called at any time and more than once. The driver's own
 * cursors get stuck when they are left early, and its reserved connections do not notice that they are lost.
 */
async function openCursor(scope: Scope, period: Period): Promise<Cursor> {
  const opened = Promise.withResolvers<Sql>()
  const left = Promise.withResolvers<void>()
  let over = false
  const read = async (scope: Scope) => {
    await declareCursor(scope, period)
    opened.resolve(scope.sql)
    await left.promise
  }
  const transaction = inTurn(() => inTransaction(scope, read))
    .catch(opened.reject)
    .finally(() => {
      over = true
    })
  const sql = await opened.promise
  let pending: Promise<unknown> = Promise.resolve()
  return {
    async next() {
      if (over) throw new Error('The export has ended: its connection was lost')
      const fetched = sql.unsafe<CsvRow[]>(`fetch ${ROWS_AT_ONCE} from time_entries_export`)
      pending = fetched
      return [...(await fetched)]
    },
    async end() {
      await pending.catch(() => {})
      left.resolve()
      await transaction
    },
  }
}

/** Declares the cursor. It shows the entries as they are at this moment. */
async function declareCursor(scope: Scope, period: Period): Promise<void> {
  await scope.sql`
    declare time_entries_export no scroll cursor for
    select e.date, t.code, t.subject, co.name as company, u.name as user, e.duration_minutes, e.description,
      e.billable, e.rate::text as rate, e.amount::text as amount, e.currency
    from time_entries e
    join tickets t on t.organization_id = e.organization_id and t.id = e.ticket_id
    left join companies co on co.organization_id = t.organization_id and co.id = t.company_id
    join users u on u.id = e.user_id
    where ${matches(scope, period)}
    order by e.date desc, e.id desc`
}
