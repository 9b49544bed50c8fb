/** Requests of an organization: they share the pool with others, and what reads ends in time. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { TSchema } from '@sinclair/typebox'
import type { AnyElysia } from 'elysia'
import postgres from 'postgres'
import { type PlaceLimits, sharesOf } from '../../../src/base/db/places'
import { accountsOf, closeDatabase, connectDatabase, connectionOf, readingOf } from '../../../src/base/db/pool'
import { type Connection, transact } from '../../../src/base/db/transact'
import { STEP } from '../../../src/desk/deeds/deeds'
import { type Declarations, readDeclarations } from '../../../src/http/request/declarations'
import { isDatabaseReady } from '../../../src/operate/start/database'
import {
  type Answer,
  api,
  clientWithToken,
  createOrganization,
  type Organization,
  startApi,
  stopApi,
} from '../../support/api'
import { isForCustomers } from '../../support/customers'
import { pathWith, readEndpoints } from '../../support/endpoints'
import { createContact, createTicket } from '../../support/factories'
import { until } from '../../support/service'
import { createWorld, fingerprint, goodBody, goodRaw, type World } from '../../support/world'

const POOL = 6
const SHARE = 2
const MANY = 20

let greedy: Organization
let other: Organization
let holder: postgres.Sql
let watcher: postgres.Sql
let target: string

beforeEach(async () => {
  target = (await startApi(POOL)).url
  greedy = await createOrganization()
  other = await createOrganization()
  holder = postgres(target, { max: 1, onnotice: () => {} })
  watcher = postgres(target, { max: 1 })
})
afterEach(async () => {
  await Promise.all([holder.end(), watcher.end()])
  await stopApi()
})

async function connectWith(places: Partial<PlaceLimits>) {
  await closeDatabase()
  const limits = { statement_ms: 60_000, idle_in_transaction_ms: 60_000, lock_ms: 0 }
  connectDatabase(target, POOL, { places: { wait_ms: 60_000, ...places }, limits })
}

/** Makes every read of labels wait until the end of `work`. */
async function whileLabelsAreLocked<T>(work: () => Promise<T>): Promise<T> {
  await holder`begin`
  await holder`lock table labels in access exclusive mode`
  try {
    return await work()
  } finally {
    await holder`rollback`
  }
}

async function waitingStatements(like = '%'): Promise<number> {
  const [row] = await watcher<{ n: number }[]>`
    select count(*)::integer as n from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query like ${like}`
  return row!.n
}

const waitingReads = () => waitingStatements('%from labels%')

/** Holds all places of an organization and of accounts until what it returns is called. */
async function holdAllPlaces(organization_id: string): Promise<() => Promise<void>> {
  const end = Promise.withResolvers<void>()
  const { all, writes, accounts } = sharesOf(POOL)!
  const askers = Array.from({ length: accounts }, (_, n) => accountsOf(`holder ${n}`))
  const own = Array.from({ length: all }, (_, n) => (n < writes ? connectionOf : readingOf)(organization_id))
  const begun: Promise<void>[] = []
  const held = [...askers, ...own].map((connection: Connection) => {
    const began = Promise.withResolvers<void>()
    begun.push(began.promise)
    return transact(connection, async ({ sql }) => {
      await sql`select 1`
      began.resolve()
      await end.promise
    })
  })
  await Promise.all(begun)
  return async () => {
    end.resolve()
    await Promise.all(held)
  }
}

const BUSY = 'The organization, or the account, asks too much at the same time'

/** The needs of some routes beside a good body to reach the database. */
const queryOf = (name: string, { id }: Organization, { mailbox_id }: World) =>
  ({ 'GET /auth/oidc/callback': `?state=${id}.x`, 'POST /inbound-messages': `?mailbox_id=${mailbox_id}` })[name] ?? ''

/** Reads labels until that was short, which a busy machine may miss. */
function untilShort(agent: Organization['agent']) {
  return until('a read is short', async () => {
    const began_ms = performance.now()
    await agent.get('/labels')
    return performance.now() - began_ms < 100
  })
}

const readLabels = (count: number) => Array.from({ length: count }, () => greedy.agent.get('/labels'))
const statusesOf = (answers: Answer[]) => [...new Set(answers.map(({ status }) => status))]

test('reads of one organization hold a third of the pool, and others and its own writes go on', async () => {
  await connectWith({ most_ms: 60_000 })
  await untilShort(greedy.agent)
  let asked: Promise<Answer>[] = []
  await whileLabelsAreLocked(async () => {
    asked = readLabels(MANY)
    await until('they wait for the lock', async () => (await waitingReads()) >= SHARE)
    for (let time = 0; time < POOL; time++) {
      const beside = await Promise.all([
        other.agent.get('/companies'),
        other.agent.get('/contacts'),
        greedy.agent.post('/contacts', { name: 'Carla', email: `carla${time}@customer.example` }),
      ])
      expect(beside.map(({ status }) => status)).toEqual([200, 200, 201])
      expect(await isDatabaseReady()).toBe(true)
    }
    expect(await waitingReads()).toBe(SHARE)
  })
  expect(statusesOf(await Promise.all(asked))).toEqual([200])
})

test('a statement is never sent behind the read of another organization', async () => {
  await connectWith({ most_ms: 60_000 })
  // The driver sends nothing behind a statement that its connection does not know yet.
  for (let time = 0; time < POOL; time++) await Promise.all(readLabels(POOL))
  await Promise.all([greedy, other].map(({ agent }) => untilShort(agent)))
  await whileLabelsAreLocked(async () => {
    const asked = [...readLabels(MANY), other.agent.get('/labels'), other.agent.get('/labels')]
    await until('they wait for the lock', async () => (await waitingReads()) >= 2 * SHARE)
    const beside = Array.from({ length: 10 * POOL }, () => other.admin.get('/organization'))
    // Reads of the other organization wait for its own share, its writes for nobody.
    const written = await Promise.all(
      Array.from({ length: 10 * POOL }, (_, n) => other.agent.post('/companies', { name: `Company ${n}` })),
    )
    expect(statusesOf(written)).toEqual([201])
    void Promise.all([...asked, ...beside])
  })
})

test('beside others, what was not short the last time is read singly, and by the whole share when alone', async () => {
  await connectWith({ most_ms: 60_000 })
  const waitAtOnce = async (beside: boolean, least: number) => {
    let asked: Promise<Answer>[] = []
    const waiting = await whileLabelsAreLocked(async () => {
      if (beside) expect((await other.agent.get('/companies')).status).toBe(200)
      asked = readLabels(MANY)
      await until('reads wait for the lock', async () => (await waitingReads()) >= least)
      await watcher`select pg_sleep(0.2)`
      return waitingReads()
    })
    expect(statusesOf(await Promise.all(asked))).toEqual([200])
    return waiting
  }
  expect(await waitAtOnce(true, 1)).toBe(1)
  await untilShort(greedy.agent)
  expect(await waitAtOnce(true, SHARE)).toBe(SHARE)
  await whileLabelsAreLocked(async () => {
    void readLabels(1)
    await until('it waits', async () => (await waitingReads()) === 1)
    await watcher`select pg_sleep(0.2)`
  })
  await until('it has ended', async () => (await waitingReads()) === 0)
  await watcher`select pg_sleep(1.1)`
  expect(await waitAtOnce(false, SHARE)).toBe(SHARE)
})

test('what is known to be short passes a long statement of its organization', async () => {
  await connectWith({ most_ms: 60_000 })
  await untilShort(greedy.agent)
  const { sql } = readingOf(greedy.id)
  let asked: Promise<unknown> | undefined
  await whileLabelsAreLocked(async () => {
    asked = sql`select 1 from labels limit 1`.execute()
    await until('it waits for the lock', async () => (await waitingReads()) === 1)
    expect((await other.agent.get('/companies')).status).toBe(200)
    const beside = [...readLabels(MANY), sql`select 2 from labels limit 1`.execute()]
    await until('labels wait beside it', async () => (await waitingReads()) === SHARE)
    void Promise.all(beside)
  })
  await asked
})

test('a transaction that reads for long delays no other read of its organization', async () => {
  await connectWith({ wait_ms: 1000 })
  const end = Promise.withResolvers<void>()
  const held = transact(readingOf(greedy.id), async ({ sql }) => {
    await sql`select 1`
    await end.promise
  })
  await watcher`select pg_sleep(0.2)`
  expect((await other.agent.get('/labels')).status).toBe(200)
  expect(statusesOf(await Promise.all(readLabels(MANY)))).toEqual([200])
  end.resolve()
  await held
})

test('while a read is long, no other of the organization begins beside those who write', async () => {
  await connectWith({ most_ms: 60_000 })
  const asked: Promise<Answer>[] = []
  await whileLabelsAreLocked(async () => {
    asked.push(...readLabels(1))
    await until('it waits for the lock', async () => (await waitingReads()) === 1)
    await watcher`select pg_sleep(1.2)`
    expect((await other.agent.post('/companies', { name: 'Beside' })).status).toBe(201)
    asked.push(...readLabels(MANY))
    await watcher`select pg_sleep(0.3)`
    expect(await waitingReads()).toBe(1)
  })
  expect(statusesOf(await Promise.all(asked))).toEqual([200])
})

test('a read that waits too long for the share of its organization is answered 503', async () => {
  await connectWith({ wait_ms: 200 })
  const refused: Answer[] = []
  const asked = await whileLabelsAreLocked(async () => {
    const asked = readLabels(MANY)
    for (const answer of asked) void answer.then((answer) => refused.push(answer))
    // One alone may begin when the reads were long in the test before.
    await until('all but those of the share are answered', () => refused.length >= MANY - SHARE)
    return asked
  })
  expect(statusesOf(refused.slice(0, MANY - SHARE))).toEqual([503])
  const [{ body, headers }] = refused as [Answer]
  expect(body.error).toMatchObject({ code: 'SERVICE_UNAVAILABLE', details: { reason: expect.any(String) } })
  expect(headers.get('retry-after')).toBe('1')
  const read = (await Promise.all(asked)).filter(({ status }) => status === 200)
  expect(read.length).toBeWithin(1, SHARE + 1)
  expect(refused.filter(({ status }) => status === 503)).toHaveLength(MANY - read.length)
  expect(statusesOf(await Promise.all(readLabels(SHARE)))).toEqual([200])
})

test('a read that takes too long is ended with 503, and its connection serves the next', async () => {
  await connectWith({ most_ms: 300 })
  await whileLabelsAreLocked(async () => {
    const [answer] = await Promise.all(readLabels(1))
    expect([answer!.status, answer!.headers.get('retry-after')]).toEqual([503, '5'])
    expect(answer!.body.error.details.reason).toStartWith('Reading this takes longer than 0.3 s')
    await until('the server has ended it', async () => (await waitingReads()) === 0)
  })
  expect(statusesOf(await Promise.all(readLabels(MANY)))).toEqual([200])
})

test('what reads behind POST holds the share of reads, and is ended like a read', async () => {
  await connectWith({ most_ms: 1500 })
  const { agent, admin } = greedy
  const ticket = await createTicket(agent)
  const macro = await agent.post('/macros', { name: 'Thanks', body: 'Thank you' })
  const dry_run = { changes: { status: 'pending' }, dry_run: true }
  const requests: [locked: string, send: () => Promise<Answer>][] = [
    ['labels', () => admin.post('/retention/preview', { hold_label_ids: [crypto.randomUUID()] })],
    ['macros', () => admin.post(`/macros/${macro.body.data.id}/preview`, { ticket_id: ticket.id })],
    ['tickets', () => admin.post('/tickets/bulk', { ids: [ticket.id], ...dry_run })],
    ['tickets', () => admin.post('/tickets/bulk', { filter: { status: 'open' }, ...dry_run })],
    ['tickets', () => admin.post('/tickets/bulk', { filter: { status: 'open' }, ...dry_run, dry_run: false })],
  ]
  for (const [locked, send] of requests) {
    await holder`begin`
    await holder`lock table ${holder(locked)} in access exclusive mode`
    // Nobody else asks at first: later it is one at a time, beside the others of the round before.
    const asked = Array.from({ length: POOL }, send)
    await until(`reads of ${locked} wait`, async () => (await waitingStatements()) > 0)
    const beside = [other, greedy].map((one) => one.admin.patch('/organization', { name: crypto.randomUUID() }))
    expect(statusesOf(await Promise.all(beside))).toEqual([200])
    expect(await waitingStatements()).toBeLessThanOrEqual(SHARE)
    // A bulk change tells of it in the result of its ticket.
    expect((await Promise.race(asked)).text).toContain('SERVICE_UNAVAILABLE')
    await holder`rollback`
    await Promise.all(asked)
  }
})

test('deeds that go on after their request hold one connection of their organization in all', async () => {
  await connectWith({})
  const { sql } = connectionOf(greedy.id)
  const contacts = await Promise.all(Array.from({ length: MANY }, () => createContact(greedy.agent)))
  // A deed does all but the last ticket of each contact in the transaction that begins it.
  await sql`
    insert into tickets (organization_id, id, number, code, subject, contact_id)
    select ${greedy.id}, gen_random_uuid(), row_number() over (), 'MANY-' || row_number() over (), 'Many', contact_id
    from unnest(${contacts.map(({ id }) => id)}::uuid[]) as contact_id, generate_series(1, ${STEP + 1})`
  await holder`begin`
  await holder`
    select from tickets where organization_id = ${greedy.id} and id in (
      select max(id::text)::uuid from tickets where organization_id = ${greedy.id} group by contact_id
    ) for update`
  const deeds = contacts.map(({ id }) => greedy.agent.delete(`/contacts/${id}`))
  const begun = async () => (await watcher<{ n: number }[]>`select count(*)::int as n from deeds`)[0]!.n
  await until('all have begun', async () => (await begun()) === MANY)
  await until('a deed waits for the lock', async () => (await waitingStatements()) > 0)
  for (let time = 0; time < POOL; time++) {
    expect((await other.agent.get('/contacts')).status).toBe(200)
    expect((await greedy.agent.get('/companies')).status).toBe(200)
  }
  expect(await waitingStatements()).toBe(1)
  await holder`rollback`
  expect(statusesOf(await Promise.all(deeds))).toEqual([204])
})

test('every route whose body or query takes a dry run is declared as a read then, and so is every preview', () => {
  const declarations: Declarations = new Map()
  readDeclarations(api() as AnyElysia, declarations)
  const wrong = (api() as AnyElysia).routes.filter(({ method, path, hooks }) => {
    const takes = [hooks.body, hooks.query].some((model) => (model as TSchema | undefined)?.properties?.dry_run)
    const wanted = takes ? 'dry run' : /preview$/.test(path) && method !== 'GET' ? true : undefined
    return declarations.get(`${method} ${path}`)?.reads !== wanted
  })
  expect(wrong.map(({ method, path }) => `${method} ${path}`)).toEqual([])
})

test('no route passes the places of who asks, and none changes anything without one', async () => {
  const world = await createWorld(greedy)
  const inlet = await greedy.admin.post(`/mailboxes/${world.mailbox_id}/inlet`, { provider: 'raw' })
  const ids = { ...world, organization_id: greedy.id, token: inlet.body.data.url.split('/').at(-1) }
  await connectWith({ wait_ms: 15 })
  await greedy.agent.get('/auth/me')
  const release = await holdAllPlaces(greedy.id)
  const before = await fingerprint()
  const answers: Record<string, unknown> = {}
  for (const endpoint of await readEndpoints()) {
    const { name, method, path, body } = endpoint
    const raw = goodRaw(name)
    const client = isForCustomers(endpoint) ? clientWithToken(world.contact_token) : greedy.admin
    const code = name === 'POST /auth/oidc/token' && { code: `${greedy.id}.x` }
    const sent = raw?.body ?? (body && { ...goodBody(name, world), ...code })
    const headers = { ...(raw?.type && { 'content-type': raw.type }) }
    const answer = await client.send(method, pathWith(path, ids) + queryOf(name, greedy, world), sent, headers)
    answers[name] = answer.status === 503 ? answer.body.error.details.reason : [answer.status, answer.text]
  }
  expect(await fingerprint()).toEqual(before)
  await release()
  const passed = Object.entries(answers).filter(([, answer]) => answer !== BUSY)
  expect(passed).toEqual([])
})

test.each([3, 4, 5, 6, 10, 20, 100])('with %p connections one organization and its accounts leave one free', (size) => {
  const { all, reads, writes, accounts } = sharesOf(size)!
  expect(Math.min(all, reads, writes, accounts)).toBeGreaterThan(0)
  expect(all + accounts).toBeLessThan(size)
  expect(Math.max(reads, writes)).toBeLessThanOrEqual(all)
  expect(reads).toBeLessThanOrEqual(size / 3)
})
