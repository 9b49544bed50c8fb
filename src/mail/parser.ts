/** Parses mail in a worker thread, one message at a time, so that no message can stop the service or another message. */
import { Worker } from 'node:worker_threads'
import { type ParsedMail, UnparsableMail } from './parse'
import type { ParseAnswer, ParseRequest } from './parse-worker'

const TIMEOUT_MS = 30_000
/** Far above the some 100 MB that a message of 25 MiB takes. Bun does not limit the heap of a worker, so it is watched. */
const MAX_GROWTH_BYTES = 1e9
const WATCH_MS = 100

let worker: Worker | undefined
let turn: Promise<unknown> = Promise.resolve()
let lastId = 0

export type ParserLimits = {
  timeout_ms?: number
  /** By how much the process may grow meanwhile. */
  max_growth_bytes?: number
}

/**
 * Parses a message in the worker. Messages wait for their turn; the time limit counts from its start.
 * @throws UnparsableMail when the parser refuses it, runs out of time or memory, or the worker dies
 */
export function parseInWorker(raw: Uint8Array, limits: ParserLimits = {}): Promise<ParsedMail> {
  const result = turn.then(() => parseNow(raw, limits))
  turn = result.catch(() => {})
  return result
}

/** Ends the worker once the message in work is done. */
export async function closeParser(): Promise<void> {
  await turn
  await endWorker()
}

function parseNow(
  raw: Uint8Array,
  { timeout_ms = TIMEOUT_MS, max_growth_bytes = MAX_GROWTH_BYTES }: ParserLimits,
): Promise<ParsedMail> {
  const id = ++lastId
  const thread = startWorker()
  return new Promise<ParsedMail>((resolve, reject) => {
    const settle = (finish: () => void) => {
      clearTimeout(timer)
      clearInterval(watch)
      thread.off('message', onMessage).off('error', onError).off('exit', onExit)
      finish()
    }
    const fail = (message: string, cause?: unknown) =>
      settle(() => endWorker().finally(() => reject(new UnparsableMail(message, { cause }))))
    const onMessage = (answer: ParseAnswer) => {
      if (answer.id !== id) return
      if ('mail' in answer) settle(() => resolve(answer.mail))
      else settle(() => reject(new UnparsableMail(answer.error)))
    }
    const onError = (error: Error) => fail('The parser failed', error)
    const onExit = () => fail('The parser ended')
    const before = process.memoryUsage.rss()
    const watch = setInterval(() => {
      if (process.memoryUsage.rss() - before > max_growth_bytes) fail('The message took too much memory to parse')
    }, WATCH_MS)
    const timer = setTimeout(() => fail(`The message took longer than ${timeout_ms} ms to parse`), timeout_ms)
    thread.on('message', onMessage).on('error', onError).on('exit', onExit)
    // A copy, so that the caller keeps its bytes when the copy moves to the worker.
    const copy = new Uint8Array(raw)
    const request: ParseRequest = { id, raw: copy }
    thread.postMessage(request, [copy.buffer])
  })
}

function startWorker(): Worker {
  worker ??= new Worker(new URL('./parse-worker.ts', import.meta.url))
  // An idle parser does not keep the process alive.
  worker.unref()
  return worker
}

async function endWorker(): Promise<void> {
  const ended = worker
  worker = undefined
  await ended?.terminate()
}
