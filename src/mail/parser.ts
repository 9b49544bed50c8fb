/** Parses mail in a worker thread, one message at a time, so that no message can stop the service or another message. */
import { Worker } from 'node:worker_threads'
import { type ParsedMail, UnparsableMail } from './parse'
import type { ParseAnswer, ParseRequest } from './parse-worker'

const TIMEOUT_MS = 30_000
/** Far above what a message of 25 MiB needs; a worker that wants more is ended, not the service. */
const MAX_HEAP_MB = 512

let worker: Worker | undefined
let turn: Promise<unknown> = Promise.resolve()
let lastId = 0

/**
 * Parses a message in the worker. Messages wait for their turn; the time limit counts from its start.
 * @throws UnparsableMail when the parser refuses it, runs out of time, or the worker dies
 */
export function parseInWorker(raw: Uint8Array, { timeout_ms = TIMEOUT_MS } = {}): Promise<ParsedMail> {
  const result = turn.then(() => parseNow(raw, timeout_ms))
  turn = result.catch(() => {})
  return result
}

/** Ends the worker once the message in work is done. */
export async function closeParser(): Promise<void> {
  await turn
  await endWorker()
}

function parseNow(raw: Uint8Array, timeout_ms: number): Promise<ParsedMail> {
  const id = ++lastId
  const thread = startWorker()
  return new Promise<ParsedMail>((resolve, reject) => {
    const settle = (finish: () => void) => {
      clearTimeout(timer)
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
    const timer = setTimeout(() => fail(`The message took longer than ${timeout_ms} ms to parse`), timeout_ms)
    thread.on('message', onMessage).on('error', onError).on('exit', onExit)
    // A copy, so that the caller keeps its bytes when the copy moves to the worker.
    const copy = new Uint8Array(raw)
    const request: ParseRequest = { id, raw: copy }
    thread.postMessage(request, [copy.buffer])
  })
}

function startWorker(): Worker {
  worker ??= new Worker(new URL('./parse-worker.ts', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  })
  // An idle parser does not keep the process alive.
  worker.unref()
  return worker
}

async function endWorker(): Promise<void> {
  const ended = worker
  worker = undefined
  await ended?.terminate()
}
