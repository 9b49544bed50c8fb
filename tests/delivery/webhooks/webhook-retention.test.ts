/** Retention: old deliveries are deleted in small steps, each of which may be interrupted. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { config } from '../../../src/base/config'
import { connection } from '../../../src/base/db/pool'
import { transact } from '../../../src/base/db/transact'
import { purgeDeliveries } from '../../../src/delivery/webhooks/upkeep'
import { createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import { changeSchema, onEachNode } from '../../support/triggers'
import { createWebhook, deliverDue, deliveriesOf, emit, startTrustedReceiver } from '../../support/webhooks'

const DAY_MS = 86_400_000
const BATCH = 1000

/** The rows of a table that one statement deleted. */
type Step = { tab: string; rows: number; xid: string; at_ms: number }

let organization: Organization
let webhook_id: string

beforeAll(async () => {
  await startApi()
  await onEachNode(`
    create table steps (n integer generated always as identity primary key, tab text, rows integer, xid xid8, at timestamptz)`)
  // The part of a table that is on a node has a number behind its name.
  await changeSchema(
    `create function note_step() returns trigger language plpgsql as $$ begin
      insert into steps (tab, rows, xid, at)
      select substring(tg_table_name from '[a-z]+'), count(*), pg_current_xact_id(), clock_timestamp()
      from gone having count(*) > 0;
      return null;
    end $$`,
    ...['deliveries', 'events'].map(
      (table) => `create trigger note after delete on ${table} referencing old table as gone for each statement
        execute function note_step()`,
    ),
  )
})
afterAll(stopApi)
beforeEach(async () => {
  await connection().sql`truncate events, deliveries, delivery_attempts, outbox cascade`
  await onEachNode('truncate steps restart identity')
  organization = await createOrganization()
  webhook_id = (await createWebhook(organization.admin, { events: ['ticket.deleted'] })).id
})

/** Deliveries of that age with an event and an attempt each; gives their ids, the oldest first. */
async function addDeliveries(count: number, age_days: number, status = 'success'): Promise<string[]> {
  const { sql } = connection()
  const { id: organization_id } = organization
  const oldest_ms = Date.now() - age_days * DAY_MS
  const ids = Array.from({ length: count }, (_, n) => Bun.randomUUIDv7('hex', oldest_ms + n))
  const given = sql`from unnest(${ids}::uuid[]) as id`
  await sql`
    insert into events (organization_id, id, type, body) select ${organization_id}::uuid, id, 'ticket.created', '{}' ${given}`
  // They have left the feed.
  await sql`delete from event_places where organization_id = ${organization_id}`
  await sql`
    insert into deliveries (organization_id, id, webhook_id, event_id, event, status, attempts)
    select ${organization_id}::uuid, id, ${webhook_id}::uuid, id, 'ticket.created', ${status}, 1 ${given}`
  await sql`
    insert into delivery_attempts (organization_id, delivery_id, attempt, started_at, response_time_ms)
    select ${organization_id}::uuid, id, 1, now(), 1 ${given}`
  return ids
}

async function left() {
  const [counts] = await connection().sql<Record<string, number>[]>`
    select (select count(*) from events) as events, (select count(*) from deliveries) as deliveries,
      (select count(*) from delivery_attempts) as attempts, (select count(*) from outbox) as outbox`
  return counts
}

function purge(): Promise<void> {
  return purgeDeliveries(connection(), config.DELIVERY_RETENTION_DAYS)
}

test('deliveries go after 30 days, with their events and attempts, and younger ones stay', async () => {
  using receiver = await startTrustedReceiver()
  const { admin, scope } = organization
  await createWebhook(admin, { url: receiver.url })
  await emit(scope)
  await deliverDue()
  for (const status of ['success', 'failed', 'cancelled']) await addDeliveries(2, 30.001, status)
  const young = await addDeliveries(1, 29.999)
  await purge()
  expect((await deliveriesOf(admin, webhook_id)).map(({ id }: { id: string }) => id)).toContain(young[0])
  expect(await left()).toEqual({ events: 2, deliveries: 2, attempts: 2, outbox: 0 })
})

test('they go in steps of at most 1,000, each a transaction, with pauses between them', async () => {
  await addDeliveries(2500, 40)
  await purge()
  const noted = await onEachNode(`
    select json_agg(json_build_object('tab', tab, 'rows', rows, 'xid', xid, 'at_ms', extract(epoch from at) * 1000) order by n)::text
    from steps`)
  // The rows of an organization are on one node.
  const steps = noted.flatMap((text): Step[] => (text ? JSON.parse(text) : []))
  expect(steps.map(({ tab, rows }) => [tab, rows])).toEqual([
    ...[BATCH, BATCH, 500].map((rows) => ['deliveries', rows]),
    ...[BATCH, BATCH, 500].map((rows) => ['events', rows]),
  ])
  expect(new Set(steps.map(({ xid }) => xid)).size).toBe(6)
  for (const n of [1, 2, 4, 5]) expect(steps[n]!.at_ms - steps[n - 1]!.at_ms).toBeGreaterThan(45)
  expect(await left()).toEqual({ events: 0, deliveries: 0, attempts: 0, outbox: 0 })
})

test('what breaks off half-way keeps what it did, and goes on the next time', async () => {
  const ids = await addDeliveries(2500, 40)
  await changeSchema(
    "create function refuse() returns trigger language plpgsql as $$ begin raise 'not now'; end $$",
    `create trigger refuse before delete on deliveries for each row when (old.id = '${ids[1700]}')
      execute function refuse()`,
  )
  await expect(purge()).rejects.toThrow('not now')
  expect(await left()).toMatchObject({ deliveries: 1500, attempts: 1500, events: 2500 })
  await changeSchema('drop trigger refuse on deliveries')
  await purge()
  expect(await left()).toEqual({ events: 0, deliveries: 0, attempts: 0, outbox: 0 })
})

test('what is still to be sent is never removed, however old, nor what is just being sent again', async () => {
  const { sql } = connection()
  const [waiting] = await addDeliveries(1, 90, 'retrying')
  const [odd] = await addDeliveries(1, 90, 'failed')
  const [again] = await addDeliveries(1, 90, 'failed')
  const enqueue = (id: string) => sql`
    insert into outbox (organization_id, id, kind, lane_id, run_at)
    values (${organization.id}, ${id}, 'webhook', ${webhook_id}, 'infinity')`
  await enqueue(waiting!)
  await enqueue(odd!)
  await addDeliveries(3, 90)
  await transact(connection(), async (inner) => {
    await inner.sql`update deliveries set status = 'retrying' where id = ${again!}`
    await purge()
  })
  await purge()
  const kept = await sql<{ id: string }[]>`select id from deliveries order by id`
  expect(kept.map(({ id }) => id)).toEqual([waiting!, odd!, again!].toSorted())
  expect(await left()).toEqual({ events: 3, deliveries: 3, attempts: 3, outbox: 2 })
})

test('a deleted webhook goes once its deliveries are gone', async () => {
  const { sql } = connection()
  await addDeliveries(1, 29)
  await sql`update webhooks set deleted_at = now() - interval '31 days' where id = ${webhook_id}`
  await purge()
  expect(await sql`select id from webhooks where id = ${webhook_id}`).toHaveLength(1)
  await sql`delete from events`
  await purge()
  expect(await sql`select id from webhooks where id = ${webhook_id}`).toHaveLength(0)
})
