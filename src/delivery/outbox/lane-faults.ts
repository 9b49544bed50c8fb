/**
 * Holds the work of lanes whose mail server is at fault. All rows of such a lane are parked, and one of them tries at
 * the schedule's delays. What it hears decides for all: the lane is freed, or another one tries later.
 *
 * Who parks rows holds the row of the fault, and who frees them deletes it first. So no row stays parked without a
 * fault.
 */
import { config } from '../../base/config'
import { type Own, sweep, visit } from '../../base/db/sweep'
import type { Connection, Sql } from '../../base/db/transact'
import { afterCommit, type Scope } from '../../base/scope'
import type { OutboxJob } from './job'
import { nextDelay_s } from './retry'
import { wake } from './wake'

/**
 * The lane of a job: what is wrong with it, null when nothing is known, and whether the job has waited for too long.
 */
type LaneState = { error: string | null; is_late: boolean }

/** The word of an attempt about its lane. */
export type Heard =
  | { lane: 'works' }
  /** The server is at fault: the work of the lane waits. */
  | { lane: 'at fault'; error: string }
  /** The attempt failed, and the job itself may be the reason. */
  | { lane: 'in doubt'; error: string }
  /** The attempt never came to the server. */
  | { lane: 'not tried' }
  /** There was no attempt, because it is another job's turn. */
  | { lane: 'held' }

/** Rows that were parked along, and why. */
export type Parked = { ids: string[]; error: string }

/** Longest delay between two tries. */
const TRY_MOST_S = 900
/** A turn that has not ended by then is given to another row. Attempts take less. */
const TURN_MOST_S = 600
/** Rows that are parked or come due by one statement. The others follow when they come due, or with the next run. */
const ROWS_MOST = 1000
const ADDRESS = /[^\s<>"'(),:;@]+@[^\s<>"'(),:;@]+/g
const NOTHING: Parked = { ids: [], error: '' }

/** Reads the state of a job's lane. */
export async function readLane({ sql }: Pick<Connection, 'sql'>, job: OutboxJob): Promise<LaneState> {
  const { organization_id, id, lane_id } = job
  const [lane] = await sql<LaneState[]>`
    select f.error, o.queued_at < now() - ${config.EMAIL_GIVE_UP_SECONDS}::float8 * interval '1 second' as is_late
    from outbox o
    left join lane_faults f on f.organization_id = ${organization_id} and f.lane_id = ${lane_id}
    where o.organization_id = ${organization_id} and o.id = ${id}`
  return lane ?? { error: null, is_late: false }
}

/**
 * Takes the turn to try a lane at fault: the first job that asks when it is time gets it, and keeps it over a crash.
 */
export async function takeTurn({ sql }: Pick<Connection, 'sql'>, job: OutboxJob): Promise<boolean> {
  const { organization_id, id, lane_id } = job
  const { count } = await sql`
    update lane_faults set tried_id = ${id}, try_at = now() + ${TURN_MOST_S} * interval '1 second'
    where organization_id = ${organization_id} and lane_id = ${lane_id} and (try_at <= now() or tried_id = ${id})`
  return count > 0
}

/**
 * Writes what an attempt says about its lane, in the transaction that parks or ends the job.
 * @returns rows of the lane that were parked along
 */
export async function noteLane(scope: Scope, job: OutboxJob, heard: Heard): Promise<Parked> {
  if (heard.lane === 'works') await freeLane(scope, job.lane_id)
  else if (heard.lane === 'not tried') await returnTurn(scope, job)
  else if (heard.lane === 'held') return holdJob(scope, job)
  else {
    const error = heard.error.replace(ADDRESS, '[address]')
    await countTry(scope, job, error, heard.lane === 'at fault')
    if (heard.lane === 'at fault') return { ids: await parkDue(scope, job.lane_id), error }
  }
  return NOTHING
}

/** Ends the fault of a lane, if there is one: all that is parked comes due, the oldest first. */
export async function freeLane(scope: Scope, lane_id: string): Promise<void> {
  const { sql, organization_id } = scope
  const { count } = await sql`
    delete from lane_faults where organization_id = ${organization_id} and lane_id = ${lane_id}`
  if (count === 0) return
  // A cluster takes no `now()` beside columns in an UPDATE.
  const [{ now_s }] = await sql<[{ now_s: number }]>`select extract(epoch from now())::float8 as now_s`
  await sql`
    with parked as materialized (
      select id from outbox
      where organization_id = ${organization_id} and lane_id = ${lane_id} and ${isParkedMail(sql)}
      for update skip locked
    ), ordered as materialized (select id, row_number() over (order by id) as place from parked)
    update outbox o set run_at = to_timestamp(${now_s}::float8 + ordered.place * 1e-6)
    from ordered where o.organization_id = ${organization_id} and o.id = ordered.id`
  wakeMail(scope)
}

/** Lets one row come due in each lane at fault whose time has come. Rows that tried before come after the others. */
export async function giveTurns({ sql }: Connection): Promise<void> {
  const is_old = (own: Own) => sql`
    t.try_at <= now()
    and exists (select 1 from outbox o where ${own('o')} and o.lane_id = t.lane_id and ${isParkedMail(sql)})`
  const key = ['lane_id', 'tried_id'] as const
  await visit({ sql }, { table: 'lane_faults', key, is_old }, async (organization_id, lanes) => {
    for (const { lane_id, tried_id } of lanes) {
      await sql`
        with chosen as materialized (
          select id from outbox
          where organization_id = ${organization_id} and lane_id = ${lane_id} and ${isParkedMail(sql)}
            and not exists (
              select 1 from outbox due
              where due.organization_id = ${organization_id} and due.lane_id = ${lane_id} and due.run_at <= now()
            )
          order by id <= ${tried_id}, id limit 1 for update skip locked
        )
        update outbox o set run_at = now() from chosen
        where o.organization_id = ${organization_id} and o.id = chosen.id`
    }
  })
}

/** Lets rows come due that have waited for too long, so that they are given up, and any that no fault holds. */
export function endWaits(connection: Connection): Promise<number> {
  const { sql } = connection
  const is_old = (own: Own) => sql`
    ${isParkedMail(sql)} and (
      queued_at < now() - ${config.EMAIL_GIVE_UP_SECONDS}::float8 * interval '1 second'
      or not exists (select 1 from lane_faults f where ${own('f')} and f.lane_id = t.lane_id)
    )`
  return sweep(connection, { table: 'outbox', is_old, size: ROWS_MOST }, async ({ sql, organization_id }, old) => {
    const { count } = await sql`
      with old as materialized (${old})
      update outbox o set run_at = now() from old where o.organization_id = ${organization_id} and o.id = old.id`
    return count
  })
}

/** SQL for a row of mail that nobody works on and that waits for its lane. */
function isParkedMail(sql: Sql) {
  return sql`kind in ('email', 'letter') and run_at = 'infinity' and lease_until <= now()`
}

/** Parks a job whose turn it is not, unless its lane was freed meanwhile: then it comes due. */
async function holdJob(scope: Scope, { id, lane_id }: OutboxJob): Promise<Parked> {
  const { sql, organization_id } = scope
  const [fault] = await sql<{ error: string }[]>`
    select error from lane_faults where organization_id = ${organization_id} and lane_id = ${lane_id} for share`
  if (fault) return { ids: await parkDue(scope, lane_id), error: fault.error }
  await sql`update outbox set run_at = now() where organization_id = ${organization_id} and id = ${id}`
  wakeMail(scope)
  return NOTHING
}

/** Counts a try that failed. Attempts that were under way when the fault began say nothing new. */
async function countTry(scope: Scope, { id, lane_id }: OutboxJob, error: string, is_fault: boolean): Promise<void> {
  const { sql, organization_id } = scope
  const lane = sql`organization_id = ${organization_id} and lane_id = ${lane_id}`
  const [fault] = await sql<{ tries: number; tried_id: string }[]>`
    select tries, tried_id from lane_faults where ${lane} for update`
  const tries = (fault?.tries ?? 0) + 1
  const delay = sql`${delayAfter_s(tries)}::float8 * interval '1 second'`
  if (fault && fault.tried_id === id) {
    await sql`update lane_faults set error = ${error}, tries = ${tries}, try_at = now() + ${delay} where ${lane}`
  }
  if (fault || !is_fault) return
  await sql`
    insert into lane_faults (organization_id, lane_id, error, try_at, tried_id)
    values (${organization_id}, ${lane_id}, ${error}, now() + ${delay}, ${id})
    on conflict (organization_id, lane_id) do nothing`
}

/** Seconds until the next try: the delays of the schedule, of which the last one repeats. */
function delayAfter_s(tries: number): number {
  const schedule = config.RETRY_SCHEDULE_SECONDS
  const delay_s = nextDelay_s(Math.min(tries, schedule.length - 1), schedule) ?? 0
  return Math.min(delay_s, TRY_MOST_S)
}

/** Parks what is due. @returns the rows */
async function parkDue({ sql, organization_id }: Scope, lane_id: string): Promise<string[]> {
  const parked = await sql<{ id: string }[]>`
    with due as materialized (
      select id from outbox
      where organization_id = ${organization_id} and lane_id = ${lane_id} and kind in ('email', 'letter')
        and run_at <= now() and lease_until <= now()
      order by run_at limit ${ROWS_MOST} for update skip locked
    )
    update outbox o set run_at = 'infinity' from due where o.organization_id = ${organization_id} and o.id = due.id
    returning o.id`
  return parked.map(({ id }) => id)
}

/** Lets another job try at once. */
async function returnTurn({ sql, organization_id }: Scope, { id, lane_id }: OutboxJob): Promise<void> {
  await sql`
    update lane_faults set try_at = now()
    where organization_id = ${organization_id} and lane_id = ${lane_id} and tried_id = ${id}`
}

function wakeMail(scope: Scope): void {
  afterCommit(scope, () => {
    wake('email')
    wake('letter')
  })
}
