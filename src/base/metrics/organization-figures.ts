/**
 * Counts what happens in each organization, for `GET /stats`. Counts are collected in this process and written every
 * few seconds by a statement for each organization, so that a request or an email costs no write. A process that is
 * killed loses those few seconds.
 */
import { inEach } from '../db/all-organizations'
import { sweep } from '../db/sweep'
import type { Connection, Fragment, Sql } from '../db/transact'

/** The figures that are counted. Each is a column of the table. */
export const FIGURES = [
  'mail_tickets',
  'mail_messages',
  'mail_bounces',
  'mail_others',
  'emails_sent',
  'emails_failed',
  'emails_bounced',
  'deliveries_ok',
  'deliveries_failed',
  'delivery_ms',
  'requests_ok',
  'requests_refused',
  'requests_failed',
] as const
export type Figure = (typeof FIGURES)[number]

type Counts = Partial<Record<Figure, number>>

/** A row stands for so many seconds. Each count is added to one row of each size. */
export const SIZES_S = [60, 900, 21_600] as const

let collected = new Map<string, Counts>()

/** Adds to a figure of an organization. */
export function count(organization_id: string, figure: Figure, n = 1): void {
  const counts = collected.get(organization_id)
  if (!counts) collected.set(organization_id, { [figure]: n })
  else counts[figure] = (counts[figure] ?? 0) + n
}

/** Writes what was collected. For a background job, and for the end of the service. */
export async function writeStats({ sql }: Connection): Promise<void> {
  const taken = collected
  collected = new Map()
  await inEach(taken.keys(), async (organization_id) => {
    const counts = taken.get(organization_id)!
    try {
      await writeOwn(sql, organization_id, counts)
    } catch (error) {
      for (const [figure, n] of Object.entries(counts)) count(organization_id, figure as Figure, n)
      throw error
    }
  })
}

/**
 * Adds to the rows of an organization in one order, because other processes add to the same ones. The time is the
 * database's.
 */
async function writeOwn(sql: Sql, organization_id: string, counts: Counts): Promise<void> {
  await sql`
    insert into stats (organization_id, size_s, at, ${sql.unsafe(FIGURES.join(', '))})
    select ${organization_id}::uuid, size_s, to_timestamp(floor(extract(epoch from now()) / size_s) * size_s),
      ${sql.unsafe(FIGURES.map((figure) => `coalesce(g.${figure}, 0)`).join(', '))}
    from unnest(${[...SIZES_S]}::integer[]) as size_s
    cross join json_to_record(${JSON.stringify(counts)}::text::json) as g (
      ${sql.unsafe(FIGURES.map((figure) => `${figure} bigint`).join(', '))})
    order by size_s
    on conflict (organization_id, size_s, at) do update
      set ${sql.unsafe(FIGURES.map((figure) => `${figure} = stats.${figure} + excluded.${figure}`).join(', '))}`
}

/** Rows of each size that are kept: what a period shows, and some more. */
const KEPT = 130

/** Removes rows that no period shows any more. For a background job. */
export async function removeOldStats(connection: Connection): Promise<void> {
  await sweep(connection, { table: 'stats', key: ['size_s', 'at'], is_old: areOld(connection.sql) })
}

/** SQL: the age of each size apart, because a cluster takes no sum of `now()` and a column. */
function areOld(sql: Sql): Fragment {
  const old = SIZES_S.map((size_s) => sql`size_s = ${size_s} and at < now() - ${size_s * KEPT} * interval '1 second'`)
  return old.reduce((some, one) => sql`${some} or ${one}`)
}
