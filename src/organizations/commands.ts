import { eq, sql } from 'drizzle-orm'
import { addressKey } from '../address/email'
import { audit, auditChanges, OPERATOR } from '../audit-log/audit'
import { changesOf } from '../audit-log/changes-of'
import { hashPassword } from '../auth/password'
import { findAccount } from '../auth/queries'
import { newId } from '../db/columns'
import { memberships, organizations, ticket_counters, users } from '../db/schema'
import { type Connection, transact } from '../db/transact'
import { inTransaction, type Scope } from '../scope'
import type { Organization, OrganizationChanges } from './model'
import { getOrganization, lockOrganization } from './queries'

/** Changes the settings; null puts prefix and currency back to their defaults. */
export async function updateOrganization(scope: Scope, changes: OrganizationChanges): Promise<Organization> {
  const { ticket_prefix, currency, ...others } = changes
  return inTransaction(scope, async (scope) => {
    const before = await lockOrganization(scope)
    await scope.db
      .update(organizations)
      .set({
        ...others,
        ...(ticket_prefix !== undefined && { ticket_prefix: ticket_prefix ?? 'TKT' }),
        ...(currency !== undefined && { currency: currency ?? 'USD' }),
        updated_at: sql`now()`,
      })
      .where(eq(organizations.id, scope.organization_id))
    const after = await getOrganization(scope)
    const resource = { type: 'organization', id: after.id } as const
    await auditChanges(scope, { action: 'organization.updated', resource, changes: changesOf(before, after) })
    return after
  })
}

type NewOrganization = {
  name: string
  admin: { email: string; name: string; password: string }
}

/**
 * Creates an organization with its first admin. An account that exists already becomes a member and keeps its password.
 * @returns `is_new_account` tells whether `password` is the account's
 */
export async function createOrganization(
  connection: Connection,
  { name, admin }: NewOrganization,
): Promise<{ id: string; admin: { id: string; email: string }; is_new_account: boolean }> {
  const password_hash = await hashPassword(admin.password)
  return transact(connection, async (inner) => {
    const { db } = inner
    const id = newId()
    await db.insert(organizations).values({ id, name })
    await db.insert(ticket_counters).values({ organization_id: id })
    const created = await db
      .insert(users)
      .values({ id: newId(), email: admin.email, email_key: addressKey(admin.email), name: admin.name, password_hash })
      .onConflictDoNothing()
      .returning({ id: users.id, email: users.email })
    const account = created[0] ?? (await findAccount(inner, admin.email))!
    await db.insert(memberships).values({ organization_id: id, user_id: account.id, role: 'admin' })
    await audit(
      { ...inner, organization_id: id, actor: OPERATOR },
      {
        action: 'operator.organization_create',
        resource: { type: 'organization', id },
        changes: changesOf(null, { name, admin: account.email }),
      },
    )
    return { id, admin: { id: account.id, email: account.email }, is_new_account: created.length > 0 }
  })
}
