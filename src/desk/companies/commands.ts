import { and, eq, sql } from 'drizzle-orm'
import { toDomain } from '../../base/address/domains'
import { newId } from '../../base/db/columns'
import { companies } from '../../base/db/schema'
import { inTransaction, type Scope } from '../../base/scope'
import { publish } from '../../delivery/webhooks/publish'
import { publishContacts } from '../contacts/commands'
import { takeFromContacts, takeFromTickets } from '../contacts/tickets'
import { wordsOfCustom } from '../custom/custom-words'
import type { Custom } from '../custom/model'
import { changedCustom } from '../custom/values'
import type { CompanyChanges, CompanyWithDetails, NewCompany } from './model'
import { getCompany, lockCompany } from './queries'

/** Creates a company. Contacts that exist are not linked to it (`link.ts`). @throws INVALID_CUSTOM */
export function createCompany(scope: Scope, company: NewCompany): Promise<CompanyWithDetails> {
  return inTransaction(scope, async (scope) => {
    const { db, organization_id } = scope
    const id = newId()
    const custom = withWords(organization_id, changedCustom({}, company.custom))
    await db.insert(companies).values({ ...withStoredDomains(company), ...custom, organization_id, id })
    const data = await getCompany(scope, id)
    await publish(scope, [{ type: 'company.created', data }])
    return data
  })
}

/**
 * Changes a company; contacts and tickets keep their links. No change, no event.
 * @throws COMPANY_NOT_FOUND, INVALID_CUSTOM
 */
export function updateCompany(scope: Scope, id: string, changes: CompanyChanges): Promise<CompanyWithDetails> {
  return inTransaction(scope, async (scope) => {
    const { db, organization_id } = scope
    const before = await lockCompany(scope, id)
    const custom = changedCustom(before.custom, changes.custom)
    const wanted = { ...before, ...withStoredDomains(changes), custom }
    if (JSON.stringify(wanted) === JSON.stringify(before)) return getCompany(scope, id)
    await db
      .update(companies)
      .set({ ...withStoredDomains(changes), ...withWords(organization_id, custom), updated_at: sql`now()` })
      .where(and(eq(companies.organization_id, organization_id), eq(companies.id, id)))
    const data = await getCompany(scope, id)
    await publish(scope, [{ type: 'company.updated', data }])
    return data
  })
}

/**
 * Deletes a company. Its contacts and tickets stay, unlinked; an event tells of each contact, none of the tickets.
 * @throws COMPANY_NOT_FOUND
 */
export function deleteCompany(scope: Scope, id: string): Promise<void> {
  return inTransaction(scope, async (scope) => {
    const { db, organization_id } = scope
    await lockCompany(scope, id)
    const data = await getCompany(scope, id)
    await takeFromTickets(scope, 'company', { id, name: data.name })
    const unlinked = await takeFromContacts(scope, id)
    await db.delete(companies).where(and(eq(companies.organization_id, organization_id), eq(companies.id, id)))
    await publishContacts(scope, unlinked, id)
    await publish(scope, [{ type: 'company.deleted', data }])
  })
}

/** The columns of custom fields. */
function withWords(organization_id: string, custom: Custom) {
  return { custom, custom_words: wordsOfCustom(organization_id, custom) }
}

/** The fields with domains as they are stored: in the order given, each once. */
function withStoredDomains<T extends { domains?: string[] }>(fields: T): T {
  return fields.domains ? { ...fields, domains: [...new Set(fields.domains.map((text) => toDomain(text)!))] } : fields
}
