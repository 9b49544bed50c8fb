import { audit, auditChanges, OPERATOR } from '../../base/audit/audit'
import { changesOf } from '../../base/audit/changes-of'
import { newId } from '../../base/db/columns'
import { afterCommit, inTransaction, type Scope } from '../../base/scope'
import { hashKey, newKeyText } from '../../http/admission/key-format'
import { forgetKey } from '../../http/admission/known-keys'
import type { ApiKey, ApiKeyChanges, CreatedApiKey, NewApiKey } from './model'
import { getApiKey, lockApiKey } from './queries'

/** Makes an API key. Only what this returns ever holds the key itself. */
export function createApiKey(scope: Scope, input: NewApiKey): Promise<CreatedApiKey> {
  return createAs(scope, input, 'api_key.created', scope.actor)
}

/** Makes an API key in the operator's name. @param scope with the system as its actor */
export function createApiKeyForOperator(scope: Scope, input: NewApiKey): Promise<CreatedApiKey> {
  return createAs(scope, input, 'operator.api_key_create', OPERATOR)
}

/** @param actor in the audit log */
function createAs(
  scope: Scope,
  input: NewApiKey,
  action: 'api_key.created' | 'operator.api_key_create',
  actor: typeof OPERATOR,
): Promise<CreatedApiKey> {
  return inTransaction(scope, async (scope) => {
    const created = await insertApiKey(scope, input)
    const { key, ...shown } = created
    await audit({ ...scope, actor }, { ...entryOf(action, shown.id), changes: changesOf(null, shown) })
    return created
  })
}

/**
 * Changes name, permissions or networks. They count at once here, in other processes soon. @throws API_KEY_NOT_FOUND
 */
export function updateApiKey(scope: Scope, id: string, changes: ApiKeyChanges): Promise<ApiKey> {
  return inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    const before = await lockApiKey(scope, id)
    const { name, permissions, allowed_networks } = { ...before, ...changes, ...merged(changes) }
    await sql`
      update api_keys set name = ${name}, permissions = ${permissions}::text[],
        allowed_networks = ${allowed_networks}::text[]
      where organization_id = ${organization_id} and id = ${id}`
    const after = await getApiKey(scope, id)
    await auditChanges(scope, { ...entryOf('api_key.updated', id), changes: changesOf(before, after) })
    afterCommit(scope, () => forgetKey(id))
    return after
  })
}

/** Ends an API key for good. Its row stays. @throws API_KEY_NOT_FOUND, also for one that was revoked before */
export async function revokeApiKey(scope: Scope, id: string): Promise<void> {
  await inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    const before = await lockApiKey(scope, id)
    await sql`update api_keys set revoked_at = now() where organization_id = ${organization_id} and id = ${id}`
    const changes = changesOf(before, await getApiKey(scope, id))
    await auditChanges(scope, { ...entryOf('api_key.revoked', id), changes })
    afterCommit(scope, () => forgetKey(id))
  })
}

async function insertApiKey(scope: Scope, input: NewApiKey): Promise<CreatedApiKey> {
  const { sql, organization_id, actor } = scope
  const { name, permissions, allowed_networks = [] } = { ...input, ...merged(input) }
  const { text: key, prefix } = newKeyText()
  const id = newId()
  await sql`
    insert into api_keys (organization_id, id, name, prefix, key_hash, permissions, allowed_networks, created_by_id)
    values (${organization_id}, ${id}, ${name}, ${prefix}, ${hashKey(key)}, ${permissions}::text[],
      ${allowed_networks}::text[], ${actor.id})`
  return { ...(await getApiKey(scope, id)), key }
}

/** Removes repeated permissions and networks. */
function merged({ permissions, allowed_networks }: Pick<ApiKeyChanges, 'permissions' | 'allowed_networks'>) {
  return {
    ...(permissions && { permissions: [...new Set(permissions)] }),
    ...(allowed_networks && { allowed_networks: [...new Set(allowed_networks)] }),
  }
}

function entryOf<Action extends string>(action: Action, id: string) {
  return { action, resource: { type: 'api_key', id } } as const
}
