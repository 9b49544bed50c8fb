import { ApiError } from '../errors'
import type { InSteps } from '../flow/steps'
import {
  type MessageRow,
  messageFields,
  presentMessage,
  STEP_SIZE,
  sizeOfMessages,
  versionedMessages,
} from '../messages/queries'
import type { Scope } from '../scope'
import { timeEntriesOfTicket } from '../time-entries/queries'
import type { Ticket, TicketWithMessages } from './model'
import { fields, present, type TicketRow, withNames } from './row'

type RowWithMessage = Omit<TicketRow, 'id' | 'created_at'> &
  (MessageRow | { [field in keyof MessageRow]: null }) & {
    ticket_id: string
    ticket_created_at: string
    has_time: boolean
    /** Of all messages, in bytes, null without any. When it is too large, the row has no message. */
    size: number | null
  }

/** A ticket whose messages come in steps has a `version`, which changes whenever its lists do. */
type ShownTicket = { ticket: InSteps<TicketWithMessages>; version?: unknown }

/**
 * The single ticket, with its messages and time entries. One statement reads ticket and messages, because a statement
 * takes longer than reading a small ticket. The messages of a large ticket are read later, while the answer is sent.
 * @throws TICKET_NOT_FOUND
 */
export async function getTicket(scope: Scope, id: string): Promise<ShownTicket> {
  const { sql, organization_id } = scope
  const rows = await sql<RowWithMessage[]>`
    with ticket as materialized (
      select ${fields(sql)}, exists (
        select from time_entries e where e.organization_id = t.organization_id and e.ticket_id = t.id
      ) as has_time, ${sizeOfMessages(sql)} as size
      from tickets t
      ${withNames(sql)}
      where t.organization_id = ${organization_id} and t.id = ${id} and t.deleted_at is null
    )
    select t.id as ticket_id, t.code, t.subject, t.status, t.priority, t.contact_id, t.contact_name, t.contact_email,
      t.company_id, t.company_name, t.assignee_id, t.assignee_name, t.labels, t.created_at as ticket_created_at,
      t.updated_at, t.has_time, t.size, ${messageFields(sql)}
    from ticket t
    left join messages m on m.organization_id = ${organization_id} and m.ticket_id = t.id and t.size < ${STEP_SIZE}
    order by m.id`
  const [row] = rows
  if (!row) throw new ApiError('TICKET_NOT_FOUND')
  const ticket = present({ ...row, id: row.ticket_id, created_at: row.ticket_created_at })
  const time_entries = row.has_time ? await timeEntriesOfTicket(scope, id) : []
  if ((row.size ?? 0) < STEP_SIZE) {
    const messages = rows.flatMap((row) => (row.id === null ? [] : presentMessage(organization_id, row)))
    return { ticket: { ...ticket, messages, time_entries } }
  }
  const { version, messages } = await versionedMessages(scope, id)
  return { ticket: { ...ticket, messages, time_entries }, version: { messages: version, time_entries } }
}

/** The ticket as lists and events show it. @throws TICKET_NOT_FOUND */
export async function getTicketSummary({ sql, organization_id }: Scope, id: string): Promise<Ticket> {
  const [row] = await sql<TicketRow[]>`
    select ${fields(sql)} from tickets t
    ${withNames(sql)}
    where t.organization_id = ${organization_id} and t.id = ${id} and t.deleted_at is null`
  if (!row) throw new ApiError('TICKET_NOT_FOUND')
  return present(row)
}

/**
 * Locks the ticket until the transaction ends; logging time on it stays possible.
 * @returns the ticket as it is now. A second statement reads it, because a statement that waited for a lock reads the
 * other tables as they were before
 * @throws TICKET_NOT_FOUND
 */
export async function lockTicket(scope: Scope, id: string): Promise<Ticket> {
  const { sql, organization_id } = scope
  const locked = await sql`
    select from tickets where organization_id = ${organization_id} and id = ${id} and deleted_at is null
    for no key update`
  if (locked.length === 0) throw new ApiError('TICKET_NOT_FOUND')
  return getTicketSummary(scope, id)
}
