/** Access tokens (JWT, RFC 7519) and refresh tokens: the only file that makes and checks them. */
import { createHash, randomBytes } from 'node:crypto'
import { jwt } from '@elysiajs/jwt'
import { type Static, Type } from '@sinclair/typebox'
import { LRUCache } from 'lru-cache'
import { config } from '../../base/config'
import { isCorrected, sharedTime } from '../../base/db/shared-time'
import { ApiError } from '../../base/errors'
import { keysOf } from '../../base/secrets'
import { Uuid } from '../../base/shapes/answers'
import { isUuid } from '../../base/shapes/ids'

/** Claims of an access token about its user: `org_id` is the first organization, `role` the role there. */
export type Claims = { sub: string; email: string; org_id: string; role: string }

/** The claims of a token, and what it says of itself. */
const TOKEN = Type.Object({
  sub: Uuid,
  email: Type.String(),
  org_id: Uuid,
  role: Type.String(),
  iat: Type.Number(),
  exp: Type.Number(),
  jti: Type.Optional(Type.String()),
  // The time of the database, from a process whose own clock was wrong: `iat` follows that clock.
  issued_s: Type.Optional(Type.Number()),
})
type VerifiedClaims = Static<typeof TOKEN>

/** The session that a token belongs to; null in tokens of a release without sessions. */
type TokenSession<Id = string | null> = { session_id: Id; is_from_provider: boolean }
type SessionClaims = VerifiedClaims & TokenSession

/** HS256 and nothing else: a token that names another algorithm is not valid. */
const ALGORITHM = 'HS256'

/** Stands in the id of a token whose session is of an identity provider. */
const FROM_PROVIDER = 'provider'

/** How far the clocks of two processes may differ: a token from further ahead was not made by a process of ours. */
const CLOCK_SKEW_MS = 60_000

/** @param secret of its text the bytes are the key */
const makeSigner = (secret: string) => ({ secret, ...jwt({ secret, alg: ALGORITHM, schema: TOKEN }).decorator.jwt })
let known_signer: ReturnType<typeof makeSigner> | undefined

/** Tokens that were verified before. Checking a signature takes 33 to 50 µs; this look-up 4. */
const verified = new LRUCache<string, SessionClaims>({ max: 10_000 })

/**
 * Signs an access token that is valid for ACCESS_TOKEN_SECONDS. Its id (`jti`) begins with that of its session, and
 * says whether the session is of an identity provider.
 */
export function signAccessToken(claims: Claims, session_id: string, is_from_provider = false): Promise<string> {
  const issued_s = Math.floor(sharedTime() / 1000)
  const begin = is_from_provider ? `${session_id}.${FROM_PROVIDER}` : session_id
  return signer().sign({
    ...claims,
    jti: `${begin}.${randomBytes(9).toString('base64url')}`,
    exp: issued_s + config.ACCESS_TOKEN_SECONDS,
    ...(isCorrected() && { issued_s }),
  })
}

/** Makes the answer that holds an access token. */
export async function accessTokenFor(claims: Claims, { session_id, is_from_provider }: TokenSession<string>) {
  return {
    access_token: await signAccessToken(claims, session_id, is_from_provider),
    token_type: 'bearer' as const,
    expires_in: config.ACCESS_TOKEN_SECONDS,
  }
}

/**
 * Reads the claims of a valid access token.
 * @throws TOKEN_EXPIRED, INVALID_TOKEN
 */
export async function verifyAccessToken(token: string): Promise<SessionClaims> {
  const known = verified.get(token)
  if (known) {
    if (isInTime(known)) return known
    verified.delete(token)
    throw new ApiError('TOKEN_EXPIRED')
  }
  const claims = await verifySignature(token)
  if (!isInTime(claims)) throw new ApiError('TOKEN_EXPIRED')
  const [session_id = '', kind] = claims.jti?.split('.') ?? []
  const known_session = claims.jti?.includes('.') && isUuid(session_id) ? session_id : null
  const session_claims = { ...claims, session_id: known_session, is_from_provider: kind === FROM_PROVIDER }
  verified.set(token, session_claims)
  return session_claims
}

/** Makes the token of a session, an invitation or a password reset: 256 random bits. */
export function newSecretToken(): string {
  return randomBytes(32).toString('base64url')
}

/** Returns what the database stores of such a token: its SHA-256. */
export function hashToken(token: string): Uint8Array {
  return createHash('sha256').update(token).digest()
}

/**
 * Signs and verifies with the hexadecimal text of the present key. A previous key makes and verifies none, because it
 * may have been changed for being known to others. Clients get a new token for their refresh token.
 */
function signer() {
  const secret = keysOf('access-token')[0]!.toString('hex')
  if (known_signer?.secret !== secret) known_signer = makeSigner(secret)
  return known_signer
}

/**
 * Verifies the signature and the form. The tolerance leaves the time to `isInTime`: the plugin has one answer for all
 * faults, and goes by the clock of this machine.
 */
async function verifySignature(token: string): Promise<VerifiedClaims> {
  const payload = await signer().verify(token, { algorithms: [ALGORITHM], clockTolerance: 1e11 })
  if (!payload) throw new ApiError('INVALID_TOKEN')
  const claims = { ...payload, iat: payload.issued_s ?? payload.iat }
  const is_from_future = claims.iat * 1000 >= sharedTime() + CLOCK_SKEW_MS
  // The plugin puts its own schema of `sub` in place of ours: any text.
  if (is_from_future || !isUuid(claims.sub)) throw new ApiError('INVALID_TOKEN')
  return claims
}

/**
 * Tells if a token is younger than ACCESS_TOKEN_SECONDS: the end that it names itself counts only when it is earlier.
 */
function isInTime({ iat, exp }: VerifiedClaims): boolean {
  return Math.min(exp, iat + config.ACCESS_TOKEN_SECONDS) * 1000 > sharedTime()
}
