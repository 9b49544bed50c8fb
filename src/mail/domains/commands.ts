import { toDomain } from '../../base/address/domains'
import { audit, auditChanges, OPERATOR } from '../../base/audit/audit'
import { changesOf } from '../../base/audit/changes-of'
import { newId } from '../../base/db/columns'
import { fieldError } from '../../base/errors'
import { inTransaction, type Scope, SYSTEM } from '../../base/scope'
import { settleMailboxes } from '../mailboxes/claim-address'
import { lockMailboxes } from '../mailboxes/default-mailbox'
import { newChallenge, readChallenges, recordName } from './challenge'
import type { Domain, NewDomain } from './model'
import { getDomain } from './queries'

/** Lists a domain as the organization's, not yet verified. @throws DOMAIN_ALREADY_EXISTS */
export async function createDomain(scope: Scope, input: NewDomain): Promise<Domain> {
  return inTransaction(scope, async (scope) => {
    const id = await insertDomain(scope, toDomain(input.domain)!)
    if (!id) throw fieldError('DOMAIN_ALREADY_EXISTS', '/domain', 'is listed already')
    const domain = await getDomain(scope, id)
    await auditChanges(scope, { ...entryOf('domain.created', id), changes: changesOf(null, domain) })
    return domain
  })
}

/**
 * Looks for the record of a domain, and makes its mailboxes the holders of their addresses. Other organizations that
 * once published a record of the domain, and do not any more, lose it.
 * @throws DOMAIN_NOT_FOUND, DOMAIN_NOT_VERIFIED
 */
export async function verifyDomain(scope: Scope, id: string): Promise<Domain> {
  const { domain, dns_record } = await getDomain(scope, id)
  const published = await readChallenges(domain)
  if (!published) throw fieldError('DOMAIN_NOT_VERIFIED', '', 'DNS does not answer: try again later')
  if (!published.includes(dns_record.value)) {
    throw fieldError('DOMAIN_NOT_VERIFIED', '', `${recordName(domain)} has no TXT record with the value`)
  }
  return inTransaction(scope, async (scope) => {
    await lockMailboxes(scope)
    const before = await getDomain(scope, id)
    await markVerified(scope, id, 'dns')
    const others = await forgetFormer(scope, domain, published)
    await settleDomain(scope, domain, others)
    const after = await getDomain(scope, id)
    await auditChanges(scope, { ...entryOf('domain.updated', id), changes: changesOf(before, after) })
    return after
  })
}

/**
 * Verifies a domain in the operator's name, whatever DNS says.
 * @returns the domain, listed anew when it was not
 */
export async function allowDomain(scope: Scope, name: string): Promise<Domain> {
  return inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    await lockMailboxes(scope)
    await insertDomain(scope, name)
    const [row] = await sql<{ id: string }[]>`
      select id from domains where organization_id = ${organization_id} and domain = ${name}`
    const { id } = row!
    await markVerified(scope, id, 'operator')
    await settleDomain(scope, name)
    const domain = await getDomain(scope, id)
    const changes = changesOf(null, domain)
    await audit({ ...scope, actor: OPERATOR }, { ...entryOf('operator.domain_allow', id), changes })
    return domain
  })
}

/** Gives up a domain. With MAILBOX_DOMAIN_CHECK its mailboxes receive and send no more. @throws DOMAIN_NOT_FOUND */
export async function deleteDomain(scope: Scope, id: string): Promise<void> {
  await inTransaction(scope, async (scope) => {
    const { sql, organization_id } = scope
    await lockMailboxes(scope)
    const before = await getDomain(scope, id)
    await sql`delete from domains where organization_id = ${organization_id} and id = ${id}`
    await settleDomain(scope, before.domain)
    await auditChanges(scope, { ...entryOf('domain.deleted', id), changes: changesOf(before, null) })
  })
}

/** @returns the id; undefined when the organization has listed the domain already */
async function insertDomain({ sql, organization_id }: Scope, domain: string): Promise<string | undefined> {
  const [row] = await sql<{ id: string }[]>`
    insert into domains (organization_id, id, domain, challenge)
    values (${organization_id}, ${newId()}, ${domain}, ${newChallenge()})
    on conflict (organization_id, domain) do nothing returning id`
  return row?.id
}

/** A domain that the operator has allowed stays allowed when DNS confirms it. */
async function markVerified({ sql, organization_id }: Scope, id: string, by: 'dns' | 'operator'): Promise<void> {
  await sql`
    update domains set verified_at = now(), verified_by = ${by}
    where organization_id = ${organization_id} and id = ${id} and verified_at is null`
  await sql`
    update domains set verified_by = ${by}
    where organization_id = ${organization_id} and id = ${id} and verified_by <> 'operator'`
}

/**
 * Takes the domain from organizations whose record is not published any more: it has changed hands.
 * @returns those organizations
 */
async function forgetFormer(scope: Scope, domain: string, published: string[]): Promise<string[]> {
  const { sql, organization_id } = scope
  const former = await sql<{ organization_id: string; id: string }[]>`
    update domains set verified_at = null, verified_by = null
    where domain = ${domain} and organization_id <> ${organization_id} and verified_by = 'dns'
      and challenge <> all(${published})
    returning organization_id, id`
  for (const other of former) {
    const theirs = { sql, organization_id: other.organization_id, actor: SYSTEM }
    const changes = { status: { from: 'verified', to: 'pending' } }
    await audit(theirs, { ...entryOf('domain.updated', other.id), changes })
  }
  return former.map((other) => other.organization_id)
}

/**
 * Decides anew who has the addresses of a domain, and which mailboxes are defaults. @param others that lost the domain
 */
async function settleDomain(scope: Scope, domain: string, others: string[] = []): Promise<void> {
  const { sql, organization_id } = scope
  const rows = await sql<{ address_key: string }[]>`
    select distinct address_key from mailboxes where substring(address_key from '[^@]*$') = ${domain}`
  const address_keys = rows.map(({ address_key }) => address_key)
  await settleMailboxes(scope, address_keys, [organization_id, ...others])
}

function entryOf<Action extends string>(action: Action, id: string) {
  return { action, resource: { type: 'domain', id } } as const
}
