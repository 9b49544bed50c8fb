/** A ticket as statements read it and as answers show it: in lists, in the answers of writes and in events. */
import type { Fragment, Sql } from '../../base/db/transact'
import type { Scope } from '../../base/scope'
import { permits } from '../../http/request/permissions'
import { presentSla, type SlaColumn, slaOf } from '../promises/shown-sla'
import { presentRating, type RatingColumns } from '../ratings/model'
import { markColumns, readerId, withMark } from '../read-marks/unread'
import { presentTurn, type Turn, type TurnRow, turnColumns, withLastMessage } from '../turn/shown-turn'
import type { Ticket } from './model'
import { PLAIN } from './ticket-fields'

/** Plain fields that are not the column of their name: below a merge nobody is told that a ticket sleeps. */
const COLUMNS: { [name: string]: string } = {
  snoozed_until: "case when t.status = 'pending' then t.snoozed_until end as snoozed_until",
}

/** The things that a ticket refers to. A name counts only beside its id. */
export type TicketNames = Pick<Ticket, 'labels'> & {
  contact_id: string | null
  contact_name: string
  contact_email: string
  company_id: string | null
  company_name: string
  assignee_id: string | null
  assignee_name: string
  team_id: string | null
  team_name: string
  mailbox_id: string | null
  mailbox_address: string
  mailbox_name: string | null
}

export type TicketRow = Omit<
  Ticket,
  keyof Turn | 'contact' | 'company' | 'assignee' | 'team' | 'mailbox' | 'rating' | 'merged_into' | 'split_from' | 'sla'
> &
  TicketNames &
  RatingColumns &
  TurnRow & {
    merged_into_id: string | null
    merged_into_code: string
    split_from_id: string | null
    split_from_code: string | null
    sla: SlaColumn
  }

/**
 * The columns of a ticket; needs `tickets t` and `withNames`. They are flat: to make JSON objects of them took a
 * quarter of the database's time for a list.
 * @param reader who reads it, the scope's by default
 */
export function fields(scope: Scope, reader = readerOf(scope)) {
  const { sql, organization_id } = scope
  const codeOf = (id: Fragment) =>
    sql`(select x.code from tickets x where x.organization_id = ${organization_id} and x.id = ${id})`
  return sql`
    t.id, t.code, ${sql.unsafe(PLAIN.map((name) => COLUMNS[name] ?? `t.${name}`).join(', '))},
    t.contact_id, c.name as contact_name, c.email as contact_email, t.company_id, co.name as company_name, t.assignee_id, u.name as assignee_name,
    t.rating_score, t.rating_comment, t.rated_at, t.team_id, tm.name as team_name, t.mailbox_id, mb.address as mailbox_address, mb.name as mailbox_name,
    (
      select coalesce(
        json_agg(json_build_object('id', l.id, 'name', l.name, 'color', l.color) order by lower(l.name), l.id), '[]'
      )
      from ticket_labels tl join labels l on l.organization_id = ${organization_id} and l.id = tl.label_id
      where tl.organization_id = ${organization_id} and tl.ticket_id = t.id
    ) as labels,
    ${parentOf(sql, organization_id, sql`t.parent_id`, sql`t.id`)} as parent,
    t.merged_into_id, ${codeOf(sql`t.merged_into_id`)} as merged_into_code,
    t.split_from_id, ${codeOf(sql`t.split_from_id`)} as split_from_code, ${slaOf(scope)} as sla,
    ${turnColumns(scope, reader.reads_drafts)}, ${markColumns(scope, reader.id)},
    t.created_at, t.updated_at`
}

/**
 * SQL for the ticket that is a parent now: of a merged one its target; null for a deleted one.
 * @param id of the child, which is never its own parent
 */
export function parentOf(sql: Sql, organization_id: string, parent_id: Fragment, id: Fragment): Fragment {
  return sql`(
    select json_build_object('id', q.id, 'code', q.code, 'subject', q.subject)
    from tickets p join tickets q on q.organization_id = ${organization_id} and q.id = coalesce(p.merged_into_id, p.id)
    where p.organization_id = ${organization_id} and p.id = ${parent_id} and q.id <> ${id} and q.deleted_at is null
  )`
}

/** The tables that `fields` takes names from, the newest message, and the read mark. */
export function withNames(scope: Scope, reader = readerOf(scope)) {
  const { sql, organization_id } = scope
  return sql`
    left join contacts c on c.organization_id = ${organization_id} and c.id = t.contact_id
    left join companies co on co.organization_id = ${organization_id} and co.id = t.company_id
    left join users u on u.id = t.assignee_id
    left join teams tm on tm.organization_id = ${organization_id} and tm.id = t.team_id
    left join mailboxes mb on mb.organization_id = ${organization_id} and mb.id = t.mailbox_id
    ${withLastMessage(scope)} ${withMark(scope, reader.id)}`
}

/** SQL for `readerId`, and if the reader may read drafts. */
type Reader = { id: Fragment; reads_drafts: Fragment }

function readerOf(scope: Scope): Reader {
  const { sql } = scope
  return { id: sql`${readerId(scope)}::uuid`, reads_drafts: sql`${permits(scope, 'drafts:read')}::boolean` }
}

/** A row of `fields` as the response shows it. */
export function present(row: TicketRow): Ticket {
  const { id, code, subject, status, priority, labels, parent, external_id, custom, unread, read_to } = row
  return {
    id,
    code,
    subject,
    status,
    priority,
    contact: row.contact_id ? { id: row.contact_id, name: row.contact_name, email: row.contact_email } : null,
    company: row.company_id ? { id: row.company_id, name: row.company_name } : null,
    assignee: row.assignee_id ? { id: row.assignee_id, name: row.assignee_name } : null,
    team: row.team_id ? { id: row.team_id, name: row.team_name } : null,
    mailbox: row.mailbox_id ? { id: row.mailbox_id, address: row.mailbox_address, name: row.mailbox_name } : null,
    labels,
    parent,
    snoozed_until: row.snoozed_until,
    rating: presentRating(row),
    external_id,
    custom,
    merged_into: row.merged_into_id ? { id: row.merged_into_id, code: row.merged_into_code } : null,
    // A ticket that was purged has no code any more.
    split_from: row.split_from_id && row.split_from_code ? { id: row.split_from_id, code: row.split_from_code } : null,
    sla: presentSla(row.sla),
    ...presentTurn(row),
    unread,
    read_to,
    created_at: row.created_at,
    updated_at: row.updated_at,
  }
}
