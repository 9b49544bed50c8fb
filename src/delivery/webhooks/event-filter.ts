/** Filters of webhooks: which events one wants beside their types, judged at the change. */
import { ApiError, ERRORS, type ErrorCode } from '../../base/errors'
import { type Scope, together } from '../../base/scope'
import { asIds } from '../../base/shapes/ids'
import type { WebhookFilter } from './model'

/** An event as it is published (`publish.ts`). */
export type JudgedEvent = { type: string; data: unknown; before?: { company_id: string | null } }

/** The fields of a ticket that a filter asks about. */
export type TicketState = {
  status: string
  priority: string
  company_id: string | null
  label_ids: string[]
  mailbox_id: string | null
  team_id: string | null
}

/** The fields of an event's data that are judged. Each is there in some types only. */
type Told = {
  id?: string
  ticket?: { id: string } | null
  status?: string
  priority?: string
  company?: { id: string } | null
  labels?: { id: string }[]
  mailbox?: { id: string | null } | null
  team?: { id: string } | null
  is_internal?: boolean
  direction?: 'inbound' | 'outbound' | null
  previous_status?: string
  changes?: { [field in 'status' | 'priority' | 'company' | 'labels' | 'mailbox' | 'team']?: { from: never } }
}

/** Events of one change, in their order. */
type Change = { events: JudgedEvent[] }

/** A webhook or a rule, as far as its filter is judged. */
type Judging = { events: readonly string[]; filter: WebhookFilter | null }

/** Tells whether an event of a change passes a filter. */
export type Judge = (change: Change, event: JudgedEvent, filter: WebhookFilter | null) => boolean

/** Lists of ids in a filter: the table that they are of, and the error of one that it has not. */
const NAMED = {
  company_ids: ['companies', 'COMPANY_NOT_FOUND'],
  label_ids: ['labels', 'LABEL_NOT_FOUND'],
  mailbox_ids: ['mailboxes', 'MAILBOX_NOT_FOUND'],
  team_ids: ['teams', 'TEAM_NOT_FOUND'],
} as const satisfies { [Field in IdField]: [table: string, code: ErrorCode] }

export type IdField = Extract<keyof WebhookFilter, `${string}_ids`>

/** The lists of ids that a filter has. */
function namedIn(filter: WebhookFilter): { field: IdField; given: string[] }[] {
  return (Object.keys(NAMED) as IdField[]).flatMap((field) => {
    const given = filter[field]
    return given ? { field, given } : []
  })
}

/** Checks that the ids of a filter are the organization's. @throws the code of the first that is not */
export async function requireKnown(scope: Scope, filter: WebhookFilter): Promise<void> {
  const named = namedIn(filter)
  const known = await together(named.map(({ field, given }) => findKnown(scope, NAMED[field][0], asIds(given))))
  const refused = named.flatMap(({ field, given }, at) => {
    const ids = given.filter((id) => !known[at]!.has(id.toLowerCase()))
    return ids.length > 0 ? { code: NAMED[field][1], path: `/filter/${field}`, ids } : []
  })
  const [first] = refused
  if (!first) return
  const errors = refused.map(({ code, path }) => ({ path, message: ERRORS[code][1] }))
  throw new ApiError(first.code, { ids: first.ids, errors }, 422)
}

async function findKnown({ sql, organization_id }: Scope, table: string, ids: string[]): Promise<Set<string>> {
  const rows = await sql<{ id: string }[]>`
    select id from ${sql(table)} where organization_id = ${organization_id} and id = any(${ids}::uuid[])`
  return new Set(rows.map(({ id }) => id))
}

/** A filter as it is stored: ids in lower case, each once. */
export function storedFilter(filter: WebhookFilter | null): string | null {
  if (filter === null) return null
  const ids = namedIn(filter).map(({ field, given }) => [field, asIds(given)] as const)
  return JSON.stringify({ ...filter, ...Object.fromEntries(ids) })
}

/**
 * Prepares to judge changes that the caller's transaction has made. Tickets are read only for subscribers with a
 * filter.
 */
export async function judgeOf(
  scope: Scope,
  changes: (Change & { audience: { webhooks: Judging[]; rules: Judging[] } })[],
): Promise<Judge> {
  const ids = changes.flatMap(({ events, audience }) => {
    const filtered = [...audience.webhooks, ...audience.rules].filter(({ filter }) => filter !== null)
    const judged = events.filter(({ type }) => filtered.some((one) => one.events.includes(type)))
    return judged.flatMap((event) => ticketOf(event) ?? [])
  })
  const stored = ids.length > 0 ? await readStates(scope, asIds(ids)) : new Map<string, TicketState>()
  return (change, event, filter) => filter === null || passes(change, event, filter, stored)
}

async function readStates({ sql, organization_id }: Scope, ids: string[]): Promise<Map<string, TicketState>> {
  const rows = await sql<(TicketState & { id: string })[]>`
    select t.id, t.status, t.priority, t.company_id, t.mailbox_id, t.team_id, array(
      select l.label_id from ticket_labels l where l.organization_id = ${organization_id} and l.ticket_id = t.id
    ) as label_ids
    from tickets t where t.organization_id = ${organization_id} and t.id = any(${ids}::uuid[])`
  return new Map(rows.map(({ id, ...state }) => [id, state]))
}

/** All that a filter says must hold. What it says of other things than the event is about is not asked. */
function passes(change: Change, event: JudgedEvent, filter: WebhookFilter, stored: Map<string, TicketState>): boolean {
  const [subject] = event.type.split('.')
  const data = event.data as Told
  if (subject === 'message' && filter.is_internal !== undefined && filter.is_internal !== (data.is_internal ?? false)) {
    return false
  }
  if (subject === 'message' && filter.direction !== undefined && filter.direction !== data.direction) return false
  const ticket_id = ticketOf(event)
  if (ticket_id !== undefined) {
    return statesOf(change, ticket_id, stored.get(ticket_id)).some((state) => holds(state, filter))
  }
  const { company_ids, mailbox_ids } = filter
  if (subject === 'contact') return isAnyOf([data.company?.id, event.before?.company_id], company_ids)
  if (subject === 'company') return isAnyOf([data.id], company_ids)
  if (subject === 'inbound_message') return isAnyOf([data.mailbox?.id], mailbox_ids)
  return true
}

/** The ticket that an event is judged by; undefined for an event about something else. */
export function ticketOf({ type, data }: JudgedEvent): string | undefined {
  const [subject] = type.split('.')
  const { id, ticket } = data as Told
  if (subject === 'ticket') return id
  return subject === 'message' || subject === 'time_entry' ? (ticket?.id ?? '') : undefined
}

/**
 * The states of a ticket before and after a change, as its events tell of them. What they do not tell is as it is
 * stored.
 */
function statesOf({ events }: Change, id: string, stored: TicketState | undefined): TicketState[] {
  const told = events
    .filter(({ type, data }) => type.startsWith('ticket.') && (data as Told).id === id && 'status' in (data as Told))
    .map(({ data }) => data as Told)
  if (!stored && told.length === 0) return []
  const after = Object.assign({}, stored, ...told.map(stateIn))
  const before = Object.assign({}, after, ...told.map(formerIn))
  return [before, after]
}

function stateIn({ status, priority, company, labels, mailbox, team }: Told): Partial<TicketState> {
  return {
    ...(status !== undefined && { status }),
    ...(priority !== undefined && { priority }),
    ...(company !== undefined && { company_id: company?.id ?? null }),
    ...(labels !== undefined && { label_ids: labels.map(({ id }) => id) }),
    ...(mailbox !== undefined && { mailbox_id: mailbox?.id ?? null }),
    ...(team !== undefined && { team_id: team?.id ?? null }),
  }
}

function formerIn({ previous_status, changes = {} }: Told): Partial<TicketState> {
  const former = Object.fromEntries(Object.entries(changes).map(([field, { from }]) => [field, from]))
  return stateIn({ ...(previous_status !== undefined && { status: previous_status }), ...former })
}

/** Tells whether a ticket is one that a filter chooses. */
export function holds(state: TicketState, filter: WebhookFilter): boolean {
  const { status, priority, company_ids, label_ids, mailbox_ids, team_ids } = filter
  return (
    isAnyOf([state.status], status) &&
    isAnyOf([state.priority], priority) &&
    isAnyOf([state.company_id], company_ids) &&
    isAnyOf(state.label_ids, label_ids) &&
    isAnyOf([state.mailbox_id], mailbox_ids) &&
    isAnyOf([state.team_id], team_ids)
  )
}

function isAnyOf(values: (string | null | undefined)[], wanted: readonly string[] | undefined): boolean {
  return wanted === undefined || values.some((value) => value != null && wanted.includes(value))
}
