/** Writes the activity timeline of a ticket, in the transaction of the change that an entry is about. */
import { newId } from '../db/columns'
import type { Fragment, Sql } from '../db/transact'
import type { Actor, Scope } from '../scope'

/** The data of an entry, by its type. */
type ActivityData = {
  created: Record<string, never>
  /** `field`: subject, status, priority, assignee, contact or company. */
  changed: { field: string; from: unknown; to: unknown }
  labels_added: { labels: Label[] }
  labels_removed: { labels: Label[] }
  message: { message_id: string; direction: 'inbound' | 'outbound' | null }
  note: { message_id: string }
  message_deleted: { message_id: string; is_internal: boolean }
  time_logged: { time_entry_id: string; duration_minutes: number; billable: boolean }
  time_changed: { time_entry_id: string; changes: Record<string, { from: unknown; to: unknown }> }
  time_deleted: { time_entry_id: string; duration_minutes: number }
  email_sent: { message_id: string; recipients: string[] }
  email_failed: { message_id: string; recipient: string; error: string | null }
  email_bounced: { message_id: string; error: string }
  participant_added: { participant_id: string; email: string }
  participant_removed: { participant_id: string; email: string }
}

type Label = { id: string; name: string; color: string }
type ActivityType = keyof ActivityData

export type ActivityEntry = { [Type in ActivityType]: { type: Type; data: ActivityData[Type] } }[ActivityType]

/** Rows of one statement. */
const CHUNK = 1000

/** Adds entries to a ticket's timeline in the name of the scope's actor, in the order given. */
export async function recordActivity(scope: Scope, ticket_id: string, entries: ActivityEntry[]): Promise<void> {
  if (entries.length > 0) await insertActivities(scope, ticket_id, entries)
}

/** An entry of one of several tickets, in the name of whoever did it. */
type TicketActivity = { ticket_id: string; actor: Actor; entry: ActivityEntry }

/** Adds entries to the timelines of several tickets, in the order given. */
export async function recordActivities(scope: Scope, activities: TicketActivity[]): Promise<void> {
  if (activities.length > 0) await insertTimelines(scope, activities)
}

/** The statement of `recordActivities`, for commands that write more in the same statement. */
export function insertTimelines({ sql, organization_id }: Scope, activities: TicketActivity[]): Fragment {
  return insertTimelinesOf(
    sql,
    activities.map((one) => ({ organization_id, ...one })),
  )
}

/**
 * As `insertTimelines`, for tickets of several organizations.
 * @param joined limits the rows `e`: `join t on t.id = e.ticket_id`
 */
export function insertTimelinesOf(
  sql: Sql,
  activities: (TicketActivity & { organization_id: string })[],
  joined = sql``,
): Fragment {
  return insertRows(
    sql,
    activities.map((one) => rowOf(one, one.ticket_id, one.entry)),
    joined,
  )
}

/** Adds one entry to the timelines of many tickets. */
export async function recordOnEach(scope: Scope, ticket_ids: string[], entry: ActivityEntry): Promise<void> {
  for (let start = 0; start < ticket_ids.length; start += CHUNK) {
    await insertRows(
      scope.sql,
      ticket_ids.slice(start, start + CHUNK).map((id) => rowOf(scope, id, entry)),
    )
  }
}

/** The statement of `recordActivity`, for commands that write more in the same statement. */
export function insertActivities(scope: Scope, ticket_id: string, entries: ActivityEntry[]): Fragment {
  return insertRows(
    scope.sql,
    entries.map((entry) => rowOf(scope, ticket_id, entry)),
  )
}

function insertRows(sql: Sql, rows: ReturnType<typeof rowOf>[], joined = sql``): Fragment {
  return sql`
    insert into activities (organization_id, id, ticket_id, type, actor_type, actor_id, actor_name, data)
    select e.organization_id, e.id, e.ticket_id, e.type, e.actor_type, e.actor_id, e.actor_name, e.data
    from json_to_recordset(${JSON.stringify(rows)}::json) as e (
      organization_id uuid, id uuid, ticket_id uuid, type text, actor_type text, actor_id uuid, actor_name text, data jsonb
    ) ${joined}`
}

function rowOf(
  { organization_id, actor }: Pick<Scope, 'organization_id' | 'actor'>,
  ticket_id: string,
  { type, data }: ActivityEntry,
) {
  return {
    organization_id,
    id: newId(),
    ticket_id,
    type,
    actor_type: actor.type,
    actor_id: actor.id,
    actor_name: actor.name,
    data,
  }
}
