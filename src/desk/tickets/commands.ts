import { insertRows } from '../../base/db/insert-rows'
import { inTransaction, type Scope, together } from '../../base/scope'
import { publish } from '../../delivery/webhooks/publish'
import { rebuildSearch } from '../search/ticket-document'
import { recordActivity } from '../timeline/activity'
import { stopTimersOfTicket } from '../timers/commands'
import { activityOf, changesOf, eventsOf, labelChanges } from './changes'
import type { Ticket } from './model'
import { lockTicket } from './queries'
import { resolveUpdate, type TicketUpdate } from './references'

/**
 * Changes a ticket: the one way for PATCH, assign, unassign, labels and reopening by email. All of an update is applied
 * or nothing; no change, no event.
 * @throws TICKET_NOT_FOUND, INVALID_STATUS, USER_NOT_FOUND, LABEL_NOT_FOUND
 */
export async function updateTicket(scope: Scope, id: string, update: TicketUpdate): Promise<Ticket> {
  return (await changeTicket(scope, id, update)).ticket
}

/** As `updateTicket`. Says if the ticket was changed. */
export function changeTicket(
  scope: Scope,
  id: string,
  update: TicketUpdate,
): Promise<{ ticket: Ticket; is_changed: boolean }> {
  return inTransaction(scope, async (scope) => {
    const { ticket: before, locked_at } = await lockTicket(scope, id)
    const wanted = { ...before, ...(await resolveUpdate(scope, before, update)) }
    const changes = changesOf(before, wanted)
    if (Object.keys(changes).length === 0) return { ticket: before, is_changed: false }
    const after = { ...wanted, updated_at: await writeTicket(scope, before, wanted, locked_at) }
    if (changes.subject) await rebuildSearch(scope, id)
    await recordActivity(scope, id, activityOf(before, after, changes))
    await publish(scope, eventsOf(before, after, changes))
    return { ticket: after, is_changed: true }
  })
}

/**
 * Hides the ticket with its messages and attachments. The time logged on it stays in time entries, and running timers
 * are logged now. A job removes the rows later (`purge.ts`).
 * @throws TICKET_NOT_FOUND
 */
export async function deleteTicket(scope: Scope, id: string): Promise<void> {
  await inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    const { ticket } = await lockTicket(scope, id)
    await stopTimersOfTicket(scope, id)
    await sql`
      with search as (
        delete from ticket_search where organization_id = ${organization_id} and ticket_id = ${id}
      )
      update tickets set deleted_at = now() where organization_id = ${organization_id} and id = ${id}`
    await publish(scope, [{ type: 'ticket.deleted', data: ticket }])
  })
}

/**
 * Writes labels and ticket. By several statements: the trigger that counts a changed status must find the labels as
 * they stay.
 * @param locked_at is the time of the change
 * @returns it as answers show it
 */
async function writeTicket(scope: Scope, before: Ticket, after: Ticket, locked_at: string): Promise<string> {
  const { sql, organization_id } = scope
  const { id, subject, status, priority, assignee } = after
  const { added, removed } = labelChanges(before, after)
  const labels = added.map((label) => ({ organization_id, ticket_id: id, label_id: label.id }))
  const [, , [row]] = await together([
    removed.length > 0 && removeLabels(scope, id, removed),
    insertRows(sql, 'ticket_labels', labels),
    sql<{ updated_at: string }[]>`
      update tickets set subject = ${subject}, status = ${status}, priority = ${priority},
        assignee_id = ${assignee?.id ?? null}, updated_at = ${locked_at}
      where organization_id = ${organization_id} and id = ${id}
      returning updated_at`,
  ])
  return row!.updated_at
}

async function removeLabels({ sql, organization_id }: Scope, id: string, labels: { id: string }[]): Promise<void> {
  await sql`
    delete from ticket_labels
    where organization_id = ${organization_id} and ticket_id = ${id}
      and label_id = any(${labels.map((label) => label.id)}::uuid[])`
}
