import { addressKey } from '../../base/address/email'
import type { Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { type Page, page } from '../../base/shapes/page'
import type { Paging } from '../../base/shapes/query'
import { requireTicket } from '../timeline/require-ticket'
import type { Participant } from './model'

/** The participants of a ticket, oldest first. @throws TICKET_NOT_FOUND */
export function listParticipants(scope: Scope, ticket_id: string, query: Paging): Promise<Page<Participant>> {
  const { sql, organization_id } = scope
  return page(scope, query, {
    name: `participants of ${ticket_id}`,
    sort: { keys: [{ sql: sql`id`, field: 'id' }], direction: 'asc' },
    rows: ({ slice }) => selectParticipants(scope, ticket_id, slice),
    count: () => sql<{ total: number }[]>`
      select count(*) as total from participants
      where organization_id = ${organization_id} and ticket_id = ${ticket_id}`,
    parent: () => requireTicket(scope, ticket_id),
  })
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
