/**
 * Does work on contacts, companies and what tickets name, of any size. Each step is one short transaction that leaves
 * a right state and can be repeated. The transaction that begins a deed does as much as one step may. The rest stands
 * in a row of `deeds` and ends by itself, in this process, or in another one when this process has died.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { newId } from '../../base/db/columns'
import { deedsOf } from '../../base/db/pool'
import type { DEED_KINDS } from '../../base/db/schema'
import { visit } from '../../base/db/sweep'
import type { Connection } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import { log, safeError } from '../../base/log'
import { type Actor, afterCommit, inTransaction, type Scope, SYSTEM } from '../../base/scope'

/** Rows that one transaction of a deed changes. */
export const STEP = 200
/** Proxies give up a request after 30 to 60 seconds. */
const ANSWER_MOST_MS = 25_000
const ASK_AGAIN_S = 10
/** Time without a step after which another process goes on. */
const LEASE = '60 seconds'
const RENEW_MS = 15_000

type DeedKind = (typeof DEED_KINDS)[number]
export type Deed = { id: string; kind: DeedKind; subject_id: string; source_ids: string[] }
type Row = Deed & { actor_type: Actor['type']; actor_id: string | null; actor_name: string | null }

/** Does a part of a deed in the caller's transaction. @returns true when nothing is left */
type Step = (scope: Scope, deed: Deed) => Promise<boolean>
/** Does all that is left of a deed, outside any transaction. Whatever it has done already it may do again. */
type Work = (scope: Scope, deed: Deed) => Promise<unknown>

/** Deeds that this process works on, by id. */
const running = new Map<string, Promise<unknown>>()

/**
 * Notes a deed in the caller's transaction, which has locked the contacts.
 * @param marked contacts that nobody else writes to until it ends
 * @throws SERVICE_UNAVAILABLE when there is one of this id
 */
export async function beginDeed(scope: Scope, deed: Omit<Deed, 'id'>, marked: string[], id = newId()): Promise<Deed> {
  const { sql, organization_id, actor } = scope
  const { kind, subject_id, source_ids } = deed
  const { count } = await sql`
    insert into deeds (organization_id, id, kind, subject_id, source_ids, actor_type, actor_id, actor_name, run_at)
    values (${organization_id}, ${id}, ${kind}, ${subject_id}, ${source_ids}::uuid[], ${actor.type}, ${actor.id},
      ${actor.name}, now() + ${LEASE}::interval)
    on conflict do nothing`
  if (count === 0) throw busy(IS_DELETED)
  if (marked.length > 0) {
    await sql`
      update contacts set deed_id = ${id}
      where organization_id = ${organization_id} and id = any(${marked}::uuid[])`
  }
  return { id, ...deed }
}

/**
 * Ends a deed in the caller's transaction.
 * @returns false when it had ended before
 */
export async function endDeed({ sql, organization_id }: Scope, { id, subject_id, source_ids }: Deed): Promise<boolean> {
  const { count } = await sql`delete from deeds where organization_id = ${organization_id} and id = ${id}`
  await sql`
    update contacts set deed_id = null
    where organization_id = ${organization_id} and id = any(${[subject_id, ...source_ids]}::uuid[]) and deed_id = ${id}`
  return count > 0
}

/**
 * Does the first step of a deed in the caller's transaction, and notes the deed when more is left, which is done after
 * the commit.
 * @returns the deed when more is left
 */
export async function doOrBegin(
  scope: Scope,
  deed: Omit<Deed, 'id'>,
  step: Step,
  marked: string[],
): Promise<Deed | undefined> {
  if (await step(scope, { id: '', ...deed })) return undefined
  const begun = await beginDeed(scope, deed, marked)
  afterCommit(scope, () => void runDeed(scope, begun, inSteps(step)).catch(() => {}))
  return begun
}

/** Makes the work of a deed from its step: behind the lock of its row, until nothing is left. */
export function inSteps(step: Step): Work {
  return async (scope, { id }) => {
    for (let is_over = false; !is_over; ) {
      is_over = await inTransaction(scope, async (inner) => {
        const deed = await lockDeed(inner, id)
        if (!deed) return true
        if (!(await step(inner, deed))) return false
        return endDeed(inner, deed)
      })
    }
  }
}

/**
 * Deletes a thing that any number of tickets may name. Its deed has the id of the thing: who asks again while it goes
 * on is told so.
 * @param note finds the thing, refuses, and writes the audit entry, in the first transaction
 * @throws SERVICE_UNAVAILABLE when it takes longer than a request may: it goes on
 */
export async function deleteInSteps(
  scope: Scope,
  kind: DeedKind,
  id: string,
  note: (scope: Scope) => Promise<void>,
  step: Step,
): Promise<void> {
  const begun = await inTransaction(scope, async (inner) => {
    // Waits for the beginning of another one.
    const deed = await beginDeed(inner, { kind, subject_id: id, source_ids: [] }, [], id)
    await note(inner)
    if ((await step(inner, deed)) && (await endDeed(inner, deed))) return undefined
    afterCommit(inner, () => void runDeed(scope, deed, inSteps(step)).catch(() => {}))
    return deed
  })
  if (begun) await within(endOf(begun.id), ANSWER_MOST_MS, IS_DELETED)
}

const IS_DELETED = 'Many tickets name it, from which it is being taken. Ask again later'

/**
 * Empties a field of some tickets that name a row which goes, in the caller's transaction. No index has hidden ones, so
 * they come last.
 * @returns true when no more name it
 */
export async function leaveSome(scope: Scope, column: 'team_id' | 'mailbox_id', id: string): Promise<boolean> {
  const { sql, organization_id } = scope
  for (const which of [sql`is null`, sql`is not null`]) {
    const { count } = await sql`
      update tickets set ${sql(column)} = null
      where organization_id = ${organization_id} and id = any(array(
        select t.id from tickets t
        where t.organization_id = ${organization_id} and t.${sql(column)} = ${id} and t.deleted_at ${which}
        order by t.id limit ${STEP} for no key update
      ))`
    if (count === STEP) return false
  }
  return true
}

/** Locks the row of a deed in the caller's transaction. @returns undefined when it has ended */
export async function lockDeed({ sql, organization_id }: Scope, id: string): Promise<Deed | undefined> {
  const [deed] = await sql<Deed[]>`
    select id, kind, subject_id, source_ids from deeds where organization_id = ${organization_id} and id = ${id}
    for update`
  return deed
}

/**
 * Works on a deed in the name of the actor who began it, unless this process does so already. Until the work ends other
 * processes are kept from it.
 */
export function runDeed<T>(
  { organization_id, actor }: Pick<Scope, 'organization_id' | 'actor'>,
  deed: Deed,
  work: (scope: Scope, deed: Deed) => Promise<T>,
): Promise<T> {
  const known = running.get(deed.id) as Promise<T> | undefined
  if (known) return known
  const scope = { ...deedsOf(organization_id), organization_id, actor }
  const renewal = setInterval(() => lease(scope, deed.id, LEASE).catch(() => {}), RENEW_MS)
  const run = work(scope, deed)
    .catch(async (error) => {
      log.warn({ deed_id: deed.id, error: safeError(error) }, 'a deed was interrupted and will go on')
      await lease(scope, deed.id, '0').catch(() => {})
      throw error
    })
    .finally(() => {
      clearInterval(renewal)
      running.delete(deed.id)
    })
  running.set(deed.id, run)
  return run
}

async function lease({ sql, organization_id }: Scope, id: string, time: string): Promise<void> {
  await sql`
    update deeds set run_at = now() + ${time}::interval where organization_id = ${organization_id} and id = ${id}`
}

/**
 * Finds the erasure that a contact is marked by, to go on with it in this process.
 * @throws SERVICE_UNAVAILABLE when it is another deed, or another process works on it
 */
export async function erasureOf({ sql, organization_id }: Scope, deed_id: string): Promise<Deed> {
  const [deed] = await sql<Row[]>`
    select id, kind, subject_id, source_ids, actor_type, actor_id, actor_name from deeds
    where organization_id = ${organization_id} and id = ${deed_id} and kind = 'erase contact'
      and (run_at <= now() or ${running.has(deed_id)})`
  if (!deed) throw busy()
  return deed
}

/** The end of a deed that this process works on. */
export function endOf(deed_id: string): Promise<unknown> {
  return running.get(deed_id) ?? Promise.resolve()
}

/** Waits for the end of a deed. @throws SERVICE_UNAVAILABLE when it takes longer than `most_ms`: it goes on */
export async function within<T>(end: Promise<T>, most_ms = ANSWER_MOST_MS, reason?: string): Promise<T> {
  const answered = new AbortController()
  const late = Symbol()
  try {
    const result = await Promise.race([end, sleep(most_ms, late, { signal: answered.signal })])
    if (result !== late) return result as T
  } finally {
    answered.abort()
  }
  // A fault after its answer was logged.
  end.catch(() => {})
  throw busy(reason)
}

/** The refusal of a write to what a deed works on. */
export function busy(reason = 'The contact is being merged, deleted or erased. Ask again later'): ApiError {
  return new ApiError('SERVICE_UNAVAILABLE', { reason }, undefined, ASK_AGAIN_S)
}

/** Refuses what names a contact that is being erased. @param deed_ids marks of contacts @throws SERVICE_UNAVAILABLE */
export async function requireNotErased(
  { sql, organization_id }: Pick<Scope, 'sql' | 'organization_id'>,
  deed_ids: (string | null)[],
) {
  const ids = deed_ids.filter((id) => id !== null)
  if (ids.length === 0) return
  const erasing = await sql`
    select from deeds
    where organization_id = ${organization_id} and id = any(${ids}::uuid[]) and kind = 'erase contact' limit 1`
  if (erasing.length > 0) throw busy()
}

/** Goes on with deeds whose process has died. For a background job, in any number of processes. */
export async function goOnWithDeeds({ sql }: Connection, works: Record<DeedKind, Work>): Promise<void> {
  const is_old = sql`run_at < now()`
  await visit({ sql }, { table: 'deeds', key: ['id'], is_old, order: 'id' }, async (organization_id, deeds) => {
    for (const { id } of deeds) {
      const [deed] = await sql<Row[]>`
        update deeds set run_at = now() + ${LEASE}::interval
        where organization_id = ${organization_id} and id = ${id} and run_at < now()
        returning id, kind, subject_id, source_ids, actor_type, actor_id, actor_name`
      if (deed) await runDeed({ organization_id, actor: actorOf(deed) }, deed, works[deed.kind]).catch(() => {})
    }
  })
}

/** Makes the actor who began a deed, as far as timelines tell. */
function actorOf({ actor_type: type, actor_id: id, actor_name: name }: Row): Actor {
  if (id === null || name === null) return SYSTEM
  if (type === 'api_key') return { type, id, name, email: null, permissions: new Set() }
  return { type: 'user', id, name, email: '', role: 'agent' }
}
