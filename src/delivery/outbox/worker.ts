/** Works on one kind of the outbox: leases due rows for free slots, runs an attempt for each, settles the outcomes. */
import { setTimeout as sleep } from 'node:timers/promises'
import { requireMachine } from '../../base/db/cluster/away'
import type { Connection } from '../../base/db/transact'
import { isAway } from '../../base/db/violations'
import { log, safeError } from '../../base/log'
import { traced } from '../../base/tracing/trace'
import { type LaneRoom, LEASE_S, release, renew } from './claim'
import { Claimer } from './claimer'
import { DueLanes, type LaneName } from './due-lanes'
import { FairLanes, type Slot } from './fair-lanes'
import { announceAttempt } from './first-attempt'
import { isHeld } from './hold'
import type { OutboxAttempt, OutboxGiveUp, OutboxHandler, OutboxJob, OutboxKind, Outcome } from './job'
import { KINDS } from './kinds'
import { countStale } from './outbox-attempts'
import { Settler } from './settle'

export type WorkerOptions = {
  /** Called after an outcome was written. */
  on_settled?(kind: OutboxKind, id: string): void
}

/** Rows leased by one statement. */
const CLAIM_MOST = 100
/**
 * Attempts running or waiting to be settled. Bun sends at most BUN_CONFIG_MAX_HTTP_REQUESTS requests at once (2,048,
 * set by the launcher); one more would wait while its time limit runs.
 */
const RUNNING_MOST = 1500
/** Claimer follow each other at this distance, so that they take many rows at a time. */
const CLAIM_EVERY_MS = 5
/** Delay after an attempt that could not begin or go on because the database was away. */
const AWAY_DELAY_S = 2
/** Leases of a job that may be lost without an outcome. */
const LOST_MOST = 25
/** After this time an attempt counts as lost: its slot is free again and its lease runs out. */
const ATTEMPT_MOST_S = 600

type Run = { slot: Slot; started_ms: number; ended: Promise<void> }

export class Worker {
  readonly #connection: Connection
  readonly #kind: OutboxKind
  readonly #options: WorkerOptions
  /** Does the work of a job. */
  readonly #attempt: OutboxAttempt
  /** Ends a job that seems to kill its workers. */
  readonly #giveUp: OutboxGiveUp
  /** Decides how many slots each lane may use. */
  readonly #lanes: FairLanes
  /** Knows which lanes have due work, and whose turn it is. */
  readonly #due: DueLanes
  /** Writes the outcomes. */
  readonly #settler: Settler
  /** Attempts under way, until their outcome is written. */
  readonly #running = new Map<OutboxJob, Run>()
  /** Attempts begun so far. */
  #begun = 0
  /** Leases rows. */
  readonly #claimer: Claimer
  /** Beginning of the last claim. */
  #claimed_at_ms = 0
  /** The last claim took as much as it had room for. */
  #is_more_due = false
  /** Waits until the next claim may begin. */
  #claim_timer: Timer | undefined
  /** Ends with the claim under way and those that were requested during it. */
  #claiming: Promise<void> = Promise.resolve()
  #is_stopped = false

  constructor(connection: Connection, kind: OutboxKind, handler: OutboxHandler, options: WorkerOptions) {
    const { attempt, giveUp } = typeof handler === 'function' ? { attempt: handler, giveUp: park } : handler
    const { afterFault, ...limits } = KINDS[kind]
    this.#connection = connection
    this.#kind = kind
    this.#options = options
    this.#attempt = attempt
    this.#giveUp = giveUp
    this.#lanes = new FairLanes(limits, () => this.#claimSoon())
    this.#claimer = new Claimer(connection.sql, kind)
    this.#due = new DueLanes(connection.sql, kind, () => this.#claimSoon())
    this.#settler = new Settler(connection, afterFault)
  }

  /** Notes that there may be new work. @param lanes that have it */
  wake(lanes?: LaneName[]): void {
    this.#due.expect(lanes)
    this.#claimSoon()
  }

  /** Begins what is due and has a slot. Rejects when the database cannot be reached. */
  runDue(): Promise<void> {
    this.#due.expect()
    return this.#claimInTurn()
  }

  /** Runs everything that is due until nothing is: until a look with all slots free has begun nothing. */
  async runUntilIdle(): Promise<void> {
    for (;;) {
      const before = { begun: this.#begun, running: this.#running.size }
      this.#due.hurry()
      await this.runDue()
      if (before.running === 0 && before.begun === this.#begun) return
      await this.#allEnded()
    }
  }

  /** Renews the leases of attempts that take long. To be called several times within a lease. */
  async keepLeases(): Promise<void> {
    const now_ms = performance.now()
    for (const [job, run] of this.#running) {
      if (now_ms - run.started_ms < ATTEMPT_MOST_S * 1000) continue
      log.error({ kind: this.#kind, outbox_id: job.id }, 'an outbox job does not end')
      this.#running.delete(job)
      run.slot.leave(false)
    }
    const long = [...this.#running].filter(([, run]) => now_ms - run.started_ms > (LEASE_S * 1000) / 4)
    const jobs = long.map(([job]) => job)
    if (jobs.length > 0) await renew(this.#connection.sql, jobs)
  }

  /** Claims nothing more, waits for what is in flight, and releases what has not ended after `timeout_ms`. */
  async stop(timeout_ms: number): Promise<void> {
    this.#is_stopped = true
    clearTimeout(this.#claim_timer)
    this.#due.stop()
    await this.#claiming.catch(() => {})
    await Promise.race([this.#allEnded(), sleep(timeout_ms, undefined, { ref: false })])
    const left = [...this.#running.keys()]
    if (left.length === 0) return
    await release(this.#connection.sql, left).catch((error) => {
      log.warn({ kind: this.#kind, error: safeError(error) }, 'leases cannot be released and will run out')
    })
  }

  #allEnded(): Promise<unknown> {
    return Promise.all([...this.#running.values()].map((run) => run.ended))
  }

  #claimSoon(): void {
    // One quick receiver has ended all that it was given: no other slot will be free to claim for as well.
    const is_at_once = this.#is_more_due && this.#lanes.isIdle
    if (this.#is_stopped || (this.#claim_timer && !is_at_once)) return
    clearTimeout(this.#claim_timer)
    const wait_ms = is_at_once ? 0 : Math.max(0, this.#claimed_at_ms + CLAIM_EVERY_MS - performance.now())
    this.#claim_timer = setTimeout(() => {
      this.#claim_timer = undefined
      // The database cannot be reached: the drain calls `runDue` within a second.
      this.#claimInTurn().catch((error) => {
        log.debug({ kind: this.#kind, error: safeError(error) }, 'claiming outbox work failed')
      })
    }, wait_ms)
  }

  /** One claim at a time: one that is asked for while another runs comes after it. */
  #claimInTurn(): Promise<void> {
    this.#claiming = this.#claiming.catch(() => {}).then(() => this.#claimFreeSlots())
    return this.#claiming
  }

  async #claimFreeSlots(): Promise<void> {
    while (!this.#is_stopped && !isHeld(this.#kind)) {
      await this.#claimer.releaseLost()
      const due = await this.#due.look((lane_id) => this.#lanes.isUnknown(lane_id))
      const rooms = this.#lanes.share(due, Math.min(CLAIM_MOST, RUNNING_MOST - this.#running.size))
      if (rooms.length === 0) return
      this.#claimed_at_ms = performance.now()
      await this.#take(rooms)
    }
  }

  async #take(rooms: LaneRoom[]): Promise<void> {
    const jobs: OutboxJob[] = []
    const late: OutboxJob[] = []
    this.#is_more_due = false
    try {
      await this.#claimer.take(rooms, (taken) => {
        jobs.push(...taken)
        if (this.#is_stopped) late.push(...taken)
        else for (const job of taken) this.#begin(job)
      })
    } finally {
      this.#due.serve(rooms, jobs)
      this.#is_more_due = jobs.length === rooms.reduce((sum, { room }) => sum + room, 0)
      if (late.length > 0) await release(this.#connection.sql, late)
    }
  }

  #begin(job: OutboxJob): void {
    this.#begun++
    const run: Run = { slot: this.#lanes.enter(job.lane_id), started_ms: performance.now(), ended: Promise.resolve() }
    this.#running.set(job, run)
    run.ended = this.#run(job, run.slot)
  }

  #run(job: OutboxJob, slot: Slot): Promise<void> {
    const attributes = {
      ...{ 'messaging.system': 'deskwire', 'messaging.operation.type': 'process' },
      ...{ 'messaging.destination.name': this.#kind, 'messaging.message.id': job.id },
      'deskwire.organization_id': job.organization_id,
    }
    // Until its outcome is written: mail is filed in the transaction that does this.
    return traced(
      { name: `process ${this.#kind}`, kind: 'consumer', parent: job.traceparent, attributes },
      async () => {
        const outcome = await this.#outcomeOf(job)
        if (this.#running.has(job)) await this.#settle(job, slot, outcome)
        outcome.release?.()
      },
    )
  }

  async #settle(job: OutboxJob, slot: Slot, outcome: Outcome): Promise<void> {
    // A batch waits for others, which must not keep the slot from the next attempt. A line is written one batch after
    // the other: without its slots more and more would wait there.
    const waits_without_slot = outcome.batch !== undefined && outcome.batch.line === undefined
    if (waits_without_slot) this.#free(slot, outcome)
    const is_written = await this.#settler.settle(job, outcome)
    this.#running.delete(job)
    if (!waits_without_slot) this.#free(slot, outcome)
    if (is_written) {
      announceAttempt(job.id)
      this.#options.on_settled?.(this.#kind, job.id)
      return
    }
    countStale(this.#kind)
    log.warn({ kind: this.#kind, outbox_id: job.id }, 'an outbox outcome came too late and was dropped')
  }

  async #outcomeOf(job: OutboxJob): Promise<Outcome> {
    const names = { kind: this.#kind, outbox_id: job.id }
    try {
      requireMachine(job.organization_id)
      if (job.claims - job.attempts <= LOST_MOST) return await this.#attempt(job, this.#connection)
      log.error({ ...names, claims: job.claims }, 'an outbox job seems to kill its workers')
      return { healthy: false, ...(await this.#giveUp(job, this.#connection)) }
    } catch (error) {
      if (isAway(error)) return { type: 'retry', delay_s: AWAY_DELAY_S, counts: false }
      log.error({ ...names, error: safeError(error) }, 'an outbox job failed by a fault of our own')
      return KINDS[this.#kind].afterFault(job)
    }
  }

  #free(slot: Slot, outcome: Outcome): void {
    slot.leave(outcome.healthy ?? (outcome.type === 'done' ? true : outcome.counts ? false : undefined))
    this.#claimSoon()
  }
}

/** The row waits until an operator sets it free (`outbox retry`). */
function park(): Outcome {
  return { type: 'retry', delay_s: null, counts: false }
}
