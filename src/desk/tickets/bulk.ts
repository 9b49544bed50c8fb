/** Changes many tickets alike: each in a transaction of its own, by the command of PATCH. */
import { ApiError, fieldError } from '../../base/errors'
import { inTransaction, type Scope, together } from '../../base/scope'
import { isUuid } from '../../base/shapes/ids'
import { fromDatabase } from '../../http/request/database-errors'
import { wordsOfFilter } from '../custom/custom-words'
import { requireMayUnlabel } from '../holds/holds'
import { requireUnmerged } from '../timeline/require-ticket'
import { changesOf, labelChanges } from './changes'
import { changeTicket } from './commands'
import { readConditions } from './filter'
import { listTickets } from './list'
import type { BulkChange, BulkResult, TicketUpdate } from './model'
import { getTicketSummary } from './queries'
import { requireNamed, resolveUpdate } from './references'
import { withReader } from './saved-filter'

/** Tickets of one call. */
const MOST = 100
/** The time of a call, in which it begins to change tickets. */
const LIMIT_MS = 25_000

type Result = BulkResult['data'][number]
/** A ticket that is to be changed; an id that names none has no code. */
type Chosen = { id: string; code: string | null }

/**
 * Changes up to 100 tickets, one after the other. What one of them refuses stands in its result.
 * @param limit_ms after it the tickets that are left fail with SERVICE_UNAVAILABLE
 * @throws VALIDATION_ERROR, USER_NOT_FOUND, LABEL_NOT_FOUND: then nothing is changed
 */
export async function changeTickets(scope: Scope, input: BulkChange, limit_ms = LIMIT_MS): Promise<BulkResult> {
  const ends_at = performance.now() + limit_ms
  requireComplete(input)
  await requireNamed(scope, input.changes, '/changes')
  const { chosen, next_cursor } = await choose(scope, input)
  const data: Result[] = []
  let left_ms = limit_ms
  for (const ticket of chosen) {
    const result = await changeOne(scope, ticket, input, left_ms)
    data.push(result)
    // A lock that one ticket waited for in vain is not waited for again.
    left_ms = result.error?.code === 'SERVICE_UNAVAILABLE' ? 0 : ends_at - performance.now()
  }
  const count = (wanted: Result['result']) => data.filter(({ result }) => result === wanted).length
  const counts = { changed: count('changed'), unchanged: count('unchanged'), failed: count('failed') }
  return { data, meta: { ...counts, next_cursor } }
}

/** Checks what fields mean together. @throws VALIDATION_ERROR */
function requireComplete({ ids, filter, cursor, changes }: BulkChange): void {
  const refuse = (path: string, message: string) => fieldError('VALIDATION_ERROR', path, message)
  const { label_ids, add_label_ids, remove_label_ids } = changes
  if (!ids && !filter) throw refuse('/ids', 'is required without filter')
  if (ids && filter) throw refuse('/filter', 'must stand without ids')
  if (ids && cursor !== undefined) throw refuse('/cursor', 'must stand with filter')
  if (filter && Object.keys(filter).length === 0) throw refuse('/filter', 'must have at least one filter of the list')
  if (Object.keys(changes).length === 0) throw refuse('/changes', 'must have at least one change')
  if (label_ids && add_label_ids) throw refuse('/changes/add_label_ids', 'must stand without label_ids')
  if (label_ids && remove_label_ids) throw refuse('/changes/remove_label_ids', 'must stand without label_ids')
  const added = add_label_ids?.map((id) => id.toLowerCase())
  if (remove_label_ids?.some((id) => added?.includes(id.toLowerCase()))) {
    throw refuse('/changes/remove_label_ids', 'must name no label that is added')
  }
}

/** The tickets of a call, and the cursor of the next one. @throws VALIDATION_ERROR for a cursor of another list */
async function choose(
  scope: Scope,
  { ids, filter, cursor }: BulkChange,
): Promise<{ chosen: Chosen[]; next_cursor: string | null }> {
  if (ids) return { chosen: await withCodes(scope, ids), next_cursor: null }
  const given = readConditions(filter!)
  wordsOfFilter(scope.organization_id, given.custom, '/filter/custom/')
  const conditions = withReader(scope, { ...given, per_page: MOST, cursor }, (name) => `/filter/${name}`)
  const { data, meta } = await listTickets({ ...scope, ...scope.reading }, conditions).catch((error: unknown) => {
    if (cursor === undefined || !(error instanceof ApiError) || error.code !== 'VALIDATION_ERROR') throw error
    throw fieldError('VALIDATION_ERROR', '/cursor', 'must be a next_cursor of this filter')
  })
  return { chosen: data.map(({ id, code }) => ({ id, code })), next_cursor: meta.next_cursor }
}

/** The given ids in their order, each once. */
async function withCodes({ sql, organization_id }: Scope, given: string[]): Promise<Chosen[]> {
  const ids = [...new Set(given.map((id) => (isUuid(id) ? id.toLowerCase() : id)))]
  const rows = await sql<{ id: string; code: string }[]>`
    select id, code from tickets
    where organization_id = ${organization_id} and id = any(${ids.filter(isUuid)}::uuid[]) and deleted_at is null`
  const codes = new Map(rows.map(({ id, code }) => [id, code]))
  return ids.map((id) => ({ id, code: codes.get(id) ?? null }))
}

/** Changes a ticket, or tells what would be changed. @throws what is a fault of ours */
async function changeOne(
  scope: Scope,
  { id, code }: Chosen,
  { changes, dry_run = false }: BulkChange,
  left_ms: number,
): Promise<Result> {
  try {
    if (code === null) throw new ApiError('TICKET_NOT_FOUND')
    if (left_ms <= 0) throw new ApiError('SERVICE_UNAVAILABLE')
    const is_changed = dry_run ? await wouldChange(scope, id, changes) : await change(scope, id, changes, left_ms)
    return { id, code, result: is_changed ? 'changed' : 'unchanged', error: null }
  } catch (error) {
    const refusal = error instanceof ApiError ? error : fromDatabase(error)
    if (!refusal) throw error
    const shown = refusal.code === 'TICKET_NOT_FOUND' ? null : code
    const { message, details } = refusal
    return { id, code: shown, result: 'failed', error: { code: refusal.code, message, details } }
  }
}

async function change(scope: Scope, id: string, changes: TicketUpdate, left_ms: number): Promise<boolean> {
  return inTransaction(scope, async (scope) => {
    const [, { is_changed }] = await together([limitStatements(scope, left_ms), changeTicket(scope, id, changes)])
    return is_changed
  })
}

async function wouldChange(scope: Scope, id: string, changes: TicketUpdate): Promise<boolean> {
  const before = await getTicketSummary(scope, id)
  requireUnmerged(before)
  const after = { ...before, ...(await resolveUpdate(scope, before, changes)) }
  await requireMayUnlabel(scope, labelChanges(before, after).removed)
  return Object.keys(changesOf(before, after)).length > 0
}

/** Ends each statement of the transaction after a time: one may wait for the lock of a ticket. */
async function limitStatements({ sql }: Scope, limit_ms: number): Promise<void> {
  await sql`select set_config('statement_timeout', ${String(Math.ceil(limit_ms))}, true)`
}
