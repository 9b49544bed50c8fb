/** Saved filters of the ticket list, and whose they are. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { type Answer, type Client, createOrganization, expectError, startApi, stopApi } from '../../support/api'
import { createProgram } from '../../support/api-keys'
import { createTicket } from '../../support/factories'
import { fingerprint } from '../../support/world'

beforeAll(() => startApi())
afterAll(stopApi)

const FILTER = { status: 'open', assignee_id: 'me', 'custom.tier': 'gold', created_after: '2020-01-01T00:00:00Z' }

async function createView(client: Client, fields: Record<string, unknown> = {}) {
  const answer = await client.post('/views', { name: 'Mine', ...fields })
  if (answer.status !== 201) throw new Error(`creating a view answered ${answer.status} ${answer.text}`)
  return answer.body.data
}

const ids = ({ body }: Answer): string[] => body.data.map(({ id }: { id: string }) => id)

test('a view keeps name, filter and sort, is private at first, and is changed field by field', async () => {
  const { agent } = await createOrganization()
  const owner = { id: agent.user_id, name: 'Alan Agent' }
  const view = await createView(agent, { filter: FILTER, sort: '-priority' })
  const [created_at, updated_at] = [expect.any(String), expect.any(String)]
  const own = {
    id: view.id,
    name: 'Mine',
    filter: FILTER,
    sort: '-priority',
    shared: false,
    owner,
    created_at,
    updated_at,
  }
  expect(view).toEqual(own)
  expect((await agent.get(`/views/${view.id}`)).body.data).toEqual(own)
  const renamed = await agent.patch(`/views/${view.id}`, { name: ' Ours ', shared: true, sort: null })
  expect(renamed.body.data).toEqual({ ...own, name: 'Ours', shared: true, sort: null })
  const cleared = await agent.patch(`/views/${view.id}`, { filter: {} })
  expect(cleared.body.data).toMatchObject({ name: 'Ours', filter: {} })
  expect((await agent.delete(`/views/${view.id}`)).status).toBe(204)
  expectError(await agent.get(`/views/${view.id}`), 404, 'VIEW_NOT_FOUND')
  expect(await createView(agent, { filter: null, sort: null })).toMatchObject({ filter: {}, sort: null })
})

test('views come by name, a page at a time: shared ones, and a person’s own', async () => {
  const { admin, agent } = await createOrganization()
  const b = await createView(agent, { name: 'b' })
  const a = await createView(admin, { name: 'A', shared: true })
  const c = await createView(admin, { name: 'C' })
  expect(ids(await agent.get('/views'))).toEqual([a.id, b.id])
  expect(ids(await admin.get('/views'))).toEqual([a.id, c.id])
  const first = await agent.get('/views?per_page=1')
  expect([ids(first), first.body.meta.total]).toEqual([[a.id], 2])
  expect(ids(await agent.get(`/views?per_page=1&cursor=${first.body.meta.next_cursor}`))).toEqual([b.id])
})

test('a private view of another is unknown, for an admin too; a shared one is changed by its owner and by admins', async () => {
  const { admin, agent, addMember, scope } = await createOrganization()
  const [zoe, { agent: stranger }] = [await addMember('agent', 'Zoe Agent'), await createOrganization()]
  const [secret, shared] = [await createView(agent), await createView(agent, { shared: true })]
  const program = await createProgram(admin, ['views:write', 'tickets:read'])
  const before = await fingerprint(scope.organization_id)
  const unknown = { id: newId() }
  const closed: [Client, { id: string }][] = [
    ...[admin, zoe, program].flatMap((client): [Client, { id: string }][] => [
      [client, secret],
      [client, unknown],
    ]),
    [stranger, shared],
  ]
  for (const [client, { id }] of closed) {
    for (const body of [{ name: 'X' }, { name: 3 }])
      expectError(await client.patch(`/views/${id}`, body), 404, 'VIEW_NOT_FOUND')
    expectError(await client.get(`/views/${id}`), 404, 'VIEW_NOT_FOUND')
    expectError(await client.delete(`/views/${id}`), 404, 'VIEW_NOT_FOUND')
    expectError(await client.get(`/tickets?view_id=${id}`), 422, 'VIEW_NOT_FOUND')
  }
  for (const client of [zoe, program]) {
    expect((await client.get(`/views/${shared.id}`)).status).toBe(200)
    expectError(await client.patch(`/views/${shared.id}`, { name: 'X' }), 403, 'FORBIDDEN')
    expectError(await client.delete(`/views/${shared.id}`), 403, 'FORBIDDEN')
  }
  expect({ ...(await fingerprint(scope.organization_id)), api_keys: '', audit_log: '' }).toEqual({
    ...before,
    api_keys: '',
    audit_log: '',
  })
  expect((await admin.patch(`/views/${shared.id}`, { name: 'X' })).body.data.owner.id).toBe(agent.user_id)
  expect((await admin.delete(`/views/${shared.id}`)).status).toBe(204)
})

test('an API key makes shared views without an owner, which keys and admins change', async () => {
  const { admin, agent } = await createOrganization()
  const program = await createProgram(admin, ['views:write'])
  const view = await createView(program, { filter: { assignee_id: 'me' } })
  expect(view).toMatchObject({ shared: true, owner: null })
  expectError(await program.post('/views', { name: 'X', shared: false }), 422, 'VALIDATION_ERROR')
  expect((await program.patch(`/views/${view.id}`, { name: 'Y' })).status).toBe(200)
  expectError(await agent.patch(`/views/${view.id}`, { name: 'Z' }), 403, 'FORBIDDEN')
  for (const client of [program, admin]) {
    expectError(await client.patch(`/views/${view.id}`, { shared: false }), 422, 'VALIDATION_ERROR')
  }
  const reader = await createProgram(admin, ['views:read'])
  expect(ids(await reader.get('/views'))).toEqual([view.id])
})

test('a wrong filter is refused as in the list, with all faults, and saves nothing', async () => {
  const { agent, scope } = await createOrganization()
  const { id } = await createView(agent)
  const before = await fingerprint(scope.organization_id)
  const refused = async (fields: Record<string, unknown>, code: string, ...paths: string[]) => {
    for (const answer of [
      await agent.post('/views', { name: 'X', ...fields }),
      await agent.patch(`/views/${id}`, fields),
    ]) {
      expectError(answer, 422, code)
      expect(answer.body.error.details.errors.map(({ path }: { path: string }) => path)).toEqual(paths)
    }
  }
  await refused(
    { filter: { status: 'asap', page: '2', assignee_id: 'x' } },
    'INVALID_STATUS',
    ...[...['/filter/status', '/filter/page', '/filter/assignee_id']],
  )
  await refused({ filter: { sort: 'created_at' } }, 'VALIDATION_ERROR', '/filter/sort')
  await refused({ filter: { constructor: 'x' } }, 'VALIDATION_ERROR', '/filter/constructor')
  await refused({ filter: { view_id: id } }, 'VALIDATION_ERROR', '/filter/view_id')
  await refused({ filter: { 'custom.Tier': 'x' } }, 'VALIDATION_ERROR', '/filter/custom.Tier')
  await refused({ filter: { status: ['open'] } }, 'VALIDATION_ERROR', '/filter/status')
  await refused({ filter: 'open', sort: 'name' }, 'VALIDATION_ERROR', '/filter', '/sort')
  expect(await fingerprint(scope.organization_id)).toEqual(before)
})

test('a list by a view has its filter and sort; what is given replaces them, and a cursor is bound to both', async () => {
  const { admin, agent } = await createOrganization()
  const custom = { tier: 'gold', vip: true }
  const one = await createTicket(agent, { assignee_id: agent.user_id, custom, priority: 'low' })
  const two = await createTicket(agent, { assignee_id: agent.user_id, custom, priority: 'high' })
  const three = await createTicket(agent, { assignee_id: admin.user_id, custom })
  const four = await createTicket(agent, { custom: { tier: 'gold' } })
  const view = await createView(agent, { filter: FILTER, sort: 'priority', shared: true })
  const by = async (client: Client, more = '') => ids(await client.get(`/tickets?view_id=${view.id}${more}`))
  expect(await by(agent)).toEqual([one.id, two.id])
  expect(await by(admin)).toEqual([three.id])
  expect(await by(agent, '&sort=-priority')).toEqual([two.id, one.id])
  expect(await by(agent, '&assignee_id=none')).toEqual([four.id])
  expect(await by(agent, '&custom.tier=silver')).toEqual([])
  expect(await by(agent, `&assignee_id=${admin.user_id}&custom.vip=true`)).toEqual([three.id])
  const first = await agent.get(`/tickets?view_id=${view.id}&per_page=1`)
  const next = `/tickets?view_id=${view.id}&per_page=1&cursor=${first.body.meta.next_cursor}`
  expect(ids(await agent.get(next))).toEqual([two.id])
  await agent.patch(`/views/${view.id}`, { sort: '-priority' })
  expectError(await agent.get(next), 422, 'VALIDATION_ERROR')
  expectError(await agent.get('/tickets?view_id=x'), 422, 'VALIDATION_ERROR')
})

test('assignee_id=me are the reader’s tickets, of no API key; none are those without an assignee', async () => {
  const { admin, agent } = await createOrganization()
  const mine = await createTicket(agent, { assignee_id: agent.user_id, subject: 'fire', custom: { tier: 'gold' } })
  const free = await createTicket(agent, { subject: 'fire', custom: { tier: 'gold' } })
  for (const more of [
    '',
    '&status=open',
    '&search=fire',
    '&custom.tier=gold',
    '&sort=updated_at',
    '&priority=normal',
  ]) {
    const [me, none] = [
      await agent.get(`/tickets?assignee_id=me${more}`),
      await agent.get(`/tickets?assignee_id=none${more}`),
    ]
    expect([more, ids(me), me.body.meta.total]).toEqual([more, [mine.id], 1])
    expect([more, ids(none), none.body.meta.total]).toEqual([more, [free.id], 1])
  }
  const program = await createProgram(admin, ['tickets:write'])
  expectError(await program.get('/tickets?assignee_id=me'), 422, 'VALIDATION_ERROR')
  expect(ids(await program.get('/tickets?assignee_id=none'))).toEqual([free.id])
  expectError(await program.get('/tickets?assignee_id=you'), 422, 'VALIDATION_ERROR')
  expectError(
    await program.post('/tickets/bulk', { filter: { assignee_id: 'me' }, changes: { priority: 'low' } }),
    422,
    'VALIDATION_ERROR',
  )
  const bulk = { filter: { assignee_id: 'none' }, changes: { priority: 'low' } }
  expect((await program.post('/tickets/bulk', bulk)).body.data).toMatchObject([{ id: free.id, result: 'changed' }])
})

test('a shared view of unread tickets, or of my own, is for people alone', async () => {
  const { admin, agent } = await createOrganization()
  const program = await createProgram(admin, ['tickets:write', 'views:write'])
  const fresh = await createTicket(admin, { description: 'Help' })
  const read = await createTicket(admin, { description: 'Help', assignee_id: agent.user_id })
  await agent.send('PUT', `/tickets/${read.id}/read`)
  const views = []
  for (const filter of [{ unread: 'true' }, { assignee_id: 'me' }, { unread: 'false', assignee_id: 'me' }]) {
    views.push(await createView(agent, { filter, shared: true }))
  }
  const shown = []
  for (const { id } of views) {
    shown.push(ids(await agent.get(`/tickets?view_id=${id}`)))
    const refused = await program.get(`/tickets?view_id=${id}`)
    expectError(refused, 422, 'VALIDATION_ERROR')
    expect(refused.body.error.details.errors).toMatchObject([{ path: '/query/view_id' }])
  }
  expect(shown).toEqual([[fresh.id], [read.id], [read.id]])
  expect(ids(await admin.get(`/tickets?view_id=${views[0].id}`))).toEqual([fresh.id])
  const refusal = async (answer: Promise<Awaited<ReturnType<typeof program.get>>>) => {
    const { status, body } = await answer
    return [status, body.error?.details.errors[0].path]
  }
  expect(await refusal(program.get('/tickets?unread=false'))).toEqual([422, '/query/unread'])
  expect(await refusal(program.get(`/tickets?view_id=${views[1].id}&unread=true`))).toEqual([422, '/query/view_id'])
  expect(await refusal(program.get(`/tickets?view_id=${views[0].id}&unread=true`))).toEqual([422, '/query/unread'])
  for (const dry_run of [true, false]) {
    const bulk = { filter: { unread: true }, changes: { priority: 'low' }, dry_run }
    expect(await refusal(program.post('/tickets/bulk', bulk))).toEqual([422, '/filter/unread'])
  }
  // A parameter replaces that of the view.
  const given = await program.get(`/tickets?view_id=${views[1].id}&assignee_id=${agent.user_id}`)
  expect(ids(given)).toEqual([read.id])
  expectError(await agent.get('/tickets?unread=yes'), 422, 'VALIDATION_ERROR')
  const bulk = { filter: { unread: true }, changes: { priority: 'low' } }
  expect((await agent.post('/tickets/bulk', bulk)).body.data).toMatchObject([{ id: fresh.id, result: 'changed' }])
})

test('with a removed member private views go, and shared ones stay without an owner', async () => {
  const { admin, agent, scope } = await createOrganization()
  await createView(agent)
  const shared = await createView(agent, { shared: true })
  expect((await admin.delete(`/users/${agent.user_id}`)).status).toBe(204)
  expect((await admin.get(`/views/${shared.id}`)).body.data).toMatchObject({ shared: true, owner: null })
  const { sql, organization_id } = scope
  const left = await sql<{ id: string }[]>`select id from views where organization_id = ${organization_id}`
  expect(left.map(({ id }) => id)).toEqual([shared.id])
})

test('an owner has 100 views, also when several are made at once', async () => {
  const { admin, agent, scope } = await createOrganization()
  const { sql, organization_id } = scope
  for (let n = 0; n < 98; n++) {
    await sql`
      insert into views (organization_id, id, name, owner_id) values (${organization_id}, ${newId()}, 'V', ${agent.user_id})`
  }
  const made = await Promise.all([1, 2, 3, 4].map(() => agent.post('/views', { name: 'V' })))
  expect(made.map(({ status }) => status).toSorted()).toEqual([201, 201, 422, 422])
  await createView(admin)
})
