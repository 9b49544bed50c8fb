/**
 * Effects on tickets when a contact or company changes: a property of the ticket changes and its timeline says so. No
 * ticket event is published.
 */
import type { Scope } from '../scope'
import { recordOnEach } from '../timeline/activity'

/** Gives a company to those tickets of its contacts that have none, in the caller's transaction. */
export async function giveCompanyToTickets(
  scope: Scope,
  contact_ids: string[],
  company: { id: string; name: string },
): Promise<void> {
  const { sql, organization_id } = scope
  const changed = await sql<{ id: string }[]>`
    update tickets set company_id = ${company.id}, updated_at = clock_timestamp()
    where organization_id = ${organization_id} and id in (
      select id from tickets
      where organization_id = ${organization_id} and contact_id = any(${contact_ids}::uuid[])
        and company_id is null and deleted_at is null
      order by id for no key update
    )
    returning id`
  await recordOnEach(scope, idsOf(changed), { type: 'changed', data: { field: 'company', from: null, to: company } })
}

/**
 * Unlinks a contact or company from the visible tickets before it is deleted. The foreign key unlinks the hidden ones.
 * Tickets are locked before the rows that they point at, as everywhere.
 */
export async function takeFromTickets(
  scope: Scope,
  field: 'contact' | 'company',
  resource: { id: string; name: string; email?: string },
): Promise<void> {
  const { sql, organization_id } = scope
  const column = sql(`${field}_id`)
  const changed = await sql<{ id: string }[]>`
    update tickets set ${column} = null, updated_at = clock_timestamp()
    where organization_id = ${organization_id} and id in (
      select id from tickets
      where organization_id = ${organization_id} and ${column} = ${resource.id} and deleted_at is null
      order by id for no key update
    )
    returning id`
  await recordOnEach(scope, idsOf(changed), { type: 'changed', data: { field, from: resource, to: null } })
}

function idsOf(tickets: { id: string }[]): string[] {
  return tickets.map(({ id }) => id)
}
