import { addressKey } from '../address/email'
import { type Connection, transact } from '../db/transact'
import { ApiError, fieldError } from '../errors'
import type { Origin } from '../scope'
import { forgetMemberships } from './membership'
import type { Me, MeChanges } from './model'
import { hashPassword, verifyPassword } from './password'
import { tryPassword } from './password-guesses'
import { findAccount, getMe } from './queries'
import { claimsOf, endSessions, getSession, noteUse, type SignedIn, startSession } from './sessions'
import { type Claims, hashToken } from './tokens'

/**
 * Signs an account in.
 * @param origin where it comes from: wrong passwords are counted by email and address (`password-guesses.ts`)
 * @param headers of the answer: get `retry-after` with RATE_LIMITED
 * @throws INVALID_CREDENTIALS, the same for an unknown email, a wrong password and an account without a membership;
 *   RATE_LIMITED
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
    const matches = await verifyPassword(password, account?.password_hash)
    const claims = account && matches ? await claimsOf(connection, account) : undefined
    return account && claims && { account, claims }
  })
  if (!found) throw new ApiError('INVALID_CREDENTIALS')
  const { account, claims } = found
  return transact(connection, (inner) => startSession(inner, account, claims, origin))
}

/**
 * Returns the claims of a new access token, in exchange for a refresh token.
 * @throws TOKEN_EXPIRED; INVALID_TOKEN when the token is unknown or ended, or its account has no membership left
 */
export async function refresh(
  connection: Connection,
  refresh_token: string,
  origin: Origin,
): Promise<{ claims: Claims; session_id: string }> {
  const { session_id, account } = await getSession(connection, refresh_token)
  const claims = await claimsOf(connection, account)
  if (!claims) throw new ApiError('INVALID_TOKEN')
  await noteUse(connection, session_id, origin)
  return { claims, session_id }
}

/** Ends a refresh token if it is the caller's own. Its last access token goes on until its time is over. */
export async function signOut({ sql }: Connection, user_id: string, refresh_token: string): Promise<void> {
  await sql`
    update refresh_tokens set signed_out_at = now()
    where token_hash = ${hashToken(refresh_token)} and user_id = ${user_id} and signed_out_at is null`
}

/**
 * Changes the caller's name or password; a new password ends all other sessions.
 * @param address the client's: wrong current passwords are counted like those of sign-in
 * @param headers of the answer: get `retry-after` with RATE_LIMITED
 * @throws VALIDATION_ERROR at /current_password when it is wrong or missing; RATE_LIMITED
 */
export async function updateMe(
  connection: Connection,
  { id: user_id, session_id }: { id: string; session_id: string | null },
  changes: MeChanges,
  { address, headers }: { address: string; headers: Record<string, string | number> },
): Promise<Me> {
  const { name, current_password, new_password } = changes
  if (new_password !== undefined) {
    const { email, password_hash } = await getPassword(connection, user_id)
    const isRight = async () => (await verifyPassword(current_password ?? '', password_hash)) || undefined
    const fault = current_password === undefined ? 'is required' : 'is not right'
    if (current_password === undefined || !(await tryPassword({ email, address }, headers, isRight))) {
      throw fieldError('VALIDATION_ERROR', '/current_password', fault)
    }
  }
  const password_hash = new_password === undefined ? null : await hashPassword(new_password)
  await transact(connection, async (inner) => {
    await inner.sql`
      update users
      set name = coalesce(${name ?? null}, name), password_hash = coalesce(${password_hash}, password_hash), updated_at = now()
      where id = ${user_id}`
    if (password_hash) await endSessions(inner, user_id, session_id)
  })
  forgetMemberships(user_id)
  return getMe(connection, user_id)
}

/** Deletes sessions a day after they expired: until then their refresh tokens are answered with TOKEN_EXPIRED. */
export async function deleteExpiredTokens({ sql }: Connection): Promise<void> {
  await sql`delete from refresh_tokens where expires_at < now() - interval '1 day'`
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
  const password_hash = await hashPassword(password)
  return transact(connection, async (inner) => {
    const [user] = await inner.sql<{ id: string }[]>`
      update users set password_hash = ${password_hash}, is_password_held = false, updated_at = now()
      where email_key = ${addressKey(email)} returning id`
    if (user) await endSessions(inner, user.id)
    return user?.id
  })
}
