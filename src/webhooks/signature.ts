/** The headers of a webhook delivery: the interface's five, and those of Standard Webhooks beside them. */
import { createHmac } from 'node:crypto'

/**
 * The headers of one attempt (interface, section Events; decisions, section 8; standardwebhooks.com).
 * Without a secret there are no signatures, nor the two Standard Webhooks headers that only mean something with one.
 * @param delivery.secrets the webhook's secrets, the newest first: the interface's header has room for that one only,
 *   the standard's for all
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

/** The standard's secrets are `whsec_` and base64; any other secret is taken as its bytes. */
function standardKey(secret: string): Uint8Array {
  return secret.startsWith('whsec_') ? Buffer.from(secret.slice('whsec_'.length), 'base64') : Buffer.from(secret)
}
