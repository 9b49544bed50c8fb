/** Ends sessions when the identity provider says so (OpenID Connect Back-Channel Logout 1.0). */
import type { Connection } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import { within } from '../../base/flow/within'
import { afterCommit, inTransaction, type Scope, SYSTEM } from '../../base/scope'
import { forgetMemberships } from '../../http/admission/membership'
import { hashToken } from '../../http/admission/tokens'
import { endProviderSessions } from '../auth/sessions'
import { ProviderError, verifyToken } from './provider-requests'
import { getStoredProvider, lockProvider } from './queries'

const EVENT = 'http://schemas.openid.net/event/backchannel-logout'
const MOST_MS = 9000
/** How long the id of a logout token is remembered. Older tokens are refused. */
const REMEMBERED_S = 3600

/**
 * Ends the sessions of the provider's session that a logout token names, else those of its person.
 * @throws BAD_REQUEST for a token that is wrong or used, IDENTITY_PROVIDER_NOT_FOUND
 */
export async function endByProvider(
  connection: Connection,
  organization_id: string,
  logout_token: string | null,
): Promise<void> {
  const provider = await getStoredProvider(connection, organization_id)
  if (!logout_token) throw new ApiError('BAD_REQUEST', { reason: 'There is no logout_token' })
  const claims = await within(MOST_MS, verifyToken(provider, logout_token), new ProviderError('late')).catch(
    (error) => {
      if (error instanceof ProviderError) throw wrongToken()
      throw error
    },
  )
  const { sub, sid, jti, iat, nonce, events } = claims
  const event = typeof events === 'object' && events !== null && EVENT in events
  const which: { sid: string } | { subject: string } | undefined =
    typeof sid === 'string' ? { sid } : sub === undefined ? undefined : { subject: sub }
  if (!event || !which || nonce !== undefined || typeof jti !== 'string') throw wrongToken()
  if (iat! < Date.now() / 1000 - REMEMBERED_S) throw wrongToken()
  await inTransaction({ ...connection, organization_id, actor: SYSTEM }, async (scope) => {
    if (!(await isFirst(scope, jti))) throw wrongToken()
    // A code that is being redeemed becomes a session before, or is gone after.
    await lockProvider(scope)
    const { sql } = scope
    await sql`
      delete from provider_tokens
      where organization_id = ${organization_id} and kind = 'code'
        and ${'sid' in which ? sql`data ->> 'sid' = ${which.sid}` : sql`data ->> 'subject' = ${which.subject}`}`
    const ended = await endProviderSessions(scope, organization_id, which)
    afterCommit(scope, () => ended.forEach(forgetMemberships))
  })
}

async function isFirst({ sql, organization_id }: Scope, jti: string): Promise<boolean> {
  const kept = await sql`
    insert into provider_tokens (organization_id, kind, token_hash, data, expires_at)
    values (${organization_id}, 'logout', ${hashToken(jti)}, '{}', now() + make_interval(secs => ${REMEMBERED_S * 2}))
    on conflict do nothing returning kind`
  return kept.length > 0
}

function wrongToken(): ApiError {
  return new ApiError('BAD_REQUEST', { reason: 'The logout token is wrong or used' })
}
