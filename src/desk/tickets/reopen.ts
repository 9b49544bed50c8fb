/** Opens tickets again that a customer has answered: as many statements for a hundred as for one. */
import { type Scope, together } from '../../base/scope'
import { withdrawWork } from '../../delivery/outbox/schedule'
import type { NewEvent } from '../../delivery/webhooks/publish'
import { keepAll, readAll } from '../promises/keep'
import { isFinished, withdrawRequests } from '../ratings/requests'
import { type EntryActor, recordActivities } from '../timeline/activity'
import { waitingSince } from '../turn/shown-turn'
import { activityOf, changesOf, eventsOf } from './changes'
import type { Ticket } from './model'
import { fields, present, type TicketRow, withNames } from './row'

/** Tells whether an answer of a customer opens a ticket again. */
async function reopensOnReply({ sql, organization_id }: Scope): Promise<boolean> {
  const [row] = await sql<{ reopen_on_reply: boolean }[]>`
    select reopen_on_reply from organizations where id = ${organization_id}`
  return row?.reopen_on_reply ?? true
}

/**
 * Sets tickets to open that are not, in the caller's transaction, which has locked them. Every other status may become
 * open again. Without `reopen_on_reply` of the organization only those that sleep are woken.
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
  const opens_all = await reopensOnReply(scope)
  const { sql, organization_id } = scope
  const actors = new Map(answered.map(({ ticket_id, actor }) => [ticket_id, actor]))
  const rows = await sql<TicketRow[]>`
    select ${fields(scope)} from tickets t ${withNames(scope)}
    where t.organization_id = ${organization_id} and t.id = any(${[...actors.keys()]}::uuid[])
      and ${opens_all ? sql`t.status <> 'open'` : sql`t.status = 'pending' and t.snoozed_until is not null`}`
  if (rows.length === 0) return new Map()
  const ids = rows.map(({ id }) => id)
  const [written, ...facts] = await together([
    sql<Pick<Ticket, 'id' | 'updated_at' | 'waiting_since'>[]>`
      update tickets t set status = 'open', snoozed_until = null, updated_at = ${locked_at}
      where t.organization_id = ${organization_id} and t.id = any(${ids}::uuid[])
      returning t.id, t.updated_at, ${waitingSince(sql)} as waiting_since`,
    ...readAll(scope, ids),
  ])
  const following = new Map(written.map((row) => [row.id, row]))
  const slas = new Map((await keepAll(scope, facts, 'later')).map(({ id, sla }) => [id, { sla }]))
  const changed = rows.map((row) => {
    const before = present(row)
    const after = {
      ...before,
      status: 'open' as const,
      snoozed_until: null,
      ...following.get(row.id),
      ...slas.get(row.id),
    }
    const changes = changesOf(before, after)
    return { id: row.id, activity: activityOf(before, after, changes), events: eventsOf(before, after, changes) }
  })
  const entries = changed.flatMap(({ id, activity }) =>
    activity.map((entry) => ({ organization_id, ticket_id: id, actor: actors.get(id)!, entry })),
  )
  await recordActivities(sql, entries)
  await withdrawWork(
    scope,
    'wake',
    rows.flatMap(({ id, snoozed_until }) => (snoozed_until ? [id] : [])),
  )
  const finished = rows.filter(({ status }) => isFinished(status)).map(({ id }) => id)
  if (finished.length > 0) await withdrawRequests(scope, finished)
  return new Map(changed.map(({ id, events }) => [id, events]))
}
