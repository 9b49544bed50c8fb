import type { Scope } from '../../base/scope'
import type { Values } from './variables'

/**
 * Reads the values of the variables for a text that the caller writes into a ticket.
 * @returns undefined when there is no such ticket
 */
export async function findValues(
  { sql, organization_id, actor }: Scope,
  ticket_id: string,
): Promise<Values | undefined> {
  const [values] = await sql<Values[]>`
    select t.code as "ticket.code", t.subject as "ticket.subject", c.name as "contact.name", c.email as "contact.email",
      co.name as "company.name", o.name as "organization.name"
    from tickets t
    join organizations o on o.id = ${organization_id}
    left join contacts c on c.organization_id = ${organization_id} and c.id = t.contact_id
    left join companies co on co.organization_id = ${organization_id} and co.id = t.company_id
    where t.organization_id = ${organization_id} and t.id = ${ticket_id} and t.deleted_at is null`
  return values && { ...values, 'user.name': actor.name }
}
