/** What makes a message the same one however often it is delivered. */
import { createHash } from 'node:crypto'
import type { Scope } from '../../scope'
import type { MailHeaders } from '../parse/parse'

export type Fingerprint = {
  text: string
  /** Under which releases that looked at the Message-ID alone have filed it. */
  former: string | null
  /** Nothing but the content tells it from the next one: devices send the same words again and again. */
  is_brief: boolean
}

/** The time in which a sender's server delivers again what it got no answer for. */
const BRIEF_HOURS = 1

/**
 * The Message-ID counts with what no relay changes, because devices use one for ever, and strangers may have used it
 * first; without one the content counts. Relays add header fields on the way, so others are left out.
 * @param sender who wrote the message
 */
export function fingerprintOf(
  headers: MailHeaders,
  raw: Uint8Array,
  sender?: { name: string; email: string },
): Fingerprint {
  const { message_id, subject, date, to, cc, in_reply_to, references } = headers
  const hash = createHash('sha256')
  const content = [sender?.name, subject, to, cc, in_reply_to, references]
  hash.update(JSON.stringify([sender?.email.toLowerCase(), date, ...(message_id ? [] : content)]))
  if (!message_id || !date) hash.update(raw.subarray(bodyStart(raw)))
  const digest = hash.digest('hex')
  return {
    text: message_id ? `id:${message_id} ${digest}` : `sha256:${digest}`,
    former: message_id && `id:${message_id}`,
    is_brief: !message_id && !date,
  }
}

/** Whether the organization has filed the message. */
export async function isFiled(
  { sql, organization_id }: Scope,
  { text, former, is_brief }: Fingerprint,
): Promise<boolean> {
  const found = await sql`
    select from inbound_fingerprints
    where organization_id = ${organization_id} and fingerprint in (${text}, ${former})
      and (not ${is_brief} or uuid_time(inbound_message_id) > now() - ${BRIEF_HOURS} * interval '1 hour')`
  return found.length > 0
}

function bodyStart(raw: Uint8Array): number {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  const crlf = bytes.indexOf('\r\n\r\n')
  const lf = bytes.indexOf('\n\n')
  return Math.max(0, crlf >= 0 && (lf < 0 || crlf < lf) ? crlf : lf)
}
