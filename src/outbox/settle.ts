/**
 * Ends jobs: the outbox row is removed or rescheduled together with what the handler writes, in one transaction, and
 * only while the lease holds. Many are settled at once, because the commit costs more than the rows.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Connection, type Sql, transact } from '../db/transact'
import { isPassing } from '../db/violations'
import { log, safeError } from '../log'
import { type EndedLease, observeSettled } from '../metrics/outbox-attempts'
import type { Job, Outcome } from './job'

/** Outcomes that arrive within this time are settled together, when they can be. */
const GATHER_MS = 20
const BATCH = 100
/** Waits before settling is tried again, while the database cannot be reached. */
const AGAIN_MS = [100, 500, 1000, 2000, 5000]

type Ended = { job: Job; outcome: Outcome }
type Waiting = Ended & { resolve: (settled: boolean) => void }

/**
 * @param onFault the outcome of a job whose own rows could not be written
 */
export function createSettler(connection: Connection, onFault: (job: Job) => Outcome) {
  let waiting: Waiting[] = []
  let timer: ReturnType<typeof setTimeout> | undefined
  let last_ms = 0

  return {
    /** Resolves to whether the outcome was written; it is dropped when the lease is another's by now. Never rejects. */
    settle(job: Job, outcome: Outcome): Promise<boolean> {
      return new Promise((resolve) => {
        const ended = { job, outcome, resolve }
        // What writes rows of its own shares its transaction with nobody.
        if (outcome.settle && outcome.row === undefined) return void settleGroup([ended])
        waiting.push(ended)
        if (waiting.length >= BATCH) flush()
        else timer ??= setTimeout(flush, Math.max(0, last_ms + GATHER_MS - performance.now()))
      })
    },
  }

  function flush(): void {
    clearTimeout(timer)
    timer = undefined
    last_ms = performance.now()
    const batch = waiting
    waiting = []
    const groups = Map.groupBy(batch, ({ outcome }) => outcome.settle ?? outcome.type)
    for (const group of groups.values()) void settleGroup(group)
  }

  async function settleGroup(group: Waiting[]): Promise<void> {
    const settled = await settleAll(connection, group, onFault)
    for (const { job, resolve } of group) resolve(settled.has(job.id))
  }
}

/** Settles one job at once. @returns whether its lease still held. @throws the database's errors */
export async function settleOne(connection: Connection, job: Job, outcome: Outcome): Promise<boolean> {
  return (await writeOnce(connection, [{ job, outcome }])).has(job.id)
}

/**
 * Settles outcomes that have the same `settle` function. While the database cannot be reached it tries again, with the
 * same leases: whoever holds them by then decides whether anything is written.
 * @returns ids of the jobs whose lease still held
 */
async function settleAll(connection: Connection, group: Ended[], onFault: (job: Job) => Outcome): Promise<Set<string>> {
  for (let failures = 0; ; failures++) {
    try {
      return await writeOnce(connection, group)
    } catch (error) {
      if (!isPassing(error)) return settleEach(connection, group, onFault, error)
      await sleep(AGAIN_MS[failures] ?? AGAIN_MS[AGAIN_MS.length - 1])
    }
  }
}

/** What is wrong with one must not keep the others; that one alone is treated as our own fault. */
async function settleEach(connection: Connection, group: Ended[], onFault: (job: Job) => Outcome, error: unknown) {
  if (group.length > 1) {
    const each = await Promise.all(group.map((ended) => settleAll(connection, [ended], onFault)))
    return new Set(each.flatMap((ids) => [...ids]))
  }
  const [{ job, outcome }] = group as [Ended]
  log.error({ outbox_id: job.id, error: safeError(error) }, 'the outcome of an outbox job cannot be written')
  // Without rows of a handler only the fence can have failed; the lease runs out and the job is done again.
  return outcome.settle ? settleAll(connection, [{ job, outcome: onFault(job) }], onFault) : new Set<string>()
}

async function writeOnce(connection: Connection, group: Ended[]): Promise<Set<string>> {
  const { settle } = group[0]!.outcome
  const after_commit: (() => void)[] = []
  const ended = await transact(connection, async (inner) => {
    const ours = await endLeases(inner.sql, group)
    const rows = group.filter(({ job }) => ours.has(job.id)).map(({ outcome }) => outcome.row)
    if (rows.length > 0) await settle?.({ ...inner, after_commit }, rows)
    return ours
  })
  for (const run of after_commit) run()
  for (const { job, outcome } of group) {
    const lease = ended.get(job.id)
    if (lease) observeSettled(lease, outcome)
  }
  return new Set(ended.keys())
}

/** The fence: ends the leases that still hold, and tells which did, by the ids of their jobs. */
async function endLeases(sql: Sql, group: Ended[]): Promise<Map<string, EndedLease>> {
  if (group.length === 1 && group[0]!.outcome.type === 'done') return removeOne(sql, group[0]!.job)
  const rows = group.map(({ job, outcome }) => ({
    organization_id: job.organization_id,
    id: job.id,
    lease_token: job.lease_token,
    done: outcome.type === 'done',
    delay_s: outcome.type === 'retry' ? outcome.delay_s : null,
    counted: outcome.type === 'retry' && outcome.counts ? 1 : 0,
  }))
  const ended = await sql<(EndedLease & { id: string })[]>`
    with given as materialized (
      select * from json_to_recordset(${JSON.stringify(rows)}::text::json)
        as x (organization_id uuid, id uuid, lease_token uuid, done boolean, delay_s float8, counted integer)
    ), removed as (
      delete from outbox o using given
      where given.done and o.organization_id = given.organization_id and o.id = given.id
        and o.lease_token = given.lease_token
      returning o.id, o.kind, o.run_at
    ), rescheduled as (
      update outbox o
      set attempts = o.attempts + given.counted, claims = o.claims - (1 - given.counted), lease_token = null,
        lease_until = '-infinity',
        run_at = case when given.delay_s is null then 'infinity' else now() + given.delay_s * interval '1 second' end
      from given
      where not given.done and o.organization_id = given.organization_id and o.id = given.id
        and o.lease_token = given.lease_token
      returning o.id, o.kind
    )
    select id, kind, ${sinceDue(sql)} as since_due_s from removed
    union all select id, kind, null from rescheduled`
  return new Map(ended.map((row) => [row.id, row]))
}

/** The same for one that is done: so plain that no plan of it reads the whole table, which grows with the backlog. */
async function removeOne(sql: Sql, { organization_id, id, lease_token }: Job): Promise<Map<string, EndedLease>> {
  const ended = await sql<EndedLease[]>`
    delete from outbox
    where organization_id = ${organization_id} and id = ${id} and lease_token = ${lease_token}
    returning kind, ${sinceDue(sql)} as since_due_s`
  return new Map(ended.map((lease) => [id, lease]))
}

/** Parked rows have no time when they were due. */
function sinceDue(sql: Sql) {
  return sql`case when run_at < 'infinity' then extract(epoch from clock_timestamp() - run_at)::float8 end`
}
