/**
 * Gives the access token of a mailbox. All processes use the same one until its end, and one of them fetches the next:
 * who holds the turn in `mailbox_sign_ins`. A provider may replace the refresh token with each answer, so two at the
 * same time would lose one. No transaction is open meanwhile.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { newId } from '../../base/db/columns'
import type { Connection } from '../../base/db/transact'
import { decrypt, encrypt, type StoredAt } from '../../base/secrets'
import { requestToken, TokenError, type TokenSettings } from './request-token'
import type { TokenSource } from './settings'

type Place = Pick<Connection, 'sql'> & { organization_id: string; id: string }
type Stored = TokenSettings & { version: string; access_token: string | null; is_fresh: boolean }

/** Longer than a fetch takes: a process that ended meanwhile keeps its turn no longer. */
const TURN_S = 30
const WAIT_MS = 20_000
const POLL_MS = 200

/**
 * Makes the source of a mailbox's tokens.
 * @param mailbox its id, and the version of its settings; null: it signs in with a password, or not at all
 */
export function tokenSource(
  { sql }: Pick<Connection, 'sql'>,
  { organization_id, id, version }: { organization_id: string; id: string; version: string | null },
): TokenSource | null {
  if (version === null) return null
  return { version, get: (refused) => accessToken({ sql, organization_id, id }, refused), sent: [] }
}

async function accessToken(place: Place, refused: string | undefined): Promise<string> {
  const deadline = performance.now() + WAIT_MS
  while (performance.now() < deadline) {
    const stored = await readStored(place)
    if (!stored) throw new TokenError('the settings were changed')
    const token = stored.access_token && decrypt(stored.access_token, at(place, 'access_token'))
    if (token && stored.is_fresh && token !== refused) return token
    const fetched = await fetchInTurn(place, stored)
    if (fetched) return fetched
    await sleep(POLL_MS)
  }
  throw new TokenError('another process takes too long to fetch it')
}

async function readStored({ sql, organization_id, id }: Place): Promise<Stored | undefined> {
  const [stored] = await sql<Stored[]>`
    select "grant", token_url, client_id, scope, client_secret, refresh_token, version, access_token,
      coalesce(access_token_until > now(), false) as is_fresh
    from mailbox_sign_ins where organization_id = ${organization_id} and id = ${id}`
  return stored
}

/** Fetches a token and stores it. @returns undefined when it is another one's turn, or what was read is old */
async function fetchInTurn(place: Place, stored: Stored): Promise<string | undefined> {
  const { sql, organization_id, id } = place
  const turn = newId()
  const { count } = await sql`
    update mailbox_sign_ins set fetched_by = ${turn}, fetched_until = now() + ${TURN_S} * interval '1 second'
    where organization_id = ${organization_id} and id = ${id} and version = ${stored.version}
      and access_token is not distinct from ${stored.access_token}
      and (fetched_until is null or fetched_until <= now())`
  if (count === 0) return undefined
  try {
    return await fetchToken(place, stored, turn)
  } finally {
    await sql`
      update mailbox_sign_ins set fetched_by = null, fetched_until = null
      where organization_id = ${organization_id} and id = ${id} and fetched_by = ${turn}`
  }
}

/** Stores a new refresh token together with the access token, before either is used. */
async function fetchToken(place: Place, stored: Stored, turn: string): Promise<string | undefined> {
  const { sql, organization_id, id } = place
  const plain = (name: 'client_secret' | 'refresh_token') => {
    const encrypted = stored[name]
    return encrypted === null ? null : decrypt(encrypted, at(place, name))
  }
  const secrets = { client_secret: plain('client_secret'), refresh_token: plain('refresh_token') }
  const { access_token, used_s, refresh_token } = await requestToken({ ...stored, ...secrets })
  const next = refresh_token === null ? stored.refresh_token : encrypt(refresh_token, at(place, 'refresh_token'))
  const { count } = await sql`
    update mailbox_sign_ins set refresh_token = ${next}, access_token = ${encrypt(access_token, at(place, 'access_token'))},
      access_token_until = now() + ${used_s}::float8 * interval '1 second'
    where organization_id = ${organization_id} and id = ${id} and fetched_by = ${turn} and version = ${stored.version}`
  return count > 0 ? access_token : undefined
}

type Secret = 'client_secret' | 'refresh_token' | 'access_token'

function at({ organization_id, id }: Place, name: Secret): StoredAt {
  return { column: `mailbox_sign_ins.${name}`, organization_id, id }
}
