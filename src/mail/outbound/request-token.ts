/**
 * Asks for an access token (RFC 6749 sections 4.4 and 6). `openid-client` is not used: its requests would have to go
 * through the guarded dial of webhooks, and one form is all that it would send.
 */
import { networksAt } from '../../base/address/networks'
import { storable } from '../../base/shapes/fold'
import { ask, faultOf } from '../../delivery/webhooks/ask'
import { sendOptions } from './settings'

/** How a mailbox gets its tokens, in plain text. */
export type TokenSettings = {
  grant: 'client_credentials' | 'refresh_token'
  token_url: string
  client_id: string
  scope: string | null
  client_secret: string | null
  refresh_token: string | null
}

type Token = {
  access_token: string
  /** For how long it is used. */
  used_s: number
  /** The one to ask with from now on; null: as before. */
  refresh_token: string | null
}

/** Says that there is no token to sign in with. `fault` is for people and holds no secrets. */
export class TokenError extends Error {
  readonly fault: string

  constructor(fault: string) {
    super(fault)
    this.fault = `token: ${fault}`
  }
}

const TIMEOUT_MS = 10_000
const MOST_BYTES = 64 * 1024
const USED_S = 3600
/** No token is used in the last minute of its life. */
const LEFT_S = 60
const MOST_USED_S = 86_400
/** Characters that can stand in a header: none would end it. A longer one makes too long a line for servers. */
const TOKEN = /^[\x21-\x7e]{1,8192}$/
const DETAIL_LENGTH = 300

/** @throws TokenError */
export async function requestToken(settings: TokenSettings): Promise<Token> {
  const { grant, token_url, client_id, scope, client_secret, refresh_token } = settings
  if (grant === 'refresh_token' && refresh_token === null) throw new TokenError('the mailbox has no refresh token')
  const form = new URLSearchParams({ grant_type: grant, client_id })
  if (scope) form.set('scope', scope)
  if (client_secret !== null) form.set('client_secret', client_secret)
  if (grant === 'refresh_token') form.set('refresh_token', refresh_token!)
  const { status, body } = await post(token_url, form.toString())
  const answer = objectOf(body)
  if (status !== 200) throw new TokenError(detailOf(status, answer, settings))
  const { access_token, expires_in, refresh_token: next } = answer
  if (typeof access_token !== 'string' || !TOKEN.test(access_token)) throw new TokenError('there is none in the answer')
  const is_new = grant === 'refresh_token' && typeof next === 'string' && TOKEN.test(next) && next !== refresh_token
  return { access_token, used_s: usedFor_s(expires_in), refresh_token: is_new ? next : null }
}

async function post(url: string, body: string) {
  const { allowed, ca } = sendOptions()
  const port = Number(new URL(url).port) || 443
  const limits = { allowed: networksAt(port, allowed), ca, timeout_ms: TIMEOUT_MS, most_bytes: MOST_BYTES }
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  return ask(url, { method: 'POST', headers, body }, limits).catch((error) => {
    throw new TokenError(faultOf(error))
  })
}

function objectOf(body: Buffer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body.toString())
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

/** Says what the server says of itself: the words of RFC 6749 section 5.2, without the secrets that it was sent. */
function detailOf(status: number, answer: Record<string, unknown>, settings: TokenSettings): string {
  const words = [answer.error, answer.error_description].filter((word) => typeof word === 'string').join(': ')
  const said = [settings.client_secret, settings.refresh_token]
    .filter((secret) => secret !== null)
    .reduce((text, secret) => text.replaceAll(secret, '***'), words)
  const detail = storable(said.replace(/[\p{Cc}\s]+/gu, ' '), DETAIL_LENGTH)
  return detail ? `the server answers ${status} ${detail}` : `the server answers ${status}`
}

function usedFor_s(expires_in: unknown): number {
  const seconds = typeof expires_in === 'number' || typeof expires_in === 'string' ? Number(expires_in) : Number.NaN
  if (!Number.isFinite(seconds) || seconds <= 0) return USED_S
  return Math.min(Math.max(seconds - LEFT_S, 0), MOST_USED_S)
}
