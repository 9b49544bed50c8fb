/** Data of the benchmark: the service finds it as if it had written it. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connection } from '../../src/base/db/pool'
import { type Client, signIn, startApi, stopApi } from '../support/api'
import { ADMIN, fillDatabase, readSizes } from './volume/fill'
import { tenantId } from './volume/tenants'

const organization = { 'x-organization-id': tenantId(2) }
const TICKETS = 600

let admin: Client

beforeAll(async () => {
  const { url } = await startApi()
  await fillDatabase(url, connection(), [200, TICKETS])
  admin = await signIn(ADMIN.email, ADMIN.password)
})
afterAll(stopApi)

test('sizes are written as tickets x organizations', () => {
  expect(readSizes('1000x1,20x3')).toEqual([1000, 20, 20, 20])
  expect(() => readSizes('1000')).toThrow('BENCH_ORGS')
})

test('filled tickets are all listed, and the next one gets the next number', async () => {
  const list = await admin.get('/tickets?per_page=1', organization)
  expect(list.body.meta.total).toBe(TICKETS)
  const contact_id = list.body.data[0].contact.id
  const made = await admin.post('/tickets', { subject: 'One more', contact_id }, organization)
  expect(made.body.data.code).toBe(`T2-${TICKETS + 1}`)
})

test('counts of labels and companies, and sums of time, are those of the filled rows', async () => {
  const { sql } = connection()
  const labels = await admin.get('/labels', organization)
  const counted = await sql<{ name: string; n: number }[]>`
    select name, count(*) as n from labels l join ticket_labels t on t.organization_id = l.organization_id and label_id = l.id
    where l.organization_id = ${tenantId(2)} group by 1`
  const by_name = (rows: { name: string; n: number }[]) => Object.fromEntries(rows.map(({ name, n }) => [name, n]))
  const shown = labels.body.data.map((label: { name: string; ticket_count: number }) => ({
    name: label.name,
    n: label.ticket_count,
  }))
  expect(by_name(shown)).toEqual(by_name([...counted]))

  const companies = await admin.get('/companies?per_page=1&page=20', organization)
  const { id, ticket_count } = companies.body.data[0]
  const [tickets] = await sql<{ n: number }[]>`
    select count(*) as n from tickets where organization_id = ${tenantId(2)} and company_id = ${id}`
  expect(ticket_count).toBe(tickets!.n)

  const time = await admin.get('/time-entries?per_page=1', organization)
  const [entries] = await sql<{ n: number; minutes: number }[]>`
    select count(*) as n, sum(duration_minutes)::int as minutes from time_entries where organization_id = ${tenantId(2)}`
  expect(time.body.meta).toMatchObject({ total: entries!.n, totals: { duration_minutes: entries!.minutes } })
})

test('the custom fields of filled tickets are found and counted', async () => {
  const totalOf = async (query: string) => (await admin.get(`/tickets?${query}`, organization)).body.meta.total
  expect(await totalOf('custom.tier=gold')).toBe(TICKETS / 50)
  expect(await totalOf('custom.order_number=7&custom.is_renewed=false')).toBe(1)
})

test('the text of a filled ticket can be searched', async () => {
  const found = await admin.get('/tickets?search=error&per_page=100', organization)
  expect(found.body.meta.total).toBeGreaterThan(TICKETS / 50)
  const { id } = found.body.data[0]
  const ticket = await admin.get(`/tickets/${id}`, organization)
  expect(ticket.text).toContain('error')
})
