/**
 * Keeps an answer from being filed before the message that it answers, its parent. Several messages of an organization
 * are filed at a time, and a large parent takes longer than a short answer.
 */
import { LRUCache } from 'lru-cache'
import { storage } from '../../attachments/storage'
import { log, safeError } from '../../log'
import type { Scope } from '../../scope'
import { readHeaders } from '../parse/parse'
import { decide } from './decide'
import type { InboundMail } from './message'

/** Older messages whose headers are looked at: more wait only when many of them fail. */
const MOST = 50
/** Bytes of an original that are read to find its Message-ID. */
const HEADER_BYTES = 65_536
/** The time that a message waits for a parent that fails. */
const MOST_WAIT_S = 120
/** A message that was leased more often without an outcome seems to kill its workers. */
const LEASES_MOST = 2

/** Message-IDs of messages that wait, by the storage keys of their originals; false without one. */
const known_ids = new LRUCache<string, string | false>({ max: 10_000 })

/**
 * True when a message would start a ticket although its parent got a 250 before it and is still to be filed. Only older
 * messages are waited for, so that no two wait for each other.
 */
export async function overtakesParent(scope: Scope, mail: InboundMail): Promise<boolean> {
  const { in_reply_to, references } = mail.headers
  const wanted = new Set([...in_reply_to, ...references])
  if (wanted.size === 0) return false
  const keys = await findOlder(scope, mail.id)
  if (keys.length === 0) return false
  const pending = await Promise.all(keys.map(findMessageId))
  if (!pending.some((message_id) => message_id && wanted.has(message_id))) return false
  return (await decide(scope, mail)).outcome === 'ticket'
}

/**
 * Finds the originals of older messages that are still to be filed. Those that were not tried yet come in their turn,
 * however long the backlog is. Those that fail may do so without end, so they count for a while only.
 */
async function findOlder({ sql, organization_id }: Scope, id: string): Promise<string[]> {
  const rows = await sql<{ storage_key: string }[]>`
    select m.storage_key from inbound_messages m
    join outbox o on o.organization_id = m.organization_id and o.id = m.id
    where m.organization_id = ${organization_id} and m.outcome = 'pending' and m.id < ${id}
      and m.storage_key is not null
      and (
        o.attempts = 0 and o.claims <= ${LEASES_MOST}
        or uuid_time(${id}::uuid) > now() - ${MOST_WAIT_S} * interval '1 second'
      )
    order by o.attempts > 0, m.id desc
    limit ${MOST}`
  return rows.map(({ storage_key }) => storage_key)
}

async function findMessageId(storage_key: string): Promise<string | false> {
  const known = known_ids.get(storage_key)
  if (known !== undefined) return known
  try {
    const header = await storage().open(storage_key, { start: 0, end: HEADER_BYTES - 1 })
    const { message_id } = readHeaders(await new Response(header).bytes())
    known_ids.set(storage_key, message_id ?? false)
    return message_id ?? false
  } catch (error) {
    // An original that cannot be read now must not keep others from being filed.
    log.warn({ storage_key, error: safeError(error) }, 'the header of an email that waits cannot be read')
    return false
  }
}
