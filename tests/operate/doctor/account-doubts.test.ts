import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { checkAccounts, readAccountDoubts } from '../../../src/operate/doctor/account-doubts'
import { createOrganization, startApi, stopApi } from '../../support/api'

beforeAll(() => startApi())
afterAll(stopApi)

test('an account of several organizations whose password is not held is listed, one of a single one is not', async () => {
  const [first, second] = [await createOrganization(), await createOrganization()]
  await insertAccount('alone@deskwire.example', [first.scope.organization_id])
  await insertAccount('shared@deskwire.example', [first.scope.organization_id, second.scope.organization_id])
  const { accounts } = await readAccountDoubts(connection())
  expect(accounts).toEqual([{ email: 'shared@deskwire.example', organizations: expect.any(Array) }])
  expect(accounts[0]!.organizations).toHaveLength(2)
  const [finding] = await checkAccounts(connection())
  expect(finding).toMatchObject({
    level: 'warning',
    message: expect.stringMatching(/^1 account of several organizations/),
  })
})

async function insertAccount(email: string, organizations: string[]): Promise<void> {
  const { sql } = connection()
  const id = newId()
  await sql`insert into users (id, email, email_key, name, password_hash) values (${id}, ${email}, ${email}, 'Olaf', '')`
  for (const organization_id of organizations)
    await sql`insert into memberships (organization_id, user_id) values (${organization_id}, ${id})`
}
