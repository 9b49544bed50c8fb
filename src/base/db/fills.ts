/**
 * Fills columns that a release added to older rows. A migration holds its locks until it ends, so it only notes what is
 * to be filled; a background job does it in steps beside the requests. Until an organization is done, `isFilled` says
 * no and its queries compute the value instead. What processes of the older release write beside this one is mended by
 * triggers.
 */
import { LRUCache } from 'lru-cache'
import { inEach } from './all-organizations'
import { machinesAway } from './cluster/away'
import { ZERO_ID } from './columns'
import type { FILL_KINDS } from './schema'
import { type Connection, type Sql, transact } from './transact'

type FillKind = (typeof FILL_KINDS)[number]

type OfOrganization = { sql: Sql; organization_id: string }

/**
 * Fills the next rows of an organization.
 * @param after the last id that was filled
 * @returns the last id that is filled now; undefined when there was none left
 */
type Step = (sql: Sql, organization_id: string, after: string) => Promise<string | undefined>

/** What is filled stays so. */
const filled = new LRUCache<string, true>({ max: 50_000 })

/** Tells if all rows of the organization have the column. */
export async function isFilled({ sql, organization_id }: OfOrganization, kind: FillKind): Promise<boolean> {
  const key = `${kind} ${organization_id}`
  if (filled.has(key)) return true
  const marks = await sql`select 1 from fills where organization_id = ${organization_id} and kind = ${kind}`
  if (marks.length > 0) return false
  filled.set(key, true)
  return true
}

/** The time after which a run ends. The job goes on at its next run; a service that stops waits for this one. */
const RUN_MS = 2000

/**
 * Kinds that processes of an older release cannot read when they are filled: its searches would no longer find them.
 */
const UNREADABLE_BEFORE: FillKind[] = ['ticket_search.document']

/** Organizations that one run looks at: those of a node that is away keep their place, and others are behind them. */
const LOOK = 10_000

/**
 * Fills a column for organizations that lack it, for some time. For a background job, in any number of processes, also
 * on a cluster.
 */
export async function fillSome(connection: Connection, kind: FillKind, step: Step): Promise<void> {
  // A lock of a row that is on all machines of a cluster waits for each of them.
  if (machinesAway().length > 0) return
  const { sql } = connection
  if (UNREADABLE_BEFORE.includes(kind) && (await mayOlderRead(sql, kind))) return
  const marks = await sql<{ organization_id: string }[]>`
    select organization_id from fills where kind = ${kind} order by organization_id limit ${LOOK}`
  const end = Date.now() + RUN_MS
  await inEach(
    marks.map((mark) => mark.organization_id),
    async (organization_id) => {
      const fill = () => transact(connection, ({ sql }) => fillNext({ sql, organization_id }, kind, step))
      while (Date.now() < end && (await fill()));
    },
  )
}

/**
 * Tells if a process of an older release may still run: it has connections from before the migration. The driver renews
 * connections within an hour, so after that nobody waits any more. The connections are those of this machine.
 */
async function mayOlderRead(sql: Sql, kind: FillKind): Promise<boolean> {
  const [last] = await sql<{ begun_at: string | null }[]>`
    select max(begun_at)::text as begun_at from fills where kind = ${kind} and begun_at > now() - interval '1 hour'`
  const older = await sql`
    select 1 from pg_stat_activity where backend_start < ${last!.begun_at}::timestamptz
      and datname = current_database() and application_name = current_setting('application_name')
    limit 1`
  return older.length > 0
}

/** Does one step of the organization. @returns false when all of it is filled, or another process is at it */
async function fillNext({ sql, organization_id }: OfOrganization, kind: FillKind, step: Step): Promise<boolean> {
  const [mark] = await sql<{ after_id: string | null }[]>`
    select after_id from fills where organization_id = ${organization_id} and kind = ${kind} for update skip locked`
  if (!mark) return false
  const last = await step(sql, organization_id, mark.after_id ?? ZERO_ID)
  if (last) {
    await sql`update fills set after_id = ${last} where organization_id = ${organization_id} and kind = ${kind}`
  } else {
    await sql`delete from fills where organization_id = ${organization_id} and kind = ${kind}`
  }
  return true
}
