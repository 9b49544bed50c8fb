/** Folds rows of changes into counts. */
import type { Sql } from '../db/transact'
import { inBatches } from '../flow/batches'

/** Rows that one statement folds. */
const BATCH = 5000

type Counted = {
  /** The table of counts: one row for each value of the columns. */
  counts: string
  /** The table of changes, with the same columns; its rows are only inserted and deleted. */
  changes: string
  /** What is counted by. */
  columns: string[]
  /** The columns that are added up. */
  sums?: string[]
}

/**
 * Folds all changes, by statements that stay short. Changes that another process folds at the same time are left to it.
 * @returns how many rows were folded
 */
export function fold(sql: Sql, { counts, changes, columns, sums = ['n'] }: Counted): Promise<number> {
  const by = sql.unsafe(columns.join(', '))
  const names = sql.unsafe(sums.join(', '))
  const added = sql.unsafe(sums.map((name) => `sum(${name})`).join(', '))
  const updated = sql.unsafe(sums.map((name) => `${name} = c.${name} + excluded.${name}`).join(', '))
  return inBatches(BATCH, async () => {
    // Rows of the counts are written in one order, so that two processes never wait for each other.
    const [folded] = await sql<{ rows: number }[]>`
      with taken as (
        delete from ${sql(changes)} where ctid = any (array(
          select ctid from ${sql(changes)} limit ${BATCH} for update skip locked
        ))
        returning *
      ), counted as (
        insert into ${sql(counts)} as c (${by}, ${names})
        select ${by}, ${added} from taken group by ${by} order by ${by}
        on conflict (${by}) do update set ${updated}
      )
      select count(*) as rows from taken`
    return folded!.rows
  })
}
