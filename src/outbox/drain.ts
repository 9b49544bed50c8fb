/**
 * Works off the outbox. Rows are leased, worked on outside any transaction and settled with what the handler writes.
 * Work is found at once when this process or another says so, and within a second in any case.
 */
import { Cron } from 'croner'
import type { Connection } from '../db/transact'
import { log, safeError } from '../log'
import { LEASE_S } from './claim'
import type { Handler } from './job'
import { listenForWakes, type OutboxKind, onWake } from './wake'
import { createWorker, type Worker, type WorkerOptions } from './worker'

export type Handlers = Partial<Record<OutboxKind, Handler>>

export type Drain = {
  /** Runs everything that is due until nothing is. */
  runOnce(): Promise<void>
  /** No new claims; what is in flight has `timeout_ms` to end, the leases of the rest are released. */
  stop(timeout_ms: number): Promise<void>
}

/** Starts working off the kinds that have a handler. Any number of processes may do so at once. */
export function startDrain(connection: Connection, handlers: Handlers, options: WorkerOptions = {}): Drain {
  const workers = createWorkers(connection, handlers, options)
  const all = [...workers.values()]
  const wakeKind = (kind: OutboxKind) => workers.get(kind)?.wake()
  const ignoreWakes = onWake(wakeKind)
  const listener = listenForWakes(wakeKind)

  const everySecond = every('* * * * * *', () => Promise.all(all.map((worker) => worker.runDue())))
  const often = keepLeases(all)

  return {
    async runOnce() {
      await Promise.all(all.map((worker) => worker.runUntilIdle()))
    },
    async stop(timeout_ms) {
      everySecond.stop()
      ignoreWakes()
      await Promise.all([listener.stop(), ...all.map((worker) => worker.stop(timeout_ms))])
      often.stop()
    },
  }
}

/** Runs everything that is due, what comes due meanwhile included, until nothing is. */
export async function drainOutbox(connection: Connection, handlers: Handlers, options?: WorkerOptions): Promise<void> {
  const all = [...createWorkers(connection, handlers, options ?? {}).values()]
  const often = keepLeases(all)
  try {
    await Promise.all(all.map((worker) => worker.runUntilIdle()))
  } finally {
    often.stop()
    await Promise.all(all.map((worker) => worker.stop(0)))
  }
}

function createWorkers(connection: Connection, handlers: Handlers, options: WorkerOptions): Map<OutboxKind, Worker> {
  const given = Object.entries(handlers) as [OutboxKind, Handler][]
  return new Map(given.map(([kind, handler]) => [kind, createWorker(connection, kind, handler, options)]))
}

/** Attempts that take long must not lose their leases to another process. */
function keepLeases(workers: Worker[]): Cron {
  return every(`*/${LEASE_S / 4} * * * * *`, () => Promise.all(workers.map((worker) => worker.keepLeases())))
}

/** A run that takes longer than the pattern's step is not overtaken by the next. */
function every(pattern: string, work: () => Promise<unknown>): Cron {
  const onError = (error: unknown) => log.warn({ error: safeError(error) }, 'the outbox cannot be worked off just now')
  return new Cron(pattern, { protect: true, catch: onError }, async () => {
    await work()
  })
}
