/** Folds rows of changes into counts. */
import { insertRows } from '../../base/db/insert-rows'
import { type InOrganization, sweep } from '../../base/db/sweep'
import type { Connection } from '../../base/db/transact'

/** Rows that one statement folds. */
const BATCH = 5000

type Counted = {
  /** The table of counts: one row for each organization and value of the columns. */
  counts: string
  /** The table of changes, with the same columns; its rows are only inserted and deleted. */
  changes: string
  /** The columns that it is counted by, beside the organization. */
  columns: string[]
  /** The columns that are added up. */
  sums?: string[]
}

/**
 * Folds all changes, by transactions of one organization that stay short. Changes that another process folds at the
 * same time are left to it.
 * @returns how many rows were folded
 */
export function fold(connection: Connection, counted: Counted): Promise<number> {
  const changed = { table: counted.changes, is_old: connection.sql`true`, size: BATCH }
  return sweep(connection, changed, (batch) => foldBatch(batch, counted))
}

async function foldBatch(
  { sql, organization_id }: InOrganization,
  { counts, changes, columns, sums = ['n'] }: Counted,
) {
  const by = sql.unsafe(columns.join(', '))
  const read = [...columns, ...sums.map((name) => `sum(${name})::text as ${name}`)]
  // Rows of the counts are written in one order, so that two processes never wait for each other.
  const taken = await sql<({ taken: number } & Record<string, string | boolean | null>)[]>`
    with taken as (
      delete from ${sql(changes)} where organization_id = ${organization_id} and ctid = any (array(
        select ctid from ${sql(changes)} where organization_id = ${organization_id} limit ${BATCH} for update skip locked
      ))
      returning ${by}, ${sql.unsafe(sums.join(', '))}
    )
    select ${sql.unsafe(read.join(', '))}, count(*) as taken from taken group by ${by} order by ${by}`
  const added = taken.map(({ taken, ...row }) => ({ organization_id, ...row }))
  const updated = sql.unsafe(sums.map((name) => `${name} = ${counts}.${name} + excluded.${name}`).join(', '))
  await insertRows(sql, counts, added, sql`on conflict (organization_id, ${by}) do update set ${updated}`)
  return taken.reduce((rows, { taken }) => rows + taken, 0)
}
