/** Writes the activity timeline of a ticket, in the transaction of the change that an entry is about. */
import { newId } from '../../base/db/columns'
import { insertRows } from '../../base/db/insert-rows'
import type { Sql } from '../../base/db/transact'
import { type Actor, type RuleName, type Scope, SYSTEM } from '../../base/scope'

/** The data of an entry, by its type. */
type ActivityData = {
  created: Record<string, never>
  /** `field`: subject, status, priority, assignee, contact, company or custom. */
  changed: { field: string; from: unknown; to: unknown }
  labels_added: { labels: Label[] }
  labels_removed: { labels: Label[] }
  snoozed: { until: string }
  woken: Record<string, never>
  message: { message_id: string; direction: 'inbound' | 'outbound' | null }
  note: { message_id: string }
  message_deleted: { message_id: string; is_internal: boolean }
  time_logged: { time_entry_id: string; duration_minutes: number; billable: boolean }
  time_changed: { time_entry_id: string; changes: Record<string, { from: unknown; to: unknown }> }
  time_deleted: { time_entry_id: string; duration_minutes: number }
  email_sent: { message_id: string; recipients: string[] }
  email_resent: { message_id: string; recipients: string[] }
  email_failed: { message_id: string; recipient: string; error: string | null }
  email_bounced: { message_id: string; error: string }
  participant_added: { participant_id: string; email: string }
  participant_removed: { participant_id: string; email: string }
  /** The contact has left the person out of a reply. */
  participant_unconfirmed: { participant_id: string; email: string }
  rating_requested: Record<string, never>
  rated: { score: 'good' | 'bad' }
  /** `sources` on the ticket that has their messages now, `into` on these. */
  merged: { sources: TicketCode[] } | { into: TicketCode }
  unmerged: { sources: TicketCode[] } | { from: TicketCode }
  /** `into` on the old ticket, `from` on the new one. */
  /** An import has brought the ticket, or changed it. */
  imported: Record<string, never>
  split: { message_ids: string[] } & ({ into: TicketCode } | { from: TicketCode })
}

type TicketCode = { id: string; code: string }

type Label = { id: string; name: string; color: string }
type ActivityType = keyof ActivityData

export type ActivityEntry = { [Type in ActivityType]: { type: Type; data: ActivityData[Type] } }[ActivityType]

/** The doer of an entry, as timelines name it. A contact that nobody knows has no id. */
export type EntryActor = Pick<Actor, 'type' | 'id' | 'name'> & { rule?: RuleName }

/** Rows that are made at a time. */
const CHUNK = 1024

/** Adds entries to a ticket's timeline in the name of the scope's actor, in the order given. */
export function recordActivity(scope: Scope, ticket_id: string, entries: ActivityEntry[]): Promise<void> {
  const { sql, organization_id, actor } = scope
  return recordActivities(
    sql,
    entries.map((entry) => ({ organization_id, ticket_id, actor, entry })),
  )
}

/** An entry of one of several tickets, in the name of the person who did it. */
type TicketActivity = { organization_id: string; ticket_id: string; actor: EntryActor; entry: ActivityEntry }

/** Adds entries to the timelines of several tickets, in the order given. */
export async function recordActivities(sql: Sql, activities: TicketActivity[]): Promise<void> {
  const rows = activities.map(({ organization_id, ticket_id, actor, entry: { type, data } }) => ({
    organization_id,
    id: newId(),
    ticket_id,
    type,
    actor_type: actor.type,
    actor_id: actor.id,
    actor_name: actor.rule ? SYSTEM.name : actor.name,
    rule: actor.rule ? JSON.stringify(actor.rule) : null,
    data: JSON.stringify(data),
  }))
  await insertRows(sql, 'activities', rows)
}

/** Adds one entry to the timelines of many tickets. */
export async function recordOnEach(scope: Scope, ticket_ids: string[], entry: ActivityEntry): Promise<void> {
  const { sql, organization_id, actor } = scope
  for (let start = 0; start < ticket_ids.length; start += CHUNK) {
    const chunk = ticket_ids.slice(start, start + CHUNK)
    await recordActivities(
      sql,
      chunk.map((ticket_id) => ({ organization_id, ticket_id, actor, entry })),
    )
  }
}
