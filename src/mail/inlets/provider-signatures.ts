/** Judges the signatures of providers. All comparisons take the same time, whatever is wrong. */
import { createHash, createHmac, createVerify, timingSafeEqual, type Verify } from 'node:crypto'
import { readPublicKey } from './model'

/** Providers try again for hours. */
const MOST_AGE_S = 24 * 3600

/** Tells whether a request has this `user:password` (RFC 7617). */
export function hasBasic({ headers }: Request, user_password: string): boolean {
  const [, given = ''] = /^Basic +([A-Za-z0-9+/=_-]+)\s*$/i.exec(headers.get('authorization') ?? '') ?? []
  return isSame(Buffer.from(given, 'base64'), Buffer.from(user_password))
}

/** Tells whether the form of Mailgun is signed with the key, within 24 hours: HMAC-SHA256 of timestamp and token. */
export function isSignedByMailgun(field: (name: string) => string | undefined, key: string): boolean {
  const [timestamp = '', token = '', signature = ''] = ['timestamp', 'token', 'signature'].map(field)
  if (!/^\d{1,12}$/.test(timestamp) || token === '') return false
  const right = createHmac('sha256', key)
    .update(timestamp + token)
    .digest('hex')
  const is_signed = isSame(Buffer.from(signature.toLowerCase()), Buffer.from(right))
  return is_signed && Math.abs(Date.now() / 1000 - Number(timestamp)) <= MOST_AGE_S
}

/** Begins to verify a request of SendGrid: its bytes are to be given to `update`. */
export function verifyOfSendgrid({ headers }: Request): Verify {
  return createVerify('sha256').update(headers.get('x-twilio-email-event-webhook-timestamp') ?? '')
}

/** Tells whether the bytes that `verify` was given have the signature of the request (ECDSA with SHA-256). */
export function isSignedBySendgrid({ headers }: Request, verify: Verify, public_key: string): boolean {
  const [signature, key] = [headers.get('x-twilio-email-event-webhook-signature'), readPublicKey(public_key)]
  if (!signature || !key) return false
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
