/** SQL for the promise that a ticket shows, and its form in answers. */
import { toInstant } from '../../base/db/columns'
import { sharedTime } from '../../base/db/shared-time'
import type { Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import type { Sla } from './model'

type Metric = NonNullable<Sla>['metric']

/** Null without a policy. Its name is null when it was deleted. */
export type SlaColumn =
  | [policy_id: string, name: string | null, Metric, due_at: string | null, soon_at: string | null]
  | null

/** One column of `tickets t`, which costs nothing where there are no policies. */
export function slaOf({ sql, organization_id }: Scope): Fragment {
  return sql`
    case when t.sla_policy_id is not null then json_build_array(t.sla_policy_id, (
      select p.name from sla_policies p where p.organization_id = ${organization_id} and p.id = t.sla_policy_id
    ), t.sla_metric, t.sla_due_at, t.sla_soon_at) end`
}

/** The column as answers show it. */
export function presentSla(column: SlaColumn, now_ms = sharedTime()): Sla {
  if (!column) return null
  const [id, name, metric, due_at, soon_at] = column
  if (name === null) return null
  const breached = due_at !== null && Date.parse(due_at) <= now_ms
  const times = { due_at: due_at && toInstant(due_at), soon_at: soon_at && toInstant(soon_at) }
  return { policy: { id, name }, metric, ...times, breached }
}
