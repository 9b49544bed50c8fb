/** Endpoints that take connections and never answer, with much work due for them, beside healthy endpoints. */

import { newId } from '../../src/base/db/columns'
import { connection } from '../../src/base/db/pool'
import { type Scope, SYSTEM } from '../../src/base/scope'
import { startRawReceiver } from './raw-receiver'
import { type Receiver, startReceiver } from './receiver'
import { emit } from './webhooks'

export type Crowd = {
  scope: Scope
  receiver: Receiver
  /** Publishes an event to every healthy endpoint. */
  tell(): Promise<void>
  /** Time from the event to each delivery at a healthy endpoint. */
  delays_ms(): number[]
  /** Connections that dead endpoints have taken. */
  hanging(): number
  /** Deliveries to dead endpoints: not tried to the end yet, and all. */
  dead(): Promise<{ pending: number; all: number }>
  [Symbol.dispose](): void
}

/** @param due how many deliveries are due for each dead endpoint, from before anything else */
export async function createCrowd(count: { dead: number; due: number; healthy: number }): Promise<Crowd> {
  const silent = await startRawReceiver((socket) => socket.resume(), { tls: false, address: '0.0.0.0' })
  const receiver = await startReceiver()
  const organization_id = newId()
  const scope: Scope = { ...connection(), organization_id, actor: SYSTEM }
  const { sql } = scope
  await sql`insert into organizations (id, name) values (${organization_id}, 'Acme')`
  // All of 127.0.0.0/8 is this host, so that each dead endpoint is another host.
  const dead_urls = Array.from({ length: count.dead }, (_, n) => `https://127.1.${n >> 8}.${n & 255}:${silent.port}/`)
  const dead_ids = await addWebhooks(sql, organization_id, dead_urls, 'ticket.deleted')
  const healthy_urls = Array.from({ length: count.healthy }, (_, n) => `${receiver.url}/${n}`)
  await addWebhooks(sql, organization_id, healthy_urls, 'ticket.created')
  await addDue(sql, organization_id, dead_ids, count.due)
  return {
    scope,
    receiver,
    tell: () => emit(scope, { at_ms: Date.now() }),
    delays_ms: () => receiver.requests.map((request) => request.at.getTime() - Number(request.json().data.at_ms)),
    hanging: () => silent.sockets.length,
    async dead() {
      const [counts] = await sql<{ pending: number; all: number }[]>`
        select count(*) filter (where status = 'pending') as pending, count(*) as all from deliveries
        where organization_id = ${organization_id} and event = 'ticket.deleted'`
      return counts!
    },
    [Symbol.dispose]() {
      silent[Symbol.dispose]()
      receiver[Symbol.dispose]()
    },
  }
}

async function addWebhooks(sql: Scope['sql'], organization_id: string, urls: string[], event: string) {
  const ids = urls.map(newId)
  await sql`
    insert into webhooks (organization_id, id, url, events)
    select ${organization_id}::uuid, id, url, array[${event}] from unnest(${ids}::uuid[], ${urls}::text[]) as x (id, url)`
  return ids
}

async function addDue(sql: Scope['sql'], organization_id: string, webhook_ids: string[], count: number) {
  const event_id = newId()
  await sql`
    insert into events (organization_id, id, type, body) values (${organization_id}, ${event_id}, 'ticket.deleted',
      ${JSON.stringify({ event: 'ticket.deleted', timestamp: '2026-03-04T05:06:07Z', organization_id, data: {} })})`
  await sql`
    with added as (
      insert into deliveries (organization_id, id, webhook_id, event_id, event, next_attempt_at)
      select ${organization_id}::uuid, gen_random_uuid(), webhook_id, ${event_id}::uuid, 'ticket.deleted', now()
      from unnest(${webhook_ids}::uuid[]) as webhook_id, generate_series(1, ${count}::integer)
      returning organization_id, id, webhook_id
    )
    insert into outbox (organization_id, id, kind, lane_id, run_at)
    select organization_id, id, 'webhook', webhook_id, now() - interval '1 minute' from added`
  await sql`analyze outbox, deliveries`
}
