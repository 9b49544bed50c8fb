import { and, eq, sql } from 'drizzle-orm'
import { toDomain } from '../../base/address/domains'
import { newId } from '../../base/db/columns'
import { companies } from '../../base/db/schema'
import { ApiError } from '../../base/errors'
import { inTransaction, type Scope } from '../../base/scope'
import { publishContacts } from '../contacts/commands'
import { takeFromContacts, takeFromTickets } from '../contacts/tickets'
import type { CompanyChanges, CompanyWithDetails, NewCompany } from './model'
import { getCompany, lockCompany } from './queries'

/** Creates a company. Contacts that exist are not linked to it (`link.ts`). */
export async function createCompany(scope: Scope, company: NewCompany): Promise<CompanyWithDetails> {
  const { db, organization_id } = scope
  const id = newId()
  await db.insert(companies).values({ ...withStoredDomains(company), organization_id, id })
  return getCompany(scope, id)
}

/** Changes a company; contacts and tickets keep their links. @throws COMPANY_NOT_FOUND */
export async function updateCompany(scope: Scope, id: string, changes: CompanyChanges): Promise<CompanyWithDetails> {
  const { db, organization_id } = scope
  const updated = await db
    .update(companies)
    .set({ ...withStoredDomains(changes), updated_at: sql`now()` })
    .where(and(eq(companies.organization_id, organization_id), eq(companies.id, id)))
    .returning({ id: companies.id })
  if (!updated[0]) throw new ApiError('COMPANY_NOT_FOUND')
  return getCompany(scope, id)
}

/**
 * Deletes a company. Its contacts and tickets stay, unlinked; an event tells of each contact, none of the tickets.
 * @throws COMPANY_NOT_FOUND
 */
export function deleteCompany(scope: Scope, id: string): Promise<void> {
  return inTransaction(scope, async (scope) => {
    const { db, organization_id } = scope
    await takeFromTickets(scope, 'company', await lockCompany(scope, id))
    const unlinked = await takeFromContacts(scope, id)
    await db.delete(companies).where(and(eq(companies.organization_id, organization_id), eq(companies.id, id)))
    await publishContacts(scope, unlinked)
  })
}

/** The fields with domains as they are stored: in the order given, each once. */
function withStoredDomains<T extends { domains?: string[] }>(fields: T): T {
  return fields.domains ? { ...fields, domains: [...new Set(fields.domains.map((text) => toDomain(text)!))] } : fields
}
