/** Reads rules of retention, and what they would do. */
import type { Scope } from '../../base/scope'
import type { Ticket } from '../tickets/model'
import { fields, present, type TicketRow, withNames } from '../tickets/row'
import { dueTickets } from './due'
import type { Retention, RetentionChanges, RetentionPreview } from './model'
import { resolveRetention } from './named-things'

const OLDEST = 10
const NOTHING: Retention = { rules: [], hold_label_ids: [] }

export async function getRetention({ sql, organization_id }: Scope): Promise<Retention> {
  const [row] = await sql<Retention[]>`
    select rules, hold_label_ids from retention where organization_id = ${organization_id}`
  return row ?? NOTHING
}

/**
 * Says what rules would do now. What is not given is as it is stored.
 * @throws LABEL_NOT_FOUND, COMPANY_NOT_FOUND
 */
export async function previewRetention(scope: Scope, changes: RetentionChanges): Promise<RetentionPreview> {
  const retention = { ...(await getRetention(scope)), ...(await resolveRetention(scope, changes)) }
  const { sql } = scope
  const counts = await sql<{ place: number; is_held: boolean; tickets: number }[]>`
    select d.place, d.is_held, count(*)::int as tickets from (${dueTickets(scope, retention)}) d group by 1, 2`
  const countOf = (place: number) => counts.find((one) => one.place === place && !one.is_held)?.tickets ?? 0
  const rules = []
  for (const place of retention.rules.keys()) {
    const tickets = countOf(place)
    rules.push({ tickets, oldest: tickets > 0 ? await oldestOf(scope, retention, place) : [] })
  }
  const held = counts.filter(({ is_held }) => is_held).reduce((sum, { tickets }) => sum + tickets, 0)
  return { rules, held }
}

async function oldestOf(scope: Scope, retention: Retention, place: number): Promise<Ticket[]> {
  const { sql, organization_id } = scope
  const rows = await sql<TicketRow[]>`
    with found as materialized (
      select d.id from (${dueTickets(scope, retention)}) d where d.place = ${place} and not d.is_held
      order by d.updated_at, d.id limit ${OLDEST}
    )
    select ${fields(scope)} from found join tickets t on t.organization_id = ${organization_id} and t.id = found.id
    ${withNames(scope)} order by t.updated_at, t.id`
  return rows.map(present)
}
