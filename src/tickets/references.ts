/** Looks up the contact, assignee and labels that a request names. Unknown ids are refused here, all of them at once. */
import { ApiError, ERRORS, type ErrorCode, type Fault } from '../errors'
import type { Scope } from '../scope'
import { asIds } from '../shapes/ids'
import { type Subscriber, subscribersIn } from '../webhooks/publish'
import type { NewTicket, Ticket, TicketChanges } from './model'
import { isAllowed, TRANSITIONS } from './status'

type Label = Ticket['labels'][number]

/** The rows that the fields of a new ticket name, and what it needs of its organization. */
export type NewTicketReferences = {
  organization_number: number
  /** Of the ticket's code. */
  prefix: string
  contact: { id: string; name: string; email: string }
  assignee_id: string | null
  labels: Label[]
  /** Of the organization, for the events of the new ticket. */
  subscribers: Subscriber[]
}

/** Reads the references of a new ticket in one statement. @throws CONTACT_NOT_FOUND, USER_NOT_FOUND, LABEL_NOT_FOUND */
export async function findReferences(
  scope: Scope,
  { contact_id, assignee_id, label_ids }: NewTicket,
): Promise<NewTicketReferences> {
  type Found = Omit<NewTicketReferences, 'contact'> & { contact: NewTicketReferences['contact'] | null }
  const { sql, organization_id } = scope
  const [found] = await sql<Found[]>`
    select o.number as organization_number, coalesce(co.ticket_prefix, o.ticket_prefix) as prefix,
      case when c.id is not null then json_build_object('id', c.id, 'name', c.name, 'email', c.email) end as contact,
      m.user_id as assignee_id, ${labelsIn(scope, label_ids)} as labels,
      ${subscribersIn(scope)} as subscribers
    from organizations o
    left join contacts c on c.organization_id = o.id and c.id = ${asId(contact_id)}
    left join companies co on co.organization_id = o.id and co.id = c.company_id
    left join memberships m on m.organization_id = o.id and m.user_id = ${asId(assignee_id)}
      and m.active and m.removed_at is null
    where o.id = ${organization_id}`
  const { contact, labels, ...rest } = found!
  refuse([
    !contact && unknown('CONTACT_NOT_FOUND', '/contact_id', [contact_id]),
    assignee_id !== undefined && !rest.assignee_id && unknown('USER_NOT_FOUND', '/assignee_id', [assignee_id]),
    unknownLabels(label_ids, labels),
  ])
  return { ...rest, contact: contact!, labels }
}

/** A change of a ticket: the fields of a PATCH, and labels one by one. */
export type TicketUpdate = TicketChanges & { add_label_ids?: string[]; remove_label_ids?: string[] }

/**
 * The fields of the ticket that an update sets, as the response shows them.
 * @throws INVALID_STATUS, USER_NOT_FOUND, LABEL_NOT_FOUND
 */
export async function resolveUpdate(
  scope: Scope,
  before: Ticket,
  { assignee_id, label_ids, add_label_ids, remove_label_ids, ...plain }: TicketUpdate,
): Promise<Partial<Ticket>> {
  const named = label_ids ?? add_label_ids ?? remove_label_ids
  const kept = add_label_ids ? before.labels.map(({ id }) => id) : []
  const { assignee, labels } = await findNamed(scope, assignee_id, [...kept, ...(named ?? [])])
  refuse([
    plain.status !== undefined && !isAllowed(before.status, plain.status) && forbidden(before.status, plain.status),
    typeof assignee_id === 'string' && !assignee && unknown('USER_NOT_FOUND', '/assignee_id', [assignee_id]),
    unknownLabels(named, labels),
  ])
  const others = before.labels.filter(({ id }) => !labels.some((label) => label.id === id))
  return {
    ...plain,
    ...(assignee_id !== undefined && { assignee }),
    ...(named && { labels: remove_label_ids ? others : labels }),
  }
}

async function findNamed(scope: Scope, assignee_id: string | null | undefined, label_ids: string[]) {
  if (!assignee_id && label_ids.length === 0) return { assignee: null, labels: [] }
  const { sql, organization_id } = scope
  const [found] = await sql<{ assignee: Ticket['assignee']; labels: Label[] }[]>`
    select ${labelsIn(scope, label_ids)} as labels, (
      select json_build_object('id', u.id, 'name', u.name)
      from memberships m join users u on u.id = m.user_id
      where m.organization_id = ${organization_id} and m.user_id = ${asId(assignee_id)}
        and m.active and m.removed_at is null
    ) as assignee`
  return found!
}

/** SQL for the labels with these ids, in the order of the response. */
function labelsIn({ sql, organization_id }: Scope, ids: string[] = []) {
  return sql`(
    select coalesce(json_agg(json_build_object('id', id, 'name', name, 'color', color) order by lower(name), id), '[]')
    from labels where organization_id = ${organization_id} and id = any(${asIds(ids)}::uuid[])
  )`
}

function asId(id: string | null | undefined): string | null {
  return asIds(id ? [id] : [])[0] ?? null
}

/** A field that cannot be taken; `more` goes into the details of the error. */
type RefusedField = { code: ErrorCode; fault: Fault; more: Record<string, unknown> }

/** Refuses the request if a check failed. @throws the code and details of the first refused field, with all faults */
function refuse(checks: (RefusedField | false)[]): void {
  const refused = checks.filter((check) => check !== false)
  if (!refused[0]) return
  const { code, more } = refused[0]
  throw new ApiError(code, { ...more, errors: refused.map(({ fault }) => fault) }, 422)
}

function unknown(code: ErrorCode, path: string, ids: string[]): RefusedField {
  return { code, fault: { path, message: ERRORS[code][1] }, more: { ids } }
}

function unknownLabels(named: string[] = [], labels: Label[]): RefusedField | false {
  const ids = [...new Set(named)].filter((id) => !labels.some((label) => label.id === id.toLowerCase()))
  return ids.length > 0 && unknown('LABEL_NOT_FOUND', '/label_ids', ids)
}

function forbidden(from: Ticket['status'], to: Ticket['status']): RefusedField {
  const allowed = TRANSITIONS[from]
  const message = `A ${from} ticket can become ${allowed.join(' or ')} only`
  return { code: 'INVALID_STATUS', fault: { path: '/status', message }, more: { from, to, allowed } }
}
