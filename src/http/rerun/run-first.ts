/** Runs a handler under an idempotency key that its request has taken, and keeps its answer as the route declares. */
import { ElysiaCustomStatusResponse } from 'elysia'
import type { Connection } from '../../base/db/transact'
import { log, safeError } from '../../base/log'
import { inTransaction, type Scope } from '../../base/scope'
import type { Declaration } from '../request/declarations'
import { type Answer, type Claim, commitAnswer, forget, keepAnswer, releaseClaim, renewLease } from './idempotency-keys'
import type { Content } from './request-digest'
import type { Call, Handler } from './route-handlers'

/** The work of the first request with a key, and the digest that later ones are compared by. */
export type Run = { claim: Claim; handler: Handler; declared: Declaration; content: Content }

/** The lease of a key ends after 10 seconds: it can be renewed twice before that. */
const RENEW_MS = 3000

/** Returns what the handler returns. @throws what it throws; then the next request with the key may run */
export async function runFirst(call: Call, run: Run): Promise<unknown> {
  const { scope } = call
  const { claim, content } = run
  const warn = (error: unknown) => log.warn({ error: safeError(error) }, 'an idempotency key could not be kept')
  const renewal = setInterval(() => renewLease(scope, claim).catch(warn), RENEW_MS)
  try {
    const value = await runHandler({ ...call, request: content.forHandler() }, run)
    // The change is committed: this is its answer, even if the key cannot be kept now.
    if (!endsWithChange(run, value)) await keep(scope, claim, content, value).catch(warn)
    return value
  } catch (error) {
    await releaseClaim(scope, claim).catch(warn)
    throw error
  } finally {
    clearInterval(renewal)
  }
}

function runHandler(call: Call, run: Run): unknown {
  const { claim, handler, declared } = run
  if (declared.idempotency === 'by its command') return runCommand(call, run)
  const is_afterwards = declared.idempotency === 'afterwards'
  const scope: Scope = {
    ...call.scope,
    before_commit: (connection, value) => {
      const answer = is_afterwards ? undefined : toAnswer(value)
      const inner = { ...call.scope, ...connection }
      return commitAnswer(inner, claim, answer, endsWithChange(run, value) ? 'ends' : 'goes on')
    },
  }
  if (is_afterwards) return handler({ ...call, scope })
  return inTransaction(scope, async (inner) => handler({ ...call, scope: inner }))
}

/** True when all that is kept of a run is known before the commit of its change: then nothing is left to write. */
function endsWithChange({ declared, content }: Run, value: unknown): boolean {
  return declared.idempotency === 'with the change' && content.digest !== null && toAnswer(value) !== undefined
}

/**
 * Runs a handler whose command makes the transaction. The answer is kept in that transaction, before the handler
 * returns it. A handler with two transactions, with none, or with one whose result is not the object of its answer
 * would leave a wrong answer or none behind, and only a crash would show it. Such a handler fails here at its first
 * request with a key: it is answered 500, the log says why, and nothing is kept.
 */
async function runCommand(call: Call, { claim, handler, declared }: Run): Promise<unknown> {
  const results: unknown[] = []
  const before_commit = async (connection: Connection, result: unknown) => {
    results.push(result)
    if (results.length > 1) throw new Error('a second transaction, after the answer was kept in the first')
    const answer = { status: declared.success, text: JSON.stringify({ data: result }) }
    await commitAnswer({ ...call.scope, ...connection }, claim, answer, 'goes on')
  }
  let cause: unknown
  try {
    const value = await handler({ ...call, scope: { ...call.scope, before_commit } })
    if (results.length === 1 && isAbout(value, declared.success, results[0])) return value
  } catch (error) {
    if (results.length < 2) throw error
    cause = error
  }
  await forget(call.scope, claim)
  const found =
    results.length === 1 ? 'its transaction has another result than its answer' : `${results.length} transactions`
  throw new Error(`POST ${call.route} must keep its answer in one transaction: ${found}`, { cause })
}

/**
 * True for an answer about the object that the transaction returned. Its fields may differ: an email may be sent by
 * then. An object of several things has no id.
 */
function isAbout(value: unknown, success: number, result: unknown): boolean {
  const { code, response } = value instanceof ElysiaCustomStatusResponse ? value : { code: 200, response: value }
  const answered = (response as { data?: Record<string, unknown> } | undefined)?.data
  if (code !== success || !answered || typeof result !== 'object' || result === null) return false
  const { id } = result as { id?: unknown }
  return answered.id === id && (id !== undefined || Object.keys(answered).join() === Object.keys(result).join())
}

async function keep(scope: Scope, claim: Claim, content: Content, value: unknown): Promise<void> {
  const answer = toAnswer(value)
  if (answer) await keepAnswer(scope, claim, answer, await content.finish(scope, value))
  else await releaseClaim(scope, claim)
}

/** Returns what a handler's value looks like when it is sent; undefined when it is not a 2xx. */
function toAnswer(value: unknown): Answer | undefined {
  const { code: status, response } =
    value instanceof ElysiaCustomStatusResponse ? value : { code: 200, response: value }
  const is_success = typeof status === 'number' && status >= 200 && status < 300
  return is_success ? { status, text: JSON.stringify(response) } : undefined
}
