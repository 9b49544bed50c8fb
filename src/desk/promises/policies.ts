/** Reads the policies of an organization, and chooses that of a ticket. */

import type { Scope } from '../../base/scope'
import type { Schedule } from '../../base/shapes/business-time'
import { holds, type TicketState } from '../../delivery/webhooks/event-filter'
import type { WebhookFilter } from '../../delivery/webhooks/model'
import type { Target } from './promises-of'

/** An active policy. */
export type Policy = {
  id: string
  name: string
  filter: WebhookFilter
  targets: {
    priority: string
    first_reply_minutes: number | null
    next_reply_minutes: number | null
    resolve_minutes: number | null
  }[]
  schedule: Schedule | null
  time_zone: string
}

/** Reads the policies that are active, in the order in which they are tried. */
export function findPolicies({ sql, organization_id }: Pick<Scope, 'sql' | 'organization_id'>) {
  return sql<Policy[]>`
    select p.id, p.name, p.filter, p.targets, o.time_zone,
      case when s.id is not null then json_build_object('hours', s.hours, 'holidays', s.holidays) end as schedule
    from sla_policies p
    join organizations o on o.id = ${organization_id}
    left join schedules s on s.organization_id = ${organization_id} and s.id = p.schedule_id
    where p.organization_id = ${organization_id} and p.active order by p.position`
}

/** The first policy that fits a ticket, with what it promises for its priority. */
export function policyOf(policies: Policy[], ticket: TicketState): { policy: Policy; target: Target } | undefined {
  const policy = policies.find(({ filter }) => holds(ticket, filter))
  if (!policy) return undefined
  const { schedule, time_zone } = policy
  const found = policy.targets.find(({ priority }) => priority === ticket.priority)
  const minutes = {
    first_reply: found?.first_reply_minutes ?? null,
    next_reply: found?.next_reply_minutes ?? null,
    resolve: found?.resolve_minutes ?? null,
  }
  return { policy, target: { minutes, schedule, time_zone } }
}
