/** Sign-ins and new passwords that another change overtakes after their password or link was checked. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { connection } from '../../../src/base/db/pool'
import type { Connection } from '../../../src/base/db/transact'
import { setPassword, updateMe } from '../../../src/people/auth/commands'
import { forgetAccounts } from '../../../src/people/auth/forget-accounts'
import { requestReset, resetPassword } from '../../../src/people/auth/password-reset'
import { deleteUser, updateUser } from '../../../src/people/users/commands'
import {
  type Answer,
  createOrganization,
  expectError,
  type Organization,
  PASSWORD,
  signIn,
  stranger,
} from '../../support/api'
import { type StartedDesk, startDesk } from '../../support/desk'
import { nextToken, operatorServer } from '../../support/letters'
import { drain } from '../../support/mail'
import { ORIGIN, overtake } from '../../support/overtaking'

let desk: StartedDesk
let organization: Organization
let email: string
let user_id: string

beforeAll(async () => {
  desk = await startDesk()
})
afterAll(() => desk.stop())

beforeEach(async () => {
  organization = await createOrganization()
  email = organization.agent.email
  user_id = organization.agent.user_id
})

const NEW = 'a new password'
const OTHER = 'another password'

describe('a sign-in whose password was right', () => {
  test('fails when the operator sets another password before it ends', async () => {
    expectError(await overtake((inner) => setPassword(inner, email, NEW), login), 401, 'INVALID_CREDENTIALS')
  })

  test('fails when an admin sets another password before it ends', async () => {
    const change = (inner: Connection) => updateUser(scopeOf(inner), user_id, { password: NEW })
    expectError(await overtake(change, login), 401, 'INVALID_CREDENTIALS')
  })

  test('fails when a link sets another password before it ends', async () => {
    using _ = operatorServer(desk.sink)
    const token = await linkFor(email)
    const change = (inner: Connection) => resetPassword(inner, { token, new_password: NEW }, ORIGIN)
    expectError(await overtake(change, login), 401, 'INVALID_CREDENTIALS')
  })

  test('fails when the last membership ends before it ends', async () => {
    const remove = (inner: Connection) => deleteUser(scopeOf(inner), user_id)
    expectError(await overtake(remove, login), 401, 'INVALID_CREDENTIALS')
  })

  test('goes on when only the name changes', async () => {
    const answer = await overtake((inner) => updateUser(scopeOf(inner), user_id, { name: 'Renamed' }), login)
    expect([answer.status, answer.body.user.name]).toEqual([200, 'Renamed'])
  })
})

describe('a change of the own account', () => {
  test.each([
    ['password', { current_password: PASSWORD, new_password: OTHER }],
    ['name', { name: 'Other' }],
  ])('sets no %s when the sessions end before it does', async (_field, changes) => {
    const session = await signIn(email)
    const answer = await overtake(
      (inner) => setPassword(inner, email, NEW),
      () => session.patch('/auth/me', changes),
    )
    expectError(answer, 401, 'INVALID_TOKEN')
    expect((await signIn(email, NEW)).user_id).toBe(user_id)
  })

  test('does not write its password over one that the same session has just set', async () => {
    const session = (await stranger().post('/auth/login', { email, password: PASSWORD })).body
    const authorization = { authorization: `Bearer ${session.access_token}` }
    const sessions = await stranger().get('/auth/sessions', authorization)
    const { id: session_id } = sessions.body.data.find(({ current }: { current: boolean }) => current)
    const caller = { id: user_id, session_id, issued_at_s: 0 }
    const passwords = { current_password: PASSWORD, new_password: NEW }
    const answer = await overtake(
      (inner) => updateMe(inner, caller, passwords, { origin: ORIGIN, headers: {} }),
      () => stranger().patch('/auth/me', { current_password: PASSWORD, new_password: OTHER }, authorization),
    )
    expectError(answer, 422, 'VALIDATION_ERROR')
    expect((await signIn(email, NEW)).user_id).toBe(user_id)
  })
})

describe('a link for a new password', () => {
  test('sets one password when it is used twice at once', async () => {
    using _ = operatorServer(desk.sink)
    const token = await linkFor(email)
    const answer = await overtake(
      (inner) => resetPassword(inner, { token, new_password: NEW }, ORIGIN),
      () => reset(token),
    )
    expectError(answer, 401, 'INVALID_TOKEN')
    expect((await signIn(email, NEW)).user_id).toBe(user_id)
  })

  test('sets none when the address of the account changes before it does', async () => {
    using _ = operatorServer(desk.sink)
    const token = await linkFor(email)
    const change = (inner: Connection) => updateUser(scopeOf(inner), user_id, { email: `new.${email}` })
    expectError(await overtake(change, () => reset(token)), 401, 'INVALID_TOKEN')
    expect((await signIn(`new.${email}`)).user_id).toBe(user_id)
  })

  test('does not leave for an address that the account had until just now', async () => {
    using _ = operatorServer(desk.sink)
    const before = desk.sink.messages.length
    await overtake(
      (inner) => updateUser(scopeOf(inner), user_id, { email: `new.${email}` }),
      () => stranger().post('/auth/password/forgot', { email }),
    )
    await drain()
    expect(desk.sink.messages).toHaveLength(before)
  })
})

test('of sign-ins, a link and an admin who sets a password, all at once, no session of the old password is left', async () => {
  using _ = operatorServer(desk.sink)
  for (let round = 0; round < 3; round++) {
    const member = await organization.addMember('agent')
    const token = await linkFor(member.email)
    const signInAs = () => stranger().post('/auth/login', { email: member.email, password: PASSWORD })
    const [changed, was_set, ...sign_ins] = await Promise.all([
      organization.admin.patch(`/users/${member.user_id}`, { password: NEW }),
      reset(token),
      ...[signInAs(), signInAs(), signInAs()],
    ])
    expect([changed.status, was_set.status]).toEqual([200, 204])
    for (const { status, body } of sign_ins) {
      expect([200, 401]).toContain(status)
      if (status !== 200) continue
      const authorization = { authorization: `Bearer ${body.access_token}` }
      expectError(await stranger().get('/auth/me', authorization), 401, 'INVALID_TOKEN')
      expectError(await stranger().post('/auth/refresh', body), 401, 'INVALID_TOKEN')
    }
    const answers = [NEW, OTHER].map((password) => stranger().post('/auth/login', { email: member.email, password }))
    const right = (await Promise.all(answers)).filter(({ status }) => status === 200)
    expect(right).toHaveLength(1)
  }
})

test('who is invited anew while an account is forgotten gets a whole account', async () => {
  const member = await organization.addMember('agent')
  await organization.admin.delete(`/users/${member.user_id}`)
  const { sql } = connection()
  await sql`update memberships set removed_at = '2020-01-01' where user_id = ${member.user_id}`
  await sql`update users set updated_at = '2020-01-01' where id = ${member.user_id}`
  const again = { email: member.email, name: 'Back', password: NEW }
  const answer = await overtake(
    (inner) => forgetAccounts(inner, 365),
    () => organization.admin.post('/users', again),
  )
  expect([answer.status, answer.body.data?.email]).toEqual([201, member.email])
  expect((await signIn(member.email, NEW)).email).toBe(member.email)
})

/** The admin of the test's organization, in a transaction. */
function scopeOf(inner: Connection) {
  return { ...inner, organization_id: organization.id, actor: organization.scope.actor }
}

async function linkFor(address: string): Promise<string> {
  await requestReset(connection(), address, ORIGIN, {})
  return nextToken(desk.sink, address)
}

function login(): Promise<Answer> {
  return stranger().post('/auth/login', { email, password: PASSWORD })
}

function reset(token: string): Promise<Answer> {
  return stranger().post('/auth/password/reset', { token, new_password: OTHER })
}
