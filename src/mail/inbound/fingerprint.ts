/** Recognizes a message however often it is delivered. */
import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { addressKey } from '../../base/address/email'
import { LAST_ID, timeOfId } from '../../base/db/columns'
import type { Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { firstIdAt } from '../../base/shapes/ids'
import type { MailHeaders } from '../parse/parse'
import { areWithin } from '../parse/same-text'

export type Fingerprint = {
  text: string
  /** The fingerprint by the Message-ID alone, which older releases wrote; null without one. */
  former: string | null
  /** Only the content tells it from the next message, and devices send the same words again and again. */
  is_brief: boolean
  /**
   * Tells texts and files under one Message-ID apart; null without an id, because then the fingerprint is theirs, too.
   */
  words: string | null
  is_dated: boolean
  /** Names the sender in the fingerprints that count its repeats: see `repeatOf`. */
  repeats: string
}

/** Says of a message that its fingerprint is known: it is the same again, or has another text or other files. */
export type Filed = 'again' | 'with another text'

/** A brief fingerprint holds for so long: in this time a server sends again what it got no reply for. */
const BRIEF_HOURS = 1
/** Other texts without a date that are taken under one Message-ID. */
const MAX_UNDATED_TEXTS = 5
/** Texts that are remembered under one Message-ID: the latest. */
const MAX_TEXTS = 50
/**
 * Other texts of a sender that are filed in an hour, whatever their Message-IDs. What goes in a circle, and changes on
 * the way, ends there.
 */
const MAX_REPEATS = 20
const HOUR_MS = 3_600_000

/**
 * The key is Message-ID, sender and date. The id alone is not unique: devices reuse it and strangers can copy it.
 * Without an id the rest of the header and the body stand in for it. Other header fields are left out, because relays
 * add theirs on the way. A report and other mail always differ, because reports are not shown.
 * @param parsed null when the message could not be parsed
 */
export function fingerprintOf(
  headers: MailHeaders,
  raw: Uint8Array,
  parsed: { digest: string; is_report: boolean } | null,
  sender?: { name: string; email: string },
): Fingerprint {
  const { message_id, subject, date, to, cc, in_reply_to, references } = headers
  const hash = createHash('sha256')
  const sender_key = sender && addressKey(sender.email)
  const content = [sender?.name, subject, to, cc, in_reply_to, references]
  const kind = parsed?.is_report ? ['report'] : []
  hash.update(JSON.stringify([sender_key, date, ...kind, ...(message_id ? [] : content)]))
  const body = raw.subarray(bodyStart(raw))
  if (!message_id) hash.update(body)
  const digest = hash.digest('hex')
  return {
    text: message_id ? `id:${message_id} ${digest}` : `sha256:${digest}`,
    former: message_id && `id:${message_id}`,
    is_brief: !message_id && !date,
    words: message_id && (parsed?.digest ?? createHash('sha256').update(body).digest('base64url').slice(0, 22)),
    is_dated: date !== null,
    repeats: `repeat:${createHash('sha256')
      .update(sender_key ?? '')
      .digest('hex')}`,
  }
}

/** The parts of a message that are compared. */
type Asked = {
  id: string
  fingerprint: Fingerprint
  headers: MailHeaders
  content: { text: string } | null
  sender_verified: boolean | null
  is_released: boolean
}

type Found = { place: number; words: string[] | null; from_list: boolean; body: string | null; is_held: boolean }

/**
 * Finds those of the messages whose fingerprints the organization has filed. Lists add words to what they pass on: with
 * a copy from a list the text of one need only be part of the other. What came in a forged name before hides nothing,
 * and what is held hides only what would be held, too. Nobody has seen the words of a released message: only other
 * texts under its id are known.
 * @returns what is known of them, by their places in the list, and the places of those that are held already
 */
export async function findFiled(
  { sql, organization_id }: Scope,
  mails: Asked[],
): Promise<{ filed: Map<number, Filed>; held: Set<number> }> {
  const rows = mails.map(({ id, fingerprint, headers, sender_verified }, place) => ({
    id,
    place,
    from_list: headers.list !== null,
    is_forged: sender_verified === false,
    ...fingerprint,
    held: heldAs(fingerprint.text),
  }))
  const found = await sql<Found[]>`
    select g.place, f.words, f.from_list, m.body, f.fingerprint = g.held as is_held
    from json_to_recordset(${JSON.stringify(rows)}::text::json)
      as g (id uuid, place integer, text text, former text, held text, is_brief boolean, words text, from_list boolean,
        is_forged boolean)
    join inbound_fingerprints f on f.organization_id = ${organization_id} and f.fingerprint in (g.text, g.former, g.held)
    left join inbound_messages i on i.organization_id = ${organization_id} and i.id = f.inbound_message_id
    left join messages m on m.organization_id = ${organization_id} and m.id = i.message_id
      and (g.from_list or f.from_list) and g.words <> all(f.words)
    where (not g.is_brief or uuid_time(f.inbound_message_id) > now() - ${BRIEF_HOURS} * interval '1 hour')
      and (g.is_forged or i.sender_verified is not false)
      and (f.inbound_message_id <> g.id or cardinality(f.words) > 1)`
  const [filed, held] = [new Map<number, Filed>(), new Set<number>()]
  for (const one of found) {
    const mail = mails[one.place]!
    const result = await compare(mail, one)
    if (one.is_held && result === 'again') held.add(one.place)
    if (result && !one.is_held) filed.set(one.place, mail.is_released ? 'with another text' : result)
  }
  return { filed, held }
}

/** @param found what releases before did not note the words of is the same message, whatever its text */
async function compare({ fingerprint, headers, content }: Asked, found: Found): Promise<Filed | null> {
  const { words, is_dated } = fingerprint
  if (words === null || found.words === null || found.words.includes(words)) return 'again'
  if ((headers.list !== null || found.from_list) && found.body !== null) {
    // Two texts of a million characters take 80 ms of a processor: other work runs between those of a set.
    await setImmediate()
    if (areWithin(content?.text ?? '', found.body)) return 'again'
  }
  // A device without a clock has one id for all that it says.
  return is_dated || found.words.length <= MAX_UNDATED_TEXTS ? 'with another text' : null
}

/**
 * Says how many other texts of their senders may still be filed beside each of the messages: in the hour before it, and
 * since. @returns the numbers by the places in the list
 */
export async function findRoomForRepeats(scope: Scope, mails: Asked[], filed: Map<number, Filed>): Promise<number[]> {
  const { sql, organization_id } = scope
  if (filed.size === 0) return []
  const asked = mails.map(({ id, fingerprint: { repeats } }) => ({
    first: repeatOf({ repeats, id: firstIdAt(Date.parse(timeOfId(id)) - HOUR_MS) }).fingerprint,
    last: repeatOf({ repeats, id: LAST_ID }).fingerprint,
  }))
  const rows = await sql<{ n: number }[]>`
    select (
      select count(*) from (
        select from inbound_fingerprints f
        where f.organization_id = ${organization_id} and f.fingerprint between g.first and g.last
        limit ${MAX_REPEATS}
      ) repeats
    )::integer as n
    from rows from (json_to_recordset(${JSON.stringify(asked)}::text::json) as (first text, last text))
      with ordinality as g (first, last, place)
    order by g.place`
  return rows.map(({ n }) => MAX_REPEATS - n)
}

/** The fingerprint that counts a filed message as a repeat. Those of one sender are in the order of their time. */
export function repeatOf<T extends { repeats: string; id: string }>(message: T) {
  return { ...message, fingerprint: `${message.repeats} ${message.id}`, words: null, from_list: false }
}

/** The fingerprint under which a message that is held is known. */
export function heldAs(text: string): string {
  return `held:${text}`
}

/** The fingerprint of a message that is filed once more: it gets the words of the message. */
export function mergeFingerprints({ sql }: Pick<Scope, 'sql'>): Fragment {
  const n = sql`cardinality(inbound_fingerprints.words)`
  return sql`
    on conflict (organization_id, fingerprint) do update set inbound_message_id = excluded.inbound_message_id,
      from_list = inbound_fingerprints.from_list or excluded.from_list,
      words = inbound_fingerprints.words[greatest(${n} + 2 - ${MAX_TEXTS}, 1):${n}] || excluded.words`
}

function bodyStart(raw: Uint8Array): number {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  const crlf = bytes.indexOf('\r\n\r\n')
  const lf = bytes.indexOf('\n\n')
  return Math.max(0, crlf >= 0 && (lf < 0 || crlf < lf) ? crlf : lf)
}
