/**
 * Makes of a list of tickets and of an open ticket what they are after an event, which has the ticket or the message as
 * it is now. So nothing is read again because of a change. An act tells its answer in the same way (`learn`).
 */
import type { MessageOfTicket } from '../../../desk/messages/model'
import type { Included as Opened } from '../../../desk/opening/model'
import type { Ticket, TicketListMeta, TicketWithMessages } from '../../../desk/tickets/model'
import type { Told } from '../events'
import type { Rows } from '../lists'
import { asNew, turnAfter, withDrafts } from './last-message'
import { compare, isCountKept } from './list-order'

type Filter = Record<string, string>
type Me = { id: string; email: string }
export type Tickets = Rows<Ticket, TicketListMeta & { next_cursor: string | null }>

/** The values of a ticket that each reader sees alike: events know no others. */
function ofAll<T extends Pick<Ticket, 'unread' | 'read_to' | 'draft_count'>>(ticket: T) {
  const { unread, read_to, draft_count, ...others } = ticket
  return others
}

/** The list that a row may enter: its conditions, its order, and who asks. */
type Asked = { filter: Filter; sort: string; me: Me }

/** Events with the whole ticket as it is now. */
const WHOLE = ['created', 'updated', 'assigned', 'status_changed', 'rated', 'sla_due_soon', 'sla_breached'].map(
  (what) => `ticket.${what}`,
)

type Test = (ticket: Ticket, value: string, me_id: string) => boolean | undefined

const TESTS: Record<string, Test> = {
  status: ({ status }, value) => value.split(',').includes(status),
  priority: ({ priority }, value) => value.split(',').includes(priority),
  assignee_id: ({ assignee }, value, me_id) => (assignee?.id ?? 'none') === (value === 'me' ? me_id : value),
  contact_id: ({ contact }, value) => contact?.id === value,
  company_id: ({ company }, value) => company?.id === value,
  label_ids: ({ labels }, value) => labels.some(({ id }) => value.split(',').includes(id)),
  team_id: ({ team }, value) => (team?.id ?? 'none') === value,
  mailbox_id: ({ mailbox }, value) => mailbox?.id === value,
  waiting: ({ waiting_since }, value) => String(waiting_since !== null) === value,
  rating: ({ rating }, value) => rating?.score === value,
  // The service alone knows what is due soon.
  sla: ({ sla }, value) => (value === 'breached' || sla === null ? sla?.breached === true : undefined),
  snoozed: ({ snoozed_until }, value) => String(snoozed_until !== null) === value,
  // Events do not know these.
  unread: ({ unread }, value) => (typeof unread === 'boolean' ? String(unread) === value : undefined),
  has_draft: ({ draft_count: count }, value) => (typeof count === 'number' ? String(count > 0) === value : undefined),
}

/** The filters of the list that an address may have. */
export const FILTERED = Object.keys(TESTS)

/** Tells if a ticket is one of a list. @returns undefined when the service alone knows */
function fits(ticket: Ticket, { filter, me }: Pick<Asked, 'filter' | 'me'>): boolean | undefined {
  const told = Object.entries(filter).flatMap(([name, value]) => (value ? [TESTS[name]?.(ticket, value, me.id)] : []))
  if (told.includes(false)) return false
  return told.includes(undefined) ? undefined : true
}

/** Puts a first page that was read again before the rows that follow it. */
export function joined(before: Tickets, first: Tickets, sort: string): Tickets {
  const last = first.rows.at(-1)
  if (!first.cursor || !last) return first
  const known = new Set(first.rows.map(({ id }) => id))
  const later = before.rows.filter((row) => !known.has(row.id) && compare(row, last, sort) > 0)
  return later.length > 0 ? { ...first, rows: [...first.rows, ...later], cursor: before.cursor } : first
}

/** The list after an event. @returns true when it has to be read again, false when it stays */
export function listAfter(told: Told, list: Tickets | undefined, asked: Asked): Tickets | boolean {
  if (!list) return false
  // Another page of the person tells of its mark.
  if (told.type === 'read') return !told.is_own && list.rows.some(({ id }) => id === told.ticket_id)
  if (told.type === 'draft') return withDraftsOf(told, list, asked)
  if (!told.data) return false
  const after = changedList(told, list, asked)
  // The event that follows an act of this page is counted.
  return told.is_own && typeof after === 'object' && isCountKept(asked.filter) ? { ...after, meta: list.meta } : after
}

/** The list once a draft of somebody was begun, changed or removed. */
function withDraftsOf({ ticket_id, draft_count }: Told, list: Tickets, asked: Asked): Tickets | boolean {
  if (draft_count === undefined) return false
  const row = list.rows.find(({ id }) => id === ticket_id)
  if (row) return placed(list, row, { ...row, draft_count }, asked)
  return asked.filter.has_draft === 'true' && draft_count > 0
}

function changedList(told: Told, list: Tickets, asked: Asked): Tickets | boolean {
  const { type, data, ids } = told
  if (type === 'ticket.read') {
    return mapped(list, (row) =>
      row.id === data.id && row.unread !== data.unread ? { ...row, unread: data.unread } : row,
    )
  }
  if (type === 'drafts') return mapped(list, (row) => (row.id === data.id ? withDrafts(row, data.step) : row))
  const row = list.rows.find(({ id }) => ids.includes(id))
  if (WHOLE.includes(type)) return row ? withRow(list, row, data, asked) : withOther(list, told, asked)
  if (type === 'ticket.deleted') {
    const meta = totalAfter(told, list.meta, asked) || list.meta
    return row ? without(list, row) : { ...list, meta }
  }
  if (type.startsWith('ticket.')) return !told.is_own
  if (type.startsWith('message.email_')) return false
  if (type.startsWith('message.'))
    return row && type === 'message.created' ? placed(list, row, withMessage(row, data, asked.me), asked) : !told.is_own
  return withNames(list, told)
}

function withRow(list: Tickets, row: Ticket, data: Whole, asked: Asked): Tickets | boolean {
  const now = ticketIn(data)
  return now.updated_at >= row.updated_at && placed(list, row, { ...row, ...now }, asked)
}

/** A ticket that is not among the rows may come to them, or to those that are not shown yet. */
function withOther(list: Tickets, told: Told, asked: Asked): Tickets | boolean {
  const is = fits(told.data, asked)
  if (is === undefined) return true
  const meta = totalAfter(told, list.meta, asked)
  const next = meta ? { ...list, meta } : list
  if (!is || !meta) return next
  const now = ticketIn(told.data)
  return inserted(next, told.type === 'ticket.created' ? asNew(now, asked.me) : now, asked)
}

/** The total of a list after an event. @returns false when it stays, or nobody can tell */
export function totalAfter<M extends TicketListMeta>(
  { type, data, is_own }: Told,
  meta: M,
  asked: Pick<Asked, 'filter' | 'me'>,
): M | false {
  if (is_own || !/^ticket\.(created|updated|deleted)$/.test(type)) return false
  const { changes } = data as Whole
  const now = ticketIn(data)
  const was = type !== 'ticket.created' && fits({ ...now, ...beforeOf(changes ?? {}) }, asked)
  const is = type !== 'ticket.deleted' && fits(now, asked)
  return counted(meta, Number(is ?? 0) - Number(was ?? 0))
}

type Whole = Ticket & { changes?: Record<string, { from: unknown }>; previous_status?: string }

/** The ticket of an event, without what the event adds or does not know. */
function ticketIn({ changes, previous_status, ...ticket }: Whole): Ticket {
  return ofAll(ticket) as Ticket
}

function beforeOf(changes: NonNullable<Whole['changes']>): Partial<Ticket> {
  return Object.fromEntries(Object.entries(changes).map(([name, { from }]) => [name, from]))
}

function counted<M extends TicketListMeta>(meta: M, step: number): M {
  return step === 0 || meta.total === undefined ? meta : { ...meta, total: Math.max(0, meta.total + step) }
}

function without(list: Tickets, row: Ticket): Tickets {
  return { ...list, rows: list.rows.filter((one) => one !== row), meta: counted(list.meta, -1) }
}

/** Puts a row where it belongs now. */
function placed(list: Tickets, row: Ticket, now: Ticket, asked: Asked): Tickets | boolean {
  if (hasAll(row, now)) return false
  const is = fits(now, asked)
  if (is !== true) return is === undefined || without(list, row)
  const at = list.rows.indexOf(row)
  const [above, below] = [list.rows[at - 1], list.rows[at + 1]]
  const stays = (!above || compare(above, now, asked.sort) < 0) && (!below || compare(now, below, asked.sort) < 0)
  if (stays) return { ...list, rows: list.rows.with(at, now) }
  return inserted({ ...list, rows: list.rows.toSpliced(at, 1) }, now, asked)
}

function inserted(list: Tickets, ticket: Ticket, { sort }: Asked): Tickets {
  const at = list.rows.findIndex((row) => compare(ticket, row, sort) < 0)
  if (at >= 0) return { ...list, rows: list.rows.toSpliced(at, 0, ticket) }
  // Behind the last row stand others that are not shown yet.
  return list.cursor ? list : { ...list, rows: [...list.rows, ticket] }
}

/** A row with a message that was written on its ticket. Somebody else's is unread as the service has it. */
function withMessage(row: Ticket, message: MessageOfTicket, { id, email }: Me): Ticket {
  const is_own = message.sender.email === email
  const is_mine = !row.assignee || row.assignee.id === id
  const unread = row.unread || (!is_own && (is_mine || !!row.read_to))
  return { ...row, ...turnAfter(row, message, is_own), updated_at: later(row.updated_at, message.created_at), unread }
}

function later(one: string, other: string): string {
  return one < other ? other : one
}

/** Changed names of what the rows show. */
function withNames(list: Tickets, told: Told): Tickets | boolean {
  return mapped(list, (row) => named(row, told))
}

function mapped(list: Tickets, change: (row: Ticket) => Ticket): Tickets | false {
  const rows = list.rows.map(change)
  return rows.some((row, at) => row !== list.rows[at]) ? { ...list, rows } : false
}

function named<T extends Ticket>(ticket: T, { type, data }: Told): T {
  const [kind, what] = type.split('.') as [string, string]
  const gone = what === 'deleted'
  if (kind === 'label' && ticket.labels.some(({ id }) => id === data.id)) {
    const labels = ticket.labels.flatMap((one) =>
      one.id !== data.id ? [one] : gone ? [] : [{ ...one, ...pick(one, data) }],
    )
    return { ...ticket, labels }
  }
  const now = kind === 'contact' ? ticket.contact : kind === 'company' ? ticket.company : null
  return now && now.id === data.id ? { ...ticket, [kind]: gone ? null : { ...now, ...pick(now, data) } } : ticket
}

/** The values of another object for the keys of this one. */
function pick<T extends object>(one: T, other: T): T {
  return Object.fromEntries(Object.keys(one).map((key) => [key, other[key as keyof T]])) as T
}

/** Tells if an object has all values of another one. */
function hasAll(one: object, other: object): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify({ ...one, ...other })
}

/**
 * The ticket that is open.
 * @param etag its tag: a change that was made on an older state is refused. Null: an event has told of it since
 * @param turns how far the texts of the composer were when the drafts were asked for
 */
export type Shown = { ticket: TicketWithMessages; etag: string | null; included: Included; turns: number[] }

export type Included = Omit<Opened, 'activity' | 'company'>

/** Events that move what belongs to a ticket. */
const MOVING = ['ticket.merged', 'ticket.unmerged', 'ticket.split', 'ticket.erased', 'message.erased']

/** The open ticket after an event. @returns true when it has to be read again, false when it stays */
export function shownAfter(told: Told, shown: Shown | undefined, me: Me): Shown | boolean {
  if (!shown) return false
  const { ticket } = shown
  const { type, data, ids, etag } = told
  // The tag is of what a change sets: neither of messages nor of marks.
  const put = (next: TicketWithMessages) => next !== ticket && { ...shown, ticket: next }
  if (type === 'viewing' && told.ticket_id === ticket.id && told.users) {
    const viewing = told.users.filter(({ user }) => user.id !== me.id)
    return { ...shown, included: { ...shown.included, viewing } }
  }
  if (!data) return false
  if (type === 'ticket.read') return data.id === ticket.id && put({ ...ticket, unread: data.unread })
  if (type === 'drafts') return false
  if (!ids.includes(ticket.id)) return besideAfter(told, shown)
  if (WHOLE.includes(type)) {
    const now = ticketIn(data)
    if (now.updated_at < ticket.updated_at) return false
    if (hasAll(ticket, now)) return etag ? { ...shown, etag } : false
    return { ...shown, ticket: { ...ticket, ...now }, etag: etag ?? null }
  }
  if (type.startsWith('message.') && !MOVING.includes(type)) return put(withMessages(ticket, type, data, me))
  return type !== 'ticket.deleted'
}

/** Changes others that are shown beside the ticket. */
function besideAfter(told: Told, shown: Shown): Shown | boolean {
  const { type, data } = told
  const { included } = shown
  const ticket = named(shown.ticket, told)
  let { contact, other_tickets } = included
  if (type === 'contact.updated' && contact?.id === data.id) contact = { ...contact, ...pick(contact, data) }
  if (WHOLE.includes(type)) {
    const now = ticketIn(data)
    other_tickets = other_tickets.map((one) => (one.id === now.id ? now : one))
    if (type === 'ticket.created' && contact && now.contact?.id === contact.id) {
      other_tickets = [now, ...other_tickets.filter(({ id }) => id !== now.id)]
    }
  }
  const next = { ...included, contact, other_tickets }
  if (ticket === shown.ticket && hasAll(included, next)) return false
  return { ...shown, ticket, included: next, etag: ticket === shown.ticket ? shown.etag : null }
}

function withMessages(ticket: TicketWithMessages, type: string, data: MessageOfTicket, me: Me): TicketWithMessages {
  const { ticket: _, ...message } = data
  const { messages } = ticket
  const at = messages.findIndex(({ id }) => id === message.id)
  if (type === 'message.deleted') return at < 0 ? ticket : { ...ticket, messages: messages.toSpliced(at, 1) }
  if (type !== 'message.created') return at < 0 ? ticket : { ...ticket, messages: messages.with(at, message) }
  if (at >= 0) return ticket
  const unread = ticket.unread || message.sender.email !== me.email
  return {
    ...ticket,
    updated_at: later(ticket.updated_at, message.created_at),
    unread,
    messages: [...messages, message],
  }
}
