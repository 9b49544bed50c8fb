/**
 * Goes through all GET routes, with every parameter of their queries. On a cluster (CITUS_URL) a statement that needs
 * more than one node fails.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createOrganization, type Organization, startApi, stopApi } from '../support/api'
import { nodeUrls } from '../support/cluster'
import { isForCustomers, manyCustomers } from '../support/customers'
import type { TestDatabase } from '../support/database'
import { type Endpoint, pathWith, readEndpoints, type Schema } from '../support/endpoints'
import { logTime } from '../support/factories'
import { refuseSeveralNodes } from '../support/one-node'
import { createWorld, type World } from '../support/world'

/** The server keeps a plan for all values after five executions. One database answers each as the first. */
const TIMES = nodeUrls() ? 8 : 1
const NOBODY = '018f0000-0000-7000-8000-000000000000'
/** An address of a stranger: its token stands in the path. */
const NOT_READ = ['GET /auth/invitations/{token}']

let database: TestDatabase
let organization: Organization
let world: World
let reads: Endpoint[]

beforeAll(async () => {
  database = await startApi()
  organization = await createOrganization()
  world = await createWorld(organization)
  await organization.admin.post(`/tickets/${world.ticket_id}/timer/start`)
  await logTime(organization.admin, world.ticket_id, { billable: false })
  await refuseSeveralNodes(database)
  reads = (await readEndpoints()).filter(({ method, name }) => method === 'GET' && !NOT_READ.includes(name))
})
afterAll(stopApi)

test('each read with each parameter is answered by one node', async () => {
  const wrong: string[] = []
  const customers = await manyCustomers(organization, world.company_id, 50)
  for (const endpoint of reads) {
    const client = isForCustomers(endpoint) ? customers : organization.admin
    for (const path of pathsOf(endpoint)) {
      for (let time = 0; time < TIMES; time++) {
        const { status } = await client.get(path)
        if (status >= 500) wrong.push(`${path} answered ${status} the ${time + 1}. time`)
      }
    }
  }
  expect(wrong).toEqual([])
}, 600_000)

/** The path with each value of each parameter, with all parameters, and with ids that name nothing. */
function pathsOf({ path, ids, query }: Endpoint): string[] {
  const own = pathWith(path, world)
  const single = Object.entries(query).flatMap(([name, schema]) =>
    valuesOf(name, schema).map((value) => ({ [name]: value })),
  )
  const all = Object.entries(query).flatMap(([name, schema]) =>
    name === 'cursor' ? [] : [[name, valuesOf(name, schema)[0] ?? '']],
  )
  const queries = [{}, ...single, Object.fromEntries(all), ...withSearch(single)]
  const known = queries.map((values) => withQuery(own, values))
  const unknown = pathWith(path, Object.fromEntries(ids.map((name) => [name, NOBODY])))
  return [...new Set([...known, unknown])]
}

/** Searches are found in other ways than lists without one, by each sort and condition. */
function withSearch(queries: Record<string, string>[]): Record<string, string>[] {
  if (!queries.some(({ search }) => search)) return []
  return queries.flatMap((values) => (values.search ? [] : [{ ...values, search: 'Mark' }]))
}

function withQuery(path: string, values: Record<string, string>): string {
  const text = new URLSearchParams(values).toString()
  return text ? `${path}?${text}` : path
}

function valuesOf(name: string, schema: Schema): string[] {
  if (schema.enum) return schema.enum.map(String)
  const id = world[(name === 'assignee_id' ? 'user_id' : name.replace(/s$/, '')) as keyof World]
  if (id) return name.endsWith('s') ? [id, `${id},${NOBODY}`] : [id, NOBODY]
  return VALUES[name] ?? VALUES[schema.format ?? ''] ?? []
}

const VALUES: Record<string, string[]> = {
  search: ['Mark', 'mar*', '"Mark"', 'ma'],
  'date-time': ['2020-01-01T00:00:00Z', '2099-01-01T12:00:00Z'],
  date: ['2020-01-01', '2099-01-01'],
  page: ['1', '300'],
  per_page: ['1'],
  email: ['nobody@customer.example'],
}
