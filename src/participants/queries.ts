import type { PendingQuery, Row } from 'postgres'
import { spellings } from '../contacts/queries'
import { ApiError } from '../errors'
import type { Scope } from '../scope'
import type { PageMeta } from '../shapes/answers'
import { type Paging, pageOf } from '../shapes/query'
import type { Participant } from './model'

/** The participants of a ticket, oldest first. @throws TICKET_NOT_FOUND */
export async function listParticipants(
  scope: Scope,
  ticket_id: string,
  query: Paging,
): Promise<{ data: Participant[]; meta: PageMeta }> {
  const { sql, organization_id } = scope
  const { page, per_page, offset } = pageOf(query)
  const [data, [ticket]] = await Promise.all([
    selectParticipants(scope, ticket_id, sql`order by id limit ${per_page} offset ${offset}`),
    sql<{ total: number }[]>`
      select (
        select count(*) from participants p where p.organization_id = t.organization_id and p.ticket_id = t.id
      ) as total
      from tickets t where t.organization_id = ${organization_id} and t.id = ${ticket_id} and t.deleted_at is null`,
  ])
  if (!ticket) throw new ApiError('TICKET_NOT_FOUND')
  return { data, meta: { total: ticket.total, page, per_page } }
}

/** The participant with an address, in whatever case and spelling. */
export async function findParticipant(
  scope: Scope,
  ticket_id: string,
  email: string,
): Promise<Participant | undefined> {
  const { sql } = scope
  const has_address = sql`and lower(email) in ${spellings(sql, email)} order by lower(email) = lower(${email}) desc limit 1`
  const [participant] = await selectParticipants(scope, ticket_id, has_address)
  return participant
}

/** The select list is the response. */
function selectParticipants({ sql, organization_id }: Scope, ticket_id: string, rest: PendingQuery<Row[]>) {
  return sql<Participant[]>`
    select id, name, email, contact_id, confirmed from participants
    where organization_id = ${organization_id} and ticket_id = ${ticket_id} ${rest}`
}
