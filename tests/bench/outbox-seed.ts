/** Volume for the outbox, made by the database itself. */
import { newId } from '../../src/base/db/columns'
import type { Sql } from '../../src/base/db/transact'
import { encrypt } from '../../src/base/secrets'

/** Webhooks with a secret, each with its own path. */
export async function seedWebhooks(sql: Sql, organization_id: string, url: string, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, newId)
  const secrets = ids.map((id) => {
    return encrypt('a secret of the receiver that is as long as usual', {
      column: 'webhooks.secret',
      organization_id,
      id,
    })
  })
  await sql`
    insert into webhooks (organization_id, id, url, events, secret)
    select ${organization_id}::uuid, id, ${url}::text || '/' || n, array['ticket.created'], secret
    from unnest(${ids}::uuid[], ${secrets}::text[]) with ordinality given (id, secret, n)`
  return ids
}

/** Events with a delivery each that is due, spread over webhooks, in tables that know their rows. */
export async function seedBacklog(
  sql: Sql,
  organization_id: string,
  webhooks: string[],
  body: string,
  count: number,
): Promise<void> {
  await seedFlow(sql, organization_id, webhooks, body, count)
  await sql`vacuum (analyze) outbox, deliveries, events`
}

/** The same, as more of them come. */
export async function seedFlow(
  sql: Sql,
  organization_id: string,
  webhooks: string[],
  body: string,
  count: number,
): Promise<void> {
  await sql`
    with given as materialized (
      select uuidv7() as event_id, uuidv7() as id, (${webhooks}::uuid[])[1 + n % ${webhooks.length}::int] as webhook_id
      from generate_series(1, ${count}::int) n
    ), new_events as (
      insert into events (organization_id, id, type, body)
      select ${organization_id}::uuid, event_id, 'ticket.created', ${body}::text from given
    ), new_deliveries as (
      insert into deliveries (organization_id, id, webhook_id, event_id, event, next_attempt_at)
      select ${organization_id}::uuid, id, webhook_id, event_id, 'ticket.created', now() from given
    )
    insert into outbox (organization_id, id, kind, lane_id)
    select ${organization_id}::uuid, id, 'webhook', webhook_id from given`
}

/** Rows of the largest statement of the past: each event gets its place, and statements have a time limit. */
const FINISHED_PART = 50_000

/** Deliveries of the past, with their events and an attempt each. */
export async function seedFinished(
  sql: Sql,
  organization_id: string,
  webhooks: string[],
  body: string,
  count: number,
): Promise<void> {
  for (let left = count; left > 0; left -= FINISHED_PART) {
    await seedFinishedPart(sql, organization_id, webhooks, body, Math.min(left, FINISHED_PART))
  }
  await sql`vacuum (analyze)`
}

async function seedFinishedPart(
  sql: Sql,
  organization_id: string,
  webhooks: string[],
  body: string,
  count: number,
): Promise<void> {
  await sql`
    with given as materialized (
      select uuidv7(-interval '1 day') as event_id, uuidv7(-interval '1 day') as id,
        (${webhooks}::uuid[])[1 + n % ${webhooks.length}::int] as webhook_id
      from generate_series(1, ${count}::int) n
    ), new_events as (
      insert into events (organization_id, id, type, body)
      select ${organization_id}::uuid, event_id, 'ticket.created', ${body}::text from given
    ), new_deliveries as (
      insert into deliveries
        (organization_id, id, webhook_id, event_id, event, status, attempts, response_code, response_time_ms)
      select ${organization_id}::uuid, id, webhook_id, event_id, 'ticket.created', 'success', 1, 200, 12 from given
    )
    insert into delivery_attempts (organization_id, delivery_id, attempt, started_at, response_code, response_time_ms)
    select ${organization_id}::uuid, id, 1, now() - interval '1 day', 200, 12 from given`
}
