/** Idempotency-Key: a POST that is sent again gets the first answer. */
import Elysia, { ElysiaCustomStatusResponse } from 'elysia'
import { newId } from '../../db/columns'
import type { Connection } from '../../db/transact'
import { ApiError, fieldError } from '../../errors'
import { log, safeError } from '../../log'
import { inTransaction, type Scope } from '../../scope'
import { type Declaration, type Declarations, declarationOf } from '../declarations'
import { stateOf } from '../request'
import { requirePath } from '../resources'
import {
  type Answer,
  type Claim,
  commitAnswer,
  findKept,
  type Kept,
  keepAnswer,
  keyDigest,
  releaseClaim,
  renewLease,
  takeClaim,
} from './idempotency-keys'
import { type Content, contentOf } from './request-digest'
import type { Call, Handler, Handlers } from './route-handlers'

const KEY = /^[\x20-\x7e]{1,255}$/

/** How long a request waits for the first one: less than the listener's idle time-out. */
const WAIT_MS = 100_000
const FIRST_PAUSE_MS = 20
const LONGEST_PAUSE_MS = 500
const RENEW_MS = 3000

/**
 * Runs a POST with a key once. Its answer is kept in the transaction of its change, so that not even a crash between the
 * two makes it run twice; a route that declares `afterwards` has its answer kept when its handler has returned.
 */
export function idempotency(handlers: Handlers, declarations: Declarations) {
  return new Elysia({ name: 'idempotency' }).onBeforeHandle(
    { as: 'global' },
    // Each field is named: Elysia prepares for every request what a hook of all routes seems to use.
    async ({ request, route, params, query, body, set, status }) => {
      const { scope } = stateOf(request)
      if (request.method !== 'POST' || !scope || !request.headers.has('idempotency-key')) return
      const handler = handlers.find('POST', route)
      const declared = declarationOf(declarations, 'POST', route)
      if (!handler || declared.idempotency === 'never' || scope.actor.type !== 'user') return
      const call = { request, route, params: params ?? {}, query, body, set, status, scope } as Call
      await requirePath(scope, call.params)
      const key = requireKey(request)
      const { pathname } = new URL(request.url)
      const claim = { user_id: scope.actor.id, key_digest: keyDigest(pathname, key), token: newId() }
      return answerOnce(call, { claim, handler, declared, content: contentOf(call, declared.body) })
    },
  )
}

/** The key of a POST. @throws VALIDATION_ERROR at /headers/idempotency-key */
export function requireKey(request: Request): string {
  const key = request.headers.get('idempotency-key') ?? ''
  if (KEY.test(key)) return key
  throw fieldError('VALIDATION_ERROR', '/headers/idempotency-key', 'must be 1 to 255 printable ASCII characters')
}

/** What a key's first request runs, and what a repeated one is compared by. */
type Run = { claim: Claim; handler: Handler; declared: Declaration; content: Content }

/** Many may wait: they ask now and then, and none holds a connection meanwhile. */
async function answerOnce(call: Call, run: Run): Promise<unknown> {
  const { scope, request } = call
  const { claim, content } = run
  const deadline_ms = Date.now() + WAIT_MS
  for (let pause_ms = FIRST_PAUSE_MS; ; pause_ms = Math.min(pause_ms * 1.5, LONGEST_PAUSE_MS)) {
    const kept = await findKept(scope, claim)
    if (!kept || kept.is_free) {
      if (await takeClaim(scope, claim, content.digest)) return runFirst(call, run)
    } else {
      requireSame(kept.request_digest, content.digest)
      if (!kept.is_running) return replay(call, kept, content)
    }
    if (request.signal.aborted || Date.now() > deadline_ms) throw new ApiError('SERVICE_UNAVAILABLE')
    await new Promise((resolve) => setTimeout(resolve, pause_ms))
  }
}

async function replay(call: Call, kept: Kept, content: Content): Promise<unknown> {
  if (!content.digest) requireSame(kept.request_digest, await content.read())
  call.set.headers['idempotent-replayed'] = 'true'
  return call.status(kept.status!, JSON.parse(kept.answer!))
}

function requireSame(first: Uint8Array | null, now: Uint8Array | null): void {
  if (first && now && !Buffer.from(first).equals(now)) throw new ApiError('IDEMPOTENCY_KEY_REUSED')
}

async function runFirst(call: Call, run: Run): Promise<unknown> {
  const { scope } = call
  const { claim, content } = run
  const warn = (error: unknown) => log.warn({ error: safeError(error) }, 'an idempotency key could not be kept')
  const renewal = setInterval(() => renewLease(scope, claim).catch(warn), RENEW_MS)
  try {
    const value = await runHandler({ ...call, request: content.forHandler() }, run)
    // The change is made: whatever happens to the key now, this is its answer.
    await keep(scope, claim, content, value).catch(warn)
    return value
  } catch (error) {
    await releaseClaim(scope, claim).catch(warn)
    throw error
  } finally {
    clearInterval(renewal)
  }
}

function runHandler(call: Call, { claim, handler, declared }: Run): unknown {
  const { scope } = call
  const commit = (toAnswer: (result: unknown) => Answer | undefined) => ({
    ...scope,
    before_commit: (connection: Connection, result: unknown) =>
      commitAnswer({ ...scope, ...connection }, claim, toAnswer(result)),
  })
  if (declared.idempotency === 'afterwards') return handler({ ...call, scope: commit(() => undefined) })
  if (declared.idempotency === 'by its command') {
    return handler({ ...call, scope: commit((data) => ({ status: 201, text: JSON.stringify({ data }) })) })
  }
  return inTransaction(commit(toAnswer), async (scope) => handler({ ...call, scope }))
}

async function keep(scope: Scope, claim: Claim, content: Content, value: unknown): Promise<void> {
  const answer = toAnswer(value)
  if (answer) await keepAnswer(scope, claim, answer, await content.finish(scope, value))
  else await releaseClaim(scope, claim)
}

/** What a handler returned, as it goes out; undefined when that is no success. */
function toAnswer(value: unknown): Answer | undefined {
  const { code: status, response } =
    value instanceof ElysiaCustomStatusResponse ? value : { code: 200, response: value }
  const is_success = typeof status === 'number' && status >= 200 && status < 300
  return is_success ? { status, text: JSON.stringify(response) } : undefined
}
