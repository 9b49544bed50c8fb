/** Finds what requests about an organization name: its busiest and its rarest of each kind. */
import type postgres from 'postgres'

export type Subject = {
  organization_id: string
  /** Number of tickets. */
  size: number
  ticket_id: string
  code: string
  /** Address of a contact. */
  email: string
  top_company: string
  top_assignee: string
  top_team: string
  top_label: string
  rare_label: string
}

export async function findSubject(sql: postgres.Sql, organization_id: string, size: number): Promise<Subject> {
  const busiest = async (column: 'company_id' | 'assignee_id' | 'team_id') => {
    const [found] = await sql<{ id: string }[]>`
      select ${sql(column)} as id from tickets where organization_id = ${organization_id} and ${sql(column)} is not null
      group by 1 order by count(*) desc limit 1`
    return found!.id
  }
  const labels = await sql<{ id: string }[]>`
    select label_id as id from ticket_labels where organization_id = ${organization_id} group by 1 order by count(*) desc`
  const [ticket] = await sql<{ id: string; code: string }[]>`
    select id, code from tickets where organization_id = ${organization_id} and number = ${Math.ceil(size / 200)}`
  const [contact] = await sql<{ email: string }[]>`
    select email from contacts where organization_id = ${organization_id} order by id offset 50 limit 1`
  return {
    organization_id,
    size,
    ticket_id: ticket!.id,
    code: ticket!.code,
    email: contact!.email,
    top_company: await busiest('company_id'),
    top_assignee: await busiest('assignee_id'),
    top_team: await busiest('team_id'),
    top_label: labels[0]!.id,
    rare_label: labels.at(-1)!.id,
  }
}
