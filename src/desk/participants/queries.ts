import { addressKey } from '../../base/address/email'
import type { Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { firstRows, type Page, page } from '../../base/shapes/page'
import type { Paging } from '../../base/shapes/query'
import { requireTicket } from '../timeline/require-ticket'
import type { Participant } from './model'

/** The participants of a ticket, oldest first. @throws TICKET_NOT_FOUND */
export function listParticipants(scope: Scope, ticket_id: string, query: Paging): Promise<Page<Participant>> {
  const { sql, organization_id } = scope
  return page(scope, query, {
    name: `participants of ${ticket_id}`,
    ...oldestFirst(scope, ticket_id),
    count: () => sql<{ total: number }[]>`
      select count(*) as total from participants
      where organization_id = ${organization_id} and ticket_id = ${ticket_id}`,
    parent: () => requireTicket(scope, ticket_id),
  })
}

/** The first participants of a ticket, as many as a page has. */
export function firstParticipants(scope: Scope, ticket_id: string): Promise<Participant[]> {
  return firstRows(scope, oldestFirst(scope, ticket_id))
}

function oldestFirst(scope: Scope, ticket_id: string) {
  return {
    sort: { keys: [{ sql: scope.sql`id`, field: 'id' as const }], direction: 'asc' as const },
    rows: ({ slice }: { slice: Fragment }) => selectParticipants(scope, ticket_id, slice),
  }
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
