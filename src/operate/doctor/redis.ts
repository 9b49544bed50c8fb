/** Looks at the Redis that counts requests of all processes. */
import { config } from '../../base/config'
import { safeError } from '../../base/log'
import { type Finding, failure, warning } from './finding'

const CONNECT_MS = 2000

/** Looks at reachability, role and memory. */
export async function checkRedis(): Promise<Finding[]> {
  if (!config.REDIS_URL) return []
  const { Redis } = await import('ioredis')
  const client = new Redis(config.REDIS_URL, {
    lazyConnect: true,
    connectTimeout: CONNECT_MS,
    commandTimeout: CONNECT_MS,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
  })
  let lost: unknown
  client.on('error', (error: unknown) => {
    lost = error
  })
  try {
    await client.connect()
    return findingsOf(fieldsOf(await client.info()))
  } catch (error) {
    return [unreachable(lost ?? error)]
  } finally {
    client.disconnect()
  }
}

function unreachable(error: unknown): Finding {
  const { hostname, port } = new URL(config.REDIS_URL!)
  const { code, message, name } = safeError(error)
  const why = String(code ?? message ?? name)
  const is_refused = /WRONGPASS|NOAUTH|NOPERM/.test(why)
  return failure(
    `Redis at ${hostname}:${port || 6379} cannot be used: ${why}. Each process counts requests for itself, so limits are looser`,
    is_refused ? 'Correct user and password in REDIS_URL.' : 'Start Redis, or correct REDIS_URL.',
  )
}

/** The lines `name:value` of INFO. */
function fieldsOf(info: string): Map<string, string> {
  return new Map(
    info.split('\r\n').flatMap((line) => {
      const at = line.indexOf(':')
      return at > 0 ? [[line.slice(0, at), line.slice(at + 1)] as const] : []
    }),
  )
}

function findingsOf(info: Map<string, string>): Finding[] {
  const policy = info.get('maxmemory_policy') ?? 'noeviction'
  const [used, most] = [Number(info.get('used_memory')), Number(info.get('maxmemory'))]
  if (info.get('role') === 'slave') {
    return [
      failure(
        'REDIS_URL names a replica, which takes no writes: each process counts requests for itself',
        'Let REDIS_URL name the primary server.',
      ),
    ]
  }
  if (most > 0 && policy === 'noeviction' && used > most * 0.95) {
    return [
      failure(
        'The memory of Redis is full and it evicts nothing (noeviction): it refuses to count',
        'Raise maxmemory, or remove what else uses this Redis.',
      ),
    ]
  }
  if (most > 0 && policy !== 'noeviction') {
    return [
      warning(
        `Redis removes keys when its memory is full (maxmemory-policy ${policy}): limits start again for the clients whose keys are removed`,
        'Set maxmemory-policy to noeviction, or let the service have a Redis of its own.',
      ),
    ]
  }
  return []
}
