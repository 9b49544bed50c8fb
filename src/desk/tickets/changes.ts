/** The difference between two states of a ticket, and how the timeline and events tell of it. Pure. */

import type { NewEvent } from '../../delivery/webhooks/publish'
import { customChanges } from '../custom/values'
import type { ActivityEntry } from '../timeline/activity'
import type { Ticket } from './model'
import { FIELD_NAMES, type FieldName } from './ticket-fields'

type Identified = Exclude<FieldName, 'custom' | 'rating'> | 'merged_into'

/** Fields compared as a whole or by id. A rating has an event of its own. */
const IDENTIFIED: Identified[] = [
  ...FIELD_NAMES.filter((name) => name !== 'custom' && name !== 'rating'),
  'merged_into',
]

type Changes = Partial<Record<Identified | 'custom', { from: unknown; to: unknown }>>

type Label = Ticket['labels'][number]

/** The fields that differ, with the names and values of the response. Of `custom` the keys that differ. */
export function changesOf(before: Ticket, after: Ticket): Changes {
  const changed = IDENTIFIED.filter((field) => identityOf(before[field]) !== identityOf(after[field]))
  const custom = customChanges(before.custom, after.custom)
  return {
    ...Object.fromEntries(changed.map((field) => [field, { from: before[field], to: after[field] }])),
    ...(custom && { custom }),
  }
}

/** The timeline entry of a field that changed. */
export function changedEntry(field: string, from: unknown, to: unknown): ActivityEntry {
  return { type: 'changed', data: { field, from, to } }
}

/** Timeline entries: one for each field; one for all labels that were added, one for all that were removed. */
export function activityOf(before: Ticket, after: Ticket, { labels: _, ...changes }: Changes): ActivityEntry[] {
  const { added, removed } = labelChanges(before, after)
  const entries = Object.entries(changes).flatMap(([field, change]): ActivityEntry[] =>
    field === 'snoozed_until' ? sleepOf(after) : [changedEntry(field, ...told(field, change))],
  )
  if (added.length > 0) entries.push({ type: 'labels_added', data: { labels: added } })
  if (removed.length > 0) entries.push({ type: 'labels_removed', data: { labels: removed } })
  return entries
}

/** Gives the entry of a ticket that sleeps or wakes. A status other than open needs none: it ends the sleep. */
function sleepOf({ snoozed_until, status }: Ticket): ActivityEntry[] {
  if (snoozed_until !== null) return [{ type: 'snoozed', data: { until: snoozed_until } }]
  return status === 'open' ? [{ type: 'woken', data: {} }] : []
}

/** Leaves out what another ticket says: its subject may be erased. */
function told(field: string, { from, to }: { from: unknown; to: unknown }): [from: unknown, to: unknown] {
  return field === 'parent'
    ? [withoutSubject(from as Ticket['parent']), withoutSubject(to as Ticket['parent'])]
    : [from, to]
}

function withoutSubject(parent: Ticket['parent']) {
  return parent && { id: parent.id, code: parent.code }
}

/** The events of a new ticket, before those of its messages. */
export function eventsOfNew(ticket: Ticket): NewEvent[] {
  const created: NewEvent = { type: 'ticket.created', data: ticket }
  return ticket.assignee ? [created, { type: 'ticket.assigned', data: ticket }] : [created]
}

/** One `ticket.updated` for all changes, then the events of the assignment and of the status. */
export function eventsOf(before: Ticket, after: Ticket, changes: Changes): NewEvent[] {
  const events: NewEvent[] = [{ type: 'ticket.updated', data: { ...after, changes } }]
  if (changes.assignee && after.assignee) events.push({ type: 'ticket.assigned', data: after })
  if (changes.status) {
    events.push({ type: 'ticket.status_changed', data: { ...after, previous_status: before.status } })
  }
  return events
}

export function labelChanges(before: Ticket, after: Ticket): { added: Label[]; removed: Label[] } {
  return { added: without(after.labels, before.labels), removed: without(before.labels, after.labels) }
}

/** Compares references by id: names may have changed since. */
function identityOf(value: Ticket[Identified]): string | null {
  if (Array.isArray(value)) {
    return value
      .map(({ id }) => id)
      .sort()
      .join()
  }
  return typeof value === 'object' ? (value?.id ?? null) : value
}

function without(labels: Label[], others: Label[]): Label[] {
  return labels.filter(({ id }) => !others.some((other) => other.id === id))
}
