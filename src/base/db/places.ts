/**
 * Shares the pool among the organizations. A transaction, or a statement outside of one, waits until its organization
 * holds less than its share of the connections, and has its connection alone, because the driver sends other statements
 * behind it otherwise. So one that asks much, or that waits for locks, makes itself wait, and nobody else. What only
 * reads is ended after a time.
 *
 * Long statements of several connections would take all processors of a small database. So an organization whose
 * statement took long sends the next ones singly, as long as another organization reads beside it. With 14 of the
 * slowest lists of a million tickets, p99 of others was 4.1 times what it is alone with three connections on two
 * processors, and 1.3 times with one.
 *
 * The driver has no hook before a statement is sent, so the function that sends it is replaced in each statement, as
 * `watch-statements.ts` does for all of them. tests/base/db/places.test.ts fails when that does not work any more.
 */
import { LRUCache } from 'lru-cache'
import { ApiError } from '../errors'
import type { Client } from './driver-client'

export type PlaceLimits = {
  /** How long a statement or a transaction may wait for its places. */
  wait_ms: number
  /** How long a statement that reads may take, from the moment when it is sent. */
  most_ms: number
}

/** The holder of a place: at most so many connections are held under the name at a time, in this process. */
export type Share = { name: string; most: number; reader?: string }

/** A share that is in use: how many connections it holds, and what waits for one, oldest first. */
type Held = { count: number; waiting: Set<() => void> }

/** A statement of the driver. */
type DriverQuery = {
  handler(query: DriverQuery): void
  options: { onexecute?(): boolean }
  resolve(result: unknown): void
  reject(error: unknown): void
  cancel(): void
}

const RETRY_AFTER_S = 1
/** A statement that takes longer counts as long. */
const LONG_MS = 100
const LATELY_MS = 1000
const MOST_REMEMBERED = 10_000

const held = new Map<string, Held>()
/** The two organizations that read last, the last one first. */
let readers: { reader: string; at_ms: number }[] = []
/** Organizations whose statement took long, lately. */
const long_ones = new LRUCache<string, true>({ max: MOST_REMEMBERED, ttl: LATELY_MS })

/**
 * The connections of a pool that may be held at a time: by one organization in all, of them by what only reads and by
 * the rest; and by all who sign in or see to their account. One is left for what nobody waits behind. Undefined for one
 * or two connections, which cannot be shared: statements of all organizations are sent one behind the other there.
 */
export function sharesOf(pool_size: number) {
  if (pool_size < 3) return undefined
  const all = Math.floor(pool_size * 0.6)
  const third = Math.floor(pool_size / 3)
  return {
    all,
    reads: Math.min(third, all),
    writes: Math.max(1, all - 1),
    accounts: Math.min(third, pool_size - all - 1),
  }
}

/**
 * Makes a client whose statements and transactions take places of all `shares`, always in their order.
 * @param client the pool: a transaction has a connection already
 */
export function placed(client: Client, shares: readonly Share[], limits: PlaceLimits): Client {
  const only_reads = shares.some(({ reader }) => reader)
  const prepared = (made: unknown) => {
    // Identifiers and lists of values are no statements.
    if (!(made instanceof Promise)) return made
    const query = made as unknown as DriverQuery
    const { handler: send } = query
    query.handler = () => void sendInPlace(query, send)
    return made
  }
  const sendInPlace = async (query: DriverQuery, send: DriverQuery['handler']) => {
    try {
      standAlone(query, await enter(shares, limits.wait_ms))
    } catch (error) {
      return query.reject(error)
    }
    if (only_reads) endWithin(query, limits.most_ms)
    send(query)
  }
  const begin = async (...given: Parameters<Client['begin']>) => {
    const leave = await enter(shares, limits.wait_ms)
    return client.begin(...given).finally(leave)
  }
  const unsafe = (...given: Parameters<Client['unsafe']>) => prepared(client.unsafe(...given))
  const own = { begin, unsafe } as Record<string | symbol, unknown>
  return new Proxy(client, {
    apply: (_, __, given) => prepared(Reflect.apply(client, undefined, given)),
    get: (_, name) => own[name] ?? client[name as keyof Client],
  })
}

/** Takes a place in each share. @returns what gives them back @throws SERVICE_UNAVAILABLE when `wait_ms` have passed */
async function enter(shares: readonly Share[], wait_ms: number): Promise<() => void> {
  const until_ms = performance.now() + wait_ms
  let entered = 0
  const leaveAll = () => {
    while (entered > 0) leave(shares[--entered]!)
  }
  try {
    for (const share of shares) {
      await enterOne(share, until_ms)
      entered++
    }
  } catch (error) {
    leaveAll()
    throw error
  }
  const began_ms = performance.now()
  return () => {
    const is_long = performance.now() - began_ms > LONG_MS
    for (const { reader } of shares) if (reader && is_long) long_ones.set(reader, true)
    leaveAll()
  }
}

async function enterOne(share: Share, until_ms: number): Promise<void> {
  const { name, reader } = share
  if (reader) {
    readers = [{ reader, at_ms: performance.now() }, ...readers.filter((one) => one.reader !== reader).slice(0, 1)]
  }
  const own = held.get(name) ?? { count: 0, waiting: new Set() }
  held.set(name, own)
  if (own.count < placesOf(share)) {
    own.count++
    return
  }
  const turn = Promise.withResolvers<void>()
  own.waiting.add(turn.resolve)
  const timer = setTimeout(
    () => {
      own.waiting.delete(turn.resolve)
      turn.reject(new ApiError('SERVICE_UNAVAILABLE', { reason: BUSY }, undefined, RETRY_AFTER_S))
    },
    Math.max(0, until_ms - performance.now()),
  )
  await turn.promise.finally(() => clearTimeout(timer))
}

const BUSY = 'The organization, or the account, asks too much at the same time'

/** The connections that may be held now: one by reads after a long one, if another organization reads. */
function placesOf({ most, reader }: Share): number {
  if (!reader) return most
  const since_ms = performance.now() - LATELY_MS
  const has_others = readers.some((one) => one.reader !== reader && one.at_ms > since_ms)
  return has_others && long_ones.has(reader) ? 1 : most
}

/** Gives a place back, and free ones to those that have waited longest. */
function leave(share: Share): void {
  const own = held.get(share.name)!
  own.count--
  const places = placesOf(share)
  for (const next of own.waiting) {
    if (own.count >= places) break
    own.count++
    own.waiting.delete(next)
    next()
  }
  if (own.count === 0) held.delete(share.name)
}

/** Lets a statement have its connection alone. */
function standAlone(query: DriverQuery, onEnd: () => void): void {
  const { resolve, reject } = query
  query.options.onexecute = () => false
  query.resolve = (result) => {
    onEnd()
    resolve(result)
  }
  query.reject = (error) => {
    onEnd()
    reject(error)
  }
}

/** Ends a statement that is not answered in time. */
function endWithin(query: DriverQuery, most_ms: number): void {
  const { resolve, reject } = query
  let is_late = false
  const timer = setTimeout(() => {
    is_late = true
    query.cancel()
  }, most_ms)
  query.resolve = (result) => {
    clearTimeout(timer)
    resolve(result)
  }
  query.reject = (error) => {
    clearTimeout(timer)
    reject(is_late ? new ApiError('SERVICE_UNAVAILABLE', { reason: tooLong(most_ms) }) : error)
  }
}

function tooLong(most_ms: number): string {
  return `Reading this takes longer than ${most_ms / 1000} s. Ask for less, such as a shorter time or fewer labels`
}
