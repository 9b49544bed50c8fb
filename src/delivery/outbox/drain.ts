/**
 * Runs a worker for each kind of the outbox. They look for work when this process or another has committed some, and
 * each second in any case.
 */
import type { Connection } from '../../base/db/transact'
import { log, safeError } from '../../base/log'
import { LEASE_S } from './claim'
import type { LaneName } from './due-lanes'
import type { OutboxHandler, OutboxKind } from './job'
import { giveTurns } from './lane-faults'
import { listenForWakes, onWake } from './wake'
import { Worker, type WorkerOptions } from './worker'

type Repeated = { stop(): void }

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

  const everySecond = every(1000, async () => {
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
      everySecond.stop()
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
function keepLeases(workers: Worker[]): Repeated {
  return every((LEASE_S / 4) * 1000, () => Promise.all(workers.map((worker) => worker.keepLeases())))
}

/**
 * Runs `work` at a distance; a run that takes longer is not overtaken by the next. A cron pattern is worked out anew
 * each time, which took 3 % of the processor time of a busy service.
 */
function every(distance_ms: number, work: () => Promise<unknown>): Repeated {
  let is_running = false
  const run = async () => {
    if (is_running) return
    is_running = true
    try {
      await work()
    } catch (error) {
      log.warn({ error: safeError(error) }, 'the outbox cannot be worked on just now')
    } finally {
      is_running = false
    }
  }
  const timer = setInterval(run, distance_ms)
  return { stop: () => clearInterval(timer) }
}
