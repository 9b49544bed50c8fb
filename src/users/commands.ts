import { and, eq, sql } from 'drizzle-orm'
import { addressKey } from '../address/email'
import { forgetMemberships } from '../auth/membership'
import { hashPassword } from '../auth/password'
import { findAccount } from '../auth/queries'
import { endSessions, endSessionsOfNoMember } from '../auth/sessions'
import { newId } from '../db/columns'
import { memberships, users } from '../db/schema'
import { violates } from '../db/violations'
import { ApiError, fieldError } from '../errors'
import { afterCommit, inTransaction, type Scope } from '../scope'
import type { NewUser, User, UserChanges } from './model'
import { ADMINS, getUser, hasActiveAdmin, isMemberElsewhere, lockAdmins, wasMemberElsewhere } from './queries'

/**
 * Adds a member. An account that only this organization ever relied on is like a new one: it gets name and password anew,
 * and its sessions of before end. Another account gets a membership and keeps its name and password.
 * @throws EMAIL_ALREADY_EXISTS when the email is a member's; VALIDATION_ERROR at /password for a new account without one
 */
export async function createUser(scope: Scope, input: NewUser): Promise<User> {
  const { email, name, password, ...membership } = input
  const password_hash = password === undefined ? undefined : await hashPassword(password)
  const id = await inTransaction(scope, async (scope) => {
    const known = await findAccount(scope, email)
    const id = known?.id ?? (await createAccount(scope, { email, name, password_hash }))
    await addMembership(scope, id, membership)
    if (known && !(await wasMemberElsewhere(scope, id))) {
      requireHash(password_hash)
      await setAccount(scope, id, { name, password_hash })
    }
    return id
  })
  afterCommit(scope, () => forgetMemberships(id))
  return getUser(scope, id)
}

/**
 * Changes a member. `email, name, password` are the account's: they can be changed only while it has no membership in
 * another organization.
 * @throws USER_NOT_FOUND, FORBIDDEN, EMAIL_ALREADY_EXISTS, VALIDATION_ERROR when no admin would be left
 */
export async function updateUser(scope: Scope, id: string, changes: UserChanges): Promise<User> {
  const { email, name, password, ...membership } = changes
  const password_hash = password === undefined ? undefined : await hashPassword(password)
  await inTransaction(scope, async (scope) => {
    await lockAdmins(scope)
    const user = await getUser(scope, id)
    if (email !== undefined || name !== undefined || password_hash !== undefined) {
      await updateAccount(scope, id, { email, name, password_hash })
    }
    const { db, organization_id } = scope
    await db
      .update(memberships)
      .set({ ...membership, updated_at: sql`now()` })
      .where(and(eq(memberships.organization_id, organization_id), eq(memberships.user_id, id)))
    await endSessionsOfNoMember(scope, id)
    const after = { ...user, ...membership }
    if (isActiveAdmin(user) && !isActiveAdmin(after)) {
      await requireAdmin(scope, ADMINS.includes(after.role) ? '/active' : '/role')
    }
  })
  afterCommit(scope, () => forgetMemberships(id))
  return getUser(scope, id)
}

/**
 * Takes a member out of the organization; tickets and time entries keep the name.
 * @throws USER_NOT_FOUND, VALIDATION_ERROR for the last admin
 */
export async function deleteUser(scope: Scope, id: string): Promise<void> {
  await inTransaction(scope, async (scope) => {
    await lockAdmins(scope)
    const user = await getUser(scope, id)
    const { db, organization_id } = scope
    await db
      .update(memberships)
      .set({ removed_at: sql`now()`, updated_at: sql`now()` })
      .where(and(eq(memberships.organization_id, organization_id), eq(memberships.user_id, id)))
    await endSessionsOfNoMember(scope, id)
    if (isActiveAdmin(user)) await requireAdmin(scope, '')
  })
  afterCommit(scope, () => forgetMemberships(id))
}

type Account = { email: string; name: string; password_hash: string | undefined }

async function createAccount({ db }: Scope, { email, name, password_hash }: Account): Promise<string> {
  requireHash(password_hash)
  const id = newId()
  await db
    .insert(users)
    .values({ id, email, email_key: addressKey(email), name, password_hash })
    .catch(emailExists)
  return id
}

type MembershipFields = Pick<NewUser, 'role' | 'hourly_rate' | 'currency' | 'active'>

/** Adds a membership, also for a member who was removed. @throws EMAIL_ALREADY_EXISTS */
async function addMembership({ db, organization_id }: Scope, user_id: string, fields: MembershipFields): Promise<void> {
  const { role, hourly_rate = null, currency = null, active = true } = fields
  const values = { role: role ?? 'agent', hourly_rate, currency, active }
  const added = await db
    .insert(memberships)
    .values({ organization_id, user_id, ...values })
    .onConflictDoUpdate({
      target: [memberships.organization_id, memberships.user_id],
      set: { ...values, removed_at: null, created_at: sql`clock_timestamp()`, updated_at: sql`now()` },
      setWhere: sql`${memberships.removed_at} is not null`,
    })
    .returning({ user_id: memberships.user_id })
  if (added.length === 0) throw fieldError('EMAIL_ALREADY_EXISTS', '/email', 'is a member already')
}

/** @throws VALIDATION_ERROR at /password */
function requireHash(password_hash: string | undefined): asserts password_hash {
  if (password_hash === undefined) throw fieldError('VALIDATION_ERROR', '/password', 'is required for a new account')
}

/** @throws FORBIDDEN when another organization relies on the account, EMAIL_ALREADY_EXISTS */
async function updateAccount(scope: Scope, id: string, account: Partial<Account>): Promise<void> {
  if (await isMemberElsewhere(scope, id)) throw new ApiError('FORBIDDEN')
  await setAccount(scope, id, account)
}

/**
 * Writes an account in an admin's name. A new password ends its sessions. A password that an admin set, or that was proven
 * with another address, is not held by the person.
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
}

/** @param path of the field that takes the last admin away @throws VALIDATION_ERROR */
async function requireAdmin(scope: Scope, path: string): Promise<void> {
  if (await hasActiveAdmin(scope)) return
  throw fieldError('VALIDATION_ERROR', path, 'is the last admin of the organization')
}

function isActiveAdmin({ role, active }: Pick<User, 'role' | 'active'>): boolean {
  return active && ADMINS.includes(role)
}

function emailExists(error: unknown): never {
  throw violates(error, 'users_email') ? fieldError('EMAIL_ALREADY_EXISTS', '/email') : error
}
