/**
 * Fills columns that a release added to older rows. A migration holds its locks until it ends, so it only notes what is to
 * be filled; a background job does it in steps beside the requests. Until an organization is done, `isFilled` says no and
 * its queries compute the value instead. What processes of the older release write beside this one is mended by triggers.
 */
import { LRUCache } from 'lru-cache'
import { ZERO_ID } from './columns'
import type { FILL_KINDS } from './schema'
import { type Connection, type Sql, transact } from './transact'

type FillKind = (typeof FILL_KINDS)[number]

/**
 * Fills the next rows of an organization.
 * @param after the last id that was filled
 * @returns the last id that is filled now; undefined when there was none left
 */
type Step = (sql: Sql, organization_id: string, after: string) => Promise<string | undefined>

/** What is filled stays so. */
const filled = new LRUCache<string, true>({ max: 50_000 })

/** Tells if all rows of the organization have the column. */
export async function isFilled(
  { sql, organization_id }: { sql: Sql; organization_id: string },
  kind: FillKind,
): Promise<boolean> {
  const key = `${kind} ${organization_id}`
  if (filled.has(key)) return true
  const marks = await sql`select 1 from fills where organization_id = ${organization_id} and kind = ${kind}`
  if (marks.length > 0) return false
  filled.set(key, true)
  return true
}

/** The time after which a run ends. The job goes on at its next run; a service that stops waits for this one. */
const RUN_MS = 2000

/** Kinds that processes of an older release cannot read when they are filled: its searches would no longer find them. */
const UNREADABLE_BEFORE: FillKind[] = ['ticket_search.document']

/** Fills a column for organizations that lack it, for some time. For a background job, in any number of processes. */
export async function fillSome(connection: Connection, kind: FillKind, step: Step): Promise<void> {
  if (UNREADABLE_BEFORE.includes(kind) && (await mayOlderRead(connection.sql, kind))) return
  const end = Date.now() + RUN_MS
  while (Date.now() < end && (await transact(connection, ({ sql }) => fillNext(sql, kind, step))));
}

/**
 * Tells if a process of an older release may still run: it has connections from before the migration. The driver renews
 * connections within an hour, so after that nobody waits any more.
 */
async function mayOlderRead(sql: Sql, kind: FillKind): Promise<boolean> {
  const older = await sql`
    select 1 from fills f join pg_stat_activity a on a.backend_start < f.begun_at
    where f.kind = ${kind} and f.begun_at > now() - interval '1 hour' and a.datname = current_database()
      and a.application_name = current_setting('application_name')
    limit 1`
  return older.length > 0
}

/** Does one step for one organization. @returns false when no organization is left, or other processes are at them */
async function fillNext(sql: Sql, kind: FillKind, step: Step): Promise<boolean> {
  const [mark] = await sql<{ organization_id: string; after_id: string | null }[]>`
    select organization_id, after_id from fills where kind = ${kind}
    order by organization_id limit 1 for update skip locked`
  if (!mark) return false
  const { organization_id, after_id } = mark
  const last = await step(sql, organization_id, after_id ?? ZERO_ID)
  if (last) {
    await sql`update fills set after_id = ${last} where organization_id = ${organization_id} and kind = ${kind}`
  } else {
    await sql`delete from fills where organization_id = ${organization_id} and kind = ${kind}`
  }
  return true
}
