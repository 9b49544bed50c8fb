/** Requests that wait for locks: they wait for a short time, hold few connections, and change nothing. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import postgres from 'postgres'
import { closeDatabase, connectDatabase, connection, connectionOf, jobConnection } from '../../../src/base/db/pool'
import { transact } from '../../../src/base/db/transact'
import { createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import { createTicket } from '../../support/factories'
import { until } from '../../support/service'
import { fingerprint } from '../../support/world'

const POOL = 10
const PATCHES = 14

let organization: Organization
let other: Organization
let holder: postgres.Sql
let watcher: postgres.Sql
let target: string

beforeEach(async () => {
  target = (await startApi(POOL)).url
  organization = await createOrganization()
  other = await createOrganization()
  holder = postgres(target, { max: 1, onnotice: () => {} })
  watcher = postgres(target, { max: 1 })
})
afterEach(async () => {
  await Promise.all([holder.end(), watcher.end()])
  await stopApi()
})

async function lockWaits(): Promise<number> {
  const [row] = await watcher<{ n: number }[]>`
    select count(*)::integer as n from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`
  return row!.n
}

test('a request that waits 3 s for a lock is 503 with Retry-After, and has changed nothing', async () => {
  const { agent } = organization
  const ticket = await createTicket(agent)
  await holder`begin`
  await holder`select from tickets where id = ${ticket.id} for update`
  const before = await fingerprint()
  const answer = await agent.patch(`/tickets/${ticket.id}`, { subject: 'Too late' })
  expect(answer.status).toBe(503)
  expect(answer.body.error).toMatchObject({ code: 'SERVICE_UNAVAILABLE', details: { reason: expect.any(String) } })
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(await fingerprint()).toEqual(before)
  await holder`rollback`
  expect((await agent.patch(`/tickets/${ticket.id}`, { subject: 'In time' })).status).toBe(200)
})

test('14 changes of a locked ticket stop no other organization, and no reader of their own', async () => {
  const ticket = await createTicket(organization.agent)
  const own = await createTicket(other.agent)
  await holder`begin`
  await holder`select from tickets where id = ${ticket.id} for update`
  const asked = Array.from({ length: PATCHES }, (_, n) =>
    organization.agent.patch(`/tickets/${ticket.id}`, { subject: `Change ${n}` }),
  )
  await until('they wait for the lock', async () => (await lockWaits()) > 1)
  const beside = await Promise.all([
    other.agent.get('/tickets'),
    other.agent.patch(`/tickets/${own.id}`, { subject: 'Beside' }),
    other.agent.get('/auth/me'),
    organization.agent.get(`/tickets/${ticket.id}`),
  ])
  expect(beside.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  await holder`rollback`
  const statuses = (await Promise.all(asked)).map(({ status }) => status)
  expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([])
})

test('sessions of the pool wait 3 s for a lock, and transactions of the outbox and of jobs as long as they need', async () => {
  await closeDatabase()
  connectDatabase(target, POOL)
  const waitOf = async ({ sql }: { sql: postgres.ISql<{ bigint: number }> }) =>
    (await sql<{ wait: string }[]>`select current_setting('lock_timeout') as wait`)[0]!.wait
  expect(await waitOf(connection())).toBe('3s')
  expect(await waitOf(connectionOf(organization.id))).toBe('3s')
  expect(await transact(connectionOf(organization.id), waitOf)).toBe('3s')
  expect(await transact(connection(), waitOf)).toBe('0')
  expect(await waitOf(connection())).toBe('3s')
  expect(await waitOf(jobConnection())).toBe('0')
})
