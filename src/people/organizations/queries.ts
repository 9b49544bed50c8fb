import type { Connection, Fragment } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import type { Scope } from '../../base/scope'
import type { Organization } from './model'

/** The organization of the request. @throws FORBIDDEN when it does not exist any more */
export function getOrganization(scope: Scope): Promise<Organization> {
  return readOrganization(scope, scope.sql``)
}

/** Reads the organization and locks it against changes until the transaction ends. */
export function lockOrganization(scope: Scope): Promise<Organization> {
  return readOrganization(scope, scope.sql`for no key update`)
}

async function readOrganization({ sql, organization_id }: Scope, lock: Fragment): Promise<Organization> {
  const [organization] = await sql<Organization[]>`
    select id, name, ticket_prefix, hourly_rate, currency, time_zone, ask_rating_after_minutes, reopen_on_reply, sender_policy, spam_policy,
      form_senders, portal_origins, require_second_factor
    from organizations where id = ${organization_id} ${lock}`
  if (!organization) throw new ApiError('FORBIDDEN')
  return organization
}

/** Every organization with the number of its members, for the operator. */
export function listOrganizations({ sql }: Connection) {
  return sql<{ id: string; name: string; created_at: string; members: number }[]>`
    select o.id, o.name, o.created_at, (
      select count(*) from memberships m where m.organization_id = o.id and m.removed_at is null
    ) as members
    from organizations o order by o.id`
}
