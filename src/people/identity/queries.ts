import type { Connection } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import type { Scope } from '../../base/scope'
import { decrypt } from '../../base/secrets'
import type { IdentityProvider } from './model'
import type { Provider } from './provider-requests'

type InTransaction = Pick<Connection, 'sql'>

/** The provider of the organization. @throws IDENTITY_PROVIDER_NOT_FOUND */
export async function getIdentityProvider(scope: Scope): Promise<IdentityProvider> {
  const provider = await findIdentityProvider(scope)
  if (!provider) throw new ApiError('IDENTITY_PROVIDER_NOT_FOUND')
  return provider
}

/** Finds the provider of the organization, as the API shows it. */
export async function findIdentityProvider({
  sql,
  organization_id,
}: Pick<Scope, 'sql' | 'organization_id'>): Promise<IdentityProvider | undefined> {
  const [provider] = await sql<IdentityProvider[]>`
    select issuer, client_id, client_secret is not null as has_client_secret, redirect_uris, trust_email, provision,
      domains, role_claim, role_values, session_seconds, required, created_at, updated_at
    from identity_providers where organization_id = ${organization_id}`
  return provider
}

/** The parts of a provider that signing in needs, its secret too. */
export type StoredProvider = Provider &
  Pick<IdentityProvider, 'redirect_uris' | 'trust_email' | 'provision' | 'domains' | 'role_claim' | 'role_values'> & {
    session_seconds: number
    organization_name: string
  }

/** Reads a provider with its secret. @throws IDENTITY_PROVIDER_NOT_FOUND */
export async function getStoredProvider({ sql }: InTransaction, organization_id: string): Promise<StoredProvider> {
  const [row] = await sql<(StoredProvider & { id: string })[]>`
    select p.organization_id, p.id, o.name as organization_name, p.issuer, p.client_id, p.client_secret,
      p.redirect_uris, p.trust_email, p.provision, p.domains, p.role_claim, p.role_values, p.session_seconds
    from identity_providers p join organizations o on o.id = ${organization_id}
    where p.organization_id = ${organization_id}`
  if (!row) throw new ApiError('IDENTITY_PROVIDER_NOT_FOUND')
  const { id, client_secret, ...provider } = row
  const at = { column: 'identity_providers.client_secret', organization_id, id } as const
  return { ...provider, client_secret: client_secret === null ? null : decrypt(client_secret, at) }
}

/** Locks the provider of an organization, and what members are called there, until the transaction ends. */
export async function lockProvider({ sql, organization_id }: Pick<Scope, 'sql' | 'organization_id'>): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`identity provider ${organization_id}`}, 0))`
}
