/** The operator's command for API keys, run as a separate process beside a service on the same database. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { clientWithKey, createOrganization, startApi, stopApi } from '../../support/api'
import { runOn } from '../../support/backups'
import type { TestDatabase } from '../../support/database'
import { sampled } from '../../support/sampled'

let database: TestDatabase

beforeAll(async () => {
  database = await startApi()
})
afterAll(stopApi)

test('the command prints the key once, as one line of JSON', async () => {
  const { id, admin } = await createOrganization()
  const words = ['--permissions', 'labels:write, contacts:read', '--networks', '127.0.0.0/8,::1']
  const { code, lines, stderr } = await create('--organization', id, '--name', 'Night job', ...words)
  expect([code, lines.length, stderr]).toEqual([0, 1, ''])
  const [made] = lines
  expect(made).toEqual({
    id: expect.any(String),
    name: 'Night job',
    prefix: made.key.slice(0, 13),
    permissions: ['contacts:read', 'labels:write'],
    allowed_networks: ['127.0.0.0/8', '::1'],
    key: expect.stringMatching(/^dk_[0-9A-Za-z]{10}_[0-9A-Za-z]{38}$/),
  })
  const program = clientWithKey(made.key)
  expect((await program.post('/labels', { name: 'VIP', color: '#112233' })).status).toBe(201)
  expect((await program.get('/tickets')).status).toBe(403)
  expect((await admin.get(`/api-keys/${made.id}`)).body.data).toMatchObject({ name: 'Night job', created_by: null })
  const { body, text } = await admin.get(`/audit-log?resource_id=${made.id}&action=operator.api_key_create`)
  expect(body.data).toMatchObject([{ actor: { type: 'operator' }, resource: { type: 'api_key', id: made.id } }])
  expect(text).not.toContain(made.key.slice(14))
})

// Each is a process of half a second.
const FAULTS: [options: string[], fault: string][] = [
  [['--name', 'x', '--permissions', 'labels:read'], '--organization is required'],
  [['--permissions', 'labels:read'], '--name is required'],
  [['--name', 'x'], '--permissions is required'],
  [['--name', 'x', '--permissions', 'labels:paint'], '--permissions holds labels:paint; there are tickets:read,'],
  [['--name', 'x', '--permissions', '*:read', '--networks', 'home'], '--networks holds home, which is not a network'],
  [['--name', 'x', '--permissions', ','], '--permissions must be a list of at least one permission'],
  [
    ['--name', 'x', '--permissions', '*:read', '--networks', '::1,'.repeat(51)],
    '--networks must be a list of at most 50 networks',
  ],
  [['--name', 'x\ny', '--permissions', '*:read'], '--name must be text without control characters'],
  [['--name', 'x'.repeat(256), '--permissions', '*:read'], '--name must be text of 1 to 255 characters'],
]

test.each(sampled(FAULTS, 4))('with %p it makes none and says why', async (options, fault) => {
  const { id, admin } = await createOrganization()
  const organization = fault.startsWith('--organization') ? [] : ['--organization', id]
  const { code, lines, stderr } = await create(...organization, ...options)
  expect([code, lines, stderr]).toEqual([1, [], expect.stringContaining(fault)])
  expect((await admin.get('/api-keys')).body.data).toEqual([])
})

function create(...options: string[]) {
  return runOn(database.url, ['api-key', 'create', ...options])
}
