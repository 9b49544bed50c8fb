/** API keys as admins manage them. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { connection } from '../../../src/base/db/pool'
import { type Answer, createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import { createProgram } from '../../support/api-keys'

beforeAll(() => startApi())
afterAll(stopApi)

let organization: Organization

beforeEach(async () => {
  organization = await createOrganization()
})

function expectError(answer: Answer, status: number, code: string, paths?: string[]) {
  expect([answer.status, answer.body?.error?.code]).toEqual([status, code])
  if (paths) expect(answer.body.error.details.errors.map(({ path }: { path: string }) => path)).toEqual(paths)
}

describe('creating', () => {
  test('shows the key once, with every field, and stores its hash alone', async () => {
    const { admin } = organization
    const answer = await admin.post('/api-keys', {
      name: ' Importer ',
      permissions: ['tickets:write', 'contacts:read', 'tickets:write'],
      allowed_networks: ['203.0.113.0/24', '2001:db8::1', '203.0.113.0/24'],
    })
    expect(answer.status).toBe(201)
    const { key, ...shown } = answer.body.data
    expect(key).toMatch(/^dk_[0-9A-Za-z]{10}_[0-9A-Za-z]{38}$/)
    expect(shown).toEqual({
      id: expect.any(String),
      name: 'Importer',
      prefix: key.slice(0, 13),
      permissions: ['tickets:write', 'contacts:read'],
      allowed_networks: ['203.0.113.0/24', '2001:db8::1'],
      created_by: { id: admin.user_id, name: 'Ada Admin' },
      created_at: expect.any(String),
      last_used_at: null,
      revoked_at: null,
    })
    for (const path of ['/api-keys', `/api-keys/${shown.id}`, '/audit-log']) {
      const { text } = await admin.get(path)
      expect(text).toContain(shown.prefix)
      expect(text).not.toContain(key)
    }
    const { sql } = connection()
    const [row] = await sql`select k.*, encode(key_hash, 'hex') as hash from api_keys k where id = ${shown.id}`
    expect(JSON.stringify(row)).not.toContain(key.slice(14))
    expect(row!.hash).toBe(new Bun.CryptoHasher('sha256').update(key).digest('hex'))
  })

  test.each<[unknown, string, string[]]>([
    [{ permissions: ['tickets:read'] }, 'VALIDATION_ERROR', ['/name']],
    [{ name: ' ', permissions: ['tickets:read'] }, 'VALIDATION_ERROR', ['/name']],
    [{ name: 'x'.repeat(256), permissions: ['tickets:read'] }, 'VALIDATION_ERROR', ['/name']],
    [{ name: 'a\nb', permissions: ['tickets:read'] }, 'VALIDATION_ERROR', ['/name']],
    [{ name: 'x' }, 'VALIDATION_ERROR', ['/permissions']],
    [{ name: 'x', permissions: [] }, 'VALIDATION_ERROR', ['/permissions']],
    [{ name: 'x', permissions: ['tickets:delete'] }, 'INVALID_PERMISSIONS', ['/permissions/0']],
    [{ name: 'x', permissions: ['audit_log:write'] }, 'INVALID_PERMISSIONS', ['/permissions/0']],
    [{ name: 'x', permissions: ['api_keys:write'] }, 'INVALID_PERMISSIONS', ['/permissions/0']],
    [{ name: 'x', permissions: ['admin'] }, 'INVALID_PERMISSIONS', ['/permissions/0']],
    [{ name: 'x', permissions: ['*'] }, 'INVALID_PERMISSIONS', ['/permissions/0']],
    [{ name: 'x', permissions: 'tickets:read' }, 'INVALID_PERMISSIONS', ['/permissions']],
    [
      { name: 'x', permissions: ['*:read'], allowed_networks: ['everywhere'] },
      'VALIDATION_ERROR',
      ['/allowed_networks/0'],
    ],
    [
      { name: 'x', permissions: ['*:read'], allowed_networks: ['10.0.0.0/33'] },
      'VALIDATION_ERROR',
      ['/allowed_networks/0'],
    ],
    ...['1', '10/8', '10.0.0', '010.0.0.0/8'].map((network): [unknown, string, string[]] => [
      { name: 'x', permissions: ['*:read'], allowed_networks: [network] },
      'VALIDATION_ERROR',
      ['/allowed_networks/0'],
    ]),
    [
      { name: 'x', permissions: ['*:read'], allowed_networks: ['010.0.0.1'] },
      'VALIDATION_ERROR',
      ['/allowed_networks/0'],
    ],
    [
      { name: 'x', permissions: ['*:read'], allowed_networks: ['fe80::1%eth0'] },
      'VALIDATION_ERROR',
      ['/allowed_networks/0'],
    ],
    [
      { name: 'x', permissions: ['*:read'], allowed_networks: Array(51).fill('::1') },
      'VALIDATION_ERROR',
      ['/allowed_networks'],
    ],
  ])('a wrong field is refused: %j', async (body, code, paths) => {
    expectError(await organization.admin.post('/api-keys', body), 422, code, paths)
  })

  test('takes no idempotency key, because the answer is shown once: a repeated request makes another key', async () => {
    const { admin } = organization
    const body = { name: 'Importer', permissions: ['*:read'] }
    const headers = { 'idempotency-key': 'one' }
    const answers = [await admin.post('/api-keys', body, headers), await admin.post('/api-keys', body, headers)]
    expect(answers.map(({ status }) => status)).toEqual([201, 201])
    expect(answers[0]!.body.data.key).not.toBe(answers[1]!.body.data.key)
    expect(answers[1]!.headers.get('idempotent-replayed')).toBeNull()
    const { sql } = connection()
    expect(await sql`select from idempotency_keys where organization_id = ${organization.id}`).toHaveLength(0)
    const malformed = { 'idempotency-key': 'x'.repeat(256) }
    expect((await admin.post('/api-keys', body, malformed)).status).toBe(201)
    expectError(await admin.post('/api-keys', { name: 'x' }, malformed), 422, 'VALIDATION_ERROR', ['/permissions'])
  })
})

describe('listing', () => {
  test('is paged, newest first, with the revoked keys, and filtered by them', async () => {
    const { admin } = organization
    const programs = []
    for (const name of ['One', 'Two', 'Three']) programs.push(await createProgram(admin, ['*:read'], { name }))
    await admin.delete(`/api-keys/${programs[1]!.id}`)
    const names = async (query: string) => {
      const { data, meta } = (await admin.get(`/api-keys${query}`)).body
      return [data.map(({ name }: { name: string }) => name), meta.total]
    }
    expect(await names('')).toEqual([['Three', 'Two', 'One'], 3])
    expect(await names('?revoked=true')).toEqual([['Two'], 1])
    expect(await names('?revoked=false')).toEqual([['Three', 'One'], 2])
    expect(await names('?per_page=1&page=2')).toEqual([['Two'], 3])
  })
})

describe('changing', () => {
  test('name, permissions and networks are changed, and count at once', async () => {
    const { admin } = organization
    const program = await createProgram(admin, ['labels:read'])
    expect((await program.get('/labels')).status).toBe(200)
    const changes = { name: 'Exporter', permissions: ['contacts:read'], allowed_networks: ['127.0.0.1'] }
    const answer = await admin.patch(`/api-keys/${program.id}`, changes)
    expect([answer.status, answer.body.data]).toEqual([200, expect.objectContaining(changes)])
    expect(answer.body.data).not.toHaveProperty('key')
    expect((await program.get('/labels')).status).toBe(403)
    expect((await program.get('/contacts')).status).toBe(200)
    await admin.patch(`/api-keys/${program.id}`, { allowed_networks: ['203.0.113.7'] })
    expect((await program.get('/contacts')).status).toBe(403)
    expect((await admin.patch(`/api-keys/${program.id}`, {})).body.data.allowed_networks).toEqual(['203.0.113.7'])
  })

  test.each<[unknown, string, string]>([
    [{ name: null }, 'VALIDATION_ERROR', '/name'],
    [{ permissions: [] }, 'VALIDATION_ERROR', '/permissions'],
    [{ permissions: null }, 'INVALID_PERMISSIONS', '/permissions'],
    [{ permissions: ['x'] }, 'INVALID_PERMISSIONS', '/permissions/0'],
    [{ allowed_networks: null }, 'VALIDATION_ERROR', '/allowed_networks'],
  ])('a wrong field is refused: %j', async (body, code, path) => {
    const { id } = await createProgram(organization.admin, ['*:read'])
    expectError(await organization.admin.patch(`/api-keys/${id}`, body), 422, code, [path])
  })
})

describe('revoking', () => {
  test('ends the key at once and for good; it stays listed', async () => {
    const { admin } = organization
    const program = await createProgram(admin, ['*:write'])
    expect((await program.get('/labels')).status).toBe(200)
    const revoked = await admin.delete(`/api-keys/${program.id}`)
    expect([revoked.status, revoked.text]).toEqual([204, ''])
    expectError(await program.get('/labels'), 401, 'INVALID_TOKEN')
    const shown = await admin.get(`/api-keys/${program.id}`)
    expect([shown.status, shown.body.data.revoked_at]).toEqual([200, expect.any(String)])
    expectError(await admin.delete(`/api-keys/${program.id}`), 404, 'API_KEY_NOT_FOUND')
    expectError(await admin.patch(`/api-keys/${program.id}`, { name: 'Again' }), 404, 'API_KEY_NOT_FOUND')
    expectError(await admin.patch(`/api-keys/${program.id}`, { name: 1 }), 404, 'API_KEY_NOT_FOUND')
  })

  test('a key outlives the person who made it', async () => {
    const maker = await organization.addMember('admin', 'Mia Maker')
    const program = await createProgram(maker, ['labels:read'])
    await organization.admin.delete(`/users/${maker.user_id}`)
    expect((await program.get('/labels')).status).toBe(200)
    const { data } = (await organization.admin.get(`/api-keys/${program.id}`)).body
    expect(data.created_by).toEqual({ id: maker.user_id, name: 'Mia Maker' })
  })
})

describe('access', () => {
  test('a key has an ETag that its creation and later reads share, and a change that came between is noticed', async () => {
    const { admin } = organization
    const created = await admin.post('/api-keys', { name: 'Importer', permissions: ['*:read'] })
    const path = `/api-keys/${created.body.data.id}`
    const tag = (await admin.get(path)).headers.get('etag')!
    expect(created.headers.get('etag')).toBe(tag)
    expect((await admin.get(path, { 'if-none-match': tag })).status).toBe(304)
    expect((await admin.patch(path, { name: 'Exporter' }, { 'if-match': tag })).status).toBe(200)
    expectError(await admin.patch(path, { name: 'Other' }, { 'if-match': tag }), 412, 'PRECONDITION_FAILED')
    expectError(await admin.delete(path, undefined, { 'if-match': tag }), 412, 'PRECONDITION_FAILED')
  })
})
