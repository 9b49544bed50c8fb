/**
 * Parses mail in a process of its own, one message at a time, so that no message can stop the service or another
 * message. Not in a thread: Bun cannot end one that is within a regular expression, nor limit its memory.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type ParsedMail, UnparsableMail } from './parse'
import type { ParseAnswer, ParseRequest } from './parse-worker'

/** For a message, and for the start of the process. */
const TIMEOUT_MS = 30_000
/** Far above the some 300 MB that a message of 25 MiB takes, with what Bun itself does. */
const MAX_MEMORY_BYTES = 1e9
const WATCH_MS = 100
/** A process that keeps more after a message is replaced: a new one takes 20 ms to start. */
const MAX_IDLE_BYTES = 200e6
const PAGE_BYTES = 4096

export type ParserLimits = { timeout_ms?: number; max_memory_bytes?: number }

export type Parser = {
  /**
   * Parses a message. Messages wait for their turn; the time limit counts from its start.
   * @throws UnparsableMail when the parser refuses it, runs out of time or memory, or dies; another error when none
   *   could be started, which says nothing about the message
   */
  parse(raw: Uint8Array, limits?: ParserLimits): Promise<ParsedMail>
  /** Ends the process once the message in work is done. */
  close(): Promise<void>
}

/** @param script what runs in the process; it starts with the first message, and again after its end */
export function createParser(script = new URL('./parse-worker.ts', import.meta.url)): Parser {
  let worker: ChildProcess | undefined
  let turn: Promise<unknown> = Promise.resolve()
  const running = async () => {
    if (!worker || hasEnded(worker)) worker = await startWorker(script)
    return worker
  }
  return {
    parse(raw, limits = {}) {
      const result = turn.then(async () => parseIn(await running(), raw, limits))
      turn = result
        .catch(() => {})
        .then(async () => {
          if (worker && memoryOf(worker) > MAX_IDLE_BYTES) await end(worker)
        })
      return result
    },
    async close() {
      await turn
      if (worker) await end(worker)
      worker = undefined
    },
  }
}

const parser = createParser()

/** Parses with the parser of this process. */
export function parseInWorker(raw: Uint8Array, limits?: ParserLimits): Promise<ParsedMail> {
  return parser.parse(raw, limits)
}

export function closeParser(): Promise<void> {
  return parser.close()
}

let lastId = 0

function parseIn(
  worker: ChildProcess,
  raw: Uint8Array,
  { timeout_ms = TIMEOUT_MS, max_memory_bytes = MAX_MEMORY_BYTES }: ParserLimits,
): Promise<ParsedMail> {
  const request: ParseRequest = { id: ++lastId, raw }
  return new Promise<ParsedMail>((resolve, reject) => {
    const settle = (finish: () => void) => {
      clearTimeout(timer)
      clearInterval(watch)
      worker.off('message', onMessage).off('error', onError).off('exit', onExit)
      finish()
    }
    const fail = (message: string, cause?: unknown) =>
      settle(() => end(worker).finally(() => reject(new UnparsableMail(message, { cause }))))
    const onMessage = (message: unknown) => {
      const answer = message as ParseAnswer
      if (answer.id !== request.id) return
      if ('mail' in answer) settle(() => resolve(answer.mail))
      else settle(() => reject(new UnparsableMail(answer.error)))
    }
    const onError = (error: Error) => fail('The parser failed', error)
    const onExit = () => fail('The parser ended')
    const timer = setTimeout(() => fail(`The message took longer than ${timeout_ms} ms to parse`), timeout_ms)
    const watch = setInterval(() => {
      if (memoryOf(worker) > max_memory_bytes) fail('The message took too much memory to parse')
    }, WATCH_MS)
    worker.on('message', onMessage).on('error', onError).on('exit', onExit)
    worker.send(request)
  })
}

/** Resolves once the process has said that it is ready, so that whatever ends it later is the message's doing. */
async function startWorker(script: URL): Promise<ChildProcess> {
  const worker = fork(fileURLToPath(script), { serialization: 'advanced', execArgv: [] })
  // An idle parser does not keep this process alive, and ends with it.
  worker.unref()
  const { promise: ready, resolve, reject } = Promise.withResolvers<void>()
  worker.once('message', () => resolve())
  worker.once('error', reject)
  worker.once('exit', () => reject(new Error('The parser ended before it was ready')))
  const timer = setTimeout(() => reject(new Error('The parser does not get ready')), TIMEOUT_MS)
  try {
    await ready
    return worker
  } catch (error) {
    worker.kill('SIGKILL')
    throw error
  } finally {
    clearTimeout(timer)
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

async function end(worker: ChildProcess): Promise<void> {
  if (hasEnded(worker)) return
  const ended = once(worker, 'exit')
  worker.kill('SIGKILL')
  await ended
}

/** What the process holds; 0 where the system does not tell. */
function memoryOf({ pid }: ChildProcess): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * PAGE_BYTES
  } catch {
    return 0
  }
}
