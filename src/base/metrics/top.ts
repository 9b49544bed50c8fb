/**
 * Names who causes most of what the figures show: webhooks, mailboxes, organizations. For `doctor`; metrics have no
 * ids.
 */
import { type Among, readOfAll } from '../db/all-organizations'
import type { OUTBOX_KINDS } from '../db/schema'
import type { Connection, Fragment, Sql } from '../db/transact'
import { bareHost } from '../net/destination'

type WebhookFigures = {
  organization_id: string
  webhook_id: string
  /** Host of the URL, whose other parts may be secret. */
  host: string
  /** Deliveries of the last hour that were tried. */
  deliveries: number
  /** Those whose last attempt failed. */
  failed: number
  /** Mean and longest of the last attempts. */
  mean_ms: number
  max_ms: number
  /** Why most of them failed, such as `timeout`; null when none did. */
  error: string | null
}

type Waiting = {
  organization_id: string
  kind: (typeof OUTBOX_KINDS)[number]
  /** The id of the webhook (`webhook`), the mailbox (`email`) or the organization. */
  lane_id: string
  due: number
  oldest_due_s: number
}

type TopFigures = {
  slowest_webhooks: WebhookFigures[]
  failing_webhooks: WebhookFigures[]
  /** Due work by what it waits for: a webhook, a mailbox or an organization. */
  waiting: Waiting[]
  waiting_organizations: Omit<Waiting, 'kind' | 'lane_id'>[]
}

/** Deliveries that are looked at: the latest. */
const MOST_DELIVERIES = 20_000

/** Reads the first `most` of each list. Answers in time also when the tables are large. */
export async function topFigures({ sql }: Connection, most = 5): Promise<TopFigures> {
  const [slowest, failing, waiting, waiting_organizations] = await Promise.all([
    readOfAll(sql, (among) => topWebhooks(sql, among, sql`order by mean_ms desc, webhook_id`, most)),
    readOfAll(sql, (among) =>
      topWebhooks(
        sql,
        among,
        sql`having count(*) filter (where d.is_failed) > 0 order by failed desc, webhook_id`,
        most,
      ),
    ),
    readOfAll(sql, (among) => topLanes(sql, among, most)),
    readOfAll(sql, (among) => topOrganizations(sql, among, most)),
  ])
  // Sorted again: while a node of a cluster is away, each of the others has its own list.
  return {
    slowest_webhooks: slowest
      .toSorted((a, b) => b.mean_ms - a.mean_ms)
      .slice(0, most)
      .map(withHost),
    failing_webhooks: failing
      .toSorted((a, b) => b.failed - a.failed)
      .slice(0, most)
      .map(withHost),
    waiting: waiting.toSorted((a, b) => b.due - a.due).slice(0, most),
    waiting_organizations: waiting_organizations.toSorted((a, b) => b.due - a.due).slice(0, most),
  }
}

function topLanes(sql: Sql, among: Among, most: number) {
  return sql<Waiting[]>`
    select organization_id, kind, lane_id, ${dueFigures(sql)} from outbox
    where run_at <= now() and lease_until <= now() ${among()}
    group by organization_id, kind, lane_id order by due desc, lane_id limit ${most}`
}

function topOrganizations(sql: Sql, among: Among, most: number) {
  return sql<Omit<Waiting, 'kind' | 'lane_id'>[]>`
    select organization_id, ${dueFigures(sql)} from outbox
    where run_at <= now() and lease_until <= now() ${among()}
    group by organization_id order by due desc, organization_id limit ${most}`
}

function dueFigures(sql: Sql): Fragment {
  return sql`count(*) as due, round(extract(epoch from now() - min(run_at)))::float8 as oldest_due_s`
}

type WebhookRow = Omit<WebhookFigures, 'host'> & { url: string }

function topWebhooks(sql: Sql, among: Among, order: Fragment, most: number) {
  return sql<WebhookRow[]>`
    select d.organization_id, d.webhook_id, w.url, count(*) as deliveries,
      count(*) filter (where d.is_failed) as failed, round(avg(d.response_time_ms))::float8 as mean_ms,
      max(d.response_time_ms) as max_ms, mode() within group (order by d.error) filter (where d.is_failed) as error
    from (
      select organization_id, webhook_id, attempts, created_at, response_time_ms, error,
        status in ('failed', 'retrying') as is_failed
      from deliveries where true ${among()} order by id desc limit ${MOST_DELIVERIES}
    ) d
    join webhooks w on w.organization_id = d.organization_id and w.id = d.webhook_id and w.deleted_at is null
      ${among(sql`w.organization_id`)}
    where d.attempts > 0 and d.created_at > now() - interval '1 hour'
    group by d.organization_id, d.webhook_id, w.url ${order} limit ${most}`
}

function withHost({ url, ...figures }: WebhookRow): WebhookFigures {
  return { ...figures, host: bareHost(new URL(url).hostname) }
}
