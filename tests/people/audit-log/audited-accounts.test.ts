/** The deeds of people on their own accounts, in the log of each of their organizations. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { setMachines } from '../../../src/base/db/cluster/away'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { transact } from '../../../src/base/db/transact'
import { auditAccount, writeNotedEntries } from '../../../src/people/auth/account-audit'
import { setPassword } from '../../../src/people/auth/commands'
import { noteRefusedSignIn } from '../../../src/people/auth/refused-sign-ins'
import { renewLinks } from '../../../src/people/invitations/commands'
import { createOrganization, PASSWORD, signIn, startApi, stopApi, stranger } from '../../support/api'
import { operatorServer } from '../../support/letters'
import { until } from '../../support/service'

beforeAll(() => startApi())
afterAll(stopApi)

type Entry = { action: string; actor: unknown; resource: { type: string; id: string }; changes: unknown; ip: string }

/**
 * A member of two organizations, and the entries about the account that both of them have alike, the first one first.
 */
async function createMember() {
  const [here, there] = [await createOrganization(), await createOrganization()]
  const { user_id, email } = here.agent
  await connection().sql`insert into memberships (organization_id, user_id) values (${there.id}, ${user_id})`
  const entriesOf = async (admin: typeof here.admin): Promise<Entry[]> =>
    (await admin.get('/audit-log?per_page=100')).body.data.reverse()
  const entries = async (): Promise<Entry[]> => {
    const found = await entriesOf(here.admin)
    expect(await entriesOf(there.admin)).toEqual(found)
    return found
  }
  return { email, user_id, here, there, entries, actor: { type: 'user', id: user_id, name: 'Alan Agent' } }
}

/** The organizations whose logs lack entries about an account, one for each entry. */
async function waitingOf(user_id: string): Promise<string[]> {
  const rows = await connection().sql<{ organization_id: string }[]>`
    select organization_id from account_entries where user_id = ${user_id}`
  return rows.map(({ organization_id }) => organization_id)
}

/** The number of entries in both organizations. */
async function refusedOf(user_id: string): Promise<number> {
  const [row] = await connection().sql<{ total: number }[]>`
    select count(*) as total from audit_log where actor_id = ${user_id} and action = 'auth.login_failed'`
  return row!.total
}

test('a sign-in, its end and the end of other sessions are listed', async () => {
  const { email, user_id, entries, actor } = await createMember()
  const client = await signIn(email)
  const { refresh_token } = (await stranger().post('/auth/login', { email, password: PASSWORD })).body
  await signIn(email)
  await signIn(email)
  const sessions = (await client.get('/auth/sessions')).body.data
  const other = sessions.find(({ current }: { current: boolean }) => !current).id
  expect((await client.delete(`/auth/sessions/${other}`)).status).toBe(204)
  expect((await client.delete(`/auth/sessions/${other}`)).status).toBe(404)
  expect((await client.post('/auth/logout', { refresh_token })).status).toBe(204)
  expect((await client.post('/auth/logout', { refresh_token })).status).toBe(204)
  expect((await client.delete('/auth/sessions')).status).toBe(204)
  const found = await entries()
  const ends = ['auth.session_ended', 'auth.logout', 'auth.session_ended']
  expect(found.map(({ action }) => action)).toEqual([...Array(4).fill('auth.login'), ...ends])
  expect(found[4]!.resource).toEqual({ type: 'session', id: other })
  expect(found[5]!.resource).toEqual(found[1]!.resource)
  expect(found[6]!.resource).toEqual({ type: 'user', id: user_id })
  for (const entry of found) expect(entry).toMatchObject({ actor, ip: '127.0.0.1', request_id: expect.any(String) })
})

test('who is a member of an organization whose machine is away signs in, and that one lists it once it is back', async () => {
  const { email, user_id, here, there, entries } = await createMember()
  setMachines([{ name: 'away', is_up: false }], [there.id])
  try {
    const client = await signIn(email)
    expect((await client.get('/auth/me')).status).toBe(200)
    expect((await client.delete('/auth/sessions')).status).toBe(204)
    expect((await client.get('/tickets', { 'x-organization-id': there.id })).status).toBe(503)
    expect((await here.admin.get('/audit-log')).body.data).toHaveLength(2)
    expect(await waitingOf(user_id)).toEqual([there.id, there.id])
  } finally {
    setMachines([], [])
  }
  await Promise.all([1, 2, 3].map(() => writeNotedEntries(connection())))
  expect((await entries()).map(({ action }) => action)).toEqual(['auth.login', 'auth.session_ended'])
  expect(await waitingOf(user_id)).toEqual([])
})

test('an entry that a crash left behind is listed once', async () => {
  const { user_id, entries } = await createMember()
  const entry = { action: 'auth.logout', resource: null } as const
  await transact(connection(), (inner) => auditAccount(inner, user_id, entry))
  const { sql } = connection()
  const left =
    await sql`select organization_id, id, user_id, entry::text from account_entries where user_id = ${user_id}`
  await writeNotedEntries(connection())
  for (const row of left) await sql`insert into account_entries ${sql(row)}`
  await writeNotedEntries(connection())
  expect(await entries()).toMatchObject([{ action: 'auth.logout' }])
  expect(await waitingOf(user_id)).toEqual([])
})

test('a change of an account that is rolled back is listed nowhere', async () => {
  const { user_id, entries } = await createMember()
  const undone = transact(connection(), async (inner) => {
    await auditAccount(inner, user_id, { action: 'auth.logout', resource: null })
    throw new Error('undone')
  })
  await expect(undone).rejects.toThrow('undone')
  await writeNotedEntries(connection())
  expect(await entries()).toEqual([])
})

test('a refused sign-in of a known account is listed, and no other', async () => {
  const { email, entries, user_id, actor } = await createMember()
  const refuse = (email: string) => stranger().post('/auth/login', { email, password: 'wrong-password-1' })
  expect((await refuse('nobody@deskwire.example')).status).toBe(401)
  expect((await refuse(email.toUpperCase())).status).toBe(401)
  await until('both organizations list it', async () => (await refusedOf(user_id)) === 2)
  expect(await entries()).toMatchObject([
    { action: 'auth.login_failed', actor, resource: { type: 'user', id: user_id }, changes: null, ip: '127.0.0.1' },
  ])
})

test('100 refused sign-ins of an account are listed in a day', async () => {
  const { user_id } = await createMember()
  const origin = { ip: '192.0.2.1', user_agent: null, request_id: 'guess' }
  for (let n = 0; n < 103; n++) noteRefusedSignIn(connection(), user_id, origin)
  await until('100 are listed', async () => (await refusedOf(user_id)) >= 200)
  expect(await refusedOf(user_id)).toBe(200)
})

test('a new password and a new name are listed, and no password', async () => {
  const { email, entries, user_id } = await createMember()
  const client = await signIn(email)
  const new_password = 'another-password-2'
  await client.patch('/auth/me', { name: 'Alan Turing', current_password: PASSWORD, new_password })
  await client.patch('/auth/me', { name: 'Alan Turing' })
  await client.patch('/auth/me', { current_password: PASSWORD, new_password })
  await setPassword(connection(), email, 'operators-password-3')
  const [, ...found] = await entries()
  const resource = { type: 'user', id: user_id }
  expect(found).toMatchObject([
    { action: 'auth.password_changed', resource, changes: null },
    { action: 'user.updated', resource, changes: { name: { from: 'Alan Agent', to: 'Alan Turing' } } },
    { action: 'operator.user_password', resource, actor: { type: 'operator', id: null }, ip: null },
  ])
  expect(JSON.stringify(found)).not.toMatch(/password-\d/)
})

test('an invitation is listed with what followed, and never its token', async () => {
  const settings = operatorServer()
  const { admin } = await createOrganization()
  const invite = async () => {
    const email = `carol.${newId()}@b.example`
    const { body } = await admin.post('/users', { email, name: 'Carol' })
    const [renewed] = await renewLinks(connection(), email)
    return { id: body.data.id as string, token: new URL(renewed!.link).searchParams.get('token')! }
  }
  const [accepted, declined, revoked] = [await invite(), await invite(), await invite()]
  const password = PASSWORD
  const signed_in = (await stranger().post(`/auth/invitations/${accepted.token}/accept`, { password })).body
  await stranger().post(`/auth/invitations/${declined.token}/decline`)
  await admin.delete(`/users/${revoked.id}`)
  settings.restore()
  const of = async ({ id }: { id: string }): Promise<Entry[]> =>
    (await admin.get(`/audit-log?resource_id=${id}`)).body.data.reverse()
  const begin = [
    { action: 'invitation.created', actor: { id: admin.user_id }, resource: { type: 'invitation', id: accepted.id } },
    { action: 'operator.invitation_link', actor: { type: 'operator' } },
  ]
  const person = { type: 'user', id: signed_in.user.id, name: 'Carol' }
  expect(await of(accepted)).toMatchObject([...begin, { action: 'invitation.accepted', actor: person }])
  expect((await of(declined))[2]).toMatchObject({ action: 'invitation.declined', actor: { ...person, id: null } })
  expect((await of(revoked))[2]).toMatchObject({ action: 'invitation.revoked', actor: { id: admin.user_id } })
  const { text } = await admin.get('/audit-log?per_page=100')
  for (const { token } of [accepted, declined, revoked]) expect(text).not.toContain(token)
})

test('a member is listed with each change, and never with the password', async () => {
  const { admin } = await createOrganization()
  const email = `mia.${newId()}@deskwire.example`
  const { body } = await admin.post('/users', { email, name: 'Mia', password: 'first-password-1' })
  const { id } = body.data
  await admin.patch(`/users/${id}`, { role: 'admin', password: 'second-password-2' })
  await admin.patch(`/users/${id}`, { role: 'admin' })
  await admin.delete(`/users/${id}`)
  const found: Entry[] = (await admin.get(`/audit-log?resource_id=${id}`)).body.data.reverse()
  expect(found).toMatchObject([
    { action: 'user.created', changes: { email: { from: null, to: email }, role: { from: null, to: 'agent' } } },
    { action: 'user.updated', changes: { role: { from: 'agent', to: 'admin' }, password: { from: '***', to: '***' } } },
    { action: 'user.removed', changes: { name: { from: 'Mia', to: null } } },
  ])
  expect(JSON.stringify(found)).not.toMatch(/password-\d/)
})
