/** Decides which member of the organization a person is that its identity provider names. */
import type { JWTPayload } from 'jose'
import { isCleanText } from '../../base/address/characters'
import { addressKey, isEmailAddress } from '../../base/address/email'
import { audit } from '../../base/audit/audit'
import { lockAccount, lockAccountOf } from '../../base/db/account-lock'
import { newId } from '../../base/db/columns'
import { DeadlockError, violates } from '../../base/db/violations'
import { ApiError } from '../../base/errors'
import type { Scope } from '../../base/scope'
import { withdrawLetters } from '../../mail/letters/enqueue-letter'
import { addMembership } from '../auth/add-membership'
import { endSessions } from '../auth/sessions'
import { createInvitation, revokeInvitation } from '../invitations/commands'
import { isAdmin } from '../users/memberships'
import { hasActiveAdmin, isReliedOnElsewhere, lockAdmins } from '../users/queries'
import type { StoredProvider } from './queries'

export type ProviderClaims = JWTPayload & { sub: string }
type Reason = 'not_allowed' | 'invited' | 'inactive'
type Role = 'admin' | 'agent'
type Person = { user_id: string; email: string; name: string; role: Role; active: boolean }

/** Opens nothing: it is no hash of a password. */
const NO_PASSWORD = '-'

/** The reason why a person may not sign in, which is told to the program that began. */
export class NotAllowed extends Error {
  constructor(readonly reason: Reason) {
    super(reason)
  }
}

/** Finds the member who is linked to what a provider calls a person. */
export async function findPerson(
  { sql, organization_id }: Scope,
  issuer: string,
  subject: string,
): Promise<Person | undefined> {
  const [person] = await sql<Person[]>`
    select m.user_id, u.email, u.name, m.role, m.active
    from identities i
    join memberships m on m.organization_id = ${organization_id} and m.user_id = i.user_id
    join users u on u.id = i.user_id
    where i.organization_id = ${organization_id} and i.issuer = ${issuer} and i.subject = ${subject}
      and m.removed_at is null`
  return person
}

/**
 * Returns the member of a person, linked now or before; in the caller's transaction, which has locked the provider.
 * Another organization's trust in an address is never used: the link is to a membership of this one.
 * @returns a reason, when an invitation was sent that is to be kept
 * @throws NotAllowed
 */
export async function matchPerson(
  scope: Scope,
  provider: StoredProvider,
  claims: ProviderClaims,
): Promise<Person | { reason: Reason }> {
  const role = roleOf(provider, claims)
  const email = emailOf(provider, claims)
  const { found: candidate } = await findEither(scope, provider, claims.sub, email)
  if (candidate) await lockAccount(scope, candidate.user_id)
  // The member may have been removed or changed before the account was locked.
  const { linked, found } = await findEither(scope, provider, claims.sub, email)
  if (found) {
    if (found.user_id !== candidate?.user_id) throw new DeadlockError('the member was made meanwhile')
    if (!found.active) throw new NotAllowed('inactive')
    if (!linked) await link(scope, provider, claims, found)
    if (role !== undefined && role !== found.role) await setRole(scope, found, role)
    return found
  }
  if (email === undefined) throw new NotAllowed('not_allowed')
  return welcome(scope, provider, claims, { email, name: nameOf(claims) ?? email, role })
}

/** Finds the member who is linked to a person, else the one with the email. */
async function findEither(scope: Scope, { issuer }: StoredProvider, subject: string, email: string | undefined) {
  const linked = await findPerson(scope, issuer, subject)
  return { linked, found: linked ?? (email === undefined ? undefined : await findMember(scope, email)) }
}

type Newcomer = { email: string; name: string; role: Role | undefined }

/** Takes an invitation of the address, or makes a member when the provider may. */
async function welcome(
  scope: Scope,
  provider: StoredProvider,
  claims: ProviderClaims,
  newcomer: Newcomer,
): Promise<Person | { reason: Reason }> {
  const { sql, organization_id } = scope
  const { email, role } = newcomer
  type Invitation = { id: string; role: Role; hourly_rate: number | null; currency: string | null; is_valid: boolean }
  const [found] = await sql<Invitation[]>`
    select id, role, hourly_rate, currency, expires_at > now() as is_valid from invitations
    where organization_id = ${organization_id} and email_key = ${addressKey(email)} for update`
  const invitation = found?.is_valid ? found : undefined
  if (!invitation && !mayProvision(provider, newcomer)) throw new NotAllowed('not_allowed')
  const account = await lockAccountOf(scope, email)
  if (await isReliedOnElsewhere(scope, email)) {
    if (!invitation) await invite(scope, newcomer, found?.id)
    return { reason: 'invited' }
  }
  const user_id = account?.id ?? (await createAccount(scope, newcomer))
  if (account) await endPassword(scope, user_id)
  const { hourly_rate = null, currency = null } = invitation ?? {}
  const given = { role: role ?? invitation?.role ?? 'agent', hourly_rate, currency, active: true }
  if (!(await addMembership(scope, user_id, given))) throw new NotAllowed('not_allowed')
  const person: Person = { user_id, email, name: newcomer.name, role: given.role, active: true }
  const actor = { type: 'user', id: user_id, name: person.name } as const
  if (found) {
    await sql`delete from invitations where organization_id = ${organization_id} and id = ${found.id}`
    await withdrawLetters(scope, found.id)
  }
  if (invitation) {
    const resource = { type: 'invitation', id: invitation.id } as const
    await audit({ ...scope, actor }, { action: 'invitation.accepted', resource })
  } else {
    await audit(scope, { action: 'user.created', resource: { type: 'user', id: user_id } })
  }
  await link(scope, provider, claims, person)
  return person
}

function mayProvision({ provision, domains }: StoredProvider, { email, role }: Newcomer): boolean {
  if (provision === 'domain') return domains.includes(email.slice(email.lastIndexOf('@') + 1).toLowerCase())
  return provision === 'claim' && role !== undefined
}

/** @param expired the invitation of before, whose place the new one takes */
async function invite(scope: Scope, { email, name, role }: Newcomer, expired: string | undefined): Promise<void> {
  if (expired) await revokeInvitation(scope, expired)
  await createInvitation(scope, { email, name, ...(role && { role }) }).catch((error) => {
    throw error instanceof ApiError ? new NotAllowed('not_allowed') : error
  })
}

/** Ends a password of before that others may know, unless it is held by the person. */
async function endPassword(scope: Scope, user_id: string): Promise<void> {
  await scope.sql`
    update users set password_hash = ${NO_PASSWORD}, updated_at = now() where id = ${user_id} and not is_password_held`
  await endSessions(scope, user_id)
}

/** @throws DeadlockError when another organization makes the account meanwhile: the transaction runs again */
async function createAccount({ sql }: Scope, { email, name }: Newcomer): Promise<string> {
  const id = newId()
  await sql`
    insert into users (id, email, email_key, name, password_hash)
    values (${id}, ${email}, ${addressKey(email)}, ${name}, ${NO_PASSWORD})`.catch((error) => {
    throw violates(error, 'users_email') ? new DeadlockError('the account was made meanwhile') : error
  })
  return id
}

/** @throws NotAllowed for a member who is linked to somebody else already */
async function link(
  scope: Scope,
  { issuer }: StoredProvider,
  { sub }: ProviderClaims,
  { user_id, name }: Person,
): Promise<void> {
  const { sql, organization_id } = scope
  const linked = await sql`
    insert into identities (organization_id, user_id, issuer, subject)
    values (${organization_id}, ${user_id}, ${issuer}, ${sub})
    on conflict do nothing returning user_id`
  if (linked.length === 0) throw new NotAllowed('not_allowed')
  const actor = { type: 'user', id: user_id, name } as const
  await audit({ ...scope, actor }, { action: 'user.identity_linked', resource: { type: 'user', id: user_id } })
}

/** Sets the role that the provider gives; the last admin stays one. */
async function setRole(scope: Scope, person: Person, role: Role): Promise<void> {
  const { sql, organization_id } = scope
  await lockAdmins(scope)
  const write = (role: Role) => sql`
    update memberships set role = ${role}, updated_at = now()
    where organization_id = ${organization_id} and user_id = ${person.user_id}`
  await write(role)
  if (isAdmin(person.role) && !(await hasActiveAdmin(scope))) return void (await write(person.role))
  const resource = { type: 'user', id: person.user_id } as const
  await audit(scope, { action: 'user.updated', resource, changes: { role: { from: person.role, to: role } } })
}

async function findMember({ sql, organization_id }: Scope, email: string): Promise<Person | undefined> {
  const [member] = await sql<Person[]>`
    select m.user_id, u.email, u.name, m.role, m.active
    from memberships m join users u on u.id = m.user_id
    where m.organization_id = ${organization_id} and m.removed_at is null and u.email_key = ${addressKey(email)}`
  return member
}

/** The role that the claim gives, admin first; undefined without a claim. @throws NotAllowed when it gives none */
function roleOf({ role_claim, role_values }: StoredProvider, claims: ProviderClaims): Role | undefined {
  if (role_claim === null) return undefined
  const claim = claims[role_claim]
  const given: unknown[] = Array.isArray(claim) ? claim : [claim]
  const role = (['admin', 'agent'] as const).find((role) => role_values[role].some((value) => given.includes(value)))
  if (!role) throw new NotAllowed('not_allowed')
  return role
}

function nameOf({ name }: ProviderClaims): string | undefined {
  const given = typeof name === 'string' ? name.trim() : ''
  return isCleanText(given) && /^[^\p{Cc}]{1,255}$/u.test(given) ? given : undefined
}

function emailOf({ trust_email }: StoredProvider, { email, email_verified }: ProviderClaims): string | undefined {
  const is_proven = email_verified === true || trust_email
  return is_proven && typeof email === 'string' && isEmailAddress(email.trim()) ? email.trim() : undefined
}
