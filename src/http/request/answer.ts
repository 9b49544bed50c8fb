/** Answers that handlers return: one object in its envelope, or one too large to be held in memory at once. */
import { status } from 'elysia'
import { log, safeError } from '../../base/log'
import { stateOf } from './request'
import { hasSteps, type InSteps, jsonInSteps } from './steps'
import { streamOf } from './stream'

/** Answers `{ data }`: the envelope of a single object. */
export async function data<T>(value: Promise<T> | T): Promise<{ data: T }> {
  return { data: await value }
}

/** Answers 201 with what was made. */
export async function created<T>(value: Promise<T>) {
  return status(201, await data(value))
}

/** Answers 204 once the work is done. */
export async function done(work: Promise<unknown>) {
  await work
  return status(204, undefined)
}

/** The headers of the answer, as Elysia gives them to a handler. */
export function headersOf(set: { headers: unknown }): Record<string, string | number> {
  return set.headers as Record<string, string | number>
}

/**
 * An answer that is written while its lists are read. Nothing is read before it is sent, and nothing at all for a HEAD,
 * a 304 or a comparison of tags.
 */
export class LargeAnswer extends Response {
  /** @param version what the tag is made of; without it the answer has none */
  constructor(
    private readonly value: unknown,
    readonly version?: { data: object },
  ) {
    super(null)
  }

  /** Returns the response with its stream. The log line of the request waits for the end of the stream. */
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

/** Answers HEAD for a stream: without a length, because all of the answer would have to be read to know it. */
export function headOf(headers: Record<string, string>): Response {
  return new Response(null, { headers: { ...headers, 'transfer-encoding': 'chunked' } })
}

/** Removes the `content-length: 0` that Elysia gives to a HEAD whose answer is a stream. */
export function withoutFalseLength(response: Response): Response {
  if (response.headers.has('transfer-encoding')) response.headers.delete('content-length')
  return response
}

/**
 * Returns a `LargeAnswer` for a value with lists that are read in steps, and the value itself when it has none.
 * @param version as in `LargeAnswer`
 */
export function inSteps<T>(value: InSteps<T>, version?: { data: object }): T {
  // Elysia sends a Response from any handler, but the type of a handler with a `response` model does not allow one.
  return (hasSteps(value) ? new LargeAnswer(value, version) : value) as T
}
