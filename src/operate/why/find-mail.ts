/** Finds mail and answers, in whichever organization, by what an operator is told of them. */
import { addressKey, isEmailAddress } from '../../base/address/email'
import { type Among, readOfAll } from '../../base/db/all-organizations'
import type { Connection, Fragment, Sql } from '../../base/db/transact'
import { firstIdAt, isUuid } from '../../base/shapes/ids'
import { timeOf } from '../../base/shapes/time'
import { findPendingById } from './pending-mail'
import type { Found } from './story'

/** The thing that is looked for. `id` is the one that the listener named in its 250. */
export type Sought = { kind: 'Message-ID' | 'address' | 'ticket' | 'id' | 'time'; text: string }

/** Rows of each kind that are read. */
const MOST = 20
/** With a time, what is further from it is left out. */
const NEAR_MS = 86_400_000

/** Tells what a text may be, in the order in which it is looked for; empty for a text that can be nothing. */
export function readingsOf(text: string): Sought[] {
  const given = text.trim()
  const [, message_id] = /^<(.+)>$/.exec(given) ?? []
  if (message_id) return [{ kind: 'Message-ID', text: message_id }]
  if (timeOf(given) !== undefined) return [{ kind: 'time', text: given }]
  if (isUuid(given)) return [{ kind: 'id', text: given.toLowerCase() }]
  if (isEmailAddress(given))
    return [
      { kind: 'Message-ID', text: given },
      { kind: 'address', text: given },
    ]
  if (/^[\p{L}\p{N}]+-\d+$/u.test(given)) return [{ kind: 'ticket', text: given.toUpperCase() }]
  return given ? [{ kind: 'Message-ID', text: given }] : []
}

/** The moment at which a row was made, by its id. Milliseconds since 1970. */
export function madeAt({ id }: { id: string }): number {
  return Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)
}

/**
 * Finds what fits.
 * @param at_ms only what came within a day of it, the nearest first; else the newest first
 */
export async function findMail({ sql }: Connection, sought: Sought, at_ms?: number): Promise<Found[]> {
  const found = await Promise.all(readsOf(sql, sought, at_ms).map((read) => readOfAll(sql, read)))
  const pending = sought.kind === 'Message-ID' ? await findPendingById({ sql }, sought.text) : []
  const distance = (one: Found) => (at_ms === undefined ? -madeAt(one) : Math.abs(madeAt(one) - at_ms))
  return [...found.flat(), ...pending].toSorted((one, other) => distance(one) - distance(other))
}

type Read = (among: Among) => PromiseLike<readonly Found[]>

/** The statements that look for it. The tables of a sublink are those of one organization. */
function readsOf(sql: Sql, { kind, text }: Sought, at_ms: number | undefined): Read[] {
  const { mail, refused, answers } = statementsNear(sql, at_ms)
  const key = addressKey(text)
  const named = sql`(${key} = any(m.from_keys) or ${key} = any(m.to_keys))`
  const ofTicket = (among: Among) => sql`
    select t.id from tickets t
    where t.organization_id = m.organization_id and t.code = ${text} ${among(sql`t.organization_id`)}`
  switch (kind) {
    case 'Message-ID':
      return [
        mail(() => sql`m.email_message_id = ${text}`),
        answers(
          (among) => sql`exists (
            select 1 from email_anchors a
            where a.organization_id = m.organization_id and a.message_id = m.id and a.email_message_id = ${text}
              ${among(sql`a.organization_id`)}
          )`,
        ),
      ]
    case 'address':
      return [
        mail(() => named),
        refused(() => named),
        answers(
          (among) => sql`m.email_status <> 'none' and exists (
            select 1 from message_recipients r
            where r.organization_id = m.organization_id and r.message_id = m.id and r.email_key = ${key}
              ${among(sql`r.organization_id`)}
          )`,
        ),
      ]
    case 'ticket':
      return [
        mail((among) => sql`m.ticket_id in (${ofTicket(among)})`),
        answers((among) => sql`(m.ticket_id in (${ofTicket(among)}) or m.original_ticket_id in (${ofTicket(among)}))`),
      ]
    case 'time':
      return [mail(() => sql`true`), refused(() => sql`true`), answers(() => sql`m.email_status <> 'none'`)]
    case 'id':
      return [mail(() => sql`m.id = ${text}`), answers(() => sql`m.id = ${text}`)]
  }
}

/** Makes statements for each kind of row, with what is near a time, or the newest. */
function statementsNear(sql: Sql, at_ms: number | undefined) {
  const near =
    at_ms === undefined
      ? sql``
      : sql`and m.id >= ${firstIdAt(at_ms - NEAR_MS)} and m.id < ${firstIdAt(at_ms + NEAR_MS)}`
  const orderBy = (time: Fragment) =>
    at_ms === undefined
      ? sql`order by m.id desc limit ${MOST}`
      : sql`order by abs(extract(epoch from ${time}) - ${at_ms / 1000}::float8) limit ${MOST}`
  const statement =
    (kind: Found['kind'], rows: Fragment, time: Fragment) =>
    (condition: (among: Among) => Fragment): Read =>
    (among) =>
      sql<Found[]>`
      select m.organization_id, ${kind} as kind, m.id ${rows} and ${condition(among)} ${near}
        ${among(sql`m.organization_id`)} ${orderBy(time)}`
  return {
    mail: statement('mail', sql`from inbound_messages m where true`, sql`m.received_at`),
    refused: statement('refused', sql`from refused_messages m where true`, sql`m.received_at`),
    answers: statement('answer', sql`from messages m where m.direction = 'outbound'`, sql`m.created_at`),
  }
}
