/**
 * Limits the answers that an organization, and each user or API key, has open at a time. With REDIS_URL all replicas
 * count together; while Redis is away each counts alone.
 */
import { randomUUID } from 'node:crypto'
import { tryLater } from '../../base/errors'
import { redis } from './redis-client'

/** A place of a process that was killed is free again after this time. */
const LEASE_MS = 45_000
const RENEW_MS = 15_000
const RETRY_AFTER_S = 15

/** A kind of counted streams, and how many may be open. */
type Bound = { name: string; most: number }

const open = new Map<string, Set<string>>()

/**
 * Takes a place under each of the bounds.
 * @returns the function that gives them free
 * @throws RATE_LIMITED
 */
export async function takePlaces(bounds: Bound[]): Promise<() => void> {
  const id = randomUUID()
  const names = bounds.map(({ name }) => `streams ${name}`)
  for (const name of names) open.set(name, (open.get(name) ?? new Set()).add(id))
  const renewing = setInterval(() => void count(names, id), RENEW_MS)
  const leave = () => {
    clearInterval(renewing)
    for (const name of names) {
      const ids = open.get(name)
      ids?.delete(id)
      if (ids?.size === 0) open.delete(name)
      void redis()
        ?.zrem(name, id)
        .catch(() => {})
    }
  }
  const counts = await count(names, id)
  if (bounds.every(({ most }, index) => counts[index]! <= most)) return leave
  leave()
  throw tryLater('Too many streams are open', RETRY_AFTER_S)
}

/** Notes that an answer is open. @returns how many there are under each name */
async function count(names: string[], id: string): Promise<number[]> {
  const shared = await countInRedis(names, id).catch(() => undefined)
  return shared ?? names.map((name) => open.get(name)?.size ?? 0)
}

async function countInRedis(names: string[], id: string): Promise<number[] | undefined> {
  const client = redis()
  if (!client) return undefined
  const now_ms = Date.now()
  const commands = client.multi()
  for (const name of names) {
    commands.zremrangebyscore(name, 0, now_ms - LEASE_MS)
    commands.zadd(name, now_ms, id)
    commands.zcard(name)
    commands.pexpire(name, LEASE_MS)
  }
  const results = await commands.exec()
  return results ? names.map((_, index) => Number(results[index * 4 + 2]![1])) : undefined
}
