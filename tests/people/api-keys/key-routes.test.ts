/** Every route of the service but those of customers with an API key: the table is made from what they declare. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { GRANTS } from '../../../src/http/request/permissions'
import {
  type Answer,
  api,
  type Client,
  createOrganization,
  type Organization,
  startApi,
  stopApi,
} from '../../support/api'
import { createProgram, type Program } from '../../support/api-keys'
import { isForCustomers } from '../../support/customers'
import { type Endpoint, pathWith, readEndpoints } from '../../support/endpoints'
import { type ChangedSettings, withSettings } from '../../support/settings'
import { createWorld, goodBody, goodRaw, type World } from '../../support/world'

type Others = string | readonly string[]
type Route = {
  method: string
  path: string
  hooks: { detail: { permission: string; or_permission?: Others; and_permission?: Others } }
}

let settings: ChangedSettings
let organization: Organization
let world: World
let endpoints: (Endpoint & { permission: string; or_permission?: Others; and_permission?: Others })[]

beforeAll(async () => {
  await startApi()
  settings = withSettings({ EMAIL_INLINE_WAIT_MS: 1 })
  organization = await createOrganization()
  world = await createWorld(organization)
  const { routes } = api() as unknown as { routes: Route[] }
  const declared = routes.map(({ method, path, hooks }) => {
    const name = `${method} ${path.replace('/api/v1', '').replace(/:(\w+)/g, '{$1}')}`
    const { permission, or_permission, and_permission } = hooks.detail
    return [name, { permission, or_permission, and_permission }] as const
  })
  const permissions = new Map(declared)
  // An inlet looks at no credential of ours.
  const all = (await readEndpoints()).filter((one) => !isForCustomers(one) && !one.path.startsWith('/inbound/'))
  endpoints = all.map((one) => ({ ...one, ...permissions.get(one.name)! }))
})
afterAll(async () => {
  settings.restore()
  await stopApi()
})

const programs = new Map<string, Promise<Program>>()

/** One key for each set of permissions. */
function programWith(permissions: readonly string[]): Promise<Program> {
  const name = permissions.join()
  const program = programs.get(name) ?? createProgram(organization.admin, permissions)
  programs.set(name, program)
  return program
}

/** A key writes a webhook only if it may read all events that the webhook sends (`webhook-rights.test.ts`). */
const READS_OF_EVENTS = ['tickets:read', 'messages:read', 'contacts:read', 'time_entries:read']

/** The least that a request with a permission takes. */
function least(permission: string, and_permission?: Others): string[] {
  const needed = [permission, and_permission ?? []].flat()
  return permission === 'webhooks:write' ? [...needed, ...READS_OF_EVENTS] : needed
}

/** All that can be given, but what includes the permission or another one that is enough. */
function allBut(permission: string, or_permission: Others = []): string[] {
  const others = [or_permission].flat().map((other) => allBut(other))
  if (others.length > 0) return allBut(permission).filter((grant) => others.every((rest) => rest.includes(grant)))
  const [resource, access] = permission.split(':')
  return GRANTS.filter((grant) => {
    const [of, may] = grant.split(':')
    return (of !== resource && of !== '*') || (may !== access && may !== 'write')
  })
}

/** A good request. A deletion names nothing that is there, so that it takes nothing from the others. */
function call(client: Client, endpoint: Endpoint): Promise<Answer> {
  const raw = goodRaw(endpoint.name)
  // A password is what no key may set, and an email what no key may change.
  const { password, email, ...rest } = endpoint.body ? goodBody(endpoint.name, world) : {}
  const body = email === undefined || endpoint.name === 'PATCH /users/{user_id}' ? rest : { ...rest, email }
  const query = endpoint.name === 'POST /inbound-messages' ? `?mailbox_id=${world.mailbox_id}&dry_run=true` : ''
  const ids = endpoint.method === 'DELETE' && endpoint.path.endsWith('}') ? {} : world
  return client.send(
    endpoint.method,
    pathWith(endpoint.path, ids) + query,
    raw?.body ?? (endpoint.body && body),
    raw?.type ? { 'content-type': raw.type } : {},
  )
}

function expectRefused(endpoint: Endpoint, answer: Answer, status: number, code: string, details: object) {
  const error = { code, message: expect.any(String), details }
  expect([endpoint.name, answer.status, answer.body?.error]).toEqual([endpoint.name, status, error])
}

const takesKeys = ({ permission }: { permission: string }) => permission.includes(':')

describe('every route', () => {
  test('that declares no permission takes no key, not even one that may do everything', async () => {
    const program = await programWith(['*:write'])
    const closed = endpoints.filter((endpoint) => !takesKeys(endpoint))
    for (const endpoint of closed) {
      expectRefused(endpoint, await call(program, endpoint), 403, 'FORBIDDEN', { reason: expect.any(String) })
    }
    const others = closed.map(({ name }) => name).filter((name) => !/ \/(auth|api-keys)(\/|$)/.test(name))
    expect(others.filter((name) => !/timer|viewing|\/read$/.test(name)).sort()).toEqual([
      'DELETE /identity-provider',
      'DELETE /users/{user_id}/identity',
      'DELETE /users/{user_id}/second-factor',
      'GET /contacts/{contact_id}/export',
      'GET /identity-provider',
      'GET /stats',
      'PATCH /retention',
      'POST /contacts/{contact_id}/erase',
      'POST /users/{user_id}/invite',
      'PUT /identity-provider',
    ])
    expect(endpoints.filter(({ path }) => /^\/(auth|api-keys)/.test(path)).every((one) => !takesKeys(one))).toBe(true)
  })

  test('asks for a permission to read when it is a GET, else for one to write, but for previews', () => {
    const odd = endpoints.filter((one) => takesKeys(one) && (one.method === 'GET') !== one.permission.endsWith(':read'))
    expect(odd.map(({ name }) => name).sort()).toEqual(['POST /macros/{macro_id}/preview', 'POST /retention/preview'])
  })

  test('without its permission is 403 and says which it is, whatever else the key may do', async () => {
    const open = endpoints.filter(takesKeys)
    expect(open.length).toBeGreaterThan(60)
    for (const endpoint of open) {
      const program = await programWith(allBut(endpoint.permission, endpoint.or_permission))
      expectRefused(endpoint, await call(program, endpoint), 403, 'FORBIDDEN', { required: endpoint.permission })
    }
  })

  // Before the writes, which take things from where they were.
  test('reads with the permission to write, and with that for everything', async () => {
    for (const endpoint of endpoints.filter((one) => takesKeys(one) && one.method === 'GET')) {
      const { permission, and_permission } = endpoint
      const others = [and_permission ?? []].flat()
      const grants = ['*:read', '*:write', permission.replace(':read', ':write')]
      for (const grant of grants.filter((one) => GRANTS.some((known) => known === one))) {
        const answer = await call(await programWith([grant, ...others]), endpoint)
        expect([endpoint.name, grant, answer.status]).toEqual([endpoint.name, grant, 200])
      }
    }
  })

  test('with its permission alone does what it does', async () => {
    const statuses: Record<string, number> = {}
    for (const endpoint of endpoints.filter(takesKeys)) {
      const answer = await call(await programWith(least(endpoint.permission, endpoint.and_permission)), endpoint)
      statuses[endpoint.name] = answer.status
      if (endpoint.method === 'GET') expect([endpoint.name, answer.status]).toEqual([endpoint.name, 200])
    }
    // A key changes no drafts and views of others (`drafts.test.ts`, `views.test.ts`).
    const others = Object.entries(statuses).filter(([name]) => !/^(PATCH|POST|DELETE) \/(drafts|views)\//.test(name))
    const refused = others.filter(([, status]) => [401, 403, 429].includes(status) || status >= 500)
    expect(refused).toEqual([])
    const done = Object.entries(statuses).filter(([, status]) => status < 300)
    expect(done.length).toBeGreaterThan(50)
  })

  test('from another network is 403', async () => {
    const elsewhere = { allowed_networks: ['203.0.113.0/24', '2001:db8::/32'] }
    const program = await createProgram(organization.admin, ['*:write'], elsewhere)
    for (const endpoint of endpoints) {
      expectRefused(endpoint, await call(program, endpoint), 403, 'FORBIDDEN', { reason: expect.any(String) })
    }
  })

  test('in another organization is 403', async () => {
    const other = await createOrganization()
    const program = await programWith(['*:write'])
    for (const endpoint of endpoints.filter(takesKeys)) {
      const send: Client['send'] = (method, path, body, headers) =>
        program.send(method, path, body, { ...headers, 'x-organization-id': other.id })
      expectRefused(endpoint, await call({ ...program, send }, endpoint), 403, 'FORBIDDEN', {})
    }
  })

  test('with a revoked key is 401', async () => {
    const program = await createProgram(organization.admin, ['*:write'])
    await organization.admin.delete(`/api-keys/${program.id}`)
    for (const endpoint of endpoints) {
      expectRefused(endpoint, await call(program, endpoint), 401, 'INVALID_TOKEN', {})
    }
  })
})
