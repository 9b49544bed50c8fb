/**
 * External ids: the names that other systems have for contacts, companies and tickets. A contact that was merged leaves
 * its own to the contact that it is now.
 */
import type { Fragment } from './db/transact'
import { fieldError } from './errors'
import type { Scope } from './scope'

type Kind = 'contacts' | 'companies' | 'tickets'

/**
 * SQL for the ids of what an external id names: one or none.
 * @param external_id a text
 */
export function idOfExternal({ sql, organization_id }: Scope, kind: Kind, external_id: string): Fragment {
  const merged = sql`
    union all select contact_id from merged_contacts
    where organization_id = ${organization_id} and external_id = ${external_id}`
  return sql`
    select id from ${sql(kind)} where organization_id = ${organization_id} and external_id = ${external_id}
    ${kind === 'tickets' ? sql`and deleted_at is null` : sql``} ${kind === 'contacts' ? merged : sql``}`
}

/**
 * Finds what an external id names, and lets no other transaction give it away before the caller's ends.
 * @returns its id; undefined when nothing has the external id
 */
export async function holdExternalId(scope: Scope, kind: Kind, external_id: string): Promise<string | undefined> {
  const { sql, organization_id } = scope
  const name = `external id ${kind} ${organization_id} ${external_id}`
  await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`
  const [found] = await sql<{ id: string }[]>`${idOfExternal(scope, kind, external_id)}`
  return found?.id
}

/**
 * As `holdExternalId`, for many at once.
 * @returns the ids of what has them, by external id
 */
export async function holdExternalIds(scope: Scope, kind: Kind, external_ids: string[]): Promise<Map<string, string>> {
  if (external_ids.length === 0) return new Map()
  const { sql, organization_id } = scope
  // In one order, so that two transactions never wait for each other.
  const names = [...new Set(external_ids)].sort().map((one) => `external id ${kind} ${organization_id} ${one}`)
  await sql`select pg_advisory_xact_lock(hashtextextended(name, 0)) from unnest(${names}::text[]) as name`
  const merged = sql`
    union all select contact_id, external_id from merged_contacts
    where organization_id = ${organization_id} and external_id = any(${external_ids}::text[])`
  const found = await sql<{ id: string; external_id: string }[]>`
    select id, external_id from ${sql(kind)}
    where organization_id = ${organization_id} and external_id = any(${external_ids}::text[])
    ${kind === 'tickets' ? sql`and deleted_at is null` : sql``} ${kind === 'contacts' ? merged : sql``}`
  return new Map(found.map(({ id, external_id }) => [external_id, id]))
}

/**
 * Makes sure that an external id may be given, in the caller's transaction.
 * @param id of what it is given to, when that exists
 * @throws EXTERNAL_ID_EXISTS with the id of what has it
 */
export async function requireFree(
  scope: Scope,
  kind: Kind,
  external_id: string | null | undefined,
  id?: string,
): Promise<void> {
  if (typeof external_id !== 'string') return
  const taken = await holdExternalId(scope, kind, external_id)
  if (taken && taken !== id) throw fieldError('EXTERNAL_ID_EXISTS', '/external_id', undefined, { id: taken })
}
