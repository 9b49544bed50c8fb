import { ownersOf } from '../address/domains'
import { publishContacts } from '../contacts/commands'
import { giveCompanyToTickets } from '../contacts/tickets'
import { ApiError } from '../errors'
import { inTransaction, type Scope } from '../scope'

/**
 * Links every contact without a company whose address belongs to this one, and gives it to those of their tickets that
 * have none. A contact that another company's longer domain matches is left to that one.
 * @throws COMPANY_NOT_FOUND
 */
export function linkContacts(scope: Scope, company_id: string): Promise<{ linked: number }> {
  return inTransaction(scope, async (scope) => {
    const company = await lockCompany(scope, company_id)
    const ownerOf = ownersOf(await companiesWithDomains(scope))
    let linked = 0
    let after = FIRST
    for (;;) {
      const contacts = await unlinkedContacts(scope, after)
      const last = contacts.at(-1)
      if (!last) return { linked }
      after = last.id
      const own = contacts.filter(({ email }) => ownerOf(email) === company_id).map(({ id }) => id)
      linked += await link(scope, own, company)
    }
  })
}

const FIRST = '00000000-0000-0000-0000-000000000000'
/** Contacts in memory at a time. */
const BATCH = 2000

type Company = { id: string; name: string }

/** Kept from being deleted until the transaction ends. */
async function lockCompany({ sql, organization_id }: Scope, id: string): Promise<Company> {
  const [company] = await sql<Company[]>`
    select id, name from companies where organization_id = ${organization_id} and id = ${id} for key share`
  if (!company) throw new ApiError('COMPANY_NOT_FOUND')
  return company
}

/** Oldest first. */
function companiesWithDomains({ sql, organization_id }: Scope) {
  return sql<{ id: string; domains: string[] }[]>`
    select id, domains from companies where organization_id = ${organization_id} and domains <> '{}' order by id`
}

function unlinkedContacts({ sql, organization_id }: Scope, after: string) {
  return sql<{ id: string; email: string }[]>`
    select id, email from contacts
    where organization_id = ${organization_id} and company_id is null and id > ${after}
    order by id limit ${BATCH}`
}

async function link(scope: Scope, ids: string[], { id, name }: Company): Promise<number> {
  if (ids.length === 0) return 0
  const { sql, organization_id } = scope
  const changed = await sql<{ id: string }[]>`
    update contacts set company_id = ${id}, updated_at = now()
    where organization_id = ${organization_id} and company_id is null and id = any(${ids}::uuid[])
    returning id`
  const linked = changed.map((contact) => contact.id)
  await giveCompanyToTickets(scope, linked, { id, name })
  await publishContacts(scope, linked)
  return linked.length
}
