/**
 * Publishes events: each is kept for those who follow the organization, and subscribers get deliveries. Event,
 * deliveries and outbox rows are written in the transaction of the change: no change without its events, no event
 * without its change. The database gives each event its place in the order of all when the change commits.
 */

import { newId } from '../../base/db/columns'
import { insertRows } from '../../base/db/insert-rows'
import type { EVENTS } from '../../base/db/schema'
import { sharedTime } from '../../base/db/shared-time'
import type { Fragment, Sql } from '../../base/db/transact'
import { type Actor, afterCommit, type Scope, together } from '../../base/scope'
import { asIds } from '../../base/shapes/ids'
import { currentTraceparent } from '../../base/tracing/trace'
import { firstAttemptAt } from '../outbox/enqueue'
import { wake } from '../outbox/wake'
import { newsOf, type Readers } from '../told/news'
import { readersIn, tellMembers } from '../told/tell-members'
import { judgeOf } from './event-filter'
import type { WebhookFilter } from './model'
import { rulesIn, startRules, type WaitingRule } from './start-rules'

export type EventType = (typeof EVENTS)[number]

/** Something that happened. `data` is the resource as the API returns it, and what the type adds, such as `changes`. */
export type NewEvent = {
  type: EventType
  data: unknown
  /** The state before, as far as `data` does not tell it, for filters. */
  before?: { company_id: string | null }
}

/** A webhook that is switched on, and the events that it wants. A failed one gets its deliveries when it is enabled. */
type Subscriber = { id: string; status: 'active' | 'failed'; events: EventType[]; filter: WebhookFilter | null }

/** Those who are told of the events of an organization: its webhooks, its members by mail, and its rules. */
export type Audience = { webhooks: Subscriber[]; members: Readers; rules: WaitingRule[] }

const listeners = new Set<(organization_id: string) => void>()

/** Calls `listener` when this process has committed events of an organization. Returns the function that ends it. */
export function onPublished(listener: (organization_id: string) => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

type PublishOptions = {
  /** Those who are told, when the caller has read that already. */
  audience?: Audience
  /** The time of the change; now by default. */
  happened_at?: Date
}

/**
 * Publishes events in the order given, in the caller's transaction, and wakes the workers after the commit. The text
 * that receivers get is fixed here.
 */
export async function publish(scope: Scope, events: NewEvent[], options: PublishOptions = {}): Promise<void> {
  if (events.length === 0) return
  const { audience = await findAudience(scope), happened_at = new Date(sharedTime()) } = options
  await publishEach(scope, [{ events, audience }], happened_at)
}

/** Events of a change, and those who are told of it. */
type ToPublish = {
  events: NewEvent[]
  audience: Audience
  /** The actor of the change, when it was made together with others; by default the scope's. */
  actor?: Actor
  /** The trace that the change belongs to, when it was made together with others; by default the one under way. */
  traceparent?: string | null
}

/** As `publish`, for several changes that were made in one transaction. */
export async function publishEach(
  scope: Scope,
  changes: ToPublish[],
  happened_at = new Date(sharedTime()),
): Promise<void> {
  const passes = await judgeOf(scope, changes)
  const published = changes.flatMap((change) =>
    change.events.map((event) => {
      const receivers = change.audience.webhooks.filter(
        ({ events, filter }) => events.includes(event.type) && passes(change, event, filter),
      )
      return {
        ...newPublication(scope.organization_id, event, receivers, happened_at),
        ...(change.traceparent !== undefined && { traceparent: change.traceparent }),
      }
    }),
  )
  if (published.length === 0) return
  await together([
    insertPublications(scope, published),
    tellMembers(scope, newsOf(scope, changes)),
    startRules(scope, changes, passes),
  ])
  afterCommit(scope, () => {
    for (const listener of listeners) listener(scope.organization_id)
  })
  const { organization_id } = scope
  const ids = new Set(
    published.flatMap(({ deliveries }) => deliveries.flatMap((one) => (one.is_parked ? [] : one.webhook_id))),
  )
  const lanes = [...ids].map((lane_id) => ({ organization_id, lane_id }))
  if (lanes.length > 0) afterCommit(scope, () => wake('webhook', lanes))
}

/**
 * Publishes an event to one webhook, whatever it subscribes to, and wakes nobody: the caller sends it.
 * @returns the id of the delivery, which is also that of its outbox row
 */
export async function publishTo(scope: Scope, webhook_id: string, event: NewEvent): Promise<string> {
  const publication = newPublication(
    scope.organization_id,
    event,
    [{ id: webhook_id, status: 'active' }],
    new Date(sharedTime()),
  )
  await insertPublications(scope, [publication])
  return publication.deliveries[0]!.id
}

/** Reads who is told of events. A command reads it once, and passes it on to `publish`. */
export async function findAudience(scope: Scope): Promise<Audience> {
  const { sql, organization_id } = scope
  const [found] = await sql<{ audience: Audience }[]>`
    select ${audienceOf(sql, sql`${organization_id}`)} as audience`
  return found!.audience
}

/** SQL for what `findAudience` returns, for a statement that reads more than that. */
export function audienceOf(sql: Sql, organization_id: Fragment) {
  return sql`json_build_object('members', ${readersIn(sql, organization_id)}, 'rules', ${rulesIn(sql, organization_id)}, 'webhooks', (
    select coalesce(json_agg(json_build_object('id', w.id, 'status', w.status, 'events', w.events, 'filter', w.filter)), '[]')
    from webhooks w where w.organization_id = ${organization_id} and w.active and w.deleted_at is null
  ))`
}

/** Makes the body of an event and its deliveries. Whoever reads it signs addresses anew (`freshBody`). */
export function eventBody(
  { organization_id }: Pick<Scope, 'organization_id'>,
  { type, data }: NewEvent,
  happened_at: Date,
): string {
  const timestamp = `${happened_at.toISOString().slice(0, 19)}Z`
  return JSON.stringify({ event: type, timestamp, organization_id, data: forAll(data) })
}

/** Data without what some readers alone are shown: how far a person has read a ticket, and if it has drafts. */
function forAll(data: unknown): unknown {
  if (typeof data !== 'object' || !data || !('unread' in data)) return data
  return { ...data, draft_count: null, unread: null, read_to: null }
}

/** An event with its deliveries, as they are written. */
type Publication = {
  id: string
  organization_id: string
  type: EventType
  body: string
  resource_id: string | null
  ticket_id: string | null
  traceparent: string | null
  /** `is_parked`: the webhook is failed, the delivery waits until it is enabled again. */
  deliveries: { id: string; webhook_id: string; is_parked: boolean }[]
}

function newPublication(
  organization_id: string,
  event: NewEvent,
  receivers: Pick<Subscriber, 'id' | 'status'>[],
  happened_at: Date,
): Publication {
  const deliveries = receivers.map(({ id: webhook_id, status }) => {
    return { id: newId(), webhook_id, is_parked: status === 'failed' }
  })
  return {
    id: newId(),
    organization_id,
    type: event.type,
    body: eventBody({ organization_id }, event, happened_at),
    ...idsOf(event),
    traceparent: currentTraceparent(),
    deliveries,
  }
}

/** Inserts events, deliveries and their outbox rows. */
async function insertPublications({ sql }: Scope, published: Publication[]): Promise<void> {
  const events = published.map(({ id, organization_id, type, body, resource_id, ticket_id }) => {
    return { organization_id, id, type, body, resource_id, ticket_id }
  })
  const sent = published.flatMap(({ id: event_id, organization_id, type: event, traceparent, deliveries }) =>
    deliveries.map((delivery) => ({ ...delivery, organization_id, event_id, event, traceparent })),
  )
  const deliveries = sent.map(({ organization_id, id, webhook_id, event_id, event, is_parked }) => {
    const next_attempt_at = is_parked ? null : firstAttemptAt(sql)
    return { organization_id, id, webhook_id, event_id, event, next_attempt_at }
  })
  const work = sent.map(({ organization_id, id, webhook_id, is_parked, traceparent }) => {
    const run_at = is_parked ? 'infinity' : firstAttemptAt(sql)
    return { organization_id, id, kind: 'webhook', lane_id: webhook_id, run_at, traceparent }
  })
  await together([
    insertRows(sql, 'events', events),
    insertRows(sql, 'deliveries', deliveries),
    insertRows(sql, 'outbox', work),
  ])
}

/** The ids by which events about something are found. */
function idsOf({ data }: NewEvent): Pick<Publication, 'resource_id' | 'ticket_id'> {
  const { id, ticket } = data as { id?: string; ticket?: { id: string } | null }
  return { resource_id: asIds([id ?? ''])[0] ?? null, ticket_id: asIds([ticket?.id ?? ''])[0] ?? null }
}
