/**
 * What the invited person does with an invitation: accept it or decline it. The token in the link says which one it is.
 */
import { addressKey } from '../../base/address/email'
import { audit } from '../../base/audit/audit'
import { lockAccountOf } from '../../base/db/account-lock'
import { newId } from '../../base/db/columns'
import type { Connection } from '../../base/db/transact'
import { ApiError, fieldError } from '../../base/errors'
import { afterCommit, inTransaction, type Origin, type Scope, SYSTEM } from '../../base/scope'
import { forgetMemberships } from '../../http/admission/membership'
import { hashToken } from '../../http/admission/tokens'
import { withdrawLetters } from '../../mail/letters/enqueue-letter'
import { auditAccount, writeAccountEntries } from '../auth/account-audit'
import { addMembership } from '../auth/add-membership'
import { hashPassword, isPassword, verifyPassword } from '../auth/password'
import { tryPassword } from '../auth/password-guesses'
import { claimsOf, endSessions, type SignedIn, startSession } from '../auth/sessions'
import type { Acceptance } from './model'
import { findInvitedAccount, getByToken, type InvitedAccount, needsBoth, type StoredInvitation } from './queries'

type Headers = Record<string, string | number>

/** Where a guessed password comes from, and the headers of the answer to it. */
type GuessOrigin = { address: string; headers: Headers }

/**
 * Makes the invited person a member, and signs in. An account whose password is not held by the person gets a new one,
 * and all its sessions end: an admin who knows the password of before is out.
 * @param headers of the answer: get `retry-after` with RATE_LIMITED
 * @throws INVALID_TOKEN, TOKEN_EXPIRED; INVALID_CREDENTIALS for a wrong password of the account; VALIDATION_ERROR
 */
export async function acceptInvitation(
  connection: Connection,
  token: string,
  input: Acceptance,
  origin: Origin,
  headers: Headers,
): Promise<SignedIn> {
  const { organization_id } = await getByToken(connection, token)
  const scope: Scope = { ...connection, organization_id, actor: SYSTEM, origin }
  const signed_in = await inTransaction(scope, async (scope) => {
    const invitation = await takeInvitation(scope, token)
    const guess = { address: origin.ip, headers }
    const account = await accountFor(scope, invitation, input, guess)
    const { role, hourly_rate, currency } = invitation
    await addMembership(scope, account.id, { role, hourly_rate, currency, active: true })
    afterCommit(scope, () => forgetMemberships(account.id))
    await auditAnswer(scope, 'invitation.accepted', invitation, account)
    const claims = await claimsOf(scope, account)
    if (!claims) throw new ApiError('INVALID_CREDENTIALS')
    return startSession(scope, account, claims, origin)
  })
  await writeAccountEntries(connection, signed_in.account.id)
  return signed_in
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

/**
 * Finds or makes the account of the address, and lets it have the password that is given or asks for the one it has.
 */
async function accountFor(
  scope: Scope,
  invitation: StoredInvitation,
  input: Acceptance,
  guess: GuessOrigin,
): Promise<InvitedAccount> {
  const { sql } = scope
  await lockAccountOf(scope, invitation.email)
  const account = await findInvitedAccount(scope, invitation)
  if (!account) return createAccount(scope, invitation, input)
  if (account.is_password_held) {
    await requirePassword(account, input.password, guess)
    return account
  }
  if (needsBoth(invitation, account)) {
    const { current_password } = input
    if (current_password === undefined) throw fieldError('VALIDATION_ERROR', '/current_password', 'is required')
    await requirePassword(account, current_password, guess)
  }
  const password_hash = await hashNew(input.password)
  const name = input.name ?? account.name
  await sql`
    update users
    set name = ${name}, password_hash = ${password_hash}, is_password_held = ${invitation.is_proof}, updated_at = now()
    where id = ${account.id}`
  await endSessions(scope, account.id)
  const resource = { type: 'user', id: account.id } as const
  await auditAccount({ sql, origin: scope.origin }, account.id, { action: 'auth.password_changed', resource })
  return { ...account, name, password_hash }
}

/**
 * @throws INVALID_TOKEN when another acceptance for the address has just made the account: the link still holds then
 */
async function createAccount(scope: Scope, invitation: StoredInvitation, input: Acceptance): Promise<InvitedAccount> {
  const { sql } = scope
  const { email, is_proof } = invitation
  const id = newId()
  const name = input.name ?? invitation.name
  const password_hash = await hashNew(input.password)
  await sql`
    insert into users (id, email, email_key, name, password_hash, is_password_held)
    values (${id}, ${email}, ${addressKey(email)}, ${name}, ${password_hash}, ${is_proof})`
  return { id, email, name, password_hash, is_password_held: is_proof, is_member_elsewhere: false }
}

/** @throws INVALID_CREDENTIALS; RATE_LIMITED, because wrong passwords are counted like those of sign-in */
async function requirePassword(
  { email, password_hash }: InvitedAccount,
  password: string,
  { address, headers }: GuessOrigin,
): Promise<void> {
  const isRight = async () => (await verifyPassword(password, password_hash)) || undefined
  if (!(await tryPassword({ email, address }, headers, isRight))) throw new ApiError('INVALID_CREDENTIALS')
}

/** @throws VALIDATION_ERROR at /password */
async function hashNew(password: string): Promise<string> {
  if (!isPassword(password)) throw fieldError('VALIDATION_ERROR', '/password', 'must be text of 8 to 200 characters')
  return hashPassword(password)
}
