/** Webhooks for tests: creates them, publishes events, delivers them, and moves time on. */
import { connection } from '../../src/base/db/pool'
import { inTransaction, type Scope } from '../../src/base/scope'
import { drainOutbox } from '../../src/delivery/outbox/drain'
import { deliverWebhook } from '../../src/delivery/webhooks/deliver'
import { type EventType, publish } from '../../src/delivery/webhooks/publish'
import type { Client } from './api'
import { type Receiver, startReceiver } from './receiver'
import { withSettings } from './settings'

/** A receiver that deliveries can reach: its authority is trusted from now on. */
export async function startTrustedReceiver(answer: Receiver['answer'] = 200): Promise<Receiver> {
  const receiver = await startReceiver({ answer })
  withSettings({ WEBHOOK_CA_FILE: receiver.ca_file })
  return receiver
}

/** A webhook, over HTTP. */
export async function createWebhook(client: Client, fields: Record<string, unknown> = {}) {
  const answer = await client.post('/webhooks', {
    url: 'https://receiver.example/hook',
    events: ['ticket.created'],
    ...fields,
  })
  if (answer.status !== 201) throw new Error(`creating a webhook answered ${answer.status} ${answer.text}`)
  return answer.body.data
}

/** Something happens, and is committed. */
export async function emit(scope: Scope, data: unknown = { id: 'a ticket' }, type: EventType = 'ticket.created') {
  await inTransaction(scope, (scope) => publish(scope, [{ type, data }]))
}

/** Sends what is due, until nothing is. */
export function deliverDue(): Promise<void> {
  return drainOutbox(connection(), { webhook: deliverWebhook })
}

/** As if the time until the next attempt had passed. Rows that wait for their webhook go on waiting. */
export async function makeDue({ sql, organization_id }: Scope): Promise<void> {
  await sql`
    update outbox set run_at = now() where organization_id = ${organization_id} and run_at between now() and now() + interval '1 year'`
}

/** The deliveries of a webhook over HTTP, the first one first. */
export async function deliveriesOf(client: Client, webhook_id: string) {
  const answer = await client.get(`/webhooks/${webhook_id}/deliveries?per_page=100`)
  return answer.body.data.reverse()
}

/** The status of each delivery, in the same order. */
export async function statusesOf(client: Client, webhook_id: string): Promise<string[]> {
  return (await deliveriesOf(client, webhook_id)).map(({ status }: { status: string }) => status)
}

type Queued = { id: string; due_in_s: number | null; attempts: number; claims: number }

/**
 * Waiting deliveries of a webhook: seconds until each is due (null: not before somebody sets it free), and attempts.
 */
export async function queueOf({ sql, organization_id }: Scope, webhook_id: string): Promise<Queued[]> {
  return sql<Queued[]>`
    select id, case when run_at < 'infinity' then extract(epoch from run_at - now())::float8 end as due_in_s,
      attempts, claims
    from outbox where organization_id = ${organization_id} and lane_id = ${webhook_id} order by id`
}
