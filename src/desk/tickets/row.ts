/** A ticket as statements read it and as answers show it: in lists, in the answers of writes and in events. */
import type { Fragment } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import type { Ticket } from './model'
import { PLAIN } from './ticket-fields'

/** The things that a ticket refers to. A name counts only beside its id. */
export type TicketNames = Pick<Ticket, 'labels'> & {
  contact_id: string | null
  contact_name: string
  contact_email: string
  company_id: string | null
  company_name: string
  assignee_id: string | null
  assignee_name: string
}

export type TicketRow = Omit<Ticket, 'contact' | 'company' | 'assignee' | 'merged_into' | 'split_from'> &
  TicketNames & {
    merged_into_id: string | null
    merged_into_code: string
    split_from_id: string | null
    split_from_code: string | null
  }

/**
 * The columns of a ticket; needs `tickets t` and `withNames`. They are flat: to make JSON objects of them took a
 * quarter of the database's time for a list.
 */
export function fields({ sql, organization_id }: Scope) {
  const codeOf = (id: Fragment) =>
    sql`(select x.code from tickets x where x.organization_id = ${organization_id} and x.id = ${id})`
  return sql`
    t.id, t.code, ${sql.unsafe(PLAIN.map((name) => `t.${name}`).join(', '))},
    t.contact_id, c.name as contact_name, c.email as contact_email, t.company_id, co.name as company_name, t.assignee_id, u.name as assignee_name,
    (
      select coalesce(
        json_agg(json_build_object('id', l.id, 'name', l.name, 'color', l.color) order by lower(l.name), l.id), '[]'
      )
      from ticket_labels tl join labels l on l.organization_id = ${organization_id} and l.id = tl.label_id
      where tl.organization_id = ${organization_id} and tl.ticket_id = t.id
    ) as labels,
    t.merged_into_id, ${codeOf(sql`t.merged_into_id`)} as merged_into_code,
    t.split_from_id, ${codeOf(sql`t.split_from_id`)} as split_from_code, t.created_at, t.updated_at`
}

/** The tables that `fields` takes names from. */
export function withNames({ sql, organization_id }: Scope) {
  return sql`
    left join contacts c on c.organization_id = ${organization_id} and c.id = t.contact_id
    left join companies co on co.organization_id = ${organization_id} and co.id = t.company_id
    left join users u on u.id = t.assignee_id`
}

/** A row of `fields` as the response shows it. */
export function present(row: TicketRow): Ticket {
  const { id, code, subject, status, priority, labels, external_id, custom, created_at, updated_at } = row
  return {
    id,
    code,
    subject,
    status,
    priority,
    contact: row.contact_id ? { id: row.contact_id, name: row.contact_name, email: row.contact_email } : null,
    company: row.company_id ? { id: row.company_id, name: row.company_name } : null,
    assignee: row.assignee_id ? { id: row.assignee_id, name: row.assignee_name } : null,
    labels,
    external_id,
    custom,
    merged_into: row.merged_into_id ? { id: row.merged_into_id, code: row.merged_into_code } : null,
    // A ticket that was purged has no code any more.
    split_from: row.split_from_id && row.split_from_code ? { id: row.split_from_id, code: row.split_from_code } : null,
    created_at,
    updated_at,
  }
}
