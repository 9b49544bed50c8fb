/** Finds the API key of a request, and remembers it for a few seconds. */
import { LRUCache } from 'lru-cache'
import { type Network, toNetwork } from '../../base/address/networks'
import type { Connection } from '../../base/db/transact'
import { permissionsOf } from '../request/permissions'
import { hashKey, isKeyText } from './key-format'

/** A key that exists, revoked or not. */
export type KnownKey = {
  id: string
  name: string
  organization_id: string
  permissions: ReadonlySet<string>
  /** Empty: from everywhere. */
  networks: Network[]
  is_revoked: boolean
}

/** A change by another process counts after this time: well within the 10 seconds that the API promises. */
const REMEMBER_MS = 5000
/** A key that was found in the last hour is looked up again even if its address has sent too many unknown keys. */
const IN_USE_MS = 3_600_000

const known = new LRUCache<string, KnownKey>({ max: 10_000, ttl: REMEMBER_MS })
const in_use = new LRUCache<string, true>({ max: 10_000, ttl: IN_USE_MS })

/** Counts the changes of keys in this process, so that a look-up that began before one is not remembered. */
let changes = 0

/**
 * Finds a key by its text; undefined for one that is unknown or mistyped.
 * @param mayLookUp decides if a key that was not seen lately may cost a query: strangers can make keys with a right
 *   checksum
 */
export async function findKey(
  connection: Connection,
  text: string,
  mayLookUp: () => Promise<boolean>,
): Promise<KnownKey | undefined> {
  const hash = hashKey(text)
  const digest = hash.toString('base64')
  const remembered = known.get(digest)
  if (remembered) return remembered
  if (!isKeyText(text) || !(in_use.has(digest) || (await mayLookUp()))) return undefined
  const changes_before = changes
  const key = await readKey(connection, hash)
  if (!key) return undefined
  if (changes === changes_before) known.set(digest, key)
  in_use.set(digest, true)
  return key
}

/** Forgets what is remembered of a key, after a change of it. */
export function forgetKey(id: string): void {
  changes++
  for (const [digest, key] of known.entries()) if (key.id === id) known.delete(digest)
}

type KeyRow = Pick<KnownKey, 'id' | 'name' | 'organization_id' | 'is_revoked'> & {
  permissions: string[]
  allowed_networks: string[]
}

/** The organization follows from the key: nothing else is known of the caller. */
async function readKey({ sql }: Connection, hash: Uint8Array): Promise<KnownKey | undefined> {
  const [row] = await sql<KeyRow[]>`
    select id, name, organization_id, permissions, allowed_networks, revoked_at is not null as is_revoked
    from api_keys where key_hash = ${hash}`
  if (!row) return undefined
  const { permissions, allowed_networks, ...key } = row
  return { ...key, permissions: permissionsOf(permissions), networks: allowed_networks.map((text) => toNetwork(text)!) }
}
