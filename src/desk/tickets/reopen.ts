/** Opens tickets again that a customer has answered: as many statements for a hundred as for one. */
import type { Scope } from '../../base/scope'
import type { NewEvent } from '../../delivery/webhooks/publish'
import { type EntryActor, recordActivities } from '../timeline/activity'
import { activityOf, changesOf, eventsOf } from './changes'
import { fields, present, type TicketRow, withNames } from './row'

/** Tells whether an answer of a customer opens a ticket again. */
export async function reopensOnReply({ sql, organization_id }: Scope): Promise<boolean> {
  const [row] = await sql<{ reopen_on_reply: boolean }[]>`
    select reopen_on_reply from organizations where id = ${organization_id}`
  return row?.reopen_on_reply ?? true
}

/**
 * Sets tickets to open that are not, in the caller's transaction, which has locked them. Every other status may become
 * open again.
 * @param answered tickets, each with the person who answered it
 * @param locked_at is the time of the change
 * @returns the events of each that has changed, by ticket, for the caller to publish
 */
export async function reopenTickets(
  scope: Scope,
  answered: { ticket_id: string; actor: EntryActor }[],
  locked_at: string,
): Promise<Map<string, NewEvent[]>> {
  if (answered.length === 0) return new Map()
  const { sql, organization_id } = scope
  const actors = new Map(answered.map(({ ticket_id, actor }) => [ticket_id, actor]))
  const rows = await sql<TicketRow[]>`
    select ${fields(scope)} from tickets t ${withNames(scope)}
    where t.organization_id = ${organization_id} and t.id = any(${[...actors.keys()]}::uuid[]) and t.status <> 'open'`
  if (rows.length === 0) return new Map()
  const ids = rows.map(({ id }) => id)
  const times = await sql<{ id: string; updated_at: string }[]>`
    update tickets set status = 'open', updated_at = ${locked_at}
    where organization_id = ${organization_id} and id = any(${ids}::uuid[])
    returning id, updated_at`
  const updated_at = new Map(times.map((row) => [row.id, row.updated_at]))
  const changed = rows.map((row) => {
    const before = present(row)
    const after = { ...before, status: 'open' as const, updated_at: updated_at.get(row.id)! }
    const changes = changesOf(before, after)
    return { id: row.id, activity: activityOf(before, after, changes), events: eventsOf(before, after, changes) }
  })
  const entries = changed.flatMap(({ id, activity }) =>
    activity.map((entry) => ({ organization_id, ticket_id: id, actor: actors.get(id)!, entry })),
  )
  await recordActivities(sql, entries)
  return new Map(changed.map(({ id, events }) => [id, events]))
}
