/** Statements and transactions that take too long: they end, and the connection serves the next request. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import postgres from 'postgres'
import { newId } from '../../../src/base/db/columns'
import { closeDatabase, connectDatabase, connection, jobConnection, shortConnection } from '../../../src/base/db/pool'
import { inTransaction } from '../../../src/base/scope'
import { createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import { createTicket } from '../../support/factories'
import { until } from '../../support/service'

const POOL = 3

let organization: Organization
let holder: postgres.Sql
let target: string

beforeEach(async () => {
  target = (await startApi(POOL)).url
  organization = await createOrganization()
  holder = postgres(target, { max: 1, onnotice: () => {} })
  await closeDatabase()
  // A busy machine needs less for statements that wait for nothing.
  connectDatabase(target, POOL, { limits: { statement_ms: 2500, idle_in_transaction_ms: 2500, lock_ms: 1500 } })
})
afterEach(async () => {
  await holder.end()
  await stopApi()
})

async function limitsOf(sql: postgres.ISql<{ bigint: number }>) {
  const [limits] = await sql<{ statement: string; idle: string }[]>`
    select current_setting('statement_timeout') as statement,
      current_setting('idle_in_transaction_session_timeout') as idle`
  return limits
}

test('statements of requests and idle transactions end after 30 s, those of background jobs do not', async () => {
  await closeDatabase()
  connectDatabase(target, 1)
  const limited = { statement: '30s', idle: '30s' }
  expect(await limitsOf(connection().sql)).toEqual(limited)
  expect(await limitsOf(shortConnection())).toEqual(limited)
  expect(await limitsOf(jobConnection().sql)).toEqual({ statement: '0', idle: '0' })
})

test('requests whose statements take too long are 503, and the next ones get their own rows', async () => {
  const { agent } = organization
  const ticket = await createTicket(agent)
  await holder`begin`
  await holder`lock table tickets in access exclusive mode`
  const late = await Promise.all(
    Array.from({ length: 2 * POOL }, (_, n) => (n % 2 ? agent.get(`/tickets/${ticket.id}`) : agent.get('/tickets'))),
  )
  // Those that have waited behind the others for too long have not begun.
  for (const { status, body, headers } of late) {
    const answer = [status, body.error.code, headers.get('retry-after')]
    expect([
      [503, 'SERVICE_UNAVAILABLE', '5'],
      [429, 'RATE_LIMITED', '1'],
    ]).toContainEqual(answer)
  }
  expect(late.some(({ status }) => status === 503)).toBe(true)
  await holder`rollback`
  const next = await Promise.all(Array.from({ length: 2 * POOL }, () => agent.get(`/tickets/${ticket.id}`)))
  expect(next.map(({ body }) => body.data.id)).toEqual(Array(2 * POOL).fill(ticket.id))
})

test('a change that waits too long is 503 and leaves nothing behind', async () => {
  const { agent } = organization
  const ticket = await createTicket(agent)
  await holder`begin`
  await holder`select from tickets where id = ${ticket.id} for update`
  const answer = await agent.patch(`/tickets/${ticket.id}`, { subject: 'Too late' })
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5'])
  await holder`rollback`
  expect((await agent.get(`/tickets/${ticket.id}`)).body.data.subject).toBe(ticket.subject)
  expect((await agent.patch(`/tickets/${ticket.id}`, { subject: 'In time' })).status).toBe(200)
})

test('a transaction that does nothing for too long is ended, and its connection replaced', async () => {
  const scope = { ...organization.scope, ...connection() }
  const name = newId()
  const forgotten = inTransaction(scope, async ({ sql, organization_id }) => {
    await sql`update organizations set name = ${name} where id = ${organization_id}`
    await until('the server ends it', async () => {
      const rows = await holder`
        select from pg_stat_activity where datname = current_database() and state = 'idle in transaction'`
      return rows.length === 0
    })
    await sql`update organizations set name = ${name} where id = ${organization_id}`
  })
  await expect(forgotten).rejects.toThrow()
  const answers = await Promise.all(Array.from({ length: 2 * POOL }, () => organization.admin.get('/organization')))
  expect(answers.map(({ status }) => status)).toEqual(Array(2 * POOL).fill(200))
  expect(answers[0]!.body.data.name).not.toBe(name)
})
