/** Many tickets and contacts at once, straight into the database. */
import { newId } from '../../src/base/db/columns'
import type { Scope } from '../../src/base/scope'

/**
 * Inserts contacts. Names and times of change repeat, so that ids break the ties of their order. @returns their ids,
 * oldest first
 */
export async function insertContacts({ sql, organization_id }: Scope, n: number): Promise<string[]> {
  const ids = Array.from({ length: n }, newId)
  await sql`
    insert into contacts (organization_id, id, name, email, email_key, search, updated_at)
    select ${organization_id}, id, 'Name ' || n % 10, id || '@customer.example', id || '@customer.example', id::text,
      now() - make_interval(days => 1, secs => (n / 5) * 7919 % 80000)
    from unnest(${ids}::uuid[]) with ordinality as given (id, n)`
  return ids
}

/**
 * Inserts tickets of a contact, with every priority and with times of change in no order. @returns their ids, oldest
 * first
 */
export async function insertTickets(scope: Scope, contact_id: string, n: number): Promise<string[]> {
  const { sql, organization_id } = scope
  const ids = Array.from({ length: n }, newId)
  await sql`
    with counter as (
      update ticket_counters set next_number = next_number + ${n}
      where organization_id = ${organization_id} returning next_number - ${n} - 1 as last
    )
    insert into tickets (organization_id, id, number, code, subject, priority, contact_id, updated_at)
    select ${organization_id}, id, last + n, 'TKT-' || last + n, 'Ticket ' || n,
      (array['low', 'normal', 'high', 'urgent'])[1 + n % 4], ${contact_id},
      -- Groups of five share their time.
      now() - make_interval(days => 1, secs => (n / 5) * 7919 % 80000)
    from counter, unnest(${ids}::uuid[]) with ordinality as given (id, n)`
  return ids
}
