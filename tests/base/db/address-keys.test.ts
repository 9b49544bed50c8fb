/**
 * Keys of addresses that an older release has stored: the upgrade makes them, and loses no row of an address in two
 * spellings.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import fs from 'node:fs'
import postgres from 'postgres'
import { addressKey } from '../../../src/base/address/email'
import { newId } from '../../../src/base/db/columns'
import { migrateDatabase } from '../../../src/base/db/migrate'
import { createDatabase, type TestDatabase } from '../../support/database'
import { migrationsBefore } from '../../support/older-migrations'
import { runOnServer, withDatabase } from '../../support/on-server'

const UNICODE = 'kauf@münchen.test'
const PUNYCODE = 'kauf@xn--mnchen-3ya.test'

let server: TestDatabase
let sql: postgres.Sql
let url: string
let before: string

beforeAll(async () => {
  server = await createDatabase()
})
afterAll(() => server.drop())

beforeEach(async () => {
  const name = `keys_${crypto.randomUUID().replaceAll('-', '')}`
  await runOnServer(server.url, (sql) => sql`create database ${sql(name)}`)
  url = withDatabase(server.url, name)
  before = migrationsBefore('_address_keys')
  await migrateDatabase(url, before)
  sql = postgres(url, { max: 1, onnotice: () => {} })
})

afterEach(async () => {
  await sql.end()
  await runOnServer(url, (sql) => sql`drop database ${sql(new URL(url).pathname.slice(1))} with (force)`)
  fs.rmSync(before, { recursive: true })
})

/** An organization with a ticket, and functions that insert what the older release did. */
async function oldOrganization() {
  const [organization_id, ticket_id] = [newId(), newId()]
  await sql`insert into organizations (id, name) values (${organization_id}, 'Acme')`
  await sql`
    insert into tickets (organization_id, id, number, code, subject)
    values (${organization_id}, ${ticket_id}, 1, 'TKT-1', 'Printer')`
  const insert = async (table: string, fields: Record<string, string | boolean>) => {
    const id = newId()
    const row = table === 'users' ? { id, ...fields } : { organization_id, id, ...fields }
    await sql`insert into ${sql(table)} ${sql(row)}`
    return id
  }
  return {
    organization_id,
    user: (email: string) => insert('users', { email, name: 'Ann', password_hash: 'x' }),
    mailbox: (address: string, active = true) => insert('mailboxes', { address, active }),
    contact: (email: string) => insert('contacts', { email, name: 'Ann', search: '' }),
    participant: (email: string, confirmed = true) => insert('participants', { email, ticket_id, confirmed }),
  }
}

async function keysOf(table: string, key = 'email_key'): Promise<Record<string, string>> {
  const rows = await sql<{ id: string; key: string }[]>`select id, ${sql(key)} as key from ${sql(table)}`
  return Object.fromEntries(rows.map((row) => [row.id, row.key]))
}

test('each stored address gets the key that the service looks for', async () => {
  const old = await oldOrganization()
  const emails = ['Ann@Customer.TEST', 'vİc@a.test', 'v\u212ac@a.test', 'DIŞ@a.test', 'ı@a.test', 'i@a.test']
  emails.push(
    'a@vİctim.test',
    'Kauf@MÜNCHEN.test',
    'a@faß.test',
    'a@fass.test',
    'a@LOCALHOST',
    'a@Ü_x.test',
    'no-domain',
    'ü',
  )
  const ids: [string, string][] = []
  for (const email of emails) {
    ids.push([await old.contact(email), addressKey(email)])
    await old.user(email)
    await old.mailbox(email)
    await old.participant(email)
  }
  await migrateDatabase(url)
  expect(await keysOf('contacts')).toEqual(Object.fromEntries(ids))
  for (const table of ['users', 'participants']) {
    expect(Object.values(await keysOf(table)).sort()).toEqual(ids.map(([, key]) => key).sort())
  }
  expect(Object.values(await keysOf('mailboxes', 'address_key')).sort()).toEqual(ids.map(([, key]) => key).sort())
  const shown = await sql<{ email: string }[]>`select email from contacts order by id`
  expect(shown.map(({ email }) => email)).toEqual(emails)
})

test('of two spellings of an address one row gets the key, and the other stays with a key that no address has', async () => {
  const old = await oldOrganization()
  const contacts = [await old.contact(PUNYCODE), await old.contact(UNICODE), await old.contact('KAUF@MÜNCHEN.testx')]
  const participants = [await old.participant(UNICODE, false), await old.participant(PUNYCODE)]
  const mailboxes = [await old.mailbox(PUNYCODE), await old.mailbox(UNICODE)]
  const users = [await old.user(UNICODE), await old.user(PUNYCODE)]
  await sql`
    insert into memberships (organization_id, user_id) values (${old.organization_id}, ${users[1]!})`
  const others = await oldOrganization()
  const elsewhere = await others.contact(UNICODE)

  await migrateDatabase(url)
  const apart = (id: string) => `${PUNYCODE} ${id}`
  expect(await keysOf('contacts')).toEqual({
    [contacts[0]!]: PUNYCODE,
    [contacts[1]!]: apart(contacts[1]!),
    [contacts[2]!]: 'kauf@xn--mnchen-3ya.testx',
    [elsewhere]: PUNYCODE,
  })
  expect(await keysOf('participants')).toEqual({
    [participants[0]!]: apart(participants[0]!),
    [participants[1]!]: PUNYCODE,
  })
  expect(await keysOf('mailboxes', 'address_key')).toEqual({
    [mailboxes[0]!]: apart(mailboxes[0]!),
    [mailboxes[1]!]: PUNYCODE,
  })
  expect(await keysOf('users')).toEqual({ [users[0]!]: apart(users[0]!), [users[1]!]: PUNYCODE })
})

test('an upgrade that breaks off goes on at the next start, and one that ended changes nothing again', async () => {
  const old = await oldOrganization()
  const [first, second] = [await old.contact(UNICODE), await old.contact(PUNYCODE)]
  await old.user(UNICODE)
  await sql`
    create function fail() returns trigger language plpgsql as $$ begin raise 'broken off'; end $$`
  await sql`create trigger fail before update on contacts for each row execute function fail()`
  await expect(migrateDatabase(url)).rejects.toThrow('broken off')
  await sql`drop trigger fail on contacts`
  await migrateDatabase(url)
  const keys = { [first]: PUNYCODE, [second]: `${PUNYCODE} ${second}` }
  expect(await keysOf('contacts')).toEqual(keys)
  expect(Object.values(await keysOf('users'))).toEqual([PUNYCODE])
  await migrateDatabase(url)
  expect(await keysOf('contacts')).toEqual(keys)
  const [mark] = await sql`select to_regclass('address_keys_unfinished') as name`
  expect(mark!.name).toBeNull()
})
