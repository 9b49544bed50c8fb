/** Reads the figures of an organization. */
import { config } from '../../base/config'
import { FIGURES, type Figure, SIZES_S } from '../../base/metrics/organization-figures'
import type { Scope } from '../../base/scope'
import { findingsOf } from './findings'
import type { PERIODS, Stats, StatsQuery } from './model'

/** The size of the rows that each period shows, and how many of them. */
const STEPS = {
  hour: { size_s: SIZES_S[0], steps: 60 },
  day: { size_s: SIZES_S[1], steps: 96 },
  month: { size_s: SIZES_S[2], steps: 120 },
} satisfies Record<(typeof PERIODS)[number], { size_s: number; steps: number }>

type Row = { step: number } & Record<Figure, number>
type Waiting = Record<keyof Stats['waiting'], { count: number; oldest_at: string | null }>

/** The figures of a period up to now, what waits, and what needs attention. */
export async function getStats(scope: Scope, { period = 'hour' }: StatsQuery): Promise<Stats> {
  const { size_s, steps } = STEPS[period]
  const [{ from_s, rows }, waiting] = await Promise.all([readRows(scope, size_s, steps), readWaiting(scope)])
  const byStep = new Map(rows.map((row) => [row.step, row]))
  const places = Array.from({ length: steps }, (_, step) => byStep.get(step))
  const series = (figure: Figure) => places.map((row) => row?.[figure] ?? 0)
  return {
    period,
    step_seconds: size_s,
    from: instant(from_s),
    to: instant(from_s + size_s * steps),
    mail_in: {
      tickets: series('mail_tickets'),
      messages: series('mail_messages'),
      bounces: series('mail_bounces'),
      others: series('mail_others'),
    },
    mail_out: { sent: series('emails_sent'), failed: series('emails_failed'), bounced: series('emails_bounced') },
    webhooks: {
      ok: series('deliveries_ok'),
      failed: series('deliveries_failed'),
      response_time_ms: places.map(averageTime),
    },
    requests: { ok: series('requests_ok'), refused: series('requests_refused'), failed: series('requests_failed') },
    waiting,
    findings: await findingsOf(scope, waiting),
    smtp: config.SMTP_PORT === 0 ? null : { hostname: config.SMTP_HOSTNAME, port: config.SMTP_PORT },
  }
}

function averageTime(row: Row | undefined): number | null {
  const attempts = row ? row.deliveries_ok + row.deliveries_failed : 0
  return attempts === 0 ? null : Math.round(row!.delivery_ms / attempts)
}

function instant(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(/\.\d+Z$/, 'Z')
}

async function readRows({ sql, organization_id }: Scope, size_s: number, steps: number) {
  const figures = sql.unsafe(FIGURES.map((figure) => `${figure}::float8`).join(', '))
  const [found] = await sql<{ from_s: number; rows: Row[] }[]>`
    with first as (
      select (floor(extract(epoch from now()) / ${size_s}::integer) - ${steps - 1}) * ${size_s}::integer as s
    )
    select s::float8 as from_s, coalesce((
      select json_agg(r) from (
        select ((extract(epoch from at) - s) / ${size_s}::integer)::integer as step, ${figures}
        from stats
        where organization_id = ${organization_id} and size_s = ${size_s} and at >= to_timestamp(s)
      ) r
    ), '[]') as rows
    from first`
  return found!
}

async function readWaiting({ sql, organization_id }: Scope): Promise<Waiting> {
  const [found] = await sql<{ waiting: Waiting }[]>`
    with waiting as (
      select case when kind = 'webhook' and run_at = 'infinity' then 'held' when kind = 'webhook' then 'webhooks'
        else kind end as kind, run_at
      from outbox
      where organization_id = ${organization_id} and (run_at <= now() or (kind = 'webhook' and run_at = 'infinity'))
    ), counted as (
      select kind, count(*) as n, min(run_at) filter (where run_at < 'infinity') as oldest_at from waiting group by kind
    )
    select json_object_agg(name, json_build_object('count', coalesce(n, 0), 'oldest_at', ${utc(sql)})) as waiting
    from unnest(array['inbound', 'email', 'webhooks', 'held']) as name left join counted on counted.kind = name`
  return found!.waiting
}

function utc(sql: Scope['sql']) {
  return sql`to_char(oldest_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`
}
