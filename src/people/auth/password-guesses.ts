/**
 * Limits how often passwords, and codes of second factors, are guessed. A guess is counted before it is tried: the hash
 * of a password takes tens of milliseconds, in which many guesses would pass a count that is made afterwards. A right
 * one gives its count back.
 */
import { RateLimiterRes } from 'rate-limiter-flexible'
import { addressKey } from '../../base/address/email'
import { onDatabaseClosed } from '../../base/db/closing'
import { subscriberOf } from '../../base/net/client-address'
import { createLimiter, rateLimited } from '../../http/admission/rate-limit'

type Limiter = ReturnType<typeof createLimiter>
type Limit = { name: string; points: number; duration_s: number }

const MINUTE_S = 60
const DAY_S = 24 * 60 * MINUTE_S

const LIMITS = {
  /** For one email and one address. */
  pair: { name: 'sign-in-failures', points: 10, duration_s: 15 * MINUTE_S },
  /** For one address and any email, against a few passwords for many accounts. */
  address: { name: 'sign-in-address', points: 50, duration_s: 15 * MINUTE_S },
  /** For one email and any address, against many addresses. */
  account: { name: 'sign-in-account', points: 100, duration_s: DAY_S },
  /** The rest of an account whose limit is used up. */
  slow: { name: 'sign-in-slow', points: 1, duration_s: MINUTE_S },
  /** Emails and addresses that signed in together: their owner must not wait because of others. */
  familiar: { name: 'sign-in-familiar', points: 1, duration_s: 7 * DAY_S },
  /** Codes for one email and any address, against who knows the password. */
  code: { name: 'code-account', points: 20, duration_s: DAY_S },
  /** Codes for one email and one address that signed in together with a code: the limit above does not hold there. */
  code_pair: { name: 'code-pair', points: 20, duration_s: DAY_S },
  code_familiar: { name: 'code-familiar', points: 1, duration_s: 7 * DAY_S },
} as const satisfies Record<string, Limit>

let limiters: Record<keyof typeof LIMITS, Limiter> | undefined
onDatabaseClosed(() => {
  limiters = undefined
})

/** A password that somebody tries: for the account of an email, from an address. */
type Guess = { email: string; address: string }

type Headers = Record<string, string | number>
type Attempt<T> = () => Promise<T | undefined>

/**
 * Tries a password if the limits allow one more guess. The limits of the address and of the account do not hold where
 * the password of this account was right in the last 7 days: guesses of strangers must not lock its owner out.
 * @param attempt answers undefined for a wrong password; its errors do not count as a guess
 * @param headers of the answer: get `retry-after` with RATE_LIMITED
 * @throws RATE_LIMITED without trying, right or wrong; what `attempt` throws
 */
export async function tryPassword<T>(guess: Guess, headers: Headers, attempt: Attempt<T>): Promise<T | undefined> {
  const keys = keysOf(guess)
  const result = await tryCounted((count) => judgePassword(keys, count), headers, attempt)
  if (result !== undefined) await openLimiters().familiar.set(keys.pair, 1, LIMITS.familiar.duration_s)
  return result
}

/**
 * Tries a code of a second factor in the same way. It counts for email and address together with passwords, and for
 * the account by itself, unless the account signed in from there with a code in the last 7 days.
 * @param use a right code of a sign-in shows that its owner is there
 */
export async function tryCode<T>(
  guess: Guess,
  headers: Headers,
  use: 'sign-in' | 'change',
  attempt: Attempt<T>,
): Promise<T | undefined> {
  const keys = keysOf(guess)
  const result = await tryCounted((count) => judgeCode(keys, count), headers, attempt)
  if (result !== undefined && use === 'sign-in') {
    await openLimiters().code_familiar.set(keys.pair, 1, LIMITS.code_familiar.duration_s)
  }
  return result
}

type Keys = { pair: string; address: string; account: string }

function keysOf({ email, address }: Guess): Keys {
  const account = addressKey(email.trim()).slice(0, 254)
  const subscriber = subscriberOf(address)
  return { pair: `${account} ${subscriber}`, address: subscriber, account }
}

/** Counts a guess in a limit. @returns undefined when it is allowed, else how long to wait */
type Count = (limiter: Limiter, key: string) => Promise<number | undefined>
type Judge = (count: Count) => Promise<number | undefined>

async function tryCounted<T>(judge: Judge, headers: Headers, attempt: Attempt<T>): Promise<T | undefined> {
  const counted: [Limiter, string][] = []
  const giveBack = () => Promise.all(counted.map(([limiter, key]) => limiter.reward(key)))
  const wait_ms = await judge(async (limiter, key) => {
    const result = await limiter.consume(key).catch((refused) => refused)
    if (!(result instanceof RateLimiterRes)) throw result
    if (result.consumedPoints > limiter.points) return result.msBeforeNext
    counted.push([limiter, key])
    return undefined
  })
  if (wait_ms !== undefined) {
    await giveBack()
    throw rateLimited(wait_ms, headers)
  }
  const result = await attempt().catch(async (error) => {
    await giveBack()
    throw error
  })
  if (result !== undefined) await giveBack()
  return result
}

async function judgePassword({ pair, address, account }: Keys, count: Count): Promise<number | undefined> {
  const limiters = openLimiters()
  const pair_wait_ms = await count(limiters.pair, pair)
  if (pair_wait_ms !== undefined || (await isMarked(limiters.familiar, pair))) return pair_wait_ms
  const address_wait_ms = await count(limiters.address, address)
  if (address_wait_ms !== undefined) return address_wait_ms
  const is_spent = (await count(limiters.account, account)) !== undefined
  return is_spent ? count(limiters.slow, account) : undefined
}

async function judgeCode({ pair, account }: Keys, count: Count): Promise<number | undefined> {
  const limiters = openLimiters()
  const pair_wait_ms = await count(limiters.pair, pair)
  if (pair_wait_ms !== undefined) return pair_wait_ms
  const is_familiar = await isMarked(limiters.code_familiar, pair)
  return is_familiar ? count(limiters.code_pair, pair) : count(limiters.code, account)
}

async function isMarked(limiter: Limiter, key: string): Promise<boolean> {
  const known = await limiter.get(key)
  return known !== null && known.msBeforeNext > 0
}

function openLimiters(): Record<keyof typeof LIMITS, Limiter> {
  limiters ??= Object.fromEntries(
    Object.entries(LIMITS).map(([name, limit]) => [name, createLimiter(limit.name, limit.points, limit.duration_s)]),
  ) as Record<keyof typeof LIMITS, Limiter>
  return limiters
}
