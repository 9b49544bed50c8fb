/**
 * Merges tickets and undoes it. `merged_into_id` is the end of the chain, where messages and time are;
 * `merged_first_into_id` is the next ticket in it, so that merges can be undone in any order. What was written before
 * keeps its ticket as `original_ticket_id`. Anchors of mail stay where they are (`mail/inbound/thread` follows them).
 */
import { withChangeTime } from '../../base/db/change-time'
import { ApiError, fieldError, unknownIds } from '../../base/errors'
import { inTransaction, type Scope, together } from '../../base/scope'
import { asIds, isUuid } from '../../base/shapes/ids'
import { publish } from '../../delivery/webhooks/publish'
import { keepDrafts } from '../drafts/send-later'
import { spreadHold } from '../holds/holds'
import { lockMail } from '../messages/conversation'
import { keepPromises } from '../promises/keep'
import { endRequests } from '../ratings/requests'
import { judgeMarks, markMerged } from '../read-marks/keep-marks'
import { rebuildSearch } from '../search/ticket-document'
import { activityOf, changesOf, eventsOf } from '../tickets/changes'
import type { Ticket } from '../tickets/model'
import { findParent } from '../tickets/references'
import { fields, present, type TicketRow, withNames } from '../tickets/row'
import { recordActivity } from '../timeline/activity'
import { requireUnmerged } from '../timeline/require-ticket'
import { recount } from '../turn/turn'
import { bringParticipants, removeBrought } from './bring-participants'
import type { NewMerge } from './model'
import { codeOf, moveAll, moveBack } from './move'

/** Tickets that are merged into one, with those that were merged into them. */
const MOST = 100
const UNDONE_DAYS = 30

type Locked = { tickets: Map<string, Ticket>; locked_at: string }

/**
 * Merges other tickets into one: their messages, attachments, time and timers move to it, and so does what they had
 * taken in. They are closed. All of it or nothing.
 * @throws TICKET_NOT_FOUND, TICKET_MERGED (it, or one of them into another), VALIDATION_ERROR
 */
export function mergeTickets(scope: Scope, target_id: string, { source_ids }: NewMerge): Promise<Ticket> {
  return inTransaction(scope, async (scope) => {
    await lockMail(scope)
    const sources = asIds(source_ids)
    const { tickets, locked_at } = await lockWithMerged(scope, [target_id, ...sources])
    const target = tickets.get(target_id)
    if (!target) throw new ApiError('TICKET_NOT_FOUND')
    requireUnmerged(target)
    const others = requireSources(source_ids, target, tickets)
    if (others.length === 0) return target
    const ids = others.map(({ id }) => id)
    const taken = [...tickets.values()].filter(({ merged_into }) => merged_into && ids.includes(merged_into.id))
    const all = [...others, ...taken]
    const known = [...tickets.values()].filter(({ merged_into }) => merged_into?.id === target_id)
    if (known.length + all.length > MOST) {
      throw fieldError('VALIDATION_ERROR', '/source_ids', `must leave the ticket with at most ${MOST} merged ones`)
    }
    const moved = await moveAll(scope, ids, target_id)
    const came = scope.sql`d.ticket_id = ${target_id} and d.original_ticket_id = any(${all.map(({ id }) => id)}::uuid[])`
    await keepDrafts(scope, came, 'TICKET_MERGED')
    await endRequests(scope, ids)
    await writeMerge(scope, target_id, ids, all, locked_at)
    await recount(scope, [target_id, ...ids])
    await keepPromises(scope, [target_id, ...ids])
    await markMerged(scope, target_id, moved.message_ids, ids)
    await bringParticipants(
      scope,
      { id: target_id, contact_id: target.contact?.id ?? null },
      all.map(({ id }) => id),
    )
    for (const id of [target_id, ...ids]) await rebuildSearch(scope, id)
    await leaveRing(
      scope,
      target,
      others.map(({ parent }) => parent),
    )
    return tellMerge(scope, target, all, moved)
  })
}

/** @returns the tickets that are to be merged @throws TICKET_NOT_FOUND, TICKET_MERGED, VALIDATION_ERROR */
function requireSources(given: string[], target: Ticket, tickets: Map<string, Ticket>): Ticket[] {
  const ids = asIds(given)
  if (ids.includes(target.id)) throw fieldError('VALIDATION_ERROR', '/source_ids', 'must not name the ticket itself')
  const unknown = [...new Set(given)].filter((id) => !isUuid(id) || !tickets.has(id.toLowerCase()))
  if (unknown.length > 0) throw unknownIds('TICKET_NOT_FOUND', '/source_ids', unknown)
  const sources = ids.map((id) => tickets.get(id)!).filter(({ merged_into }) => merged_into?.id !== target.id)
  const elsewhere = sources.find(({ merged_into }) => merged_into)
  if (!elsewhere) return sources
  const { merged_into } = elsewhere
  throw fieldError('TICKET_MERGED', '/source_ids', undefined, { ids: [elsewhere.id], merged_into })
}

async function writeMerge(
  { sql, organization_id }: Scope,
  target_id: string,
  ids: string[],
  all: Ticket[],
  locked_at: string,
): Promise<void> {
  await together([
    sql`
      update tickets set merged_first_into_id = ${target_id}, merged_at = ${locked_at}, status_before_merge = status,
        status = 'closed'
      where organization_id = ${organization_id} and id = any(${ids}::uuid[])`,
    sql`
      update tickets set merged_into_id = ${target_id}, updated_at = ${locked_at}
      where organization_id = ${organization_id} and id = any(${all.map(({ id }) => id)}::uuid[])`,
    sql`
      update tickets set updated_at = ${locked_at}
      where organization_id = ${organization_id} and id = ${target_id}`,
  ])
}

/**
 * Gives a ticket another parent when a merge, or its undoing, has put its parent below it: the first of the others that
 * is not below it, else none. A parent that was merged into it is shown as none, and stays for an undoing.
 * @param ticket as it was before
 */
async function leaveRing(scope: Scope, { id, parent }: Ticket, others: Ticket['parent'][]): Promise<void> {
  if (!parent || !(await findParent(scope, id, parent.id))?.is_below) return
  const { sql, organization_id } = scope
  for (const other of others) {
    if (!other || (await findParent(scope, id, other.id))?.is_below !== false) continue
    await sql`
      update tickets set parent_id = ${other.id} where organization_id = ${organization_id} and id = ${id}`
    return
  }
  await sql`
    update tickets t set parent_id = null where t.organization_id = ${organization_id} and t.id = ${id}
      and not exists (
        select 1 from tickets p
        where p.organization_id = ${organization_id} and p.id = t.parent_id and p.merged_into_id = ${id}
      )`
}

/** Adds to the timelines and publishes. @returns the target */
async function tellMerge(
  scope: Scope,
  target: Ticket,
  all: Ticket[],
  moved: Awaited<ReturnType<typeof moveAll>>,
): Promise<Ticket> {
  const after = await readTickets(scope, [target.id, ...all.map(({ id }) => id)])
  const now = after.get(target.id)!
  const into = { id: target.id, code: target.code }
  const { parent } = changesOf(target, now)
  const entries = parent ? activityOf(target, now, { parent }) : []
  await recordActivity(scope, target.id, [{ type: 'merged', data: { sources: all.map(codeOf) } }, ...entries])
  const events = parent ? eventsOf(target, now, { parent }) : []
  for (const before of all) {
    events.push(...(await tellChange(scope, before, after.get(before.id)!, { type: 'merged', data: { into } })))
  }
  const data = { ...now, sources: all.map(refOf), moved }
  await publish(scope, [{ type: 'ticket.merged', data }, ...events])
  return now
}

/**
 * Undoes the merge of a ticket: what was written on it, or on what it had taken in, goes back, whatever the order of
 * merges and undoings.
 * @throws TICKET_NOT_FOUND, TICKET_NOT_MERGED, UNMERGE_EXPIRED
 */
export function unmergeTicket(scope: Scope, id: string): Promise<Ticket> {
  return inTransaction(scope, async (scope) => {
    await lockMail(scope)
    const chain = await readChain(scope, id)
    const { target_id, own, above } = chain
    const { tickets, locked_at } = await lockTickets(scope, [...own, ...above])
    const [before, target] = [tickets.get(id), tickets.get(target_id)]
    if (!before || !target) throw new ApiError('TICKET_NOT_FOUND')
    await spreadHold(scope, target_id, own)
    const moved = await moveBack(scope, target_id, own)
    await writeUnmerge(scope, chain, locked_at)
    await leaveRing(scope, before, [])
    await recount(scope, [target_id, id])
    await keepPromises(scope, [target_id, id])
    await judgeMarks(scope, [target_id, id])
    await removeBrought(scope, above, own)
    // Participants that several merged tickets have brought are brought by those that are left.
    for (const one of above) {
      const ticket = tickets.get(one)!
      await bringParticipants(scope, { id: one, contact_id: ticket.contact?.id ?? null }, chain.leftOf(one))
    }
    for (const one of [id, target_id]) await rebuildSearch(scope, one)
    const after = await readTickets(scope, [...own, target_id])
    const from = codeOf(target)
    const sources = own.map((one) => tickets.get(one)!)
    await recordActivity(scope, target_id, [{ type: 'unmerged', data: { sources: sources.map(codeOf) } }])
    const events = []
    for (const one of sources) {
      events.push(...(await tellChange(scope, one, after.get(one.id)!, { type: 'unmerged', data: { from } })))
    }
    const data = { ...after.get(target_id)!, sources: sources.map(refOf), moved }
    await publish(scope, [{ type: 'ticket.unmerged', data }, ...events])
    return after.get(id)!
  })
}

type Chain = {
  /** The end of the chain. */
  target_id: string
  /** The ticket and those that were merged into it. */
  own: [string, ...string[]]
  /** The tickets that it was merged into, up to the end of the chain. */
  above: string[]
  /** The tickets that are merged into one of them without `own`. */
  leftOf(id: string): string[]
}

/** Reads a chain, which changes only behind `lockMail`. @throws TICKET_NOT_FOUND, TICKET_NOT_MERGED, UNMERGE_EXPIRED */
async function readChain({ sql, organization_id }: Scope, id: string): Promise<Chain> {
  const [ticket] = await sql<{ target_id: string | null; is_expired: boolean }[]>`
    select merged_into_id as target_id, coalesce(merged_at < now() - make_interval(days => ${UNDONE_DAYS}), false) as is_expired
    from tickets where organization_id = ${organization_id} and id = ${id} and deleted_at is null`
  if (!ticket) throw new ApiError('TICKET_NOT_FOUND')
  const { target_id } = ticket
  if (target_id === null) throw new ApiError('TICKET_NOT_MERGED')
  if (ticket.is_expired) throw new ApiError('UNMERGE_EXPIRED')
  const links = await sql<{ id: string; next_id: string }[]>`
    select id, merged_first_into_id as next_id from tickets
    where organization_id = ${organization_id} and merged_into_id = ${target_id}`
  const next = new Map(links.map((link) => [link.id, link.next_id]))
  const pathOf = (from: string) => {
    const path = []
    for (let at = next.get(from); at !== undefined; at = next.get(at)) path.push(at)
    return path
  }
  const own: Chain['own'] = [id, ...[...next.keys()].filter((one) => pathOf(one).includes(id))]
  return {
    target_id,
    own,
    above: pathOf(id),
    leftOf: (above) => [...next.keys()].filter((one) => !own.includes(one) && pathOf(one).includes(above)),
  }
}

async function writeUnmerge({ sql, organization_id }: Scope, { target_id, own }: Chain, locked_at: string) {
  const [id, ...taken] = own
  await together([
    sql`
      update tickets set merged_into_id = null, merged_first_into_id = null, merged_at = null,
        status = case
          when status_before_merge = 'pending' and snoozed_until <= ${locked_at} then 'open'
          else coalesce(status_before_merge, status)
        end,
        snoozed_until = case when snoozed_until > ${locked_at} then snoozed_until end,
        status_before_merge = null, updated_at = ${locked_at}
      where organization_id = ${organization_id} and id = ${id}`,
    sql`
      update tickets set merged_into_id = ${id}, updated_at = ${locked_at}
      where organization_id = ${organization_id} and id = any(${taken}::uuid[])`,
    sql`
      update tickets set updated_at = ${locked_at}
      where organization_id = ${organization_id} and id = ${target_id}`,
  ])
}

/** Adds to the timeline of a ticket that was merged, or is no more. @returns its events */
async function tellChange(scope: Scope, before: Ticket, after: Ticket, entry: Parameters<typeof recordActivity>[2][0]) {
  const changes = changesOf(before, after)
  const { merged_into: _, ...others } = changes
  await recordActivity(scope, after.id, [entry, ...activityOf(before, after, others)])
  return eventsOf(before, after, changes)
}

/** Locks tickets, and those that are merged into them, in one order. Hidden ones are left out. */
async function lockWithMerged(scope: Scope, ids: string[]): Promise<Locked> {
  const { sql, organization_id } = scope
  const merged = await sql<{ id: string }[]>`
    select id from tickets where organization_id = ${organization_id} and merged_into_id = any(${ids}::uuid[])`
  return lockTickets(scope, [...ids, ...merged.map(({ id }) => id)])
}

async function lockTickets(scope: Scope, ids: string[]): Promise<Locked> {
  const { sql, organization_id } = scope
  const [[, locked_at], tickets] = await together([
    withChangeTime(
      sql,
      sql`
        select from tickets
        where organization_id = ${organization_id} and id = any(${ids}::uuid[]) and deleted_at is null
        order by id for no key update`,
    ),
    readTickets(scope, ids),
  ])
  return { tickets, locked_at }
}

async function readTickets(scope: Scope, ids: string[]): Promise<Map<string, Ticket>> {
  const { sql, organization_id } = scope
  const rows = await sql<TicketRow[]>`
    select ${fields(scope)} from tickets t ${withNames(scope)}
    where t.organization_id = ${organization_id} and t.id = any(${ids}::uuid[]) and t.deleted_at is null`
  return new Map(rows.map((row) => [row.id, present(row)]))
}

function refOf({ id, code, subject }: Ticket) {
  return { id, code, subject }
}
