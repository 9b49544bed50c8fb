/** Links contacts that exist to a company: a company may be created, or get a domain, after its contacts. */
import { ownersOf } from '../../base/address/domains'
import { withChangeTime } from '../../base/db/change-time'
import { ZERO_ID } from '../../base/db/columns'
import { inTransaction, type Scope } from '../../base/scope'
import { publishContacts } from '../contacts/commands'
import { giveCompanyToTickets } from '../contacts/tickets'
import { endOf, STEP, within } from '../deeds/deeds'
import { shareCompany } from './queries'

/** Contacts that are read at a time. */
const BATCH = 2000

/**
 * Links every contact without a company whose address belongs to this one, and gives the company to those of their
 * tickets that have none. Of several addresses the first that belongs to any company counts. A contact whose address
 * belongs to another company by a longer domain is left to that one. It goes in short transactions: what was
 * interrupted is finished by the next call.
 * @throws COMPANY_NOT_FOUND
 */
export async function linkContacts(scope: Scope, company_id: string): Promise<{ linked: number }> {
  const ownerOf = await inTransaction(scope, async (scope) => {
    await shareCompany(scope, company_id)
    return ownersOf(await companiesWithDomains(scope))
  })
  let linked = 0
  for (let after = ZERO_ID; ; ) {
    const contacts = await unlinkedContacts(scope, after)
    const last = contacts.at(-1)
    if (!last) return { linked }
    after = last.id
    const owned = contacts.filter(({ emails }) => emails.map(ownerOf).find((owner) => owner) === company_id)
    const own = owned.map(({ id }) => id)
    for (let start = 0; start < own.length; start += STEP) {
      linked += await link(scope, own.slice(start, start + STEP), company_id)
    }
  }
}

/** The companies that own addresses, oldest first. */
function companiesWithDomains({ sql, organization_id }: Scope) {
  return sql<{ id: string; domains: string[] }[]>`
    select id, domains from companies where organization_id = ${organization_id} and domains <> '{}' order by id`
}

/** The next contacts without a company, with their addresses in order. */
function unlinkedContacts({ sql, organization_id }: Scope, after: string) {
  return sql<{ id: string; emails: string[] }[]>`
    select id, array(
      select a.email from contact_addresses a
      where a.organization_id = ${organization_id} and a.contact_id = contacts.id
      order by a.email_key = contacts.email_key desc, a.position, a.email_key
    ) as emails
    from contacts
    where organization_id = ${organization_id} and company_id is null and id > ${after}
    order by id limit ${BATCH}`
}

/** Links some contacts in one transaction. @returns how many of them still had no company @throws COMPANY_NOT_FOUND */
async function link(outer: Scope, ids: string[], company_id: string): Promise<number> {
  const { count, begun } = await inTransaction(outer, async (scope) => {
    const company = await shareCompany(scope, company_id)
    const { sql, organization_id } = scope
    const [unlinked, locked_at] = await withChangeTime(
      sql,
      sql<{ id: string }[]>`
        select id from contacts
        where organization_id = ${organization_id} and company_id is null and id = any(${ids}::uuid[])
        order by id for no key update`,
    )
    const linked = unlinked.map(({ id }) => id)
    await sql`
      update contacts set company_id = ${company.id}, updated_at = ${locked_at}
      where organization_id = ${organization_id} and id = any(${linked}::uuid[])`
    const begun = await giveCompanyToTickets(scope, linked, company)
    await publishContacts(scope, linked, null)
    return { count: linked.length, begun }
  })
  if (begun && !outer.after_commit) await within(endOf(begun.id))
  return count
}
