/**
 * Shares the pool among the organizations that read. A statement of a request that only reads waits until its
 * organization holds less than its share of the connections, has its connection alone, because the driver sends other
 * statements behind it otherwise, and is ended after a time. So one that reads much makes itself wait, and nobody else.
 *
 * The driver has no hook before a statement is sent, so the function that sends it is replaced in each statement, as
 * `watch-statements.ts` does for all of them. tests/base/db/reads.test.ts fails when that does not work any more.
 */
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

const shares = new Map<string, Share>()

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
    endWithin(query, limits.most_ms, () => leave(organization_id))
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
  const share = shares.get(organization_id) ?? { held: 0, waiting: new Set() }
  shares.set(organization_id, share)
  if (share.held < most) {
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

/** Gives the place to the one that has waited longest. */
function leave(organization_id: string): void {
  const share = shares.get(organization_id)!
  const [next] = share.waiting
  if (next) {
    share.waiting.delete(next)
    next()
  } else if (--share.held === 0) {
    shares.delete(organization_id)
  }
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
