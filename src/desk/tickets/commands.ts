import { insertRows } from '../../base/db/insert-rows'
import { requireFree } from '../../base/external-ids'
import { inTransaction, type Scope, SYSTEM, together } from '../../base/scope'
import { asIds } from '../../base/shapes/ids'
import { publish } from '../../delivery/webhooks/publish'
import { isPerson } from '../../http/request/permissions'
import { requireMayUnlabel, requireNoHold } from '../holds/holds'
import { handOverPictures } from '../messages/keep-pictures'
import { keepAll, keepPromises, readAll } from '../promises/keep'
import { followStatus } from '../ratings/requests'
import { readMark } from '../read-marks/unread'
import { rebuildSearch } from '../search/ticket-document'
import { type Assignee, chooseAssignees } from '../teams/assign'
import { recordActivity } from '../timeline/activity'
import { stopTimersOfTicket } from '../timers/commands'
import { waitingSince } from '../turn/shown-turn'
import { activityOf, changesOf, eventsOf, labelChanges } from './changes'
import type { Ticket, TicketUpdate } from './model'
import { lockTicket } from './queries'
import { resolveUpdate } from './references'
import { fields, present, type TicketRow, withNames } from './row'
import { setWake } from './snooze'
import { columnsOf } from './ticket-fields'
import { lockContacts } from './write-tickets'

/**
 * Changes a ticket: the one way for PATCH, assign, unassign, labels and reopening by email. All of an update is applied
 * or nothing; no change, no event.
 * @throws TICKET_NOT_FOUND, INVALID_CUSTOM, INVALID_STATUS, USER_NOT_FOUND, LABEL_NOT_FOUND,
 *   CONTACT_NOT_FOUND, EXTERNAL_ID_EXISTS, FORBIDDEN (only admins take a hold label off)
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
    // Its company does not change below the lock.
    if (update.contact_id) await lockContacts(scope, asIds([update.contact_id]), 'wait')
    const asked = { ...before, ...(await resolveUpdate(scope, before, update)) }
    const given_to = await assigneeOf(scope, before, asked)
    const wanted = given_to ? { ...asked, assignee: given_to } : asked
    const changes = changesOf(before, wanted)
    if (Object.keys(changes).length === 0) return { ticket: before, is_changed: false }
    await requireMayUnlabel(scope, labelChanges(before, wanted).removed)
    if (changes.external_id) await requireFree(scope, 'tickets', wanted.external_id, id)
    const written = await writeTicket(scope, before, wanted, locked_at)
    // Without a mark it depends on the assignee.
    const after = { ...wanted, ...(changes.assignee && isPerson(scope) && (await readMark(scope, id))), ...written }
    if (changes.status) await followStatus(scope, before, after)
    if (changes.snoozed_until) await setWake(scope, id, after.snoozed_until)
    if (changes.subject) await rebuildSearch(scope, id)
    const { assignee, ...others } = changes
    const by_team = given_to && assignee ? { assignee } : {}
    await recordActivity(scope, id, activityOf(before, after, given_to ? others : changes))
    await recordActivity({ ...scope, actor: SYSTEM }, id, activityOf(after, after, by_team))
    await publish(scope, eventsOf(before, after, changes))
    return { ticket: after, is_changed: true }
  })
}

/** The member who is given a ticket that comes to a team unassigned. */
async function assigneeOf(scope: Scope, before: Ticket, { id, team, assignee }: Ticket): Promise<Assignee | undefined> {
  if (assignee || !team || team.id === before.team?.id) return undefined
  return (await chooseAssignees(scope, [{ id, team_id: team.id }])).get(id)
}

/**
 * Hides the ticket with its messages and attachments, and before it the tickets that were merged into it. The time
 * logged on it stays in time entries, and running timers are logged now. A job removes the rows later (`purge.ts`).
 * @throws TICKET_NOT_FOUND, TICKET_MERGED, ON_HOLD
 */
export async function deleteTicket(scope: Scope, id: string): Promise<void> {
  await inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    const [, { ticket }] = await together([lockMergedInto(scope, id), lockTicket(scope, id)])
    // Nothing is merged into a locked ticket: now all of them are found.
    const merged = await lockMergedInto(scope, id)
    const ids = [...merged.map((source) => source.id), id]
    await requireNoHold(scope, ids)
    await stopTimersOfTicket(scope, id)
    await handOverPictures(scope, sql`m.ticket_id = any(${ids}::uuid[])`)
    await sql`
      with search as (
        delete from ticket_search where organization_id = ${organization_id} and ticket_id = any(${ids}::uuid[])
      )
      update tickets set deleted_at = now() where organization_id = ${organization_id} and id = any(${ids}::uuid[])`
    await keepPromises(scope, ids)
    await publish(
      scope,
      [...merged.map(present), ticket].map((data) => ({ type: 'ticket.deleted', data })),
    )
  })
}

/** Locks the tickets that were merged into one, and that one, in the order in which all who lock several do. */
async function lockMergedInto(scope: Scope, id: string): Promise<TicketRow[]> {
  const { sql, organization_id } = scope
  const [, merged] = await together([
    sql`
      select from tickets
      where organization_id = ${organization_id} and (id = ${id} or merged_into_id = ${id}) and deleted_at is null
      order by id for no key update`,
    sql<TicketRow[]>`
      select ${fields(scope)} from tickets t ${withNames(scope)}
      where t.organization_id = ${organization_id} and t.merged_into_id = ${id} and t.deleted_at is null order by t.id`,
  ])
  return merged
}

/**
 * Writes labels and ticket. By several statements: the trigger that counts a changed status must find the labels as
 * they stay.
 * @param locked_at is the time of the change
 * @returns what follows, as answers show it
 */
async function writeTicket(scope: Scope, before: Ticket, after: Ticket, locked_at: string): Promise<Following> {
  const { sql, organization_id } = scope
  const { added, removed } = labelChanges(before, after)
  const labels = added.map((label) => ({ organization_id, ticket_id: after.id, label_id: label.id }))
  const { parent_id, ...columns } = columnsOf(organization_id, after)
  // A parent that was merged is shown as its target, and stays the one that was given.
  const parent = before.parent?.id === after.parent?.id ? {} : { parent_id }
  const [, , [row], ...facts] = await together([
    removed.length > 0 && removeLabels(scope, after.id, removed),
    insertRows(sql, 'ticket_labels', labels),
    sql<Following[]>`
      update tickets t set ${sql({ ...columns, ...parent, updated_at: locked_at })}
      where t.organization_id = ${organization_id} and t.id = ${after.id}
      returning t.updated_at, ${waitingSince(sql)} as waiting_since`,
    ...readAll(scope, [after.id]),
  ])
  const [kept] = await keepAll(scope, facts, 'later')
  return { ...row!, ...(kept && { sla: kept.sla }) }
}

/** Fields that follow from a change of others. */
type Following = Pick<Ticket, 'updated_at' | 'waiting_since'> & Partial<Pick<Ticket, 'sla'>>

async function removeLabels({ sql, organization_id }: Scope, id: string, labels: { id: string }[]): Promise<void> {
  await sql`
    delete from ticket_labels
    where organization_id = ${organization_id} and ticket_id = ${id}
      and label_id = any(${labels.map((label) => label.id)}::uuid[])`
}
