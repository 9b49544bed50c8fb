/**
 * Lists requests with an API key in the audit log: every write and every refusal. The entry of a write that succeeds is
 * in the transaction of the write. All others are written before the answer leaves.
 */
import { ElysiaCustomStatusResponse } from 'elysia'
import { auditRow, insertAuditRows } from '../../base/audit/audit'
import { changesOf } from '../../base/audit/changes-of'
import { connectionOf } from '../../base/db/pool'
import { within } from '../../base/flow/within'
import { log, safeError } from '../../base/log'
import { type Alongside, type AuditRow, afterCommit } from '../../base/scope'
import { type Declaration, type Declarations, routeOf } from '../request/declarations'
import { originOf, stateOf } from '../request/request'
import { createLimiter } from './rate-limit'

/** Statuses of refusals: no key or a revoked one, a lacking permission, too many requests. */
const REFUSALS = [401, 403, 429]

/** Refusals of one key that are listed in a minute: a program that never stops asking must not fill the disk. */
const LISTED_REFUSALS = 100

/** An answer waits no longer than this for its entry. */
const WAIT_MS = 5000

const READS = ['GET', 'HEAD', 'OPTIONS']

type Handle = (...given: unknown[]) => unknown

/** Wraps the handling of a request that shows an API key: its outcome is listed before its answer leaves. */
export function withKeyAudit(handle: Handle, request: Request, declarations: Declarations): Handle {
  return async (...given) => {
    const response = await handle(...given)
    if (response instanceof Response && isListed(request, response.status)) {
      await listOutcome(request, response.status, declarations)
    }
    return response
  }
}

/**
 * Returns what adds the entry of a successful write to the write's first transaction. If the request fails after that,
 * its true status is listed too. After a rollback the next transaction writes the entry.
 * @returns undefined for a read
 */
export function listingInTransaction(
  request: Request,
  route: string,
  { success, may_create = false }: Declaration,
): Alongside | undefined {
  if (READS.includes(request.method)) return undefined
  const state = stateOf(request)
  let status = success
  const entry = () => (state.audited_status === undefined ? rowOfRequest(request, route, status) : undefined)
  const added = () => {
    state.audited_status = status
  }
  return {
    entry,
    added,
    is_after: may_create,
    async write(scope, result) {
      if (may_create) status = result instanceof ElysiaCustomStatusResponse ? Number(result.code) : 200
      const row = entry()
      if (!row) return
      await insertAuditRows(scope.sql, [row])
      afterCommit(scope, added)
    },
  }
}

/** Tells whether the outcome of a request is still to be listed. A key that nobody knows belongs to no organization. */
function isListed(request: Request, status: number): boolean {
  const { api_key, audited_status } = stateOf(request)
  if (!api_key || audited_status === status) return false
  return !READS.includes(request.method) || REFUSALS.includes(status)
}

async function listOutcome(request: Request, status: number, declarations: Declarations): Promise<void> {
  const api_key = stateOf(request).api_key!
  try {
    if (REFUSALS.includes(status) && !(await mayList(api_key.id))) return
    const route = routeOf(declarations, request.method, new URL(request.url).pathname)
    const row = rowOfRequest(request, route, status)
    const added = insertAuditRows(connectionOf(row.organization_id).sql, [row])
    await within(WAIT_MS, added, 'the database does not answer')
  } catch (error) {
    log.warn({ api_key_id: api_key.id, status, error: safeError(error) }, 'a request of an API key could not be listed')
  }
}

function rowOfRequest(request: Request, route: string | null, status: number): AuditRow {
  const { id, name, organization_id } = stateOf(request).api_key!
  return auditRow(
    { organization_id, actor: { type: 'api_key', id, name }, origin: originOf(request) },
    {
      action: 'api_key.request',
      resource: { type: 'api_key', id },
      changes: changesOf(null, { method: request.method, route, status }),
    },
  )
}

let refusals: ReturnType<typeof createLimiter> | undefined

async function mayList(api_key_id: string): Promise<boolean> {
  refusals ??= createLimiter('listed refusals', LISTED_REFUSALS, 60)
  return refusals.consume(api_key_id).then(
    () => true,
    () => false,
  )
}
