import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../src/base/db/columns'
import { useSecrets } from '../../src/base/secrets'
import { type Answer, type Client, createOrganization, type Organization, startApi, stopApi } from '../support/api'
import { isForCustomers } from '../support/customers'
import { type Endpoint, pathWith, readEndpoints } from '../support/endpoints'
import { createCompany, createContact, createLabel, createTicket, logTime } from '../support/factories'
import { walk, withCursor } from '../support/walk'
import { createWorld, goodBody, importEmail, type World } from '../support/world'

let organization: Organization
let world: World
let lists: Endpoint[]

beforeAll(async () => {
  await startApi()
  organization = await createOrganization()
  world = await createWorld(organization)
  const endpoints = await membersEndpoints()
  lists = endpoints.filter(({ method, query }) => method === 'GET' && query.cursor)
  // Three more rows in every list that rows are posted to; events, timelines and the audit log fill by themselves.
  for (const { path, method, name } of endpoints) {
    if (method !== 'POST' || !lists.some((list) => list.path === path) || path === '/inbound-messages') continue
    for (let row = 0; row < 3; row++) {
      const answer = await organization.admin.post(pathWith(path, world), goodBody(name, world))
      if (answer.status !== 201) throw new Error(`${name} answered ${answer.status} ${answer.text}`)
    }
  }
  // Nothing sends them here.
  await organization.scope.sql`update messages set email_status = 'sent' where direction = 'outbound'`
  for (let row = 0; row < 3; row++) {
    await importEmail(organization.admin, world.mailbox_id, `Mail ${row}`)
    await logTime(organization.admin, world.ticket_id)
    const member = await organization.addMember('agent')
    await member.post(`/tickets/${world.ticket_id}/timer/start`)
    await member.post(`/tickets/${world.ticket_id}/drafts`, { body: 'Soon' })
  }
})
afterAll(stopApi)

/** Without those of customers (`tests/desk/portal`), and the feed, which has no last page (`tests/delivery/events`). */
async function membersEndpoints(): Promise<Endpoint[]> {
  return (await readEndpoints()).filter((endpoint) => !isForCustomers(endpoint) && endpoint.name !== 'GET /events')
}

/** The cursor of the second page of a list. */
async function cursorOf(client: Client, list: string): Promise<string> {
  const { body } = await client.get(list)
  expect(body.meta.next_cursor).toBeString()
  return body.meta.next_cursor
}

function expectRefused({ status, body }: Answer) {
  expect(status).toBe(422)
  expect(body.error.code).toBe('VALIDATION_ERROR')
  expect(body.error.details.errors.map(({ path }: { path: string }) => path)).toEqual(['/query/cursor'])
}

describe('a list with pages', () => {
  test('takes a cursor, whichever it is', async () => {
    const paged = (await membersEndpoints()).filter(({ query }) => query.page || query.per_page)
    expect(paged.map(({ name }) => name)).toEqual(lists.map(({ name }) => name))
    expect(lists.length).toBeGreaterThanOrEqual(15)
  })

  test('shows by cursor the rows of its pages in their order, and no total', async () => {
    for (const { path } of lists) {
      const list = pathWith(path, world)
      const numbered = await allPages(organization.admin, `${list}?per_page=2`)
      const { rows, metas } = await walk(organization.admin, `${list}?per_page=2`)
      expect([list, rows.length > 2]).toEqual([list, true])
      expect(idsOf(rows)).toEqual(idsOf(numbered))
      expect(new Set(idsOf(rows)).size).toBe(rows.length)
      for (const meta of metas.slice(1)) {
        expect(meta).toEqual({ per_page: 2, next_cursor: meta === metas.at(-1) ? null : expect.any(String) })
      }
    }
  })

  test('of tickets shows by cursor what its pages show, with every filter and sort', async () => {
    const { agent } = await createOrganization()
    const contact = await createContact(agent, { company_id: (await createCompany(agent)).id })
    const labels = [await createLabel(agent), await createLabel(agent)].map(({ id }) => id)
    for (let n = 0; n < 8; n++) {
      await createTicket(agent, {
        subject: `Printer ${n}`,
        contact_id: contact.id,
        priority: n % 3 ? 'high' : 'low',
        label_ids: n % 2 ? labels : labels.slice(1),
        ...(n % 4 && { assignee_id: agent.user_id }),
      })
    }
    const filters = ['', 'status=open', 'priority=high', 'search=printer', `assignee_id=${agent.user_id}`]
    filters.push(`contact_id=${contact.id}`, `company_id=${contact.company.id}`, 'created_after=2026-01-01T00:00:00Z')
    filters.push(`label_ids=${labels}`, `label_ids=${labels[1]}`, `status=open&assignee_id=${agent.user_id}`)
    filters.push(`search=printer&label_ids=${labels}`, `company_id=${contact.company.id}&status=open&priority=low`)
    for (const sort of ['created_at', '-created_at', '-updated_at', 'priority', '-priority']) {
      for (const filter of filters) {
        const list = `/tickets?per_page=3&sort=${sort}&${filter}`
        const numbered = await allPages(agent, list)
        expect([list, numbered.length > 2]).toEqual([list, true])
        expect([list, idsOf((await walk(agent, list)).rows)]).toEqual([list, idsOf(numbered)])
      }
    }
  })

  test('has a next cursor on every page but the last', async () => {
    for (const { path } of lists) {
      const list = pathWith(path, world)
      const { total } = (await organization.admin.get(`${list}?page=1`)).body.meta
      const last_page = Math.ceil(total / 2)
      const cursorAt = async (page: number) =>
        (await organization.admin.get(`${list}?per_page=2&page=${page}`)).body.meta.next_cursor
      expect([list, await cursorAt(last_page - 1)]).toEqual([list, expect.any(String)])
      expect([list, await cursorAt(last_page)]).toEqual([list, null])
      expect([list, await cursorAt(last_page + 1)]).toEqual([list, null])
    }
  })

  test('goes on from any page by number', async () => {
    const { admin } = organization
    const all = (await admin.get('/audit-log?per_page=100')).body.data
    const third = await admin.get('/audit-log?per_page=3&page=3')
    const next = await admin.get(`/audit-log?per_page=5&cursor=${third.body.meta.next_cursor}`)
    expect(idsOf(next.body.data)).toEqual(idsOf(all.slice(9, 14)))
  })

  test('of labels or messages is paged by a cursor alone', async () => {
    const { admin } = organization
    for (const list of ['/labels', `/tickets/${world.ticket_id}/messages`]) {
      const cursor = await cursorOf(admin, `${list}?per_page=1`)
      const { body } = await admin.get(`${list}?cursor=${cursor}`)
      expect(body.meta).toEqual({ per_page: 20, next_cursor: null })
      expect(idsOf(body.data)).toEqual(idsOf((await admin.get(list)).body.data.slice(1)))
    }
  })

  test('of time entries has no totals with a cursor', async () => {
    const { admin } = organization
    const cursor = await cursorOf(admin, '/time-entries?per_page=1')
    expect((await admin.get(`/time-entries?cursor=${cursor}`)).body.meta).toEqual({ per_page: 20, next_cursor: null })
  })
})

describe('a cursor', () => {
  test('may be used with another per_page, by another member, and as often as wished', async () => {
    const { admin, agent } = organization
    const cursor = await cursorOf(admin, '/contacts?per_page=1')
    const one = await admin.get(`/contacts?per_page=1&cursor=${cursor}`)
    const many = await agent.get(`/contacts?per_page=100&unknown=1&cursor=${cursor}`)
    expect(many.body.data[0]).toEqual(one.body.data[0])
    expect(many.body.meta).toEqual({ per_page: 100, next_cursor: null })
    expect((await admin.get(`/contacts?per_page=1&cursor=${cursor}`)).body).toEqual(one.body)
  })

  test('is refused with page', async () => {
    const cursor = await cursorOf(organization.admin, '/tickets?per_page=1')
    expectRefused(await organization.admin.get(`/tickets?page=2&cursor=${cursor}`))
  })

  test('is refused when it was made up or changed', async () => {
    const { admin } = organization
    const cursor = await cursorOf(admin, '/tickets?per_page=1')
    const bytes = Buffer.from(cursor, 'base64url')
    const forged = ['', 'x', 'null', '%F0%9F%92%A5', `${cursor}A`, `${cursor}=`, cursor.slice(1), cursor.slice(0, -4)]
    for (let at = 0; at < bytes.length; at += 7) {
      const changed = Buffer.from(bytes)
      changed[at]! ^= 1
      forged.push(changed.toString('base64url'))
    }
    forged.push(Buffer.from(JSON.stringify([newId()])).toString('base64url'))
    for (const text of forged) expectRefused(await admin.get(`/tickets?cursor=${text}`))
  })

  test('is refused in another organization', async () => {
    const other = await createOrganization()
    for (let n = 0; n < 2; n++) await createTicket(other.agent)
    expectRefused(await organization.agent.get(`/tickets?cursor=${await cursorOf(other.agent, '/tickets?per_page=1')}`))
  })

  test('is refused by every other list', async () => {
    const { admin } = organization
    const paths = lists.map(({ path }) => pathWith(path, world))
    for (const [index, list] of paths.entries()) {
      const cursor = await cursorOf(admin, `${list}?per_page=1`)
      const others = [paths[(index + 1) % paths.length]!, paths[(index + 5) % paths.length]!]
      for (const other of others) expectRefused(await admin.get(withCursor(other, cursor)))
    }
  })

  test('is refused by the same list of another ticket', async () => {
    const { agent } = organization
    const other = await createTicket(agent, { description: 'Other' })
    for (const part of ['messages', 'activity', 'participants']) {
      const cursor = await cursorOf(agent, `/tickets/${world.ticket_id}/${part}?per_page=1`)
      expectRefused(await agent.get(`/tickets/${other.id}/${part}?cursor=${cursor}`))
    }
  })

  test.each([
    ['/tickets?', 'sort=priority', 'sort=-priority'],
    ['/tickets?', 'sort=updated_at', 'sort=-updated_at'],
    ['/tickets?', '', 'status=open'],
    ['/tickets?', 'search=printer', 'search=fire'],
    ['/contacts?', 'sort=name', ''],
    ['/contacts?', '', 'email=carl@customer.example'],
    ['/time-entries?', 'billable=true', 'billable=false'],
    ['/audit-log?', '', 'action=user.created'],
  ])('of %s%s is refused with other filters or another sort', async (list, made_with, used_with) => {
    const { admin } = organization
    const cursor = await cursorOf(admin, `${list}per_page=1&${made_with}`)
    expect((await admin.get(`${list}per_page=1&${made_with}&cursor=${cursor}`)).status).toBe(200)
    expectRefused(await admin.get(`${list}${used_with}&cursor=${cursor}`))
  })

  test('outlives a change of SECRET_KEY by the previous key', async () => {
    const { agent } = organization
    const cursor = await cursorOf(agent, '/companies?per_page=1')
    const before = (await agent.get(`/companies?cursor=${cursor}`)).body
    useSecrets('another key', 'a secret key that only tests use')
    const [kept] = await signedInAnew(organization, async (client) => client.get(`/companies?cursor=${cursor}`))
    expect(kept!.body).toEqual(before)
    useSecrets('a third key', 'another key')
    const [refused] = await signedInAnew(organization, async (client) => client.get(`/companies?cursor=${cursor}`))
    expectRefused(refused!)
    useSecrets('a secret key that only tests use')
  })

  test('under a path that names nothing is 404, whatever it is', async () => {
    const { admin } = organization
    const unknown = Object.fromEntries(Object.keys(world).map((name) => [name, newId()]))
    for (const { path, ids } of lists) {
      if (ids.length === 0) continue
      for (const query of ['cursor=forged', 'cursor=forged&page=1']) {
        expect((await admin.get(`${pathWith(path, unknown)}?${query}`)).status).toBe(404)
      }
    }
  })

  test('leads past rows with the same value to sort by', async () => {
    const { agent } = await createOrganization()
    const made: string[] = []
    for (let n = 0; n < 9; n++) made.push((await createTicket(agent, { priority: n % 2 ? 'high' : 'low' })).id)
    const expected = [...made.filter((_, n) => n % 2 === 0), ...made.filter((_, n) => n % 2)]
    expect(idsOf((await walk(agent, '/tickets?sort=priority&per_page=2')).rows)).toEqual(expected)
    expect(idsOf((await walk(agent, '/tickets?sort=-priority&per_page=2')).rows)).toEqual(expected.toReversed())
  })

  test('leads past names that differ in case, accents, quotes and control characters', async () => {
    const { agent } = await createOrganization()
    const names = [
      'b',
      'B ',
      'Ä',
      'ä\u0301',
      "o'neil",
      '"x"',
      '\\',
      '\u0001',
      'İstanbul',
      '名前',
      '💥'.repeat(60),
      'b2',
    ]
    for (const name of names) await createContact(agent, { name })
    const all = (await agent.get('/contacts?sort=name')).body.data
    expect(all).toHaveLength(names.length)
    expect(idsOf((await walk(agent, '/contacts?sort=name&per_page=1')).rows)).toEqual(idsOf(all))
    expect(idsOf((await walk(agent, '/contacts?sort=-name&per_page=1')).rows)).toEqual(idsOf(all.toReversed()))
  })

  test('follows the order of days in time entries', async () => {
    const { agent } = await createOrganization()
    const ticket = await createTicket(agent)
    for (const date of ['2026-03-02', '2026-03-01', '2026-03-02', '2026-03-03', '2026-03-01']) {
      await logTime(agent, ticket.id, { date })
    }
    const all = (await agent.get('/time-entries')).body.data
    expect(idsOf((await walk(agent, '/time-entries?per_page=1')).rows)).toEqual(idsOf(all))
  })

  test('goes on where the row that it names was deleted', async () => {
    const { agent } = await createOrganization()
    for (let n = 0; n < 4; n++) await createCompany(agent)
    for (const name of ['a', 'b', 'c', 'd']) await createLabel(agent, { name })
    for (const list of ['/companies', '/labels']) {
      const all = (await agent.get(`${list}?per_page=4`)).body.data
      const cursor = await cursorOf(agent, `${list}?per_page=2`)
      await agent.delete(`${list}/${all[1].id}`)
      expect(idsOf((await agent.get(`${list}?cursor=${cursor}`)).body.data)).toEqual(idsOf(all.slice(2)))
    }
  })
})

async function allPages(client: Client, list: string) {
  const rows: { id: string }[] = []
  for (let page = 1; ; page++) {
    const { data } = (await client.get(`${list}&page=${page}`)).body
    if (data.length === 0) return rows
    rows.push(...data)
  }
}

function idsOf(rows: { id: string }[]): string[] {
  return rows.map(({ id }) => id)
}

/** Requests of a member who has signed in with the present key: access tokens of the previous one do not count. */
async function signedInAnew(
  { addMember }: Organization,
  ...requests: ((client: Client) => Promise<Answer>)[]
): Promise<Answer[]> {
  const client = await addMember('agent')
  return Promise.all(requests.map((request) => request(client)))
}
