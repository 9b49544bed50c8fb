/** Reads rules of retention, and what they would do. */
import type { Scope } from '../../base/scope'
import type { Ticket } from '../tickets/model'
import { fields, present, type TicketRow, withNames } from '../tickets/row'
import { dueTickets } from './due'
import type { Retention, RetentionChanges, RetentionPreview, RetentionRule } from './model'
import { resolveRetention } from './named-things'

const OLDEST = 10
const NOTHING: Retention = { rules: [], hold_label_ids: [] }

/** Rules that an earlier release wrote have no `active`. */
type Stored = Pick<Retention, 'hold_label_ids'> & { rules: (Omit<RetentionRule, 'active'> & { active?: boolean })[] }

export async function getRetention({ sql, organization_id }: Scope): Promise<Retention> {
  const [row] = await sql<Stored[]>`
    select rules, hold_label_ids from retention where organization_id = ${organization_id}`
  if (!row) return NOTHING
  return { ...row, rules: row.rules.map((rule) => ({ ...rule, active: rule.active ?? true })) }
}

/**
 * Says what rules would do now. What is not given is as it is stored.
 * @throws LABEL_NOT_FOUND, COMPANY_NOT_FOUND
 */
export async function previewRetention(scope: Scope, changes: RetentionChanges): Promise<RetentionPreview> {
  const retention = { ...(await getRetention(scope)), ...(await resolveRetention(scope, changes)) }
  const found = await findDue(scope, retention)
  const tickets = await readTickets(scope, found)
  return {
    rules: retention.rules.map((_, place) => {
      const due = found.find((one) => one.place === place)
      return { tickets: due?.tickets ?? 0, oldest: (due?.oldest ?? []).flatMap((id) => tickets.get(id) ?? []) }
    }),
    held: found.reduce((sum, { held }) => sum + held, 0),
  }
}

type Due = { place: number; tickets: number; held: number; oldest: string[] }

/** Looks once at all that is due. */
async function findDue(scope: Scope, retention: Retention): Promise<Due[]> {
  return await scope.sql<Due[]>`
    with due as materialized (${dueTickets(scope, retention)})
    select c.*, array(
      select d.id from due d where d.place = c.place and not d.is_held order by d.updated_at, d.id limit ${OLDEST}
    ) as oldest
    from (
      select place, count(*) filter (where not is_held)::int as tickets, count(*) filter (where is_held)::int as held
      from due group by place
    ) c`
}

async function readTickets(scope: Scope, found: Due[]): Promise<Map<string, Ticket>> {
  const ids = found.flatMap(({ oldest }) => oldest)
  if (ids.length === 0) return new Map()
  const { sql, organization_id } = scope
  const rows = await sql<TicketRow[]>`
    select ${fields(scope)} from tickets t ${withNames(scope)}
    where t.organization_id = ${organization_id} and t.id = any(${ids}::uuid[])`
  return new Map(rows.map((row) => [row.id, present(row)]))
}
