/**
 * Finds the rules that wait for the events of a change, and enqueues their work in its transaction. A change that a
 * rule made starts none, so there are no circles.
 */
import { newId } from '../../base/db/columns'
import { insertRows } from '../../base/db/insert-rows'
import type { EVENTS } from '../../base/db/schema'
import type { Fragment, Sql } from '../../base/db/transact'
import { type Actor, ruleOf, type Scope, together } from '../../base/scope'
import { scheduleAll } from '../outbox/schedule'
import { type Judge, type JudgedEvent, ticketOf } from './event-filter'
import type { WebhookFilter } from './model'

/** A rule that is switched on. It looks like a webhook, so that filters are judged alike. */
export type WaitingRule = { id: string; events: (typeof EVENTS)[number][]; filter: WebhookFilter | null }

/** Events of one change. `actor` goes before the scope's. */
type Change = { events: JudgedEvent[]; audience: { rules: WaitingRule[] }; actor?: Actor }

/** SQL for the rules of an organization, in the order in which they are applied. */
export function rulesIn(sql: Sql, organization_id: Fragment): Fragment {
  return sql`(
    select coalesce(
      json_agg(json_build_object('id', r.id, 'events', array[r."on"], 'filter', r.filter) order by lower(r.name), r.id), '[]'
    )
    from rules r where r.organization_id = ${organization_id} and r.active and r.status = 'active'
  )`
}

type Match = { ticket_id: string; rule_id: string; message_id: string | null }

/** Enqueues the rules that the events of changes start. @param passes judges filters */
export async function startRules(scope: Scope, changes: Change[], passes: Judge): Promise<void> {
  const matches = changes.map((change) => (ruleOf(change.actor ?? scope.actor) ? [] : matchesOf(change, passes)))
  const by_rules = await writtenByRules(
    scope,
    matches.flatMap((some) => some.flatMap(({ message_id }) => message_id ?? [])),
  )
  const runs = matches.flatMap((some) => {
    const meant = some.filter(({ message_id }) => message_id === null || !by_rules.has(message_id))
    return [...Map.groupBy(meant, ({ ticket_id }) => ticket_id)].map(([ticket_id, those]) => {
      const message_id = those.find((one) => one.message_id !== null)?.message_id ?? null
      return { id: newId(), ticket_id, rule_ids: [...new Set(those.map(({ rule_id }) => rule_id))], message_id }
    })
  })
  if (runs.length === 0) return
  const { sql, organization_id } = scope
  const rows = runs.map((run) => ({ organization_id, ...run }))
  const work = runs.map(({ id }) => ({ id, run_at: sql`now()` }))
  await together([insertRows(sql, 'rule_runs', rows), scheduleAll(scope, 'rule', organization_id, work)])
}

/** The rules that a change starts, in their order. */
function matchesOf(change: Change, passes: Judge): Match[] {
  return change.audience.rules.flatMap(({ id: rule_id, events, filter }) =>
    change.events.flatMap((event): Match[] => {
      if (!events.some((type) => type === event.type) || !passes(change, event, filter)) return []
      const ticket_id = ticketOf(event)
      if (!ticket_id) return []
      const is_of_message = event.type.startsWith('message.')
      return [{ ticket_id, rule_id, message_id: is_of_message ? (event.data as { id: string }).id : null }]
    }),
  )
}

/** Finds the messages that rules wrote: the fate of their emails is a deed of the rule, too. */
async function writtenByRules({ sql, organization_id }: Scope, ids: string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const rows = await sql<{ id: string }[]>`
    select id from messages
    where organization_id = ${organization_id} and id = any(${ids}::uuid[]) and auto_reply
      and direction is distinct from 'inbound'`
  return new Set(rows.map(({ id }) => id))
}
