/** Tickets that take several steps of a deed, and what steps leave. */
import { STEP } from '../../src/desk/deeds/deeds'
import type { Organization } from './api'
import { changeSchema } from './triggers'

export const MANY = 5 * STEP + 7

/** Makes tickets of a contact. */
export async function manyTickets({ scope }: Organization, contact_id: string, company_id: string | null = null) {
  const { sql, organization_id } = scope
  await sql`
    insert into tickets (organization_id, id, number, code, subject, contact_id, company_id)
    select ${organization_id}, gen_random_uuid(), 100000 + n, 'MANY-' || n, 'Many', ${contact_id}, ${company_id}
    from generate_series(1, ${MANY}) n`
}

/** The most rows that one transaction has written last. */
export async function mostAtOnce({ scope }: Organization, table = 'tickets'): Promise<number> {
  const { sql, organization_id } = scope
  const [row] = await sql<{ most: number }[]>`
    select max(n)::int as most from (
      select count(*) as n from ${sql(table)} where organization_id = ${organization_id} group by xmin::text
    ) t`
  return row!.most
}

/** Counts the tickets that name something. */
export async function ticketsOf(
  { scope }: Organization,
  column: 'contact_id' | 'company_id' | 'team_id' | 'mailbox_id',
  id: string,
): Promise<number> {
  const { sql, organization_id } = scope
  const [row] = await sql<{ n: number }[]>`
    select count(*)::int as n from tickets where organization_id = ${organization_id} and ${sql(column)} = ${id}`
  return row!.n
}

/** Lets every change of a ticket fail while `work` runs, as if the process died there. */
export async function interrupted(at: string, work: () => Promise<unknown>) {
  await changeSchema(
    "create or replace function interrupt() returns trigger language plpgsql as $$ begin raise 'killed'; end $$",
  )
  await changeSchema(`create trigger interrupt before ${at} for each row execute function interrupt()`)
  const result = await work()
  await changeSchema(`drop trigger interrupt on ${at.split(' ')[2]}`)
  return result
}
