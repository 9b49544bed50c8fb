/**
 * Looks up the contact, assignee, team, mailbox and labels that a request names. Unknown ids are refused here, all at
 * once.
 */
import { ZERO_ID } from '../../base/db/columns'
import { hasFewRows } from '../../base/db/few-rows'
import type { Fragment, Sql } from '../../base/db/transact'
import type { ApiError } from '../../base/errors'
import type { Scope } from '../../base/scope'
import { asIds } from '../../base/shapes/ids'
import { type Audience, audienceOf } from '../../delivery/webhooks/publish'
import { changedCustom } from '../custom/values'
import type { NewTicket, Ticket, TicketUpdate } from './model'
import { forbidden, HAS_CONTACT, IS_BELOW, refusalOf, unfitSnooze, unknownLabels, unknownOf } from './refused-fields'
import { parentOf, type TicketNames } from './row'
import { snoozed } from './snooze'
import { isAllowed } from './status'

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
  team: Ticket['team']
  mailbox: Ticket['mailbox']
  labels: Label[]
  parent: Ticket['parent']
  /** Those who are told of the new ticket. */
  audience: Audience
}

/**
 * Finds the references of new tickets of the organization, in one statement.
 * @returns those of each; for one that is refused, its CONTACT_NOT_FOUND, USER_NOT_FOUND or LABEL_NOT_FOUND
 */
export async function findReferences(
  { sql, organization_id }: Pick<Scope, 'sql' | 'organization_id'>,
  tickets: NewTicket[],
): Promise<(NewTicketReferences | ApiError)[]> {
  const rows = tickets.map(({ contact_id, assignee_id, team_id, mailbox_id, parent_id, label_ids = [] }, place) => {
    const ids = { contact_id: asId(contact_id), assignee_id: asId(assignee_id), team_id: team_id && idOrZero(team_id) }
    return { place, ...ids, mailbox_id: asId(mailbox_id), parent_id: asId(parent_id), label_ids: asIds(label_ids) }
  })
  const found = await sql<Found[]>`
    select o.number as organization_number, coalesce(co.ticket_prefix, o.ticket_prefix) as prefix,
      c.id as contact_id, c.name as contact_name, c.email as contact_email, co.id as company_id, co.name as company_name,
      u.id as assignee_id, u.name as assignee_name, tm.id as team_id, tm.name as team_name,
      case when mb.id = g.mailbox_id then mb.id end as mailbox_id, mb.address as mailbox_address, mb.name as mailbox_name,
      ${labelsOf(sql, organization_id, sql`g.label_ids`)} as labels,
      ${parentOf(sql, organization_id, sql`g.parent_id`, sql`${ZERO_ID}`)} as parent,
      ${audienceOf(sql, sql`${organization_id}`)} as audience
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as g (
      place integer, contact_id uuid, assignee_id uuid, team_id uuid, mailbox_id uuid, parent_id uuid, label_ids uuid[]
    )
    join organizations o on o.id = ${organization_id}
    left join contacts c on c.organization_id = ${organization_id} and c.id = g.contact_id
    left join companies co on co.organization_id = ${organization_id} and co.id = c.company_id
    left join memberships m on m.organization_id = ${organization_id} and m.user_id = g.assignee_id
      and m.active and m.removed_at is null
    left join users u on u.id = m.user_id
    left join mailboxes mb on mb.organization_id = ${organization_id}
      and (mb.id = g.mailbox_id or (mb.is_default and g.mailbox_id is null))
    left join teams tm on tm.organization_id = ${organization_id} and tm.id = coalesce(g.team_id, mb.team_id)
    where ${hasFewRows(sql)}
    order by g.place`
  return tickets.map((ticket, place) => checked(ticket, found[place]!))
}

type Found = Pick<NewTicketReferences, 'organization_number' | 'prefix' | 'audience' | 'parent'> & TicketNames

function checked(
  given: NewTicket,
  { contact_id, company_id, assignee_id, team_id, mailbox_id, labels, ...rest }: Found,
): NewTicketReferences | ApiError {
  const refusal = refusalOf([
    unknownOf('contact_id', given, contact_id),
    unknownOf('assignee_id', given, assignee_id),
    unknownOf('team_id', given, team_id),
    unknownOf('mailbox_id', given, mailbox_id),
    unknownLabels(given.label_ids, labels),
    unknownOf('parent_id', given, rest.parent),
  ])
  if (refusal) return refusal
  return {
    organization_number: rest.organization_number,
    prefix: rest.prefix,
    contact: { id: contact_id!, name: rest.contact_name, email: rest.contact_email },
    company: company_id ? { id: company_id, name: rest.company_name } : null,
    assignee: assignee_id ? { id: assignee_id, name: rest.assignee_name } : null,
    team: team_id ? { id: team_id, name: rest.team_name } : null,
    mailbox: mailbox_id ? { id: mailbox_id, address: rest.mailbox_address, name: rest.mailbox_name } : null,
    labels,
    parent: rest.parent,
    audience: rest.audience,
  }
}

const LABEL_FIELDS = ['label_ids', 'add_label_ids', 'remove_label_ids'] as const

/**
 * The fields of the ticket that an update sets, as the response shows them.
 * @throws INVALID_CUSTOM, INVALID_STATUS, CONTACT_NOT_FOUND, VALIDATION_ERROR (it has another contact), USER_NOT_FOUND,
 *   TEAM_NOT_FOUND, MAILBOX_NOT_FOUND, LABEL_NOT_FOUND, TICKET_NOT_FOUND
 */
export async function resolveUpdate(scope: Scope, before: Ticket, update: TicketUpdate): Promise<Partial<Ticket>> {
  const { contact_id, assignee_id, team_id, mailbox_id, parent_id, ...others } = update
  const { label_ids, add_label_ids, remove_label_ids, custom: given, ...plain } = others
  const custom = changedCustom(before.custom, given)
  const named = label_ids ?? [...(add_label_ids ?? []), ...(remove_label_ids ?? [])]
  const kept = label_ids || named.length === 0 ? [] : before.labels.map(({ id }) => id)
  const ids = [...kept, ...named]
  const { contact, company, assignee, team, mailbox, labels } = await findNamed(scope, { ...update, label_ids: ids })
  const found = parent_id ? await findParent(scope, before.id, parent_id) : undefined
  const refusal = refusalOf([
    plain.status !== undefined && !isAllowed(before.status, plain.status) && forbidden(before.status, plain.status),
    unfitSnooze(plain),
    typeof plain.snoozed_until === 'string' &&
      !isAllowed(before.status, 'pending') &&
      forbidden(before.status, 'pending', '/snoozed_until'),
    unknownOf('contact_id', update, contact),
    contact !== null && before.contact !== null && before.contact.id !== contact.id && HAS_CONTACT,
    unknownOf('assignee_id', update, assignee),
    unknownOf('team_id', update, team),
    unknownOf('mailbox_id', update, mailbox),
    unknownLabels(named, labels),
    unknownOf('parent_id', update, found),
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
    ...(team_id !== undefined && { team }),
    ...(mailbox_id !== undefined && { mailbox }),
    ...(parent_id !== undefined && { parent: found ? found.parent : null }),
    ...((label_ids || named.length > 0) && { labels: labels.filter(({ id }) => !removed.includes(id)) }),
  }
}

/**
 * Checks that an update of any tickets names what exists.
 * @param path of the update in the body
 * @throws VALIDATION_ERROR, USER_NOT_FOUND, TEAM_NOT_FOUND, MAILBOX_NOT_FOUND, LABEL_NOT_FOUND
 */
export async function requireNamed(scope: Scope, update: TicketUpdate, path: string): Promise<void> {
  const ids = LABEL_FIELDS.flatMap((field) => update[field] ?? [])
  const { assignee, team, mailbox, labels } = await findNamed(scope, {
    ...update,
    contact_id: undefined,
    label_ids: ids,
  })
  const refusal = refusalOf([
    unfitSnooze(update, path),
    unknownOf('assignee_id', update, assignee, path),
    unknownOf('team_id', update, team, path),
    unknownOf('mailbox_id', update, mailbox, path),
    ...LABEL_FIELDS.map((field) => unknownLabels(update[field], labels, `${path}/${field}`)),
  ])
  if (refusal) throw refusal
}

/** `company` is the contact's. */
type Named = Pick<Ticket, 'contact' | 'company' | 'assignee' | 'team' | 'mailbox' | 'labels'>
const NOTHING: Named = { contact: null, company: null, assignee: null, team: null, mailbox: null, labels: [] }

async function findNamed(
  scope: Scope,
  {
    contact_id,
    assignee_id,
    team_id,
    mailbox_id,
    label_ids,
  }: { label_ids: string[] } & Omit<TicketUpdate, 'label_ids'>,
): Promise<Named> {
  if (!contact_id && !assignee_id && !team_id && !mailbox_id && label_ids.length === 0) return NOTHING
  const { sql, organization_id } = scope
  const [found] = await sql<Named[]>`
    select (
      select json_build_object('id', c.id, 'name', c.name, 'email', c.email) from contacts c
      where c.organization_id = ${organization_id} and c.id = ${idOrZero(contact_id)}
    ) as contact, (
      select json_build_object('id', co.id, 'name', co.name)
      from contacts c join companies co on co.organization_id = ${organization_id} and co.id = c.company_id
      where c.organization_id = ${organization_id} and c.id = ${idOrZero(contact_id)}
    ) as company, ${labelsOf(sql, organization_id, sql`${asIds(label_ids)}::uuid[]`)} as labels, (
      select json_build_object('id', u.id, 'name', u.name)
      from memberships m join users u on u.id = m.user_id
      where m.organization_id = ${organization_id} and m.user_id = ${idOrZero(assignee_id)}
        and m.active and m.removed_at is null
    ) as assignee, (
      select json_build_object('id', tm.id, 'name', tm.name) from teams tm
      where tm.organization_id = ${organization_id} and tm.id = ${idOrZero(team_id)}
    ) as team, (
      select json_build_object('id', mb.id, 'address', mb.address, 'name', mb.name) from mailboxes mb
      where mb.organization_id = ${organization_id} and mb.id = ${idOrZero(mailbox_id)}
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
      where p.organization_id = ${organization_id} and p.id = ${idOrZero(given)}
      union
      select coalesce(p.merged_into_id, p.id)
      from above
      join tickets t on t.organization_id = ${organization_id} and t.id = above.id
      join tickets p on p.organization_id = ${organization_id} and p.id = t.parent_id and p.deleted_at is null
    )
    select ${parentOf(sql, organization_id, sql`${idOrZero(given)}`, sql`${ZERO_ID}`)} as parent,
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

/** An id that names nothing stands for none, so that a join on it reads one machine. */
function idOrZero(id: string | null | undefined): string {
  return asId(id) ?? ZERO_ID
}
