/** The operator's commands for accounts, run as separate processes beside a service on the same database. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import {
  type Answer,
  createOrganization,
  expectError,
  PASSWORD,
  signIn,
  startApi,
  stopApi,
  stranger,
} from '../../support/api'
import { runOn } from '../../support/backups'
import type { TestDatabase } from '../../support/database'

let database: TestDatabase

beforeAll(async () => {
  database = await startApi()
})
afterAll(stopApi)

let email: string

beforeEach(() => {
  email = `olga.${newId()}@b.example`
})

test('an organization of a new person prints the password of its admin', async () => {
  const { code, lines } = await cli('organization', 'create', '--name', 'New', '--admin-email', email)
  expect({ code, lines }).toEqual({
    code: 0,
    lines: [
      {
        id: expect.any(String),
        name: 'New',
        admin: { id: expect.any(String), email, password: expect.stringMatching(/^[\w-]{20}$/) },
      },
    ],
  })
  const client = await signIn(email, lines[0].admin.password)
  expect((await client.get('/auth/me')).body.organizations).toMatchObject([{ name: 'New', role: 'admin' }])
})

test('an organization of a person whom another one knows prints a link: the password there opens nothing here', async () => {
  const attacker = await createOrganization()
  const { id } = (await attacker.admin.post('/users', { email, name: 'Olga', password: PASSWORD })).body.data
  for (const removed of [false, true]) {
    if (removed) await attacker.admin.delete(`/users/${id}`)
    const name = `Victim ${removed}`
    const { code, lines } = await cli('organization', 'create', '--name', name, '--admin-email', email)
    expect(code).toBe(0)
    expect(lines[0].admin).toEqual({
      id: expect.any(String),
      email,
      status: 'invited',
      link: expect.stringMatching(/^http:\/\/localhost:3000\/invitation\?token=[\w-]{43}$/),
    })
    const token = new URL(lines[0].admin.link).searchParams.get('token')
    const shown = (await stranger().get(`/auth/invitations/${token}`)).body.data
    expect(shown).toMatchObject({ organization: { name }, role: 'admin', needs_current_password: false })
    if (!removed) continue
    expectError(await login(PASSWORD), 401, 'INVALID_CREDENTIALS')
    const accepted = await stranger().post(`/auth/invitations/${token}/accept`, { password: 'olgas password' })
    expect(accepted.status).toBe(200)
    expectError(await login(PASSWORD), 401, 'INVALID_CREDENTIALS')
    expect((await login('olgas password')).status).toBe(200)
  }
})

test('a password for a person whom another organization knows is refused, and nothing is made', async () => {
  const other = await createOrganization()
  const args = ['--name', 'Never', '--admin-email', other.admin.email, '--admin-password', 'a new password']
  const { code, lines, stderr } = await cli('organization', 'create', ...args)
  expect({ code, lines }).toEqual({ code: 1, lines: [] })
  expect(stderr).toContain('belongs to another organization too')
  expect((await cli('organization', 'list')).lines.filter(({ name }) => name === 'Never')).toEqual([])
  expect((await signIn(other.admin.email)).user_id).toBe(other.admin.user_id)
})

test('a new link for an invitation ends the one of before', async () => {
  const create = ['organization', 'create', '--name', 'Second', '--admin-email']
  const other = await createOrganization()
  const [made] = (await cli(...create, other.agent.email)).lines
  const { code, lines } = await cli('invitation', 'link', '--email', other.agent.email.toUpperCase())
  expect({ code, lines }).toEqual({
    code: 0,
    lines: [{ organization: { id: made.id, name: 'Second' }, email: other.agent.email, link: expect.any(String) }],
  })
  const show = (link: string) => stranger().get(`/auth/invitations/${new URL(link).searchParams.get('token')}`)
  expectError(await show(made.admin.link), 401, 'INVALID_TOKEN')
  expect((await show(lines[0].link)).status).toBe(200)
  const unknown = await cli('invitation', 'link', '--email', email)
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('there is no invitation')])
})

test('a new password from the operator ends all sessions', async () => {
  const { agent } = await createOrganization()
  const session = await signIn(agent.email)
  const { lines } = await cli('user', 'password', '--email', agent.email)
  expect(lines).toEqual([{ id: agent.user_id, email: agent.email, password: expect.any(String) }])
  expectError(await session.get('/auth/me'), 401, 'INVALID_TOKEN')
  expect((await signIn(agent.email, lines[0].password)).user_id).toBe(agent.user_id)
})

test('a password comes from standard input, and on the command line it is taken with a warning', async () => {
  const { agent } = await createOrganization()
  const account = ['user', 'password', '--email', agent.email]
  const from_input = await cliWith('a password from input\nanother line\n', ...account, '--password-stdin')
  expect(from_input).toEqual({ code: 0, lines: [{ id: agent.user_id, email: agent.email }], stderr: '' })
  expect((await signIn(agent.email, 'a password from input')).user_id).toBe(agent.user_id)

  const shown = await cli(...account, '--password', 'a password that ps shows')
  expect([shown.code, shown.stderr]).toEqual([0, expect.stringContaining('use --password-stdin')])
  expect(shown.stderr).not.toContain('ps shows')
  expect((await signIn(agent.email, 'a password that ps shows')).user_id).toBe(agent.user_id)

  const empty = await cliWith('', ...account, '--password-stdin')
  expect([empty.code, empty.stderr]).toEqual([1, 'deskwire: a password has 8 to 200 characters\n'])
  const create = ['organization', 'create', '--name', 'Piped', '--admin-email', email, '--admin-password-stdin']
  expect((await cliWith('the password of olga', ...create)).lines[0].admin).toEqual({ id: expect.any(String), email })
  expect((await login('the password of olga')).status).toBe(200)
})

function cli(...args: string[]) {
  return cliWith('', ...args)
}

function cliWith(input: string, ...args: string[]) {
  return runOn(database.url, args, {}, input)
}

function login(password: string): Promise<Answer> {
  return stranger().post('/auth/login', { email, password })
}
