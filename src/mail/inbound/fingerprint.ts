/** Recognizes a message however often it is delivered. */
import { createHash } from 'node:crypto'
import { addressKey } from '../../address/email'
import type { Scope } from '../../scope'
import type { MailHeaders } from '../parse/parse'

export type Fingerprint = {
  text: string
  /** The fingerprint by the Message-ID alone, which older releases wrote; null without one. */
  former: string | null
  /** Only the content tells it from the next message, and devices send the same words again and again. */
  is_brief: boolean
}

/** A brief fingerprint holds for so long: in this time a server sends again what it got no reply for. */
const BRIEF_HOURS = 1

/**
 * Key = Message-ID + sender + date. The id alone is not unique: devices reuse it and strangers can copy it. Without an id
 * the rest of the header and the body stand in for it, without a date the body. Other header fields are left out, because
 * relays add theirs on the way.
 */
export function fingerprintOf(
  headers: MailHeaders,
  raw: Uint8Array,
  sender?: { name: string; email: string },
): Fingerprint {
  const { message_id, subject, date, to, cc, in_reply_to, references } = headers
  const hash = createHash('sha256')
  const content = [sender?.name, subject, to, cc, in_reply_to, references]
  hash.update(JSON.stringify([sender && addressKey(sender.email), date, ...(message_id ? [] : content)]))
  if (!message_id || !date) hash.update(raw.subarray(bodyStart(raw)))
  const digest = hash.digest('hex')
  return {
    text: message_id ? `id:${message_id} ${digest}` : `sha256:${digest}`,
    former: message_id && `id:${message_id}`,
    is_brief: !message_id && !date,
  }
}

/** Finds those of the messages that the organization has filed. @returns their places in the list */
export async function findFiled({ sql, organization_id }: Scope, fingerprints: Fingerprint[]): Promise<Set<number>> {
  const rows = fingerprints.map((fingerprint, place) => ({ place, ...fingerprint }))
  const found = await sql<{ place: number }[]>`
    select g.place
    from json_to_recordset(${JSON.stringify(rows)}::text::json)
      as g (place integer, text text, former text, is_brief boolean)
    where exists (
      select 1 from inbound_fingerprints f
      where f.organization_id = ${organization_id} and f.fingerprint in (g.text, g.former)
        and (not g.is_brief or uuid_time(f.inbound_message_id) > now() - ${BRIEF_HOURS} * interval '1 hour')
    )`
  return new Set(found.map(({ place }) => place))
}

function bodyStart(raw: Uint8Array): number {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  const crlf = bytes.indexOf('\r\n\r\n')
  const lf = bytes.indexOf('\n\n')
  return Math.max(0, crlf >= 0 && (lf < 0 || crlf < lf) ? crlf : lf)
}
