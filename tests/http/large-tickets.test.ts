/** Tickets whose messages are too large for memory: the answers are the same, written while rows are read. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Server } from 'bun'
import { newId } from '../../src/base/db/columns'
import { connection } from '../../src/base/db/pool'
import type { Scope } from '../../src/base/scope'
import { jsonInSteps } from '../../src/http/request/steps'
import { streamOf } from '../../src/http/request/stream'
import { api, type Client, createOrganization, startApi, stopApi } from '../support/api'
import { insertTicket } from '../support/factories'
import { until } from '../support/service'

let server: Server<undefined>

beforeAll(async () => {
  await startApi()
  server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: (request) => api().handle(request) })
})
afterAll(async () => {
  await server.stop(true)
  await stopApi()
})

const TEXT = 'Grüße – “quoted” \\ and\nmore; '.repeat(10_000)

/** Messages of 300 kB, straight into the database: what is read at once ends with the fourth of them. */
async function createLargeTicket(count = 12) {
  const organization = await createOrganization()
  const { scope } = organization
  const ticket = await insertTicket(scope)
  const ids = Array.from({ length: count }, () => newId())
  await scope.sql`
    insert into messages (organization_id, id, ticket_id, body, body_html, is_internal, direction, sender_name)
    select ${scope.organization_id}, id, ${ticket.id}, n || ${TEXT}, '<p>' || n || '</p>', n = 5,
      case when n = 5 then null else 'inbound' end, 'Carla'
    from unnest(${ids}::uuid[]) with ordinality as m (id, n)`
  await organization.agent.post(`/tickets/${ticket.id}/time-entries`, { duration_minutes: 5, description: 'Reading' })
  return { ...organization, ids, path: `/tickets/${ticket.id}` }
}

/** A request over a socket, whose answer is read by hand. */
function open({ token }: Client, path: string, init: RequestInit = {}) {
  const headers = { authorization: `Bearer ${token}` }
  return fetch(`http://127.0.0.1:${server.port}/api/v1${path}`, { headers, ...init })
}

async function messagesOf(client: Client, path: string, ids: string[]) {
  const messages = []
  for (const id of ids) messages.push((await client.get(`${path}/messages/${id}`)).body.data)
  return messages
}

describe('a ticket with more text than is held at once', () => {
  test('shows every message as it is alone, in order, and its time', async () => {
    const { agent, path, ids } = await createLargeTicket()
    const messages = await messagesOf(agent, path, ids)
    const { status, body, headers } = await agent.get(path)
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('application/json')
    expect(headers.get('x-request-id')).toBeString()
    expect(headers.get('cache-control')).toBe('no-store')
    const [listed] = (await agent.get('/tickets')).body.data
    const entries = (await agent.get('/time-entries')).body.data
    const time_entries = entries.map(({ ticket, ...entry }: { ticket: unknown }) => entry)
    expect(body).toEqual({ data: { ...listed, messages, time_entries } })
    expect(Object.keys(body.data).slice(-2)).toEqual(['messages', 'time_entries'])
    const pages = await Promise.all([
      agent.get(`${path}/messages`),
      agent.get(`${path}/messages?include_internal=false`),
      agent.get(`${path}/messages?per_page=100`),
      agent.get(`${path}/messages?per_page=10`),
      agent.get(`${path}/messages?per_page=7&page=2`),
      agent.get(`${path}/messages?per_page=6&page=2&include_internal=false`),
    ])
    const shown = messages.filter((message) => !message.is_internal)
    expect(pages.map((page) => page.body)).toEqual([
      { data: messages },
      { data: shown },
      { data: messages, meta: { total: 12, page: 1, per_page: 100, next_cursor: null } },
      { data: messages.slice(0, 10), meta: { total: 12, page: 1, per_page: 10, next_cursor: expect.any(String) } },
      { data: messages.slice(7), meta: { total: 12, page: 2, per_page: 7, next_cursor: null } },
      { data: shown.slice(6), meta: { total: 11, page: 2, per_page: 6, next_cursor: null } },
    ])
  })

  test('with many small messages shows them all as well', async () => {
    const { agent, scope, path, ids } = await createLargeTicket(1)
    const added = Array.from({ length: 450 }, () => newId())
    await scope.sql`
      insert into messages (organization_id, id, ticket_id, body, body_html, direction, sender_name)
      select ${scope.organization_id}, id, ${path.split('/')[2]!}, 'Short', '', 'inbound', 'Carla'
      from unnest(${added}::uuid[]) as m (id)`
    const { body } = await agent.get(path)
    expect(body.data.messages.map(({ id }: { id: string }) => id)).toEqual([...ids, ...added])
    expect((await agent.get(`${path}/messages`)).body.data).toEqual(body.data.messages)
    expect((await agent.get(`${path}/messages?page=2&per_page=100`)).body.data).toEqual(
      body.data.messages.slice(100, 200),
    )
  })

  test('has a tag that changes with it and with nothing else', async () => {
    const { agent, scope, path, ids } = await createLargeTicket()
    const tags = [await tagOf(agent, path)]
    expect(await tagOf(agent, path)).toBe(tags[0]!)
    const known = await agent.get(path, { 'if-none-match': tags[0]! })
    expect([known.status, known.text, known.headers.get('etag')]).toEqual([304, '', tags[0]!])
    const changes = [
      () => agent.patch(path, { priority: 'urgent' }),
      () => agent.delete(`${path}/messages/${ids[11]}`),
      () => agent.post(`${path}/messages`, { body: 'Thanks', is_internal: true }),
      () => agent.post(`${path}/time-entries`, { duration_minutes: 7 }),
      () => scope.sql`update messages set email_status = 'bounced' where id = ${ids[10]!}`,
    ]
    for (const change of changes) {
      await change()
      tags.push(await tagOf(agent, path))
    }
    expect(new Set(tags).size).toBe(tags.length)
    expect((await agent.get(path, { 'if-none-match': tags[0]! })).status).toBe(200)
  })

  test('can be changed under the tag of either answer while it holds', async () => {
    const { agent, path } = await createLargeTicket(6)
    const tag = await tagOf(agent, path)
    const changed = await agent.patch(path, { priority: 'urgent' }, { 'if-match': tag })
    expect(changed.status).toBe(200)
    expect((await agent.patch(path, { priority: 'low' }, { 'if-match': tag })).status).toBe(412)
    const again = await agent.patch(path, { priority: 'low' }, { 'if-match': changed.headers.get('etag')! })
    expect([again.status, again.body.data.priority]).toEqual([200, 'low'])
    expect((await agent.delete(path, undefined, { 'if-match': tag })).status).toBe(412)
    expect((await agent.delete(path, undefined, { 'if-match': await tagOf(agent, path) })).status).toBe(204)
  })

  test('is unknown to others, and asked for by HEAD is not read', async () => {
    const { agent, path } = await createLargeTicket(6)
    const { agent: other } = await createOrganization()
    for (const address of [path, `${path}/messages`, `${path}/messages?page=1`]) {
      const answer = await other.get(address)
      expect([answer.status, answer.body.error.code]).toEqual([404, 'TICKET_NOT_FOUND'])
    }
    const headers = { authorization: `Bearer ${agent.token}` }
    const head = await api().handle(new Request(`http://localhost/api/v1${path}`, { method: 'HEAD', headers }))
    expect([head.status, head.headers.get('content-type'), await head.text()]).toEqual([200, 'application/json', ''])
    expect(head.headers.get('content-length')).toBeNull()
  })
})

describe('while a large ticket is read', () => {
  test('what is removed is left out, and what comes is not shown', async () => {
    // More than what sockets hold: the last ones are not read before they are removed.
    const { agent, path, ids, scope } = await createLargeTicket(40)
    const response = await open(agent, path)
    const reader = response.body!.getReader()
    const chunks = [(await reader.read()).value!]
    await scope.sql`delete from messages where id in ${scope.sql([ids[38]!, ids[39]!])}`
    await agent.post(`${path}/messages`, { body: 'Thanks', is_internal: true })
    for (let next = await reader.read(); !next.done; next = await reader.read()) chunks.push(next.value)
    const { data } = JSON.parse(Buffer.concat(chunks).toString())
    expect(data.messages.map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 38))
  })

  test('a reader who stops or leaves holds no connection and keeps no one waiting', async () => {
    const { agent, path, scope } = await createLargeTicket(40)
    const aborts = Array.from({ length: 12 }, () => new AbortController())
    const readers = await Promise.all(
      aborts.map(async ({ signal }) => (await open(agent, path, { signal })).body!.getReader()),
    )
    for (const reader of readers) await reader.read()
    await until('nobody uses the database', async () => (await busyConnections(scope)) === 0)
    expect((await agent.get(path)).body.data.messages).toHaveLength(40)
    for (const abort of aborts) abort.abort()
    expect((await agent.get(path)).body.data.messages).toHaveLength(40)
  })

  test('a failure of the database breaks the connection', async () => {
    const { agent, path } = await createLargeTicket(40)
    const { sql } = connection()
    const response = await open(agent, path)
    expect(response.status).toBe(200)
    const reader = response.body!.getReader()
    await reader.read()
    await sql`alter table messages rename to messages_away`
    const rest = (async () => {
      while (!(await reader.read()).done);
    })()
    await rest.then(
      () => expect.unreachable('the answer ended as if it were whole'),
      () => {},
    )
    await sql`alter table messages_away rename to messages`
    expect((await agent.get(path)).body.data.messages).toHaveLength(40)
  })
})

describe('a stream', () => {
  test('asks for a piece when the one before has been taken, and hands large ones on in parts', async () => {
    let asked = 0
    async function* pieces() {
      for (const length of [10, 150_000, 10]) {
        asked++
        yield 'x'.repeat(length)
      }
    }
    const reader = streamOf(pieces()).getReader()
    const lengths = []
    for (let next = await reader.read(); !next.done; next = await reader.read())
      lengths.push([asked, next.value.length])
    expect(lengths).toEqual([
      [1, 10],
      [2, 65_536],
      [2, 65_536],
      [2, 18_928],
      [3, 10],
    ])
  })

  test('that nobody reads on breaks, and gives back what it holds', async () => {
    const ended = Promise.withResolvers<void>()
    async function* pieces() {
      for (;;) yield 'more'
    }
    const reader = streamOf(pieces(), { stall_ms: 20, end: async () => ended.resolve() }).getReader()
    await reader.read()
    await ended.promise
    await expect(reader.read()).rejects.toThrow('nobody read on')
  })
})

test('JSON in steps is the JSON of the whole', async () => {
  async function* steps(): AsyncGenerator<unknown[]> {
    yield [1, { a: [] }]
    yield []
    yield ['ü"', null]
  }
  async function* none(): AsyncGenerator<unknown[]> {}
  const value = (list: unknown, empty: unknown) => ({
    none: undefined,
    data: { id: 'x', none: undefined, tags: ['y'], list, empty, last: null },
    n: 1,
  })
  let text = ''
  for await (const piece of jsonInSteps(value(steps(), none()))) text += piece
  expect(text).toBe(JSON.stringify(value([1, { a: [] }, 'ü"', null], [])))
})

async function tagOf(client: Client, path: string): Promise<string> {
  const tag = (await client.get(path)).headers.get('etag')
  expect(tag).toMatch(/^"[\w-]{27}\.[\w-]{27}"$/)
  return tag!
}

async function busyConnections({ sql }: Scope): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*) as count from pg_stat_activity
    where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid()`
  return row!.count
}
