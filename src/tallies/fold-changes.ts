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
  /** What `n` is counted by. */
  columns: string[]
}

/**
 * Folds all changes, by statements that stay short. Changes that another process folds at the same time are left to it.
 * @returns how many rows were folded
 */
export function fold(sql: Sql, { counts, changes, columns }: Counted): Promise<number> {
  const by = sql.unsafe(columns.join(', '))
  return inBatches(BATCH, async () => {
    // Rows of the counts are written in one order, so that two processes never wait for each other.
    const [folded] = await sql<{ rows: number }[]>`
      with taken as (
        delete from ${sql(changes)} where ctid = any (array(
          select ctid from ${sql(changes)} limit ${BATCH} for update skip locked
        ))
        returning *
      ), counted as (
        insert into ${sql(counts)} as c (${by}, n)
        select ${by}, sum(n) from taken group by ${by} order by ${by}
        on conflict (${by}) do update set n = c.n + excluded.n
      )
      select count(*) as rows from taken`
    return folded!.rows
  })
}
