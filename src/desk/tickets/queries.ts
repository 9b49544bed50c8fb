import { withChangeTime } from '../../base/db/change-time'
import { toInstant } from '../../base/db/columns'
import { hasFewRows } from '../../base/db/few-rows'
import { ApiError } from '../../base/errors'
import { gathered } from '../../base/flow/gather'
import { type Scope, together } from '../../base/scope'
import { permits } from '../../http/request/permissions'
import type { InSteps } from '../../http/request/steps'
import { STEP_SIZE, sizeOfMessages, versionedMessages } from '../messages/list-messages'
import { type MessageRow, messageFields, presentMessage } from '../messages/queries'
import { readerId } from '../read-marks/unread'
import type { TicketTimeEntry } from '../time-entries/model'
import { FEW_ENTRIES, fewEntriesOfTicket, timeEntriesOfTicket } from '../time-entries/queries'
import { requireUnmerged } from '../timeline/require-ticket'
import type { Ticket, TicketWithMessages } from './model'
import { fields, present, type TicketRow, withNames } from './row'

type RowWithMessages = TicketRow & {
  /** The first ones: more than `FEW_ENTRIES` are not all. */
  time_entries: TicketTimeEntry[] | null
  /** The size of all messages, in bytes, null without any. When it is too large, the row has no messages. */
  size: number | null
  messages: MessageRow[] | null
}

/** A ticket whose messages come in steps has a `version`, which changes whenever its lists do. */
type ShownTicket = { ticket: Ticket & InSteps<Omit<TicketWithMessages, keyof Ticket>>; version?: unknown }

/**
 * In bytes. Messages of a larger ticket are read by a statement for it alone, so that no other ticket waits for them.
 */
const SHARED_SIZE = 50_000

/**
 * The single ticket, with its messages and time entries. The messages of a large ticket are read later, while the
 * answer is sent.
 * @throws TICKET_NOT_FOUND
 */
export async function getTicket(scope: Scope, id: string): Promise<ShownTicket> {
  const key = { scope, id }
  let row = scope.after_commit ? await readAlone(scope, id) : await readTogether(key)
  const size = row?.size ?? 0
  if (size >= SHARED_SIZE && size < STEP_SIZE) row = await readAlone(scope, id)
  if (!row) throw new ApiError('TICKET_NOT_FOUND')
  const ticket = present(row)
  const few = row.time_entries?.map(withInstant) ?? []
  const time_entries = few.length > FEW_ENTRIES ? await timeEntriesOfTicket(scope, id) : few
  if ((row.size ?? 0) < STEP_SIZE) {
    const messages = (row.messages ?? []).map((row) => presentMessage(scope.organization_id, withInstant(row)))
    return { ticket: { ...ticket, messages, time_entries } }
  }
  const { version, messages } = await versionedMessages(scope, id)
  return { ticket: { ...ticket, messages, time_entries }, version: { messages: version, time_entries } }
}

/** In JSON the database writes a time in its own form. */
function withInstant<Row extends { created_at: string }>(row: Row): Row {
  return { ...row, created_at: toInstant(row.created_at) }
}

type TicketKey = { scope: Scope; id: string }

/**
 * Requests that come at the same time share a statement of their organization. With 16 clients a ticket took 0.22 ms of
 * CPU in the service and 0.29 in PostgreSQL without this, and 0.14 and 0.12 with it.
 */
const readTogether = gathered((keys: TicketKey[]) => readRows(keys, SHARED_SIZE), {
  key: ({ scope }) => scope.organization_id,
  most_runs: 4,
  patience_ms: 10,
})

async function readAlone(scope: Scope, id: string): Promise<RowWithMessages | undefined> {
  const [row] = await readRows([{ scope, id }], STEP_SIZE)
  return row
}

/**
 * Reads tickets of an organization with their messages, each as its own caller may see it. One statement reads both,
 * because a statement takes longer than reading a small ticket. The messages of a ticket are one JSON text: the driver
 * took longer to read 45 columns of each.
 * @param most_bytes of messages; a ticket with more comes without them
 * @returns the row of each ticket, none for an unknown one
 */
async function readRows(keys: TicketKey[], most_bytes: number): Promise<(RowWithMessages | undefined)[]> {
  const { scope } = keys[0]!
  const { sql, organization_id } = scope
  const given = keys.map(({ scope, id }, place) => ({
    place,
    id,
    reader_id: readerId(scope),
    reads_drafts: permits(scope, 'drafts:read'),
  }))
  const reader = { id: sql`g.reader_id`, reads_drafts: sql`g.reads_drafts` }
  const rows = await sql<(RowWithMessages & { place: number })[]>`
    select g.place, ${fields(scope, reader)}, ${fewEntriesOfTicket(scope)} as time_entries, s.size, (
      select json_agg(m order by m.id) from (
        select ${messageFields(scope)} from messages m
        where m.organization_id = ${organization_id} and m.ticket_id = t.id and s.size < ${most_bytes}
      ) as m
    ) as messages
    from json_to_recordset(${JSON.stringify(given)}::text::json) as g (
      place integer, id uuid, reader_id uuid, reads_drafts boolean
    )
    join tickets t on t.organization_id = ${organization_id} and t.id = g.id and t.deleted_at is null
    ${withNames(scope, reader)}
    cross join lateral (select ${sizeOfMessages(scope)} as size offset 0) as s
    where ${hasFewRows(sql)}`
  const found = new Map(rows.map((row) => [row.place, row]))
  return keys.map((_, place) => found.get(place))
}

/** The ticket as lists and events show it. @throws TICKET_NOT_FOUND */
export async function getTicketSummary(scope: Scope, id: string): Promise<Ticket> {
  const { sql, organization_id } = scope
  const [row] = await sql<TicketRow[]>`
    select ${fields(scope)} from tickets t
    ${withNames(scope)}
    where t.organization_id = ${organization_id} and t.id = ${id} and t.deleted_at is null`
  if (!row) throw new ApiError('TICKET_NOT_FOUND')
  return present(row)
}

/** The newest tickets of a contact but one, as lists show them. */
export async function otherTickets(
  scope: Scope,
  contact_id: string,
  { id, most }: { id: string; most: number },
): Promise<Ticket[]> {
  const { sql, organization_id } = scope
  const rows = await sql<TicketRow[]>`
    select ${fields(scope)} from tickets t
    ${withNames(scope)}
    where t.organization_id = ${organization_id} and t.contact_id = ${contact_id} and t.id <> ${id}
      and t.deleted_at is null
    order by t.id desc limit ${most}`
  return rows.map(present)
}

/**
 * Locks the ticket until the transaction ends. Logging time on it waits, too: a new entry reads the ticket's company. A
 * second statement reads the ticket, because one that waited for a lock reads the other tables as they were before.
 * @returns the ticket as it is now, and the time of changes that are made under the lock
 * @throws TICKET_NOT_FOUND, TICKET_MERGED
 */
export async function lockTicket(scope: Scope, id: string): Promise<{ ticket: Ticket; locked_at: string }> {
  const { sql, organization_id } = scope
  const [[locked, locked_at], ticket] = await together([
    withChangeTime(
      sql,
      sql`
        select from tickets where organization_id = ${organization_id} and id = ${id} and deleted_at is null
        for no key update`,
    ),
    getTicketSummary(scope, id),
  ])
  if (locked.length === 0) throw new ApiError('TICKET_NOT_FOUND')
  requireUnmerged(ticket)
  return { ticket, locked_at }
}
