/** The tickets that customers are shown: those of their token, and nothing else. */
import type { Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { requireCustomer } from './permissions'

/** SQL for the company of the customer whose tickets are shown; null when the token shows none but the customer's. */
export function shownCompany(scope: Scope): Fragment | null {
  const { sql, organization_id } = scope
  const { id, token } = requireCustomer(scope)
  if (token.scope === 'own') return null
  return sql`(select c.company_id from contacts c where c.organization_id = ${organization_id} and c.id = ${id})`
}

/**
 * A condition that holds for the tickets that the customer is shown.
 * @param name of the table `tickets` in the statement
 */
export function isShown(scope: Scope, name: 't' | 'tickets'): Fragment {
  const { sql } = scope
  const t = sql(name)
  const company = shownCompany(scope)
  const is_own = sql`${t}.contact_id = ${requireCustomer(scope).id}`
  return company ? sql`(${is_own} or ${t}.company_id = ${company})` : is_own
}
