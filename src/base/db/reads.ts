/**
 * Shares the pool among the organizations that read. A statement of a request that only reads waits until its
 * organization holds less than its share of the connections, has its connection alone, because the driver sends other
 * statements behind it otherwise, and is ended after a time. So one that reads much makes itself wait, and nobody else.
 *
 * Long statements of several connections would take all processors of a small database. So an organization whose
 * statement took long sends the next ones singly, as long as another organization reads beside it. With 14 of the
 * slowest lists of a million tickets, p99 of others was 4.1 times what it is alone with three connections on two
 * processors, and 1.3 times with one.
 *
 * The driver has no hook before a statement is sent, so the function that sends it is replaced in each statement, as
 * `watch-statements.ts` does for all of them. tests/base/db/reads.test.ts fails when that does not work any more.
 */
import { LRUCache } from 'lru-cache'
import { ApiError, tryLater } from '../errors'
import type { Sql } from './transact'

export type ReadLimits = {
  /** How long a statement may wait for the share of its organization. */
  wait_ms: number
  /** How long it may take, from the moment when it is sent. */
  most_ms: number
}

/** An organization that reads: how many connections it holds, and the statements that wait for one, oldest first. */
type Share = { held: number; waiting: Set<() => void> }

/** A statement of the driver. */
type DriverQuery = {
  handler(query: DriverQuery): void
  options: { onexecute?(): boolean }
  resolve(result: unknown): void
  reject(error: unknown): void
  cancel(): void
}

const PARTS = 3
const RETRY_AFTER_S = 1
/** A statement that takes longer counts as long. */
const LONG_MS = 100
const LATELY_MS = 1000
const MOST_REMEMBERED = 10_000

const shares = new Map<string, Share>()
/** The two organizations that asked last, the last one first. */
let readers: { organization_id: string; at_ms: number }[] = []
/** Organizations whose statement took long, lately. */
const long_ones = new LRUCache<string, true>({ max: MOST_REMEMBERED, ttl: LATELY_MS })

/** The connections that one organization may hold to read, of a pool of this size: a third. */
export function shareOf(pool_size: number): number {
  return Math.floor(pool_size / PARTS)
}

/**
 * Makes a connection on which each statement is one of the organization's reads.
 * @param sql the pool: a transaction has a connection already
 * @param most connections at a time, in this process
 */
export function sharedReads(sql: Sql, organization_id: string, most: number, limits: ReadLimits): Sql {
  const prepared = (made: unknown) => {
    // Identifiers and lists of values are no statements.
    if (!(made instanceof Promise)) return made
    const query = made as unknown as DriverQuery
    const { handler: send } = query
    query.handler = () => void sendInShare(query, send)
    return made
  }
  const sendInShare = async (query: DriverQuery, send: DriverQuery['handler']) => {
    try {
      await enter(organization_id, most, limits.wait_ms)
    } catch (error) {
      return query.reject(error)
    }
    const began_ms = performance.now()
    endWithin(query, limits.most_ms, () => leave(organization_id, most, began_ms))
    send(query)
  }
  return new Proxy(sql, {
    apply: (_, __, given) => prepared(Reflect.apply(sql, undefined, given)),
    get: (_, name) =>
      name === 'unsafe'
        ? (...given: Parameters<Sql['unsafe']>) => prepared(sql.unsafe(...given))
        : sql[name as keyof Sql],
  })
}

/** Takes a place in the share of an organization. @throws RATE_LIMITED when none is free for `wait_ms` */
async function enter(organization_id: string, most: number, wait_ms: number): Promise<void> {
  readers = [
    { organization_id, at_ms: performance.now() },
    ...readers.filter((reader) => reader.organization_id !== organization_id).slice(0, 1),
  ]
  const share = shares.get(organization_id) ?? { held: 0, waiting: new Set() }
  shares.set(organization_id, share)
  if (share.held < placesOf(organization_id, most)) {
    share.held++
    return
  }
  const turn = Promise.withResolvers<void>()
  share.waiting.add(turn.resolve)
  const timer = setTimeout(() => {
    share.waiting.delete(turn.resolve)
    turn.reject(tryLater('The organization reads too much at the same time', RETRY_AFTER_S))
  }, wait_ms)
  await turn.promise.finally(() => clearTimeout(timer))
}

/** The connections that the organization may hold now: one after a long statement, if another organization reads. */
function placesOf(organization_id: string, most: number): number {
  const since_ms = performance.now() - LATELY_MS
  const has_others = readers.some((reader) => reader.organization_id !== organization_id && reader.at_ms > since_ms)
  return has_others && long_ones.has(organization_id) ? 1 : most
}

/** Ends a statement, and gives free places to those that have waited longest. */
function leave(organization_id: string, most: number, began_ms: number): void {
  const share = shares.get(organization_id)!
  share.held--
  if (performance.now() - began_ms > LONG_MS) long_ones.set(organization_id, true)
  const places = placesOf(organization_id, most)
  for (const next of share.waiting) {
    if (share.held >= places) break
    share.held++
    share.waiting.delete(next)
    next()
  }
  if (share.held === 0) shares.delete(organization_id)
}

/** Lets a statement have its connection alone, and not for longer than `most_ms`. */
function endWithin(query: DriverQuery, most_ms: number, onEnd: () => void): void {
  const { resolve, reject } = query
  let is_late = false
  const timer = setTimeout(() => {
    is_late = true
    query.cancel()
  }, most_ms)
  const end = () => {
    clearTimeout(timer)
    onEnd()
  }
  query.options.onexecute = () => false
  query.resolve = (result) => {
    end()
    resolve(result)
  }
  query.reject = (error) => {
    end()
    reject(is_late ? new ApiError('SERVICE_UNAVAILABLE', { reason: tooLong(most_ms) }) : error)
  }
}

function tooLong(most_ms: number): string {
  return `Reading this takes longer than ${most_ms / 1000} s. Ask for less, such as a shorter time or fewer labels`
}
