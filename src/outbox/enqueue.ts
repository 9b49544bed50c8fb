/** Puts work into the outbox, in the transaction of the change that causes it. */
import { config } from '../config'
import type { Sql } from '../db/client'
import { newId } from '../db/columns'
import type { EVENTS } from '../db/schema'
import { afterCommit, type Scope } from '../scope'
import { type OutboxKind, wake } from './wake'

export type EventType = (typeof EVENTS)[number]

/** Something that happened; `data` is the resource as the API returns it, and what decisions.md section 8 adds. */
export type NewEvent = { type: EventType; data: unknown }

type Subscriber = { id: string; status: 'active' | 'failed'; events: EventType[] }

/**
 * Writes events and a delivery for each webhook that subscribed to them, in the order given. The bytes that receivers
 * get are fixed here. Writes nothing when nobody listens.
 * @param happened_at the time of the change
 */
export async function enqueueEvents(scope: Scope, events: NewEvent[], happened_at = new Date()): Promise<void> {
  if (events.length === 0) return
  const subscribers = await subscribersOf(scope)
  const heard = events.filter(({ type }) => listenersOf(type, subscribers).length > 0)
  if (heard.length === 0) return
  await insertEvents(
    scope,
    heard.map((event) => toldEvent(scope, event, subscribers, happened_at)),
  )
  afterCommit(scope, () => wake('webhook'))
}

/** Whether anybody is told of such events: else their data need not be read. */
export async function isHeard(scope: Scope, type: EventType): Promise<boolean> {
  return listenersOf(type, await subscribersOf(scope)).length > 0
}

/** An event as it is kept, and who is told of it. */
export type ToldEvent = {
  id: string
  type: EventType
  body: string
  /** A failed webhook's deliveries wait until it is enabled again. */
  deliveries: { id: string; webhook_id: string; waits: boolean }[]
}

/** The bytes of an event's body (interface: Delivery request). */
export function eventBody({ organization_id }: Scope, { type, data }: NewEvent, happened_at: Date): string {
  const timestamp = `${happened_at.toISOString().slice(0, 19)}Z`
  return JSON.stringify({ event: type, timestamp, organization_id, data })
}

/** Events, deliveries and their outbox rows, in one statement. */
export async function insertEvents({ sql, organization_id }: Scope, told: ToldEvent[]): Promise<void> {
  const events = told.map(({ id, type, body }) => ({ id, type, body }))
  const rows = told.flatMap(({ id: event_id, type: event, deliveries }) =>
    deliveries.map((delivery) => ({ ...delivery, event_id, event })),
  )
  await sql`
    with new_events as (
      insert into events (organization_id, id, type, body)
      select ${organization_id}::uuid, id, type, body
      from json_to_recordset(${JSON.stringify(events)}::text::json) as x (id uuid, type text, body text)
    ), given as (
      select * from json_to_recordset(${JSON.stringify(rows)}::text::json)
        as x (id uuid, event_id uuid, webhook_id uuid, event text, waits boolean)
    ), new_deliveries as (
      insert into deliveries (organization_id, id, webhook_id, event_id, event, next_attempt_at)
      select ${organization_id}::uuid, id, webhook_id, event_id, event, case when not waits then ${firstAttempt(sql)} end
      from given
    )
    insert into outbox (organization_id, id, kind, lane_id, run_at)
    select ${organization_id}::uuid, id, 'webhook', webhook_id, case when waits then 'infinity' else ${firstAttempt(sql)} end
    from given`
}

/** An outbox row for an email to send (id of the message) or an inbound email to file (id of the ledger row). */
export async function enqueueWork(
  scope: Scope,
  kind: Exclude<OutboxKind, 'webhook'>,
  id: string,
  lane_id: string,
): Promise<void> {
  const { sql, organization_id } = scope
  await sql`
    insert into outbox (organization_id, id, kind, lane_id, run_at)
    values (${organization_id}, ${id}, ${kind}, ${lane_id}, ${kind === 'email' ? firstAttempt(sql) : sql`now()`})`
  afterCommit(scope, () => wake(kind))
}

/** When what is sent is tried first: at once, unless the schedule says otherwise. */
function firstAttempt(sql: Sql) {
  return sql`now() + ${config.RETRY_SCHEDULE_SECONDS[0] ?? 0}::float8 * interval '1 second'`
}

/** By the connection of a transaction: one that writes several events asks once. */
const asked = new WeakMap<Scope['sql'], Promise<Subscriber[]>>()

function subscribersOf(scope: Scope): Promise<Subscriber[]> {
  const { sql, organization_id } = scope
  const known = scope.after_commit && asked.get(sql)
  if (known) return known
  const subscribers = sql<Subscriber[]>`
    select id, status, events from webhooks where organization_id = ${organization_id} and active and deleted_at is null`
  const answer = subscribers.then((rows) => [...rows])
  if (scope.after_commit) asked.set(sql, answer)
  return answer
}

function toldEvent(scope: Scope, event: NewEvent, subscribers: Subscriber[], happened_at: Date): ToldEvent {
  const deliveries = listenersOf(event.type, subscribers).map(({ id: webhook_id, status }) => {
    return { id: newId(), webhook_id, waits: status === 'failed' }
  })
  return { id: newId(), type: event.type, body: eventBody(scope, event, happened_at), deliveries }
}

function listenersOf(type: EventType, subscribers: Subscriber[]): Subscriber[] {
  return subscribers.filter(({ events }) => events.includes(type))
}
