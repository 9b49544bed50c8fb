/** The seconds of facts as reports count them: those of the schedule, if the policy of the ticket has one. */
import type { Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { type Schedule, spansOfYears } from '../../base/shapes/business-time'

/** How a statement counts the seconds of facts `t`. */
export type Worked = {
  /** A table for its `with`, with a comma behind it; or nothing. */
  table: Fragment
  /** The seconds of a fact, null if it has none. */
  seconds: Fragment
}

type PolicyHours = { policy_id: string; time_zone: string; schedule: Schedule }

/** Sets the calendar of a policy apart from that of the next, on one line of seconds. */
const LINE = 1e11

/** @param first, last the years of the facts */
export async function readWorked(scope: Scope, first: number, last: number): Promise<Worked> {
  const { sql, organization_id } = scope
  const policies = await sql<PolicyHours[]>`
    select p.id as policy_id, o.time_zone, json_build_object('hours', s.hours, 'holidays', s.holidays) as schedule
    from sla_policies p
    join organizations o on o.id = ${organization_id}
    join schedules s on s.organization_id = ${organization_id} and s.id = p.schedule_id
    where p.organization_id = ${organization_id}`
  if (policies.length === 0) return { table: sql``, seconds: sql`t.seconds` }
  const ids = policies.map(({ policy_id }) => policy_id)
  const spans = policies.flatMap(({ schedule, time_zone }, place) =>
    onLine((place + 1) * LINE, spansOfYears(schedule, time_zone, first, last)),
  )
  const numbers = (of: (span: WorkSpan) => number) => sql`string_to_array(${spans.map(of).join()}, ',')::float8[]`
  const line = sql`array_position((select ids from calendar), t.sla_policy_id) * ${LINE}::float8`
  const passed = (time: Fragment) => {
    const span = sql`width_bucket(${line} + ${time}, (select begins from calendar))`
    return sql`least(${line} + ${time} - (select rests from calendar)[${span}], (select most from calendar)[${span}])`
  }
  const until = sql`floor(date_part('epoch', t.at))`
  return {
    table: sql`
      calendar as materialized (
        select ${ids}::uuid[] as ids, ${numbers(({ begin }) => begin)} as begins, ${numbers(({ rest }) => rest)} as rests,
          ${numbers(({ most }) => most)} as most
      ),`,
    seconds: sql`
      case when t.sla_policy_id is null then t.seconds
        else coalesce(${passed(until)} - ${passed(sql`${until} - t.seconds`)}, t.seconds) end`,
  }
}

/** A span of work: where it begins, the seconds that are no work until then, and those of work when it has ended. */
type WorkSpan = { begin: number; rest: number; most: number }

/** Puts the spans of a policy on the line. Nothing is worked before the first one. */
function onLine(line: number, { begins, ends, before }: ReturnType<typeof spansOfYears>): WorkSpan[] {
  const spans = begins.map((begin, at) => ({
    begin: line + begin,
    rest: line + begin - before[at]!,
    most: before[at]! + ends[at]! - begin,
  }))
  return [{ begin: line, rest: 0, most: 0 }, ...spans]
}
