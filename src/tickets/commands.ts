import { inTransaction, type Scope, together } from '../scope'
import { rebuildSearch } from '../search/ticket-document'
import { recordActivity } from '../timeline/activity'
import { stopTimersOfTicket } from '../timers/commands'
import { publish } from '../webhooks/publish'
import { activityOf, changesOf, eventsOf, labelChanges } from './changes'
import type { Ticket } from './model'
import { lockTicket } from './queries'
import { resolveUpdate, type TicketUpdate } from './references'

/**
 * Changes a ticket: the one way for PATCH, assign, unassign, labels and reopening by email. All of an update is applied or
 * nothing; no change, no event.
 * @throws TICKET_NOT_FOUND, INVALID_STATUS, USER_NOT_FOUND, LABEL_NOT_FOUND
 */
export function updateTicket(scope: Scope, id: string, update: TicketUpdate): Promise<Ticket> {
  return inTransaction(scope, async (scope) => {
    const before = await lockTicket(scope, id)
    const wanted = { ...before, ...(await resolveUpdate(scope, before, update)) }
    const changes = changesOf(before, wanted)
    if (Object.keys(changes).length === 0) return before
    const after = { ...wanted, updated_at: await writeTicket(scope, before, wanted) }
    if (changes.subject) await rebuildSearch(scope, id)
    await recordActivity(scope, id, activityOf(before, after, changes))
    await publish(scope, eventsOf(before, after, changes))
    return after
  })
}

/**
 * Hides the ticket with its messages and attachments. The time logged on it stays in time entries, and running timers are
 * logged now. A job removes the rows later (`purge.ts`).
 * @throws TICKET_NOT_FOUND
 */
export async function deleteTicket(scope: Scope, id: string): Promise<void> {
  await inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    const ticket = await lockTicket(scope, id)
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
 * Writes labels and ticket. By two statements: the trigger that counts a changed status must find the labels as they stay.
 * @returns the time of the change. It is the clock's, because `now()` is from before the wait for the lock
 */
async function writeTicket(scope: Scope, before: Ticket, after: Ticket): Promise<string> {
  const { sql, organization_id } = scope
  const { id, subject, status, priority, assignee } = after
  const { added, removed } = labelChanges(before, after)
  const [, [row]] = await together([
    added.length + removed.length > 0 && writeLabels(scope, id, added, removed),
    sql<{ updated_at: string }[]>`
      update tickets set subject = ${subject}, status = ${status}, priority = ${priority},
        assignee_id = ${assignee?.id ?? null}, updated_at = clock_timestamp()
      where organization_id = ${organization_id} and id = ${id}
      returning updated_at`,
  ])
  return row!.updated_at
}

async function writeLabels(
  scope: Scope,
  id: string,
  added: { id: string }[],
  removed: { id: string }[],
): Promise<void> {
  const { sql, organization_id } = scope
  await sql`
    with removed as (
      delete from ticket_labels
      where organization_id = ${organization_id} and ticket_id = ${id}
        and label_id = any(${removed.map((label) => label.id)}::uuid[])
    )
    insert into ticket_labels (organization_id, ticket_id, label_id)
    select ${organization_id}, ${id}, unnest(${added.map((label) => label.id)}::uuid[])`
}
