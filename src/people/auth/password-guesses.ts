/**
 * Limits how often passwords are guessed. A guess is counted before the password is tried, because the hash takes tens
 * of milliseconds, in which many guesses would pass a count that is made afterwards. A right password gives its count
 * back.
 */
import { RateLimiterRes } from 'rate-limiter-flexible'
import { addressKey } from '../../base/address/email'
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
  /** What is left of an account whose limit is used up. */
  slow: { name: 'sign-in-slow', points: 1, duration_s: MINUTE_S },
  /** Emails and addresses that signed in together: their owner must not wait because of others. */
  familiar: { name: 'sign-in-familiar', points: 1, duration_s: 7 * DAY_S },
} as const satisfies Record<string, Limit>

let limiters: Record<keyof typeof LIMITS, Limiter> | undefined

/** A password that somebody tries: for the account of an email, from an address. */
type Guess = { email: string; address: string }

/**
 * Tries a password if the limits allow one more guess. The limits of the address and of the account do not hold where
 * the password of this account was right in the last 7 days: guesses of strangers must not lock its owner out.
 * @param attempt answers undefined for a wrong password; its errors do not count as a guess
 * @param headers of the answer: get `retry-after` with RATE_LIMITED
 * @throws RATE_LIMITED without trying, right or wrong; what `attempt` throws
 */
export async function tryPassword<T>(
  guess: Guess,
  headers: Record<string, string | number>,
  attempt: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const keys = keysOf(guess)
  const { wait_ms, giveBack } = await countGuess(keys)
  if (wait_ms !== undefined) {
    await giveBack()
    throw rateLimited(wait_ms, headers)
  }
  const result = await attempt().catch(async (error) => {
    await giveBack()
    throw error
  })
  if (result === undefined) return undefined
  await giveBack()
  await openLimiters().familiar.set(keys.pair, 1, LIMITS.familiar.duration_s)
  return result
}

type Keys = { pair: string; address: string; account: string }

function keysOf({ email, address }: Guess): Keys {
  const account = addressKey(email.trim()).slice(0, 254)
  const subscriber = subscriberOf(address)
  return { pair: `${account} ${subscriber}`, address: subscriber, account }
}

/** Counts a guess in all limits that hold for it. `wait_ms` is undefined when it is allowed. */
async function countGuess({ pair, address, account }: Keys) {
  const limiters = openLimiters()
  const counted: [Limiter, string][] = []
  const count = async (limiter: Limiter, key: string): Promise<number | undefined> => {
    const result = await limiter.consume(key).catch((refused) => refused)
    if (!(result instanceof RateLimiterRes)) throw result
    if (result.consumedPoints > limiter.points) return result.msBeforeNext
    counted.push([limiter, key])
    return undefined
  }
  const judge = async (): Promise<number | undefined> => {
    const pair_wait_ms = await count(limiters.pair, pair)
    if (pair_wait_ms !== undefined || (await isFamiliar(pair))) return pair_wait_ms
    const address_wait_ms = await count(limiters.address, address)
    if (address_wait_ms !== undefined) return address_wait_ms
    const is_spent = (await count(limiters.account, account)) !== undefined
    return is_spent ? count(limiters.slow, account) : undefined
  }
  const wait_ms = await judge()
  return { wait_ms, giveBack: () => Promise.all(counted.map(([limiter, key]) => limiter.reward(key))) }
}

async function isFamiliar(pair: string): Promise<boolean> {
  const known = await openLimiters().familiar.get(pair)
  return known !== null && known.msBeforeNext > 0
}

function openLimiters(): Record<keyof typeof LIMITS, Limiter> {
  const open = ({ name, points, duration_s }: Limit) => createLimiter(name, points, duration_s)
  const { pair, address, account, slow, familiar } = LIMITS
  limiters ??= {
    pair: open(pair),
    address: open(address),
    account: open(account),
    slow: open(slow),
    familiar: open(familiar),
  }
  return limiters
}
