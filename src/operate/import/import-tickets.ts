/** Imports tickets: with their codes, times and status, and without an event. */
import { addressKey } from '../../base/address/email'
import { toInstant } from '../../base/db/columns'
import { insertRows } from '../../base/db/insert-rows'
import { sharedTime } from '../../base/db/shared-time'
import type { Fault } from '../../base/errors'
import { type RenderedBody, showsNothing } from '../../base/html/body'
import { render } from '../../base/html/render'
import type { Scope } from '../../base/scope'
import { timeOf } from '../../base/shapes/time'
import { changedCustom } from '../../desk/custom/values'
import { holdLabels } from '../../desk/holds/holds'
import { keepPromises } from '../../desk/promises/keep'
import type { Rating } from '../../desk/ratings/model'
import { organizationNumber, rebuildSearch } from '../../desk/search/ticket-document'
import { asleepUntil, setWake } from '../../desk/tickets/snooze'
import { columnsOf, newFields, type Written } from '../../desk/tickets/ticket-fields'
import { lockContacts, type TicketToWrite, writeTickets } from '../../desk/tickets/write-tickets'
import { type ActivityEntry, recordActivities } from '../../desk/timeline/activity'
import type { Losses } from './fitting'
import { storeHeld } from './imported-images'
import { idAt } from './key-hashes'
import {
  byExternalId,
  type Find,
  type Kind,
  keyIn,
  type Line,
  leaveUnknown,
  type Placed,
  type Prepared,
  timesOf,
  unknownKey,
  upsert,
} from './kind'
import type { Referred } from './known'
import { ImportedTicket } from './model'
import { type Code, codesFor, numberIn } from './numbers'

export const TICKETS: Kind<ImportedTicket> = {
  name: 'tickets',
  model: ImportedTicket,
  most: 200,
  shape: (given) => ({
    ...given,
    contact_id: keyIn(given, 'contact_id', 'contact'),
    company_id: keyIn(given, 'company_id', 'company'),
    assignee_id: keyIn(given, 'assignee_id', 'assignee') ?? undefined,
    label_ids: given.label_ids ?? labelKeys(given.labels),
    parent_id: keyIn(given, 'parent_id', 'parent') ?? undefined,
    mailbox: addressIn(given.mailbox),
    team: keyIn(given, 'team_id', 'team') ?? undefined,
  }),
  references: ({ contact_id, company_id, assignee_id, team, label_ids = [] }) => [
    ...(contact_id ? [['contacts', contact_id] as ['contacts', string]] : []),
    ...(company_id ? [['companies', company_id] as ['companies', string]] : []),
    ...(assignee_id ? [['users', assignee_id] as ['users', string]] : []),
    ...(team ? [['teams', team] as ['teams', string]] : []),
    ...label_ids.map((id) => ['labels', id] as ['labels', string]),
  ],
  judge: judgeTicket,
  prepare: prepareTickets,
  match: (scope, lines) => byExternalId(scope, 'tickets', lines),
  states: (scope, ids) => timesOf(scope, 'tickets', ids),
  stateOf: ({ updated_at }) => updated_at,
  write: writeLines,
}

/** Everything that a ticket names must have come; what was deleted here, and an agent who never came, is left out. */
function judgeTicket(input: ImportedTicket, find: Find, losses: Losses): Fault[] {
  const { contact_id, company_id, assignee_id, team, label_ids = [] } = input
  const named: [string, Referred, string | null | undefined][] = [
    ['/contact_id', 'contacts', contact_id],
    ['/company_id', 'companies', company_id],
    ...label_ids.map((id, at): [string, Referred, string] => [`/label_ids/${at}`, 'labels', id]),
  ]
  if (assignee_id) leaveUnknown(losses, '/assignee_id', 'users', find('users', assignee_id))
  if (team) leaveUnknown(losses, '/team', 'teams', find('teams', team))
  return named.flatMap(([path, kind, key]) => {
    if (!key) return []
    const id = find(kind, key)
    if (id === undefined) return [unknownKey(path, kind)]
    leaveUnknown(losses, path, kind, id)
    return []
  })
}

/** An export shows the mailbox with its id and name. */
function addressIn(mailbox: unknown): unknown {
  return typeof mailbox === 'object' ? (mailbox as { address?: unknown } | null)?.address : mailbox
}

function labelKeys(labels: unknown): unknown {
  if (!Array.isArray(labels)) return labels ?? undefined
  return labels.map((label) => (typeof label === 'object' && label !== null ? label.id : label))
}

/** A description as the first message has it. */
type Ready = RenderedBody & { body: string; attachment_ids: string[] }

/** Renders the descriptions of new tickets, their first messages. */
async function prepareTickets(
  scope: Scope,
  lines: (Line<ImportedTicket> & { row_id?: string })[],
  prepared: Prepared,
): Promise<void> {
  for (const { keys, row_id, input } of lines) {
    if (row_id || !input.description) continue
    const { body, format, html, ids } = await storeHeld(scope, input.description, input.description_format)
    const ready: Ready = { ...(await render(html, format, scope.organization_id)), body, attachment_ids: ids }
    prepared.set(keys[0]!, ready)
  }
}

async function writeLines(
  scope: Scope,
  lines: Placed<ImportedTicket>[],
  find: Find,
  prepared: Prepared,
): Promise<undefined> {
  const contact_ids = lines.flatMap(({ input }) => (input.contact_id && find('contacts', input.contact_id)) || [])
  const companies =
    contact_ids.length > 0 ? await lockContacts(scope, [...new Set(contact_ids)], 'wait') : new Map<string, null>()
  const mailboxes = await findMailboxes(scope, lines)
  const fields = lines.map(({ input, losses, updated_at }): Written => {
    const contact = named(input.contact_id && find('contacts', input.contact_id))
    const given = input.company_id && find('companies', input.company_id)
    const company = named(input.company_id === undefined ? companies.get(contact?.id ?? '') : given)
    const assignee = named(input.assignee_id && find('users', input.assignee_id))
    const label_ids = new Set((input.label_ids ?? []).flatMap((key) => find('labels', key) ?? []))
    const labels = [...label_ids].map((id) => ({ id }))
    const mailbox = named(input.mailbox && mailboxes.get(addressKey(input.mailbox)))
    if (input.mailbox && !mailbox) losses.left_out.push({ path: '/mailbox', message: 'is no mailbox here' })
    const team = named(input.team && find('teams', input.team))
    const custom = changedCustom({}, input.custom)
    // `importParents` gives it its parent.
    return newFields(
      { ...input, ...sleepOf(input, losses) },
      {
        ...{ contact, company, assignee, team, mailbox, labels, parent: null, custom },
        rating: ratingOf(input, losses, updated_at),
      },
    )
  })
  const codes = await codesFor(
    scope,
    lines.map(({ id, is_new, input }, at) => ({
      ...{ id, is_new, code: input.code },
      company_id: fields[at]!.company?.id ?? null,
    })),
  )
  const given = lines.map((line, at) => ({ line, fields: fields[at]!, code: codes[at]! }))
  for (const { line, code } of given) {
    if (!line.is_new || !line.input.code || numberIn(line.input.code) === code.number) continue
    line.losses.left_out.push({ path: '/code', message: `is taken here, or has no number that can stay: ${code.code}` })
  }
  const [fresh, changed] = [true, false].map((is_new) => given.filter(({ line }) => line.is_new === is_new))
  await writeFresh(scope, fresh!, prepared)
  await writeChanged(scope, changed!)
  for (const { line, fields } of given) if (fields.snoozed_until) await setWake(scope, line.id, fields.snoozed_until)
}

/** Only a contact rates. */
function ratingOf({ rating, contact_id }: ImportedTicket, losses: Losses, updated_at: string): Rating | null {
  if (!rating) return null
  if (!contact_id) {
    losses.left_out.push({ path: '/rating', message: 'needs a contact' })
    return null
  }
  const rated_at = toInstant(new Date(rating.rated_at ?? updated_at).toISOString())
  return { score: rating.score, comment: rating.comment || null, rated_at }
}

/** A ticket whose moment came on the way is open. */
function sleepOf({ status, snoozed_until }: ImportedTicket, losses: Losses) {
  if (!snoozed_until) return { snoozed_until: null }
  if (status === 'resolved' || status === 'closed') {
    losses.left_out.push({ path: '/snoozed_until', message: `belongs to a ticket that is ${status}` })
    return { snoozed_until: null }
  }
  const is_ahead = timeOf(snoozed_until)! > sharedTime()
  return is_ahead ? asleepUntil(snoozed_until) : { status: 'open' as const, snoozed_until: null }
}

/** Finds the mailboxes of addresses. @returns ids by the key of the address */
async function findMailboxes(
  { sql, organization_id }: Scope,
  lines: Placed<ImportedTicket>[],
): Promise<Map<string, string>> {
  const keys = new Set(lines.flatMap(({ input }) => (input.mailbox ? addressKey(input.mailbox) : [])))
  if (keys.size === 0) return new Map()
  const rows = await sql<{ id: string; address_key: string }[]>`
    select id, address_key from mailboxes
    where organization_id = ${organization_id} and address_key = any(${[...keys]}::text[])`
  return new Map(rows.map(({ id, address_key }) => [address_key, id]))
}

/** Nobody hears of an import. */
const ENTRY: ActivityEntry = { type: 'imported', data: {} }

type Given = { line: Placed<ImportedTicket>; fields: Written; code: Code }

/** The row of a key, unless it was deleted here or never came. */
function named(id: string | null | undefined): { id: string } | null {
  return id ? { id } : null
}

async function writeChanged(scope: Scope, given: Given[]): Promise<void> {
  if (given.length === 0) return
  const { sql, organization_id, actor } = scope
  const rows = given.map(({ line: { id, updated_at }, fields, code }) => {
    return { organization_id, id, ...code, ...columnsOf(organization_id, fields), updated_at }
  })
  await upsert(scope, 'tickets', rows, ['number', 'code'])
  // A label that puts a ticket on hold is taken off by admins only.
  const kept = await holdLabels(scope)
  for (const { line, fields } of given) {
    const ids = fields.labels.map(({ id }) => id)
    await sql`
      delete from ticket_labels
      where organization_id = ${organization_id} and ticket_id = ${line.id}
        and not label_id = any(${[...ids, ...kept]}::uuid[])`
    const labels = ids.map((label_id) => ({ organization_id, ticket_id: line.id, label_id }))
    await insertRows(sql, 'ticket_labels', labels, sql`on conflict do nothing`)
    await rebuildSearch(scope, line.id)
  }
  const entries = given.map(({ line }) => ({ organization_id, ticket_id: line.id, actor, entry: ENTRY }))
  await recordActivities(sql, entries)
  await keepPromises(scope, idsOf(given))
}

/** Writes new tickets, each with its description as a message of the contact. */
async function writeFresh(scope: Scope, given: Given[], prepared: Prepared): Promise<void> {
  const organization_number = await organizationNumber(scope)
  const people = await peopleOf(scope, given)
  const sla_from = new Date(sharedTime()).toISOString()
  const tickets = given.map(({ line, fields, code }): TicketToWrite => {
    const { id, updated_at } = line
    const body = prepared.get(line.keys[0]!) as Ready | undefined
    const person = people.get(fields.contact?.id ?? '')
    const first = body && {
      id: idAt(line.created_ms, undefined, 0),
      ...body,
      is_internal: false,
      direction: 'inbound' as const,
      sender_name: person?.name ?? '',
      sender_email: person?.email ?? null,
    }
    return {
      ...{ id, ...code, fields, updated_at, organization_number, actor: scope.actor, entries: [ENTRY] },
      beside: { sla_from },
      first: first && !showsNothing(first) ? first : null,
    }
  })
  await writeTickets(scope, tickets, async () => {})
  await keepPromises(scope, idsOf(given))
}

function idsOf(given: Given[]): string[] {
  return given.map(({ line }) => line.id)
}

async function peopleOf({ sql, organization_id }: Scope, given: Given[]) {
  const ids = given.flatMap(({ line, fields }) => (line.input.description && fields.contact?.id) || [])
  if (ids.length === 0) return new Map<string, never>()
  const rows = await sql<{ id: string; name: string; email: string }[]>`
    select id, name, email from contacts where organization_id = ${organization_id} and id = any(${ids}::uuid[])`
  return new Map(rows.map((row) => [row.id, row]))
}
