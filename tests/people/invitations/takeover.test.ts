/** Attempts to get into another organization by way of an account that organizations share. */
import { afterAll, beforeAll, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { acceptInvitation } from '../../../src/people/invitations/answer-invitation'
import { resendInvitation } from '../../../src/people/invitations/commands'
import {
  type Answer,
  createOrganization,
  expectError,
  type Organization,
  PASSWORD,
  signIn,
  stranger,
} from '../../support/api'
import { type Desk, type StartedDesk, startDesk } from '../../support/desk'
import { lastLetterTo, nextToken, operatorServer } from '../../support/letters'
import { drain } from '../../support/mail'
import { ORIGIN, overtake } from '../../support/overtaking'

let desk: StartedDesk

beforeAll(async () => {
  desk = await startDesk()
})
afterAll(() => desk.stop())

let email: string

beforeEach(() => {
  email = `carol.${newId()}@b.example`
})

const KNOWN = 'attacker knows this'

describe('a password that another organization set', () => {
  test('opens nothing in the organization that invites the person', async () => {
    using _ = operatorServer(desk.sink)
    const attacker = await createOrganization('Attacker')
    const carol = await addMember(attacker, { name: 'x' })
    const before = await signInWith(KNOWN)
    const victim = await createOrganization('Victim')
    expectError(
      await victim.admin.post('/users', { email, name: 'Carol', password: PASSWORD }),
      422,
      'VALIDATION_ERROR',
    )
    const invited = await victim.admin.post('/users', { email, name: 'Carol Real', role: 'admin' })
    expect(invited.body.data).toMatchObject({ name: 'Carol Real', status: 'invited' })
    expect(invited.body.data.id).not.toBe(carol)
    expect((await signInWith(KNOWN)).status).toBe(200)
    expect((await organizationsOf(KNOWN)).map(({ name }) => name)).toEqual(['Attacker'])

    const accepted = await accept(await tokenFor(email), { password: 'carols password', name: 'Carol Real' })
    expect(accepted.status).toBe(200)
    expectError(await signInWith(KNOWN), 401, 'INVALID_CREDENTIALS')
    for (const organization of ['', victim.id]) {
      const headers = { authorization: `Bearer ${before.body.access_token}`, 'x-organization-id': organization }
      expectError(await stranger().get('/users', headers), 401, 'INVALID_TOKEN')
    }
    expectError(await refresh(before.body.refresh_token), 401, 'INVALID_TOKEN')
    const { user_id } = await signIn(email, 'carols password')
    for (const changes of [{ password: KNOWN }, { email: `other.${email}` }, { name: 'y' }]) {
      expectError(await attacker.admin.patch(`/users/${user_id}`, changes), 403, 'FORBIDDEN')
    }
  })

  test('opens nothing after the attacker removed the traces: a removed membership counts', async () => {
    using _ = operatorServer(desk.sink)
    const attacker = await createOrganization('Attacker')
    const dave = await addMember(attacker)
    const before = (await signInWith(KNOWN)).body
    await attacker.admin.delete(`/users/${dave}`)
    const victim = await createOrganization('Victim')
    expectError(await victim.admin.post('/users', { email, name: 'Dave', password: PASSWORD }), 422, 'VALIDATION_ERROR')
    await invite(victim, { role: 'admin' })
    await accept(await tokenFor(email), { password: 'daves password' })
    expectError(await signInWith(KNOWN), 401, 'INVALID_CREDENTIALS')
    expectError(await refresh(before.refresh_token), 401, 'INVALID_TOKEN')
    const headers = { authorization: `Bearer ${before.access_token}`, 'x-organization-id': victim.id }
    expectError(await stranger().get('/users', headers), 401, 'INVALID_TOKEN')
  })

  test('cannot be set while another organization waits for the person', async () => {
    const victim = await desk.createDesk()
    await invite(victim)
    const attacker = await desk.createDesk()
    const at_once = await attacker.admin.post('/users', { email, name: 'x', password: KNOWN })
    expectError(at_once, 422, 'VALIDATION_ERROR')
    expect(at_once.body.error.details.errors[0].path).toBe('/password')
  })

  test('stays in doubt when the person changes it', async () => {
    using _ = operatorServer(desk.sink)
    const first = await createOrganization()
    await addMember(first)
    const client = await signIn(email, KNOWN)
    await client.patch('/auth/me', { current_password: KNOWN, new_password: PASSWORD })
    await invite(await createOrganization())
    expect((await show(await tokenFor(email))).body.data.needs_password).toBe(true)
  })

  test.each([
    ['password', KNOWN],
    ['email', `other.${newId()}@b.example`],
    ['name', 'y'],
  ])('cannot be set, like any %s, by an admin while the person joins another organization', async (field, value) => {
    using _ = operatorServer(desk.sink)
    const attacker = await createOrganization('Attacker')
    const carol = await addMember(attacker)
    await invite(await createOrganization('Victim'), { role: 'admin' })
    const token = await tokenFor(email)
    const answer = await overtake(
      (inner) => acceptInvitation(inner, token, { password: 'carols password' }, ORIGIN, {}),
      () => attacker.admin.patch(`/users/${carol}`, { [field]: value }),
    )
    expectError(answer, 403, 'FORBIDDEN')
    expectError(await signInWith(KNOWN), 401, 'INVALID_CREDENTIALS')
    expect((await signIn(email, 'carols password')).user_id).toBe(carol)
  })

  test('makes a held one doubtful again, as does a new address', async () => {
    using _ = operatorServer(desk.sink)
    for (const changes of [{ password: KNOWN }, { email: `new.${email}` }]) {
      const first = await createOrganization()
      email = `held.${newId()}@b.example`
      await invite(first)
      await accept(await tokenFor(email), { password: PASSWORD })
      const { user_id } = await signIn(email)
      const changed = await first.admin.patch(`/users/${user_id}`, changes)
      expect(changed.status).toBe(200)
      email = changed.body.data.email
      await invite(await createOrganization())
      expect((await show(await tokenFor(email))).body.data.needs_password).toBe(true)
    }
  })
})

describe('a link that the inviting organization could read, because it left by its own mailbox,', () => {
  let victim: Organization
  let attacker: Desk

  beforeEach(async () => {
    victim = await createOrganization('Victim')
    attacker = await desk.createDesk()
  })

  test('does not open the account of a member of another organization', async () => {
    const carol = await addMember(victim, { role: 'admin', password: PASSWORD })
    await invite(attacker)
    const token = await tokenFor(email)
    expect((await show(token)).body.data).toMatchObject({ needs_password: true, needs_current_password: true })
    const alone = await accept(token, { password: KNOWN })
    expectError(alone, 422, 'VALIDATION_ERROR')
    expect(alone.body.error.details.errors[0].path).toBe('/current_password')
    expectError(await accept(token, { password: KNOWN, current_password: 'a guess' }), 401, 'INVALID_CREDENTIALS')
    expectError(await signInWith(KNOWN), 401, 'INVALID_CREDENTIALS')
    expect((await signIn(email)).user_id).toBe(carol)
  })

  test('takes link and present password together, and then the old password is out', async () => {
    await addMember(victim, { password: PASSWORD })
    await invite(attacker)
    const body = { password: 'carols password', current_password: PASSWORD }
    expect((await accept(await tokenFor(email), body)).status).toBe(200)
    expectError(await signInWith(PASSWORD), 401, 'INVALID_CREDENTIALS')
    expect((await organizationsOf('carols password')).length).toBe(2)
  })

  test('makes no password held: the next organization asks for a new one', async () => {
    await invite(attacker)
    await accept(await tokenFor(email), { password: KNOWN })
    using _ = operatorServer(desk.sink)
    await invite(victim)
    const token = await tokenFor(email)
    expect((await show(token)).body.data).toMatchObject({ needs_password: true, needs_current_password: false })
    expect((await accept(token, { password: 'carols password' })).status).toBe(200)
    expectError(await signInWith(KNOWN), 401, 'INVALID_CREDENTIALS')
  })
})

test('a link accepts nothing while its invitation is sent again', async () => {
  const { admin, scope } = await desk.createDesk()
  const { id } = (await admin.post('/users', { email, name: 'Carol' })).body.data
  const token = await tokenFor(email)
  const answer = await overtake(
    (inner) => resendInvitation({ ...scope, ...inner }, id),
    () => accept(token, { password: 'carols password' }),
  )
  expectError(answer, 401, 'INVALID_TOKEN')
})

test('passwords are hashed and tried while no transaction is open', async () => {
  using _ = operatorServer(desk.sink)
  const { sql } = connection()
  const open: string[] = []
  const note = async (work: string) => {
    const [row] = await sql<{ count: string }[]>`
      select count(*) from pg_stat_activity where datname = current_database() and state = 'idle in transaction'`
    open.push(`${work} ${row!.count}`)
  }
  const { hash, verify } = Bun.password
  using _hash = spyOn(Bun.password, 'hash').mockImplementation(async (...given) => {
    await note('hash')
    return hash(...given)
  })
  using _verify = spyOn(Bun.password, 'verify').mockImplementation(async (...given) => {
    await note('verify')
    return verify(...given)
  })
  await invite(await createOrganization())
  expect((await accept(await tokenFor(email), { password: PASSWORD })).status).toBe(200)
  await invite(await createOrganization())
  expect((await accept(await tokenFor(email), { password: PASSWORD })).status).toBe(200)
  expect(open).toEqual(['hash 0', 'verify 0'])
})

test('two invitations of an address without an account are accepted at once', async () => {
  using _ = operatorServer(desk.sink)
  const tokens = []
  for (const name of ['First', 'Second']) {
    await invite(await createOrganization(name))
    tokens.push(await tokenFor(email))
  }
  const answers = await Promise.all(tokens.map((token) => accept(token, { password: PASSWORD })))
  expect(answers.map(({ status }) => status)).toEqual([200, 200])
  expect((await organizationsOf(PASSWORD)).map(({ name }) => name).sort()).toEqual(['First', 'Second'])
})

test('an invitation is answered alike for an address with an account and one without', async () => {
  const other = await createOrganization()
  await addMember(other, { name: 'Secret Name' })
  const [known, unknown] = [email, `nobody.${newId()}@b.example`]
  const answers = []
  for (const address of [known, unknown]) {
    const answer = await desk.admin.post('/users', { email: address, name: 'Carol' })
    const { id, email, created_at, ...rest } = answer.body.data
    answers.push([answer.status, [...answer.headers.keys()].sort(), rest])
    expect([email, typeof id, typeof created_at]).toEqual([address, 'string', 'string'])
  }
  expect(answers[0]).toEqual(answers[1]!)
  await drain()
  const texts = await Promise.all([known, unknown].map(async (one) => (await lastLetterTo(desk.sink, one)).text))
  expect(texts[0]!.replace(/token=\S+/, '')).toBe(texts[1]!.replace(/token=\S+/, ''))
})

/** Makes the address a member at once, with a password that the admin knows. */
async function addMember({ admin }: Organization, fields: Record<string, unknown> = {}): Promise<string> {
  const answer = await admin.post('/users', { email, name: 'Carol', password: KNOWN, ...fields })
  if (answer.status !== 201) throw new Error(`adding a member answered ${answer.status} ${answer.text}`)
  return answer.body.data.id
}

async function invite({ admin }: Organization, fields: Record<string, unknown> = {}): Promise<void> {
  const answer = await admin.post('/users', { email, name: 'Carol', ...fields })
  if (answer.status !== 201) throw new Error(`inviting answered ${answer.status} ${answer.text}`)
}

const tokenFor = (address: string) => nextToken(desk.sink, address)

function show(token: string): Promise<Answer> {
  return stranger().get(`/auth/invitations/${token}`)
}

function accept(token: string, body: Record<string, unknown>): Promise<Answer> {
  return stranger().post(`/auth/invitations/${token}/accept`, body)
}

function signInWith(password: string): Promise<Answer> {
  return stranger().post('/auth/login', { email, password })
}

function refresh(refresh_token: string): Promise<Answer> {
  return stranger().post('/auth/refresh', { refresh_token })
}

async function organizationsOf(password: string): Promise<{ name: string }[]> {
  return (await (await signIn(email, password)).get('/auth/me')).body.organizations
}
