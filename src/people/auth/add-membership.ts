/** Adds memberships: of people who are made members, and of those who accept an invitation. */
import type { Scope } from '../../base/scope'
import { NEW_MEMBER } from './notify'

type MembershipFields = {
  role: 'admin' | 'agent'
  hourly_rate: number | null
  currency: string | null
  active: boolean
}

/**
 * Adds a membership, also for a member who was removed, or who came by an import and was not let in yet.
 * @returns false for a member, who stays as before
 */
export async function addMembership(scope: Scope, user_id: string, fields: MembershipFields): Promise<boolean> {
  const { sql, organization_id } = scope
  const { role, hourly_rate, currency, active } = fields
  const added = await sql`
    insert into memberships as m (organization_id, user_id, role, hourly_rate, currency, active, notify)
    values (${organization_id}, ${user_id}, ${role}, ${hourly_rate}, ${currency}, ${active}, ${[...NEW_MEMBER]}::text[])
    on conflict (organization_id, user_id) do update
    set role = excluded.role, hourly_rate = excluded.hourly_rate, currency = excluded.currency,
      active = excluded.active, removed_at = null, is_imported = false, created_at = excluded.created_at,
      updated_at = excluded.updated_at, notify = excluded.notify
    where m.removed_at is not null or m.is_imported
    returning user_id`
  return added.length > 0
}
