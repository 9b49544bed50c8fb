/** Invitations of accounts with a second factor. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connection } from '../../../src/base/db/pool'
import { type Client, createOrganization, expectError, PASSWORD, signIn, stranger } from '../../support/api'
import { type StartedDesk, startDesk } from '../../support/desk'
import { nextToken } from '../../support/letters'
import { codeOf, enableSecondFactor, wrongCodeOf } from '../../support/second-factor'

let desk: StartedDesk

beforeAll(async () => {
  desk = await startDesk()
})
afterAll(() => desk.stop())

test('accepting an invitation takes the code of an account with a second factor, whatever its password', async () => {
  for (const is_password_held of [true, false]) {
    const { agent } = await createOrganization()
    const { secret } = await enableSecondFactor(agent)
    await connection().sql`update users set is_password_held = ${is_password_held} where id = ${agent.user_id}`
    const token = await tokenFor(agent)
    const accept = (fields: object) =>
      stranger().post(`/auth/invitations/${token}/accept`, {
        password: PASSWORD,
        current_password: PASSWORD,
        ...fields,
      })
    if (is_password_held) expectError(await accept({ password: 'wrong' }), 401, 'INVALID_CREDENTIALS')
    expectError(await accept({}), 401, 'SECOND_FACTOR_REQUIRED')
    expectError(await accept({ code: wrongCodeOf(secret) }), 401, 'INVALID_CREDENTIALS')
    expect((await desk.agent.get('/users?status=invited&per_page=100')).text).toContain(agent.email)
    // Nothing of the account changed.
    expect((await agent.get('/auth/me')).body.organizations).toHaveLength(1)
    const accepted = await accept({ code: codeOf(secret) })
    expect(accepted.status).toBe(200)
    const me = await stranger().get('/auth/me', { authorization: `Bearer ${accepted.body.access_token}` })
    expect(me.body.organizations).toHaveLength(2)
    await expect(signIn(agent.email)).rejects.toThrow('SECOND_FACTOR_REQUIRED')
  }
})

async function tokenFor({ email }: Client): Promise<string> {
  await desk.admin.post('/users', { email, name: 'Carol' })
  return nextToken(desk.sink, email)
}
