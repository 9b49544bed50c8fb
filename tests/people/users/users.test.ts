import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { lockAccount } from '../../../src/base/db/account-lock'
import { newId } from '../../../src/base/db/columns'
import { inTransaction, type Scope } from '../../../src/base/scope'
import { deleteUser, updateUser } from '../../../src/people/users/commands'
import {
  type Answer,
  type Client,
  createOrganization,
  expectError,
  PASSWORD,
  signIn,
  startApi,
  stopApi,
  stranger,
} from '../../support/api'
import { createTicket } from '../../support/factories'
import { someoneWaits } from '../../support/lock-waits'

beforeAll(() => startApi())
afterAll(stopApi)

describe('creating', () => {
  test('a member is returned with every field and can sign in', async () => {
    const { admin, id } = await createOrganization()
    const email = `New.${newId()}@Deskwire.example`
    const fields = { role: 'admin', hourly_rate: 80.5, currency: 'EUR', active: true }
    const answer = await admin.post('/users', {
      email: ` ${email} `,
      name: ' Nora ',
      password: PASSWORD,
      ...fields,
      id,
    })
    expect(answer.status).toBe(201)
    expect(answer.body.data).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      email,
      name: 'Nora',
      ...fields,
      status: 'active',
      available: true,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    })
    expect(answer.text).not.toContain('password')
    expect((await admin.get(`/users/${answer.body.data.id}`)).body).toEqual(answer.body)
    const client = await signIn(email)
    expect((await client.get('/auth/me')).body.organizations).toMatchObject([{ id, role: 'admin' }])
  })

  test('needs no more than email, name and password', async () => {
    const { admin } = await createOrganization()
    const user = await createUser(admin, { role: null, hourly_rate: null, currency: null, active: null })
    expect(user).toMatchObject({ role: 'agent', hourly_rate: null, currency: 'USD', active: true })
  })

  test('someone inactive gives nobody access', async () => {
    const { admin } = await createOrganization()
    const { email } = await createUser(admin, { active: false })
    expectError(await stranger().post('/auth/login', { email, password: PASSWORD }), 401, 'INVALID_CREDENTIALS')
  })

  test.each([
    [{}, 'VALIDATION_ERROR', ['/email', '/name']],
    [{ email: 'nonsense', name: 'N', password: PASSWORD }, 'INVALID_EMAIL', ['/email']],
    [{ email: 5, name: '' }, 'INVALID_EMAIL', ['/email', '/name']],
    [{ email: `a@${'b'.repeat(255)}.com`, name: 'N', password: PASSWORD }, 'VALIDATION_ERROR', ['/email']],
    [{ email: 'a@b.com', name: 'n'.repeat(256), password: PASSWORD }, 'VALIDATION_ERROR', ['/name']],
    [{ email: 'a@b.com', name: 'N' }, 'EMAIL_SEND_FAILED', ['/email']],
    [{ email: 'a@b.com', name: 'N', password: null }, 'EMAIL_SEND_FAILED', ['/email']],
    [{ email: 'a@b.com', name: 'N', active: false }, 'VALIDATION_ERROR', ['/active']],
    [{ email: 'a@b.com', name: 'N', password: 'seven77' }, 'VALIDATION_ERROR', ['/password']],
    [{ email: 'a@b.com', name: 'N', password: 'x'.repeat(201) }, 'VALIDATION_ERROR', ['/password']],
    [{ email: 'a@b.com', name: 'N', password: PASSWORD, role: 'owner' }, 'VALIDATION_ERROR', ['/role']],
    [{ email: 'a@b.com', name: 'N', password: PASSWORD, hourly_rate: -1 }, 'VALIDATION_ERROR', ['/hourly_rate']],
    [{ email: 'a@b.com', name: 'N', password: PASSWORD, currency: 'usd' }, 'VALIDATION_ERROR', ['/currency']],
    [{ email: 'a@b.com', name: 'N', password: PASSWORD, active: 1 }, 'VALIDATION_ERROR', ['/active']],
  ])('is refused with %j', async (body, code, paths) => {
    const { admin } = await createOrganization()
    const answer = await admin.post('/users', body)
    expectError(answer, 422, code)
    expect(answer.body.error.details.errors.map(({ path }: { path: string }) => path)).toEqual(paths)
    expect((await admin.get('/users')).body.meta.total).toBe(2)
  })

  test('a member twice is refused, without regard to case', async () => {
    const { admin, agent } = await createOrganization()
    const answer = await admin.post('/users', { email: agent.email.toUpperCase(), name: 'X', password: PASSWORD })
    expectError(answer, 422, 'EMAIL_ALREADY_EXISTS')
    expect(answer.body.error.details.errors[0].path).toBe('/email')
  })

  test('the same member many times at once makes one', async () => {
    const { admin } = await createOrganization()
    const body = { email: `race.${newId()}@deskwire.example`, name: 'R', password: PASSWORD }
    const answers = await Promise.all(Array.from({ length: 6 }, () => admin.post('/users', body)))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 422, 422, 422, 422, 422])
    for (const answer of answers) if (answer.status === 422) expectError(answer, 422, 'EMAIL_ALREADY_EXISTS')
  })

  test('someone who was removed gives a fresh membership', async () => {
    const { admin, agent } = await createOrganization()
    await admin.patch(`/users/${agent.user_id}`, { role: 'admin', hourly_rate: 50, currency: 'EUR' })
    await admin.delete(`/users/${agent.user_id}`)
    const answer = await admin.post('/users', { email: agent.email, name: 'X', password: PASSWORD })
    expect(answer.status).toBe(201)
    expect(answer.body.data).toMatchObject({ id: agent.user_id, role: 'agent', hourly_rate: null, currency: 'USD' })
    expect((await (await signIn(agent.email)).get('/labels')).status).toBe(200)
  })

  test.each(['removed', 'deactivated first, then removed'])(
    'someone who was %s begins anew: with the given name and password, and without the sessions of before',
    async (how) => {
      const { admin, agent } = await createOrganization()
      const old = (await stranger().post('/auth/login', { email: agent.email, password: PASSWORD })).body
      const path = `/users/${agent.user_id}`
      if (how !== 'removed') await admin.patch(path, { active: false })
      await admin.delete(path)
      const fields = { email: agent.email, name: 'Frank', password: 'franks password' }
      expect((await admin.post('/users', fields)).body.data.name).toBe('Frank')
      const { email } = agent
      expectError(await stranger().post('/auth/login', { email, password: PASSWORD }), 401, 'INVALID_CREDENTIALS')
      const { refresh_token } = old
      expectError(await stranger().post('/auth/refresh', { refresh_token }), 401, 'INVALID_TOKEN')
      for (const token of [old.access_token, agent.token]) {
        const headers = { authorization: `Bearer ${token}` }
        expectError(await stranger().get('/labels', headers), 401, 'INVALID_TOKEN')
      }
      expect((await (await signIn(email, 'franks password')).get('/labels')).status).toBe(200)
    },
  )

  test('a member who is active again signs in again: the sessions of before have ended', async () => {
    const { admin, agent } = await createOrganization()
    const { email } = agent
    const { refresh_token } = (await stranger().post('/auth/login', { email, password: PASSWORD })).body
    for (const active of [false, true]) await admin.patch(`/users/${agent.user_id}`, { active })
    expectError(await stranger().post('/auth/refresh', { refresh_token }), 401, 'INVALID_TOKEN')
    expectError(await agent.get('/labels'), 401, 'INVALID_TOKEN')
    expect((await (await signIn(email)).get('/labels')).status).toBe(200)
  })
})

describe('reading', () => {
  test('members are listed by name without regard to case, paged', async () => {
    const { agent, addMember } = await createOrganization()
    await addMember('agent', 'bea')
    await addMember('agent', 'Zoe')
    const answer = await agent.get('/users')
    expect(answer.body.meta).toEqual({ total: 4, page: 1, per_page: 20, next_cursor: null })
    expect(names(answer)).toEqual(['Ada Admin', 'Alan Agent', 'bea', 'Zoe'])
    expect(Object.keys(answer.body.data[0]).sort()).toEqual(
      ['active', 'available', 'created_at', 'currency', 'email', 'hourly_rate', 'id', 'name', 'role', 'status'].sort(),
    )
    const second = await agent.get('/users?page=2&per_page=3')
    expect([second.body.meta, names(second)]).toEqual([{ total: 4, page: 2, per_page: 3, next_cursor: null }, ['Zoe']])
  })

  test('a member without a currency has that of the organization', async () => {
    const { admin, agent } = await createOrganization()
    await admin.patch(`/users/${agent.user_id}`, { currency: 'GBP' })
    await admin.patch('/organization', { currency: 'CHF' })
    const shown = (await agent.get('/users')).body.data.map((user: { currency: string }) => user.currency)
    expect(shown).toEqual(['CHF', 'GBP'])
    const { id } = (await admin.get('/auth/me')).body
    expect((await admin.get(`/users/${id}`)).body.data.currency).toBe('CHF')
  })

  test('members who were removed are gone, deactivated ones stay', async () => {
    const { admin, agent, addMember } = await createOrganization()
    const gone = await addMember('agent', 'Gone')
    await admin.delete(`/users/${gone.user_id}`)
    await admin.patch(`/users/${agent.user_id}`, { active: false })
    expect(names(await admin.get('/users'))).toEqual(['Ada Admin', 'Alan Agent'])
    expect((await admin.get(`/users/${agent.user_id}`)).body.data).toMatchObject({ active: false, status: 'inactive' })
    expect(names(await admin.get('/users?status=active'))).toEqual(['Ada Admin'])
    expect(names(await admin.get('/users?status=inactive'))).toEqual(['Alan Agent'])
    expectError(await admin.get(`/users/${gone.user_id}`), 404, 'USER_NOT_FOUND')
  })
})

describe('updating', () => {
  test('changes what is given and nothing else', async () => {
    const { admin, agent } = await createOrganization()
    const email = `renamed.${newId()}@deskwire.example`
    const path = `/users/${agent.user_id}`
    const before = (await admin.get(path)).body.data
    const changes = { email, name: 'Renamed', role: 'admin', hourly_rate: 12.5, currency: 'GBP' }
    for (const [field, value] of Object.entries(changes)) {
      Object.assign(before, { [field]: value })
      expect((await admin.patch(path, { [field]: value })).body.data).toEqual(before)
    }
    const answer = await admin.patch(path, { hourly_rate: null, currency: null })
    expect(answer.body.data).toEqual({ ...before, hourly_rate: null, currency: 'USD' })
    expect((await admin.patch(path, {})).body).toEqual(answer.body)
    expect((await signIn(email)).user_id).toBe(agent.user_id)
  })

  test('a password ends what the old one opened', async () => {
    const { admin, agent } = await createOrganization()
    const login = (password: string) => stranger().post('/auth/login', { email: agent.email, password })
    const { refresh_token } = (await login(PASSWORD)).body
    expect((await admin.patch(`/users/${agent.user_id}`, { password: 'a new password' })).status).toBe(200)
    expectError(await login(PASSWORD), 401, 'INVALID_CREDENTIALS')
    expectError(await stranger().post('/auth/refresh', { refresh_token }), 401, 'INVALID_TOKEN')
    expect((await login('a new password')).status).toBe(200)
  })

  test.each([
    [{ email: 'nonsense' }, 'INVALID_EMAIL', '/email'],
    [{ email: null }, 'INVALID_EMAIL', '/email'],
    [{ name: ' ' }, 'VALIDATION_ERROR', '/name'],
    [{ name: null }, 'VALIDATION_ERROR', '/name'],
    [{ password: 'seven77' }, 'VALIDATION_ERROR', '/password'],
    [{ password: null }, 'VALIDATION_ERROR', '/password'],
    [{ role: 'owner' }, 'VALIDATION_ERROR', '/role'],
    [{ role: null }, 'VALIDATION_ERROR', '/role'],
    [{ hourly_rate: 1.999 }, 'VALIDATION_ERROR', '/hourly_rate'],
    [{ currency: 'Euro' }, 'VALIDATION_ERROR', '/currency'],
    [{ active: null }, 'VALIDATION_ERROR', '/active'],
  ])('is refused with %j', async (changes, code, path) => {
    const { admin, agent } = await createOrganization()
    const before = (await admin.get(`/users/${agent.user_id}`)).body
    const answer = await admin.patch(`/users/${agent.user_id}`, { ...changes })
    expectError(answer, 422, code)
    expect(answer.body.error.details.errors[0].path).toBe(path)
    expect((await admin.get(`/users/${agent.user_id}`)).body).toEqual(before)
  })

  test('an email to that of another account is refused, and nothing is kept', async () => {
    const { admin, agent } = await createOrganization()
    const other = await createOrganization()
    const changes = { email: other.agent.email.toUpperCase(), role: 'admin', hourly_rate: 5 }
    const answer = await admin.patch(`/users/${agent.user_id}`, changes)
    expectError(answer, 422, 'EMAIL_ALREADY_EXISTS')
    expect(answer.body.error.details.errors[0].path).toBe('/email')
    const user = (await admin.get(`/users/${agent.user_id}`)).body.data
    expect(user).toMatchObject({ email: agent.email, role: 'agent', hourly_rate: null })
    expect((await admin.patch(`/users/${agent.user_id}`, { email: agent.email.toUpperCase() })).status).toBe(200)
  })

  test('the account is refused while another organization relies on it; the membership is free', async () => {
    const { admin, agent } = await createOrganization()
    const other = await createOrganization()
    const { sql } = other.scope
    await sql`insert into memberships (organization_id, user_id) values (${other.id}, ${agent.user_id})`
    const path = `/users/${agent.user_id}`
    for (const changes of [{ name: 'X' }, { email: 'x@example.com' }, { password: 'long enough' }]) {
      expectError(await admin.patch(path, { role: 'admin', ...changes }), 403, 'FORBIDDEN')
    }
    expect((await admin.get(path)).body.data).toMatchObject({ name: 'Alan Agent', role: 'agent' })
    const answer = await admin.patch(path, { role: 'admin', hourly_rate: 5, currency: 'EUR' })
    expect(answer.body.data).toMatchObject({ role: 'admin', hourly_rate: 5, currency: 'EUR' })
    const there = (await other.admin.get(path)).body.data
    expect(there).toMatchObject({ role: 'agent', hourly_rate: null, currency: 'USD' })
    await other.admin.delete(path)
    expect((await admin.patch(path, { name: 'Mine again' })).body.data.name).toBe('Mine again')
  })
})

describe('removing', () => {
  test('a member answers 204 and keeps the name at what was done', async () => {
    const { admin, agent } = await createOrganization()
    const ticket = await createTicket(admin, { assignee_id: agent.user_id })
    const answer = await admin.delete(`/users/${agent.user_id}`)
    expect([answer.status, answer.text]).toEqual([204, ''])
    expectError(await admin.delete(`/users/${agent.user_id}`), 404, 'USER_NOT_FOUND')
    const { assignee } = (await admin.get(`/tickets/${ticket.id}`)).body.data
    expect(assignee).toEqual({ id: agent.user_id, name: 'Alan Agent' })
    const again = await admin.post(`/tickets/${ticket.id}/assign`, { assignee_id: agent.user_id })
    expectError(again, 422, 'USER_NOT_FOUND')
  })
})

describe('the last admin', () => {
  test('can be neither removed, nor demoted, nor deactivated', async () => {
    const { admin } = await createOrganization()
    const path = `/users/${admin.user_id}`
    const answers: [Answer, string | undefined][] = [
      [await admin.delete(path), undefined],
      [await admin.patch(path, { role: 'agent', name: 'Changed' }), '/role'],
      [await admin.patch(path, { active: false }), '/active'],
    ]
    for (const [answer, field] of answers) {
      expectError(answer, 422, 'VALIDATION_ERROR')
      if (field) expect(answer.body.error.details.errors[0].path).toBe(field)
    }
    expect((await admin.get(path)).body.data).toMatchObject({ name: 'Ada Admin', role: 'admin', active: true })
  })

  test('is not an inactive one', async () => {
    const { admin, addMember } = await createOrganization()
    const second = await addMember('admin')
    expect((await admin.patch(`/users/${second.user_id}`, { active: false })).status).toBe(200)
    expectError(await admin.delete(`/users/${admin.user_id}`), 422, 'VALIDATION_ERROR')
    expect((await admin.delete(`/users/${second.user_id}`)).status).toBe(204)
  })

  test('may go when another is there', async () => {
    const { admin, addMember } = await createOrganization()
    await addMember('admin')
    expect((await admin.patch(`/users/${admin.user_id}`, { role: 'agent' })).status).toBe(200)
  })

  test.each<[string, (scope: Scope, id: string) => Promise<unknown>]>([
    ['remove', deleteUser],
    ['demote', (scope, id) => updateUser(scope, id, { role: 'agent' })],
  ])('stays when two %s each other at the same time', async (_, end) => {
    const { scope, admin, addMember } = await createOrganization()
    const second = await addMember('admin')
    const at_the_same_time: Promise<unknown>[] = []
    await inTransaction(scope, async (inner) => {
      await end(inner, second.user_id)
      at_the_same_time.push(end(scope, admin.user_id).catch((error) => error))
      await Promise.race([...at_the_same_time, someoneWaits()])
    })
    expect(await Promise.all(at_the_same_time)).toEqual([expect.objectContaining({ code: 'VALIDATION_ERROR' })])
    expect((await admin.get(`/users/${admin.user_id}`)).body.data.role).toBe('admin')
  })
})

describe('changes under If-Match', () => {
  const any = { 'if-match': '*' }

  test('wait for a change of the same member without it', async () => {
    const { scope, admin } = await createOrganization()
    const change = { answer: Promise.resolve<Answer | undefined>(undefined) }
    await inTransaction(scope, async (inner) => {
      await lockAccount(inner, admin.user_id)
      change.answer = admin.patch(`/users/${admin.user_id}`, { hourly_rate: 7 }, any)
      await someoneWaits()
      await updateUser(inner, admin.user_id, { currency: 'CHF' })
    })
    expect(await change.answer).toMatchObject({ status: 200, body: { data: { hourly_rate: 7, currency: 'CHF' } } })
  })

  test('wait for a change of another admin', async () => {
    const { scope, admin, addMember } = await createOrganization()
    const second = await addMember('admin')
    const change = { answer: Promise.resolve<Answer | undefined>(undefined) }
    await inTransaction(scope, async (inner) => {
      const { sql, organization_id } = inner
      await sql`
        select from memberships where organization_id = ${organization_id} and user_id = ${admin.user_id} for no key update`
      change.answer = admin.patch(`/users/${second.user_id}`, { hourly_rate: 7 }, any)
      await someoneWaits()
      await updateUser(inner, admin.user_id, { currency: 'CHF' })
    })
    expect(await change.answer).toMatchObject({ status: 200, body: { data: { hourly_rate: 7 } } })
  })
})

test('a name with control characters is refused, of a member, of the own account and of the organization', async () => {
  const { admin } = await createOrganization()
  const { id } = await createUser(admin)
  for (const path of [`/users/${id}`, '/auth/me', '/organization']) {
    for (const name of ['Nora\r\nBcc: x', 'Nora\u001b[31m', 'Nora\u0085']) {
      const answer = await admin.patch(path, { name: `${name} x` })
      expectError(answer, 422, 'VALIDATION_ERROR')
      expect(answer.body.error.details.errors[0].path).toBe('/name')
    }
    expect((await admin.patch(path, { name: ' Nora Ñandú 山\n' })).status).toBe(200)
  }
})

async function createUser(client: Client, fields: Record<string, unknown> = {}) {
  const email = `user.${newId()}@deskwire.example`
  const answer = await client.post('/users', { email, name: 'Nora', password: PASSWORD, ...fields })
  if (answer.status !== 201) throw new Error(`creating a user answered ${answer.status} ${answer.text}`)
  return answer.body.data
}

function names(answer: Answer): string[] {
  return answer.body.data.map(({ name }: { name: string }) => name)
}
