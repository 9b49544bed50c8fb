/** Works off one kind of the outbox: finds lanes with due work, leases rows for the free slots, runs, settles. */
import { setTimeout as sleep } from 'node:timers/promises'
import { newId } from '../db/columns'
import type { Connection } from '../db/transact'
import { isAway } from '../db/violations'
import { log, safeError } from '../log'
import { countStale } from '../metrics/outbox-attempts'
import { claim, type DueLane, findDueLanes, type LaneRoom, LEASE_S, release, releaseClaim, renew } from './claim'
import { createLanes, type Slot } from './fair-lanes'
import type { Handler, Job, Outcome } from './job'
import { KINDS } from './kinds'
import { createSettler } from './settle'
import type { OutboxKind } from './wake'

export type WorkerOptions = {
  /** After an outcome was written. */
  on_settled?(kind: OutboxKind, id: string): void
}

/** Rows leased by one statement. */
const CLAIM_MOST = 100
/**
 * Attempts running or waiting to be settled. Bun sends at most BUN_CONFIG_MAX_HTTP_REQUESTS requests at once (2,048,
 * set by the launcher); one beyond would wait while its time runs.
 */
const RUNNING_MOST = 1500
/** Claims follow each other at this distance, so that they take many rows at a time. */
const CLAIM_EVERY_MS = 5
/** Looking for lanes takes at most a tenth of the time; a look that waited for a connection puts off the next little. */
const LOOK_EVERY_MS = 20
const LOOK_MOST_MS = 1000
const LOOK_SHARE = 10
/** After an attempt that could not begin or go on because the database was away. */
const AWAY_DELAY_S = 2
/** Leases of a job that may be lost without an outcome. */
const LOST_MOST = 25
/** After this long an attempt is given up for lost: its slot is free again and its lease runs out. */
const ATTEMPT_MOST_S = 600

type Run = { slot: Slot; started_ms: number; ended: Promise<void> }

export type Worker = ReturnType<typeof createWorker>

export function createWorker(connection: Connection, kind: OutboxKind, handler: Handler, options: WorkerOptions) {
  const { sql } = connection
  const { attempt, giveUp } = typeof handler === 'function' ? { attempt: handler, giveUp: park } : handler
  const { afterFault, ...limits } = KINDS[kind]
  const lanes = createLanes(limits, soon)
  const settler = createSettler(connection, afterFault)
  const running = new Map<Job, Run>()
  /** Lanes that have due work; the one served last is the last. */
  const due = new Map<string, DueLane>()
  let is_stale = true
  /** The lease of a claim that was sent and not answered. */
  let unanswered: string | undefined
  let look_at_ms = 0
  let claimed_at_ms = 0
  let begun = 0
  let claim_timer: ReturnType<typeof setTimeout> | undefined
  let look_timer: ReturnType<typeof setTimeout> | undefined
  let claiming: Promise<void> | undefined
  let stopped = false

  return { wake, runDue, runUntilIdle, keepLeases, stop }

  /** There may be new work. */
  function wake(): void {
    is_stale = true
    soon()
  }

  /** Begins what is due and has a slot. Rejects when the database cannot be reached. */
  function runDue(): Promise<void> {
    is_stale = true
    return claimWork()
  }

  /** Runs everything that is due until nothing is: until a look with all slots free has begun nothing. */
  async function runUntilIdle(): Promise<void> {
    for (;;) {
      const before = { begun, running: running.size }
      look_at_ms = 0
      await runDue()
      if (before.running === 0 && before.begun === begun) return
      await Promise.all([...running.values()].map((run) => run.ended))
    }
  }

  /** Lengthens the leases of attempts that take long. To be called several times within a lease. */
  async function keepLeases(): Promise<void> {
    const now_ms = performance.now()
    for (const [job, run] of running) {
      if (now_ms - run.started_ms < ATTEMPT_MOST_S * 1000) continue
      log.error({ kind, outbox_id: job.id }, 'an outbox job does not end')
      running.delete(job)
      run.slot.leave(false)
    }
    const long = [...running].filter(([, run]) => now_ms - run.started_ms > (LEASE_S * 1000) / 4).map(([job]) => job)
    if (long.length > 0) await renew(sql, long)
  }

  /** Claims nothing more, waits for what is in flight, and gives back what has not ended after `timeout_ms`. */
  async function stop(timeout_ms: number): Promise<void> {
    stopped = true
    clearTimeout(claim_timer)
    clearTimeout(look_timer)
    await claiming?.catch(() => {})
    const all = Promise.all([...running.values()].map((run) => run.ended))
    await Promise.race([all, sleep(timeout_ms, undefined, { ref: false })])
    const left = [...running.keys()]
    if (left.length === 0) return
    await release(sql, left).catch((error) => {
      log.warn({ kind, error: safeError(error) }, 'leases cannot be released and will run out')
    })
  }

  function soon(): void {
    if (stopped || claim_timer) return
    const wait_ms = Math.max(0, claimed_at_ms + CLAIM_EVERY_MS - performance.now())
    claim_timer = setTimeout(() => {
      claim_timer = undefined
      // The database cannot be reached: the next second tries again.
      claimWork().catch((error) => log.debug({ kind, error: safeError(error) }, 'claiming outbox work failed'))
    }, wait_ms)
  }

  /** One at a time: a claim that is asked for while another runs comes after it. */
  function claimWork(): Promise<void> {
    claiming = (claiming ?? Promise.resolve()).catch(() => {}).then(claimFreeSlots)
    return claiming
  }

  async function claimFreeSlots(): Promise<void> {
    while (!stopped) {
      if (unanswered) await releaseClaim(sql, kind, unanswered)
      unanswered = undefined
      if (is_stale) await lookForLanes()
      const rooms = lanes.share(due.values(), Math.min(CLAIM_MOST, RUNNING_MOST - running.size))
      if (rooms.length === 0) return
      claimed_at_ms = performance.now()
      const jobs = await claimRows(rooms)
      const found = Map.groupBy(jobs, (job) => job.lane_id)
      for (const { lane_id, room } of rooms) {
        const lane = due.get(lane_id)!
        due.delete(lane_id)
        if (found.get(lane_id)?.length === room) due.set(lane_id, lane)
      }
      if (stopped && jobs.length > 0) return release(sql, jobs)
      for (const job of jobs) begin(job)
    }
  }

  async function claimRows(rooms: LaneRoom[]): Promise<Job[]> {
    unanswered = newId()
    const jobs = await claim(sql, kind, rooms, unanswered)
    unanswered = undefined
    return jobs
  }

  async function lookForLanes(): Promise<void> {
    const started_ms = performance.now()
    if (started_ms < look_at_ms) {
      clearTimeout(look_timer)
      look_timer = setTimeout(soon, look_at_ms - started_ms)
      return
    }
    is_stale = false
    try {
      order(await findDueLanes(sql, kind))
    } catch (error) {
      is_stale = true
      throw error
    }
    const ended_ms = performance.now()
    const rest_ms = Math.max(LOOK_EVERY_MS, (ended_ms - started_ms) * LOOK_SHARE)
    look_at_ms = ended_ms + Math.min(rest_ms, LOOK_MOST_MS)
  }

  /** Unknown lanes come first, once; lanes that wait already keep their turn; others queue behind them. */
  function order(found: DueLane[]): void {
    const lane_of = new Map(found.map((lane) => [lane.lane_id, lane]))
    const waiting = [...due.keys()].flatMap((lane_id) => lane_of.get(lane_id) ?? [])
    const fresh = found.filter((lane) => !due.has(lane.lane_id))
    const unknown = fresh.filter((lane) => lanes.health(lane.lane_id) === 'unknown')
    const others = fresh.filter((lane) => lanes.health(lane.lane_id) !== 'unknown')
    due.clear()
    for (const lane of [...unknown, ...waiting, ...others]) due.set(lane.lane_id, lane)
  }

  function begin(job: Job): void {
    begun++
    const slot = lanes.enter(job.lane_id)
    running.set(job, { slot, started_ms: performance.now(), ended: run(job, slot) })
  }

  async function run(job: Job, slot: Slot): Promise<void> {
    const outcome = await outcomeOf(job)
    if (!running.has(job)) return
    const healthy = outcome.healthy ?? (outcome.type === 'done' ? true : outcome.counts ? false : undefined)
    // Rows that are written many at a time wait for others, which must not keep the slot from the next attempt.
    const is_gathered = outcome.row !== undefined
    if (is_gathered) free(slot, healthy)
    const written = await settler.settle(job, outcome)
    running.delete(job)
    if (!is_gathered) free(slot, healthy)
    if (written) options.on_settled?.(kind, job.id)
    else dropped(job)
  }

  function dropped(job: Job): void {
    countStale(kind)
    log.warn({ kind, outbox_id: job.id }, 'an outbox outcome came too late and was dropped')
  }

  function free(slot: Slot, healthy: boolean | undefined): void {
    slot.leave(healthy)
    soon()
  }

  async function outcomeOf(job: Job): Promise<Outcome> {
    // Not within `begin`, which has yet to note the job.
    await Promise.resolve()
    try {
      if (job.claims - job.attempts <= LOST_MOST) return await attempt(job, connection)
      log.error({ kind, outbox_id: job.id, claims: job.claims }, 'an outbox job seems to kill its workers')
      return { healthy: false, ...giveUp(job) }
    } catch (error) {
      if (isAway(error)) return { type: 'retry', delay_s: AWAY_DELAY_S, counts: false }
      log.error({ kind, outbox_id: job.id, error: safeError(error) }, 'an outbox job failed by a fault of our own')
      return afterFault(job)
    }
  }
}

/** Until an operator sets it free (`outbox retry`). */
function park(): Outcome {
  return { type: 'retry', delay_s: null, counts: false }
}
