/** Applies rules of retention once a day, for a background job. */
import { audit } from '../../base/audit/audit'
import { ZERO_ID } from '../../base/db/columns'
import { visit } from '../../base/db/sweep'
import type { Connection } from '../../base/db/transact'
import { inTransaction, type Scope, SYSTEM } from '../../base/scope'
import { holdLabels } from '../holds/holds'
import { eraseConversations, finishErasures } from '../privacy/erase-conversations'
import { deleteTicket } from '../tickets/commands'
import { dueTickets } from './due'
import { getRetention } from './queries'

/** Tickets of one transaction. */
const STEP = 20

type Due = { id: string; place: number }
type Applied = { place: number; action: 'erase' | 'delete'; ids: string[] }

/**
 * Applies the rules of each organization whose last change and last run are a day ago. A run that is interrupted goes
 * on with the next call. @returns how many tickets were erased or deleted
 */
export async function applyRetention(connection: Connection): Promise<number> {
  const { sql } = connection
  const scopeOf = (organization_id: string): Scope => ({ ...connection, organization_id, actor: SYSTEM })
  await visit(connection, { table: 'retention_erasures', is_old: sql`true` }, (organization_id) =>
    finishErasures(scopeOf(organization_id)),
  )
  const is_old = sql`
    t.rules <> '[]' and t.changed_at < now() - interval '1 day'
    and (t.applied_at is null or t.applied_at < now() - interval '1 day')`
  const counts = await visit(connection, { table: 'retention', is_old }, (organization_id) =>
    applyIn(scopeOf(organization_id)),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}

async function applyIn(scope: Scope): Promise<number> {
  const { sql, organization_id } = scope
  let total = 0
  for (let after = ZERO_ID; ; ) {
    const retention = await getRetention(scope)
    const some = await sql<Due[]>`
      select d.id from (${dueTickets(scope, retention, sql`and t.id > ${after} order by t.id`)}) d where not d.is_held
      order by d.id limit ${STEP}`
    const last = some.at(-1)
    if (!last) break
    total += await inTransaction(scope, (inner) =>
      applyTo(
        inner,
        some.map(({ id }) => id),
      ),
    )
    after = last.id
  }
  await finishErasures(scope)
  await sql`
    update retention set applied_at = now()
    where organization_id = ${organization_id} and changed_at < now() - interval '1 day'`
  return total
}

/** Erases or deletes some tickets that are still due once they are locked. Changed rules wait a day again. */
async function applyTo(scope: Scope, ids: string[]): Promise<number> {
  const { sql, organization_id } = scope
  // From now on rules and hold labels stay as they are.
  await holdLabels(scope)
  const [row] = await sql<{ is_rested: boolean }[]>`
    select changed_at < now() - interval '1 day' as is_rested from retention
    where organization_id = ${organization_id}`
  if (!row?.is_rested) return 0
  const retention = await getRetention(scope)
  await sql`
    select 1 from tickets
    where organization_id = ${organization_id} and (id = any(${ids}::uuid[]) or merged_into_id = any(${ids}::uuid[]))
    order by id for no key update`
  const due = await sql<Due[]>`
    select d.id, d.place from (${dueTickets(scope, retention, sql`and t.id = any(${ids}::uuid[])`)}) d
    where not d.is_held order by d.id`
  const applied = [...Map.groupBy(due, ({ place }) => place)].map(([place, tickets]): Applied => {
    return { place, action: retention.rules[place]!.action, ids: tickets.map(({ id }) => id) }
  })
  for (const { action, ids } of applied) {
    if (action === 'erase') await eraseConversations(scope, ids)
    else for (const id of ids) await deleteTicket(scope, id)
  }
  for (const { place, action, ids } of applied) {
    const changes = { rule: { from: null, to: retention.rules[place] }, [action]: { from: null, to: ids } }
    await audit(scope, {
      action: 'retention.applied',
      resource: { type: 'organization', id: organization_id },
      changes,
    })
  }
  return due.length
}
