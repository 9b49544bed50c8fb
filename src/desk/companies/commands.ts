import { and, eq, sql } from 'drizzle-orm'
import { toDomain } from '../../base/address/domains'
import { newId } from '../../base/db/columns'
import { companies } from '../../base/db/schema'
import { ApiError, fieldError } from '../../base/errors'
import { holdExternalId, requireFree } from '../../base/external-ids'
import { inTransaction, type Scope } from '../../base/scope'
import { requireRate } from '../../base/shapes/money'
import { publish } from '../../delivery/webhooks/publish'
import { publishContacts } from '../contacts/commands'
import { takeFromContacts, takeFromTickets } from '../contacts/tickets'
import { wordsOfCustom } from '../custom/custom-words'
import type { Custom } from '../custom/model'
import { changedCustom } from '../custom/values'
import { type Deed, doOrBegin, endOf, STEP, within } from '../deeds/deeds'
import { emptyNames } from '../naming/empty-names'
import type { CompanyByExternalId, CompanyChanges, CompanyWithDetails, NewCompany } from './model'
import { getCompany, lockCompany } from './queries'

/**
 * Creates a company. Contacts that exist are not linked to it (`link.ts`).
 * @throws INVALID_CUSTOM, EXTERNAL_ID_EXISTS
 */
export function createCompany(scope: Scope, company: NewCompany): Promise<CompanyWithDetails> {
  return inTransaction(scope, async (scope) => {
    const { db, organization_id } = scope
    await requireFree(scope, 'companies', company.external_id)
    const id = newId()
    const custom = withWords(organization_id, changedCustom({}, company.custom))
    await db.insert(companies).values({ ...withStoredDomains(company), ...custom, organization_id, id })
    const data = await getCompany(scope, id)
    requireRate(data, company)
    await publish(scope, [{ type: 'company.created', data }])
    return data
  })
}

/**
 * Changes a company; contacts and tickets keep their links. No change, no event.
 * @throws COMPANY_NOT_FOUND, INVALID_CUSTOM, EXTERNAL_ID_EXISTS
 */
export function updateCompany(scope: Scope, id: string, changes: CompanyChanges): Promise<CompanyWithDetails> {
  return inTransaction(scope, async (scope) => {
    const { db, organization_id } = scope
    const before = await lockCompany(scope, id)
    const custom = changedCustom(before.custom, changes.custom)
    const wanted = { ...before, ...withStoredDomains(changes), custom }
    if (JSON.stringify(wanted) === JSON.stringify(before)) return getCompany(scope, id)
    if (wanted.external_id !== before.external_id) await requireFree(scope, 'companies', wanted.external_id, id)
    await db
      .update(companies)
      .set({ ...withStoredDomains(changes), ...withWords(organization_id, custom), updated_at: sql`now()` })
      .where(and(eq(companies.organization_id, organization_id), eq(companies.id, id)))
    const data = await getCompany(scope, id)
    requireRate(data, changes)
    await publish(scope, [{ type: 'company.updated', data }])
    return data
  })
}

/**
 * Changes the company with an external id, else creates it. Of two at the same time one creates, the other changes.
 * @param judge sees the company as it is, undefined when there is none; throws PRECONDITION_FAILED
 * @throws VALIDATION_ERROR
 */
export function putCompany(
  scope: Scope,
  external_id: string,
  input: CompanyByExternalId,
  judge: (company: CompanyWithDetails | undefined) => void,
): Promise<{ company: CompanyWithDetails; is_new: boolean }> {
  const { external_id: beside = external_id, ...fields } = input
  if (beside !== external_id) throw fieldError('VALIDATION_ERROR', '/external_id', 'must be that of the path')
  return inTransaction(scope, async (scope) => {
    const id = await holdExternalId(scope, 'companies', external_id)
    if (id && (await findLocked(scope, id))) {
      judge(await getCompany(scope, id))
      return { company: await updateCompany(scope, id, fields), is_new: false }
    }
    judge(undefined)
    const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))
    const { name } = given
    if (typeof name !== 'string') throw fieldError('VALIDATION_ERROR', '/name', 'is required')
    return { company: await createCompany(scope, { ...given, name, external_id }), is_new: true }
  })
}

/** Locks a company. @returns false when it was deleted meanwhile */
async function findLocked(scope: Scope, id: string): Promise<boolean> {
  try {
    await lockCompany(scope, id)
    return true
  } catch (error) {
    if (error instanceof ApiError && error.code === 'COMPANY_NOT_FOUND') return false
    throw error
  }
}

/**
 * Deletes a company. Its contacts and tickets stay, unlinked; an event tells of each contact, none of the tickets.
 * @throws COMPANY_NOT_FOUND
 */
export async function deleteCompany(scope: Scope, id: string): Promise<void> {
  const begun = await inTransaction(scope, async (scope) => {
    await lockCompany(scope, id)
    return doOrBegin(scope, { kind: 'delete company', subject_id: id, source_ids: [] }, deleteSome, [])
  })
  if (begun && !scope.after_commit) await within(endOf(begun.id))
}

/** A step of it. */
export async function deleteSome(scope: Scope, { subject_id: id }: Pick<Deed, 'subject_id'>): Promise<boolean> {
  if (!(await findLocked(scope, id))) return true
  const { db, organization_id } = scope
  const data = await getCompany(scope, id)
  if (!(await takeFromTickets(scope, 'company', { id, name: data.name }))) return false
  const unlinked = await takeFromContacts(scope, id)
  await publishContacts(scope, unlinked, id)
  if (unlinked.length === STEP) return false
  await db.delete(companies).where(and(eq(companies.organization_id, organization_id), eq(companies.id, id)))
  await publish(scope, [{ type: 'company.deleted', data }])
  await emptyNames(scope, 'company', id)
  return true
}

/** The columns of custom fields. */
function withWords(organization_id: string, custom: Custom) {
  return { custom, custom_words: wordsOfCustom(organization_id, custom) }
}

/** The fields with domains as they are stored: in the order given, each once. */
function withStoredDomains<T extends { domains?: string[] }>(fields: T): T {
  return fields.domains ? { ...fields, domains: [...new Set(fields.domains.map((text) => toDomain(text)!))] } : fields
}
