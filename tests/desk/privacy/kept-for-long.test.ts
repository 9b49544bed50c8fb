/**
 * Retention of what would otherwise be kept without an end: the mail ledger, accounts that nobody uses, closed tickets.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { removeStoredBytes } from '../../../src/desk/attachments/removals'
import { storage } from '../../../src/desk/attachments/storage'
import { deleteClosedTickets } from '../../../src/desk/tickets/closed'
import { removeOldLedger } from '../../../src/mail/inbound/ledger-retention'
import { forgetAccounts } from '../../../src/people/auth/forget-accounts'
import { createOrganization, type Organization, PASSWORD, signIn, startApi, stopApi } from '../../support/api'
import { createTicket, hearEvents, logTime, writtenEvents } from '../../support/factories'
import { createMailbox, importMail, ledgerOf, rawMail } from '../../support/mail'

beforeAll(() => startApi())
afterAll(stopApi)

/** Ids begin with their time: an old one. */
const OLD_ID = '01700000-0000-7000-8000-000000000000'

async function withMail(organization: Organization) {
  const { admin } = organization
  const mailbox = await createMailbox(admin)
  const raw = rawMail({
    From: 'carla@customer.example',
    To: mailbox.address,
    Message_ID: `<${newId()}@customer.example>`,
  })
  const [old, young] = [
    await importMail(admin, mailbox.id, raw),
    await importMail(
      admin,
      mailbox.id,
      rawMail({ From: 'dora@customer.example', Message_ID: `<${newId()}@x.example>` }),
    ),
  ]
  return { mailbox, raw, old, young }
}

test('rows of the ledger go after the retention with fingerprint and original, others and waiting mail stay', async () => {
  const organization = await createOrganization()
  const { sql, organization_id } = organization.scope
  const { old, young, mailbox, raw } = await withMail(organization)
  const waiting = OLD_ID.replace(/0$/, '1')
  await sql`update inbound_fingerprints set inbound_message_id = ${OLD_ID} where inbound_message_id = ${old.id}`
  const [{ storage_key }] = await sql<[{ storage_key: string }]>`
    update inbound_messages set id = ${OLD_ID} where organization_id = ${organization_id} and id = ${old.id}
    returning storage_key`
  await sql`
    insert into inbound_messages (organization_id, id, mailbox_address, recipient, envelope_sender, size, outcome)
    values (${organization_id}, ${waiting}, 'a@desk.example', 'a@desk.example', '', 1, 'pending')`

  await removeOldLedger(connection(), 0)
  expect(await ledgerOf(organization)).toHaveLength(3)
  await removeOldLedger(connection(), 730)
  expect((await ledgerOf(organization)).map(({ id }: { id: string }) => id)).toEqual([young.id, waiting])
  const prints = await sql`select from inbound_fingerprints where organization_id = ${organization_id}`
  expect(prints).toHaveLength(1)
  expect(await sql`select from storage_removals where storage_key = ${storage_key}`).toHaveLength(1)
  expect((await importMail(organization.admin, mailbox.id, raw)).outcome).not.toBe('duplicate')
})

test('an original that several organizations have stays until the last one gives it up', async () => {
  const [first, second] = [await createOrganization(), await createOrganization()]
  const { sql } = connection()
  const key = `inbound/${newId()}`
  await storage().put(key, Buffer.from('original'))
  const insert = (organization_id: string, id: string) => sql`
    insert into inbound_messages
      (organization_id, id, mailbox_address, recipient, envelope_sender, size, outcome, storage_key)
    values (${organization_id}, ${id}, 'a@desk.example', 'a@desk.example', '', 1, 'ticket', ${key})`
  await insert(first.id, OLD_ID)
  const young = newId()
  await insert(second.id, young)
  await removeOldLedger(connection(), 730)
  expect(await ledgerOf(first)).toEqual([])
  await removeStoredBytes(connection())
  expect(await sql`select from storage_removals where storage_key = ${key}`).toHaveLength(0)
  expect((await storage().read(key)).toString()).toBe('original')

  await sql`update inbound_messages set id = ${OLD_ID} where organization_id = ${second.id} and id = ${young}`
  await removeOldLedger(connection(), 730)
  await removeStoredBytes(connection())
  expect(storage().read(key)).rejects.toThrow('ENOENT')
})

test('an account without an organization loses address and password after the retention, its time keeps the name', async () => {
  const { admin, addMember, scope } = await createOrganization()
  const [gone, young, member] = [await addMember('agent', 'Gone'), await addMember('agent'), await addMember('agent')]
  const ticket = await createTicket(gone)
  const entry = await logTime(gone, ticket.id)
  for (const { user_id } of [gone, young]) await admin.delete(`/users/${user_id}`)
  const { sql } = scope
  await sql`update users set updated_at = now() - interval '2 years'`
  await sql`update memberships set removed_at = now() - interval '366 days' where user_id = ${gone.user_id}`

  await forgetAccounts(connection(), 0)
  await forgetAccounts(connection(), 365)
  const rows = await sql<{ id: string; email: string; has_password: boolean }[]>`
    select id, email, password_hash <> '' as has_password from users
    where id = any(${[gone.user_id, young.user_id, member.user_id]}::uuid[]) order by id`
  expect([...rows]).toEqual([
    { id: gone.user_id, email: `former-${gone.user_id}@account.invalid`, has_password: false },
    { id: young.user_id, email: young.email, has_password: true },
    { id: member.user_id, email: member.email, has_password: true },
  ])
  expect((await admin.get(`/time-entries/${entry.id}`)).body.data.user.name).toBe('Gone')
  expect(await signIn(gone.email, PASSWORD).catch(String)).toContain('401')
  expect((await signIn(member.email)).user_id).toBe(member.user_id)
})

test('closed tickets are deleted after the retention with an event, unless it is off', async () => {
  const { agent, scope } = await createOrganization()
  const [old, young, open] = [await createTicket(agent), await createTicket(agent), await createTicket(agent)]
  for (const { id } of [old, young]) await agent.patch(`/tickets/${id}`, { status: 'closed' })
  await hearEvents(scope)
  const { sql } = scope
  await sql`update tickets set updated_at = now() - interval '91 days' where id in (${old.id}, ${open.id})`

  expect(await deleteClosedTickets(connection(), 0)).toBe(0)
  expect(await deleteClosedTickets(connection(), 90)).toBe(1)
  expect((await agent.get(`/tickets/${old.id}`)).status).toBe(404)
  for (const { id } of [young, open]) expect((await agent.get(`/tickets/${id}`)).status).toBe(200)
  expect((await writtenEvents(scope)).map(({ event, data }) => [event, data.id])).toEqual([['ticket.deleted', old.id]])
})
