/** Rights to events: an API key gets by a webhook only what it may read itself. */

import type { Scope } from '../../base/scope'
import { isPerson, lacking, type Permission, permits } from '../../http/request/permissions'
import type { Webhook } from './model'
import type { EventType } from './publish'

type Subject = EventType extends `${infer Subject}.${string}` ? Subject : never

/** The permission to read what events are about, by the first word of their names. */
const PERMISSIONS: Record<Subject, Permission | undefined> = {
  ticket: 'tickets:read',
  message: 'messages:read',
  contact: 'contacts:read',
  company: 'companies:read',
  label: 'labels:read',
  time_entry: 'time_entries:read',
  inbound_message: 'inbound_messages:read',
  organization: 'organization:read',
  test: undefined,
}

/** The permission to read what an event is about; undefined for one that tells nothing. */
export function permissionFor(event: EventType): Permission | undefined {
  return PERMISSIONS[event.split('.')[0] as Subject]
}

/** Tells whether the scope's actor may read what an event tells. */
export function mayRead(scope: Scope, event: EventType): boolean {
  const needed = permissionFor(event)
  return needed === undefined || permits(scope, needed)
}

/** @throws FORBIDDEN, which names what is missing for the first event that the scope's actor may not read */
export function requireRead(scope: Scope, events: readonly EventType[]): void {
  const refused = events.find((event) => !mayRead(scope, event))
  if (refused) throw lacking(scope, permissionFor(refused)!)
}

/**
 * Checks that the scope's actor may read all that a webhook sends: its events, and those that wait since it had others,
 * or failed.
 * Who changes its URL gets both.
 * @param webhook locked by the caller's transaction
 * @throws FORBIDDEN
 */
export async function requireReadOf(scope: Scope, { id, events }: Webhook): Promise<void> {
  requireRead(scope, events)
  if (isPerson(scope)) return
  const { sql, organization_id } = scope
  const waiting = await sql<{ event: EventType }[]>`
    select distinct d.event from outbox o
    join deliveries d on d.organization_id = ${organization_id} and d.id = o.id
    where o.organization_id = ${organization_id} and o.lane_id = ${id} and o.kind = 'webhook'
    union
    select d.event from webhooks w
    join deliveries d on d.organization_id = ${organization_id} and d.id = w.failed_delivery_id
    where w.organization_id = ${organization_id} and w.id = ${id}`
  requireRead(
    scope,
    waiting.map(({ event }) => event),
  )
}
