/**
 * Sessions: a refresh token with the access tokens that it was exchanged for. Each access token names its session, so
 * that the end of a session ends them too: at once in this process, within 10 seconds in the others.
 */
import { config } from '../../base/config'
import { lockAccount } from '../../base/db/account-lock'
import { withChangeTime } from '../../base/db/change-time'
import { newId } from '../../base/db/columns'
import type { Connection, Fragment, Sql } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import type { Origin } from '../../base/scope'
import { accessTokenFor, type Claims, hashToken, newSecretToken } from '../../http/admission/tokens'
import { auditAccount } from './account-audit'
import type { Session, Tokens } from './model'
import { kindOf, listMemberships } from './queries'

/** The outcome of a sign-in: the account, and a session with the claims of its first access token. */
export type SignedIn = {
  account: { id: string; email: string; name: string }
  claims: Claims
  session_id: string
  is_from_provider: boolean
  refresh_token: string
}

/**
 * Begins the session of an account that has proven itself, in the caller's transaction, and audits the sign-in. Behind
 * the commit the caller calls `writeAccountEntries`.
 */
export async function startSession(
  connection: Connection,
  account: SignedIn['account'],
  claims: Claims,
  origin: Origin,
): Promise<SignedIn> {
  const session = await beginSession(connection, account.id, origin)
  const resource = { type: 'session', id: session.session_id } as const
  await auditAccount({ ...connection, origin }, account.id, { action: 'auth.login', resource })
  return { account, claims, ...session }
}

/** Makes the answer to a sign-in. */
export async function signedInAnswer({ account, claims, refresh_token, ...session }: SignedIn): Promise<Tokens> {
  const { id, email, name } = account
  const { access_token, ...rest } = await accessTokenFor(claims, session)
  return { access_token, refresh_token, ...rest, user: { id, email, name } }
}

/**
 * Returns the claims of an account in its first organization; undefined when it has no membership left.
 * @param only the organization of a session that acts in one alone
 */
export async function claimsOf(
  connection: Connection,
  account: { id: string; email: string },
  only: string | null = null,
): Promise<Claims | undefined> {
  const all = await listMemberships(connection, account.id)
  const [first] = only ? all.filter(({ id }) => id === only) : all
  return first && { sub: account.id, email: account.email, org_id: first.id, role: first.role }
}

/** Where a session began that began at an identity provider, and how long it lasts. */
type ProviderSession = { organization_id: string; subject: string; sid: string | null; seconds: number }

/** Begins a session of an account. @param provider null: with a password */
export async function beginSession(
  { sql }: Connection,
  user_id: string,
  { ip, user_agent }: Pick<Origin, 'ip' | 'user_agent'>,
  provider: ProviderSession | null = null,
): Promise<Omit<SignedIn, 'account' | 'claims'>> {
  const refresh_token = newSecretToken()
  const session_id = newId()
  const seconds = Math.min(config.REFRESH_TOKEN_SECONDS, provider?.seconds ?? config.REFRESH_TOKEN_SECONDS)
  await sql`
    insert into refresh_tokens (token_hash, id, user_id, expires_at, last_used_at, ip, user_agent,
      provider_organization_id, provider_subject, provider_sid)
    values (${hashToken(refresh_token)}, ${session_id}, ${user_id}, now() + make_interval(secs => ${seconds}), now(),
      ${ip}, ${user_agent}, ${provider?.organization_id ?? null}, ${provider?.subject ?? null}, ${provider?.sid ?? null})`
  return { session_id, is_from_provider: provider !== null, refresh_token }
}

/**
 * Finds the session of a refresh token, with its account.
 * @throws TOKEN_EXPIRED; INVALID_TOKEN when the token is unknown or ended
 */
export async function getSession(
  { sql }: Connection,
  refresh_token: string,
): Promise<{ session_id: string; only: string | null; account: { id: string; email: string } }> {
  type Row = { session_id: string; only: string | null; id: string; email: string; expired: boolean }
  const [row] = await sql<Row[]>`
    select t.id as session_id, t.provider_organization_id as only, u.id, u.email, t.expires_at <= now() as expired
    from refresh_tokens t join users u on u.id = t.user_id
    where t.token_hash = ${hashToken(refresh_token)} and t.signed_out_at is null`
  if (!row) throw new ApiError('INVALID_TOKEN')
  if (row.expired) throw new ApiError('TOKEN_EXPIRED')
  const { session_id, only, id, email } = row
  return { session_id, only, account: { id, email } }
}

/** Notes that a client used a session. */
export async function noteUse(
  { sql }: Connection,
  session_id: string,
  { ip, user_agent }: Pick<Origin, 'ip' | 'user_agent'>,
): Promise<void> {
  await sql`
    update refresh_tokens set last_used_at = now(), ip = ${ip}, user_agent = ${user_agent}
    where id = ${session_id}`
}

/** Lists the sessions of an account that have not ended, last used first. */
export async function listSessions({ sql }: Connection, user_id: string, current: string | null): Promise<Session[]> {
  return sql<Session[]>`
    select id, created_at, last_used_at, ip, user_agent, id is not distinct from ${current}::uuid as current
    from refresh_tokens
    where user_id = ${user_id} and signed_out_at is null and expires_at > now() and ${isOfKind(sql, current)}
    order by coalesce(last_used_at, refresh_tokens.created_at) desc, id desc`
}

/**
 * Ends a session by its id. @returns the organization that it acts in alone; null for all
 * @throws SESSION_NOT_FOUND when the account has no such session
 */
export async function endSession(
  { sql }: Connection,
  caller: { id: string; session_id: string | null },
  session_id: string,
): Promise<string | null> {
  const [ended] = await sql<{ only: string | null }[]>`
    delete from refresh_tokens
    where id = ${session_id} and user_id = ${caller.id} and signed_out_at is null and expires_at > now()
      and ${isOfKind(sql, caller.session_id)}
    returning provider_organization_id as only`
  if (!ended) throw new ApiError('SESSION_NOT_FOUND')
  return ended.only
}

/**
 * Ends all sessions of an account but one, and sign-ins that wait for a code, in the caller's transaction. After the
 * commit, `forgetMemberships` makes this process see it at once.
 * @param kept the session that stays; null ends all
 */
export async function endSessions(inner: Connection, user_id: string, kept: string | null = null): Promise<void> {
  const { sql } = inner
  const [, time] = await withChangeTime(sql, lockAccount(inner, user_id))
  await sql`delete from refresh_tokens where user_id = ${user_id} and id is distinct from ${kept}::uuid`
  await sql`delete from sign_in_challenges where user_id = ${user_id}`
  await sql`update users set sessions_ended_at = ${time} where id = ${user_id}`
}

/** Ends all sessions of an account that is an active member of no organization any more. */
export async function endSessionsOfNoMember(connection: Connection, user_id: string): Promise<void> {
  const { sql } = connection
  const [membership] = await sql`
    select from memberships where user_id = ${user_id} and active and removed_at is null limit 1`
  if (!membership) await endSessions(connection, user_id)
}

/**
 * Ends the sessions that began at the identity provider of an organization. After the commit, `forgetMemberships` makes
 * this process see it at once.
 * @param which those of an account, or what the provider calls a person or its own session; all when left out
 * @returns the accounts
 */
export async function endProviderSessions(
  { sql }: Pick<Connection, 'sql'>,
  organization_id: string,
  which: { user_id?: string; subject?: string; sid?: string } = {},
): Promise<string[]> {
  const ended = await sql<{ user_id: string }[]>`
    delete from refresh_tokens
    where provider_organization_id = ${organization_id}
      ${which.user_id === undefined ? sql`` : sql`and user_id = ${which.user_id}`}
      ${which.subject === undefined ? sql`` : sql`and provider_subject = ${which.subject}`}
      ${which.sid === undefined ? sql`` : sql`and provider_sid = ${which.sid}`}
    returning user_id`
  return ended.map(({ user_id }) => user_id)
}

/** SQL of what a session may see of its account: one of an identity provider those of it alone. */
export function isOfKind(sql: Sql, session_id: string | null): Fragment {
  return sql`coalesce(provider_organization_id = ${kindOf(sql, session_id)}, ${kindOf(sql, session_id)} is null)`
}
