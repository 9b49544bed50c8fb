/**
 * Settles jobs: removes or reschedules the outbox row together with what the handler writes, in one transaction, and
 * only while the lease holds. Many jobs are settled at once, because the commit costs more than the rows.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { hasFewRows } from '../db/few-rows'
import { type Connection, type Sql, transact } from '../db/transact'
import { isAway, isPassing } from '../db/violations'
import { turns } from '../flow/turns'
import { log, safeError } from '../log'
import { type EndedLease, observeSettled } from '../metrics/outbox-attempts'
import type { OutboxJob, Outcome, Settlement } from './job'

/** Outcomes that arrive within this time are settled together, when they can be. */
const GATHER_MS = 20
const BATCH = 100
/** Lines that are written at the same time: each holds a connection of the pool. */
const LINES_MOST = 4
/** Batches of a line begin at this distance, so that they have many outcomes. */
const LINE_EVERY_MS = 100
/** Delays until settling is tried again, while the database cannot be reached. */
const AGAIN_MS = [100, 500, 1000, 2000, 5000]

type Ended = { job: OutboxJob; outcome: Outcome }
type Waiting = Ended & { resolve: (settled: boolean) => void }

/** Makes the outcome of a job whose own rows cannot be written. */
type OnFault = (job: OutboxJob) => Outcome

/** Settles the outcomes of one worker, many at a time. */
export class Settler {
  readonly #connection: Connection
  readonly #onFault: OnFault
  /** Outcomes that wait for others. */
  #waiting: Waiting[] = []
  /** Ends their wait. */
  #timer: Timer | undefined
  /** When outcomes were last written. */
  #flushed_ms = 0
  /** Outcomes that wait for the batch before them, by their line. A line without any goes. */
  readonly #lines = new Map<string, Waiting[]>()
  readonly #inTurn = turns(LINES_MOST)

  constructor(connection: Connection, onFault: OnFault) {
    this.#connection = connection
    this.#onFault = onFault
  }

  /** Resolves to false when the lease is another's by now, and the outcome was dropped. Never rejects. */
  settle(job: OutboxJob, outcome: Outcome): Promise<boolean> {
    return new Promise((resolve) => {
      const ended = { job, outcome, resolve }
      if (outcome.settle) return void this.#settleGroup([ended])
      if (outcome.batch?.line !== undefined) return void this.#enter(outcome.batch.line, ended)
      this.#waiting.push(ended)
      if (this.#waiting.length >= BATCH) this.#flush()
      else
        this.#timer ??= setTimeout(() => this.#flush(), Math.max(0, this.#flushed_ms + GATHER_MS - performance.now()))
    })
  }

  #flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#flushed_ms = performance.now()
    const groups = Map.groupBy(this.#waiting, ({ outcome }) => outcome.batch?.write ?? outcome.type)
    this.#waiting = []
    for (const group of groups.values()) void this.#settleGroup(group)
  }

  #enter(line: string, ended: Waiting): void {
    const waiting = this.#lines.get(line)
    if (waiting) return void waiting.push(ended)
    const first = [ended]
    this.#lines.set(line, first)
    void this.#settleLine(line, first)
  }

  async #settleLine(line: string, waiting: Waiting[]): Promise<void> {
    // Attempts that end in the same turn of the event loop share the first batch.
    await sleep(0)
    while (waiting.length > 0) {
      const pause = sleep(LINE_EVERY_MS)
      await this.#inTurn(() => this.#settleGroup(waiting.splice(0, BATCH)))
      await pause
    }
    this.#lines.delete(line)
  }

  async #settleGroup(group: Waiting[]): Promise<void> {
    const settled = await settleAll(this.#connection, group, this.#onFault)
    for (const { job, resolve } of group) resolve(settled.has(job.id))
  }
}

/** Settles one job at once. @returns whether its lease still held. @throws the database's errors */
export async function settleOne(connection: Connection, job: OutboxJob, outcome: Outcome): Promise<boolean> {
  return (await writeOnce(connection, [{ job, outcome }])).has(job.id)
}

/**
 * Settles a group of outcomes in one transaction. While the database cannot be reached it tries again, with the same
 * lease tokens: an outcome is dropped when another worker has the lease by then.
 * @returns ids of the jobs whose lease still held
 */
async function settleAll(connection: Connection, group: Ended[], onFault: OnFault): Promise<Set<string>> {
  for (let failures = 0; ; failures++) {
    try {
      return await writeOnce(connection, group)
    } catch (error) {
      // A statement that takes too long passes, too, but one outcome may be the reason.
      if (group.length > 1 && !isAway(error)) return settleHalves(connection, group, onFault)
      if (!isPassing(error) || (failures > 0 && holdsUp(group[0]!, error)))
        return settleFault(connection, group[0]!, onFault, error)
      await sleep(AGAIN_MS[failures] ?? AGAIN_MS[AGAIN_MS.length - 1])
    }
  }
}

/**
 * True when others of its line would wait behind an outcome that is tried again, while the database answers. The work of a
 * line is done anew: nothing of it has left the service.
 */
function holdsUp({ outcome }: Ended, error: unknown): boolean {
  return outcome.batch?.line !== undefined && !isAway(error)
}

/** Settles a group by halves, in their order, until the outcome that fails is alone and does not stop the others. */
async function settleHalves(connection: Connection, group: Ended[], onFault: OnFault): Promise<Set<string>> {
  const middle = Math.ceil(group.length / 2)
  const first = await settleAll(connection, group.slice(0, middle), onFault)
  const second = await settleAll(connection, group.slice(middle), onFault)
  return first.union(second)
}

/** Settles an outcome that cannot be written: a fault of our own. */
async function settleFault(connection: Connection, { job, outcome }: Ended, onFault: OnFault, error: unknown) {
  log.error({ outbox_id: job.id, error: safeError(error) }, 'the outcome of an outbox job cannot be written')
  // Without rows of a handler only the fence can have failed; the lease runs out and the job is done again.
  const has_rows = outcome.settle !== undefined || outcome.batch !== undefined
  return has_rows ? settleAll(connection, [{ job, outcome: onFault(job) }], onFault) : new Set<string>()
}

async function writeOnce(connection: Connection, group: Ended[]): Promise<Set<string>> {
  let after_commit: (() => void)[] = []
  const ended = await transact(connection, async (inner) => {
    // A second run starts anew.
    after_commit = []
    const leases = await endLeases(inner.sql, group)
    const ours = group.filter(({ job }) => leases.has(job.id))
    if (ours.length > 0) await writeRows({ ...inner, after_commit }, ours)
    return leases
  })
  for (const run of after_commit) run()
  for (const { job, outcome } of group) {
    const lease = ended.get(job.id)
    if (lease) observeSettled(lease, outcome)
  }
  return new Set(ended.keys())
}

/** Writes the handlers' own rows: of one outcome, or of several with the same `batch.write`. */
async function writeRows(settlement: Settlement, group: Ended[]): Promise<void> {
  const { settle, batch } = group[0]!.outcome
  if (settle) await settle(settlement)
  if (!batch) return
  const rows = group.map(({ outcome }) => outcome.batch?.row)
  await batch.write(settlement, rows)
}

/** Ends the leases that still hold, and returns them by the ids of their jobs. Late workers change nothing. */
async function endLeases(sql: Sql, group: Ended[]): Promise<Map<string, EndedLease>> {
  if (group.length === 1 && group[0]!.outcome.type === 'done') return removeOne(sql, group[0]!.job)
  const rows = group.map(({ job, outcome }, place) => ({
    place,
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
        as x (place integer, organization_id uuid, id uuid, lease_token uuid, done boolean, delay_s float8, counted integer)
      where ${hasFewRows(sql)}
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

/** Ends the lease of one job that is done. No plan of so plain a statement reads the whole table. */
async function removeOne(sql: Sql, { organization_id, id, lease_token }: OutboxJob): Promise<Map<string, EndedLease>> {
  const ended = await sql<EndedLease[]>`
    delete from outbox
    where organization_id = ${organization_id} and id = ${id} and lease_token = ${lease_token}
    returning kind, ${sinceDue(sql)} as since_due_s`
  return new Map(ended.map((lease) => [id, lease]))
}

/** Null for parked rows: they were never due. */
function sinceDue(sql: Sql) {
  return sql`case when run_at < 'infinity' then extract(epoch from clock_timestamp() - run_at)::float8 end`
}
