/** The seconds of facts as reports count them: those of the schedule, if the policy of the ticket has one. */
import type { Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { type Schedule, spansOfYears } from '../../base/shapes/business-time'

/** How a statement counts the seconds of facts `t`. */
export type Worked = {
  /** A table `hours` for its `with`, with a comma behind it; or nothing. */
  hours: Fragment
  /** Joins behind the facts. */
  joins: Fragment
  /** The seconds of a fact; null: it has none. */
  seconds: Fragment
}

type PolicyHours = { policy_id: string; time_zone: string; schedule: Schedule }

/** @param first, last the years of the facts */
export async function readWorked(scope: Scope, first: number, last: number): Promise<Worked> {
  const { sql, organization_id } = scope
  const policies = await sql<PolicyHours[]>`
    select p.id as policy_id, o.time_zone, json_build_object('hours', s.hours, 'holidays', s.holidays) as schedule
    from sla_policies p
    join organizations o on o.id = ${organization_id}
    join schedules s on s.organization_id = ${organization_id} and s.id = p.schedule_id
    where p.organization_id = ${organization_id}`
  if (policies.length === 0) return { hours: sql``, joins: sql``, seconds: sql`t.seconds` }
  const given = policies.map(({ policy_id, time_zone, schedule }) => ({
    policy_id,
    ...spansOfYears(schedule, time_zone, first, last),
  }))
  const until = (time: Fragment) => sql`
    coalesce((
      select h.before[i] + least(${time}, h.ends[i]) - h.begins[i] from width_bucket(${time}, h.begins) as i where i > 0
    ), 0)`
  const end = sql`floor(date_part('epoch', t.at))`
  return {
    hours: sql`
      hours as materialized (
        select * from json_to_recordset(${JSON.stringify(given)}::text::json)
          as x (policy_id uuid, begins float8[], ends float8[], before float8[])
      ),`,
    joins: sql`
      left join tickets k on k.organization_id = ${organization_id} and k.id = t.ticket_id and t.seconds is not null
      left join hours h on h.policy_id = k.sla_policy_id`,
    seconds: sql`
      case when h.policy_id is null or t.seconds is null then t.seconds
        else ${until(end)} - ${until(sql`(${end} - t.seconds)`)} end`,
  }
}
