/**
 * Every two filters of tickets, in every order of the list, against a plain computation over the tickets themselves.
 * A filter that the list gets is one here: its values and its meaning, without SQL.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { TICKET_PRIORITIES } from '../../../src/base/db/schema'
import { CONDITIONS, type ConditionName } from '../../../src/desk/tickets/conditions'
import type { Ticket } from '../../../src/desk/tickets/model'
import { TICKET_SORTS } from '../../../src/desk/tickets/order'
import { createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import {
  createCompany,
  createContact,
  createLabel,
  createMessage,
  createPolicy,
  createTeam,
  createTicket,
  insertMailbox,
} from '../../support/factories'
import { IS_SAMPLE } from '../../support/sampled'

/** A filter as a computation over tickets, with values as a URL spells them. */
type Plain = {
  values(desk: Desk): string[]
  matches(ticket: Ticket, value: string): boolean
  /** As the body of a bulk change spells it. */
  inBody?(value: string): unknown
}

const NEVER = '9999-01-01T00:00:00Z'
const PLAIN = {
  status: {
    values: () => ['open', 'closed,pending'],
    matches: ({ status }, value) => value.split(',').includes(status),
    inBody: (value) => (value.includes(',') ? value.split(',') : value),
  },
  priority: {
    values: () => ['normal', 'low,urgent'],
    matches: ({ priority }, value) => value.split(',').includes(priority),
    inBody: (value) => value.split(','),
  },
  assignee_id: {
    values: ({ agent }) => [agent.user_id, 'none'],
    matches: ({ assignee }, value) => (assignee?.id ?? 'none') === value,
  },
  contact_id: {
    values: ({ tickets }) => [tickets[0]!.contact!.id, tickets[1]!.contact!.id],
    matches: ({ contact }, value) => contact?.id === value,
  },
  company_id: {
    values: ({ tickets }) => [tickets[0]!.company!.id, crypto.randomUUID()],
    matches: ({ company }, value) => company?.id === value,
  },
  label_ids: {
    values: ({ labels: [red, blue] }) => [red!, `${red},${blue}`],
    matches: ({ labels }, value) => labels.some(({ id }) => value.split(',').includes(id)),
    inBody: (value) => value.split(','),
  },
  search: {
    // The second one holds no word.
    values: () => ['printer', '!?', 'red printer'],
    matches: ({ subject }, value) => value !== '!?' && value.split(' ').every((word) => subject.includes(word)),
  },
  external_id: {
    values: ({ tickets }) => [tickets[0]!.external_id!, tickets[5]!.external_id!],
    matches: ({ external_id }, value) => external_id === value,
  },
  parent_id: {
    values: ({ tickets }) => [tickets[10]!.id, tickets[1]!.id],
    matches: ({ parent }, value) => parent?.id === value,
  },
  merged: {
    values: () => ['false', 'true'],
    matches: ({ merged_into }, value) => (merged_into !== null) === (value === 'true'),
    inBody: (value) => value === 'true',
  },
  team_id: {
    values: ({ tickets }) => [tickets[0]!.team!.id, 'none'],
    matches: ({ team }, value) => (team?.id ?? 'none') === value,
  },
  mailbox_id: {
    values: ({ tickets }) => [tickets[0]!.mailbox!.id, tickets[2]!.mailbox!.id],
    matches: ({ mailbox }, value) => mailbox?.id === value,
  },
  rating: { values: () => ['good', 'bad'], matches: ({ rating }, value) => rating?.score === value },
  sla: {
    values: () => ['breached', 'due_soon'],
    matches: ({ sla }, value) => {
      const left_ms = Date.parse(sla?.due_at ?? NEVER) - Date.now()
      return sla?.due_at != null && (value === 'breached' ? left_ms <= 0 : left_ms > 0 && left_ms < 3_600_000)
    },
  },
  waiting: {
    values: () => ['true', 'false'],
    matches: ({ waiting_since }, value) => (waiting_since !== null) === (value === 'true'),
    inBody: (value) => value === 'true',
  },
  has_draft: {
    values: () => ['true', 'false'],
    matches: ({ draft_count }, value) => draft_count! > 0 === (value === 'true'),
    inBody: (value) => value === 'true',
  },
  unread: {
    values: () => ['true', 'false'],
    matches: ({ unread }, value) => unread === (value === 'true'),
    inBody: (value) => value === 'true',
  },
  snoozed: {
    values: () => ['true', 'false'],
    matches: ({ snoozed_until }, value) => (snoozed_until !== null) === (value === 'true'),
    inBody: (value) => value === 'true',
  },
  custom: {
    values: () => ['gold', 'silver'],
    matches: ({ custom }, value) => custom.tier === value,
    inBody: (value) => ({ tier: value }),
  },
  created_after: {
    values: ({ tickets }) => [createdAt(tickets[3]!), createdAt(tickets.at(-3)!)],
    matches: (ticket, value) => createdAt(ticket) > value,
  },
  created_before: {
    values: ({ tickets }) => [createdAt(tickets.at(-2)!), createdAt(tickets[8]!)],
    matches: (ticket, value) => createdAt(ticket) < value,
  },
} satisfies Record<ConditionName, Plain>

type Name = keyof typeof PLAIN
type Condition = { name: Name; value: string }
type Desk = Organization & {
  tickets: Ticket[]
  labels: string[]
  view_id: string
  /** The message that `waiting_since` comes from, by ticket. The answer has whole seconds. */
  asking: Map<string, string>
}

const TICKETS = 24
const NAMES = Object.keys(PLAIN) as Name[]
const PAIRS = NAMES.flatMap((one, at) => NAMES.slice(at + 1).map((other) => [one, other] as const))

let desk: Desk

beforeAll(async () => {
  await startApi()
  desk = await fillDesk()
})
afterAll(stopApi)

/** The time of creation with its milliseconds, which answers leave out. */
function createdAt({ id }: Pick<Ticket, 'id'>): string {
  return new Date(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)).toISOString()
}

/** Tickets of which every two filters find some and leave some out. */
async function fillDesk(): Promise<Desk> {
  const organization = await createOrganization()
  const { admin, agent, scope } = organization
  const companies = [await createCompany(agent), undefined]
  const contacts = []
  for (const company of companies) contacts.push(await createContact(agent, { company_id: company?.id }))
  const labels = [await createLabel(agent), await createLabel(agent)].map(({ id }) => id as string)
  const mailboxes = [
    await insertMailbox(scope, { smtp: false }),
    await insertMailbox(scope, { smtp: false, is_default: false }),
  ]
  const team = await createTeam(admin)
  const policy = await createPolicy(admin, { active: false })
  const ids: string[] = []
  for (let n = 0; n < TICKETS; n++) {
    const { id } = await createTicket(agent, {
      subject: `${n % 3 ? 'red' : 'blue'} ${n % 4 === 3 ? 'kettle' : 'printer'}`,
      description: n % 7 ? 'Help' : undefined,
      contact_id: contacts[n % 2].id,
      priority: ['normal', 'urgent', 'normal', 'urgent', 'low'][n % 5],
      assignee_id: n % 3 === 2 ? undefined : agent.user_id,
      team_id: n % 4 < 2 ? team.id : undefined,
      label_ids: labels.filter((_, at) => (n >> (2 * at)) % 4 === 1),
      external_id: `order ${n}`,
      mailbox_id: [mailboxes[0], undefined, mailboxes[1], mailboxes[0], undefined][n % 5]?.id,
      // Those of the first are shown below the one that it is merged into.
      parent_id: { 1: ids[0], 2: ids[1] }[n % 5],
      custom: { tier: n % 3 === 1 ? 'silver' : 'gold' },
    })
    ids.push(id)
    // A moment of its own for each, so that times of creation tell them apart.
    while (Date.now() <= Date.parse(createdAt({ id }))) await Bun.sleep(1)
  }
  const snoozed_until = new Date(Date.now() + 86_400_000).toISOString()
  for (const [n, id] of ids.entries()) {
    if (n % 4 > 1) await agent.patch(`/tickets/${id}`, { status: n % 8 === 6 ? 'pending' : 'closed' })
    if (n % 8 < 2) await agent.patch(`/tickets/${id}`, { snoozed_until })
    if (n % 6 === 1) await createMessage(admin, id)
    if (n % 8 < 3) await agent.post(`/tickets/${id}/drafts`, { body: 'Perhaps' })
  }
  for (const [n, id] of ids.entries()) if (n % 5 > 2) await agent.send('PUT', `/tickets/${id}/read`)
  await agent.post(`/tickets/${ids[10]}/merge`, { source_ids: [ids[0], ids[9], ids[14], ids[15]] })
  // Changed in another order than created.
  for (const [n, id] of ids.entries()) {
    await scope.sql`
      update tickets set updated_at = timestamptz '2026-01-01 00:00Z' + make_interval(secs => ${(n * 7) % TICKETS})
      where organization_id = ${organization.id} and id = ${id}`
  }
  await scope.sql`
    update tickets set rating_score = case when number % 3 = 1 then 'good' else 'bad' end, rated_at = created_at
    where organization_id = ${organization.id} and number % 4 < 3`
  // Breached, in the last fifth, early, and without a promise.
  await scope.sql`
    update tickets set sla_policy_id = ${policy.id}, sla_metric = 'resolve',
      sla_due_at = now() + make_interval(mins => (array[-99, 9, 900])[1 + number % 4] + number),
      sla_soon_at = now() + make_interval(mins => (array[-199, -99, 700])[1 + number % 4] + number)
    where organization_id = ${organization.id} and number % 4 < 3`
  // The last is deleted: nothing finds it.
  await agent.delete(`/tickets/${ids.at(-1)}`)
  const tickets: Ticket[] = (await agent.get('/tickets?per_page=100&sort=created_at')).body.data
  const view = await agent.post('/views', { name: 'A pair', filter: {} })
  const asking = await scope.sql<{ id: string; message_id: string }[]>`
    select id, waiting_message_id as message_id from tickets
    where organization_id = ${organization.id} and waiting_message_id is not null`
  return {
    ...{ ...organization, tickets, labels, view_id: view.body.data.id },
    asking: new Map(asking.map(({ id, message_id }) => [id, message_id])),
  }
}

/** The pairs of values of two filters, of which one stands before the other or behind it. */
function valuesOf([one, other]: readonly [Name, Name]): [Condition, Condition][] {
  const [ones, others] = [PLAIN[one].values(desk), PLAIN[other].values(desk)]
  return ones.flatMap((a, i) =>
    others.map((b, j): [Condition, Condition] => {
      const pair: [Condition, Condition] = [
        { name: one, value: a },
        { name: other, value: b },
      ]
      return i === j ? pair : [pair[1], pair[0]]
    }),
  )
}

/** The ids of what both conditions match, in the order of a sort. */
function expected(pair: Condition[], sort: (typeof TICKET_SORTS)[number] = '-created_at'): string[] {
  // Last in both directions.
  const none = sort.startsWith('-') ? '' : 'last'
  const keys = {
    created_at: () => '',
    updated_at: ({ updated_at }: Ticket) => updated_at,
    priority: ({ priority }: Ticket) => String(TICKET_PRIORITIES.indexOf(priority)),
    last_message_at: ({ last_message }: Ticket) => last_message?.id ?? none,
    waiting_since: ({ id, waiting_since }: Ticket) => (waiting_since === null ? none : desk.asking.get(id)!),
    due_at: ({ sla }: Ticket) => sla?.due_at ?? none,
  }
  const place = (ticket: Ticket) => `${keys[sort.replace('-', '') as keyof typeof keys](ticket)} ${ticket.id}`
  const found = desk.tickets
    .filter((ticket) => pair.every(({ name, value }) => (PLAIN[name] as Plain).matches(ticket, value)))
    .toSorted((one, other) => (place(one) < place(other) ? -1 : 1))
    .map(({ id }) => id)
  return sort.startsWith('-') ? found.toReversed() : found
}

function parametersOf(pair: Condition[]): Record<string, string> {
  return Object.fromEntries(pair.map(({ name, value }) => [name === 'custom' ? 'custom.tier' : name, value]))
}

/** The list from its first page on by cursor, and its total. */
async function walk(query: Record<string, string>, per_page = 100): Promise<{ ids: string[]; total: number }> {
  const ids: string[] = []
  let total: number | undefined
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const parameters = new URLSearchParams({ ...query, per_page: String(per_page), ...(cursor && { cursor }) })
    const { status, body } = await desk.agent.get(`/tickets?${parameters}`)
    expect([query, status]).toEqual([query, 200])
    ids.push(...body.data.map(({ id }: Ticket) => id))
    if (!cursor) total = body.meta.total
    // A list by last change has no last cursor.
    cursor = body.data.length < per_page ? null : body.meta.next_cursor
  }
  return { ids, total: total! }
}

/** The tickets that a bulk change would change. */
async function bulk(pair: Condition[]): Promise<string[]> {
  const filter = Object.fromEntries(
    pair.map(({ name, value }) => [name, (PLAIN[name] as Plain).inBody?.(value) ?? value]),
  )
  const answer = await desk.agent.post('/tickets/bulk', { filter, changes: { subject: 'New' }, dry_run: true })
  expect([filter, answer.status]).toEqual([filter, 200])
  return answer.body.data.map(({ id }: Ticket) => id)
}

/** The list of a view that keeps one condition, with the other one beside it. */
async function viewed([kept, beside]: [Condition, Condition]): Promise<{ ids: string[]; total: number }> {
  const saved = await desk.agent.patch(`/views/${desk.view_id}`, { filter: parametersOf([kept]), sort: 'created_at' })
  expect(saved.status).toBe(200)
  return walk({ view_id: desk.view_id, ...parametersOf([beside]) })
}

/** How many names are between two filters. */
const apart = (one: Name, other: Name) => NAMES.indexOf(other) - NAMES.indexOf(one)
/** The daily run has every third pair, with one pair of values in one order: each value and each order by turns. */
const DAILY = PAIRS.filter(([one, other]) => !IS_SAMPLE || apart(one, other) % 3 === 1)

test('every filter of the list has a plain meaning here', () => {
  expect<string[]>(NAMES.toSorted()).toEqual(Object.keys(CONDITIONS).toSorted())
})

test('every filter finds some of the tickets and leaves some out', () => {
  const shares = NAMES.flatMap((name) =>
    PLAIN[name].values(desk).map((value) => [name, expected([{ name, value }]).length] as const),
  )
  expect(
    shares.filter(
      ([name, found]) => found === desk.tickets.length || (!found && name !== 'company_id' && name !== 'search'),
    ),
  ).toEqual([])
})

/** With many tickets these take other ways, alone and beside any other filter. */
const OF_MANY = DAILY.filter((pair) => pair.some((name) => ['search', 'custom', 'label_ids'].includes(name)))

describe.each([
  ['few', 0, DAILY],
  ['many', 1_000_000, OF_MANY],
] as const)('where contact, company and labels have %s tickets', (_, more, pairs) => {
  beforeAll(() => planMany(more))

  test.each(pairs)('%s with %s: list, total, walk, bulk change and view show what both match', async (one, other) => {
    for (const [at, pair] of valuesOf([one, other]).entries()) {
      if (IS_SAMPLE && at !== Math.floor(apart(one, other) / 3) % 4) continue
      const query = parametersOf(pair)
      // Two of the pairs of values in every order, the others in one.
      const own_order = IS_SAMPLE ? NAMES.indexOf(one) % TICKET_SORTS.length : at
      for (const sort of TICKET_SORTS.filter((_, place) => place === own_order || (!IS_SAMPLE && at % 3 === 0))) {
        const found = await walk({ ...query, sort }, sort === TICKET_SORTS[own_order] ? 4 : 100)
        const ids = expected(pair, sort)
        // A number that is kept has the tickets that there are not.
        if (found.total >= more && more > 0) found.total = ids.length
        expect({ query, sort, ...found }).toEqual({ query, sort, ids, total: ids.length })
      }
      // A bulk change and a view show what the list shows, wherever it looks.
      if (more > 0) continue
      expect({ query, bulk: await bulk(pair) }).toEqual({ query, bulk: expected(pair) })
      const seen = await viewed(pair)
      expect({ query, view: seen.ids }).toEqual({ query, view: expected(pair, 'created_at') })
    }
  })
})

/** Lets contacts, companies and labels seem to have more tickets, so that lists go the way for many. */
async function planMany(more: number): Promise<void> {
  const { sql, organization_id } = desk.scope
  if (more === 0) return
  await sql`
    insert into tally_changes (organization_id, kind, key, status, n)
    select distinct ${organization_id}::uuid, kind, key, 'open', ${more}::integer from (
      select kind, key from tallies where organization_id = ${organization_id}
      union select kind, key from tally_changes where organization_id = ${organization_id}
    ) as known
    where kind in ('tickets_of_contact', 'tickets_of_company', 'tickets_of_label')`
}
