/**
 * Keeps an answer from being filed before the message that it answers, its parent. Several messages of an organization
 * are filed at a time, and a large parent takes longer than a short answer.
 */
import { LRUCache } from 'lru-cache'
import { timeOfId } from '../../base/db/columns'
import type { Sql } from '../../base/db/transact'
import { gathered } from '../../base/flow/gather'
import { log, safeError } from '../../base/log'
import type { Scope } from '../../base/scope'
import { storage } from '../../desk/attachments/storage'
import { type MailHeaders, readHeaders } from '../parse/parse'
import { decide } from './decide'
import type { InboundMail } from './message'

/** Older messages whose headers are looked at: more wait only when many of them fail. */
const MOST = 100
/** Bytes of an original that are read to find its Message-ID. */
const HEADER_BYTES = 65_536
/** The time that a message waits for a parent that fails, or whose leases are lost, since it arrived itself. */
const MOST_WAIT_S = 3600
/** A message that was leased more often without an outcome does not come in its turn any more. */
const LEASES_MOST = 2
/** A message that waited for long is tried less often, because each time it is parsed again. */
const [LEAST_DELAY_S, MOST_DELAY_S, DELAY_OF_AGE] = [1, 30, 1 / 20]

/** Message-IDs of messages that wait, by the storage keys of their originals; false without one. */
const known_ids = new LRUCache<string, string | false>({ max: 10_000 })

/** Notes the Message-ID of an original that was read, so that younger messages need not read its header. */
export function noteMessageId(storage_key: string, { message_id }: MailHeaders): void {
  known_ids.set(storage_key, message_id ?? false)
}

/**
 * True when a message would start a ticket although its parent got a 250 before it and is still to be filed. Only older
 * messages are waited for, so that no two wait for each other.
 * @param comesBefore tells if an older message is certain to be filed before this one, or together with it
 */
export async function overtakesParent(
  scope: Scope,
  mail: InboundMail,
  comesBefore: (id: string) => Promise<boolean>,
): Promise<boolean> {
  const { in_reply_to, references } = mail.headers
  const wanted = new Set([...in_reply_to, ...references])
  if (wanted.size === 0) return false
  const { sql, organization_id } = scope
  const older = await findOlder({ sql, organization_id, id: mail.id })
  const ids = await Promise.all(older.map(({ storage_key }) => findMessageId(storage_key)))
  const parents = older.filter((_, index) => ids[index] && wanted.has(ids[index]))
  const are_before = await Promise.all(parents.map(({ id }) => comesBefore(id)))
  if (are_before.every(Boolean)) return false
  return (await decide(scope, mail)).outcome === 'ticket'
}

/** Seconds until a message that waits for its parent is tried again: by its age. */
export function parentDelay(id: string): number {
  const age_s = (Date.now() - Date.parse(timeOfId(id))) / 1000
  return Math.min(Math.max(age_s * DELAY_OF_AGE, LEAST_DELAY_S), MOST_DELAY_S)
}

type Asked = { sql: Sql; organization_id: string; id: string }
type Older = { id: string; storage_key: string }

/**
 * Finds older messages that are still to be filed. Those that were not tried yet come in their turn, however long the
 * backlog is. Those that fail, or lose their leases, may do so without end, so they count for an hour only. Messages of
 * an organization that ask at the same time share a statement.
 */
const findOlder = gathered(findOlderOf, { key: ({ organization_id }) => organization_id })

async function findOlderOf(asked: Asked[]): Promise<Older[][]> {
  const { sql, organization_id } = asked[0]!
  const rows = await sql<(Older & { asked_id: string })[]>`
    select g.id as asked_id, older.id, older.storage_key
    from unnest(${asked.map((one) => one.id)}::uuid[]) as g (id)
    cross join lateral (
      select m.id, m.storage_key from inbound_messages m
      join outbox o on o.organization_id = ${organization_id} and o.id = m.id
      where m.organization_id = ${organization_id} and m.outcome = 'pending' and m.id < g.id
        and m.storage_key is not null
        and (
          o.attempts = 0 and o.claims <= ${LEASES_MOST}
          or uuid_time(g.id) > now() - ${MOST_WAIT_S} * interval '1 second'
        )
      order by o.attempts > 0, m.id desc
      limit ${MOST}
    ) older`
  const found = Map.groupBy(rows, ({ asked_id }) => asked_id)
  return asked.map(({ id }) => found.get(id) ?? [])
}

async function findMessageId(storage_key: string): Promise<string | false> {
  const known = known_ids.get(storage_key)
  if (known !== undefined) return known
  try {
    const header = await storage().open(storage_key, { start: 0, end: HEADER_BYTES - 1 })
    const headers = readHeaders(await new Response(header).bytes())
    noteMessageId(storage_key, headers)
    return headers.message_id ?? false
  } catch (error) {
    // An original that cannot be read now must not keep others from being filed.
    log.warn({ storage_key, error: safeError(error) }, 'the header of an email that waits cannot be read')
    return false
  }
}
