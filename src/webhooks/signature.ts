/** Signs deliveries: makes the service's five headers, and those of Standard Webhooks (standardwebhooks.com). */
import { createHmac } from 'node:crypto'

/**
 * Makes the headers of one attempt. `X-Service-Signature` is an HMAC-SHA256 of the body; `webhook-signature` signs id,
 * time of the attempt and body, so that an old request cannot be replayed. Without a secret there are no signatures,
 * and none of the Standard Webhooks headers.
 * @param delivery.secrets the webhook's secrets, the newest first: `X-Service-Signature` has room for that one only,
 *   `webhook-signature` for all
 * @param delivery.timestamp the event's time, the same text as in the body
 * @param delivery.body exactly what is sent
 * @param delivery.now the time of this attempt
 */
export function signatureHeaders(delivery: {
  secrets: string[]
  delivery_id: string
  event: string
  timestamp: string
  body: string | Uint8Array
  now: Date
}): Record<string, string> {
  const { secrets, delivery_id, event, timestamp, body, now } = delivery
  const headers = {
    'content-type': 'application/json',
    'x-service-event': event,
    'x-service-delivery': delivery_id,
    'x-service-timestamp': timestamp,
  }
  const [newest] = secrets
  if (newest === undefined) return headers

  const attempted_at = String(Math.floor(now.getTime() / 1000))
  const standard = secrets.map((secret) => {
    const hmac = createHmac('sha256', standardKey(secret)).update(`${delivery_id}.${attempted_at}.`)
    return `v1,${hmac.update(body).digest('base64')}`
  })
  return {
    ...headers,
    'x-service-signature': `sha256=${createHmac('sha256', newest).update(body).digest('hex')}`,
    'webhook-id': delivery_id,
    'webhook-timestamp': attempted_at,
    'webhook-signature': standard.join(' '),
  }
}

/** The key is what follows `whsec_` in base64, as the standard has it; of any other secret it is the bytes. */
function standardKey(secret: string): Uint8Array {
  return secret.startsWith('whsec_') ? Buffer.from(secret.slice('whsec_'.length), 'base64') : Buffer.from(secret)
}
