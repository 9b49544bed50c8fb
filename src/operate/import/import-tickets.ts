/** Imports tickets: with their codes, times and status, and without an event. */
import { insertRows } from '../../base/db/insert-rows'
import type { Fault } from '../../base/errors'
import { type RenderedBody, showsNothing } from '../../base/html/body'
import { render } from '../../base/html/render'
import { type Scope, together } from '../../base/scope'
import { wordsOfCustom } from '../../desk/custom/custom-words'
import { changedCustom } from '../../desk/custom/values'
import { holdLabels } from '../../desk/holds/holds'
import { insertMessages } from '../../desk/messages/insert-messages'
import { newDocument, organizationNumber, rebuildSearch } from '../../desk/search/ticket-document'
import { lockContacts } from '../../desk/tickets/insert-tickets'
import { columnsOf, newFields, type Written } from '../../desk/tickets/ticket-fields'
import { recordActivities } from '../../desk/timeline/activity'
import type { Losses } from './fitting'
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
  }),
  references: ({ contact_id, company_id, assignee_id, label_ids = [] }) => [
    ...(contact_id ? [['contacts', contact_id] as ['contacts', string]] : []),
    ...(company_id ? [['companies', company_id] as ['companies', string]] : []),
    ...(assignee_id ? [['users', assignee_id] as ['users', string]] : []),
    ...label_ids.map((id) => ['labels', id] as ['labels', string]),
  ],
  judge: judgeTicket,
  prepare: prepareTickets,
  match: (scope, lines) => byExternalId(scope, 'tickets', lines),
  states: (scope, ids) => timesOf(scope, 'tickets', ids),
  stateOf: ({ updated_at }) => updated_at,
  write: writeTickets,
}

/** Everything that a ticket names must have come; what was deleted here, and an agent who never came, is left out. */
function judgeTicket(input: ImportedTicket, find: Find, losses: Losses): Fault[] {
  const { contact_id, company_id, assignee_id, label_ids = [] } = input
  const named: [string, Referred, string | null | undefined][] = [
    ['/contact_id', 'contacts', contact_id],
    ['/company_id', 'companies', company_id],
    ...label_ids.map((id, at): [string, Referred, string] => [`/label_ids/${at}`, 'labels', id]),
  ]
  if (assignee_id) leaveUnknown(losses, '/assignee_id', 'users', find('users', assignee_id))
  return named.flatMap(([path, kind, key]) => {
    if (!key) return []
    const id = find(kind, key)
    if (id === undefined) return [unknownKey(path, kind)]
    leaveUnknown(losses, path, kind, id)
    return []
  })
}

function labelKeys(labels: unknown): unknown {
  if (!Array.isArray(labels)) return labels ?? undefined
  return labels.map((label) => (typeof label === 'object' && label !== null ? label.id : label))
}

/** Renders the descriptions of new tickets, their first messages. */
async function prepareTickets(
  { organization_id }: Scope,
  lines: (Line<ImportedTicket> & { row_id?: string })[],
  prepared: Prepared,
): Promise<void> {
  for (const { keys, row_id, input } of lines) {
    if (row_id || !input.description) continue
    prepared.set(keys[0]!, await render(input.description, organization_id))
  }
}

async function writeTickets(
  scope: Scope,
  lines: Placed<ImportedTicket>[],
  find: Find,
  prepared: Prepared,
): Promise<undefined> {
  const contact_ids = lines.flatMap(({ input }) => (input.contact_id && find('contacts', input.contact_id)) || [])
  const companies =
    contact_ids.length > 0 ? await lockContacts(scope, [...new Set(contact_ids)], 'wait') : new Map<string, null>()
  const fields = lines.map(({ input }): Written => {
    const contact = named(input.contact_id && find('contacts', input.contact_id))
    const given = input.company_id && find('companies', input.company_id)
    const company = named(input.company_id === undefined ? companies.get(contact?.id ?? '') : given)
    const assignee = named(input.assignee_id && find('users', input.assignee_id))
    const labels = [...new Set((input.label_ids ?? []).flatMap((key) => find('labels', key) ?? []))].map((id) => ({
      id,
    }))
    return newFields(input, { contact, company, assignee, labels, custom: changedCustom({}, input.custom) })
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
  await upsert(
    scope,
    'tickets',
    given.map((one) => rowOf(scope, one)),
    ['number', 'code'],
  )
  await writeLabels(scope, given)
  const fresh = given.filter(({ line }) => line.is_new)
  await writeFresh(scope, fresh, prepared)
  for (const { line } of given) if (!line.is_new) await rebuildSearch(scope, line.id)
  const { organization_id, actor } = scope
  const entry = { type: 'imported', data: {} } as const
  await recordActivities(
    scope.sql,
    lines.map(({ id: ticket_id }) => ({ organization_id, ticket_id, actor, entry })),
  )
}

type Given = { line: Placed<ImportedTicket>; fields: Written; code: Code }

/** The row of a key, unless it was deleted here or never came. */
function named(id: string | null | undefined): { id: string } | null {
  return id ? { id } : null
}

function rowOf({ organization_id }: Scope, { line: { id, updated_at }, fields, code }: Given) {
  return { organization_id, id, ...code, ...columnsOf(organization_id, fields), updated_at }
}

async function writeLabels(scope: Scope, given: Given[]): Promise<void> {
  const { sql, organization_id } = scope
  const rows = given.flatMap(({ line, fields }) =>
    fields.labels.map(({ id: label_id }) => ({ organization_id, ticket_id: line.id, label_id })),
  )
  const changed = given.filter(({ line }) => !line.is_new)
  // A label that puts a ticket on hold is taken off by admins only.
  const kept = changed.length > 0 ? await holdLabels(scope) : []
  for (const { line, fields } of changed) {
    const stay = [...fields.labels.map(({ id }) => id), ...kept]
    await sql`
      delete from ticket_labels
      where organization_id = ${organization_id} and ticket_id = ${line.id}
        and not label_id = any(${stay}::uuid[])`
  }
  await insertRows(sql, 'ticket_labels', rows, sql`on conflict do nothing`)
}

/** Writes what only a new ticket needs: its search document, and its description as a message of the contact. */
async function writeFresh(scope: Scope, given: Given[], prepared: Prepared): Promise<void> {
  const { sql, organization_id } = scope
  const number = await organizationNumber(scope)
  const bodies = given.map(({ line }) => prepared.get(line.keys[0]!) as RenderedBody | undefined)
  const documents = await Promise.all(
    given.map(async ({ line, fields: { status, priority, subject, assignee, labels, custom }, code }, at) => {
      const words = wordsOfCustom(organization_id, custom) ?? []
      const facets = [status, priority, assignee?.id ?? [], labels.map(({ id }) => id), words].flat()
      const { vector, size } = await newDocument(number, code.code, subject, bodies[at]?.text ?? '', facets)
      return { organization_id, ticket_id: line.id, document: vector, size }
    }),
  )
  const people = await peopleOf(scope, given)
  const messages = given.flatMap(({ line, fields }, at) => {
    const body = bodies[at]
    if (!body || showsNothing(body)) return []
    const person = people.get(fields.contact?.id ?? '')
    const draft = {
      id: idAt(line.created_ms, undefined, 0),
      body: line.input.description!,
      ...body,
      is_internal: false,
      direction: 'inbound' as const,
      sender_name: person?.name ?? '',
      sender_email: person?.email ?? null,
    }
    return [{ organization_id, ticket_id: line.id, draft }]
  })
  await together([insertRows(sql, 'ticket_search', documents), insertMessages(sql, messages)])
}

async function peopleOf({ sql, organization_id }: Scope, given: Given[]) {
  const ids = given.flatMap(({ line, fields }) => (line.input.description && fields.contact?.id) || [])
  if (ids.length === 0) return new Map<string, never>()
  const rows = await sql<{ id: string; name: string; email: string }[]>`
    select id, name, email from contacts where organization_id = ${organization_id} and id = any(${ids}::uuid[])`
  return new Map(rows.map((row) => [row.id, row]))
}
