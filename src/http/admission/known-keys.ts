/** Finds the API key of a request, and remembers it for a few seconds. */
import { type Network, toNetwork } from '../../base/address/networks'
import type { Connection } from '../../base/db/transact'
import { permissionsOf } from '../request/permissions'
import { hashKey, isKeyText } from './key-format'
import { Remembered } from './remembered'

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

const known = new Remembered<KnownKey>()

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
  if (!isKeyText(text)) return undefined
  return known.find(hashKey(text), mayLookUp, (hash) => readKey(connection, hash))
}

/** Forgets what is remembered of a key, after a change of it. */
export function forgetKey(id: string): void {
  known.forget((key) => key.id === id)
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
