/** The order of a list, and the rows behind a position in it. */
import type { Fragment, Sql } from '../db/transact'
import type { Position } from './cursor'

/** A value that a list is sorted by. */
type SortKey<Row> = {
  /** The value in the statement. */
  sql: Fragment
  /** The field of a row that has the value, with all its digits. */
  field: keyof Row & string
  /**
   * Makes of the field's value what `sql` is compared with, such as its lower case; the value itself when it is
   * missing.
   */
  bound?(value: string | number): Fragment
}

/** The order of a list: keys in one direction, the last of which no two rows share. */
export type Sorting<Row> = {
  keys: SortKey<Row>[]
  direction: 'asc' | 'desc'
  /**
   * The list has no end for its readers: its first key is the time of change (`exactTime`), its second the id, and a
   * cursor leads to what changes later.
   */
  end?: 'followed'
}

/** `order by`, with all keys. */
export function orderBy<Row>(sql: Sql, { keys, direction }: Sorting<Row>): Fragment {
  const way = sql.unsafe(direction)
  const parts = keys.map((key) => sql`${key.sql} ${way}`)
  return sql`order by ${listed(sql, parts)}`
}

/** The position of a row. */
export function positionIn<Row>(row: Row, { keys }: Sorting<Row>): Position {
  return keys.map(({ field }) => row[field] as string | number)
}

/**
 * The condition of the rows behind a position: `and …`. An index with the keys leads there at once.
 * @param before of a followed list: the settled time
 */
export function behind<Row>(sql: Sql, { keys, direction }: Sorting<Row>, after: Position, before?: string): Fragment {
  const values = keys.map((key) => key.sql)
  const bounds = keys.map(({ bound }, index) => bound?.(after[index]!) ?? sql`${after[index]!}`)
  const way = sql.unsafe(direction === 'asc' ? '>' : '<')
  const end = before === undefined ? sql`` : sql`and ${values[0]!} < ${before}`
  return sql`and (${listed(sql, values)}) ${way} (${listed(sql, bounds)}) ${end}`
}

function listed(sql: Sql, parts: Fragment[]): Fragment {
  return sql`${parts.map((part, index) => (index > 0 ? sql`, ${part}` : part))}`
}
