/** Members say for what they get mail about tickets, in each organization apart. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { createOrganization, expectError, type Organization, startApi, stopApi } from '../../support/api'

const NONE = { assigned: 'none', reply_on_mine: 'none', mentioned: 'none', new_unassigned: 'none', draft_kept: 'none' }

let first: Organization
let second: Organization

beforeAll(async () => {
  await startApi()
  first = await createOrganization()
  second = await createOrganization()
  await first.scope.sql`
    insert into memberships (organization_id, user_id, created_at)
    values (${second.id}, ${first.agent.user_id}, now() + interval '1 hour')`
})
afterAll(stopApi)

const named = (id: string) => ({ 'x-organization-id': id })

test('each membership has its own, and members of before get no mail', async () => {
  const { agent } = first
  expect((await agent.get('/auth/me')).body.notify).toEqual(NONE)
  const changed = await agent.patch('/auth/me', { notify: { assigned: 'mail', mentioned: 'mail', other: 1 } })
  expect(changed.body.notify).toEqual({ ...NONE, assigned: 'mail', mentioned: 'mail' })
  expect((await agent.get('/auth/me', named(second.id))).body.notify).toEqual(NONE)
  const there = await agent.patch('/auth/me', { notify: { new_unassigned: 'mail' } }, named(second.id))
  expect(there.body.notify).toEqual({ ...NONE, new_unassigned: 'mail' })
  await agent.patch('/auth/me', { notify: { assigned: 'none' } }, named(first.id.toUpperCase()))
  expect((await agent.get('/auth/me', named(''))).body.notify).toEqual({ ...NONE, mentioned: 'mail' })
})

test.each([() => second.id, newId, () => 'x'])(
  'of an organization that is not the own there is nothing',
  async (id) => {
    const { body, status } = await first.admin.get('/auth/me', named(id()))
    expect([status, 'notify' in body]).toEqual([200, false])
    expectError(await first.admin.patch('/auth/me', { notify: { assigned: 'mail' } }, named(id())), 403, 'FORBIDDEN')
    // The rest of the account has no organization.
    expect((await first.admin.patch('/auth/me', { name: 'Ada' }, named(id()))).status).toBe(200)
  },
)

test.each([[{ assigned: 'sms' }], [{ mentioned: null }], ['mail'], [[]], [null]])('%j is refused', async (notify) => {
  const answer = await first.admin.patch('/auth/me', { notify })
  expectError(answer, 422, 'VALIDATION_ERROR')
  expect(answer.body.error.details.errors[0].path).toStartWith('/notify')
})

test('a member who leaves and comes back begins anew', async () => {
  const email = `ivy.${newId()}@visitor.example`
  const invite = () => second.admin.post('/users', { email, name: 'Ivy', password: 'correct horse battery staple' })
  const { id } = (await invite()).body.data
  const read = async () => {
    const rows = await second.scope.sql<{ notify: string[] }[]>`
      select notify from memberships where organization_id = ${second.id} and user_id = ${id}`
    return rows[0]!.notify
  }
  const all = ['assigned', 'reply_on_mine', 'mentioned', 'draft_kept']
  expect(await read()).toEqual(all)
  await second.scope.sql`update memberships set notify = '{}' where organization_id = ${second.id} and user_id = ${id}`
  await second.admin.delete(`/users/${id}`)
  await invite()
  expect(await read()).toEqual(all)
})
