/**
 * Looks up the contact, assignee, mailbox and labels that a request names. Unknown ids are refused here, all of them
 * at once.
 */
import { ZERO_ID } from '../../base/db/columns'
import { hasFewRows } from '../../base/db/few-rows'
import type { Fragment, Sql } from '../../base/db/transact'
import { ApiError, ERRORS, type ErrorCode, type Fault } from '../../base/errors'
import type { Scope } from '../../base/scope'
import { asIds } from '../../base/shapes/ids'
import { type Subscriber, subscribersOf } from '../../delivery/webhooks/publish'
import { changedCustom } from '../custom/values'
import type { NewTicket, Ticket, TicketChanges } from './model'
import { parentOf, type TicketNames } from './row'
import { snoozed, snoozeFault } from './snooze'
import { isAllowed, TRANSITIONS } from './status'

type Label = Ticket['labels'][number]

/** The rows that the fields of a new ticket name, and what it needs of its organization. */
export type NewTicketReferences = {
  organization_number: number
  /** Prefix of the ticket's code. */
  prefix: string
  contact: { id: string; name: string; email: string }
  /** Company of the contact. */
  company: Ticket['company']
  assignee: Ticket['assignee']
  mailbox: Ticket['mailbox']
  labels: Label[]
  parent: Ticket['parent']
  /** Receivers of the events of the new ticket. */
  subscribers: Subscriber[]
}

/**
 * Finds the references of new tickets of the organization, in one statement.
 * @returns those of each; for one that is refused, its CONTACT_NOT_FOUND, USER_NOT_FOUND or LABEL_NOT_FOUND
 */
export async function findReferences(
  { sql, organization_id }: Pick<Scope, 'sql' | 'organization_id'>,
  tickets: NewTicket[],
): Promise<(NewTicketReferences | ApiError)[]> {
  const rows = tickets.map(({ contact_id, assignee_id, mailbox_id, parent_id, label_ids = [] }, place) => {
    const ids = { contact_id: asId(contact_id), assignee_id: asId(assignee_id), mailbox_id: asId(mailbox_id) }
    return { place, ...ids, parent_id: asId(parent_id), label_ids: asIds(label_ids) }
  })
  const found = await sql<Found[]>`
    select o.number as organization_number, coalesce(co.ticket_prefix, o.ticket_prefix) as prefix,
      c.id as contact_id, c.name as contact_name, c.email as contact_email, co.id as company_id, co.name as company_name,
      u.id as assignee_id, u.name as assignee_name,
      mb.id as mailbox_id, mb.address as mailbox_address, mb.name as mailbox_name,
      ${labelsOf(sql, organization_id, sql`g.label_ids`)} as labels,
      ${parentOf(sql, organization_id, sql`g.parent_id`, sql`${ZERO_ID}`)} as parent,
      ${subscribersOf(sql, sql`${organization_id}`)} as subscribers
    from json_to_recordset(${JSON.stringify(rows)}::text::json)
      as g (place integer, contact_id uuid, assignee_id uuid, mailbox_id uuid, parent_id uuid, label_ids uuid[])
    join organizations o on o.id = ${organization_id}
    left join contacts c on c.organization_id = ${organization_id} and c.id = g.contact_id
    left join companies co on co.organization_id = ${organization_id} and co.id = c.company_id
    left join memberships m on m.organization_id = ${organization_id} and m.user_id = g.assignee_id
      and m.active and m.removed_at is null
    left join users u on u.id = m.user_id
    left join mailboxes mb on mb.organization_id = ${organization_id} and mb.id = g.mailbox_id
    where ${hasFewRows(sql)}
    order by g.place`
  return tickets.map((ticket, place) => checked(ticket, found[place]!))
}

type Found = Pick<NewTicketReferences, 'organization_number' | 'prefix' | 'subscribers' | 'parent'> & TicketNames

function checked(
  { contact_id, assignee_id, mailbox_id, label_ids, parent_id }: NewTicket,
  { contact_id: contact, company_id: company, assignee_id: assignee, mailbox_id: mailbox, labels, ...rest }: Found,
): NewTicketReferences | ApiError {
  const refusal = refusalOf([
    !contact && unknown('CONTACT_NOT_FOUND', '/contact_id', [contact_id]),
    unknownUser(assignee_id, assignee),
    unknownMailbox(mailbox_id, mailbox),
    unknownLabels(label_ids, labels),
    unknownParent(parent_id, rest.parent),
  ])
  if (refusal) return refusal
  return {
    organization_number: rest.organization_number,
    prefix: rest.prefix,
    contact: { id: contact!, name: rest.contact_name, email: rest.contact_email },
    company: company ? { id: company, name: rest.company_name } : null,
    assignee: assignee ? { id: assignee, name: rest.assignee_name } : null,
    mailbox: mailbox ? { id: mailbox, address: rest.mailbox_address, name: rest.mailbox_name } : null,
    labels,
    parent: rest.parent,
    subscribers: rest.subscribers,
  }
}

/** A change of a ticket: the fields of a PATCH, and labels one by one. No label is both added and removed. */
export type TicketUpdate = TicketChanges & { add_label_ids?: string[]; remove_label_ids?: string[] }

const LABEL_FIELDS = ['label_ids', 'add_label_ids', 'remove_label_ids'] as const

/**
 * The fields of the ticket that an update sets, as the response shows them.
 * @throws INVALID_CUSTOM, INVALID_STATUS, CONTACT_NOT_FOUND, VALIDATION_ERROR (it has another contact), USER_NOT_FOUND,
 *   LABEL_NOT_FOUND
 */
export async function resolveUpdate(scope: Scope, before: Ticket, update: TicketUpdate): Promise<Partial<Ticket>> {
  const {
    contact_id,
    assignee_id,
    mailbox_id,
    parent_id,
    label_ids,
    add_label_ids,
    remove_label_ids,
    custom: given,
    ...plain
  } = update
  const custom = changedCustom(before.custom, given)
  const named = label_ids ?? [...(add_label_ids ?? []), ...(remove_label_ids ?? [])]
  const kept = label_ids || named.length === 0 ? [] : before.labels.map(({ id }) => id)
  const ids = [...kept, ...named]
  const named_ids = { contact_id, assignee_id, mailbox_id, label_ids: ids }
  const { contact, company, assignee, mailbox, labels } = await findNamed(scope, named_ids)
  const found = parent_id ? await findParent(scope, before.id, parent_id) : undefined
  const refusal = refusalOf([
    plain.status !== undefined && !isAllowed(before.status, plain.status) && forbidden(before.status, plain.status),
    unfitSnooze(plain),
    typeof plain.snoozed_until === 'string' &&
      !isAllowed(before.status, 'pending') &&
      forbidden(before.status, 'pending', '/snoozed_until'),
    contact_id !== undefined && !contact && unknown('CONTACT_NOT_FOUND', '/contact_id', [contact_id]),
    contact !== null && before.contact !== null && before.contact.id !== contact.id && HAS_CONTACT,
    unknownUser(assignee_id, assignee),
    unknownMailbox(mailbox_id, mailbox),
    unknownLabels(named, labels),
    unknownParent(parent_id, found),
    found?.is_below === true && IS_BELOW,
  ])
  if (refusal) throw refusal
  const removed = asIds(remove_label_ids ?? [])
  return {
    ...plain,
    ...snoozed(before, plain),
    custom,
    ...(before.contact === null && contact && { contact, company: before.company ?? company }),
    ...(assignee_id !== undefined && { assignee }),
    ...(mailbox_id !== undefined && { mailbox }),
    ...(parent_id !== undefined && { parent: found ? found.parent : null }),
    ...((label_ids || named.length > 0) && { labels: labels.filter(({ id }) => !removed.includes(id)) }),
  }
}

/**
 * Checks that an update of any tickets names what exists.
 * @param path of the update in the body
 * @throws VALIDATION_ERROR, USER_NOT_FOUND, LABEL_NOT_FOUND
 */
export async function requireNamed(scope: Scope, update: TicketUpdate, path: string): Promise<void> {
  const { assignee_id, mailbox_id } = update
  const ids = LABEL_FIELDS.flatMap((field) => update[field] ?? [])
  const { assignee, mailbox, labels } = await findNamed(scope, { assignee_id, mailbox_id, label_ids: ids })
  const refusal = refusalOf([
    unfitSnooze(update, path),
    unknownUser(assignee_id, assignee, `${path}/assignee_id`),
    unknownMailbox(mailbox_id, mailbox, `${path}/mailbox_id`),
    ...LABEL_FIELDS.map((field) => unknownLabels(update[field], labels, `${path}/${field}`)),
  ])
  if (refusal) throw refusal
}

/** `company` is the contact's. */
type Named = Pick<Ticket, 'contact' | 'company' | 'assignee' | 'mailbox' | 'labels'>

async function findNamed(
  scope: Scope,
  {
    contact_id,
    assignee_id,
    mailbox_id,
    label_ids,
  }: { label_ids: string[] } & Pick<TicketChanges, 'contact_id' | 'assignee_id' | 'mailbox_id'>,
): Promise<Named> {
  if (!contact_id && !assignee_id && !mailbox_id && label_ids.length === 0) {
    return { contact: null, company: null, assignee: null, mailbox: null, labels: [] }
  }
  const { sql, organization_id } = scope
  const [found] = await sql<Named[]>`
    select (
      select json_build_object('id', c.id, 'name', c.name, 'email', c.email) from contacts c
      where c.organization_id = ${organization_id} and c.id = ${asId(contact_id) ?? ZERO_ID}
    ) as contact, (
      select json_build_object('id', co.id, 'name', co.name)
      from contacts c join companies co on co.organization_id = ${organization_id} and co.id = c.company_id
      where c.organization_id = ${organization_id} and c.id = ${asId(contact_id) ?? ZERO_ID}
    ) as company, ${labelsOf(sql, organization_id, sql`${asIds(label_ids)}::uuid[]`)} as labels, (
      select json_build_object('id', u.id, 'name', u.name)
      from memberships m join users u on u.id = m.user_id
      where m.organization_id = ${organization_id} and m.user_id = ${asId(assignee_id) ?? ZERO_ID}
        and m.active and m.removed_at is null
    ) as assignee, (
      select json_build_object('id', mb.id, 'address', mb.address, 'name', mb.name) from mailboxes mb
      where mb.organization_id = ${organization_id} and mb.id = ${asId(mailbox_id) ?? ZERO_ID}
    ) as mailbox`
  return found!
}

/**
 * Finds a parent for a ticket. Until the caller's transaction ends nobody else of the organization gives a ticket a
 * parent, so that no two make a ring. It comes behind the lock of the ticket.
 * @returns `is_below`: it is the ticket itself, or below it; undefined for an unknown one
 */
export async function findParent({ sql, organization_id }: Scope, ticket_id: string, given: string) {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`ticket parents ${organization_id}`}, 0))`
  const [found] = await sql<{ parent: NonNullable<Ticket['parent']> | null; is_below: boolean }[]>`
    with recursive above (id) as (
      select coalesce(p.merged_into_id, p.id) from tickets p
      where p.organization_id = ${organization_id} and p.id = ${asId(given) ?? ZERO_ID}
      union
      select coalesce(p.merged_into_id, p.id)
      from above
      join tickets t on t.organization_id = ${organization_id} and t.id = above.id
      join tickets p on p.organization_id = ${organization_id} and p.id = t.parent_id and p.deleted_at is null
    )
    select ${parentOf(sql, organization_id, sql`${asId(given) ?? ZERO_ID}`, sql`${ZERO_ID}`)} as parent,
      exists (select from above where id = ${ticket_id}) as is_below`
  return found?.parent ? { parent: found.parent, is_below: found.is_below } : undefined
}

/** SQL for the labels with these ids, in the order of the response. */
function labelsOf(sql: Sql, organization_id: string, ids: Fragment) {
  return sql`(
    select coalesce(json_agg(json_build_object('id', id, 'name', name, 'color', color) order by lower(name), id), '[]')
    from labels where labels.organization_id = ${organization_id} and id = any(${ids})
  )`
}

function asId(id: string | null | undefined): string | null {
  return asIds(id ? [id] : [])[0] ?? null
}

const HAS_CONTACT: RefusedField = {
  code: 'VALIDATION_ERROR',
  fault: { path: '/contact_id', message: 'must be absent: the ticket has a contact' },
  more: {},
}

const IS_BELOW: RefusedField = {
  code: 'VALIDATION_ERROR',
  fault: { path: '/parent_id', message: 'must be neither the ticket itself nor one below it' },
  more: {},
}

/** A field that cannot be taken; `more` goes into the details of the error. */
type RefusedField = { code: ErrorCode; fault: Fault; more: Record<string, unknown> }

/** The error of a request of which a check failed: the code and details of the first refused field, with all faults. */
function refusalOf(checks: (RefusedField | false)[]): ApiError | undefined {
  const refused = checks.filter((check) => check !== false)
  if (!refused[0]) return undefined
  const { code, more } = refused[0]
  return new ApiError(code, { ...more, errors: refused.map(({ fault }) => fault) }, 422)
}

function unknown(code: ErrorCode, path: string, ids: string[]): RefusedField {
  return { code, fault: { path, message: ERRORS[code][1] }, more: { ids } }
}

function unknownUser(id: string | null | undefined, found: unknown, path = '/assignee_id') {
  return typeof id === 'string' && !found && unknown('USER_NOT_FOUND', path, [id])
}

function unknownMailbox(id: string | null | undefined, found: unknown, path = '/mailbox_id') {
  return typeof id === 'string' && !found && unknown('MAILBOX_NOT_FOUND', path, [id])
}

function unknownParent(id: string | null | undefined, found: unknown) {
  return typeof id === 'string' && !found && unknown('TICKET_NOT_FOUND', '/parent_id', [id])
}

function unknownLabels(named: string[] = [], labels: Label[], path = '/label_ids'): RefusedField | false {
  const ids = [...new Set(named)].filter((id) => !labels.some((label) => label.id === id.toLowerCase()))
  return ids.length > 0 && unknown('LABEL_NOT_FOUND', path, ids)
}

function unfitSnooze(update: TicketUpdate, path = ''): RefusedField | false {
  const message = snoozeFault(update)
  const fault = { path: `${path}/snoozed_until`, message: message ?? '' }
  return message !== undefined && { code: 'VALIDATION_ERROR', fault, more: {} }
}

function forbidden(from: Ticket['status'], to: Ticket['status'], path = '/status'): RefusedField {
  const allowed = TRANSITIONS[from]
  const message = `A ${from} ticket can become ${allowed.join(' or ')} only`
  return { code: 'INVALID_STATUS', fault: { path, message }, more: { from, to, allowed } }
}
