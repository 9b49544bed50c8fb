/** The rows that lists read of an organization with few tickets, and of one with many. */
import { expect } from 'bun:test'
import { newId, ZERO_ID } from '../../src/base/db/columns'
import { closeDatabase, connectDatabase, jobConnection } from '../../src/base/db/pool'
import type { Fragment, Sql } from '../../src/base/db/transact'
import type { Actor, Scope } from '../../src/base/scope'
import { useSecrets } from '../../src/base/secrets'
import { cursorOf } from '../../src/base/shapes/cursor'
import { listCompanies } from '../../src/desk/companies/queries'
import { listContacts } from '../../src/desk/contacts/queries'
import { getLabel, listLabels } from '../../src/desk/labels/queries'
import { listAllMessages } from '../../src/desk/messages/list-messages'
import { foldTallies } from '../../src/desk/tallies/tallies'
import { foldTicketCounts } from '../../src/desk/tickets/counts'
import { listTickets } from '../../src/desk/tickets/list'
import { createDatabase } from './database'
import { type Explaining, openExplaining, pagesOf, scansOf } from './explaining'
import { insertMailbox } from './factories'

/**
 * The parts of an organization by which lists are filtered: each has the same share of its tickets, however many these
 * are.
 */
type Desk = {
  scope: Scope
  tickets: number
  contact_id: string
  company_id: string
  mailbox_id: string
  user_id: string
  labels: string[]
}

const SMALL = 10_000
/** Long ago: nothing of then is news. */
const START = Date.parse('2023-01-01T00:00:00Z')
const DAYS = 1000
const LABELLED_AT_ONCE = 2000
/**
 * So many tickets wait, sleep, are unread, have a draft and belong to the mailbox, however many there are: their number
 * is counted.
 */
const RARE = 20
/** News are older than that. */
const NEWS_MS = 3_600_000
/** Pages of indexes that are deeper, and of more changes that lie side by side. */
const MOST_GROWTH = 2
const MORE_PAGES = 60
/** A far page reads the numbers of all days and statuses, wherever these rows lie. */
const PAGES_OF_DAYS = DAYS * 4
/**
 * Lists that are asked for so seldom that they may be planned anew each time. Of unread ones the planner knows only by
 * the moment at which they begin how few they are.
 */
const SELDOM = / page| by change$|^all messages$|^unread/
/** Tables that no list may read as a whole. */
const LARGE = /^Seq Scan (tickets|messages|ticket_labels|tallies)$/

/**
 * Measures each list of a small organization and of one of `count` tickets. Fails when one reads much more of the large
 * one.
 */
export async function checkListsOf(count: number) {
  // Pages carry signed cursors.
  useSecrets('a secret key that only tests use')
  const database = await createDatabase()
  const explaining = await openExplaining(database.url)
  try {
    const [small, large] = [await fillDesk(explaining.sql, SMALL), await fillDesk(explaining.sql, count)]
    await foldAll(database.url)
    await explaining.settle()
    const anew = await plannedAnew(explaining.sql, large)
    expect(anew.filter((name) => !SELDOM.test(name))).toEqual([])
    await explaining.start()
    const found = []
    for (const mode of ['force_custom_plan', 'force_generic_plan']) {
      await explaining.sql`select set_config('plan_cache_mode', ${mode}, false)`
      for (const name of Object.keys(listsOf(small))) {
        const [few, many] = [await measure(explaining, small, name), await measure(explaining, large, name)]
        found.push({ list: `${name}, ${mode}`, small: few.pages, large: many.pages, scans: many.scans })
      }
    }
    const wrong = found.filter(({ list, small, large, scans }) => {
      const is_far = list.includes(' page')
      // Half of all numbers of days are the organization's: to read the whole table costs less than an index.
      const isLarge = (scan: string) => LARGE.test(scan) && !(is_far && scan === 'Seq Scan tallies')
      return large > small * MOST_GROWTH + (is_far ? PAGES_OF_DAYS : MORE_PAGES) || scans.some(isLarge)
    })
    expect(wrong).toEqual([])
    return found.map(({ scans: _, ...pages }) => pages)
  } finally {
    await explaining.close()
    await database.drop()
  }
}

/** Runs the jobs that bring counters up to date, which need the product's pool. */
async function foldAll(url: string) {
  connectDatabase(url, 4)
  await foldTallies(jobConnection())
  await foldTicketCounts(jobConnection())
  await closeDatabase()
}

/** Lists whose statement the server plans each time, which takes longer than reading the page. */
async function plannedAnew(sql: Sql, desk: Desk): Promise<string[]> {
  const anew: string[] = []
  for (const [name, list] of Object.entries(listsOf(desk))) {
    for (let time = 0; time < 8; time++) await list()
    // The server tries five plans for the values given, and then keeps one for all if that is not worse.
    const statements = await sql`
      select from pg_prepared_statements where custom_plans > 5 and statement not like '%pg_prepared_statements%'`
    if (statements.length > anew.length) anew.push(name)
  }
  return anew
}

async function measure({ plansOf }: Explaining, desk: Desk, name: string) {
  const plans = await plansOf(async () => void (await listsOf(desk)[name]!()))
  return { pages: plans.reduce((sum, plan) => sum + pagesOf(plan), 0), scans: [...new Set(plans.flatMap(scansOf))] }
}

/** Every kind of list that the ways of `desk/tickets/find-page.ts` and the tallies are for. */
function listsOf({
  scope,
  tickets,
  contact_id,
  company_id,
  mailbox_id,
  user_id,
  labels,
}: Desk): Record<string, () => Promise<unknown>> {
  const [common, rare] = labels
  const middle = Math.floor(tickets / 40)
  // Without a cursor all are counted.
  const messages = cursorOf({ organization_id: scope.organization_id, name: 'messages', filter: {} }, [ZERO_ID])
  const year = { created_after: START, created_before: START + 365 * 86_400_000 }
  const filters: Record<string, Parameters<typeof listTickets>[1]> = {
    'the list': {},
    'a status': { status: ['closed'] },
    'a priority': { priority: ['urgent'] },
    'an assignee': { assignee_id: user_id },
    'an assignee and a status': { assignee_id: user_id, status: ['open'] },
    'a contact': { contact_id },
    'a company': { company_id },
    'a company and a status': { company_id, status: ['open'] },
    'a label': { label_ids: [common!] },
    'a rare label': { label_ids: [rare!] },
    'a label and a status': { label_ids: [common!], status: ['pending'] },
    'a year': year,
    'a year and a status': { ...year, status: ['resolved'] },
    'by change': { sort: '-updated_at' },
    'by priority': { sort: '-priority' },
    'by last message': { sort: '-last_message_at' },
    'by last message, oldest first': { sort: 'last_message_at' },
    'by wait': { sort: 'waiting_since' },
    'by wait, shortest first': { sort: '-waiting_since' },
    unread: { unread: true },
    'unread by last message': { unread: true, sort: '-last_message_at' },
    waiting: { waiting: true },
    'waiting by wait': { waiting: true, sort: 'waiting_since' },
    'with a draft': { has_draft: true },
    'with a draft by last message': { has_draft: true, sort: '-last_message_at' },
    'a mailbox': { mailbox_id },
    'a mailbox by last message': { mailbox_id, sort: '-last_message_at' },
    asleep: { snoozed: true },
    'a label by change': { label_ids: [common!], sort: '-updated_at' },
    'the middle page': { page: middle },
    'the middle page of a status': { page: Math.floor(middle / 4), status: ['open'] },
    'the last page': { page: middle * 2 },
  }
  const lists = Object.entries(filters).map(([name, filter]) => [name, () => listTickets(scope, filter)] as const)
  return {
    ...Object.fromEntries(lists),
    labels: () => listLabels(scope, {}),
    'one label': () => getLabel(scope, common!),
    companies: () => listCompanies(scope, {}),
    contacts: () => listContacts(scope, {}),
    'all messages': () => listAllMessages(scope, { cursor: messages }),
    'contacts of a company': () => listContacts(scope, { company_id }),
  }
}

async function fillDesk(sql: Sql, tickets: number): Promise<Desk> {
  const organization_id = newId()
  const user_id = newId()
  await sql`insert into organizations (id, name) values (${organization_id}, 'Acme')`
  await sql`
    insert into users (id, email, email_key, name, password_hash) values (${user_id}, ${user_id}, ${user_id}, 'Ada', '')`
  await sql`insert into memberships (organization_id, user_id) values (${organization_id}, ${user_id})`
  const [companies, contacts, labels] = [20, 100, 20].map((count) => Array.from({ length: count }, newId))
  await sql`
    insert into companies (organization_id, id, name)
    select ${organization_id}, id, 'Company' from unnest(${companies!}::uuid[]) as id`
  await sql`
    insert into contacts (organization_id, id, name, email, email_key, company_id, search)
    select ${organization_id}, id, 'Carla', id::text, id::text, (${companies!}::uuid[])[1 + n % 20], id::text
    from unnest(${contacts!}::uuid[]) with ordinality as c (id, n)`
  await sql`
    insert into labels (organization_id, id, name, color)
    select ${organization_id}, id, id::text, '#000000' from unnest(${labels!}::uuid[]) as id`
  const scope = { sql, db: undefined as never, organization_id, actor: personOf(user_id) } satisfies Scope
  const mailbox = await insertMailbox(scope)
  const is_rare = sql.unsafe(`n % ${tickets / RARE} = 0`)
  const idAt = (time_ms: Fragment) =>
    sql`(lpad(to_hex(${time_ms}), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid`
  const ticket_id = idAt(sql`${START} + n * (${DAYS} * 86400000::bigint / ${tickets})`)
  const news_id = idAt(sql`${Date.now() - NEWS_MS}::bigint`)
  const any = (of: number, salt: number) => sql.unsafe(`(1 + (hashint8(n * 64 + ${salt}) & 1048575) % ${of})`)
  await sql`
    insert into tickets (organization_id, id, number, code, subject, status, priority, contact_id, company_id, assignee_id,
      updated_at, last_message_id, waiting_message_id, message_count, attachment_count, snoozed_until, mailbox_id)
    select ${organization_id}, ${ticket_id}, n, 'TKT-' || n, 'Ticket ' || n,
      case when ${is_rare} then 'pending' else (array['open', 'pending', 'resolved', 'closed'])[${any(4, 0)}] end,
      (array['low', 'normal', 'high', 'urgent'])[${any(4, 1)}], (${contacts!}::uuid[])[${any(100, 2)}],
      (${companies!}::uuid[])[${any(20, 3)}], case when ${any(3, 4)} = 1 then ${user_id}::uuid end,
      timestamptz '2026-06-01 00:00Z' + make_interval(secs => ${any(1_000_003, 5)}),
      case when ${is_rare} then ${news_id} else ${ticket_id} end, case when ${is_rare} then ${news_id} end, 1, 0,
      case when ${is_rare} then timestamptz '2099-01-01 00:00Z' end, case when ${is_rare} then ${mailbox.id}::uuid end
    from generate_series(1::bigint, ${tickets}::bigint) as n`
  await sql`
    insert into messages (organization_id, id, ticket_id, body, body_html, direction, sender_name)
    select organization_id, last_message_id, id, 'Yes', 'Yes', 'inbound', 'Carla' from tickets
    where organization_id = ${organization_id}`
  await sql`
    insert into drafts (organization_id, id, ticket_id, author_type, author_id, body, body_html, text, is_internal)
    select organization_id, id, id, 'user', ${user_id}, 'Yes', 'Yes', 'Yes', false from tickets
    where organization_id = ${organization_id} and snoozed_until is not null`
  await sql`
    insert into read_marks (organization_id, ticket_id, user_id, message_id, unread)
    select organization_id, id, ${user_id}, last_message_id, false from tickets
    where organization_id = ${organization_id} and snoozed_until is null and number % 3 = 0`
  // The first label is on half of all tickets, the last one on 20. In a statement with all of them the trigger that
  // counts labels would join lists of them for minutes.
  for (let first = 1; first <= tickets; first += LABELLED_AT_ONCE) {
    await sql`
      insert into ticket_labels (organization_id, ticket_id, label_id)
      select organization_id, id, l.label_id
      from unnest(${labels!}::uuid[]) with ordinality as l (label_id, place)
      join tickets on organization_id = ${organization_id} and number between ${first} and ${first + LABELLED_AT_ONCE - 1}
        and case
          when place = 20 then number % (${tickets} / 20) = 0
          else (hashint8(number * 64 + 10 + place) & 1048575) % (1 + place) = 0
        end`
  }
  const [common, rare] = [labels![0]!, labels![19]!]
  const [contact_id, company_id, mailbox_id] = [contacts![7]!, companies![7]!, mailbox.id]
  return { scope, tickets, contact_id, company_id, mailbox_id, user_id, labels: [common, rare] }
}

function personOf(id: string): Actor {
  return { type: 'user', id, name: 'Ada', email: id, role: 'agent' }
}
