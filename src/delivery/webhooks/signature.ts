/** Signs deliveries: makes the service's six headers, and those of Standard Webhooks (standardwebhooks.com). */
import { createHmac } from 'node:crypto'

/** Begins a secret of Standard Webhooks. */
const PREFIX = 'whsec_'
/** The standard asks for 24 to 64 bytes. */
const MIN_KEY_BYTES = 24

/**
 * Makes the headers of one attempt. `X-Service-Signature` is an HMAC-SHA256 of the body; `webhook-signature` signs id,
 * time of the attempt and body, so that an old request cannot be replayed. Without a secret there are no signatures,
 * and none of the Standard Webhooks headers; nor are there any for secrets without a key, such as `whsec_` alone.
 * @param delivery.secrets the webhook's secrets, the newest first: `X-Service-Signature` has room for that one only,
 *   `webhook-signature` for all
 * @param delivery.timestamp the event's time, the same text as in the body
 * @param delivery.body exactly what is sent
 * @param delivery.now the time of this attempt
 */
export function signatureHeaders(delivery: {
  secrets: string[]
  delivery_id: string
  event_id: string
  event: string
  timestamp: string
  body: string | Uint8Array
  now: Date
}): Record<string, string> {
  const { secrets, delivery_id, event_id, event, timestamp, body, now } = delivery
  const headers = {
    'content-type': 'application/json',
    'x-service-event': event,
    'x-service-event-id': event_id,
    'x-service-delivery': delivery_id,
    'x-service-timestamp': timestamp,
  }
  const [newest] = secrets
  if (newest === undefined) return headers

  const own = { ...headers, 'x-service-signature': `sha256=${createHmac('sha256', newest).update(body).digest('hex')}` }
  const attempted_at = String(Math.floor(now.getTime() / 1000))
  const standard = secrets
    .map(standardKey)
    // Anybody can sign with the empty key. Secrets of before `isSigningSecret` may stand for it.
    .filter((key) => key.length > 0)
    .map((key) => {
      const hmac = createHmac('sha256', key).update(`${delivery_id}.${attempted_at}.`)
      return `v1,${hmac.update(body).digest('base64')}`
    })
  if (standard.length === 0) return own
  return {
    ...own,
    'webhook-id': delivery_id,
    'webhook-timestamp': attempted_at,
    'webhook-signature': standard.join(' '),
  }
}

/** The key is what follows `whsec_` in base64, as the standard has it; of any other secret it is the bytes. */
function standardKey(secret: string): Uint8Array {
  return secret.startsWith(PREFIX) ? Buffer.from(secret.slice(PREFIX.length), 'base64') : Buffer.from(secret)
}

/**
 * Tells if a new secret makes a key: after `whsec_` stands the base64 of at least 24 bytes. Others are taken as they
 * are.
 */
export function isSigningSecret(secret: string): boolean {
  if (!secret.startsWith(PREFIX)) return true
  const key = standardKey(secret)
  return key.length >= MIN_KEY_BYTES && Buffer.from(key).toString('base64') === secret.slice(PREFIX.length)
}
