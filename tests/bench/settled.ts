/** Chooses the organization for load, and waits until the work that a load left is done. */
import type postgres from 'postgres'
import { until } from '../support/service'

/** Organizations of this size bear the load. */
const LOAD_SIZE = 100_000

/** The place of the organization whose size is nearest to 100,000 tickets. */
export function loadPlace(sizes: number[]): number {
  const distance = (size: number) => Math.abs(Math.log(size / LOAD_SIZE))
  const nearest = sizes.reduce((best, size) => (distance(size) < distance(best) ? size : best))
  return sizes.indexOf(nearest) + 1
}

/** Resolves when every arrived message is filed. */
export function untilFiled(sql: postgres.Sql): Promise<void> {
  return untilNone(() => sql`select from outbox where kind = 'inbound' limit 1`)
}

/** Resolves when the outbox has nothing that is due, and no long work is under way. */
export function untilSettled(sql: postgres.Sql): Promise<void> {
  return untilNone(() => sql`(select from outbox where run_at <= now() limit 1) union all (select from deeds limit 1)`)
}

function untilNone(find: () => Promise<{ length: number }>): Promise<void> {
  return until('the outbox is done', async () => (await find()).length === 0, 600_000)
}
