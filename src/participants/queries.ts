import { addressKey } from '../address/email'
import type { Fragment } from '../db/transact'
import { ApiError } from '../errors'
import type { Scope } from '../scope'
import { type Page, page } from '../shapes/page'
import type { Paging } from '../shapes/query'
import type { Participant } from './model'

/** The participants of a ticket, oldest first. @throws TICKET_NOT_FOUND */
export function listParticipants(scope: Scope, ticket_id: string, query: Paging): Promise<Page<Participant>> {
  return page(scope, query, {
    sort: { keys: [scope.sql`id`], direction: 'asc' },
    rows: ({ slice }) => selectParticipants(scope, ticket_id, slice),
    count: () => countParticipants(scope, ticket_id),
  })
}

async function countParticipants({ sql, organization_id }: Scope, ticket_id: string) {
  const counts = await sql<{ total: number }[]>`
    select (
      select count(*) from participants p where p.organization_id = t.organization_id and p.ticket_id = t.id
    ) as total
    from tickets t where t.organization_id = ${organization_id} and t.id = ${ticket_id} and t.deleted_at is null`
  if (counts.length === 0) throw new ApiError('TICKET_NOT_FOUND')
  return counts
}

/** The participant with an address, however it is written. */
export async function findParticipant(
  scope: Scope,
  ticket_id: string,
  email: string,
): Promise<Participant | undefined> {
  const [participant] = await selectParticipants(scope, ticket_id, scope.sql`and email_key = ${addressKey(email)}`)
  return participant
}

/** The select list is the response: its columns are the fields of `Participant`. */
function selectParticipants({ sql, organization_id }: Scope, ticket_id: string, rest: Fragment) {
  return sql<Participant[]>`
    select id, name, email, contact_id, confirmed from participants
    where organization_id = ${organization_id} and ticket_id = ${ticket_id} ${rest}`
}
