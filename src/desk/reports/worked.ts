/** The seconds of facts as reports count them: those of the schedule, if the policy of the ticket has one. */
import type { Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { type Schedule, spansOfYears } from '../../base/shapes/business-time'

/**
 * How a statement counts the seconds of facts `t`. It gathers the facts of a group and policy in `told`: `seconds`,
 * and `until` when each ran.
 */
export type Worked = {
  is_scheduled: boolean
  /** A table `hours` for its `with`, with a comma behind it; or nothing. */
  table: Fragment
  /** Joins behind the facts: the tickets `k` that have a schedule. */
  tickets: Fragment
  /** The policy of a fact. */
  policy: Fragment
  /** The array `until` of a group. */
  until: Fragment
  /** Joins behind `told`. */
  hours: Fragment
  /** The array of seconds of a row of `told`, as reports count them. */
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
  if (policies.length === 0) {
    const [nothing, none] = [sql``, sql`null::uuid`]
    const usual = { tickets: nothing, policy: none, until: none, hours: nothing, seconds: sql`seconds` }
    return { is_scheduled: false, table: nothing, ...usual }
  }
  const given = policies.map(({ policy_id, time_zone, schedule }) => ({
    policy_id,
    ...spansOfYears(schedule, time_zone, first, last),
  }))
  const worked = (time: Fragment) => sql`
    coalesce((
      select h.before[i] + least(${time}, h.ends[i]) - h.begins[i] from width_bucket(${time}, h.begins) as i where i > 0
    ), 0)`
  return {
    is_scheduled: true,
    table: sql`
      hours as materialized (
        select * from json_to_recordset(${JSON.stringify(given)}::text::json)
          as x (policy_id uuid, begins float8[], ends float8[], before float8[])
      ),`,
    tickets: sql`
      left join tickets k on k.organization_id = ${organization_id} and k.id = t.ticket_id and t.seconds is not null
        and k.sla_policy_id = any(${policies.map(({ policy_id }) => policy_id)}::uuid[])`,
    policy: sql`k.sla_policy_id`,
    until: sql`array_agg(floor(date_part('epoch', t.at))) filter (where t.seconds is not null)`,
    hours: sql`left join hours h using (policy_id)`,
    seconds: sql`
      case when h.begins is null then told.seconds else array(
        select ${worked(sql`x.until`)} - ${worked(sql`(x.until - x.s)`)}
        from unnest(told.seconds, told.until) as x (s, until)
      ) end`,
  }
}
