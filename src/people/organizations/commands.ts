import { eq, sql } from 'drizzle-orm'
import { addressKey } from '../../base/address/email'
import { audit, auditChanges, OPERATOR } from '../../base/audit/audit'
import { changesOf } from '../../base/audit/changes-of'
import { lockAccountOf } from '../../base/db/account-lock'
import { newId } from '../../base/db/columns'
import { organizations, ticket_counters } from '../../base/db/schema'
import { type Connection, transact } from '../../base/db/transact'
import { fieldError, OperatorError } from '../../base/errors'
import { afterCommit, inTransaction, type Scope, SYSTEM } from '../../base/scope'
import { requireRate } from '../../base/shapes/money'
import { beginReview } from '../../desk/promises/review'
import { forgetMembershipsIn } from '../../http/admission/membership'
import { isPerson, notForKeys, requirePerson } from '../../http/request/permissions'
import { generatedPassword, hashPassword } from '../auth/password'
import { hasSecondFactor } from '../auth/second-factor'
import { createInvitationLink } from '../invitations/commands'
import { addAtOnce } from '../users/commands'
import { isReliedOnElsewhere } from '../users/queries'
import type { Organization, OrganizationChanges } from './model'
import { getOrganization, lockOrganization } from './queries'

/**
 * Changes the settings; null puts prefix, currency and zone back to their defaults.
 * @throws as `requireRight`
 */
export async function updateOrganization(scope: Scope, changes: OrganizationChanges): Promise<Organization> {
  const { ticket_prefix, currency, time_zone, form_senders, portal_origins, ...others } = changes
  return inTransaction(scope, async (scope) => {
    const before = await lockOrganization(scope)
    await requireRight(scope, before, changes)
    await scope.db
      .update(organizations)
      .set({
        ...others,
        ...(ticket_prefix !== undefined && { ticket_prefix: ticket_prefix ?? 'TKT' }),
        ...(currency !== undefined && { currency: currency ?? 'USD' }),
        ...(time_zone !== undefined && { time_zone: time_zone ?? 'UTC' }),
        ...(form_senders && { form_senders: [...new Map(form_senders.map((one) => [addressKey(one), one])).values()] }),
        ...(portal_origins && { portal_origins: [...new Set(portal_origins)] }),
        updated_at: sql`now()`,
      })
      .where(eq(organizations.id, scope.organization_id))
    const after = await getOrganization(scope)
    requireRate(after, changes)
    const resource = { type: 'organization', id: after.id } as const
    await auditChanges(scope, { action: 'organization.updated', resource, changes: changesOf(before, after) })
    if (after.time_zone !== before.time_zone) await beginReview(scope)
    if (after.require_second_factor !== before.require_second_factor) {
      afterCommit(scope, () => forgetMembershipsIn(after.id))
    }
    return after
  })
}

/**
 * Judges a change of what the organization requires of its members: an admin requires what the admin has.
 * @throws FORBIDDEN for an API key; VALIDATION_ERROR at /require_second_factor for an admin without a second factor
 */
async function requireRight(scope: Scope, before: Organization, after: OrganizationChanges): Promise<void> {
  const { require_second_factor = before.require_second_factor } = after
  if (require_second_factor === before.require_second_factor) return
  if (!isPerson(scope)) throw notForKeys()
  if (!require_second_factor || (await hasSecondFactor(scope, requirePerson(scope).id))) return
  throw fieldError('VALIDATION_ERROR', '/require_second_factor', 'needs a second factor of your own')
}

type NewOrganization = {
  name: string
  /** A password is made when none is given. */
  admin: { email: string; name: string; password?: string }
}

type FirstAdmin =
  | {
      type: 'member'
      id: string
      email: string
      /** Only when it was made. */
      password?: string
    }
  | {
      type: 'invited'
      /** Id of the invitation. */
      id: string
      email: string
      /** Opens the invitation. */
      link: string
    }

/**
 * Creates an organization with its first admin. A person of another organization is invited: an account belongs to its
 * person, and admins elsewhere may know its password.
 * @throws OperatorError when a password is given for such a person
 */
export async function createOrganization(
  connection: Connection,
  { name, admin }: NewOrganization,
): Promise<{ id: string; admin: FirstAdmin }> {
  const password = admin.password ?? generatedPassword()
  const password_hash = await hashPassword(password, 'operator')
  return transact(connection, async (inner) => {
    const { db } = inner
    const id = newId()
    await db.insert(organizations).values({ id, name })
    await db.insert(ticket_counters).values({ organization_id: id })
    const first = await addFirstAdmin({ ...inner, organization_id: id, actor: SYSTEM }, admin, password_hash)
    await audit(
      { ...inner, organization_id: id, actor: OPERATOR },
      {
        action: 'operator.organization_create',
        resource: { type: 'organization', id },
        changes: changesOf(null, { name, admin: first.email }),
      },
    )
    if (first.type === 'invited' || admin.password !== undefined) return { id, admin: first }
    return { id, admin: { ...first, password } }
  })
}

async function addFirstAdmin(
  scope: Scope,
  { email, name, password }: NewOrganization['admin'],
  password_hash: string,
): Promise<FirstAdmin> {
  const account = await lockAccountOf(scope, email)
  const fields = { email, name, role: 'admin' } as const
  if (!(await isReliedOnElsewhere(scope, email))) {
    return { type: 'member', id: await addAtOnce(scope, account?.id, fields, password_hash), email }
  }
  if (password !== undefined) {
    throw new OperatorError(`${email} belongs to another organization too: leave out the password to invite the person`)
  }
  return { type: 'invited', email, ...(await createInvitationLink(scope, fields)) }
}
