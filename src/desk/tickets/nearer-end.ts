/** Reads a page that is far from the first from the end of the list, when that is nearer. */
import type { Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { orderBy } from '../../base/shapes/sorting'
import type { Range, Way } from './find-page'

/**
 * Turns a part of a list round: the same rows, to be read backwards. A ticket that comes or goes meanwhile may shift
 * the page by one, as it does between two requests.
 * @param total SQL for the exact number of all rows
 * @returns the part as it is, when the beginning is nearer
 */
export async function fromNearerEnd({ sql }: Scope, { sort }: Way, range: Range, total: Fragment): Promise<Range> {
  const [row] = await sql<{ total: number }[]>`select ${total} as total`
  const limit = Math.min(range.limit, row!.total - range.offset)
  const offset = row!.total - range.offset - limit
  if (limit <= 0 || offset >= range.offset) return range
  const order = orderBy(sql, { ...sort, direction: sort.direction === 'asc' ? 'desc' : 'asc' })
  const slice = sql`${order} ${sql.unsafe(`limit ${limit}`)} offset ${offset}`
  return { ...range, order, limit, offset, slice, head: sql`${order} limit ${offset + limit}` }
}
