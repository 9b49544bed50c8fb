/** Names who causes most of what the figures show: webhooks, mailboxes, organizations. For `doctor`; metrics have no ids. */
import type { OUTBOX_KINDS } from '../db/schema'
import type { Connection, Fragment, Sql } from '../db/transact'
import { bareHost } from '../net/destination'

type WebhookFigures = {
  organization_id: string
  webhook_id: string
  /** Of the URL; the rest of it may be a secret. */
  host: string
  /** Deliveries of the last hour that were tried. */
  deliveries: number
  /** Those whose last attempt failed. */
  failed: number
  /** Of the last attempts: the mean and the longest. */
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
  const [slowest_webhooks, failing_webhooks, waiting, waiting_organizations] = await Promise.all([
    topWebhooks(sql, sql`order by mean_ms desc, webhook_id`, most),
    topWebhooks(sql, sql`having count(*) filter (where d.is_failed) > 0 order by failed desc, webhook_id`, most),
    sql<Waiting[]>`
      select organization_id, kind, lane_id, ${dueFigures(sql)} from outbox
      where run_at <= now() and lease_until <= now()
      group by organization_id, kind, lane_id order by due desc, lane_id limit ${most}`,
    sql<Omit<Waiting, 'kind' | 'lane_id'>[]>`
      select organization_id, ${dueFigures(sql)} from outbox
      where run_at <= now() and lease_until <= now()
      group by organization_id order by due desc, organization_id limit ${most}`,
  ])
  return { slowest_webhooks, failing_webhooks, waiting, waiting_organizations }
}

function dueFigures(sql: Sql): Fragment {
  return sql`count(*) as due, round(extract(epoch from now() - min(run_at)))::float8 as oldest_due_s`
}

async function topWebhooks(sql: Sql, order: Fragment, most: number): Promise<WebhookFigures[]> {
  const rows = await sql<(Omit<WebhookFigures, 'host'> & { url: string })[]>`
    select d.organization_id, d.webhook_id, w.url, count(*) as deliveries,
      count(*) filter (where d.is_failed) as failed, round(avg(d.response_time_ms))::float8 as mean_ms,
      max(d.response_time_ms) as max_ms, mode() within group (order by d.error) filter (where d.is_failed) as error
    from (
      select organization_id, webhook_id, attempts, created_at, response_time_ms, error,
        status in ('failed', 'retrying') as is_failed
      from deliveries order by id desc limit ${MOST_DELIVERIES}
    ) d
    join webhooks w on w.organization_id = d.organization_id and w.id = d.webhook_id and w.deleted_at is null
    where d.attempts > 0 and d.created_at > now() - interval '1 hour'
    group by d.organization_id, d.webhook_id, w.url ${order} limit ${most}`
  return rows.map(({ url, ...figures }) => ({ ...figures, host: bareHost(new URL(url).hostname) }))
}
