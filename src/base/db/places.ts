/**
 * Shares the pool among the organizations. A transaction, or a statement outside of one, waits until its organization
 * holds less than its share of the connections, and has its connection alone, because the driver sends other statements
 * behind it otherwise. So one that asks much, or that waits for locks, makes itself wait, and nobody else. What only
 * reads is ended after a time.
 *
 * Long statements of several connections would take all processors of a small database. So statements of an
 * organization that are not known to be short are read singly, as long as another one asks for something beside it: a
 * statement is known to be short when it was so the last time. With 14 of the slowest lists of a million tickets, p99
 * of others was 4.1 times what it is alone with three connections on two processors.
 *
 * The driver has no hook before a statement is sent, so the function that sends it is replaced in each statement, as
 * `watch-statements.ts` does for all of them. tests/base/db/places.test.ts fails when that does not work any more.
 */
import { hash } from 'node:crypto'
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
export type Share = { name: string; most: number; organization_id?: string; only_reads?: true }

/** A connection of a share that is held, by a statement or, without one, by a transaction. */
type Place = { statement?: string; began_ms: number }
type Turn = { statement?: string; next(): void }
/** A share that is in use: its places that are held, and who waits for one, both oldest first. */
type Held = { places: Set<Place>; waiting: Set<Turn> }

/** A statement of the driver, or a part of one. */
type DriverQuery = {
  strings: readonly string[]
  args: readonly unknown[]
  handler(query: DriverQuery): void
  options: { onexecute?(): boolean }
  resolve(result: unknown): void
  reject(error: unknown): void
  cancel(): void
}

const RETRY_AFTER_S = 1
/** A statement that takes longer counts as long. */
const LONG_MS = 100
/** For so long after its last request an organization counts as one that asks. */
const LATELY_MS = 1000
const MOST_REMEMBERED = 10_000

const held = new Map<string, Held>()
/** The two organizations that asked last, the last one first. */
let askers: { organization_id: string; at_ms: number }[] = []
/** Statements that were short the last time, each with its organization. */
const short_ones = new LRUCache<string, true>({ max: MOST_REMEMBERED })

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
  const only_reads = shares.some(({ only_reads }) => only_reads)
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
      standAlone(query, await enter(shares, limits.wait_ms, only_reads ? shapeOf(shares[0]!, query) : undefined))
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

/**
 * Takes a place in each share.
 * @param statement the name of one that reads
 * @returns what gives them back
 * @throws SERVICE_UNAVAILABLE when `wait_ms` have passed
 */
async function enter(shares: readonly Share[], wait_ms: number, statement?: string): Promise<() => void> {
  const until_ms = performance.now() + wait_ms
  const entered: (() => void)[] = []
  const leaveAll = () => {
    for (const leave of entered.reverse()) leave()
  }
  try {
    for (const share of shares) entered.push(await enterOne(share, until_ms, statement))
  } catch (error) {
    leaveAll()
    throw error
  }
  return leaveAll
}

/** @returns what gives the place back, and free ones to those that have waited longest */
async function enterOne(share: Share, until_ms: number, statement?: string): Promise<() => void> {
  const { name, organization_id } = share
  if (organization_id) noteAsker(organization_id)
  const own = held.get(name) ?? { places: new Set(), waiting: new Set() }
  held.set(name, own)
  const take = () => {
    const place: Place = { statement, began_ms: performance.now() }
    own.places.add(place)
    return place
  }
  const place = mayEnter(share, own, statement) ? take() : await turnIn(own, { statement, take, until_ms })
  return () => {
    if (statement) rememberSpeed(statement, place)
    own.places.delete(place)
    for (const turn of own.waiting) {
      if (own.places.size >= share.most) break
      if (!mayEnter(share, own, turn.statement)) continue
      own.waiting.delete(turn)
      turn.next()
    }
    if (own.places.size === 0) held.delete(name)
  }
}

type Wanted = { statement?: string; take(): Place; until_ms: number }

/** Waits until a place is given. @throws SERVICE_UNAVAILABLE */
function turnIn({ waiting }: Held, { statement, take, until_ms }: Wanted): Promise<Place> {
  const place = Promise.withResolvers<Place>()
  const turn = { statement, next: () => place.resolve(take()) }
  waiting.add(turn)
  const timer = setTimeout(
    () => {
      waiting.delete(turn)
      place.reject(new ApiError('SERVICE_UNAVAILABLE', { reason: BUSY }, undefined, RETRY_AFTER_S))
    },
    Math.max(0, until_ms - performance.now()),
  )
  return place.promise.finally(() => clearTimeout(timer))
}

const BUSY = 'The organization, or the account, asks too much at the same time'

function noteAsker(organization_id: string): void {
  const others = askers.filter((one) => one.organization_id !== organization_id)
  askers = [{ organization_id, at_ms: performance.now() }, ...others.slice(0, 1)]
}

/** Tells if there is room. Beside others, what is not known to be short waits for what is not either. */
function mayEnter({ most, organization_id }: Share, { places }: Held, statement: string | undefined): boolean {
  if (places.size >= most) return false
  if (!organization_id || !statement || short_ones.has(statement)) return true
  const since_ms = performance.now() - LATELY_MS
  const has_others = askers.some((one) => one.organization_id !== organization_id && one.at_ms > since_ms)
  return !has_others || ![...places].some(isNotShort)
}

function isNotShort(place: Place): boolean {
  return place.statement !== undefined && (!short_ones.has(place.statement) || isLong(place))
}

function isLong({ began_ms }: Place): boolean {
  return performance.now() - began_ms > LONG_MS
}

/** Remembers how long a statement took. */
function rememberSpeed(statement: string, place: Place): void {
  if (isLong(place)) short_ones.delete(statement)
  else short_ones.set(statement, true)
}

/** The name of a statement of an organization: its words without the values. */
function shapeOf({ name }: Share, query: DriverQuery): string {
  return `${name} ${hash('sha1', sentenceOf(query), 'base64')}`
}

function sentenceOf({ strings, args }: DriverQuery): string {
  const partOf = (value: unknown) => (value instanceof Promise ? sentenceOf(value as unknown as DriverQuery) : '')
  return strings.map((words, at) => words + partOf(args[at])).join('?')
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
