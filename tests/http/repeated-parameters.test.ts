/** A name that a query gives twice: one of its values would be lost without a word. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { api, createOrganization, expectError, startApi, stopApi, stranger } from '../support/api'
import { createCustomer, isForCustomers } from '../support/customers'
import { pathWith, readEndpoints, type Schema, STREAM, withParameters } from '../support/endpoints'
import { createTicket } from '../support/factories'
import { createWorld, fingerprint, goodBody, goodRaw } from '../support/world'

beforeAll(() => startApi())
afterAll(stopApi)

const faultsOf = (answer: { body: { error: { details: { errors: { path: string }[] } } } }) =>
  answer.body.error.details.errors.map(({ path }) => path)

/** Every route with a good request of somebody who may send it, of an organization that has everything. */
async function everyRoute() {
  const organization = await createOrganization()
  const world = await createWorld(organization)
  const customer = await createCustomer(organization.admin)
  const ticket = (await customer.post('/my/tickets', { subject: 'Mine', body: 'Hello' })).body.data
  const stream = { ...(await readEndpoints())[0]!, name: `GET ${STREAM}`, method: 'GET', path: '/events/stream' }
  const endpoints = [...(await readEndpoints()), { ...stream, query: { start: {}, types: {} }, body: undefined }]
  const routes = endpoints.map((endpoint) => {
    const { method, path, name } = endpoint
    const is_for_customers = isForCustomers(endpoint)
    const client = is_for_customers ? customer : organization.admin
    const ids = is_for_customers ? { ...world, ticket_id: ticket.id } : { ...world, organization_id: organization.id }
    const send = (query: string) => {
      const raw = goodRaw(name)
      const body = raw?.body ?? (endpoint.body && goodBody(name, world))
      const headers: Record<string, string> = raw?.type ? { 'content-type': raw.type } : {}
      return client.send(method, withParameters(pathWith(path, ids), query), body, headers)
    }
    return { name, parameters: Object.entries<Schema>(endpoint.query), send }
  })
  return { routes, organization }
}

test('every route refuses every parameter that is given twice, known or not, and changes nothing', async () => {
  const { routes, organization } = await everyRoute()
  const before = await fingerprint(organization.id)
  let tried = 0
  for (const { name, parameters, send } of routes) {
    for (const parameter of [...parameters.map(([known]) => known), 'unknown', 'custom.a/b~c']) {
      const key = encodeURIComponent(parameter)
      const answer = await send(`${key}=&x=1&${key}=`)
      const at = `/query/${parameter.replaceAll('~', '~0').replaceAll('/', '~1')}`
      const found = [name, parameter, answer.status, answer.body?.error.details.errors?.[0]]
      expect(found).toEqual([name, parameter, 422, { path: at, message: 'must be given once' }])
      tried++
    }
  }
  expect(await fingerprint(organization.id)).toEqual(before)
  expect(tried).toBeGreaterThan(400)
}, 600_000)

/** Values that a schema does not take, such as text for a number. */
function wrongFor({ type, format, enum: words, minLength, maxLength }: Schema): string[] {
  if (type === 'integer') return ['0', '-1', '1.5', 'x', '']
  if (type === 'boolean') return ['yes', '1', '']
  if (words) return ['nonsense', words[0]!.toString().toUpperCase(), '']
  if (format) return ['x', '2026-02-30', '2026-02-30T12:00:00Z', '0000-12-31', '']
  return [...(maxLength ? ['a'.repeat(maxLength + 1)] : []), ...(minLength ? [''] : [])]
}

test('every route names the parameter that its schema does not take, and changes nothing', async () => {
  const { routes, organization } = await everyRoute()
  const before = await fingerprint(organization.id)
  const taken: string[] = []
  let tried = 0
  for (const { name, parameters, send } of routes) {
    for (const [parameter, schema] of name.includes('/oidc/') ? [] : parameters) {
      for (const value of wrongFor(schema)) {
        const { status, body } = await send(`${parameter}=${value}`)
        const paths = body?.error?.details.errors?.map(({ path }: { path: string }) => path) ?? []
        if (status !== 422 || !paths.includes(`/query/${parameter}`))
          taken.push(`${name} ${parameter}=${value} ${status}`)
        tried++
      }
    }
  }
  expect(taken).toEqual([])
  expect(await fingerprint(organization.id)).toEqual(before)
  expect(tried).toBeGreaterThan(300)
}, 600_000)

test('status twice, in whatever writing, is told once beside the other faults', async () => {
  const { agent } = await createOrganization()
  const twice = await agent.get('/tickets?status=open&st%61tus=pending&status=closed')
  expectError(twice, 422, 'VALIDATION_ERROR')
  expect(faultsOf(twice)).toEqual(['/query/status'])
  const more = await agent.get('/tickets?priority=asap&status=open&priority=low&page=0&status=open')
  expectError(more, 422, 'VALIDATION_ERROR')
  expect(faultsOf(more)).toEqual(['/query/priority', '/query/status', '/query/page'])
  expect((await agent.get('/tickets?status=open&priority=low')).status).toBe(200)
})

test('custom.x twice is refused, and two fields are not', async () => {
  const { agent } = await createOrganization()
  await createTicket(agent, { custom: { x: 'a', y: 'b' } })
  const twice = await agent.get('/tickets?custom.x=a&custom.x=b')
  expectError(twice, 422, 'VALIDATION_ERROR')
  expect(faultsOf(twice)).toEqual(['/query/custom.x'])
  expect((await agent.get('/tickets?custom.x=a&custom.y=b')).body.meta.total).toBe(1)
})

test('a name given twice is judged after the token, the path and If-Match, together with the body', async () => {
  const { agent } = await createOrganization()
  const ticket = await createTicket(agent)
  expectError(await stranger().get('/tickets?a=1&a=2'), 401, 'INVALID_TOKEN')
  expectError(await agent.get(`/tickets/${crypto.randomUUID()}?a=1&a=2`), 404, 'TICKET_NOT_FOUND')
  const path = `/tickets/${ticket.id}?a=1&a=2`
  expectError(await agent.patch(path, { subject: 'New' }, { 'if-match': '"other"' }), 412, 'PRECONDITION_FAILED')
  const answer = await agent.patch(path, { subject: 3 })
  expectError(answer, 422, 'VALIDATION_ERROR')
  expect(faultsOf(answer)).toEqual(['/query/a', '/subject'])
  expectError(await agent.patch(path, '{', {}), 400, 'BAD_REQUEST')
  const { headers } = await agent.get(`/tickets/${ticket.id}`)
  expectError(
    await agent.patch(path, { subject: 'New' }, { 'if-match': headers.get('etag')! }),
    422,
    'VALIDATION_ERROR',
  )
  const created = await agent.post('/labels?a=1&a=2', { name: 'VIP', color: '#112233' }, { 'idempotency-key': 'one' })
  expectError(created, 422, 'VALIDATION_ERROR')
  expect((await agent.get('/labels')).body.data).toEqual([])
})

test('beside the API a query is of no meaning', async () => {
  for (const path of ['/healthz', '/', '/swagger']) {
    const answer = await api().handle(new Request(`http://localhost${path}?a=1&a=2`))
    expect([path, answer.status]).toEqual([path, 200])
  }
})
