import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Scope } from '../../../src/base/scope'
import { organizationNumber } from '../../../src/desk/search/ticket-document'
import { type Client, createOrganization, startApi, stopApi } from '../../support/api'
import { nodeUrls } from '../../support/cluster'
import { createContact, createLabel, createTicket } from '../../support/factories'

beforeAll(() => startApi())
afterAll(stopApi)

/** Tickets of a block (`src/desk/search/blocks.ts`). */
const BLOCK = 16_384

/** The subjects that a search finds, in the order of the list. */
async function search(client: Client, query: string): Promise<string[]> {
  const { status, body } = await client.get(`/tickets?search=${query}`)
  expect(status).toBe(200)
  expect(body.meta).toMatchObject({ total: body.data.length, total_is_exact: true })
  return body.data.map((ticket: { subject: string }) => ticket.subject)
}

/** All ids of a list, walked by cursor. */
async function walk(client: Client, query: string): Promise<string[]> {
  const ids: string[] = []
  for (let cursor = ''; ; ) {
    const { body } = await client.get(`/tickets?${query}&per_page=100${cursor}`)
    ids.push(...body.data.map((ticket: { id: string }) => ticket.id))
    if (body.meta.next_cursor === null || body.data.length === 0) return ids
    cursor = `&cursor=${body.meta.next_cursor}`
  }
}

/** Writes tickets whose documents have the word `fire`, and every second one `even`. @param from the first number */
async function writeTickets(scope: Scope, from: number, count: number): Promise<void> {
  const { sql, organization_id } = scope
  const number = await organizationNumber(scope)
  // Ids of one second each, in the order of the numbers.
  await sql`
    insert into tickets (organization_id, id, number, code, subject)
    select ${organization_id}, (lpad(to_hex(1700000000000 + n * 1000), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid,
      n, 'TKT-' || n, 'Ticket ' || n
    from generate_series(${from}::bigint, ${from + count - 1}::bigint) n`
  // The check of each document's ticket keeps a plan made for an empty table.
  await sql`analyze tickets`
  await sql`
    insert into ticket_search (organization_id, ticket_id, document, size)
    select organization_id, id, array_to_tsvector(array[p || 'fire', p || 'firm' || number % 7, p || '@open', p || '@normal']
      || case when number % 2 = 0 then array[p || 'even'] else '{}' end), 100
    from tickets t cross join lateral (select ${`${number}.`} || (number >> 14) || ':') as prefix (p)
    where organization_id = ${organization_id} and number between ${from} and ${from + count - 1}`
}

describe('a search with filters', () => {
  test('follows status, priority and assignee', async () => {
    const { agent } = await createOrganization()
    const { id } = await createTicket(agent, { subject: 'fire', priority: 'high' })
    const [all, mine] = ['fire&status=open&priority=high', `fire&assignee_id=${agent.user_id}`]
    expect([await search(agent, all), await search(agent, mine)]).toEqual([['fire'], []])
    await agent.patch(`/tickets/${id}`, { status: 'pending', priority: 'low', assignee_id: agent.user_id })
    expect([await search(agent, all), await search(agent, mine)]).toEqual([[], ['fire']])
    expect(await search(agent, 'fire&status=pending&priority=low')).toEqual(['fire'])
    await agent.patch(`/tickets/${id}`, { assignee_id: null, subject: 'fire again' })
    expect(await search(agent, mine)).toEqual([])
    expect(await search(agent, 'fire&status=pending&priority=low')).toEqual(['fire again'])
  })

  test('follows labels, and has any of those that are asked for', async () => {
    const { agent } = await createOrganization()
    const labels = [await createLabel(agent), await createLabel(agent), await createLabel(agent)]
    const [a, b, c] = labels.map((label) => label.id)
    const one = await createTicket(agent, { subject: 'fire one', label_ids: [a] })
    const two = await createTicket(agent, { subject: 'fire two' })
    const found = () => Promise.all([a, b, `${b},${c}`].map((ids) => search(agent, `fire&label_ids=${ids}`)))
    expect(await found()).toEqual([['fire one'], [], []])
    await agent.post(`/tickets/${two.id}/labels`, { label_ids: [b] })
    await agent.patch(`/tickets/${one.id}`, { label_ids: [c] })
    expect(await found()).toEqual([[], ['fire two'], ['fire two', 'fire one']])
    await agent.delete(`/tickets/${two.id}/labels`, { label_ids: [b] })
    expect(await found()).toEqual([[], [], ['fire one']])
    await agent.delete(`/labels/${c}`)
    expect(await found()).toEqual([[], [], []])
  })

  test('knows contacts and times', async () => {
    const { agent } = await createOrganization()
    const contact = await createContact(agent)
    await createTicket(agent, { subject: 'fire of somebody' })
    await createTicket(agent, { subject: 'fire', contact_id: contact.id })
    await createTicket(agent, { subject: 'water', contact_id: contact.id })
    expect(await search(agent, `fire&contact_id=${contact.id}`)).toEqual(['fire'])
    expect(await search(agent, `fire&contact_id=${contact.id}&status=open&sort=-priority`)).toEqual(['fire'])
    expect(await search(agent, `fire&contact_id=${contact.id}&status=closed`)).toEqual([])
    expect(await search(agent, 'fire&created_after=2020-01-01T00:00:00Z')).toHaveLength(2)
    expect(await search(agent, 'fire&created_after=2100-01-01T00:00:00Z')).toEqual([])
    expect(await search(agent, 'fire&created_before=2100-01-01T00:00:00Z&sort=created_at')).toHaveLength(2)
  })

  test('still finds a ticket whose texts were erased by its code', async () => {
    const { agent, admin } = await createOrganization()
    const contact = await createContact(agent)
    const ticket = await createTicket(agent, { subject: 'fire', contact_id: contact.id })
    await agent.patch(`/tickets/${ticket.id}`, { status: 'pending' })
    expect((await admin.post(`/contacts/${contact.id}/erase`)).status).toBe(200)
    expect(await search(agent, 'fire')).toEqual([])
    expect(await search(agent, `${ticket.code}&status=pending`)).toHaveLength(1)
    expect(await search(agent, `${ticket.code}&status=open`)).toEqual([])
  })
})

describe('a search over several blocks', () => {
  test('finds the same in the same order by page and by cursor, in either direction', async () => {
    const { agent, scope } = await createOrganization()
    await writeTickets(scope, BLOCK - 130, 260)
    await writeTickets(scope, 3 * BLOCK - 20, 40)
    const first = await agent.get('/tickets?search=even')
    expect(first.body.meta).toMatchObject({ total: 150, total_is_exact: true })
    expect(first.body.data[0].subject).toBe(`Ticket ${3 * BLOCK + 18}`)
    for (const sort of ['-created_at', 'created_at', 'priority']) {
      const paged: string[] = []
      for (const page of [1, 2]) {
        const { body } = await agent.get(`/tickets?search=even&sort=${sort}&per_page=100&page=${page}`)
        paged.push(...body.data.map((ticket: { id: string }) => ticket.id))
      }
      expect(paged).toHaveLength(150)
      const sorted = paged.toSorted()
      expect(paged).toEqual(sort.startsWith('-') ? sorted.toReversed() : sorted)
      expect(await walk(agent, `search=even&sort=${sort}`)).toEqual(paged)
    }
    const from_block = await agent.get(`/tickets?search=fir&created_after=${timeOf(3 * BLOCK - 1)}`)
    expect(from_block.body.meta.total).toBe(20)
    const before_block = await agent.get(`/tickets?search=fir&created_before=${timeOf(BLOCK)}&sort=created_at`)
    expect(before_block.body.meta.total).toBe(130)
  })

  test('counts up to 10,000 matches, and walks all', async () => {
    const { agent, scope } = await createOrganization()
    // So many blocks that the first of them promise more than the cap.
    await writeTickets(scope, 30 * BLOCK - 5000, 10_000)
    const exact = (await agent.get('/tickets?search=fire')).body.meta
    expect(exact).toMatchObject({ total: 10_000, total_is_exact: true })
    await writeTickets(scope, 1, 500)
    const sorted = ['fir&sort=priority', 'fire&sort=-updated_at', 'fire&sort=created_at', 'fire&page=200']
    for (const query of ['fire', 'fir', 'fire fir', 'fire&status=open', ...sorted]) {
      const { meta, data } = (await agent.get(`/tickets?search=${query}`)).body
      expect([query, meta.total, meta.total_is_exact, data.length]).toEqual([query, 10_000, false, 20])
    }
    expect((await agent.get('/tickets?search=even')).body.meta).toMatchObject({ total: 5250, total_is_exact: true })
    const last = (await agent.get('/tickets?search=fire&per_page=100&page=100')).body
    const behind = await agent.get('/tickets?search=fire&per_page=100&page=105')
    expect([behind.status, behind.body.error.details.cursor]).toEqual([422, last.meta.next_cursor])
    for (const sort of ['-created_at', '-priority']) {
      const ids = await walk(agent, `search=fire&sort=${sort}`)
      expect([sort, ids.length, new Set(ids).size]).toEqual([sort, 10_500, 10_500])
      expect(ids).toEqual(ids.toSorted().toReversed())
    }
  })
})

describe('a document of an older release', () => {
  // On a cluster no older process ever wrote.
  test.skipIf(Boolean(nodeUrls()))(
    'gets its block and its facets at once when an older process writes it after the upgrade',
    async () => {
      const { agent, scope } = await createOrganization()
      const label = await createLabel(agent)
      const one = await createTicket(agent, { subject: 'fire one', label_ids: [label.id] })
      await createTicket(agent, { subject: 'fire two' })
      await forgetBlocks(scope)
      expect(await prefixesOf(scope)).toEqual([`${await organizationNumber(scope)}.0`])
      expect(await search(agent, `fire&label_ids=${label.id}`)).toEqual(['fire one'])
      // As an older process adds a message.
      await scope.sql`
      update ticket_search set document = document || ${`'${await organizationNumber(scope)}:water':1`}::tsvector
      where organization_id = ${scope.organization_id} and ticket_id = ${one.id}`
      expect(await search(agent, 'fire water')).toEqual(['fire one'])
      expect(await prefixesOf(scope)).toEqual([`${await organizationNumber(scope)}.0`])
    },
  )
})

/** The prefixes of the words of the organization's documents. */
async function prefixesOf({ sql, organization_id }: Scope): Promise<string[]> {
  const words = await sql<{ word: string }[]>`
    select distinct split_part(lexeme, ':', 1) as word from ticket_search, unnest(document)
    where organization_id = ${organization_id}`
  return words.map(({ word }) => word)
}

/** The time of creation of a ticket that `writeTickets` wrote. */
function timeOf(number: number): string {
  return new Date(1_700_000_000_000 + number * 1000).toISOString()
}

/** Makes the documents those of a release without blocks and facets. */
async function forgetBlocks(scope: Scope): Promise<void> {
  const { sql, organization_id } = scope
  const number = await organizationNumber(scope)
  const documents = await sql<{ ticket_id: string; facets: string[] }[]>`
    select ticket_id, array(select lexeme from unnest(document) where lexeme like '%:@%') as facets
    from ticket_search where organization_id = ${organization_id}`
  for (const { ticket_id, facets } of documents) {
    await sql`
      update ticket_search set document = replace(ts_delete(document, ${facets}::text[])::text,
        ${`'${number}.0:`}, ${`'${number}:`})::tsvector
      where organization_id = ${organization_id} and ticket_id = ${ticket_id}`
  }
}
