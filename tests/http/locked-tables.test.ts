/** Requests while every table is locked, as by a change of the schema: each waits a short time, and changes nothing. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import postgres from 'postgres'
import { closeDatabase, connectDatabase } from '../../src/base/db/pool'
import { createOrganization, type Organization, startApi, stopApi } from '../support/api'
import { createCustomer } from '../support/customers'
import { type Endpoint, pathWith, readEndpoints } from '../support/endpoints'
import { createWorld, fingerprint, goodBody, goodRaw, type World } from '../support/world'

const POOL = 10
const LIMITS = { statement_ms: 30_000, idle_in_transaction_ms: 30_000, lock_ms: 50 }

/** These answer as they do otherwise. Changes of many say of each that it failed. */
const CHANGE_NOTHING = [
  'POST /auth/password/forgot',
  'POST /macros/{macro_id}/preview',
  'POST /mailboxes/{mailbox_id}/test',
  'POST /retention/preview',
  'POST /tickets/bulk',
]

let organization: Organization
let customer: Awaited<ReturnType<typeof createCustomer>>
let world: World
let holder: postgres.Sql
let endpoints: Endpoint[]

beforeAll(async () => {
  const { url } = await startApi(POOL)
  await closeDatabase()
  connectDatabase(url, POOL, { limits: LIMITS })
  organization = await createOrganization()
  world = await createWorld(organization)
  customer = await createCustomer(organization.admin)
  holder = postgres(url, { max: 1, onnotice: () => {} })
  endpoints = await readEndpoints()
})
afterAll(async () => {
  await holder.end()
  await stopApi()
})

async function ask({ name, method, path, body }: Endpoint) {
  const raw = goodRaw(name)
  const query = name === 'POST /inbound-messages' ? `?mailbox_id=${world.mailbox_id}` : ''
  const client = path.startsWith('/my/') ? customer : organization.admin
  const headers: Record<string, string> = raw?.type ? { 'content-type': raw.type } : {}
  const given = raw?.body ?? (body && goodBody(name, world))
  const {
    status,
    body: answer,
    headers: said,
  } = await client.send(method, pathWith(path, world) + query, given, headers)
  return { name, status, data: answer?.data, retry_after: said.get('retry-after') }
}

test('every route that writes answers, without a fault of its own, and nothing is changed', async () => {
  const tables = await holder<{ relname: string }[]>`
    select relname from pg_class join pg_namespace n on n.oid = relnamespace where nspname = 'public' and relkind = 'r'`
  const before = await fingerprint()
  await holder`begin`
  for (const { relname } of tables) await holder`lock table ${holder(relname)} in exclusive mode`
  const answers: Awaited<ReturnType<typeof ask>>[] = []
  for (const endpoint of endpoints) answers.push(await ask(endpoint))
  await holder`rollback`
  const wrong = answers.filter(({ status, retry_after }) => status >= 500 && (status !== 503 || retry_after === null))
  expect(wrong).toEqual([])
  const done = answers.filter(({ name, status }) => !name.startsWith('GET ') && status < 300)
  expect(done.map(({ name }) => name).toSorted()).toEqual(CHANGE_NOTHING)
  const failed = { result: 'failed', error: { code: 'SERVICE_UNAVAILABLE' } }
  expect(done.find(({ name }) => name === 'POST /tickets/bulk')!.data).toMatchObject([failed])
  expect(await fingerprint()).toEqual(before)
}, 120_000)
