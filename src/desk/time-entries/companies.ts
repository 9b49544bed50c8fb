/**
 * The company of a time entry: that of the ticket that it was logged on. Triggers of the database keep it; entries of
 * older releases are filled.
 */
import { fillSome, isFilled } from '../../base/db/fills'
import type { Connection, Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'

/** Entries that one step fills: 20 ms, in which their tickets can get no other company. */
const STEP = 500

/** Writes SQL for the company's id of `time_entries e`. */
export async function companyOfEntry(scope: Scope): Promise<() => Fragment> {
  const { sql, organization_id } = scope
  if (await isFilled(scope, 'time_entries.company_id')) return () => sql`e.company_id`
  return () => sql`(
    select t.company_id from tickets t
    where t.organization_id = ${organization_id} and t.id = coalesce(e.original_ticket_id, e.ticket_id))`
}

/** Gives their company to entries that were logged before they had one. For a background job. */
export function fillCompanies(connection: Connection): Promise<void> {
  return fillSome(connection, 'time_entries.company_id', async (sql, organization_id, after) => {
    const [step] = await sql<{ last: string | null }[]>`
      with these as materialized (
        select id, coalesce(original_ticket_id, ticket_id) as ticket_id from time_entries
        where organization_id = ${organization_id} and id > ${after} order by id limit ${STEP}
      ), locked as materialized (
        select id, company_id from tickets
        where organization_id = ${organization_id} and id in (select ticket_id from these)
        order by id for share
      ), filled as (
        update time_entries e set company_id = locked.company_id
        from these join locked on locked.id = these.ticket_id
        where e.organization_id = ${organization_id} and e.id = these.id
          and e.company_id is distinct from locked.company_id
      )
      select (select id from these order by id desc limit 1) as last`
    return step!.last ?? undefined
  })
}
