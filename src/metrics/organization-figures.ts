/**
 * Counts what happens in each organization, for `GET /stats`. Counts are collected in this process and written every few
 * seconds in one statement, so that a request or an email costs no write. A process that is killed loses those few seconds.
 */
import type { Connection } from '../db/transact'

/** What is counted. Each is a column of the table. */
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
  if (collected.size === 0) return
  const taken = collected
  collected = new Map()
  const rows = [...taken].map(([organization_id, counts]) => ({ organization_id, ...counts }))
  const columns = sql.unsafe(FIGURES.join(', '))
  try {
    // Rows are written in one order, because other processes add to the same ones. The time is the database's.
    await sql`
      insert into stats (organization_id, size_s, at, ${columns})
      select g.organization_id, size_s, to_timestamp(floor(extract(epoch from now()) / size_s) * size_s),
        ${sql.unsafe(FIGURES.map((figure) => `coalesce(g.${figure}, 0)`).join(', '))}
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as g (organization_id uuid,
        ${sql.unsafe(FIGURES.map((figure) => `${figure} bigint`).join(', '))})
      join organizations o on o.id = g.organization_id
      cross join unnest(${[...SIZES_S]}::integer[]) as size_s
      order by g.organization_id, size_s
      on conflict (organization_id, size_s, at) do update
        set ${sql.unsafe(FIGURES.map((figure) => `${figure} = stats.${figure} + excluded.${figure}`).join(', '))}`
  } catch (error) {
    for (const [organization_id, counts] of taken) {
      for (const [figure, n] of Object.entries(counts)) count(organization_id, figure as Figure, n)
    }
    throw error
  }
}

/** Rows of each size that are kept: what a period shows, and some more. */
const KEPT = 130

/** Removes rows that no period shows any more. For a background job. */
export async function removeOldStats({ sql }: Connection): Promise<void> {
  await sql`delete from stats where at < now() - size_s * ${KEPT} * interval '1 second'`
}
