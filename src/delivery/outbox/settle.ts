/**
 * Settles jobs: removes or reschedules the outbox row together with what the handler writes, in one transaction, and
 * only while the lease holds. Many jobs of an organization are settled at once, because the commit costs more than the
 * rows.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { hasFewRows } from '../../base/db/few-rows'
import type { Connection, Sql } from '../../base/db/transact'
import { isAway, isPassing } from '../../base/db/violations'
import { turns } from '../../base/flow/turns'
import { log, safeError } from '../../base/log'
import { inTransaction, SYSTEM } from '../../base/scope'
import type { OutboxJob, OutboxKind, Outcome, Settlement } from './job'
import { observeSettled } from './outbox-attempts'

/** Batches of an organization begin at this distance, so that they have many outcomes. */
const GATHER_MS = 20
const BATCH = 100
/** Transactions at the same time, of all organizations: each holds a connection of the pool. */
const TRANSACTIONS_MOST = 4
/** Batches of a line begin at this distance. */
const LINE_EVERY_MS = 100
/** Delays until settling is tried again, while the database cannot be reached. */
const AGAIN_MS = [100, 500, 1000, 2000, 5000]

type Ended = { job: OutboxJob; outcome: Outcome }
type Waiting = Ended & { resolve: (settled: boolean) => void }

/** Outcomes that wait to be settled together: those of a line, or those of an organization with the same writer. */
type Queue = { waiting: Waiting[]; has_turn: boolean }

/** Settles a group in one transaction, when it is its turn. @returns those whose lease still held */
type Write = (group: Ended[]) => Promise<Set<OutboxJob>>

/** Makes the outcome of a job whose own rows cannot be written. */
type OnFault = (job: OutboxJob) => Outcome

/** Settles the outcomes of one worker, many at a time. */
export class Settler {
  readonly #connection: Connection
  readonly #onFault: OnFault
  /** By writer, and by line or organization. A queue without any outcome goes. */
  readonly #queues = new Map<unknown, Map<string, Queue>>()
  readonly #inTurn = turns(TRANSACTIONS_MOST)

  constructor(connection: Connection, onFault: OnFault) {
    this.#connection = connection
    this.#onFault = onFault
  }

  /** Resolves to false when the lease is another's by now, and the outcome was dropped. Never rejects. */
  settle(job: OutboxJob, outcome: Outcome): Promise<boolean> {
    return new Promise((resolve) => {
      const ended = { job, outcome, resolve }
      if (outcome.settle) void this.#settleGroup([ended], (group) => writeOnce(this.#connection, group))
      else this.#enter(ended)
    })
  }

  #enter(ended: Waiting): void {
    const { job, outcome } = ended
    const { write, line } = outcome.batch ?? {}
    const writer = write ?? outcome.type
    const queues = this.#queues.get(writer) ?? new Map<string, Queue>()
    this.#queues.set(writer, queues)
    const name = line ?? job.organization_id
    const queue = queues.get(name)
    if (queue) {
      queue.waiting.push(ended)
      if (line === undefined && queue.waiting.length >= BATCH) void this.#settleSome(queue)
      return
    }
    const first = { waiting: [ended], has_turn: false }
    queues.set(name, first)
    void this.#settleQueue(first, line !== undefined, () => queues.delete(name))
  }

  async #settleQueue(queue: Queue, is_line: boolean, onEmpty: () => void): Promise<void> {
    // Attempts that end in the same turn of the event loop share the first batch.
    await sleep(0)
    while (queue.waiting.length > 0) {
      const pause = sleep(is_line ? LINE_EVERY_MS : GATHER_MS)
      const settled = this.#settleSome(queue)
      if (is_line) await settled
      await pause
    }
    onEmpty()
  }

  /**
   * Settles a batch when its turn has come, with what gathers until then, unless one waits for its turn. While a node
   * is away it waits without its turn.
   */
  async #settleSome(queue: Queue): Promise<void> {
    if (queue.has_turn) return
    queue.has_turn = true
    const group: Waiting[] = []
    await this.#settleGroup(group, (part) =>
      this.#inTurn(() => {
        if (group.length === 0) {
          queue.has_turn = false
          group.push(...queue.waiting.splice(0, BATCH))
        }
        return writeOnce(this.#connection, part)
      }),
    )
  }

  async #settleGroup(group: Waiting[], write: Write): Promise<void> {
    const settled = await settleAll(write, group, this.#onFault)
    for (const { job, resolve } of group) resolve(settled.has(job))
  }
}

/** Settles one job at once. @returns whether its lease still held. @throws the database's errors */
export async function settleOne(connection: Connection, job: OutboxJob, outcome: Outcome): Promise<boolean> {
  return (await writeOnce(connection, [{ job, outcome }])).has(job)
}

/**
 * Settles a group of outcomes in one transaction. While the database cannot be reached it tries again, with the same
 * lease tokens: an outcome is dropped when another worker has the lease by then.
 * @returns those whose lease still held
 */
async function settleAll(write: Write, group: Ended[], onFault: OnFault): Promise<Set<OutboxJob>> {
  for (let failures = 0; ; failures++) {
    try {
      return await write(group)
    } catch (error) {
      // A statement that takes too long passes, too, but one outcome may be the reason.
      if (group.length > 1 && !isAway(error)) return settleHalves(write, group, onFault)
      if (!isPassing(error) || (failures > 0 && holdsUp(group[0]!, error)))
        return settleFault(write, group[0]!, onFault, error)
      await sleep(AGAIN_MS[failures] ?? AGAIN_MS[AGAIN_MS.length - 1])
    }
  }
}

/**
 * True when others of its line would wait behind an outcome that is tried again, while the database answers. The work
 * of a line is done anew: nothing of it has left the service.
 */
function holdsUp({ outcome }: Ended, error: unknown): boolean {
  return outcome.batch?.line !== undefined && !isAway(error)
}

/** Settles a group by halves, in their order, until the outcome that fails is alone and does not stop the others. */
async function settleHalves(write: Write, group: Ended[], onFault: OnFault): Promise<Set<OutboxJob>> {
  const middle = Math.ceil(group.length / 2)
  const first = await settleAll(write, group.slice(0, middle), onFault)
  const second = await settleAll(write, group.slice(middle), onFault)
  return first.union(second)
}

/** Settles an outcome that cannot be written: a fault of our own. */
async function settleFault(write: Write, { job, outcome }: Ended, onFault: OnFault, error: unknown) {
  log.error({ outbox_id: job.id, error: safeError(error) }, 'the outcome of an outbox job cannot be written')
  // Without rows of a handler only the fence can have failed; the lease runs out and the job is done again.
  const has_rows = outcome.settle !== undefined || outcome.batch !== undefined
  return has_rows ? settleAll(write, [{ job, outcome: onFault(job) }], onFault) : new Set<OutboxJob>()
}

/** Settles outcomes of one organization. */
async function writeOnce(connection: Connection, group: Ended[]): Promise<Set<OutboxJob>> {
  const { organization_id } = group[0]!.job
  const ended = await inTransaction(
    { ...connection, organization_id, actor: SYSTEM },
    async ({ db, sql, ...scope }) => {
      const now_s = group.some(({ outcome }) => delayOf(outcome) !== null) ? await timeOf(sql) : null
      const leases = await endLeases(sql, organization_id, group, now_s)
      const ours = group.filter(({ job }) => leases.has(job))
      const after_commit = scope.after_commit!
      if (ours.length > 0) await writeRows({ db, sql, organization_id, now_s, after_commit }, ours)
      return leases
    },
  )
  for (const { job, outcome } of group) {
    const kind = ended.get(job)
    if (kind) observeSettled(kind, job.due_ms, outcome)
  }
  return new Set(ended.keys())
}

function delayOf(outcome: Outcome): number | null {
  return outcome.type === 'retry' ? outcome.delay_s : null
}

/** The time of the transaction, from which delays count. An update cannot add them to `now()` on a cluster. */
async function timeOf(sql: Sql): Promise<number> {
  const [{ now_s }] = await sql<[{ now_s: number }]>`select extract(epoch from now())::float8 as now_s`
  return now_s
}

/** Writes the handlers' own rows: of one outcome, or of several with the same `batch.write`. */
async function writeRows(settlement: Settlement, group: Ended[]): Promise<void> {
  const { settle, batch } = group[0]!.outcome
  if (settle) await settle(settlement)
  if (!batch) return
  const rows = group.map(({ outcome }) => outcome.batch?.row)
  await batch.write(settlement, rows)
}

/**
 * Ends the leases that still hold, and returns the kinds of their jobs. Late workers change nothing. A row that was
 * leased again, as when a machine was away for long, may be twice in a group: one of the two jobs holds the lease.
 */
async function endLeases(
  sql: Sql,
  organization_id: string,
  group: Ended[],
  now_s: number | null,
): Promise<Map<OutboxJob, OutboxKind>> {
  if (group.length === 1 && group[0]!.outcome.type === 'done') return removeOne(sql, organization_id, group[0]!.job)
  const rows = group.map(({ job, outcome }, place) => {
    const delay_s = delayOf(outcome)
    return {
      place,
      id: job.id,
      lease_token: job.lease_token,
      done: outcome.type === 'done',
      run_at_s: delay_s === null || now_s === null ? null : now_s + delay_s,
      counted: outcome.type === 'retry' && outcome.counts ? 1 : 0,
    }
  })
  // The lists of ids are there for the planner, as in `claim`.
  const ended = await sql<{ place: number; kind: OutboxKind }[]>`
    with given as materialized (
      select * from json_to_recordset(${JSON.stringify(rows)}::text::json)
        as x (place integer, id uuid, lease_token uuid, done boolean, run_at_s float8, counted integer)
      where ${hasFewRows(sql)}
    ), removed as (
      delete from outbox o using given
      where given.done and o.organization_id = ${organization_id} and o.id = given.id
        and o.id = any(array(select id from given)) and o.lease_token = given.lease_token
      returning given.place, o.kind
    ), rescheduled as (
      update outbox o
      set attempts = o.attempts + given.counted, claims = o.claims - (1 - given.counted), lease_token = null,
        lease_until = '-infinity',
        run_at = case when given.run_at_s is null then 'infinity' else to_timestamp(given.run_at_s) end
      from given
      where not given.done and o.organization_id = ${organization_id} and o.id = given.id
        and o.id = any(array(select id from given)) and o.lease_token = given.lease_token
      returning given.place, o.kind
    )
    select place, kind from removed union all select place, kind from rescheduled`
  return new Map(ended.map(({ place, kind }) => [group[place]!.job, kind]))
}

/** Ends the lease of one job that is done. No plan of so plain a statement reads the whole table. */
async function removeOne(sql: Sql, organization_id: string, job: OutboxJob) {
  const { id, lease_token } = job
  const ended = await sql<{ kind: OutboxKind }[]>`
    delete from outbox where organization_id = ${organization_id} and id = ${id} and lease_token = ${lease_token}
    returning kind`
  return new Map(ended.map(({ kind }) => [job, kind]))
}
