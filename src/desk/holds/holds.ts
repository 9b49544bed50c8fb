/**
 * Keeps what is on hold: a ticket that has one of the organization's hold labels, with its messages and its contact. A
 * merge makes one conversation of several tickets: when one of them is on hold, all are.
 */

import { insertRows } from '../../base/db/insert-rows'
import type { Own } from '../../base/db/sweep'
import type { Fragment, Sql } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import type { Scope } from '../../base/scope'
import { permits } from '../../http/request/permissions'

/** Ids that a refusal shows. */
const SHOWN_MOST = 20

type HoldScope = Pick<Scope, 'sql' | 'organization_id'>

/**
 * Reads the hold labels. In a transaction they stay as they are until it ends, so that nothing is removed that is put
 * on hold meanwhile.
 */
export async function holdLabels({ sql, organization_id }: HoldScope): Promise<string[]> {
  const [row] = await sql<{ hold_label_ids: string[] }[]>`
    select hold_label_ids from retention where organization_id = ${organization_id} for share`
  return row?.hold_label_ids ?? []
}

/**
 * SQL: ids of the tickets that have the messages of what is on hold. With it, one of a few tickets `t` is on hold when
 * `coalesce(t.merged_into_id, t.id) in (…)`.
 */
function heldTickets({ sql, organization_id }: HoldScope, labels: string[]): Fragment {
  return sql`
    select coalesce(h.merged_into_id, h.id) from ticket_labels l
    join tickets h on h.organization_id = ${organization_id} and h.id = l.ticket_id
    where l.organization_id = ${organization_id} and l.label_id = any(${labels}::uuid[])`
}

/**
 * SQL: whether a ticket that is not merged into another is on hold. It looks at the ticket alone, however many are on
 * hold: a list of these would be read anew for each ticket once it exceeds the memory of a statement.
 * @param id of the ticket
 */
export function isHeld({ sql, organization_id }: HoldScope, labels: string[], id: Fragment): Fragment {
  if (labels.length === 0) return sql`false`
  const own: Own = (alias) => sql`${sql(alias)}.organization_id = ${organization_id}`
  return isHeldBy(sql, own, sql`${labels}::uuid[]`, id)
}

/** SQL: the same for a sweep, which reads the hold labels of each organization. */
export function isHeldIn(sql: Sql, own: Own, id: Fragment): Fragment {
  return isHeldBy(sql, own, sql`(select r.hold_label_ids from retention r where ${own('r')})::uuid[]`, id)
}

function isHeldBy(sql: Sql, own: Own, labels: Fragment, id: Fragment): Fragment {
  const hasLabel = (ticket_id: Fragment) => sql`
    exists (
      select 1 from ticket_labels l
      where ${own('l')} and l.ticket_id = ${ticket_id} and l.label_id = any(${labels})
    )`
  return sql`(${hasLabel(id)} or exists (
    select 1 from tickets h where ${own('h')} and h.merged_into_id = ${id} and ${hasLabel(sql`h.id`)}
  ))`
}

/** Finds those of the tickets that are on hold, in the order of their ids. */
export async function findHeld(scope: HoldScope, ids: string[]): Promise<{ id: string }[]> {
  const labels = await holdLabels(scope)
  if (labels.length === 0 || ids.length === 0) return []
  const { sql, organization_id } = scope
  return await sql<{ id: string }[]>`
    select t.id from tickets t
    where t.organization_id = ${organization_id} and t.id = any(${ids}::uuid[])
      and coalesce(t.merged_into_id, t.id) in (${heldTickets(scope, labels)})
    order by t.id`
}

/** Refuses when one of the tickets is on hold. The caller has locked them. @throws ON_HOLD */
export async function requireNoHold(scope: HoldScope, ids: string[]): Promise<void> {
  refuse(await findHeld(scope, ids))
}

/** Refuses when one of the contacts has a ticket that is on hold, hidden ones too. @throws ON_HOLD */
export async function requireContactsFree(scope: HoldScope, contact_ids: string[]): Promise<void> {
  const labels = await holdLabels(scope)
  if (labels.length === 0) return
  const { sql, organization_id } = scope
  const held = await sql<{ id: string }[]>`
    select t.id from tickets t
    where t.organization_id = ${organization_id} and t.contact_id = any(${contact_ids}::uuid[])
      and coalesce(t.merged_into_id, t.id) in (${heldTickets(scope, labels)})
    order by t.id limit 20`
  refuse(held)
}

/**
 * Refuses when a person has written, takes part, or is quoted in a ticket that is on hold: to erase the person would
 * change it.
 * @throws ON_HOLD
 */
export async function requirePersonFree(
  scope: HoldScope,
  person: {
    contact_id: string
    contact_ids: string[]
    email_keys: string[]
    isAddress(address: string | null): boolean
  },
): Promise<void> {
  await requireContactsFree(scope, [person.contact_id])
  const labels = await holdLabels(scope)
  if (labels.length === 0) return
  const { sql, organization_id } = scope
  const named = await sql<{ id: string }[]>`
    select p.ticket_id as id from participants p
    where p.organization_id = ${organization_id} and p.ticket_id in (${heldTickets(scope, labels)})
      and (p.email_key = any(${person.email_keys}::text[]) or p.contact_id = ${person.contact_id})
    union
    select m.ticket_id from messages m
    join message_recipients r on r.organization_id = ${organization_id} and r.message_id = m.id
    where m.organization_id = ${organization_id} and m.ticket_id in (${heldTickets(scope, labels)})
      and r.email_key = any(${person.email_keys}::text[])
    union
    select m.ticket_id from messages m
    join message_quotes q on q.organization_id = ${organization_id} and q.message_id = m.id
    where m.organization_id = ${organization_id} and m.ticket_id in (${heldTickets(scope, labels)})
      and (q.sender_key = any(${person.email_keys}::text[]) or q.contact_id = any(${person.contact_ids}::uuid[]))
    limit 20`
  refuse(named)
  const writers = await sql<{ id: string; email: string }[]>`
    select distinct m.ticket_id as id, unnest(array_append(m.cc, m.sender_email)) as email from messages m
    where m.organization_id = ${organization_id} and m.ticket_id in (${heldTickets(scope, labels)})
      and m.direction is not null`
  refuse(writers.filter(({ email }) => person.isAddress(email)))
}

/** Refuses to take hold labels off a ticket, unless an admin does it. @throws FORBIDDEN */
export async function requireMayUnlabel(scope: Scope, removed: { id: string }[]): Promise<void> {
  if (removed.length === 0 || permits(scope, 'admin')) return
  const labels = await holdLabels(scope)
  if (!removed.some(({ id }) => labels.includes(id))) return
  throw new ApiError('FORBIDDEN', { reason: 'Only admins take a hold label off a ticket' })
}

/** Refuses to delete a label that puts tickets on hold. @throws ON_HOLD */
export async function requireNoHoldLabel(scope: Scope, label_id: string): Promise<void> {
  if ((await holdLabels(scope)).includes(label_id)) throw new ApiError('ON_HOLD', { ids: [label_id] })
}

/** Puts tickets that get messages of another one on hold, too, when that one is. The caller has locked all of them. */
export async function spreadHold(scope: HoldScope, from_id: string, ids: string[]): Promise<void> {
  const labels = await holdLabels(scope)
  if (labels.length === 0) return
  const { sql, organization_id } = scope
  const found = await sql<{ label_id: string }[]>`
    select distinct l.label_id from ticket_labels l
    join tickets t on t.organization_id = ${organization_id} and t.id = l.ticket_id
    where l.organization_id = ${organization_id} and l.label_id = any(${labels}::uuid[])
      and coalesce(t.merged_into_id, t.id) = ${from_id}`
  const rows = ids.flatMap((ticket_id) => found.map(({ label_id }) => ({ organization_id, ticket_id, label_id })))
  await insertRows(sql, 'ticket_labels', rows, sql`on conflict do nothing`)
}

function refuse(held: readonly { id: string }[]): void {
  if (held.length > 0)
    throw new ApiError('ON_HOLD', { ids: [...new Set(held.map(({ id }) => id))].slice(0, SHOWN_MOST) })
}
