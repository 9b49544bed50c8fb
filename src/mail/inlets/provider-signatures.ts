/** Judges the signatures of providers. All comparisons take the same time, whatever is wrong. */
import { createHash, createHmac, createVerify, timingSafeEqual, type Verify } from 'node:crypto'
import { readPublicKey } from './model'

/** Providers try again for hours. */
const MOST_AGE_S = 24 * 3600
/** How far the clock of a provider may be ahead. */
const MOST_AHEAD_S = 300

/** Tells whether a request has this `user:password` (RFC 7617). */
export function hasBasic({ headers }: Request, user_password: string): boolean {
  const [, given = ''] = /^Basic +([A-Za-z0-9+/=_-]+)\s*$/i.exec(headers.get('authorization') ?? '') ?? []
  return isSame(Buffer.from(given, 'base64'), Buffer.from(user_password))
}

/** Tells whether the form of Mailgun is signed with the key, within 24 hours: HMAC-SHA256 of timestamp and token. */
export function isSignedByMailgun(field: (name: string) => string | undefined, key: string): boolean {
  const [timestamp = '', token = '', signature = ''] = ['timestamp', 'token', 'signature'].map(field)
  if (!isRecent(timestamp) || token === '') return false
  const right = createHmac('sha256', key)
    .update(timestamp + token)
    .digest('hex')
  return isSame(Buffer.from(signature.toLowerCase()), Buffer.from(right))
}

/** The digits of a timestamp cannot move to what is signed after it: it would be of another century. */
function isRecent(timestamp: string): boolean {
  const age_s = Date.now() / 1000 - Number(timestamp)
  return /^[1-9]\d{0,11}$/.test(timestamp) && age_s <= MOST_AGE_S && age_s >= -MOST_AHEAD_S
}

const SENDGRID_TIMESTAMP = 'x-twilio-email-event-webhook-timestamp'

/** Begins to verify a request of SendGrid: its bytes are to be given to `update`. */
export function verifyOfSendgrid({ headers }: Request): Verify {
  return createVerify('sha256').update(headers.get(SENDGRID_TIMESTAMP) ?? '')
}

/**
 * Tells whether the bytes that `verify` was given have the signature of the request (ECDSA with SHA-256), within 24
 * hours.
 */
export function isSignedBySendgrid({ headers }: Request, verify: Verify, public_key: string): boolean {
  const [signature, key] = [headers.get('x-twilio-email-event-webhook-signature'), readPublicKey(public_key)]
  if (!signature || !key || !isRecent(headers.get(SENDGRID_TIMESTAMP) ?? '')) return false
  try {
    return verify.verify(key, signature, 'base64')
  } catch {
    return false
  }
}

function isSame(given: Uint8Array, right: Uint8Array): boolean {
  const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest()
  return timingSafeEqual(digest(given), digest(right))
}
