/** Access and refresh tokens (decisions.md section 3). */
import { createHash, randomBytes } from 'node:crypto'
import { errors, jwtVerify } from 'jose'
import { LRUCache } from 'lru-cache'
import { ApiError } from '../errors'
import { keysOf } from '../secrets'
import { isUuid } from '../shapes/ids'

export type AccessClaims = { sub: string; email: string; org_id: string; role: string; exp: number }

/** Tokens that were verified already: checking a signature costs more than most requests (limits.md 2.4). */
const verified = new LRUCache<string, AccessClaims>({ max: 10_000 })

/** The key that signs access tokens, in the form that @elysiajs/jwt takes. */
export function signingKey(): string {
  return keysOf('access-token')[0]!.toString('hex')
}

/**
 * The claims of a valid access token.
 * @throws TOKEN_EXPIRED, INVALID_TOKEN
 */
export async function verifyAccessToken(token: string): Promise<AccessClaims> {
  const known = verified.get(token)
  if (known) {
    if (known.exp * 1000 > Date.now()) return known
    verified.delete(token)
    throw new ApiError('TOKEN_EXPIRED')
  }
  const claims = await verifyWithAnyKey(token)
  verified.set(token, claims)
  return claims
}

/** A new refresh token: 256 random bits. */
export function newRefreshToken(): string {
  return randomBytes(32).toString('base64url')
}

/** What is stored of a refresh token. */
export function hashToken(token: string): Uint8Array {
  return createHash('sha256').update(token).digest()
}

async function verifyWithAnyKey(token: string): Promise<AccessClaims> {
  for (const key of keysOf('access-token')) {
    try {
      const secret = new TextEncoder().encode(key.toString('hex'))
      const { payload } = await jwtVerify<AccessClaims>(token, secret, { algorithms: ['HS256'] })
      const { sub, org_id, exp } = payload
      if (!isUuid(String(sub)) || !isUuid(String(org_id)) || typeof exp !== 'number') break
      return payload as AccessClaims
    } catch (error) {
      if (error instanceof errors.JWTExpired) throw new ApiError('TOKEN_EXPIRED')
    }
  }
  throw new ApiError('INVALID_TOKEN')
}
