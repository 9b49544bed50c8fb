/**
 * Effects on tickets when a contact or company changes: a property of the ticket changes and its timeline says so. No
 * ticket event is published.
 */
import { withChangeTime } from '../../base/db/change-time'
import type { Scope } from '../../base/scope'
import { type Deed, doOrBegin, STEP } from '../deeds/deeds'
import { keepPromises } from '../promises/keep'
import { recordOnEach } from '../timeline/activity'

/**
 * Gives a company to those tickets of its contacts that have none: some in the caller's transaction, and the others
 * after its commit.
 * @returns the deed when there are others
 */
export function giveCompanyToTickets(
  scope: Scope,
  contact_ids: string[],
  { id }: { id: string },
): Promise<Deed | undefined> {
  return doOrBegin(scope, { kind: 'give company', subject_id: id, source_ids: contact_ids }, giveCompany, [])
}

/** A step of it. Contacts that have another company by now are left out. */
export async function giveCompany(scope: Scope, { subject_id, source_ids }: Pick<Deed, 'subject_id' | 'source_ids'>) {
  const { sql, organization_id } = scope
  const [company] = await sql<{ id: string; name: string }[]>`
    select id, name from companies where organization_id = ${organization_id} and id = ${subject_id} for key share`
  if (!company) return true
  const [tickets, locked_at] = await withChangeTime(
    sql,
    sql<{ id: string }[]>`
      select id from tickets
      where organization_id = ${organization_id} and contact_id = any(array(
        select c.id from contacts c
        where c.organization_id = ${organization_id} and c.id = any(${source_ids}::uuid[]) and c.company_id = ${subject_id}
      )) and company_id is null and deleted_at is null
      order by id limit ${STEP} for no key update`,
  )
  const ids = tickets.map(({ id }) => id)
  await sql`
    update tickets set company_id = ${company.id}, updated_at = ${locked_at}
    where organization_id = ${organization_id} and id = any(${ids}::uuid[])`
  await recordOnEach(scope, ids, { type: 'changed', data: { field: 'company', from: null, to: company } })
  await keepPromises(scope, ids)
  return ids.length < STEP
}

/**
 * Unlinks a contact or company from some of its tickets before it is deleted, hidden ones too: a foreign key of a
 * cluster cannot do that. Tickets are locked before the rows that they point at, as everywhere.
 * @returns true when there are no more
 */
export async function takeFromTickets(
  scope: Scope,
  field: 'contact' | 'company',
  resource: { id: string; name: string; email?: string },
): Promise<boolean> {
  const { sql, organization_id } = scope
  const column = sql(`${field}_id`)
  const [tickets, locked_at] = await withChangeTime(
    sql,
    sql<{ id: string; is_hidden: boolean }[]>`
      select id, deleted_at is not null as is_hidden from tickets
      where organization_id = ${organization_id} and ${column} = ${resource.id}
      order by id limit ${STEP} for no key update`,
  )
  await sql`
    update tickets set ${column} = null, updated_at = ${locked_at}
    where organization_id = ${organization_id} and id = any(${tickets.map(({ id }) => id)}::uuid[])`
  const visible = tickets.filter(({ is_hidden }) => !is_hidden).map(({ id }) => id)
  if (field === 'company') await keepPromises(scope, visible)
  await recordOnEach(scope, visible, { type: 'changed', data: { field, from: resource, to: null } })
  return tickets.length < STEP
}

/**
 * Makes some participations of contacts those of another one, or of none, before these are deleted.
 * @returns true when there are no more
 */
export async function takeFromParticipants(
  { sql, organization_id }: Scope,
  contact_ids: string[],
  to: string | null,
): Promise<boolean> {
  const { count } = await sql`
    update participants set contact_id = ${to}
    where organization_id = ${organization_id} and id = any(array(
      select p.id from participants p
      where p.organization_id = ${organization_id} and p.contact_id = any(${contact_ids}::uuid[])
      order by p.id limit ${STEP}
    ))`
  return count < STEP
}

/** A contact as timelines name it. */
type NamedContact = { id: string; name: string; email: string }

/**
 * Gives some tickets of contacts to another one, hidden ones too, before these contacts are deleted.
 * @returns true when there are no more
 */
export async function giveTicketsTo(scope: Scope, from: NamedContact[], to: NamedContact): Promise<boolean> {
  const { sql, organization_id } = scope
  const [tickets, locked_at] = await withChangeTime(
    sql,
    sql<{ id: string; contact_id: string; is_hidden: boolean }[]>`
      select id, contact_id, deleted_at is not null as is_hidden from tickets
      where organization_id = ${organization_id} and contact_id = any(${from.map(({ id }) => id)}::uuid[])
      order by id limit ${STEP} for no key update`,
  )
  await sql`
    update tickets set contact_id = ${to.id}, updated_at = ${locked_at}
    where organization_id = ${organization_id} and id = any(${tickets.map(({ id }) => id)}::uuid[])`
  for (const { id, name, email } of from) {
    const visible = tickets.filter(({ contact_id, is_hidden }) => contact_id === id && !is_hidden)
    const data = { field: 'contact', from: { id, name, email }, to }
    await recordOnEach(
      scope,
      visible.map((ticket) => ticket.id),
      { type: 'changed', data },
    )
  }
  return tickets.length < STEP
}

/** Unlinks a company from some of its contacts before it is deleted. @returns their ids: fewer than `STEP` when all */
export async function takeFromContacts({ sql, organization_id }: Scope, company_id: string): Promise<string[]> {
  const [contacts, locked_at] = await withChangeTime(
    sql,
    sql<{ id: string }[]>`
      select id from contacts where organization_id = ${organization_id} and company_id = ${company_id}
      order by id limit ${STEP} for no key update`,
  )
  const ids = contacts.map(({ id }) => id)
  await sql`
    update contacts set company_id = null, updated_at = ${locked_at}
    where organization_id = ${organization_id} and id = any(${ids}::uuid[])`
  return ids
}
