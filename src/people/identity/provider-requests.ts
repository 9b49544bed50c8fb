/**
 * Asks an identity provider, which nobody vouches for: at public addresses alone, within 5 seconds, 256 KiB, without
 * redirects. `jose` checks the tokens and keeps the keys. `openid-client` was not tried: two requests are left for it
 * to make here, and these must go through the guarded dial of webhooks.
 */
import { readFile } from 'node:fs/promises'
import { createRemoteJWKSet, customFetch, type JWTPayload, jwtVerify } from 'jose'
import { LRUCache } from 'lru-cache'
import { isCleanText } from '../../base/address/characters'
import { config } from '../../base/config'
import { sharedTime } from '../../base/db/shared-time'
import { checkUrl } from '../../base/net/destination'
import { ask, faultOf } from '../../delivery/webhooks/ask'

const TIMEOUT_MS = 5000
const MOST_BYTES = 256 * 1024
const KEYS_KEPT_MS = 3_600_000
/** An unknown key is looked for once in this time. */
const KEYS_PAUSE_MS = 60_000
const LEEWAY_S = 60
const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519']

/** The parts of a provider that signing in by it needs. */
export type Provider = { organization_id: string; issuer: string; client_id: string; client_secret: string | null }

type Metadata = {
  issuer: string
  authorization_endpoint: string
  token_endpoint: string
  jwks_uri: string
  takes_basic: boolean
}

/** Signals that a provider does not answer, or not as it should. Its message is for the log. */
export class ProviderError extends Error {}

/**
 * By organization, so that what one has configured says nothing to others. One entry each, and of an answer only what
 * is needed: a hostile provider must not fill the memory.
 */
const known = new LRUCache<string, Metadata>({ max: 1000, ttl: KEYS_KEPT_MS })
type KeySet = { jwks_uri: string; keys: ReturnType<typeof createRemoteJWKSet> }
const key_sets = new LRUCache<string, KeySet>({ max: 1000, ttl: 24 * KEYS_KEPT_MS })
const MOST_KEYS = 50
/** Characters of a key; an RSA key of 8,192 bits has 1,400. */
const LONGEST_KEY = 4096

type Named = Pick<Provider, 'organization_id' | 'issuer'>

/** Returns what a provider says of itself, as it said in the last hour. @throws ProviderError */
export async function metadataOf(provider: Named): Promise<Metadata> {
  const found = known.get(provider.organization_id)
  return found?.issuer === provider.issuer ? found : discover(provider)
}

/** Asks a provider what it says of itself (OpenID Connect Discovery). @throws ProviderError */
export async function discover(provider: Named): Promise<Metadata> {
  const { issuer, organization_id } = provider
  const answer = await asked(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`, { method: 'GET' })
  const found = (await objectOf(answer)) as Record<string, unknown>
  if (found.issuer !== issuer) throw new ProviderError('another issuer')
  const { authorization_endpoint, token_endpoint, jwks_uri, token_endpoint_auth_methods_supported: methods } = found
  for (const url of [authorization_endpoint, token_endpoint, jwks_uri]) {
    if (typeof url !== 'string' || checkUrl(url)) throw new ProviderError('an endpoint is missing')
  }
  const endpoints = { authorization_endpoint, token_endpoint, jwks_uri } as Omit<Metadata, 'issuer' | 'takes_basic'>
  const takes_basic = !Array.isArray(methods) || methods.includes('client_secret_basic')
  const metadata = { issuer, ...endpoints, takes_basic }
  known.set(organization_id, metadata)
  return metadata
}

/** Exchanges a code for the claims of the ID token. @throws ProviderError */
export async function exchangeCode(
  provider: Provider,
  given: { code: string; redirect_uri: string; code_verifier: string; nonce: string },
): Promise<JWTPayload & { sub: string }> {
  const metadata = await metadataOf(provider)
  const { client_id, client_secret } = provider
  const { code, redirect_uri, code_verifier, nonce } = given
  const form = new URLSearchParams({ grant_type: 'authorization_code', code, redirect_uri, code_verifier })
  const headers: Record<string, string> = { 'content-type': 'application/x-www-form-urlencoded' }
  if (client_secret !== null && metadata.takes_basic) {
    const pair = [client_id, client_secret]
      .map((text) => new URLSearchParams([['', text]]).toString().slice(1))
      .join(':')
    headers.authorization = `Basic ${Buffer.from(pair).toString('base64')}`
  } else {
    form.set('client_id', client_id)
    if (client_secret !== null) form.set('client_secret', client_secret)
  }
  const answer = await asked(metadata.token_endpoint, { method: 'POST', headers, body: form.toString() })
  const { id_token } = (await objectOf(answer)) as { id_token?: unknown }
  if (typeof id_token !== 'string') throw new ProviderError('no ID token')
  const claims = await verifyToken(provider, id_token)
  if (claims.nonce !== nonce) throw new ProviderError('another nonce')
  if (claims.sub === undefined) throw new ProviderError('no subject')
  return claims as JWTPayload & { sub: string }
}

/**
 * Checks the signature, issuer, audience and times of a token of the provider.
 * @throws ProviderError
 */
export async function verifyToken(provider: Provider, token: string): Promise<JWTPayload> {
  const { issuer, client_id } = provider
  const { jwks_uri } = await metadataOf(provider)
  const now = new Date(sharedTime())
  const { payload } = await jwtVerify(token, keysOf(provider, jwks_uri), {
    issuer,
    audience: client_id,
    algorithms: ALGORITHMS,
    clockTolerance: LEEWAY_S,
    currentDate: now,
    requiredClaims: ['iat', 'exp'],
  }).catch((error) => {
    throw error instanceof ProviderError ? error : new ProviderError(String(error?.code ?? 'a wrong token'))
  })
  const { aud, azp, iat, sub, sid } = payload
  if (Array.isArray(aud) && aud.length > 1 && azp !== client_id) throw new ProviderError('another party')
  if (azp !== undefined && azp !== client_id) throw new ProviderError('another party')
  if (typeof iat !== 'number' || iat * 1000 > now.getTime() + LEEWAY_S * 1000)
    throw new ProviderError('from the future')
  if (sub !== undefined && !isName(sub)) throw new ProviderError('no subject')
  if (typeof sid === 'string' && !isName(sid)) throw new ProviderError('no session')
  return payload
}

/** Tells if it can be stored as the name of a person or a session. */
function isName(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && value.length <= 255 && isCleanText(value)
}

function keysOf({ organization_id }: Provider, jwks_uri: string): KeySet['keys'] {
  const kept = key_sets.get(organization_id)
  const found = kept?.jwks_uri === jwks_uri ? kept : { jwks_uri, keys: fetchedKeys(jwks_uri) }
  key_sets.set(organization_id, found)
  return found.keys
}

function fetchedKeys(jwks_uri: string): KeySet['keys'] {
  return createRemoteJWKSet(new URL(jwks_uri), {
    cacheMaxAge: KEYS_KEPT_MS,
    cooldownDuration: KEYS_PAUSE_MS,
    timeoutDuration: TIMEOUT_MS,
    [customFetch]: async (url) => {
      const { keys } = (await objectOf(await asked(url, { method: 'GET' }))) as { keys?: unknown }
      const given: unknown[] = Array.isArray(keys) ? keys : []
      return Response.json({ keys: given.flatMap(parsedKey).slice(0, MOST_KEYS) })
    },
  })
}

/** Takes of a key what checking a signature needs. @returns nothing for what is no such key */
function parsedKey(given: unknown): [Record<string, unknown>] | [] {
  if (typeof given !== 'object' || given === null) return []
  const { kty, kid, alg, use, crv, n, e, x, y } = given as Record<string, unknown>
  const key = { kty, kid, alg, use, crv, n, e, x, y }
  const texts = Object.values(key).filter((value) => value !== undefined)
  const is_key = typeof kty === 'string' && texts.every((value) => typeof value === 'string')
  return is_key && texts.join('').length <= LONGEST_KEY ? [key] : []
}

/** @returns the answer with its whole body @throws ProviderError also for another status than 200 */
async function asked(url: string, request: Parameters<typeof ask>[1]): Promise<Response> {
  const ca = await trustedAuthority()
  const limits = { allowed: config.IDENTITY_ALLOWED_NETWORKS, ca, timeout_ms: TIMEOUT_MS, most_bytes: MOST_BYTES }
  const { status, body } = await ask(url, request, limits).catch((error) => {
    throw new ProviderError(faultOf(error))
  })
  if (status !== 200) throw new ProviderError(`status ${status}`)
  return new Response(body.toString(), { headers: { 'content-type': 'application/json' } })
}

async function objectOf(answer: Response): Promise<object> {
  const value = await answer.json().catch(() => undefined)
  if (typeof value !== 'object' || value === null) throw new ProviderError('no JSON')
  return value
}

const authorities = new Map<string, Promise<string>>()

function trustedAuthority(): Promise<string> | undefined {
  const file = config.IDENTITY_CA_FILE
  if (!file) return undefined
  const authority = authorities.get(file) ?? readFile(file, 'utf8')
  authorities.set(file, authority)
  return authority
}
