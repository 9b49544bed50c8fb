/** The activity timeline of a ticket (decisions.md section 4): written by commands, in the transaction of the change. */
import { newId } from '../db/columns'
import type { Scope } from '../scope'

/** What may stand in the timeline, and what `data` holds. */
export const ACTIVITY_TYPES = [
  'created', // {}
  'changed', // { field, from, to }: subject, status, priority, assignee, contact, company
  'labels_added', // { labels: [{ id, name, color }] }
  'labels_removed', // { labels: [{ id, name, color }] }
  'message', // { message_id, direction }
  'note', // { message_id }
  'message_deleted', // { message_id, is_internal }
  'time_logged', // { time_entry_id, duration_minutes, billable }
  'time_changed', // { time_entry_id, changes: { field: { from, to } } }
  'time_deleted', // { time_entry_id, duration_minutes }
  'email_sent', // { message_id, recipients: [email] }
  'email_failed', // { message_id, error }
  'email_bounced', // { message_id, error }
  'participant_added', // { participant_id, email }
  'participant_removed', // { participant_id, email }
] as const

export type ActivityEntry = { type: (typeof ACTIVITY_TYPES)[number]; data?: Record<string, unknown> }

/** Adds entries to a ticket's timeline in the name of the scope's actor, in the order given. */
export async function recordActivity(scope: Scope, ticket_id: string, entries: ActivityEntry[]): Promise<void> {
  if (entries.length > 0) await insertActivities(scope, ticket_id, entries)
}

/** The statement of `recordActivity`. @param once tables with one row, or none when nothing is to be added */
export function insertActivities(scope: Scope, ticket_id: string, entries: ActivityEntry[], once = scope.sql``) {
  return scope.sql`
    insert into activities (organization_id, id, ticket_id, type, actor_type, actor_id, actor_name, data)
    select e.organization_id, e.id, e.ticket_id, e.type, e.actor_type, e.actor_id, e.actor_name, e.data
    from json_to_recordset(${JSON.stringify(activityRows(scope, ticket_id, entries))}::json) as e (
      organization_id uuid, id uuid, ticket_id uuid, type text, actor_type text, actor_id uuid, actor_name text, data jsonb
    ) ${once}`
}

/** The rows of `recordActivity`, for statements that write them together with others. */
export function activityRows({ organization_id, actor }: Scope, ticket_id: string, entries: ActivityEntry[]) {
  return entries.map(({ type, data = {} }) => ({
    organization_id,
    id: newId(),
    ticket_id,
    type,
    actor_type: actor.type,
    actor_id: actor.id,
    actor_name: actor.name,
    data,
  }))
}
