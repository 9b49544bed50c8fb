import { ApiError } from '../errors'
import type { Scope } from '../scope'
import type { Organization } from './model'

/** The organization of the request. */
export async function getOrganization({ sql, organization_id }: Scope): Promise<Organization> {
  const [organization] = await sql<Organization[]>`
    select id, name, ticket_prefix, hourly_rate, currency, reopen_on_reply
    from organizations where id = ${organization_id}`
  if (!organization) throw new ApiError('FORBIDDEN')
  return organization
}
