/**
 * Gives a POST that is sent again with its Idempotency-Key the first answer, for 24 hours. A key belongs to a user or
 * an API key, an organization and a path; another body under the same key is refused. Only 2xx answers are kept.
 */
import Elysia from 'elysia'
import { newId } from '../../base/db/columns'
import { ApiError, fieldError } from '../../base/errors'
import { type Declarations, declarationOf } from '../request/declarations'
import { stateOf } from '../request/request'
import { requirePath } from '../request/resources'
import { findKept, type Kept, keyDigest, takeClaim } from './idempotency-keys'
import { type Content, contentOf } from './request-digest'
import type { Call, Handlers } from './route-handlers'
import { type Run, runFirst } from './run-first'

const KEY = /^[\x20-\x7e]{1,255}$/

/** The time that a request waits for the first one: less than the 120 seconds after which the server closes it. */
const WAIT_MS = 100_000
const FIRST_PAUSE_MS = 20
const LONGEST_PAUSE_MS = 500

/** Returns the plugin that runs the handler of a POST with a key, or answers for it. */
export function idempotency(handlers: Handlers, declarations: Declarations) {
  return new Elysia({ name: 'idempotency' }).onBeforeHandle(
    { as: 'global' },
    // Each field is named: Elysia prepares for every request whatever a global hook seems to use.
    async ({ request, route, params, query, body, set, status }) => {
      const { scope } = stateOf(request)
      if (request.method !== 'POST' || !scope || !request.headers.has('idempotency-key')) return
      const handler = handlers.find('POST', route)
      const declared = declarationOf(declarations, 'POST', route)
      if (!handler || declared.idempotency === 'never' || scope.actor.id === null) return
      const call = { request, route, params: params ?? {}, query, body, set, status, scope } as Call
      const is_removed_by_first = declared.removes_path && KEY.test(request.headers.get('idempotency-key')!)
      if (!is_removed_by_first) await requirePath(scope, call.params)
      const key = requireKey(request)
      const { pathname } = new URL(request.url)
      const claim = { caller_id: scope.actor.id, key_digest: keyDigest(pathname, key), token: newId() }
      return answerOnce(call, { claim, handler, declared, content: contentOf(call, declared.body) })
    },
  )
}

/** Returns the key of a POST. @throws VALIDATION_ERROR at /headers/idempotency-key */
export function requireKey(request: Request): string {
  const key = request.headers.get('idempotency-key') ?? ''
  if (KEY.test(key)) return key
  throw fieldError('VALIDATION_ERROR', '/headers/idempotency-key', 'must be 1 to 255 printable ASCII characters')
}

/** Runs the request, or waits for the one that runs. Waiting requests ask now and then, and hold no connection. */
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
