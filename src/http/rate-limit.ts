/** Limits requests: per minute for each person and each API key, or for each address when there is no valid credential. */
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import { config } from '../config'
import { ApiError } from '../errors'
import { redis } from './redis-client'

const WINDOW_S = 60

type Limiter = RateLimiterMemory | RateLimiterRedis

/**
 * Creates a counter with a fixed window. With REDIS_URL all replicas share it; while Redis is away each counts alone.
 * @param points how many times a key may be counted in `duration_s`
 */
export function createLimiter(name: string, points: number, duration_s: number): Limiter {
  const memory = new RateLimiterMemory({ keyPrefix: name, points, duration: duration_s })
  const client = redis()
  if (!client) return memory
  return new RateLimiterRedis({
    storeClient: client,
    keyPrefix: name,
    points,
    duration: duration_s,
    insuranceLimiter: memory,
  })
}

type Headers = Record<string, string | number>

/** Whom requests are counted for: sessions of a person together, an API key, or an address without a valid credential. */
export type Counted = { kind: 'user' | 'api_key' | 'address'; id: string }

type Limit = { points: number; limiter: Limiter }

/** By how many points they have. */
const limiters = new Map<number, Limiter>()

/** @returns undefined when there is no limit */
function limitOf({ kind }: Counted): Limit | undefined {
  const { SESSION_RATE_LIMIT_PER_MINUTE: of_people, RATE_LIMIT_PER_MINUTE: of_others } = config
  const points = kind === 'user' ? (of_people ?? of_others) : of_others
  if (points === 0) return undefined
  const limiter = limiters.get(points) ?? createLimiter('requests', points, WINDOW_S)
  limiters.set(points, limiter)
  return { points, limiter }
}

/**
 * Counts a request and sets the X-RateLimit headers.
 * @throws RATE_LIMITED with Retry-After when the window is used up; a refused request does not lengthen the window
 */
export async function countRequest(counted: Counted, headers: Headers): Promise<void> {
  const limit = limitOf(counted)
  if (!limit) return
  const { points, limiter } = limit
  const result = await limiter.consume(keyOf(counted)).catch((refused) => {
    if (refused instanceof RateLimiterRes) return refused
    throw refused
  })
  headers['x-ratelimit-limit'] = String(points)
  headers['x-ratelimit-remaining'] = String(Math.max(0, result.remainingPoints))
  headers['x-ratelimit-reset'] = String(Math.ceil((Date.now() + result.msBeforeNext) / 1000))
  if (result.consumedPoints > points) throw rateLimited(result.msBeforeNext, headers)
}

/** Takes back the count of a request that told its caller nothing new (304), also in its headers. */
export async function uncountRequest(counted: Counted, headers: globalThis.Headers): Promise<void> {
  const limit = limitOf(counted)
  if (!limit) return
  const { remainingPoints } = await limit.limiter.reward(keyOf(counted))
  headers.set('x-ratelimit-remaining', String(Math.min(limit.points, Math.max(0, remainingPoints))))
}

/** Tells whether so many requests were made that the next one is refused. */
export async function isUsedUp(counted: Counted): Promise<boolean> {
  const limit = limitOf(counted)
  const result = await limit?.limiter.get(keyOf(counted))
  return limit && result ? result.consumedPoints >= limit.points : false
}

function keyOf({ kind, id }: Counted): string {
  return `${kind} ${id}`
}

/** Returns the 429 and sets its Retry-After header, which is at least 1 second. */
export function rateLimited(wait_ms: number, headers: Headers): ApiError {
  headers['retry-after'] = String(Math.max(1, Math.ceil(wait_ms / 1000)))
  return new ApiError('RATE_LIMITED')
}
