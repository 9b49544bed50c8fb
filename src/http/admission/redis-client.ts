/** The connection to Redis, in which several processes count together (REDIS_URL). */
import { createRequire } from 'node:module'
import type Redis from 'ioredis'
import { config } from '../../base/config'
import { log, safeError } from '../../base/log'
import { showRedis } from '../../base/metrics/redis-up'

/** A Redis that is reached but silent for this long counts as away. Otherwise every request would wait for it. */
const SILENCE_MOST_MS = 1000
/** Longest wait at the start. */
const START_MOST_MS = 3000
/** Distance of log lines while Redis is away. */
const REMINDER_MS = 60_000

let client: Redis | undefined

/** Returns the connection, ready or not; undefined without REDIS_URL. Its commands fail at once while Redis is away. */
export function redis(): Redis | undefined {
  if (config.REDIS_URL) client ??= connect(config.REDIS_URL)
  return client
}

/** Connects, if REDIS_URL is set: this process alone would count a request that comes before. Never rejects. */
export async function connectRedis(): Promise<void> {
  const connecting = redis()
  if (!connecting || connecting.status === 'ready') return
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, START_MOST_MS)
    for (const event of ['ready', 'error'] as const) connecting.once(event, () => resolve(clearTimeout(timer)))
  })
}

function connect(url: string): Redis {
  // Loaded where there is a Redis: it would be a tenth of the start of every process.
  const ioredis = createRequire(import.meta.url)('ioredis') as typeof import('ioredis')
  const connection = new ioredis.Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    commandTimeout: SILENCE_MOST_MS,
    socketTimeout: SILENCE_MOST_MS,
  })
  showRedis(() => connection.status === 'ready')
  let told_ms = Number.NEGATIVE_INFINITY
  let is_told = false
  connection.on('error', (error: Error) => {
    if (performance.now() - told_ms < REMINDER_MS) return
    told_ms = performance.now()
    is_told = true
    log.warn({ error: safeError(error) }, 'Redis is not reachable, limits count per process')
  })
  connection.on('ready', () => {
    if (is_told) log.info('Redis is reachable again, limits count together')
    is_told = false
  })
  return connection
}
