/** Counts what was there before the tallies were: the tickets and contacts of older releases. */
import type postgres from 'postgres'
import { ZERO_ID } from './columns'

/**
 * Counts the tickets and contacts of each organization after the migration `tallies`. The new service does not listen
 * before this ends; other sessions are not locked out. What changes meanwhile is counted by triggers. If it is
 * interrupted, the next start goes on.
 */
export async function finishTallies(sql: postgres.Sql): Promise<void> {
  const [mark] = await sql`select to_regclass('tallies_unfinished') as name`
  if (!mark?.name) return
  while (await sql.begin(tallyNext));
  await sql`drop table if exists tallies_unfinished`
}

/** Counts one organization. @returns false when none is left. Processes that start together do one after the other. */
async function tallyNext(sql: postgres.ISql): Promise<boolean> {
  const [mark] = await sql`select to_regclass('tallies_unfinished') as name`
  const [next] = mark?.name
    ? await sql<{ id: string }[]>`select organization_id as id from tallies_unfinished limit 1 for update`
    : []
  if (!next) return false
  await sql`delete from tallies where organization_id = ${next.id}`
  await tallyOrganization(sql, next.id)
  await sql`delete from tallies_unfinished where organization_id = ${next.id}`
  return true
}

/**
 * Counts an organization without tallies. One statement sees one moment: it drops the changes that are in what it
 * counts. Nobody else may fold changes at the same time. Rows that are read together are written side by side.
 * `ZERO_ID` is the key of all tickets, and of contacts without a company.
 */
async function tallyOrganization(sql: postgres.ISql, organization_id: string): Promise<void> {
  await sql`
    with counted_below as (
      delete from tally_changes where organization_id = ${organization_id}
    ), live as (
      select id, contact_id, company_id, first_id_of_day(id) as day, status from tickets
      where organization_id = ${organization_id} and deleted_at is null
    )
    insert into tallies (organization_id, kind, key, status, n)
    select ${organization_id}::uuid, 'tickets', ${ZERO_ID}::uuid, status, count(*) from live group by status
    union all
    select ${organization_id}::uuid, 'tickets_of_contact', contact_id, status, count(*) from live
    where contact_id is not null group by contact_id, status
    union all
    select ${organization_id}::uuid, 'tickets_of_company', company_id, status, count(*) from live
    where company_id is not null group by company_id, status
    union all
    select ${organization_id}::uuid, 'tickets_of_day', day, status, count(*) from live group by day, status
    union all
    select ${organization_id}::uuid, 'tickets_of_label', l.label_id, live.status, count(*)
    from live join ticket_labels l on l.organization_id = ${organization_id} and l.ticket_id = live.id
    group by l.label_id, live.status
    union all
    select ${organization_id}::uuid, 'contacts_of_company', coalesce(company_id, ${ZERO_ID}),
      null, count(*)
    from contacts where organization_id = ${organization_id} group by company_id
    order by 2, 3, 4`
}
