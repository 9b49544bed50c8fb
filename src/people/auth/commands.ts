import { type AuditEntry, OPERATOR } from '../../base/audit/audit'
import { changesOf } from '../../base/audit/changes-of'
import { lockAccount, lockAccountOf } from '../../base/db/account-lock'
import { type Connection, transact } from '../../base/db/transact'
import { ApiError, fieldError, OperatorError } from '../../base/errors'
import type { Origin } from '../../base/scope'
import { forgetMemberships, requireSessionNow, type TokenOfUser } from '../../http/admission/membership'
import { type Claims, hashToken } from '../../http/admission/tokens'
import { auditAccount, writeAccountEntries } from './account-audit'
import type { Me, MeChanges } from './model'
import { changeOwnMembership, type OwnCaller } from './own-membership'
import { hashPassword, verifyPassword } from './password'
import { tryPassword } from './password-guesses'
import { findAccount, getMe, kindOf, lockVerified, needsProvider } from './queries'
import { noteRefusedSignIn } from './refused-sign-ins'
import { hasSecondFactor, removeSecondFactor } from './second-factor'
import { beginChallenge, secondFactorRequired } from './second-step'
import {
  claimsOf,
  endSession,
  endSessions,
  getSession,
  isOfKind,
  noteUse,
  type SignedIn,
  startSession,
} from './sessions'

/** The account of an access token, and its session. */
type Caller = { id: string; session_id: string | null }

/**
 * Signs an account in. One with a second factor is asked for its code (`second-step.ts`).
 * @param origin where it comes from: wrong passwords are counted by email and address (`password-guesses.ts`)
 * @param headers of the answer: get `retry-after` with RATE_LIMITED
 * @throws INVALID_CREDENTIALS, the same for an unknown email, a wrong password and an account without a membership;
 *   SECOND_FACTOR_REQUIRED; PROVIDER_REQUIRED when no organization takes a password; RATE_LIMITED
 */
export async function signIn(
  connection: Connection,
  credentials: { email: string; password: string },
  origin: Origin,
  headers: Record<string, string | number>,
): Promise<SignedIn> {
  const { email, password } = credentials
  const found = await tryPassword({ email, address: origin.ip }, headers, async () => {
    const account = await findAccount(connection, email)
    const matches = await verifyPassword(password, account?.password_hash, origin.ip)
    const claims = account && matches ? await claimsOf(connection, account) : undefined
    if (account && !claims) noteRefusedSignIn(connection, account.id, origin)
    return claims && account
  })
  if (!found) throw new ApiError('INVALID_CREDENTIALS')
  const result = await transact(connection, async (inner) => {
    // A deed that ended the account's sessions after the password was verified did not see this one.
    const account = await lockVerified(inner, found)
    const claims = account && (await claimsOf(inner, account))
    if (!claims) throw new ApiError('INVALID_CREDENTIALS')
    if (await needsProvider(inner, account.id)) throw new ApiError('PROVIDER_REQUIRED')
    if (await hasSecondFactor(inner, account.id)) return { challenge: await beginChallenge(inner, account.id) }
    return startSession(inner, account, claims, origin)
  })
  if ('challenge' in result) throw secondFactorRequired(result.challenge)
  await writeAccountEntries(connection, found.id)
  return result
}

/**
 * Returns the claims of a new access token, in exchange for a refresh token.
 * @throws TOKEN_EXPIRED; INVALID_TOKEN when the token is unknown or ended, or its account has no membership left
 */
export async function refresh(
  connection: Connection,
  refresh_token: string,
  origin: Origin,
): Promise<{ claims: Claims; session_id: string; is_from_provider: boolean }> {
  const { session_id, only, account } = await getSession(connection, refresh_token)
  const claims = await claimsOf(connection, account, only)
  if (!claims) throw new ApiError('INVALID_TOKEN')
  await noteUse(connection, session_id, origin)
  return { claims, session_id, is_from_provider: only !== null }
}

/** Ends the session of a refresh token, with its access tokens, if it is one that the caller may see. */
export async function signOut(
  connection: Connection,
  caller: Caller,
  refresh_token: string,
  origin: Origin,
): Promise<void> {
  const { id: user_id, session_id } = caller
  const ended = await transact(connection, async (inner) => {
    const { sql } = inner
    const [session] = await sql<{ id: string; only: string | null }[]>`
      update refresh_tokens set signed_out_at = now()
      where token_hash = ${hashToken(refresh_token)} and user_id = ${user_id} and signed_out_at is null
        and ${isOfKind(sql, session_id)}
      returning id, provider_organization_id as only`
    if (!session) return false
    const resource = { type: 'session', id: session.id } as const
    await auditAccount({ ...inner, origin }, user_id, { action: 'auth.logout', resource }, session.only)
    return true
  })
  if (!ended) return
  forgetMemberships(user_id)
  await writeAccountEntries(connection, user_id)
}

/** Ends one of the caller's sessions. @throws SESSION_NOT_FOUND */
export async function endOwnSession(
  connection: Connection,
  caller: Caller,
  session_id: string,
  origin: Origin,
): Promise<void> {
  const { id: user_id } = caller
  await transact(connection, async (inner) => {
    const only = await endSession(inner, caller, session_id)
    const resource = { type: 'session', id: session_id } as const
    await auditAccount({ ...inner, origin }, user_id, { action: 'auth.session_ended', resource }, only)
  })
  forgetMemberships(user_id)
  await writeAccountEntries(connection, user_id)
}

/** Ends all sessions of the caller but the present one. */
export async function endOtherSessions(connection: Connection, caller: Caller, origin: Origin): Promise<void> {
  await transact(connection, async (inner) => {
    const only = await endOthers(inner, caller)
    const resource = { type: 'user', id: caller.id } as const
    await auditAccount({ ...inner, origin }, caller.id, { action: 'auth.session_ended', resource }, only)
  })
  forgetMemberships(caller.id)
  await writeAccountEntries(connection, caller.id)
}

/** Ends the other sessions that the caller's may see. @returns the organization that they act in alone; null for all */
async function endOthers(inner: Connection, { id, session_id }: Caller): Promise<string | null> {
  const { sql } = inner
  const [session] = await sql<{ only: string | null }[]>`select ${kindOf(sql, session_id)} as only`
  const only = session?.only ?? null
  if (only === null) await endSessions(inner, id, session_id)
  else
    await sql`
      delete from refresh_tokens where user_id = ${id} and id <> ${session_id} and provider_organization_id = ${only}`
  return only
}

/**
 * Changes the caller's name or password, or what belongs to a membership; a new password ends all other sessions.
 * @param origin where it comes from: wrong current passwords are counted like those of sign-in
 * @param headers of the answer: get `retry-after` with RATE_LIMITED
 * @throws VALIDATION_ERROR at /current_password when it is wrong or missing; RATE_LIMITED; INVALID_TOKEN when the
 *   session was ended meanwhile; FORBIDDEN for an organization that is not the caller's
 */
export async function updateMe(
  connection: Connection,
  caller: TokenOfUser & OwnCaller,
  changes: MeChanges,
  { origin, headers }: { origin: Origin; headers: Record<string, string | number> },
): Promise<Me> {
  const { id: user_id, session_id } = caller
  const { name, new_password, available, notify } = changes
  if (caller.is_from_provider && (name !== undefined || new_password !== undefined)) throw new ApiError('FORBIDDEN')
  const verified_hash =
    new_password === undefined ? null : await verifyOwn(connection, user_id, changes, { origin, headers })
  const password_hash = new_password === undefined ? null : await hashPassword(new_password, origin.ip)
  await transact(connection, async (inner) => {
    const { name: name_before } = await lockOwn(inner, caller, verified_hash)
    if (available !== undefined || notify)
      await changeOwnMembership({ ...inner, origin }, caller, { available, notify })
    if (name === undefined && password_hash === null) return
    await inner.sql`
      update users
      set name = coalesce(${name ?? null}, name), password_hash = coalesce(${password_hash}, password_hash), updated_at = now()
      where id = ${user_id}`
    if (password_hash) await endSessions(inner, user_id, session_id)
    const note = (entry: Pick<AuditEntry, 'action' | 'changes'>) =>
      auditAccount({ ...inner, origin }, user_id, { ...entry, resource: { type: 'user', id: user_id } })
    if (password_hash) await note({ action: 'auth.password_changed' })
    const changes = name === undefined ? null : changesOf({ name: name_before }, { name })
    if (changes) await note({ action: 'user.updated', changes })
  })
  forgetMemberships(user_id)
  await writeAccountEntries(connection, user_id)
  return getMe(connection, caller)
}

/**
 * Tries the caller's own password, for what a session alone may not do.
 * @returns the hash of the right password @throws VALIDATION_ERROR at /current_password; RATE_LIMITED
 */
export async function verifyOwn(
  connection: Connection,
  user_id: string,
  { current_password }: Pick<MeChanges, 'current_password'>,
  { origin, headers }: { origin: Origin; headers: Record<string, string | number> },
): Promise<string> {
  if (current_password === undefined) throw fieldError('VALIDATION_ERROR', '/current_password', 'is required')
  const { email, password_hash } = await getPassword(connection, user_id)
  const isRight = async () => (await verifyPassword(current_password, password_hash, origin.ip)) || undefined
  if (!(await tryPassword({ email, address: origin.ip }, headers, isRight))) throw wrongPassword()
  return password_hash
}

/**
 * Locks the caller's account until the transaction ends.
 * @param verified_hash of the password that was verified before the transaction; null when none was
 * @throws INVALID_TOKEN when the session was ended meanwhile; VALIDATION_ERROR when the password was changed meanwhile
 */
export async function lockOwn(
  inner: Connection,
  caller: TokenOfUser,
  verified_hash: string | null,
): Promise<{ name: string; email: string }> {
  await lockAccount(inner, caller.id)
  const [account] = await inner.sql<{ name: string; email: string; password_hash: string }[]>`
    select name, email, password_hash from users where id = ${caller.id}`
  await requireSessionNow(inner, caller)
  if (!account) throw new ApiError('INVALID_TOKEN')
  if (verified_hash !== null && account.password_hash !== verified_hash) throw wrongPassword()
  return { name: account.name, email: account.email }
}

function wrongPassword(): ApiError {
  return fieldError('VALIDATION_ERROR', '/current_password', 'is not right')
}

/**
 * Deletes sessions and waiting sign-ins a day after they expired: until then their tokens are answered with
 * TOKEN_EXPIRED. Secrets whose first code never came go too.
 */
export async function deleteExpiredTokens({ sql }: Connection): Promise<void> {
  await sql`delete from refresh_tokens where expires_at < now() - interval '1 day'`
  await sql`delete from sign_in_challenges where expires_at < now() - interval '1 day'`
  await sql`delete from second_factors where confirmed_at is null and made_at < now() - interval '1 day'`
}

async function getPassword({ sql }: Connection, user_id: string): Promise<{ email: string; password_hash: string }> {
  const [account] = await sql<{ email: string; password_hash: string }[]>`
    select email, password_hash from users where id = ${user_id}`
  if (!account) throw new ApiError('INVALID_TOKEN')
  return account
}

/**
 * Sets the password of an account and ends its sessions, for the operator.
 * @returns the account's id; undefined when no account has the email
 */
export async function setPassword(
  connection: Connection,
  email: string,
  password: string,
): Promise<string | undefined> {
  const password_hash = await hashPassword(password, 'operator')
  const id = await transact(connection, async (inner) => {
    const user = await lockAccountOf(inner, email)
    if (!user) return undefined
    await inner.sql`
      update users set password_hash = ${password_hash}, is_password_held = false, updated_at = now()
      where id = ${user.id}`
    await endSessions(inner, user.id)
    const resource = { type: 'user', id: user.id } as const
    await auditAccount({ ...inner, actor: OPERATOR }, user.id, { action: 'operator.user_password', resource })
    return user.id
  })
  if (id) await writeAccountEntries(connection, id)
  return id
}

/**
 * Takes the second factor of an account away and ends its sessions, for the operator.
 * @returns the account's id; undefined when no account has the email
 * @throws OperatorError when it has no second factor
 */
export async function resetSecondFactor(connection: Connection, email: string): Promise<string | undefined> {
  const id = await transact(connection, async (inner) => {
    const user = await lockAccountOf(inner, email)
    if (!user) return undefined
    if (!(await removeSecondFactor(inner, user.id))) throw new OperatorError(`${email} has no second factor`)
    await endSessions(inner, user.id)
    const resource = { type: 'user', id: user.id } as const
    await auditAccount({ ...inner, actor: OPERATOR }, user.id, {
      action: 'operator.user_second_factor_reset',
      resource,
    })
    return user.id
  })
  if (id) await writeAccountEntries(connection, id)
  return id
}
