/** Accounts and sessions of the release whose migrations end at 0004, after an upgrade in place. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import { SignJWT } from 'jose'
import postgres from 'postgres'
import { createApp } from '../../../src/app'
import { newId } from '../../../src/base/db/columns'
import { migrateDatabase } from '../../../src/base/db/migrate'
import { closeDatabase, connectDatabase, connection } from '../../../src/base/db/pool'
import { keysOf, useSecrets } from '../../../src/base/secrets'
import { checkAccounts, readAccountDoubts } from '../../../src/operate/doctor/account-doubts'
import { hashPassword } from '../../../src/people/auth/password'
import { PASSWORD } from '../../support/api'
import { createDatabase, type TestDatabase } from '../../support/database'
import { migrationsBefore } from '../../support/older-migrations'
import { runOnServer, withDatabase } from '../../support/on-server'

type OldAccount = { id: string; email: string; organization_id: string; refresh_token: string }

let server: TestDatabase
let url: string
let app: ReturnType<typeof createApp>
let alone: OldAccount
let shared: OldAccount

beforeAll(async () => {
  server = await createDatabase()
  const name = `upgrade_${crypto.randomUUID().replaceAll('-', '')}`
  await runOnServer(server.url, (sql) => sql`create database ${sql(name)}`)
  url = withDatabase(server.url, name)
  const folder = migrationsBefore('_ledger_client')
  await migrateDatabase(url, folder)
  fs.rmSync(folder, { recursive: true })
  const old = postgres(url, { max: 1 })
  const [first, second] = [newId(), newId()]
  await old`insert into organizations (id, name) values (${first}, 'First'), (${second}, 'Second')`
  alone = await insertAccount(old, [first])
  shared = await insertAccount(old, [first, second])
  await old.end()
  await migrateDatabase(url)
  useSecrets('a secret key that only tests use')
  connectDatabase(url, 3)
  app = createApp(async () => true)
})

afterAll(async () => {
  await closeDatabase(1)
  await runOnServer(server.url, (sql) => sql`drop database ${sql(new URL(url).pathname.slice(1))} with (force)`)
  await server.drop()
})

test('everybody stays signed in, and signs in with the password of before', async () => {
  for (const account of [alone, shared]) {
    const { refresh_token, email } = account
    expect((await send('POST', '/auth/refresh', { refresh_token })).status).toBe(200)
    expect((await send('GET', '/auth/me', undefined, await oldToken(account))).status).toBe(200)
    const signed_in = await send('POST', '/auth/login', { email, password: PASSWORD })
    expect(signed_in.status).toBe(200)
    const { data } = await (await send('GET', '/auth/sessions', undefined, signed_in.body.access_token)).body
    expect(data).toHaveLength(2)
  }
})

test('passwords of accounts of several organizations count as not held, and the doctor lists them', async () => {
  const rows = await connection().sql<{ is_password_held: boolean }[]>`select is_password_held from users`
  expect(rows.map(({ is_password_held }) => is_password_held)).toEqual([false, false])
  const { accounts } = await readAccountDoubts(connection())
  expect(accounts).toEqual([{ email: shared.email, organizations: ['First', 'Second'] }])
  const [finding] = await checkAccounts(connection())
  expect(finding).toMatchObject({
    level: 'warning',
    message: expect.stringMatching(/^1 account of several organizations/),
  })
})

async function insertAccount(sql: postgres.Sql, organizations: string[]): Promise<OldAccount> {
  const id = newId()
  const email = `old.${id}@deskwire.example`
  const refresh_token = `refresh ${id}`
  await sql`insert into users (id, email, name, password_hash) values (${id}, ${email}, 'Olaf', ${await hashPassword(PASSWORD, 'test')})`
  for (const organization_id of organizations) {
    await sql`insert into memberships (organization_id, user_id) values (${organization_id}, ${id})`
  }
  const token_hash = createHash('sha256').update(refresh_token).digest()
  await sql`
    insert into refresh_tokens (token_hash, user_id, expires_at) values (${token_hash}, ${id}, now() + interval '7 days')`
  return { id, email, organization_id: organizations[0]!, refresh_token }
}

/** An access token as the older release signed it: its id names no session. */
function oldToken({ id, email, organization_id }: OldAccount): Promise<string> {
  return new SignJWT({ sub: id, email, org_id: organization_id, role: 'agent', jti: newId() })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setIssuedAt()
    .setExpirationTime('900s')
    .sign(new TextEncoder().encode(keysOf('access-token')[0]!.toString('hex')))
}

async function send(method: string, path: string, body?: unknown, token?: string) {
  const response = await app.handle(
    new Request(`http://localhost/api/v1${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
      body: body === undefined ? undefined : JSON.stringify(body),
    }),
  )
  return { status: response.status, body: await response.json() }
}
