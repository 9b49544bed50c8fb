/** Reads what the promises of tickets follow from. */
import { timeOfId, ZERO_ID } from '../../base/db/columns'
import type { Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { counted } from '../turn/turn'
import type { History, Metric, Outcome, Standing } from './promises-of'

type Status = History['status']

/** A promise as it is stored. */
export type Stored = Omit<Standing, 'metric' | 'outcome'> & {
  id: string
  metric: Metric
  policy_id: string
  breached_ms: number | null
  outcome: Outcome | null
  is_soon_told: boolean
  is_breach_told: boolean
}

/** A ticket that has a policy, or whose organization has one. */
export type Facts = {
  id: string
  /** It is merged into another one, or deleted. */
  is_gone: boolean
  status: Status
  priority: string
  company_id: string | null
  team_id: string | null
  mailbox_id: string | null
  label_ids: string[]
  /** As its columns have it. */
  policy_id: string | null
  metric: Metric | null
  shown_due_ms: number | null
  shown_soon_ms: number | null
  imported_ms: number | null
  is_begun_by_team: boolean
  statuses: History['statuses']
  answered_id: string | null
  last_answer_id: string | null
  waiting_id: string | null
  promises: Stored[]
}

/**
 * Reads facts in the caller's transaction, behind what it has written. Without an active policy no ticket has any that
 * had none.
 */
export function readFacts(scope: Scope, ticket_ids: string[]): PromiseLike<Facts[]> {
  const { sql, organization_id } = scope
  const ms = (time: Fragment) => sql`(extract(epoch from ${time}) * 1000)::float8`
  const answer = (order: Fragment) => sql`(
    select m.id from messages m
    where m.organization_id = ${organization_id} and m.ticket_id = t.id and m.direction = 'outbound'
      and not m.auto_reply order by ${order} limit 1
  )`
  return sql<Facts[]>`
    select t.id, t.merged_into_id is not null or t.deleted_at is not null as is_gone, t.status, t.priority,
      t.company_id, t.team_id, t.mailbox_id, array(
        select l.label_id from ticket_labels l where l.organization_id = ${organization_id} and l.ticket_id = t.id
      ) as label_ids, t.sla_policy_id as policy_id, t.sla_metric as metric, ${ms(sql`t.sla_due_at`)} as shown_due_ms,
      ${ms(sql`t.sla_soon_at`)} as shown_soon_ms, ${ms(sql`t.sla_from`)} as imported_ms,
      ${answer(sql`m.id`)} as answered_id, ${answer(sql`m.id desc`)} as last_answer_id,
      ${counted(scope).waiting_message_id} as waiting_id, exists (
        select 1 from messages m
        where m.organization_id = ${organization_id} and m.ticket_id = t.id and m.begins_ticket
      ) as is_begun_by_team, (
        select coalesce(json_agg(json_build_object(
          'at_ms', ${ms(sql`a.created_at`)}, 'from', a.data ->> 'from', 'to', a.data ->> 'to'
        ) order by a.id), '[]')
        from activities a
        where a.organization_id = ${organization_id} and a.ticket_id = t.id and a.type = 'changed'
          and a.data ->> 'field' = 'status'
      ) as statuses, (
        select coalesce(json_agg(json_build_object(
          'id', p.id, 'policy_id', p.policy_id, 'metric', p.metric, 'minutes', p.minutes,
          'began_ms', ${ms(sql`p.began_at`)}, 'due_ms', ${ms(sql`p.due_at`)}, 'soon_ms', ${ms(sql`p.soon_at`)},
          'breached_ms', ${ms(sql`p.breached_at`)}, 'ended_ms', ${ms(sql`p.ended_at`)}, 'outcome', p.outcome,
          'is_soon_told', p.is_soon_told, 'is_breach_told', p.is_breach_told
        ) order by p.began_at, p.id), '[]')
        from promises p where p.organization_id = ${organization_id} and p.ticket_id = t.id
      ) as promises
    from tickets t
    where t.organization_id = ${organization_id} and t.id = any(${ticket_ids}::uuid[]) and (
      t.sla_policy_id is not null
      or exists (select 1 from sla_policies p where p.organization_id = ${organization_id} and p.active)
    )
    order by t.id`
}

/** The parts of a ticket that promises are computed from. */
export function historyOf(facts: Facts): History {
  const { id, status, statuses, imported_ms, is_begun_by_team, answered_id, waiting_id } = facts
  return {
    ...{ created_ms: msOf(id)!, imported_ms, is_begun_by_team, status, statuses },
    ...{ answered_ms: msOf(answered_id), waiting_ms: msOf(waiting_id) },
  }
}

/** The time that an id begins with, in milliseconds since 1970. */
export function msOf(id: string | null): number | null {
  return id === null || id === ZERO_ID ? null : Date.parse(timeOfId(id))
}
