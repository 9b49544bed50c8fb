/** Removes or changes rows in all organizations, for background jobs in any number of processes. */
import { inBatches } from '../flow/batches'
import { type Among, inEach, workOff, workOnRows } from './all-organizations'
import { type Connection, type Fragment, type Sql, transact } from './transact'

/** A transaction, and the organization that its statements name. */
export type InOrganization = Connection & { organization_id: string }

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

/** Rows that a sweep looks at in all organizations: those beyond them are found once work has taken these. */
const LOOK = 10_000

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
  const doBatch = async (batch: InOrganization) => {
    const { sql, organization_id } = batch
    const keyOf = (alias: string) => sql.unsafe(key.map((column) => `${alias}.${column}`).join(', '))
    const own = (alias: string) => sql`${sql(`${alias}.organization_id`)} = ${organization_id}`
    const old = sql`
      select ${keyOf('t')} from ${sql(table)} t where t.organization_id = ${organization_id}
        and (${told(is_old, own)})
      ${orderBy(sql, order)} limit ${size} for update of t skip locked`
    if (work) return work(batch, old)
    const { count } = await sql`
      with old as materialized (${old})
      delete from ${sql(table)} t using old
      where t.organization_id = ${organization_id} and (${keyOf('t')}) = (${keyOf('old')})`
    return count
  }
  return workOff(
    connection.sql,
    (among) => {
      const { sql } = connection
      return sql`select distinct organization_id from (${look(sql, { table, is_old, order }, among)} limit ${LOOK}) as found`
    },
    (organization_id) =>
      inBatches(size, () => transact(connection, (inner) => doBatch({ ...inner, organization_id })), pause_ms),
  )
}

/**
 * Does work in each organization that has such rows. Once: what comes meanwhile waits for the next call.
 * @param work gets the keys of the rows, in their order, and locks what it changes
 * @returns what the work returned
 */
export function visit<const Key extends string, T>(
  { sql }: Pick<Connection, 'sql'>,
  old: Omit<Old, 'key'> & { key?: readonly Key[] },
  work: (organization_id: string, rows: Record<Key, string>[]) => Promise<T>,
): Promise<T[]> {
  return workOnRows<Found<Key>, T>(
    sql,
    (among) => sql<Found<Key>[]>`
    select distinct * from (${look(sql, old, among)}) as t ${orderBy(sql, old.order)}`,
    work,
  )
}

type Found<Key extends string> = Record<Key, string> & { organization_id: string }

/** Does work in each organization. @returns what the work returned, without those whose machine is away */
export async function visitAll<T>(
  { sql }: Pick<Connection, 'sql'>,
  work: (organization_id: string) => Promise<T>,
): Promise<T[]> {
  const organizations = await sql<{ id: string }[]>`select id from organizations`
  return inEach(
    organizations.map(({ id }) => id),
    work,
  )
}

/** SQL: organizations and keys of such rows. */
function look(sql: Sql, { table, key = [], is_old, order }: Old, among: Among): Fragment {
  const own = (alias: string) => {
    const column = sql(`${alias}.organization_id`)
    return sql`${column} = t.organization_id ${among(sql`${column}`)}`
  }
  const columns = sql.unsafe(['organization_id', ...key].map((column) => `t.${column}`).join(', '))
  return sql`
    select ${columns} from ${sql(table)} t where (${told(is_old, own)}) ${among(sql`t.organization_id`)}
    ${orderBy(sql, order)}`
}

function told(is_old: Old['is_old'], own: Own): Fragment {
  return typeof is_old === 'function' ? is_old(own) : is_old
}

function orderBy(sql: Sql, order: string | undefined): Fragment {
  return order ? sql`order by ${sql(`t.${order}`)}` : sql``
}
