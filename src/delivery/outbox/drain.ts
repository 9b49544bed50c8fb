/**
 * Runs a worker for each kind of the outbox. They look for work when this process or another has committed some, and
 * each second in any case.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Cron } from 'croner'
import type { Connection } from '../../base/db/transact'
import { log, safeError } from '../../base/log'
import { LEASE_S } from './claim'
import type { LaneName } from './due-lanes'
import type { OutboxHandler, OutboxKind } from './job'
import { giveTurns } from './lane-faults'
import { listenForWakes, onWake } from './wake'
import { Worker, type WorkerOptions } from './worker'

/** At the begin of a second all processes would look at once: each waits a part of this time, always the same. */
const APART_MS = 100

type OutboxHandlers = Partial<Record<OutboxKind, OutboxHandler>>

export type Drain = {
  /** Runs everything that is due until nothing is. */
  runOnce(): Promise<void>
  /** Claims nothing more. What is in flight has `timeout_ms` to end, the leases of the rest are released. */
  stop(timeout_ms: number): Promise<void>
}

/** Starts a worker for each kind that has a handler. Any number of processes may do so at once. */
export function startDrain(connection: Connection, handlers: OutboxHandlers, options: WorkerOptions = {}): Drain {
  const workers = createWorkers(connection, handlers, options)
  const all = [...workers.values()]
  const wakeKind = (kind: OutboxKind, lanes?: LaneName[]) => workers.get(kind)?.wake(lanes)
  const ignoreWakes = onWake(wakeKind)
  const listener = listenForWakes(wakeKind)

  const wait_ms = Math.random() * APART_MS
  const poll = repeat('* * * * * *', async () => {
    await sleep(wait_ms)
    if (poll.isStopped()) return
    await giveTurns(connection)
    await Promise.all(all.map((worker) => worker.runDue()))
  })
  const lease_keeper = keepLeases(all)

  return {
    async runOnce() {
      await giveTurns(connection)
      await Promise.all(all.map((worker) => worker.runUntilIdle()))
    },
    async stop(timeout_ms) {
      poll.stop()
      ignoreWakes()
      await Promise.all([listener.stop(), ...all.map((worker) => worker.stop(timeout_ms))])
      lease_keeper.stop()
    },
  }
}

/** Runs everything that is due, or becomes due during the run, until nothing is due. */
export async function drainOutbox(
  connection: Connection,
  handlers: OutboxHandlers,
  options?: WorkerOptions,
): Promise<void> {
  const all = [...createWorkers(connection, handlers, options ?? {}).values()]
  const lease_keeper = keepLeases(all)
  try {
    await giveTurns(connection)
    await Promise.all(all.map((worker) => worker.runUntilIdle()))
  } finally {
    lease_keeper.stop()
    await Promise.all(all.map((worker) => worker.stop(0)))
  }
}

function createWorkers(
  connection: Connection,
  handlers: OutboxHandlers,
  options: WorkerOptions,
): Map<OutboxKind, Worker> {
  const given = Object.entries(handlers) as [OutboxKind, OutboxHandler][]
  return new Map(given.map(([kind, handler]) => [kind, new Worker(connection, kind, handler, options)]))
}

/** Renews leases several times before they run out, so that attempts that take long are not repeated elsewhere. */
function keepLeases(workers: Worker[]): Cron {
  return repeat(`*/${LEASE_S / 4} * * * * *`, () => Promise.all(workers.map((worker) => worker.keepLeases())))
}

/** Runs `work` by a pattern of cron. A run that takes longer is not overtaken by the next. */
function repeat(pattern: string, work: () => Promise<unknown>): Cron {
  const warn = (error: unknown) => log.warn({ error: safeError(error) }, 'the outbox cannot be worked on just now')
  return new Cron(pattern, { protect: true, catch: warn }, async () => void (await work()))
}
