/** Work in processes of the service, one piece at a time in each, in which groups take turns. */
import type { ChildProcess } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { turns } from '../flow/turns'
import { askWorker, end, hasEnded, memoryOf, startWorker, type WorkLimits } from './lane-worker'

/** A process that holds more after its work is replaced; a new one takes 20 ms to start. */
const MAX_IDLE_BYTES = 200e6
/** The memory of a process is looked at after each piece of work larger than this, and after so many others. */
const LARGE_BYTES = 100_000
const SMALL_ONES = 100
/** Bytes of work after which its process is replaced: both ends keep their buffers of it until the next one. */
const ONCE_BYTES = 5e6

/** Names the group that a piece of work is for, and its size in bytes. */
type RunOptions = WorkLimits & { group?: string; size: number }

/** After this time without work a lane ends its processes, which keep 30 MB each. The next mail takes 0.3 s longer. */
const REST_MS = 120_000

/** With less memory a lane has one process: each takes 30 MB and a multiple of the mail that it reads. */
const ROOMY_BYTES = 512 * 2 ** 20

/** How many processes a lane may have on this machine, or within the limit of its container. */
export function mostProcesses(memory_bytes = process.constrainedMemory(), processors = availableParallelism()): number {
  return memory_bytes > 0 && memory_bytes < ROOMY_BYTES ? 1 : processors
}

/** The processes of a lane, at most, and their priority for the system, as in `setPriority`. */
type LaneOptions = { processes?: number; priority?: number; rest_ms?: number }

/**
 * Makes a lane: processes, which start when they are needed, and the work that waits for one.
 * @param script the program of the processes, which calls `serve`
 */
export function createLane(script: URL, { processes = 1, priority = 0, rest_ms = REST_MS }: LaneOptions = {}) {
  const inTurn = turns(processes)
  const workers = new Set<ChildProcess>()
  const idle = idleWorkers(rest_ms)
  let is_closing = false

  const start = async () => {
    const worker = await startWorker(script, priority)
    workers.add(worker)
    worker.once('exit', () => workers.delete(worker))
    if (is_closing) await end(worker)
    return worker
  }
  let done = 0
  const putBack = async (worker: ChildProcess, size: number) => {
    if (hasEnded(worker)) return
    const is_looked_at = size > LARGE_BYTES || ++done % SMALL_ONES === 0
    if (is_closing || (is_looked_at && (size > ONCE_BYTES || memoryOf(worker) > MAX_IDLE_BYTES))) await end(worker)
    else idle.put(worker)
  }
  /** Work that runs or waits. */
  const all = new Set<Promise<unknown>>()
  /** Ends the processes after the work that waits. */
  const rest = async () => {
    await Promise.allSettled(all)
    await idle.endAll()
  }
  return {
    rest,
    /** @throws Ended, Refused; another error when no process could be started, or the lane is closed */
    run<Result>(work: object, { group, size, ...limits }: RunOptions): Promise<Result> {
      const running = inTurn(async () => {
        let worker: ChildProcess | undefined
        try {
          worker = idle.take() ?? (await start())
          return await askWorker<Result>(worker, { work }, limits)
        } catch (error) {
          throw is_closing ? new Error('The lane is closed', { cause: error }) : error
        } finally {
          if (worker) await putBack(worker, size)
        }
      }, group)
      all.add(running)
      return running.finally(() => all.delete(running))
    },
    /** Work that goes on or waits fails. */
    async close(): Promise<void> {
      is_closing = true
      await Promise.all([...workers].map(end))
      await rest()
      is_closing = false
    },
  }
}

/** Processes that do nothing just now. They end when none was put here for a while. */
function idleWorkers(rest_ms: number) {
  const idle: ChildProcess[] = []
  let resting: Timer | undefined
  const endAll = () => Promise.all(idle.splice(0).map(end))
  return {
    endAll,
    take(): ChildProcess | undefined {
      const worker = idle.pop()
      return worker && hasEnded(worker) ? this.take() : worker
    },
    put(worker: ChildProcess): void {
      idle.push(worker)
      clearTimeout(resting)
      resting = setTimeout(endAll, rest_ms)
      resting.unref()
    },
  }
}
