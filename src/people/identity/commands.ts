/** The deeds of admins and the operator on the identity provider of an organization. */
import { audit, auditChanges, OPERATOR } from '../../base/audit/audit'
import { changesOf } from '../../base/audit/changes-of'
import { lockAccount } from '../../base/db/account-lock'
import { newId } from '../../base/db/columns'
import { fieldError } from '../../base/errors'
import { afterCommit, inTransaction, type Scope } from '../../base/scope'
import { encrypt } from '../../base/secrets'
import { forgetMemberships, forgetMembershipsIn } from '../../http/admission/membership'
import { requirePerson } from '../../http/request/permissions'
import { endProviderSessions } from '../auth/sessions'
import { getMember } from '../users/queries'
import type { IdentityProvider, IdentityProviderInput } from './model'
import { discover, ProviderError } from './provider-requests'
import { findIdentityProvider, getIdentityProvider, lockProvider } from './queries'

const SESSION_S = 43_200

/** Compares the provider that is stored with what the client has read. @throws PRECONDITION_FAILED */
type Judge = (stored: IdentityProvider | undefined) => void

/**
 * Sets the provider of the organization. Another issuer or client_id ends its sessions; another issuer ends the links
 * of members, too.
 * @throws PRECONDITION_FAILED, PROVIDER_UNREACHABLE; VALIDATION_ERROR at /required
 */
export async function putIdentityProvider(
  scope: Scope,
  input: IdentityProviderInput,
  judge: Judge,
): Promise<IdentityProvider> {
  judge(await findIdentityProvider(scope))
  await discover({ ...scope, issuer: input.issuer }).catch((error) => {
    if (!(error instanceof ProviderError)) throw error
    throw fieldError('PROVIDER_UNREACHABLE', '/issuer', `cannot be used: ${error.message}`)
  })
  return inTransaction(scope, async (scope) => {
    await lockProvider(scope)
    const before = await findIdentityProvider(scope)
    judge(before)
    const is_same = before?.issuer === input.issuer && before.client_id === input.client_id
    const required = input.required === true && (is_same || !before)
    if (required && !before?.required && !(is_same && requirePerson(scope).is_from_provider)) {
      throw fieldError('VALIDATION_ERROR', '/required', 'can be set by an admin who signed in by this provider')
    }
    if (before && !is_same) await endAll(scope, before.issuer === input.issuer ? 'sessions' : 'sessions and links')
    await write(scope, input, { required, keeps_secret: is_same && input.client_secret === undefined })
    const after = await getIdentityProvider(scope)
    await noteChange(scope, before, after, typeof input.client_secret === 'string')
    afterCommit(scope, () => forgetMembershipsIn(scope.organization_id))
    return after
  })
}

/** Removes the provider with its links and sessions. @throws IDENTITY_PROVIDER_NOT_FOUND, PRECONDITION_FAILED */
export async function deleteIdentityProvider(scope: Scope, judge: Judge): Promise<void> {
  await inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    await lockProvider(scope)
    judge(await getIdentityProvider(scope))
    await endAll(scope, 'sessions and links')
    await sql`delete from identity_providers where organization_id = ${organization_id}`
    const resource = { type: 'organization', id: organization_id } as const
    await audit(scope, { action: 'identity_provider.deleted', resource })
    afterCommit(scope, () => forgetMembershipsIn(organization_id))
  })
}

/** Takes the link of a member to the provider away, and ends the sessions by it. @throws USER_NOT_FOUND */
export async function unlinkIdentity(scope: Scope, user_id: string): Promise<void> {
  await inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    await lockProvider(scope)
    await lockAccount(scope, user_id)
    await getMember(scope, user_id)
    const { count } = await sql`
      delete from identities where organization_id = ${organization_id} and user_id = ${user_id}`
    if (count === 0) return
    await endProviderSessions(scope, organization_id, { user_id })
    await sql`
      delete from provider_tokens
      where organization_id = ${organization_id} and kind = 'code' and data ->> 'user_id' = ${user_id}`
    await audit(scope, { action: 'user.identity_unlinked', resource: { type: 'user', id: user_id } })
    afterCommit(scope, () => forgetMemberships(user_id))
  })
}

/** Lets members sign in with a password again, for the operator. @returns false when they may already */
export async function makeProviderOptional(scope: Scope): Promise<boolean> {
  return inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    await lockProvider(scope)
    const { count } = await sql`
      update identity_providers set required = false, updated_at = now()
      where organization_id = ${organization_id} and required`
    if (count === 0) return false
    const resource = { type: 'organization', id: organization_id } as const
    await audit({ ...scope, actor: OPERATOR }, { action: 'operator.identity_provider_optional', resource })
    return true
  })
}

async function write(
  { sql, organization_id }: Scope,
  input: IdentityProviderInput,
  { required, keeps_secret }: { required: boolean; keeps_secret: boolean },
): Promise<void> {
  const [stored] = await sql<{ id: string; client_secret: string | null }[]>`
    select id, client_secret from identity_providers where organization_id = ${organization_id}`
  const id = stored?.id ?? newId()
  const at = { column: 'identity_providers.client_secret', organization_id, id } as const
  const secret = keeps_secret
    ? (stored?.client_secret ?? null)
    : typeof input.client_secret === 'string'
      ? encrypt(input.client_secret, at)
      : null
  const { admin = [], agent = [] } = input.role_values ?? {}
  const fields = {
    issuer: input.issuer,
    client_id: input.client_id,
    client_secret: secret,
    redirect_uris: input.redirect_uris ?? [],
    trust_email: input.trust_email ?? false,
    provision: input.provision ?? 'none',
    domains: (input.domains ?? []).map((domain) => domain.toLowerCase()),
    role_claim: input.role_claim ?? null,
    role_values: JSON.stringify({ admin, agent }),
    session_seconds: input.session_seconds ?? SESSION_S,
    required,
  }
  if (!stored) await sql`insert into identity_providers ${sql({ organization_id, id, ...fields })}`
  else
    await sql`
    update identity_providers set ${sql(fields)}, updated_at = now() where organization_id = ${organization_id}`
}

async function endAll(scope: Scope, what: 'sessions' | 'sessions and links'): Promise<void> {
  const { sql, organization_id } = scope
  await sql`delete from provider_tokens where organization_id = ${organization_id} and kind in ('state', 'code')`
  if (what === 'sessions and links') await sql`delete from identities where organization_id = ${organization_id}`
  const ended = await endProviderSessions(scope, organization_id)
  afterCommit(scope, () => ended.forEach(forgetMemberships))
}

async function noteChange(
  scope: Scope,
  before: IdentityProvider | undefined,
  after: IdentityProvider,
  sets_secret: boolean,
): Promise<void> {
  const listed = (one: IdentityProvider | undefined) =>
    one ? { ...one, client_secret: one.has_client_secret ? '***' : null } : null
  const changes = changesOf(listed(before), listed(after), sets_secret ? ['client_secret'] : [])
  const resource = { type: 'organization', id: scope.organization_id } as const
  await auditChanges(scope, { action: 'identity_provider.updated', resource, changes })
}
