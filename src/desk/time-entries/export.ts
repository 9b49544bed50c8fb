/**
 * The CSV export: one snapshot of the entries, in constant memory. It is written to a temporary file at full speed, so
 * that its connection is free again however slowly it is read. An organization has one export at a time.
 */
import path from 'node:path'
import { audit } from '../../base/audit/audit'
import { config } from '../../base/config'
import { requireRoom } from '../../base/disk/free-space'
import { Spool } from '../../base/disk/spool'
import { tryLater } from '../../base/errors'
import { turns } from '../../base/flow/turns'
import { noteMade } from '../../base/process/collect'
import { inTransaction, type Scope } from '../../base/scope'
import { type CsvForm, csvHeader } from '../../base/shapes/csv-text'
import { streamOf } from '../../http/request/stream'
import { COLUMNS, type CsvRow, rowsOfEntries } from './csv'
import type { Period } from './model'
import { amountOf, rateOf } from './price'
import { matches } from './queries'

/** Three are written at a time in this process, each with a connection; the next one waits. */
const inTurn = turns(3)
/** More make garbage faster than it is collected: 500 grow the process by 131 MiB over a million rows, 50 by 60 MiB. */
const ROWS_AT_ONCE = 50
/** Bytes that are written to the file at once. */
const WRITE_BYTES = 256 * 1024
/** Bytes written between looks at the free space. */
const LOOK_BYTES = 8 * 1024 * 1024
/** Time for an export in all, until its last byte was read. */
const TOTAL_MS = 600_000
/** A time after which an export of the same organization may well have ended. */
const RETRY_AFTER_S = 10

/** Organizations that have an export in this process. */
const exporting = new Set<string>()

type Limits = {
  /** How long the reader may read nothing. */
  stall_ms?: number
  total_ms?: number
}

/**
 * Exports the entries between two days, in the order of the list. An error before the first row is thrown; a later one
 * breaks the stream.
 * @throws RATE_LIMITED while the organization has another export; SERVICE_UNAVAILABLE when the disk is nearly full
 */
export async function exportTimeEntries(
  scope: Scope,
  period: Period & CsvForm,
  { stall_ms, total_ms = TOTAL_MS }: Limits = {},
): Promise<ReadableStream<Uint8Array>> {
  const leave = enter(scope.organization_id)
  const begun = Promise.withResolvers<void>()
  const spool = await openSpool().catch((error) => {
    leave()
    throw error
  })
  const write = async () => {
    await auditExport(scope, period)
    await inTransaction(scope, (inner) => writeAll(inner, period, spool, begun.resolve))
  }
  const written = inTurn(write).then(
    () => spool.end(),
    (error) => {
      spool.fail(error)
      begun.reject(error)
    },
  )
  const end = async () => {
    await Promise.all([spool.close(), written]).finally(leave)
  }
  await begun.promise.catch(async (error) => {
    await end()
    throw error
  })
  return streamOf(spool.read(), { end, stall_ms, total_ms })
}

/** Adds the entry before the first byte leaves: an export that breaks off has told something too. */
async function auditExport(scope: Scope, { date_from, date_to }: Period): Promise<void> {
  const changes = { date: { from: date_from ?? null, to: date_to ?? null } }
  await audit(scope, { action: 'time_entries.exported', resource: null, changes })
}

/** Takes the place of an organization. @returns what gives it back @throws RATE_LIMITED when it is taken */
function enter(organization_id: string): () => void {
  if (exporting.has(organization_id)) throw tryLater('The organization has an export already', RETRY_AFTER_S)
  exporting.add(organization_id)
  let is_over = false
  return () => {
    if (!is_over) exporting.delete(organization_id)
    is_over = true
  }
}

async function openSpool(): Promise<Spool> {
  await requireRoom()
  return Spool.open(path.join(config.DATA_DIR, 'temporary'))
}

/** The name of the file: `time-entries_<from>_<to>.csv`. */
export function exportName({ date_from = 'all', date_to = 'all' }: Period): string {
  return `time-entries_${date_from}_${date_to}.csv`
}

/** Writes the file in the caller's transaction. @param onBegin is called when the rows are about to come */
async function writeAll(scope: Scope, query: Period & CsvForm, spool: Spool, onBegin: () => void): Promise<void> {
  await declareCursor(scope, query)
  const encoder = new TextEncoder()
  let text = csvHeader(COLUMNS, query)
  let unlooked_bytes = 0
  const write = async () => {
    const bytes = encoder.encode(text)
    text = ''
    await spool.write(bytes)
    noteMade(bytes.length)
    unlooked_bytes += bytes.length
    if (unlooked_bytes < LOOK_BYTES) return
    unlooked_bytes = 0
    await requireRoom()
  }
  await write()
  onBegin()
  for (;;) {
    const rows = await scope.sql.unsafe<CsvRow[]>(`fetch ${ROWS_AT_ONCE} from time_entries_export`)
    if (rows.length === 0) break
    text += rowsOfEntries([...rows], query)
    if (text.length >= WRITE_BYTES) await write()
  }
  await write()
}

/**
 * Declares the cursor. It shows the entries as they are at this moment. The time limits of requests do not hold for it.
 */
async function declareCursor(scope: Scope, period: Period): Promise<void> {
  const { sql, organization_id } = scope
  await sql`
    select set_config('statement_timeout', ${String(TOTAL_MS)}, true),
      set_config('idle_in_transaction_session_timeout', ${String(TOTAL_MS)}, true)`
  await sql`
    declare time_entries_export no scroll cursor for
    select e.date, t.code, t.subject, co.name as company, u.name as user, e.duration_minutes, e.description,
      e.billable, round(${rateOf(sql)}, greatest(2, e.decimals))::text as rate, (${amountOf(sql)})::text as amount, e.currency
    from time_entries e
    join tickets t on t.organization_id = ${organization_id} and t.id = e.ticket_id
    left join companies co on co.organization_id = ${organization_id} and co.id = e.company_id
    join users u on u.id = e.user_id
    where e.organization_id = ${organization_id} ${matches(scope, period)}
    order by e.date desc, e.id desc`
}
