/**
 * Limits requests: per minute for each person, all sessions together, and each API key, or for each address when there
 * is no valid credential.
 */
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import { config } from '../../base/config'
import { ApiError } from '../../base/errors'
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

/** Requests of one customer in a minute, whatever RATE_LIMIT_PER_MINUTE says. */
const CUSTOMER_REQUESTS = 60
const CUSTOMER_POSTS = 10

/** The setting that limits a caller. */
type Setting = 'RATE_LIMIT_PER_MINUTE' | 'SESSION_RATE_LIMIT_PER_MINUTE'

/** The key that requests are counted by, and the setting that limits it. */
export type Counted = { key: string; setting: Setting }

/** Takes a request off the count, and shows that in the headers of its answer. */
type Uncount = (headers: globalThis.Headers) => void

const limiters = new Map<Setting, Limiter>()
let customers: { requests: Limiter; posts: Limiter } | undefined

type Headers = Record<string, string | number>

/**
 * Counts a request and sets the X-RateLimit headers.
 * @param times how often it is counted
 * @returns a function that takes the request off the count; undefined when there is no limit
 * @throws RATE_LIMITED with Retry-After when the window is used up; a refused request does not lengthen the window
 */
export async function countRequest(
  { key, setting }: Counted,
  headers: Headers,
  times = 1,
): Promise<Uncount | undefined> {
  const limit = config[setting]
  if (limit === 0) return undefined
  const limiter = limiters.get(setting) ?? createLimiter('requests', limit, WINDOW_S)
  limiters.set(setting, limiter)
  return consume(limiter, key, headers, times)
}

/**
 * Counts a request of a customer, as `countRequest`; a POST twice.
 * @param key the id of the contact, or the network address of one who only has a link
 * @throws RATE_LIMITED
 */
export async function countCustomer(key: string, method: string, headers: Headers): Promise<void> {
  customers ??= {
    requests: createLimiter('requests of customers', CUSTOMER_REQUESTS, WINDOW_S),
    posts: createLimiter('posts of customers', CUSTOMER_POSTS, WINDOW_S),
  }
  if (method === 'POST') await consume(customers.posts, key, headers)
  await consume(customers.requests, key, headers)
}

async function consume(limiter: Limiter, key: string, headers: Headers, times = 1): Promise<Uncount> {
  const limit = limiter.points
  const result = await limiter.consume(key, times).catch((refused) => {
    if (refused instanceof RateLimiterRes) return refused
    throw refused
  })
  headers['x-ratelimit-limit'] = String(limit)
  headers['x-ratelimit-remaining'] = String(Math.max(0, result.remainingPoints))
  headers['x-ratelimit-reset'] = String(Math.ceil((Date.now() + result.msBeforeNext) / 1000))
  if (result.consumedPoints > limit) throw rateLimited(result.msBeforeNext, headers)
  const ends_ms = Date.now() + result.msBeforeNext
  return (answered) => {
    // The next window owes nothing for a request of this one.
    if (Date.now() >= ends_ms) return
    answered.set('x-ratelimit-remaining', String(Math.min(limit, result.remainingPoints + 1)))
    limiter.reward(key).catch(() => {})
  }
}

/** Tells whether a key has used up its requests. */
export async function isUsedUp({ key, setting }: Counted): Promise<boolean> {
  const limit = config[setting]
  const counted = limit > 0 ? await limiters.get(setting)?.get(key) : undefined
  return counted ? counted.consumedPoints >= limit : false
}

/** Returns the 429 and sets its Retry-After header, which is at least 1 second. */
export function rateLimited(wait_ms: number, headers: Headers): ApiError {
  headers['retry-after'] = String(Math.max(1, Math.ceil(wait_ms / 1000)))
  return new ApiError('RATE_LIMITED')
}
