/**
 * The outbox handler of kind wake: opens tickets that slept. Those of an organization that are due together are opened
 * together.
 */
import { withChangeTime } from '../../base/db/change-time'
import { isOneOf } from '../../base/db/few-rows'
import type { Connection } from '../../base/db/transact'
import { gathered } from '../../base/flow/gather'
import { inTransaction, type RuleName, type Scope, SYSTEM, together } from '../../base/scope'
import type { OutboxJob, Outcome } from '../../delivery/outbox/job'
import { findAudience, publishEach } from '../../delivery/webhooks/publish'
import { keepAll, readAll } from '../promises/keep'
import { recordActivities } from '../timeline/activity'
import { waitingSince } from '../turn/shown-turn'
import { activityOf, changesOf, eventsOf } from './changes'
import type { Ticket } from './model'
import { fields, present, type TicketRow, withNames } from './row'

type Due = Pick<OutboxJob, 'organization_id' | 'id'> & { connection: Connection }

const AWAKE = { status: 'open', snoozed_until: null } as const

/** Opens a ticket whose moment has come. One that sleeps no more, or is gone, or is merged, stays as it is. */
export async function wakeTicket({ organization_id, id }: OutboxJob, connection: Connection): Promise<Outcome> {
  const left_s = await wakeTogether({ organization_id, id, connection })
  return left_s > 0 ? { type: 'retry', delay_s: left_s, counts: false } : { type: 'done' }
}

/** Each in a transaction of its own, 3,000 tickets took 22 s on two busy processors; so they take 7. */
const wakeTogether = gathered(wakeAll, { key: ({ organization_id }) => organization_id })

/** @returns for each ticket the seconds that it still sleeps */
function wakeAll(due: Due[]): Promise<number[]> {
  const { connection, organization_id } = due[0]!
  const ids = due.map(({ id }) => id)
  return inTransaction({ ...connection, organization_id, actor: SYSTEM }, async (scope) => {
    const { sql } = scope
    const [asleep, locked_at] = await withChangeTime(
      sql,
      sql<{ id: string; left_s: number }[]>`
        select id, extract(epoch from snoozed_until - now())::float8 as left_s from tickets
        where organization_id = ${organization_id} and id ${isOneOf(sql, ids)} and status = 'pending'
          and snoozed_until is not null and merged_into_id is null and deleted_at is null
        order by id for no key update`,
    )
    const left = new Map(asleep.map(({ id, left_s }) => [id, left_s]))
    const over = asleep.flatMap(({ id, left_s }) => (left_s > 0 ? [] : id))
    if (over.length > 0) await open(scope, over, locked_at)
    return ids.map((id) => left.get(id) ?? 0)
  })
}

/** Opens tickets that the caller has locked, with their activity and events. */
async function open(scope: Scope, ids: string[], locked_at: string): Promise<void> {
  const { sql, organization_id, actor } = scope
  const those = sql`t.organization_id = ${organization_id} and t.id ${isOneOf(sql, ids)}`
  const [rows, written, audience, ...facts] = await together([
    sql<TicketRow[]>`select ${fields(scope)} from tickets t ${withNames(scope)} where ${those} order by t.id`,
    sql<Pick<Ticket, 'id' | 'updated_at' | 'waiting_since'>[]>`
      update tickets t set ${sql({ ...AWAKE, updated_at: locked_at })} where ${those}
      returning t.id, t.updated_at, ${waitingSince(sql)} as waiting_since`,
    findAudience(scope),
    ...readAll(scope, ids),
  ])
  const by_rules = audience.rules.length > 0 ? await laidToSleepBy(scope, ids) : new Map<string, RuleName>()
  const slas = new Map((await keepAll(scope, facts, 'later')).map(({ id, sla }) => [id, { sla }]))
  const following = new Map(written.map((one) => [one.id, one]))
  const opened = rows.map((row) => {
    const before = present(row)
    const after = { ...before, ...AWAKE, ...following.get(before.id), ...slas.get(before.id) }
    const changes = changesOf(before, after)
    const entries = activityOf(before, after, changes)
    // That a rule let it sleep is what a rule did, and so is its waking: it starts no rule.
    const rule = by_rules.get(after.id)
    const by = rule && { actor: { ...SYSTEM, rule } }
    return { ticket_id: after.id, entries, events: eventsOf(before, after, changes), audience, ...by }
  })
  await recordActivities(
    sql,
    opened.flatMap(({ ticket_id, entries }) => entries.map((entry) => ({ organization_id, ticket_id, actor, entry }))),
  )
  await publishEach(scope, opened)
}

/** The rules that let tickets sleep. Whoever chose the moment last counts. */
async function laidToSleepBy({ sql, organization_id }: Scope, ids: string[]): Promise<Map<string, RuleName>> {
  const entries = await sql<{ ticket_id: string; rule: RuleName | null }[]>`
    select ticket_id, rule from activities
    where organization_id = ${organization_id} and ticket_id ${isOneOf(sql, ids)} and type = 'snoozed' order by id`
  const last = new Map(entries.map(({ ticket_id, rule }) => [ticket_id, rule]))
  return new Map([...last].flatMap(([id, rule]) => (rule ? [[id, rule] as const] : [])))
}
