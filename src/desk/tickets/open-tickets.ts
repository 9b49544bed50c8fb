/** Opens tickets for conversations that begin by email or are split: as many statements for a hundred as for one. */
import { withChangeTime } from '../../base/db/change-time'
import { DeadlockError } from '../../base/db/violations'
import { type Scope, together } from '../../base/scope'
import type { DraftWithId } from '../messages/draft'
import { promiseNew } from '../promises/keep'
import { findPolicies } from '../promises/policies'
import { chooseAssignees } from '../teams/assign'
import type { EntryActor } from '../timeline/activity'
import { numberTaken, takeNumbersInside } from './code'
import type { Ticket } from './model'
import { fields, present, type TicketRow, withNames } from './row'
import { newFields } from './ticket-fields'
import { changedAt, lockAsKeys, lockContacts, promisedParts, writeTickets } from './write-tickets'

export type OpenedTicket = {
  id: string
  subject: string
  contact_id: string | null
  /** The mailbox that received the conversation. */
  mailbox_id: string | null
  actor: EntryActor
  /** Null when it gets messages that are there. */
  first: DraftWithId | null
  split_from_id?: string
}

const GONE = 'a contact was deleted or merged meanwhile'

/** The facts of its organization that the code and the search document of a ticket need. */
type Naming = {
  contact_id: string | null
  prefix: string
  organization_number: number
  /** The teams of the mailboxes where tickets open. */
  homes: { id: string; is_default: boolean; team_id: string }[]
}

/** A ticket that was opened, and the time of it. */
type Opened = { ticket: Ticket; locked_at: string }

/**
 * Creates tickets with their first messages, in the caller's transaction. It locks the contacts' rows, so that a
 * company that a contact gets at the same time reaches these tickets too. The caller publishes.
 * @returns them by id
 * @throws ATTACHMENT_NOT_FOUND; DeadlockError when a contact was deleted or merged meanwhile: the transaction then runs
 *   again
 */
export async function openTickets(scope: Scope, opened: OpenedTicket[]): Promise<Map<string, Opened>> {
  if (opened.length === 0) return new Map()
  const [naming, first_number, [companies, locked_at], policies] = await together([
    findNaming(scope, opened),
    takeNumbersInside(scope.organization_id, opened.length),
    withChangeTime(scope.sql, lockContactsOf(scope, opened)),
    findPolicies(scope),
  ])
  const teams = await homeTeams(scope, opened, naming)
  const coming = opened.flatMap(({ id }) => (teams.has(id) ? { id, team_id: teams.get(id)!.id } : []))
  const given = await chooseAssignees(scope, coming)
  const named = { labels: [], parent: null, custom: {} }
  const written = opened.map(({ id, subject, contact_id, mailbox_id, actor, first, split_from_id }, index) => {
    const { prefix, organization_number } = naming.get(contact_id)!
    const number = first_number + index
    const contact = contact_id === null ? null : { id: contact_id }
    const company_id = companies.get(contact_id ?? '')
    const company = company_id ? { id: company_id } : null
    const mailbox = mailbox_id === null ? null : { id: mailbox_id }
    const [team, assignee] = [teams.get(id) ?? null, given.get(id) ?? null]
    const fields = newFields({ subject }, { ...named, contact, company, assignee, team, mailbox })
    return {
      ...{ id, number, code: `${prefix}-${number}`, fields },
      promised: promiseNew(policies, promisedParts(id, fields, first)),
      ...(split_from_id && { beside: { split_from_id } }),
      ...{ updated_at: changedAt(locked_at, id), organization_number, actor, first },
      given_to: given.get(id),
    }
  })
  const tickets = await writeTickets(scope, written, () => readTickets(scope, opened)).catch((error) => {
    throw numberTaken(error)
  })
  return new Map(tickets.map((row) => [row.id, { ticket: present(row), locked_at }]))
}

/** The teams of the mailboxes where tickets open, by ticket. One that is being deleted gets none. */
async function homeTeams(
  scope: Scope,
  opened: OpenedTicket[],
  naming: Map<string | null, Naming>,
): Promise<Map<string, { id: string }>> {
  const found = opened.flatMap(({ id, contact_id, mailbox_id }) => {
    const { homes } = naming.get(contact_id)!
    const home = homes.find((one) => (mailbox_id === null ? one.is_default : one.id === mailbox_id))
    return home ? [[id, { id: home.team_id }] as const] : []
  })
  const ids = new Set(found.map(([, team]) => team.id))
  const kept = new Set(await lockAsKeys(scope, 'teams', [...ids], 'leave out'))
  return new Map(found.filter(([, team]) => kept.has(team.id)))
}

/** @returns the companies of the contacts @throws DeadlockError */
async function lockContactsOf(scope: Scope, opened: OpenedTicket[]): Promise<Map<string, string | null>> {
  const ids = contactsOf(opened)
  if (ids.length === 0) return new Map()
  const locked = await lockContacts(scope, ids, 'wait')
  if (locked.size < ids.length) throw new DeadlockError(GONE)
  return locked
}

async function readTickets(scope: Scope, opened: OpenedTicket[]): Promise<TicketRow[]> {
  const { sql, organization_id } = scope
  return sql<TicketRow[]>`
    select ${fields(scope)} from tickets t ${withNames(scope)}
    where t.organization_id = ${organization_id} and t.id = any(${opened.map(({ id }) => id)}::uuid[])`
}

/** @returns by contact @throws DeadlockError */
async function findNaming(
  { sql, organization_id }: Scope,
  opened: OpenedTicket[],
): Promise<Map<string | null, Naming>> {
  const ids = contactsOf(opened)
  const found = await sql<(Naming & { own_prefix: string })[]>`
    select c.id as contact_id, coalesce(co.ticket_prefix, o.ticket_prefix) as prefix, o.number as organization_number,
      o.ticket_prefix as own_prefix, (
        select coalesce(json_agg(json_build_object('id', mb.id, 'is_default', mb.is_default, 'team_id', mb.team_id)), '[]')
        from mailboxes mb where mb.organization_id = ${organization_id} and mb.team_id is not null
      ) as homes
    from organizations o
    left join contacts c on c.organization_id = ${organization_id} and c.id = any(${ids}::uuid[])
    left join companies co on co.organization_id = ${organization_id} and co.id = c.company_id
    where o.id = ${organization_id}`
  const naming = new Map<string | null, Naming>(found.map((one) => [one.contact_id, one]))
  const { own_prefix, organization_number, homes } = found[0]!
  naming.set(null, { contact_id: null, prefix: own_prefix, organization_number, homes })
  if (ids.some((id) => !naming.has(id))) throw new DeadlockError(GONE)
  return naming
}

function contactsOf(opened: OpenedTicket[]): string[] {
  return [...new Set(opened.flatMap(({ contact_id }) => contact_id ?? []))]
}
