/** The outbox handler of kind wake: opens tickets that slept. */
import type { Connection } from '../../base/db/transact'
import { inTransaction, SYSTEM } from '../../base/scope'
import type { OutboxJob, Outcome } from '../../delivery/outbox/job'
import { updateTicket } from './commands'

/** Opens a ticket whose moment has come. One that sleeps no more, or is gone, or is merged, stays as it is. */
export async function wakeTicket({ organization_id, id }: OutboxJob, connection: Connection): Promise<Outcome> {
  const left_s = await inTransaction({ ...connection, organization_id, actor: SYSTEM }, async (scope) => {
    const [asleep] = await scope.sql<{ left_s: number }[]>`
      select extract(epoch from snoozed_until - now())::float8 as left_s from tickets
      where organization_id = ${organization_id} and id = ${id} and status = 'pending' and snoozed_until is not null
        and merged_into_id is null and deleted_at is null
      for no key update`
    if (!asleep) return 0
    if (asleep.left_s <= 0) await updateTicket(scope, id, { snoozed_until: null })
    return asleep.left_s
  })
  return left_s > 0 ? { type: 'retry', delay_s: left_s, counts: false } : { type: 'done' }
}
