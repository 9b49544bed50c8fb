/** A ticket as statements read it and as answers show it: in lists, in the answers of writes and in events. */
import type { Scope } from '../../base/scope'
import type { Ticket } from './model'

/** What a ticket refers to. A name counts only beside its id. */
export type TicketNames = Pick<Ticket, 'labels'> & {
  contact_id: string | null
  contact_name: string
  contact_email: string
  company_id: string | null
  company_name: string
  assignee_id: string | null
  assignee_name: string
}

export type TicketRow = Omit<Ticket, 'contact' | 'company' | 'assignee'> & TicketNames

/**
 * The columns of a ticket; needs `tickets t` and `withNames`. They are flat: to make JSON objects of them took a
 * quarter of the database's time for a list.
 */
export function fields({ sql, organization_id }: Scope) {
  return sql`
    t.id, t.code, t.subject, t.status, t.priority, t.contact_id, c.name as contact_name, c.email as contact_email,
    t.company_id, co.name as company_name, t.assignee_id, u.name as assignee_name,
    (
      select coalesce(
        json_agg(json_build_object('id', l.id, 'name', l.name, 'color', l.color) order by lower(l.name), l.id), '[]'
      )
      from ticket_labels tl join labels l on l.organization_id = ${organization_id} and l.id = tl.label_id
      where tl.organization_id = ${organization_id} and tl.ticket_id = t.id
    ) as labels,
    t.created_at, t.updated_at`
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
  const { id, code, subject, status, priority, labels, created_at, updated_at } = row
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
    created_at,
    updated_at,
  }
}
