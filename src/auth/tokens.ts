/** Access tokens (JWT, RFC 7519) and refresh tokens: the only file that makes and checks them. */
import { createHash, randomBytes } from 'node:crypto'
import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose'
import { LRUCache } from 'lru-cache'
import { config } from '../config'
import { ApiError } from '../errors'
import { keysOf } from '../secrets'
import { isUuid } from '../shapes/ids'

/** Claims of an access token about its user: `org_id` is the first organization, `role` the role there. */
export type Claims = { sub: string; email: string; org_id: string; role: string }

/** The claims of a valid token, and what it says of itself. */
type VerifiedClaims = Claims & { iat: number; exp: number; jti?: string }

/** Claims, with the session that the token belongs to; null in tokens of a release without sessions. */
type SessionClaims = VerifiedClaims & { session_id: string | null }

/** HS256 and nothing else: a token that names another algorithm is not valid. */
const ALGORITHM = 'HS256'

/** Tokens that were verified before. Checking a signature takes 33 to 50 µs; this look-up 4. */
const verified = new LRUCache<string, SessionClaims>({ max: 10_000 })

/** Signs an access token that is valid for ACCESS_TOKEN_SECONDS. Its id (`jti`) begins with that of its session. */
export function signAccessToken(claims: Claims, session_id: string): Promise<string> {
  return new SignJWT({ ...claims, jti: `${session_id}.${randomBytes(9).toString('base64url')}` })
    .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
    .setIssuedAt()
    .setExpirationTime(`${config.ACCESS_TOKEN_SECONDS}s`)
    .sign(accessKeys()[0]!)
}

/**
 * Reads the claims of a valid access token.
 * @throws TOKEN_EXPIRED, INVALID_TOKEN
 */
export async function verifyAccessToken(token: string): Promise<SessionClaims> {
  const known = verified.get(token)
  if (known) {
    if (known.exp * 1000 > Date.now()) return known
    verified.delete(token)
    throw new ApiError('TOKEN_EXPIRED')
  }
  const claims = await verifyWithAnyKey(token)
  const [session_id = ''] = claims.jti?.split('.') ?? []
  const known_session = claims.jti?.includes('.') && isUuid(session_id) ? session_id : null
  const session_claims = { ...claims, session_id: known_session }
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

/** The keys, newest first: the first signs, all verify. The secret of the HMAC is a key's hexadecimal text. */
function accessKeys(): Uint8Array[] {
  return keysOf('access-token').map((key) => new TextEncoder().encode(key.toString('hex')))
}

async function verifyWithAnyKey(token: string): Promise<VerifiedClaims> {
  for (const key of accessKeys()) {
    try {
      const { payload } = await jwtVerify<Claims>(token, key, { algorithms: [ALGORITHM] })
      if (isComplete(payload)) return payload
      break
    } catch (error) {
      if (error instanceof errors.JWTExpired) throw new ApiError('TOKEN_EXPIRED')
    }
  }
  throw new ApiError('INVALID_TOKEN')
}

function isComplete(payload: Claims & JWTPayload): payload is VerifiedClaims {
  return (
    isUuid(String(payload.sub)) &&
    isUuid(String(payload.org_id)) &&
    typeof payload.exp === 'number' &&
    typeof payload.iat === 'number'
  )
}
