/** The outbox handler of kind webhook: reads the webhook as it is now, signs, sends, tells the outbox what follows. */
import { readFile } from 'node:fs/promises'
import { config } from '../config'
import type { EVENTS } from '../db/schema'
import type { Connection } from '../db/transact'
import { log } from '../log'
import { observeAttempt } from '../metrics/webhook-attempts'
import { bareHost } from '../net/destination'
import { type Handler, inBatch, type Job, type Outcome } from '../outbox/job'
import { OWN_FAULT_DELAY_S } from '../outbox/kinds'
import { nextDelay_s } from '../outbox/retry'
import { storable } from '../search/fold'
import { outageWatch } from './outage'
import { postWebhook, type WebhookAnswer, type WebhookFault } from './post'
import { cancelDeliveries, failDeliveries, recordAttempts, rescheduleDeliveries } from './record'
import { signatureHeaders } from './signature'
import { type StoredSecrets, secretsOf } from './signing-secrets'

/** Failures of the way to a receiver, which many have at once when it is ours. */
const UNREACHED: WebhookFault[] = ['dns', 'connect', 'timeout', 'reset']

type Delivery = StoredSecrets & {
  id: string
  webhook_id: string
  event: (typeof EVENTS)[number]
  body: string
  url: string
  /** Neither deleted nor switched off. */
  is_on: boolean
  status: 'active' | 'failed'
  failure_count: number
  /** Recorded so far. */
  attempts: number
}

/** One attempt of a delivery (interface: Events; decisions.md section 8). */
export async function attemptDelivery(job: Job, connection: Connection): Promise<Outcome> {
  const delivery = await read(job, connection)
  // The retention has removed it.
  if (!delivery) return { type: 'done' }
  const { organization_id, id } = job
  if (!delivery.is_on) return { type: 'done', ...inBatch(cancelDeliveries, { organization_id, id }) }
  if (delivery.status === 'failed') return reschedule(job, null)
  return send(job, delivery)
}

export const deliverWebhook: Handler = {
  attempt: attemptDelivery,
  giveUp: ({ organization_id, id }) => ({ type: 'done', ...inBatch(failDeliveries, { organization_id, id }) }),
}

async function send(job: Job, delivery: Delivery): Promise<Outcome> {
  const { id, webhook_id, event, body, url } = delivery
  const { timestamp } = JSON.parse(body) as { timestamp: string }
  const secrets = secretsOf(delivery)
  const answer = await postWebhook({
    url,
    headers: signatureHeaders({ secrets, delivery_id: id, event, timestamp, body, now: new Date() }),
    body,
    allowed: config.WEBHOOK_ALLOWED_NETWORKS,
    ca: await trustedAuthority(),
  })
  const is_own_fault = noteAnswer(job, delivery, answer)
  // A test is sent once, whatever comes of it.
  const is_test = event === 'test.ping'
  if (is_own_fault && !is_test) return reschedule(job, OWN_FAULT_DELAY_S, answer.blame === 'own')
  const { response_code, response_time_ms, error, response_head } = answer
  const schedule = config.RETRY_SCHEDULE_SECONDS
  const delay_s = answer.ok || is_test ? null : nextDelay_s(job.attempts + 1, schedule)
  const status = answer.ok ? 'success' : delay_s === null ? 'failed' : 'retrying'
  const settle = inBatch(recordAttempts, {
    organization_id: job.organization_id,
    id,
    webhook_id,
    status,
    response_code,
    response_time_ms,
    error,
    response_head: response_head ? storable(response_head) : null,
    delay_s,
    heals: answer.ok && !is_test && delivery.failure_count > 0,
    // Sent again by hand after the last attempt, it says nothing new.
    exhausts: status === 'failed' && !is_test && job.attempts < schedule.length,
  })
  if (delay_s === null) return { type: 'done', healthy: answer.ok, ...settle }
  return { type: 'retry', delay_s, counts: true, ...settle }
}

/** What of an answer is told to operators, and to the watch. @returns whether a failure is a fault of our own */
function noteAnswer(job: Job, delivery: Delivery, answer: WebhookAnswer): boolean {
  const { blame, error, response_code, response_time_ms } = answer
  const host = bareHost(new URL(delivery.url).hostname)
  const is_unreached = error !== null && UNREACHED.includes(error)
  if (blame !== 'own' && error !== 'blocked_address') outageWatch.note(host, !is_unreached)
  const is_own_fault = blame === 'own' || (is_unreached && outageWatch.isOurs())
  observeAttempt(error, response_time_ms)
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
 * Without counting.
 * @param delay_s null until somebody sets it free
 * @param healthy true when the receiver was not even asked
 */
function reschedule({ organization_id, id }: Job, delay_s: number | null, healthy = true): Outcome {
  const settle = inBatch(rescheduleDeliveries, { organization_id, id, delay_s })
  return { type: 'retry', delay_s, counts: false, healthy, ...settle }
}

let authority: Promise<string> | undefined

/** The extra CA of the settings, read once. */
function trustedAuthority(): Promise<string> | undefined {
  if (config.WEBHOOK_CA_FILE) authority ??= readFile(config.WEBHOOK_CA_FILE, 'utf8')
  return authority
}

type Reading = { connection: Connection; jobs: Job[]; deliveries: Promise<Map<string, Delivery>> }

let reading: Reading | undefined

/** Jobs that were leased together are read together. */
async function read(job: Job, connection: Connection): Promise<Delivery | undefined> {
  if (reading?.connection !== connection) {
    const jobs: Job[] = []
    const deliveries = Promise.resolve().then(() => {
      if (reading?.jobs === jobs) reading = undefined
      return readDeliveries(connection, jobs)
    })
    reading = { connection, jobs, deliveries }
  }
  reading.jobs.push(job)
  return (await reading.deliveries).get(job.id)
}

async function readDeliveries({ sql }: Connection, jobs: Job[]): Promise<Map<string, Delivery>> {
  const deliveries = await sql<Delivery[]>`
    select d.id, d.webhook_id, d.event, e.body, w.url, w.secret,
      case when w.previous_secret_until > now() then w.previous_secret end as previous_secret,
      w.active and w.deleted_at is null as is_on, w.status, w.failure_count, d.attempts
    from unnest(${jobs.map((job) => job.organization_id)}::uuid[], ${jobs.map((job) => job.id)}::uuid[])
      as job (organization_id, id)
    join deliveries d on d.organization_id = job.organization_id and d.id = job.id
    join events e on e.organization_id = d.organization_id and e.id = d.event_id
    join webhooks w on w.organization_id = d.organization_id and w.id = d.webhook_id`
  return new Map(deliveries.map((delivery) => [delivery.id, delivery]))
}
