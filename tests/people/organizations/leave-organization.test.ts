import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { createOrganization, expectError, startApi, stopApi } from '../../support/api'

beforeAll(() => startApi())
afterAll(stopApi)

test('a member leaves an organization and stays in the others', async () => {
  const { agent, admin, id } = await createOrganization()
  const second = await createOrganization()
  await connection().sql`insert into memberships (organization_id, user_id) values (${second.id}, ${agent.user_id})`
  const answer = await agent.delete(`/auth/me/organizations/${id}`)
  expect([answer.status, answer.text]).toEqual([204, ''])
  expectError(await agent.get('/labels'), 403, 'FORBIDDEN')
  expectError(await admin.get(`/users/${agent.user_id}`), 404, 'USER_NOT_FOUND')
  expect((await agent.get('/labels', { 'x-organization-id': second.id })).status).toBe(200)
  expect((await agent.get('/auth/me')).body.organizations).toMatchObject([{ id: second.id }])
  expectError(await agent.delete(`/auth/me/organizations/${id}`), 404, 'ORGANIZATION_NOT_FOUND')
})

test('a member who leaves the last organization is signed out', async () => {
  const { agent, id } = await createOrganization()
  expect((await agent.delete(`/auth/me/organizations/${id}`)).status).toBe(204)
  expectError(await agent.get('/auth/me'), 401, 'INVALID_TOKEN')
})

test('a member who is not active may leave, so that nobody is held in an organization', async () => {
  const { agent, admin, id } = await createOrganization()
  const second = await createOrganization()
  await connection().sql`insert into memberships (organization_id, user_id) values (${second.id}, ${agent.user_id})`
  await admin.patch(`/users/${agent.user_id}`, { active: false })
  expect((await agent.delete(`/auth/me/organizations/${id}`)).status).toBe(204)
  expect((await second.admin.patch(`/users/${agent.user_id}`, { name: 'Mine' })).status).toBe(200)
})

test('the last admin cannot leave', async () => {
  const { admin, addMember, id } = await createOrganization()
  expectError(await admin.delete(`/auth/me/organizations/${id}`), 422, 'VALIDATION_ERROR')
  expect((await admin.get('/labels')).status).toBe(200)
  await addMember('admin')
  expect((await admin.delete(`/auth/me/organizations/${id}`)).status).toBe(204)
})

test('nobody leaves an organization of others', async () => {
  const { agent } = await createOrganization()
  const other = await createOrganization()
  for (const id of [other.id, newId(), 'nonsense']) {
    expectError(await agent.delete(`/auth/me/organizations/${id}`), 404, 'ORGANIZATION_NOT_FOUND')
  }
})
