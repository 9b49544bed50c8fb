/**
 * Lists of an organization with many tickets: the totals, and the pages that are found by other ways than the first.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { foldTallies } from '../../../src/desk/tallies/tallies'
import { type Client, createOrganization, startApi, stopApi } from '../../support/api'
import { createContact, createLabel } from '../../support/factories'
import { walk } from '../../support/walk'

const TICKETS = 12_000

let desk: Awaited<ReturnType<typeof fillDesk>>

beforeAll(async () => {
  await startApi()
  desk = await fillDesk()
})
afterAll(stopApi)

/** Ticket n was made n * 10 minutes after the start of 2026. */
async function fillDesk() {
  const { agent, scope } = await createOrganization()
  const { sql, organization_id } = scope
  const { id: contact_id } = await createContact(agent)
  const [even, third, tenth] = [await createLabel(agent), await createLabel(agent), await createLabel(agent)]
  const start = Date.parse('2026-01-01T00:00:00Z')
  await sql`
    insert into tickets (organization_id, id, number, code, subject, contact_id, assignee_id, status, priority, updated_at)
    select ${organization_id},
      (lpad(to_hex(${start}::bigint + n * 600000::bigint), 12, '0') || '7000' || '8000' || lpad(to_hex(n), 12, '0'))::uuid,
      n, 'TKT-' || n, 'x', ${contact_id}, case when n % 4 > 0 then ${agent.user_id}::uuid end,
      (array['open', 'pending', 'resolved', 'closed'])[1 + n % 4], case when n % 5 = 0 then 'high' else 'normal' end,
      timestamptz '2026-06-01 00:00Z' + make_interval(mins => (n * 7919) % 100003)
    from generate_series(1, ${TICKETS}::int) n`
  for (const [label, every] of [
    [even, 2],
    [third, 3],
    [tenth, 10],
  ] as const) {
    await sql`
      insert into ticket_labels (organization_id, ticket_id, label_id)
      select organization_id, id, ${label.id} from tickets
      where organization_id = ${organization_id} and number % ${every} = 0`
  }
  // Every second one has a mark of its reader, every sixth news.
  await sql`
    insert into read_marks (organization_id, ticket_id, user_id, unread)
    select organization_id, id, ${agent.user_id}, number % 6 = 0 from tickets
    where organization_id = ${organization_id} and number % 2 = 0`
  await foldTallies(scope)
  // As a job does within seconds (`base/db/statistics.ts`).
  await sql`analyze tickets, ticket_labels, tallies, read_marks`
  return { agent, scope, contact_id, even, third, tenth }
}

async function metaOf(client: Client, query: string) {
  const { status, body } = await client.get(`/tickets?${query}&per_page=1`)
  expect(status).toBe(200)
  const { total, total_is_exact } = body.meta
  return [total, total_is_exact]
}

async function numbersOf(client: Client, query: string): Promise<number[]> {
  const { status, body } = await client.get(`/tickets?${query}`)
  expect(status).toBe(200)
  return body.data.map(({ code }: { code: string }) => Number(code.slice(4)))
}

/** The numbers from 1 to the last that the condition holds for, newest first. */
function those(condition: (n: number) => boolean): number[] {
  return Array.from({ length: TICKETS }, (_, index) => TICKETS - index).filter(condition)
}

describe('the total of a list', () => {
  test('is exact without filters, for a single one, and for that one with a status', async () => {
    const { agent, contact_id, even } = desk
    const filters: [query: string, condition: (n: number) => boolean][] = [
      ['', () => true],
      [`contact_id=${contact_id}`, () => true],
      [`assignee_id=${agent.user_id}`, (n) => n % 4 > 0],
      [`label_ids=${even.id}`, (n) => n % 2 === 0],
      ['priority=normal', (n) => n % 5 > 0],
      ['created_after=2026-01-02T12:00:00Z', (n) => n > 6 * 36],
      ['created_before=2026-03-25T07:10:00Z', (n) => n < 6 * (83 * 24 + 7) + 1],
      ['created_after=2026-01-02T12:00:00Z&created_before=2026-03-20T00:00:00Z', (n) => n > 6 * 36 && n < 6 * 24 * 78],
      ['created_after=2026-01-02T12:00:00Z&created_before=2026-01-02T14:00:00Z', (n) => n > 6 * 36 && n < 6 * 38],
      ['created_after=2026-01-01T22:00:00Z&created_before=2026-01-02T02:00:00Z', (n) => n > 6 * 22 && n < 6 * 26],
    ]
    for (const [query, condition] of filters) {
      expect([query, ...(await metaOf(agent, query))]).toEqual([query, those(condition).length, true])
      const closed = `${query}&status=closed`
      const count = those((n) => condition(n) && n % 4 === 3).length
      expect([closed, ...(await metaOf(agent, closed))]).toEqual([closed, count, true])
    }
  })

  test('of several filters says 10000 for more, and that it is not exact', async () => {
    const { agent, contact_id, even, third } = desk
    const exact = those((n) => n % 2 === 0 || n % 3 === 0).length
    expect(await metaOf(agent, `label_ids=${even.id},${third.id}`)).toEqual([exact, true])
    const [from, to] = ['created_after=2025-12-31T00:00:00Z', 'created_before=2026-12-31T00:00:00Z']
    expect(await metaOf(agent, `contact_id=${contact_id}&${from}&${to}`)).toEqual([10_000, false])
    expect(await metaOf(agent, `contact_id=${contact_id}&priority=high`)).toEqual([TICKETS / 5, true])
    const page = await agent.get(`/tickets?contact_id=${contact_id}&${from}&page=500`)
    expect(page.body.meta).toMatchObject({ total: 10_000, total_is_exact: false, page: 500, per_page: 20 })
    expect(page.body.data[0].code).toBe('TKT-2020')
    const next = await agent.get(`/tickets?contact_id=${contact_id}&${from}&per_page=1`)
    const walked = await agent.get(`/tickets?contact_id=${contact_id}&${from}&cursor=${next.body.meta.next_cursor}`)
    expect(Object.keys(walked.body.meta).sort()).toEqual(['next_cursor', 'per_page'])
  })
})

describe('a page of a large list', () => {
  test('far from the first is the one that comes there', async () => {
    const { agent } = desk
    const all = those(() => true)
    for (const page of [20, 21, 22, 60, 119, 120, 121]) {
      const rows = all.slice((page - 1) * 100, page * 100)
      expect(await numbersOf(agent, `per_page=100&page=${page}`)).toEqual(rows)
      const first = all.toReversed().slice((page - 1) * 100, page * 100)
      expect(await numbersOf(agent, `per_page=100&page=${page}&sort=created_at`)).toEqual(first)
    }
    const closed = those((n) => n % 4 === 3)
    for (const page of [21, 30, 31]) {
      const rows = closed.slice((page - 1) * 100, page * 100)
      expect(await numbersOf(agent, `per_page=100&page=${page}&status=closed`)).toEqual(rows)
    }
  })

  test('of labels or of an assignee has each ticket once, in order', async () => {
    const { agent, even, third, tenth } = desk
    const lists: [query: string, condition: (n: number) => boolean][] = [
      [`label_ids=${even.id}`, (n) => n % 2 === 0],
      [`label_ids=${even.id},${third.id},${tenth.id}`, (n) => n % 2 === 0 || n % 3 === 0],
      [`label_ids=${third.id}&status=open&priority=high`, (n) => n % 60 === 0],
      [`assignee_id=${agent.user_id}`, (n) => n % 4 > 0],
      [`assignee_id=${agent.user_id}&label_ids=${tenth.id}`, (n) => n % 4 > 0 && n % 10 === 0],
    ]
    for (const [query, condition] of lists) {
      const all = those(condition)
      for (const page of [1, 2, 50, 190, 250, 300, 301, 450]) {
        const rows = all.slice((page - 1) * 20, page * 20)
        expect(await numbersOf(agent, `${query}&page=${page}`)).toEqual(rows)
        const first = all.toReversed().slice((page - 1) * 20, page * 20)
        expect(await numbersOf(agent, `${query}&page=${page}&sort=created_at`)).toEqual(first)
      }
    }
  })

  test('in another order, and of other filters, is the one that comes there', async () => {
    const { agent, contact_id } = desk
    const changed = (n: number) => (n * 7919) % 100003
    const lists: [query: string, all: number[]][] = [
      ['sort=-updated_at', those(() => true).toSorted((a, b) => changed(b) - changed(a))],
      ['sort=updated_at', those(() => true).toSorted((a, b) => changed(a) - changed(b))],
      [`contact_id=${contact_id}`, those(() => true)],
      ['priority=normal', those((n) => n % 5 > 0)],
    ]
    for (const [query, all] of lists) {
      for (const page of [30, 61, 95, 96, 97, 120, 121]) {
        const rows = all.slice((page - 1) * 100, page * 100)
        expect(await numbersOf(agent, `${query}&per_page=100&page=${page}`)).toEqual(rows)
      }
    }
  })

  test('of what is unread or read is the one that comes there, with its number', async () => {
    const { agent, third } = desk
    const changed = (n: number) => (n * 7919) % 100003
    const lists: [query: string, condition: (n: number) => boolean, pages: number[]][] = [
      ['unread=true', (n) => n % 6 === 0, [1, 2, 20, 21]],
      ['unread=false', (n) => n % 6 > 0, [1, 2, 60, 100]],
      ['unread=true&status=open&priority=normal', (n) => n % 12 === 0 && n % 5 > 0, [1, 8, 9]],
      [`unread=false&label_ids=${third.id}`, (n) => n % 6 === 3, [1, 20, 21]],
    ]
    for (const [query, condition, pages] of lists) {
      const all = those(condition)
      expect(await metaOf(agent, query)).toEqual([all.length, true])
      for (const page of pages) {
        const part = (rows: number[]) => rows.slice((page - 1) * 100, page * 100)
        const address = `${query}&per_page=100&page=${page}`
        expect(await numbersOf(agent, address)).toEqual(part(all))
        expect(await numbersOf(agent, `${address}&sort=created_at`)).toEqual(part(all.toReversed()))
        const newest = all.toSorted((a, b) => changed(b) - changed(a))
        expect(await numbersOf(agent, `${address}&sort=-updated_at`)).toEqual(part(newest))
      }
    }
  })

  test('of labels is sorted as asked for, however many tickets have them', async () => {
    const { agent, even, third, tenth } = desk
    const changed = (n: number) => (n * 7919) % 100003
    const lists: [label_ids: string, condition: (n: number) => boolean][] = [
      [even.id, (n) => n % 2 === 0],
      [`${even.id},${third.id}`, (n) => n % 2 === 0 || n % 3 === 0],
      [tenth.id, (n) => n % 10 === 0],
    ]
    for (const [label_ids, condition] of lists) {
      const all = those(condition).toSorted((a, b) => changed(b) - changed(a))
      expect(await numbersOf(agent, `label_ids=${label_ids}&sort=-updated_at&page=3`)).toEqual(all.slice(40, 60))
      const high = those((n) => condition(n) && n % 5 === 0)
      expect(await numbersOf(agent, `label_ids=${label_ids}&sort=-priority`)).toEqual(high.slice(0, 20))
    }
  })
})

/** Walks from the cursor of a refused page to the end of the list. */
async function numbersBehind(client: Client, query: string, page: number): Promise<number[]> {
  const refused = await client.get(`/tickets?${query}&page=${page}`)
  const { errors, cursor } = refused.body.error.details
  expect([refused.status, refused.body.error.code, errors[0].path]).toEqual([422, 'VALIDATION_ERROR', '/query/page'])
  const { rows } = await walk(client, `/tickets?${query}&cursor=${cursor}`)
  return rows.map(({ code }) => Number(code.slice(4)))
}

describe('a list with several filters, or with one in another order,', () => {
  const changed = (n: number) => (n * 7919) % 100003
  const by_change = those(() => true).toSorted((a, b) => changed(b) - changed(a))

  test('ends by number at 10000 rows, and the cursor of the refusal shows exactly the others', async () => {
    const { agent, contact_id } = desk
    const lists: [query: string, all: number[]][] = [
      [`contact_id=${contact_id}&created_after=2025-12-31T00:00:00Z`, those(() => true)],
      [`contact_id=${contact_id}&sort=-updated_at`, by_change],
    ]
    for (const [query, all] of lists) {
      expect(await numbersOf(agent, `${query}&per_page=100&page=100`)).toEqual(all.slice(9900, 10_000))
      for (const page of [101, 3000]) {
        expect(await numbersBehind(agent, `${query}&per_page=100`, page)).toEqual(all.slice(10_000))
      }
      // 334 pages of 30 rows.
      expect(await numbersOf(agent, `${query}&per_page=30&page=334`)).toEqual(all.slice(9990, 10_020))
      expect(await numbersBehind(agent, `${query}&per_page=30`, 335)).toEqual(all.slice(10_020))
    }
  })

  test('has empty pages behind its end when it has fewer rows', async () => {
    const { agent, contact_id } = desk
    const query = `contact_id=${contact_id}&priority=high`
    const { status, body } = await agent.get(`/tickets?${query}&per_page=100&page=3000`)
    expect([status, body.data]).toEqual([200, []])
    expect(body.meta).toMatchObject({ total: TICKETS / 5, total_is_exact: true, page: 3000, next_cursor: null })
  })

  test('has the same rows when its labels are said to be on most tickets of the organization', async () => {
    const { agent, scope, even, third } = desk
    const label_ids = `${even.id},${third.id}`
    const all = those((n) => n % 2 === 0 || n % 3 === 0)
    const changed_last = by_change.filter((n) => n % 2 === 0 || n % 3 === 0)
    const lists: [query: string, rows: number[]][] = [
      [`label_ids=${label_ids}`, all],
      [`label_ids=${label_ids}&sort=-updated_at`, changed_last],
      [`label_ids=${label_ids}&sort=-updated_at&status=open`, changed_last.filter((n) => n % 4 === 0)],
      [`label_ids=${label_ids}&priority=high`, all.filter((n) => n % 5 === 0)],
      // The first tickets in this order have none with the status.
      [`label_ids=${label_ids}&sort=-priority&status=open`, [...all].filter((n) => n % 4 === 0).toSorted(byPriority)],
    ]
    const { sql, organization_id } = scope
    await sql`
      insert into tally_changes (organization_id, kind, key, status, n)
      select ${organization_id}, 'tickets_of_label', unnest(${[even.id, third.id]}::uuid[]), 'open', 1000000`
    for (const [query, rows] of lists) {
      for (const page of [1, 3, 40]) {
        const answer = await agent.get(`/tickets?${query}&page=${page}`)
        expect([query, answer.body.meta.total]).toEqual([query, rows.length])
        const numbers = answer.body.data.map(({ code }: { code: string }) => Number(code.slice(4)))
        expect([query, ...numbers]).toEqual([query, ...rows.slice((page - 1) * 20, page * 20)])
      }
    }
  })
})

function byPriority(a: number, b: number): number {
  return Number(b % 5 === 0) - Number(a % 5 === 0) || b - a
}
