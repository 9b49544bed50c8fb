/**
 * The answers of the invited person: accept or decline. The token in the link says which invitation it is.
 */
import { isDeepStrictEqual } from 'node:util'
import { addressKey } from '../../base/address/email'
import { audit } from '../../base/audit/audit'
import { lockAccountOf } from '../../base/db/account-lock'
import { newId } from '../../base/db/columns'
import type { Connection } from '../../base/db/transact'
import { violates } from '../../base/db/violations'
import { ApiError, fieldError } from '../../base/errors'
import { afterCommit, inTransaction, type Origin, type Scope, SYSTEM } from '../../base/scope'
import { forgetMemberships } from '../../http/admission/membership'
import { hashToken } from '../../http/admission/tokens'
import { withdrawLetters } from '../../mail/letters/enqueue-letter'
import { auditAccount, writeAccountEntries } from '../auth/account-audit'
import { addMembership } from '../auth/add-membership'
import { hashPassword, isPassword, verifyPassword } from '../auth/password'
import { tryCode, tryPassword } from '../auth/password-guesses'
import { useCode } from '../auth/second-factor'
import { claimsOf, endSessions, type SignedIn, startSession } from '../auth/sessions'
import type { Acceptance } from './model'
import { findInvitedAccount, getByToken, type InvitedAccount, needsBoth, type StoredInvitation } from './queries'

type Headers = Record<string, string | number>

/** Where a guessed password comes from, and the headers of the answer to it. */
type GuessOrigin = { address: string; headers: Headers }

/**
 * Makes the invited person a member, and signs in. An account whose password is not held by the person gets a new one,
 * and all its sessions end: an admin who knows the password of before is out. An account with a second factor gives its
 * code too, whatever its password is.
 * @param headers of the answer: get `retry-after` with RATE_LIMITED
 * @throws INVALID_TOKEN, TOKEN_EXPIRED; INVALID_CREDENTIALS for a wrong password or code of the account;
 *   SECOND_FACTOR_REQUIRED without a code; VALIDATION_ERROR; RATE_LIMITED
 */
export async function acceptInvitation(
  connection: Connection,
  token: string,
  input: Acceptance,
  origin: Origin,
  headers: Headers,
): Promise<SignedIn> {
  const found = await findAnswered(connection, await getByToken(connection, token))
  const { organization_id } = found.invitation
  const password_hash = await passwordFor(found, input, { address: origin.ip, headers })
  const scope: Scope = { ...connection, organization_id, actor: SYSTEM, origin }
  const accept = () =>
    inTransaction(scope, async (scope) => {
      const invitation = await takeInvitation(scope, token)
      await lockAccountOf(scope, invitation.email)
      const now = await findAnswered(scope, invitation)
      if (!isDeepStrictEqual(now, found)) throw new Overtaken()
      if (now.account) await requireCode(scope, now.account, input.code)
      const account = await accountFor(scope, now, input, password_hash)
      const { role, hourly_rate, currency } = invitation
      await addMembership(scope, account.id, { role, hourly_rate, currency, active: true })
      afterCommit(scope, () => forgetMemberships(account.id))
      await auditAnswer(scope, 'invitation.accepted', invitation, account)
      const claims = await claimsOf(scope, account)
      if (!claims) throw new ApiError('INVALID_CREDENTIALS')
      return startSession(scope, account, claims, origin)
    })
  const signed_in = await tryToAccept(found, input, { address: origin.ip, headers }, accept).catch((error) => {
    if (error instanceof Overtaken) return undefined
    throw error
  })
  if (!signed_in) return acceptInvitation(connection, token, input, origin, headers)
  await writeAccountEntries(connection, signed_in.account.id)
  return signed_in
}

/** Counts a wrong code of a second factor like one of a sign-in. */
async function tryToAccept(
  { account }: Answered,
  { code }: Acceptance,
  { address, headers }: GuessOrigin,
  accept: () => Promise<SignedIn>,
): Promise<SignedIn> {
  if (!account?.has_second_factor) return accept()
  if (code === undefined) throw new ApiError('SECOND_FACTOR_REQUIRED')
  const attempt = () =>
    accept().catch((error) => {
      if (error instanceof WrongCode) return undefined
      throw error
    })
  const signed_in = await tryCode({ email: account.email, address }, headers, 'sign-in', attempt)
  if (!signed_in) throw new ApiError('INVALID_CREDENTIALS')
  return signed_in
}

/** @throws WrongCode for an account with a second factor, so that nothing is kept */
async function requireCode(scope: Scope, account: InvitedAccount, code = ''): Promise<void> {
  if (account.has_second_factor && !(await useCode(scope, account.id, code))) throw new WrongCode()
}

/** Takes an invitation back in the name of the invited person. @throws INVALID_TOKEN, TOKEN_EXPIRED */
export async function declineInvitation(connection: Connection, token: string, origin: Origin): Promise<void> {
  const { organization_id } = await getByToken(connection, token)
  await inTransaction({ ...connection, organization_id, actor: SYSTEM, origin }, async (scope) => {
    const invitation = await takeInvitation(scope, token)
    await auditAnswer(scope, 'invitation.declined', invitation, { id: null, name: invitation.name })
  })
}

/** @param person who answers: without an id when the link alone says who it is */
async function auditAnswer(
  scope: Scope,
  action: 'invitation.accepted' | 'invitation.declined',
  { id }: StoredInvitation,
  person: { id: string | null; name: string },
): Promise<void> {
  const actor = { type: 'user', id: person.id, name: person.name } as const
  await audit({ ...scope, actor }, { action, resource: { type: 'invitation', id } })
}

/** Removes an invitation, so that its token is used once. @throws INVALID_TOKEN, TOKEN_EXPIRED */
async function takeInvitation(scope: Scope, token: string): Promise<StoredInvitation> {
  const invitation = await getByToken(scope, token)
  const { sql, organization_id } = scope
  // With its token: the invitation may have been sent again meanwhile, which ends the link of before.
  const { count } = await sql`
      delete from invitations
      where organization_id = ${organization_id} and id = ${invitation.id} and token_hash = ${hashToken(token)}`
  if (count === 0) throw new ApiError('INVALID_TOKEN')
  await withdrawLetters(scope, invitation.id)
  return invitation
}

/** An invitation and the account of its address. */
type Answered = { invitation: StoredInvitation; account: InvitedAccount | undefined }

/** Signals that the account, or what it takes to accept in its name, has changed since the password was tried. */
class Overtaken extends Error {}

class WrongCode extends Error {}

async function findAnswered(connection: Connection, invitation: StoredInvitation): Promise<Answered> {
  return { invitation, account: await findInvitedAccount(connection, invitation) }
}

/**
 * Tries the password of an account that has one, and hashes a new one. To be called outside a transaction: a hash takes
 * tens of milliseconds, in which a transaction would hold its locks.
 * @returns the hash of the password that the account has after the answer
 */
async function passwordFor({ invitation, account }: Answered, input: Acceptance, guess: GuessOrigin): Promise<string> {
  if (account?.is_password_held) {
    await requirePassword(account, input.password, guess)
    return account.password_hash
  }
  if (account && needsBoth(invitation, account)) {
    const { current_password } = input
    if (current_password === undefined) throw fieldError('VALIDATION_ERROR', '/current_password', 'is required')
    await requirePassword(account, current_password, guess)
  }
  if (isPassword(input.password)) return hashPassword(input.password, guess.address)
  throw fieldError('VALIDATION_ERROR', '/password', 'must be text of 8 to 200 characters')
}

/** Makes the account of the address, or gives it the password when it has none that the person holds. */
async function accountFor(
  scope: Scope,
  { invitation, account }: Answered,
  input: Acceptance,
  password_hash: string,
): Promise<InvitedAccount> {
  const { sql } = scope
  const { email, is_proof } = invitation
  if (account?.is_password_held) return account
  const name = input.name ?? account?.name ?? invitation.name
  if (!account) {
    const id = newId()
    await sql`
      insert into users (id, email, email_key, name, password_hash, is_password_held)
      values (${id}, ${email}, ${addressKey(email)}, ${name}, ${password_hash}, ${is_proof})`.catch((error) => {
      throw violates(error, 'users_email') ? new Overtaken() : error
    })
    return {
      id,
      email,
      name,
      password_hash,
      is_password_held: is_proof,
      is_member_elsewhere: false,
      has_second_factor: false,
    }
  }
  await sql`
    update users
    set name = ${name}, password_hash = ${password_hash}, is_password_held = ${is_proof}, updated_at = now()
    where id = ${account.id}`
  await endSessions(scope, account.id)
  const resource = { type: 'user', id: account.id } as const
  await auditAccount({ sql, origin: scope.origin }, account.id, { action: 'auth.password_changed', resource })
  return { ...account, name, password_hash }
}

/** @throws INVALID_CREDENTIALS; RATE_LIMITED, because wrong passwords are counted like those of sign-in */
async function requirePassword(
  { email, password_hash }: InvitedAccount,
  password: string,
  { address, headers }: GuessOrigin,
): Promise<void> {
  const isRight = async () => (await verifyPassword(password, password_hash, address)) || undefined
  if (!(await tryPassword({ email, address }, headers, isRight))) throw new ApiError('INVALID_CREDENTIALS')
}
