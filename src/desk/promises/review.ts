/** Computes the promises of open tickets anew, in steps beside requests, after policies or schedules have changed. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ZERO_ID } from '../../base/db/columns'
import type { Fragment } from '../../base/db/transact'
import { afterCommit, inTransaction, type Scope } from '../../base/scope'
import { isOver } from '../../base/shapes/settled'
import { beginDeed, type Deed, endDeed, lockDeed, runDeed, STEP } from '../deeds/deeds'
import { keepPromises } from './keep'

/** Lets requests go first. */
const PAUSE_MS = 20
const ASK_AGAIN_MS = 100

/** Begins a review in the caller's transaction, whose change it counts with. It ends by itself, also after a crash. */
export async function beginReview(scope: Scope): Promise<void> {
  const { organization_id } = scope
  const deed = await beginDeed(scope, { kind: 'review promises', subject_id: organization_id, source_ids: [] }, [])
  afterCommit(scope, () => void runDeed(scope, deed, reviewAll).catch(() => {}))
}

/** Does all of a review. A second one at the same time writes the same. */
export async function reviewAll(scope: Scope, { id }: Deed): Promise<void> {
  const { sql } = scope
  const [{ began_at } = { began_at: '' }] = await sql<{ began_at: string }[]>`
    select to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as began_at`
  await walk(scope, sql`t.status in ('open', 'pending') or t.sla_due_at is not null`)
  // A transaction that was open at the change may have written by what was before it.
  while (!(await isOver(sql, began_at))) await sleep(ASK_AGAIN_MS)
  await walk(scope, sql`t.updated_at >= ${began_at}::timestamptz - interval '1 minute'`)
  await inTransaction(scope, async (inner) => {
    const deed = await lockDeed(inner, id)
    if (deed) await endDeed(inner, deed)
  })
}

/** @param which a condition on `tickets t` */
async function walk(scope: Scope, which: Fragment): Promise<void> {
  for (let after = ZERO_ID; ; await sleep(PAUSE_MS)) {
    const ids = await inTransaction(scope, async (inner) => {
      const { sql, organization_id } = inner
      const tickets = await sql<{ id: string }[]>`
        select t.id from tickets t
        where t.organization_id = ${organization_id} and t.deleted_at is null and t.id > ${after} and (${which})
        order by t.id limit ${STEP} for no key update`
      const ids = tickets.map(({ id }) => id)
      if (ids.length > 0) await keepPromises(inner, ids)
      return ids
    })
    if (ids.length < STEP) return
    after = ids.at(-1)!
  }
}
