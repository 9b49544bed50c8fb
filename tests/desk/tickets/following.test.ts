import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import path from 'node:path'
import { withChangeTime } from '../../../src/base/db/change-time'
import { connection } from '../../../src/base/db/pool'
import { inTransaction } from '../../../src/base/scope'
import { createOrganization, startApi, stopApi } from '../../support/api'
import type { TestDatabase } from '../../support/database'
import { createCompany, createContact, createLabel, createMessage, createTicket } from '../../support/factories'
import { Copy, followLateWriters } from '../../support/follow'
import { insertContacts, insertTickets } from '../../support/many-tickets'
import { until } from '../../support/service'
import { readSources } from '../../support/sources'

let database: TestDatabase

beforeAll(async () => {
  database = await startApi(20)
})
afterAll(stopApi)

// They wait for changes to settle, so they wait together.
describe.concurrent('following by sort=updated_at', () => {
  test('holds back what changed in the last five seconds, and shows it later', async () => {
    const { agent } = await createOrganization()
    const copy = new Copy(agent, '/tickets?sort=updated_at')
    expect(await copy.pull()).toEqual([])
    const { id, updated_at } = await createTicket(agent)
    expect(await copy.pull()).toEqual([])
    await until('the ticket to come', async () => (await copy.pull()).length > 0)
    expect(Date.now() - Date.parse(updated_at)).toBeGreaterThanOrEqual(5000)
    expect([...copy.rows.keys()]).toEqual([id])
    expect(await copy.pull()).toEqual([])
  })

  test('shows a row again when it changes', async () => {
    const { agent, scope } = await createOrganization()
    const [contact] = await insertContacts(scope, 1)
    const [first, second, third] = await insertTickets(scope, contact!, 3)
    const copy = new Copy(agent, '/tickets?sort=updated_at')
    await age(scope.organization_id, first!, 30)
    await age(scope.organization_id, second!, 20)
    await age(scope.organization_id, third!, 15)
    const shown: string[] = []
    // Transactions of the tests beside hold back rows as long as they are open.
    const pullTo = (count: number) =>
      until(`${count} rows to come`, async () => {
        shown.push(...(await copy.pull()).map(({ id }) => id))
        return shown.length >= count
      })
    await pullTo(3)
    await age(scope.organization_id, second!, 10)
    await pullTo(4)
    expect(shown).toEqual([first!, second!, third!, second!])
  })

  test('waits for a transaction that is open for longer than five seconds, and not for one that only reads', async () => {
    const { agent, scope } = await createOrganization()
    const [contact] = await insertContacts(scope, 1)
    const [late, early] = await insertTickets(scope, contact!, 2)
    const copy = new Copy(agent, '/tickets?sort=updated_at')
    await until('both tickets to come', async () => {
      await copy.pull()
      return copy.rows.size === 2
    })
    const reading = Promise.withResolvers<void>()
    const read = inTransaction(scope, async ({ sql }) => {
      await sql`select count(*) from tickets where organization_id = ${scope.organization_id}`
      await reading.promise
    })
    const written = Promise.withResolvers<void>()
    const committing = Promise.withResolvers<void>()
    const write = inTransaction(scope, async ({ sql }) => {
      const these = sql`organization_id = ${scope.organization_id} and id = ${late!}`
      const [, time] = await withChangeTime(sql, sql`select 1 from tickets where ${these} for no key update`)
      await sql`update tickets set subject = 'Late', updated_at = ${time} where ${these}`
      written.resolve()
      await committing.promise
    })
    await written.promise
    await agent.patch(`/tickets/${early}`, { subject: 'Early' })
    await until('the later change to be six seconds old', async () => {
      expect(await copy.pull()).toEqual([])
      return isOlder(early!, 6)
    })
    committing.resolve()
    await write
    await until('both changes to come', async () => {
      await copy.pull()
      return copy.rows.get(early!)?.subject === 'Early'
    })
    expect(copy.rows.get(late!)?.subject).toBe('Late')
    reading.resolve()
    await read
  })

  test('gives a cursor on every page, also on the last one by number', async () => {
    const { agent } = await createOrganization()
    const empty = await agent.get('/contacts?sort=updated_at&search=nobody')
    expect(empty.body.meta).toEqual({ total: 0, page: 1, per_page: 20, next_cursor: expect.any(String) })
    for (let n = 0; n < 3; n++) await createContact(agent)
    const numbered = await agent.get('/contacts?sort=updated_at&page=2&per_page=2')
    expect(numbered.body.data).toHaveLength(1)
    // The contacts are not settled yet: the page by number shows them, and the walk shows them again.
    const cursor = numbered.body.meta.next_cursor
    await until('the contacts to come', async () => {
      const { data } = (await agent.get(`/contacts?sort=updated_at&cursor=${cursor}`)).body
      return data.length === 3
    })
  })

  test('an empty page gives a cursor that leads to the same rows', async () => {
    const { agent } = await createOrganization()
    const first = await agent.get('/tickets?sort=updated_at&status=open')
    const cursors = [first.body.meta.next_cursor]
    for (let n = 0; n < 3; n++) {
      const { body } = await agent.get(`/tickets?sort=updated_at&status=open&cursor=${cursors.at(-1)}`)
      expect(body).toEqual({ data: [], meta: { per_page: 20, next_cursor: expect.any(String) } })
      cursors.push(body.meta.next_cursor)
    }
    const { id } = await createTicket(agent)
    for (const cursor of cursors) {
      await until('the ticket to come', async () => {
        const { data } = (await agent.get(`/tickets?sort=updated_at&status=open&cursor=${cursor}`)).body
        return data.length === 1 && data[0].id === id
      })
    }
  })

  test('loses no change of transactions that commit late and out of order, on two processes', async () => {
    await followLateWriters(await createOrganization(), database.url, { rounds: 20, latest_ms: 7000 })
  })
})

describe('the time of the last change', () => {
  test('moves with every change of a ticket, and of what belongs to it', async () => {
    const { agent } = await createOrganization()
    const label = await createLabel(agent)
    const company = await createCompany(agent)
    const contact = await createContact(agent)
    const { id } = await createTicket(agent, { contact_id: contact.id })
    const changes: [string, () => Promise<unknown>][] = [
      ['subject', () => agent.patch(`/tickets/${id}`, { subject: 'Changed' })],
      ['label added', () => agent.post(`/tickets/${id}/labels`, { label_ids: [label.id] })],
      ['label removed', () => agent.delete(`/tickets/${id}/labels`, { label_ids: [label.id] })],
      ['assigned', () => agent.post(`/tickets/${id}/assign`, { assignee_id: agent.user_id })],
      ['unassigned', () => agent.post(`/tickets/${id}/unassign`)],
      ['message', () => createMessage(agent, id, { send_email: false })],
      ['note', () => createMessage(agent, id, { is_internal: true })],
      ['company given', () => agent.patch(`/contacts/${contact.id}`, { company_id: company.id })],
      ['company deleted', () => agent.delete(`/companies/${company.id}`)],
      ['contact deleted', () => agent.delete(`/contacts/${contact.id}`)],
    ]
    for (const [change, make] of changes) {
      const before = await changedAt('tickets', id)
      await make()
      expect([change, (await changedAt('tickets', id)) > before]).toEqual([change, true])
    }
  })

  test('moves with every change of a contact', async () => {
    const { agent } = await createOrganization()
    const company = await createCompany(agent, { domains: ['customer.example'] })
    const { id } = await createContact(agent, { company_id: null })
    const changes: [string, () => Promise<unknown>][] = [
      ['name', () => agent.patch(`/contacts/${id}`, { name: 'Changed' })],
      ['linked', () => agent.post(`/companies/${company.id}/link-contacts`)],
      ['company deleted', () => agent.delete(`/companies/${company.id}`)],
    ]
    for (const [change, make] of changes) {
      const before = await changedAt('contacts', id)
      await make()
      expect([change, (await changedAt('contacts', id)) > before]).toEqual([change, true])
    }
  })
})

test('every statement that writes tickets or contacts takes the time of the change behind a lock', () => {
  const files = [...readSources(path.join(import.meta.dir, '../../../src'))]
  const written = files.flatMap(([file, { text }]) =>
    [
      ...text.matchAll(
        /(?:insert into|update|\.update\(|insertRows(?:<\w+>)?\(\s*(?:scope\.)?sql,\s*') ?(?:tickets|contacts)\b.{0,500}/gs,
      ),
    ].map(([statement]) => ({
      file,
      // It ends where the next one begins.
      statement: statement.split(/await|returning/)[0]!,
      knows_time: /withChangeTime|locked_at/.test(text),
    })),
  )
  expect(written.length).toBeGreaterThan(10)
  const wrong = written.filter(
    ({ statement, knows_time }) =>
      /updated_at(?: =|:) (?:sql`)?(?:now|clock_timestamp)\(\)/.test(statement) ||
      (statement.startsWith('insert into') && !statement.includes('updated_at')) ||
      ((statement.startsWith('insert') || statement.includes('updated_at')) && !knows_time),
  )
  expect(wrong).toEqual([])
})

async function changedAt(table: 'tickets' | 'contacts', id: string): Promise<string> {
  const { sql } = connection()
  const [row] = await sql<{ at: string }[]>`
    select to_char(updated_at, 'YYYY-MM-DD HH24:MI:SS.US') as at from ${sql(table)} where id = ${id}`
  return row!.at
}

/** Makes the last change of a ticket look so old. */
async function age(organization_id: string, id: string, age_s: number): Promise<void> {
  await connection().sql`
    update tickets set updated_at = now() - make_interval(secs => ${age_s})
    where organization_id = ${organization_id} and id = ${id}`
}

async function isOlder(id: string, age_s: number): Promise<boolean> {
  const [row] = await connection().sql<{ is_older: boolean }[]>`
    select updated_at < clock_timestamp() - make_interval(secs => ${age_s}) as is_older from tickets where id = ${id}`
  return row!.is_older
}
