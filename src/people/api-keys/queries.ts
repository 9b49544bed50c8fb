import type { Fragment } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import type { Scope } from '../../base/scope'
import { type Page, page } from '../../base/shapes/page'
import type { ApiKey, ApiKeyFilter } from './model'

/** Lists the API keys of the organization, newest first, the revoked ones too. */
export function listApiKeys(scope: Scope, filter: ApiKeyFilter): Promise<Page<ApiKey>> {
  const { sql, organization_id } = scope
  const { revoked } = filter
  const condition = revoked === undefined ? sql`` : sql`and (k.revoked_at is not null) = ${revoked}`
  return page(scope, filter, {
    name: 'api-keys',
    sort: { keys: [{ sql: sql`k.id`, field: 'id' }], direction: 'desc' },
    rows: ({ slice }) => selectApiKeys(scope, sql`${condition} ${slice}`),
    count: () => sql<{ total: number }[]>`
      select count(*) as total from api_keys k where k.organization_id = ${organization_id} ${condition}`,
  })
}

/** Reads an API key, revoked or not. @throws API_KEY_NOT_FOUND */
export async function getApiKey(scope: Scope, id: string): Promise<ApiKey> {
  const [key] = await selectApiKeys(scope, scope.sql`and k.id = ${id}`)
  if (!key) throw new ApiError('API_KEY_NOT_FOUND')
  return key
}

/**
 * Locks an API key that is not revoked. The lock lasts until the transaction ends.
 * @throws API_KEY_NOT_FOUND, also for a revoked one
 */
export async function lockApiKey(scope: Scope, id: string): Promise<ApiKey> {
  const [key] = await selectApiKeys(scope, scope.sql`and k.id = ${id} and k.revoked_at is null for no key update of k`)
  if (!key) throw new ApiError('API_KEY_NOT_FOUND')
  return key
}

function selectApiKeys({ sql, organization_id }: Scope, rest: Fragment) {
  return sql<ApiKey[]>`
    select k.id, k.name, k.prefix, k.permissions, k.allowed_networks,
      case when u.id is not null then json_build_object('id', u.id, 'name', u.name) end as created_by,
      k.created_at, k.last_used_at, k.revoked_at
    from api_keys k left join users u on u.id = k.created_by_id
    where k.organization_id = ${organization_id} ${rest}`
}
