/** Runs a process that does one piece of work at a time, and ends it when a piece takes too much time or memory. */
import { type ChildProcess, fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { bareEnvironment, runnerOf } from './child'
import { fromRoot, type Profile } from './profile'
import type { Answer, Question } from './serve'

/** The time that a piece of work may take, and the start of a process. */
const TIMEOUT_MS = 30_000
/** A message of 25 MiB takes some 300 MB, with what Bun itself needs. */
const MAX_MEMORY_BYTES = 1e9
const WATCH_MS = 100
const PAGE_BYTES = 4096
/** The unit in which Linux counts processor time, on every machine. */
const TICK_MS = 10

export type WorkLimits = {
  timeout_ms?: number
  max_memory_bytes?: number
  /** Time of a processor, so that work is not slow because the machine is busy. */
  processor_ms?: number
  /** Called when a process gets the work. */
  onStart?(): void
}

/** Says that the process was ended because the work took too much, or that the process died. */
export class Ended extends Error {
  override readonly name = 'Ended'
}

/** Says that the program of the process has refused the work. */
export class Refused extends Error {
  override readonly name = 'Refused'
}

let lastId = 0

const running = new Set<ChildProcess>()
let onStarted: ((worker: ChildProcess) => void) | undefined

/** Profiles the processes that run, or start meanwhile; without those that end meanwhile. */
export async function profileWorkers(duration_ms: number): Promise<Profile[]> {
  const end_ms = performance.now() + duration_ms
  const asked: Promise<Profile[]>[] = []
  onStarted = (worker) => {
    const profile = { name: fromRoot(worker.spawnargs.at(-1)!), duration_ms: end_ms - performance.now() }
    const limits = { timeout_ms: duration_ms + TIMEOUT_MS }
    asked.push(
      askWorker<Profile>(worker, { profile }, limits).then(
        (found) => [found],
        () => [],
      ),
    )
  }
  for (const worker of running) onStarted(worker)
  await sleep(duration_ms)
  onStarted = undefined
  return (await Promise.all(asked)).flat()
}

/** Has a process do a piece of work, or profile itself beside it. @throws Ended, Refused */
export function askWorker<Result>(
  worker: ChildProcess,
  question: Question<object>,
  {
    timeout_ms = TIMEOUT_MS,
    max_memory_bytes = MAX_MEMORY_BYTES,
    processor_ms = Number.POSITIVE_INFINITY,
    onStart,
  }: WorkLimits = {},
): Promise<Result> {
  const id = ++lastId
  // Read when the watch begins: most work is done by then, and reading /proc costs a fifth of parsing a mail of 5 kB.
  let most_processor_ms: number | undefined
  return new Promise<Result>((resolve, reject) => {
    const settle = (finish: () => void) => {
      clearTimeout(timer)
      clearInterval(watch)
      worker.off('message', onMessage).off('error', onError).off('exit', onExit)
      finish()
    }
    const fail = (message: string, cause?: unknown) =>
      settle(() => end(worker).finally(() => reject(new Ended(message, { cause }))))
    const onMessage = (message: unknown) => {
      const answer = message as Answer<Result>
      if (answer.id !== id) return
      if ('result' in answer) settle(() => resolve(answer.result))
      else settle(() => reject(new Refused(answer.error)))
    }
    const onError = (error: Error) => fail('The process failed', error)
    const onExit = () => fail('The process ended')
    const timer = setTimeout(() => fail(`It took longer than ${timeout_ms} ms`), timeout_ms)
    const watch = setInterval(() => {
      const used_ms = processorTimeOf(worker)
      most_processor_ms ??= used_ms + processor_ms
      if (memoryOf(worker) > max_memory_bytes) fail('It took too much memory')
      else if (used_ms > most_processor_ms) fail(`It took longer than ${processor_ms} ms`)
    }, WATCH_MS)
    worker.on('message', onMessage).on('error', onError).on('exit', onExit)
    onStart?.()
    worker.send({ id, ...question })
  })
}

/**
 * Starts a process. Resolves once it has said that it is ready, so that only work can be the reason of a later end.
 * @param priority for the system, as in `setPriority`
 */
export async function startWorker(script: URL, priority: number): Promise<ChildProcess> {
  const file = fileURLToPath(script)
  const worker = fork(file, {
    ...runnerOf(file),
    env: bareEnvironment('BUN_JSC_forceRAMSize'),
    serialization: 'advanced',
    execArgv: ['--no-orphans'],
  })
  // An idle process does not keep this one alive, and ends with it.
  worker.unref()
  const { promise: ready, resolve, reject } = Promise.withResolvers<void>()
  worker.once('message', () => resolve())
  worker.once('error', reject)
  worker.once('exit', () => reject(new Error('The process ended before it was ready')))
  const timer = setTimeout(() => reject(new Error('The process does not get ready')), TIMEOUT_MS)
  try {
    await ready
    if (worker.pid && priority !== 0) setPriority(worker.pid, priority)
    running.add(worker)
    worker.once('exit', () => running.delete(worker))
    onStarted?.(worker)
    return worker
  } catch (error) {
    worker.kill('SIGKILL')
    throw error
  } finally {
    clearTimeout(timer)
  }
}

export function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

/** Kills the process and waits for its end. Never rejects, because others wait for it. */
export async function end(worker: ChildProcess): Promise<void> {
  if (hasEnded(worker)) return
  await new Promise<void>((resolve) => {
    worker.once('exit', () => resolve())
    worker.kill('SIGKILL')
  })
}

/** The bytes that the process holds; 0 where the system does not say. */
export function memoryOf(worker: ChildProcess): number {
  return Number(statusFile(worker, 'statm').split(' ')[1] ?? 0) * PAGE_BYTES
}

/** The processor time that the process has used; the time of the clock where the system does not say. */
function processorTimeOf(worker: ChildProcess): number {
  // The fields follow the name, which may hold anything: the state is the first, user and system time the 12th and
  // 13th.
  const [, , , , , , , , , , , user, system] = statusFile(worker, 'stat').split(') ').at(-1)?.split(' ') ?? []
  return user && system ? (Number(user) + Number(system)) * TICK_MS : performance.now()
}

function statusFile({ pid }: ChildProcess, what: 'stat' | 'statm'): string {
  try {
    return readFileSync(`/proc/${pid}/${what}`, 'latin1')
  } catch {
    return ''
  }
}
