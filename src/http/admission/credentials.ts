/** Credentials: finds the caller of a request by its access token, API key or customer's token. */

import { isInNetworks } from '../../base/address/networks'
import { lookUps } from '../../base/db/pool'
import { ApiError } from '../../base/errors'
import { subscriberOf } from '../../base/net/client-address'
import type { RequestState } from '../request/request'
import { isMcp } from '../request/url'
import { findCustomer, isCustomerToken } from './customer-tokens'
import { isKeyText } from './key-format'
import { noteKeyUse } from './key-uses'
import { findKey, type KnownKey } from './known-keys'
import { isEnded } from './membership'
import { type Counted, isUsedUp } from './rate-limit'
import { verifyAccessToken } from './tokens'

const BEARER = /^Bearer +([^\s,]+)$/i
const API_KEY = /^ApiKey +([^\s,]+)$/i

/** Tells if a request has an API key, well formed or not. */
export function showsKey(request: Request): boolean {
  return /^ApiKey\b/i.test(request.headers.get('authorization') ?? '')
}

/**
 * Finds the caller of a request. A fault of the credential is remembered, because routes without a sign-in never ask
 * for a token.
 */
export async function identify(request: Request, state: RequestState): Promise<void> {
  const header = request.headers.get('authorization') ?? ''
  try {
    const [, key] = API_KEY.exec(header) ?? []
    if (key) return await identifyKey(state, key)
    const [, token] = BEARER.exec(header) ?? []
    if (!token) throw new ApiError('INVALID_TOKEN')
    // Many clients of tools know no other scheme.
    if (isMcp(request.url) && isKeyText(token)) return await identifyKey(state, token)
    if (isCustomerToken(token)) return await identifyCustomer(state, token)
    const { sub, email, org_id, session_id, is_from_provider, iat, exp } = await verifyAccessToken(token)
    const rest = { session_id, is_from_provider, issued_at_s: iat, expires_at_s: exp }
    state.caller = { type: 'user', id: sub, email, organization_id: org_id, ...rest }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    state.credential_error = error
  }
}

/** @throws INVALID_TOKEN, TOKEN_EXPIRED */
async function identifyCustomer(state: RequestState, token: string): Promise<void> {
  const customer = await findCustomer(lookUps, token, () => mayLookUp(state))
  state.caller = { type: 'contact', ...customer }
}

/** An address that has used up its requests makes no query with a credential that was never seen. */
async function mayLookUp({ address }: RequestState): Promise<boolean> {
  return !(await isUsedUp(byAddress(address)))
}

/**
 * The counters of requests: their caller, or the address of those who have no valid credential. Sessions of an
 * identity provider count by themselves: who has the provider must not use up what the person has in other
 * organizations. A token whose session was ended counts for the address: who stole it must not use up what is the
 * person's.
 */
export function countedBy({ caller, address }: RequestState): Counted {
  const person = caller?.type === 'user' ? caller : undefined
  if (!caller || (person && isEnded(person))) return byAddress(address)
  const key = `${caller.type} ${caller.id}`
  if (!person) return { key, setting: 'RATE_LIMIT_PER_MINUTE' }
  const of_provider = person.is_from_provider ? ` ${person.organization_id}` : ''
  return { key: `${key}${of_provider}`, setting: 'SESSION_RATE_LIMIT_PER_MINUTE' }
}

/** @throws INVALID_TOKEN, FORBIDDEN from a network where the key does not count */
async function identifyKey(state: RequestState, text: string): Promise<void> {
  const key = await findKey(lookUps(), text, () => mayLookUp(state))
  if (!key) throw new ApiError('INVALID_TOKEN')
  const { id, name, organization_id, permissions } = key
  state.api_key = { id, name, organization_id }
  if (key.is_revoked) throw new ApiError('INVALID_TOKEN')
  if (!isAllowedAt(state.address, key)) {
    throw new ApiError('FORBIDDEN', { reason: 'The API key does not count at this address' })
  }
  state.caller = { type: 'api_key', id, name, organization_id, permissions }
  noteKeyUse(key)
}

function isAllowedAt(address: string, { networks }: KnownKey): boolean {
  return networks.length === 0 || isInNetworks(address, networks)
}

function byAddress(address: string): Counted {
  return { key: `address ${subscriberOf(address)}`, setting: 'RATE_LIMIT_PER_MINUTE' }
}
