/** Removes or changes what is old, in all organizations, for background jobs in any number of processes. */
import { type InOrganization, withRows, workOffInBatches } from './all-organizations'
import type { Connection, Fragment } from './transact'

/** SQL: the rows of another table, by its alias, that are of the organization of the row `t`. */
export type Own = (alias: string) => Fragment

/** The rows of a table that are worked on, told once: they are looked for in all organizations, then taken in one. */
export type Old = {
  table: string
  /** The columns of the primary key beside the organization. */
  key?: readonly string[]
  /** SQL: tells of a row `t` that it is old. `own` belongs to each other table that it reads. */
  is_old: Fragment | ((own: Own) => Fragment)
  /** The column in whose order an index has such rows, when they are many. */
  order?: string
  /** Rows of one transaction. */
  size?: number
  /** After a full transaction, so that much work leaves the disk to others now and then. */
  pause_ms?: number
}

/**
 * Works on old rows by short transactions of one organization. Rows that another process works on are left to it.
 * @param work does a batch: `old` is a statement that locks its rows and returns their keys. Returns how many it found.
 *   Without it they are deleted.
 * @returns how many rows in all
 */
export function sweep(
  connection: Connection,
  { table, key = ['id'], is_old, order, size = 1000, pause_ms }: Old,
  work?: (batch: InOrganization, old: Fragment) => Promise<number>,
): Promise<number> {
  const { sql } = connection
  const told = (own: Own) => (typeof is_old === 'function' ? is_old(own) : is_old)
  return workOffInBatches(connection, withRows(sql, table, told, order), { size, pause_ms }, async (batch) => {
    const { sql, organization_id } = batch
    const keyOf = (alias: string) => sql.unsafe(key.map((column) => `${alias}.${column}`).join(', '))
    const own = (alias: string) => sql`${sql(`${alias}.organization_id`)} = ${organization_id}`
    const old = sql`
      select ${keyOf('t')} from ${sql(table)} t where t.organization_id = ${organization_id}
        and (${told(own)})
      ${order ? sql`order by ${sql(`t.${order}`)}` : sql``} limit ${size} for update of t skip locked`
    if (work) return work(batch, old)
    const { count } = await sql`
      with old as materialized (${old})
      delete from ${sql(table)} t using old
      where t.organization_id = ${organization_id} and (${keyOf('t')}) = (${keyOf('old')})`
    return count
  })
}
