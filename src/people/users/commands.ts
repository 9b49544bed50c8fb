import { and, eq, sql } from 'drizzle-orm'
import { addressKey } from '../../base/address/email'
import { audit, auditChanges } from '../../base/audit/audit'
import { changesOf, masked } from '../../base/audit/changes-of'
import { lockAccount, lockAccountOf } from '../../base/db/account-lock'
import { newId } from '../../base/db/columns'
import { memberships, password_resets, users } from '../../base/db/schema'
import type { Connection } from '../../base/db/transact'
import { violates } from '../../base/db/violations'
import { ApiError, fieldError } from '../../base/errors'
import { type Actor, afterCommit, inTransaction, type Origin, type Scope } from '../../base/scope'
import { requireRate } from '../../base/shapes/money'
import { stopTimerOf } from '../../desk/timers/commands'
import { forgetMemberships } from '../../http/admission/membership'
import { lacking, permits, personId } from '../../http/request/permissions'
import { addMembership } from '../auth/add-membership'
import { hashPassword } from '../auth/password'
import { isMemberElsewhere } from '../auth/queries'
import { removeSecondFactor } from '../auth/second-factor'
import { endProviderSessions, endSessions, endSessionsOfNoMember } from '../auth/sessions'
import { alreadyInvited, createInvitation, resendInvitation, revokeInvitation } from '../invitations/commands'
import { isInvited } from '../invitations/queries'
import { isAdmin, removeMembership, requireAdmin } from './memberships'
import type { NewUser, User, UserChanges } from './model'
import { findPerson, getMember, getUser, isImported, isMember, isReliedOnElsewhere, lockAdmins } from './queries'

/**
 * Adds a member, or invites one. With a password, an address that no other organization knows becomes a member at once:
 * its account gets name and password anew, and the sessions of before end. Everybody else is invited, because an
 * account and its password belong to the person. The answer to an invitation says nothing of an account that may exist.
 * @throws EMAIL_ALREADY_EXISTS when the email is a member's or invited; VALIDATION_ERROR at /password when the address
 *   has
 *   to be invited; EMAIL_SEND_FAILED when no invitation can leave; FORBIDDEN for an API key that makes an admin or sets
 *   a password
 */
export async function createUser(scope: Scope, input: NewUser): Promise<User> {
  const { email, password } = input
  requireRight(scope, [input.role !== undefined && isAdmin(input.role), password !== undefined])
  const password_hash = password === undefined ? undefined : await hashPassword(password, scope.organization_id)
  return inTransaction(scope, async (scope) => {
    const known = await lockAccountOf(scope, email)
    if (await isMember(scope, email)) throw alreadyMember()
    if (await isInvited(scope, email)) throw alreadyInvited()
    if (password_hash === undefined) return priced(await getUser(scope, await inviteUser(scope, input)), input)
    if (await isReliedOnElsewhere(scope, email)) {
      throw fieldError(
        'VALIDATION_ERROR',
        '/password',
        'cannot be set for this address: leave it out to invite the person',
      )
    }
    const id = await addAtOnce(scope, known?.id, input, password_hash)
    const user = priced(await getMember(scope, id), input)
    await auditMember(scope, 'user.created', null, user, password)
    return user
  })
}

/** Gives back a user whose rate is right. @throws VALIDATION_ERROR */
function priced(user: User, given: NewUser | UserChanges): User {
  requireRate(user, given)
  return user
}

async function inviteUser(
  scope: Scope,
  { email, name, role, hourly_rate, currency, active }: NewUser,
): Promise<string> {
  if (active === false) throw fieldError('VALIDATION_ERROR', '/active', 'cannot be false without a password')
  return createInvitation(scope, { email, name, role, hourly_rate, currency })
}

/**
 * Makes an address a member without asking the person. Only for an address that no other organization relies on.
 * @param known_id of the account that it has, which gets name and password anew
 */
export async function addAtOnce(
  scope: Scope,
  known_id: string | undefined,
  input: Omit<NewUser, 'password'>,
  password_hash: string,
): Promise<string> {
  const { email, name, hourly_rate = null, currency = null, active = true } = input
  const role = input.role ?? 'agent'
  const id = known_id ?? (await createAccount(scope, { email, name, password_hash }))
  if (!(await addMembership(scope, id, { role, hourly_rate, currency, active }))) throw alreadyMember()
  if (known_id) await setAccount(scope, id, { name, password_hash })
  afterCommit(scope, () => forgetMemberships(id))
  return id
}

/**
 * Changes a member. `email, name, password` are the account's: they can be changed only while it has no membership in
 * another organization. An API key makes no admin, sets no password, and changes no email, because whoever has that
 * address can set the password.
 * @throws USER_NOT_FOUND, FORBIDDEN, EMAIL_ALREADY_EXISTS, VALIDATION_ERROR when no admin would be left
 */
export async function updateUser(scope: Scope, id: string, changes: UserChanges): Promise<User> {
  const { email, name, password, ...membership } = changes
  const password_hash = password === undefined ? undefined : await hashPassword(password, scope.organization_id)
  await inTransaction(scope, async (scope) => {
    await lockAccount(scope, id)
    await lockAdmins(scope)
    const user = await getMember(scope, id)
    const after = { ...user, ...membership }
    if (after.active && !user.active && (await isImported(scope, id))) throw notLetIn()
    requireRight(scope, [
      isActiveAdmin(after) && !isActiveAdmin(user),
      isAdmin(after.role) && !isAdmin(user.role),
      password !== undefined,
      email !== undefined && email !== user.email,
    ])
    if (email !== undefined || name !== undefined || password_hash !== undefined) {
      await updateAccount(scope, id, { email, name, password_hash })
    }
    const { db, organization_id } = scope
    await db
      .update(memberships)
      .set({ ...membership, updated_at: sql`now()` })
      .where(and(eq(memberships.organization_id, organization_id), eq(memberships.user_id, id)))
    if (membership.active === false) {
      await stopTimerOf(scope, id)
      await endProviderSessions(scope, organization_id, { user_id: id })
    }
    await endSessionsOfNoMember(scope, id)
    if (isActiveAdmin(user) && !isActiveAdmin(after)) {
      await requireAdmin(scope, isAdmin(after.role) ? '/active' : '/role')
    }
    await auditMember(scope, 'user.updated', user, priced(await getMember(scope, id), changes), password)
  })
  afterCommit(scope, () => forgetMemberships(id))
  return getUser(scope, id)
}

/**
 * Takes a member out of the organization, or an invitation back.
 * @throws USER_NOT_FOUND, VALIDATION_ERROR for the last admin
 */
export async function deleteUser(scope: Scope, id: string): Promise<void> {
  await inTransaction(scope, async (scope) => {
    if (await revokeInvitation(scope, id)) return
    const user = await getMember(scope, id)
    await removeMembership(scope, id)
    await auditMember(scope, 'user.removed', user, null)
  })
}

/**
 * Takes the person out of an organization, in the person's own name.
 * @throws ORGANIZATION_NOT_FOUND when the person is no member; VALIDATION_ERROR for the last admin
 */
export async function leaveOrganization(
  connection: Connection,
  user_id: string,
  organization_id: string,
  origin: Origin,
): Promise<void> {
  const person = await findPerson(connection, user_id, organization_id)
  if (!person) throw new ApiError('ORGANIZATION_NOT_FOUND')
  const actor: Actor = { type: 'user', id: user_id, ...person }
  await inTransaction({ ...connection, organization_id, actor, origin }, async (scope) => {
    await removeMembership(scope, user_id)
    await audit(scope, { action: 'user.left', resource: { type: 'user', id: user_id } })
  })
}

/**
 * Takes the second factor of a member away, who has lost it, and ends all sessions of the account.
 * @throws USER_NOT_FOUND, SECOND_FACTOR_NOT_FOUND; FORBIDDEN when another organization relies on the account, and for
 *   the own one, which takes password and code
 */
export async function resetSecondFactorOf(scope: Scope, id: string): Promise<void> {
  if (id === personId(scope)) throw new ApiError('FORBIDDEN', { reason: 'Take your own away with a code' })
  await inTransaction(scope, async (scope) => {
    await lockAccount(scope, id)
    await getMember(scope, id)
    if (await isMemberElsewhere(scope, id)) throw new ApiError('FORBIDDEN')
    if (!(await removeSecondFactor(scope, id))) throw new ApiError('SECOND_FACTOR_NOT_FOUND')
    await endSessions(scope, id)
    await audit(scope, { action: 'auth.second_factor_reset', resource: { type: 'user', id } })
    afterCommit(scope, () => forgetMemberships(id))
  })
}

/** Sends an invitation again. @throws USER_NOT_FOUND when the id is that of no invitation; EMAIL_SEND_FAILED */
export async function inviteAgain(scope: Scope, id: string): Promise<User> {
  await resendInvitation(scope, id)
  return getUser(scope, id)
}

type MemberAction = 'user.created' | 'user.updated' | 'user.removed'

/** @param password the one that is set; the log says only that it was */
async function auditMember(
  scope: Scope,
  action: MemberAction,
  before: User | null,
  after: User | null,
  password?: string,
): Promise<void> {
  const listed = (user: User | null) => user && { ...user, password: masked(user) }
  const changes = changesOf(listed(before), listed(after), password === undefined ? [] : ['password'])
  await auditChanges(scope, { action, resource: { type: 'user', id: (after ?? before)!.id }, changes })
}

/** Refuses an API key what only people may do. @param reasons true for each such thing @throws FORBIDDEN */
function requireRight(scope: Scope, reasons: boolean[]): void {
  if (reasons.includes(true) && !permits(scope, 'admin')) throw lacking(scope, 'admin')
}

function alreadyMember(): ApiError {
  return fieldError('EMAIL_ALREADY_EXISTS', '/email', 'is a member already')
}

function notLetIn(): ApiError {
  return fieldError('VALIDATION_ERROR', '/active', 'an import has brought this person: POST /users lets them in')
}

type Account = { email: string; name: string; password_hash: string | undefined }

/** @throws EMAIL_ALREADY_EXISTS when another request has just made the account */
async function createAccount({ db }: Scope, account: Account & { password_hash: string }): Promise<string> {
  const id = newId()
  await db
    .insert(users)
    .values({ id, email_key: addressKey(account.email), ...account })
    .catch(emailExists)
  return id
}

/**
 * Changes an account that the caller's transaction has locked: without the lock, an invitation that is being accepted
 * could make it a member elsewhere after the check.
 * @throws FORBIDDEN when another organization relies on the account, EMAIL_ALREADY_EXISTS
 */
async function updateAccount(scope: Scope, id: string, account: Partial<Account>): Promise<void> {
  if (await isMemberElsewhere(scope, id)) throw new ApiError('FORBIDDEN')
  await setAccount(scope, id, account)
}

/**
 * Writes an account in an admin's name. A new password ends its sessions. A password that an admin set, or that was
 * proven with another address, is not held by the person.
 */
async function setAccount(scope: Scope, id: string, account: Partial<Account>): Promise<void> {
  const { db } = scope
  const is_in_doubt = account.password_hash !== undefined || account.email !== undefined
  await db
    .update(users)
    .set({
      ...account,
      ...(account.email !== undefined && { email_key: addressKey(account.email) }),
      ...(is_in_doubt && { is_password_held: false }),
      updated_at: sql`now()`,
    })
    .where(eq(users.id, id))
    .catch(emailExists)
  if (account.password_hash) await endSessions(scope, id)
  // Links that went to the address of before prove nothing about the new one.
  if (account.email !== undefined) await db.delete(password_resets).where(eq(password_resets.user_id, id))
}

function isActiveAdmin({ role, active }: Pick<User, 'role' | 'active'>): boolean {
  return active && isAdmin(role)
}

function emailExists(error: unknown): never {
  throw violates(error, 'users_email') ? fieldError('EMAIL_ALREADY_EXISTS', '/email') : error
}
