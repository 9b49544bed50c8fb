/** Imports participants and logged time. */
import { addressKey } from '../../base/address/email'
import { insertRows } from '../../base/db/insert-rows'
import type { Scope } from '../../base/scope'
import { faultsOfRate } from '../../base/shapes/money'
import { dayIn } from '../../base/shapes/time'
import { ownAddresses } from '../../desk/messages/conversation'
import { priceColumns } from '../../desk/time-entries/price'
import { getRateSources } from '../../desk/time-entries/queries'
import { resolveRate } from '../../desk/time-entries/rate'
import { getOrganization } from '../../people/organizations/queries'
import { addImported } from './import-people'
import { hashOf } from './key-hashes'
import { type Find, type Kind, keyIn, type Left, type Line, type Placed, timesOf, unknownKey, upsert } from './kind'
import { keyOf, noteKnown } from './known'
import { ImportedParticipant, ImportedTime } from './model'

export const PARTICIPANTS: Kind<ImportedParticipant> = {
  name: 'participants',
  model: ImportedParticipant,
  most: 200,
  shape: (given) => ({ ...given, ticket_id: keyIn(given, 'ticket_id', 'ticket') }),
  references: ({ ticket_id }) => [['tickets', ticket_id]],
  judge: ({ ticket_id }, find) =>
    find('tickets', ticket_id) === undefined ? [unknownKey('/ticket_id', 'tickets')] : [],
  match: matchParticipants,
  states: async ({ sql, organization_id }, ids) => {
    const rows = await sql<{ id: string }[]>`
      select id from participants where organization_id = ${organization_id} and id = any(${ids}::uuid[])`
    return new Map(rows.map(({ id }) => [id, '']))
  },
  stateOf: () => '',
  write: writeParticipants,
}

const TICKET_GONE = 'its ticket was deleted or merged here'

const participantKey = (ticket_id: string, email: string) => `${ticket_id} ${addressKey(email)}`

async function matchParticipants({ sql, organization_id }: Scope, lines: Line<ImportedParticipant>[], find: Find) {
  const ids = lines.flatMap(({ input }) => find('tickets', input.ticket_id) ?? [])
  const rows = await sql<{ id: string; ticket_id: string; email: string }[]>`
    select id, ticket_id, email from participants
    where organization_id = ${organization_id} and ticket_id = any(${ids}::uuid[])`
  const there = new Map(rows.map(({ id, ticket_id, email }) => [participantKey(ticket_id, email), id]))
  return new Map(
    lines.flatMap(({ keys, input }) => {
      const id = there.get(participantKey(find('tickets', input.ticket_id) ?? '', input.email))
      return id ? [[keys[0]!, id] as const] : []
    }),
  )
}

/** The contact of a ticket and mailboxes of the organization are no participants, as everywhere. */
async function writeParticipants(
  scope: Scope,
  lines: Placed<ImportedParticipant>[],
  find: Find,
): Promise<Left<ImportedParticipant>> {
  const { sql, organization_id } = scope
  const tickets = await liveTickets(scope, lines, find)
  const emails = lines.map(({ input }) => input.email)
  const own = await ownAddresses(scope, emails)
  const contacts = await sql<{ email_key: string; contact_id: string }[]>`
    select email_key, contact_id from contact_addresses
    where organization_id = ${organization_id} and email_key = any(${emails.map(addressKey)}::text[])`
  const contactOf = new Map(contacts.map(({ email_key, contact_id }) => [email_key, contact_id]))
  const left: Left<ImportedParticipant> = new Map()
  const rows = lines.flatMap((line) => {
    const { ticket_id: key, email, name, confirmed = true, left_out = false } = line.input
    const ticket_id = find('tickets', key) ?? ''
    const email_key = addressKey(email)
    const contact_id = contactOf.get(email_key)
    const is_contact = contact_id !== undefined && contact_id === tickets.get(ticket_id)
    const reason =
      (!tickets.has(ticket_id) && TICKET_GONE) ||
      (own.has(email_key) && 'is the address of a mailbox here') ||
      (is_contact && 'is the contact of the ticket')
    if (reason) {
      left.set(line, reason)
      return []
    }
    const fields = { email, email_key, name: name || null, confirmed, left_out, contact_id }
    return { organization_id, id: line.id, ticket_id, ...fields }
  })
  await insertRows(
    sql,
    'participants',
    rows,
    sql`on conflict (organization_id, ticket_id, email_key) do update
      set name = excluded.name, confirmed = excluded.confirmed, left_out = excluded.left_out`,
  )
  return left
}

/** The tickets that are there and not merged, with their contacts. */
async function liveTickets(scope: Scope, lines: { input: { ticket_id: string } }[], find: Find) {
  const { sql, organization_id } = scope
  const ids = lines.flatMap(({ input }) => find('tickets', input.ticket_id) ?? [])
  const rows = await sql<{ id: string; contact_id: string | null }[]>`
    select id, contact_id from tickets
    where organization_id = ${organization_id} and id = any(${[...new Set(ids)]}::uuid[]) and deleted_at is null
      and merged_into_id is null
    order by id for key share`
  return new Map(rows.map(({ id, contact_id }) => [id, contact_id]))
}

export const TIME_ENTRIES: Kind<ImportedTime> = {
  name: 'time_entries',
  model: ImportedTime,
  most: 200,
  shape: (given) => ({
    ...given,
    ticket_id: keyIn(given, 'ticket_id', 'ticket'),
    user_id: keyIn(given, 'user_id', 'user'),
    user_name: given.user_name ?? (given.user as { name?: unknown } | undefined)?.name,
  }),
  references: ({ ticket_id, user_id }) => [
    ['tickets', ticket_id],
    ['users', user_id],
  ],
  judge: ({ ticket_id, rate, currency }, find) => [
    ...(find('tickets', ticket_id) === undefined ? [unknownKey('/ticket_id', 'tickets')] : []),
    ...faultsOfRate('/rate', rate, currency),
  ],
  states: (scope, ids) => timesOf(scope, 'time_entries', ids),
  stateOf: ({ updated_at }) => updated_at,
  write: writeTime,
}

async function writeTime(scope: Scope, lines: Placed<ImportedTime>[], find: Find): Promise<Left<ImportedTime>> {
  const { organization_id } = scope
  const tickets = await liveTickets(scope, lines, find)
  const userOf = usersOf(scope, find)
  const { time_zone } = await getOrganization(scope)
  const left: Left<ImportedTime> = new Map()
  const rows = []
  for (const line of lines) {
    const { ticket_id: key, duration_minutes, description, billable = true } = line.input
    const ticket_id = find('tickets', key) ?? ''
    if (!tickets.has(ticket_id)) {
      left.set(line, TICKET_GONE)
      continue
    }
    const user_id = await userOf(line)
    const date = line.input.date ?? dayIn(time_zone, line.created_ms)
    const price = await priceOf(scope, line.input, ticket_id, user_id)
    const { id, updated_at } = line
    rows.push({
      ...{
        organization_id,
        id,
        ticket_id,
        user_id,
        duration_minutes,
        description,
        billable,
        date,
        ...priceColumns(price),
        updated_at,
      },
    })
  }
  await upsert(scope, 'time_entries', rows, ['ticket_id', 'user_id'])
  return left
}

/** Finds whose time it is: that of people who are gone is an inactive member's, who is made when the first comes. */
function usersOf(scope: Scope, find: Find) {
  const gone = new Map<string, string>()
  return async ({ input: { user_id, user_name }, ...line }: Placed<ImportedTime>): Promise<string> => {
    const known = find('users', user_id) ?? gone.get(user_id)
    if (known) return known
    const key = keyOf('users', user_id)
    const person = { email: `${key}@${scope.organization_id}.gone.invalid`, name: user_name || 'Former member' }
    const id = await addImported(scope, { ...person, role: 'agent' }, line)
    await noteKnown(scope, [{ keys: [key], row_id: id, digest: hashOf(''), state: line.updated_at }])
    gone.set(user_id, id)
    return id
  }
}

/** The rate as it was there; what is missing is found as for time that is logged here. */
async function priceOf(scope: Scope, { rate, currency }: ImportedTime, ticket_id: string, user_id: string) {
  if (rate !== undefined && currency !== undefined) return { rate, currency }
  const sources = await getRateSources(scope, ticket_id, user_id)
  const found = resolveRate(rate ?? undefined, sources!)
  return { rate: rate === undefined ? found.rate : rate, currency: currency ?? found.currency }
}
