/** Answers that handlers return: one object in its envelope, or one too large to be held in memory at once. */

import { hasSteps, type InSteps, jsonInSteps } from '../flow/steps'
import { streamOf } from '../flow/stream'
import { log, safeError } from '../log'
import { stateOf } from './request'

/** Answers `{ data }`: the envelope of a single object. */
export async function data<T>(value: Promise<T> | T): Promise<{ data: T }> {
  return { data: await value }
}

/** Nothing is read before the answer goes out: for a HEAD, a 304 or a comparison of tags it never is. */
export class LargeAnswer extends Response {
  /** @param versions what its tags are made of, that of the whole first; none where the answer has no tag */
  constructor(
    private readonly value: unknown,
    readonly versions: unknown[],
  ) {
    super(null)
  }

  /** What goes out. The request's log line waits for its end. */
  toResponse(request: Request): Response {
    const headers = { 'content-type': 'application/json' }
    if (request.method === 'HEAD') return headOf(headers)
    const ended = Promise.withResolvers<void>()
    stateOf(request).answered = ended.promise
    const stream = streamOf(this.pieces(request), { end: async () => ended.resolve() })
    return new Response(stream, { headers })
  }

  private async *pieces(request: Request): AsyncGenerator<string> {
    try {
      yield* jsonInSteps(this.value)
    } catch (error) {
      log.error({ request_id: stateOf(request).id, error: safeError(error) }, 'an answer was broken off')
      throw new Error('The answer was broken off')
    }
  }
}

/** What HEAD gets of an answer that is made while it is read: all of it would have to be read to tell its length. */
export function headOf(headers: Record<string, string>): Response {
  return new Response(null, { headers: { ...headers, 'transfer-encoding': 'chunked' } })
}

/** Elysia tells HEAD the length of whatever was made for it, which is 0 where nothing was. */
export function withoutFalseLength(response: Response): Response {
  if (response.headers.has('transfer-encoding')) response.headers.delete('content-length')
  return response
}

/**
 * What a handler returns for a value that may have lists in steps; without any it is the value itself.
 * @param versions as in `LargeAnswer`
 */
export function inSteps<T>(value: InSteps<T>, versions: unknown[] = []): T {
  // Elysia takes a response for any value; only its type for handlers does not, where the other is a promise.
  return (hasSteps(value) ? new LargeAnswer(value, versions) : value) as T
}
