/**
 * Handles outbox jobs of kind webhook: reads delivery and webhook as they are now, signs, sends, decides what follows.
 */
import { readFile } from 'node:fs/promises'
import { config } from '../../base/config'
import { hasFewRows } from '../../base/db/few-rows'
import type { EVENTS } from '../../base/db/schema'
import { sharedTime } from '../../base/db/shared-time'
import type { Connection, Sql } from '../../base/db/transact'
import { gathered } from '../../base/flow/gather'
import { log } from '../../base/log'
import { count } from '../../base/metrics/organization-figures'
import { bareHost } from '../../base/net/destination'
import { storable } from '../../base/shapes/fold'
import { beginSpan } from '../../base/tracing/trace'
import { inBatch, type OutboxHandler, type OutboxJob, type Outcome } from '../outbox/job'
import { OWN_FAULT_DELAY_S } from '../outbox/kinds'
import { nextDelay_s } from '../outbox/retry'
import { freshBody } from './fresh-urls'
import { isFirst, parkForTurn } from './in-turn'
import { outageWatch } from './outage'
import { postWebhook, type WebhookAnswer, type WebhookFault } from './post'
import { cancelDeliveries, failDeliveries, recordAttempts, rescheduleDeliveries } from './record'
import { signatureHeaders } from './signature'
import { type StoredSecrets, secretsOf } from './signing-secrets'
import { countExhausted, observeAttempt } from './webhook-attempts'

/** Faults on the way to a receiver. When many receivers show them at once, the cause is our own network. */
const UNREACHED: WebhookFault[] = ['dns', 'connect', 'timeout', 'reset']

/** Delay while commits of the organization do not end. */
const BUSY_DELAY_S = 2

/** A delivery with its webhook as it is now. */
type DeliveryToSend = StoredSecrets & {
  id: string
  webhook_id: string
  event_id: string
  event: (typeof EVENTS)[number]
  body: string
  url: string
  /** Neither deleted nor switched off. */
  is_on: boolean
  status: 'active' | 'failed'
  /** Sent one after the other, in the order of the events. */
  ordered: boolean
  failure_count: number
  /** Recorded so far. */
  attempts: number
}

/**
 * Makes one attempt of a delivery. A failed webhook's delivery is parked until the webhook is enabled again, that of an
 * ordered one until it is its turn.
 * @param is_by_hand it goes out of turn
 */
export async function attemptDelivery(job: OutboxJob, connection: Connection, is_by_hand = false): Promise<Outcome> {
  const delivery = await readDelivery({ sql: connection.sql, job })
  if (!delivery) return { type: 'done' }
  if (!delivery.is_on) return { type: 'done', ...inBatch(cancelDeliveries, job.id) }
  if (delivery.status === 'failed') return reschedule(job, null)
  if (delivery.ordered && !is_by_hand && delivery.event !== 'test.ping') {
    const is_first = await isFirst(connection, job)
    if (is_first === undefined) return reschedule(job, BUSY_DELAY_S)
    if (!is_first) {
      const waits = inBatch(parkForTurn, { id: job.id, webhook_id: delivery.webhook_id })
      return { type: 'retry', delay_s: null, counts: false, ...waits }
    }
  }
  return send(job, delivery)
}

export const deliverWebhook: OutboxHandler = {
  attempt: (job, connection) => attemptDelivery(job, connection),
  giveUp: ({ id }) => ({ type: 'done', ...inBatch(failDeliveries, id) }),
}

async function send(job: OutboxJob, delivery: DeliveryToSend): Promise<Outcome> {
  const { id, webhook_id, event_id, event, url } = delivery
  const body = freshBody(job.organization_id, delivery.body)
  const { timestamp } = JSON.parse(body) as { timestamp: string }
  const secrets = secretsOf(delivery, { organization_id: job.organization_id, id: webhook_id })
  const now = new Date(sharedTime())
  const headers = signatureHeaders({ secrets, delivery_id: id, event_id, event, timestamp, body, now })
  const answer = await tracedPost(url, async (traceparent) =>
    postWebhook({
      url,
      headers: traceparent === null ? headers : { ...headers, traceparent },
      body,
      allowed: config.WEBHOOK_ALLOWED_NETWORKS,
      ca: await trustedAuthority(),
    }),
  )
  const is_own_fault = noteAnswer(job, delivery, answer)
  // A test is sent once, even when it fails.
  const is_test = event === 'test.ping'
  if (is_own_fault && !is_test) return reschedule(job, OWN_FAULT_DELAY_S, answer.blame === 'own')
  const { response_code, response_time_ms, error, response_head } = answer
  const schedule = config.RETRY_SCHEDULE_SECONDS
  // Sent by hand before its turn: it waits on, and its schedule has not begun.
  const is_early = delivery.ordered && job.due_ms === null && !is_test && !answer.ok
  const delay_s = answer.ok || is_test || is_early ? null : nextDelay_s(job.attempts + 1, schedule)
  const status = answer.ok ? 'success' : delay_s === null && !is_early ? 'failed' : 'retrying'
  // After the last attempt it can only have been sent again by hand, which says nothing new about the webhook.
  const exhausts = status === 'failed' && !is_test && job.attempts < schedule.length
  if (exhausts) countExhausted()
  const settle = inBatch(recordAttempts, {
    id,
    webhook_id,
    status,
    response_code,
    response_time_ms,
    error,
    response_head: response_head ? storable(response_head) : null,
    delay_s,
    heals: answer.ok && !is_test && delivery.failure_count > 0,
    exhausts,
    gives_turn: delivery.ordered && delay_s === null,
  })
  if (is_early) return { type: 'retry', delay_s, counts: false, healthy: false, ...settle }
  if (delay_s === null) return { type: 'done', healthy: answer.ok, ...settle }
  return { type: 'retry', delay_s, counts: true, ...settle }
}

/** Posts in a span, whose name the receiver gets so that it can go on with the trace. */
async function tracedPost(
  url: string,
  post: (traceparent: string | null) => Promise<WebhookAnswer>,
): Promise<WebhookAnswer> {
  const attributes = { 'http.request.method': 'POST', 'server.address': bareHost(new URL(url).hostname) }
  const begun = beginSpan({ name: 'POST', kind: 'client', attributes })
  if (!begun) return post(null)
  const answer = await begun.run(() => post(begun.span.traceparent))
  begun.span.set({ 'http.response.status_code': answer.response_code ?? undefined })
  begun.span.end(answer.error ?? undefined)
  return answer
}

/** Notes an answer in the outage watch, the metrics and the log. @returns true when a failure is a fault of our own */
function noteAnswer(job: OutboxJob, delivery: DeliveryToSend, answer: WebhookAnswer): boolean {
  const { blame, error, response_code, response_time_ms } = answer
  const host = bareHost(new URL(delivery.url).hostname)
  const is_unreached = error !== null && UNREACHED.includes(error)
  if (blame !== 'own' && error !== 'blocked_address') outageWatch.note(job.organization_id, host, !is_unreached)
  const is_own_fault = blame === 'own' || (is_unreached && outageWatch.isOurs())
  observeAttempt(error, response_time_ms)
  count(job.organization_id, answer.ok ? 'deliveries_ok' : 'deliveries_failed')
  count(job.organization_id, 'delivery_ms', Math.round(response_time_ms))
  log[blame === 'own' ? 'warn' : 'info'](
    {
      organization_id: job.organization_id,
      webhook_id: delivery.webhook_id,
      delivery_id: delivery.id,
      attempt: delivery.attempts + 1,
      // The host alone: the rest of a URL may be a secret.
      host,
      status: response_code,
      error,
      is_own_fault,
      duration_ms: response_time_ms,
    },
    'webhook attempt',
  )
  return is_own_fault
}

/**
 * Reschedules a delivery; the attempt does not count.
 * @param delay_s null parks it until the webhook is enabled again
 * @param healthy false when the attempt failed, and may fail again
 */
function reschedule({ id }: OutboxJob, delay_s: number | null, healthy = true): Outcome {
  const settle = inBatch(rescheduleDeliveries, { id, delay_s })
  return { type: 'retry', delay_s, counts: false, healthy, ...settle }
}

/** The file of WEBHOOK_CA_FILE, read once. */
const authorities = new Map<string, Promise<string>>()

function trustedAuthority(): Promise<string> | undefined {
  const file = config.WEBHOOK_CA_FILE
  if (!file) return undefined
  const authority = authorities.get(file) ?? readFile(file, 'utf8')
  authorities.set(file, authority)
  return authority
}

/**
 * Reads the delivery of a job; undefined when the retention has removed it. Jobs that were leased together are read
 * together.
 */
const readDelivery = gathered(
  async (asked: { sql: Sql; job: OutboxJob }[]) => {
    const [{ sql, job }] = asked as [(typeof asked)[0]]
    const read = await readDeliveries(
      sql,
      job.organization_id,
      asked.map(({ job }) => job),
    )
    return asked.map(({ job }) => read.get(job.id))
  },
  { key: ({ job }) => job.organization_id, most_runs: 4 },
)

/** @returns deliveries by id */
async function readDeliveries(sql: Sql, organization_id: string, jobs: OutboxJob[]) {
  const rows = jobs.map(({ id }, place) => ({ place, id }))
  const deliveries = await sql<DeliveryToSend[]>`
    select d.id, d.webhook_id, d.event_id, d.event, e.body, w.url, w.secret,
      case when w.previous_secret_until > now() then w.previous_secret end as previous_secret,
      w.active and w.deleted_at is null as is_on, w.status, w.ordered, w.failure_count,
      d.attempts
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as job (place integer, id uuid)
    join deliveries d on d.organization_id = ${organization_id} and d.id = job.id
    join events e on e.organization_id = ${organization_id} and e.id = d.event_id
    join webhooks w on w.organization_id = ${organization_id} and w.id = d.webhook_id
    where ${hasFewRows(sql)}`
  return new Map(deliveries.map((delivery) => [delivery.id, delivery]))
}
