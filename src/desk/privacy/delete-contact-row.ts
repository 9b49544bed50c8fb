/** Deletes the row of a contact, for its deletion and its erasure. */
import { type Scope, together } from '../../base/scope'

/**
 * Deletes the row of a contact in the caller's transaction, which has locked the row `for no key update` and has taken
 * the contact from all tickets. Only then it is locked `for update`: participants are added by those who have locked a
 * ticket first.
 */
export async function deleteContactRow({ sql, organization_id }: Scope, id: string): Promise<void> {
  await together([
    sql`select 1 from contacts where organization_id = ${organization_id} and id = ${id} for update`,
    sql`update participants set contact_id = null where organization_id = ${organization_id} and contact_id = ${id}`,
    sql`delete from contacts where organization_id = ${organization_id} and id = ${id}`,
  ])
}
