/**
 * The figures that triggers keep, by statements of one organization that a cluster takes, too. On a cluster they run
 * on the machine of the organization.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId, ZERO_ID } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { createOrganization, startApi, stopApi } from '../../support/api'

beforeAll(() => startApi())
afterAll(stopApi)

const TICKET = { code: 'x', subject: 'x' }

/** An organization with two labels and two tickets of a company, of which the first has a search document. */
async function createRows() {
  const { id: organization_id, scope } = await createOrganization()
  const { sql } = scope
  const [{ number }] = (await sql`select number from organizations where id = ${organization_id}`) as [
    { number: number },
  ]
  const labels = [newId(), newId()] as const
  for (const id of labels) await sql`insert into labels ${sql({ organization_id, id, name: id, color: '#000000' })}`
  const company_id = newId()
  await sql`insert into companies ${sql({ organization_id, id: company_id, name: 'Company' })}`
  const tickets = [newId(), newId()] as const
  const rows = tickets.map((id, index) => ({ organization_id, id, number: index + 1, company_id, ...TICKET, code: id }))
  await sql`insert into tickets ${sql(rows)}`
  const document = `'${number}.0:@open'`
  await sql`insert into ticket_search ${sql({ organization_id, ticket_id: tickets[0], document, size: 10 })}`
  const label = (...pairs: [ticket_id: string, label_id: string][]) =>
    sql`insert into ticket_labels ${sql(pairs.map(([ticket_id, label_id]) => ({ organization_id, ticket_id, label_id })))}`
  return { sql, organization_id, number, labels, company_id, tickets, label }
}

type Rows = Awaited<ReturnType<typeof createRows>>

/** Numbers that are not 0, as `kind key status`, with the key of all tickets left out. */
async function tallied({ sql, organization_id }: Rows): Promise<Record<string, number>> {
  const rows = await sql<{ name: string; n: number }[]>`
    select concat_ws(' ', kind, nullif(key::text, ${ZERO_ID}::text), status) as name, sum(n)::int as n from tally_changes
    where organization_id = ${organization_id} and kind <> 'tickets_of_day' group by 1 having sum(n) <> 0`
  return Object.fromEntries(rows.map(({ name, n }) => [name, n]))
}

async function wordsOf({ sql, organization_id, tickets, number }: Rows): Promise<string[]> {
  const [row] = await sql<{ words: string[] }[]>`
    select tsvector_to_array(document) as words from ticket_search
    where organization_id = ${organization_id} and ticket_id = ${tickets[0]}`
  return row!.words.map((word) => word.replace(`${number}.0:@`, '')).sort()
}

test('tickets are counted when they come, change, are hidden and go', async () => {
  const rows = await createRows()
  const { sql, organization_id, company_id, tickets } = rows
  const first = sql`organization_id = ${organization_id} and id = ${tickets[0]}`
  const both = { 'tickets open': 2, [`tickets_of_company ${company_id} open`]: 2 }
  expect(await tallied(rows)).toEqual(both)
  await sql`update tickets set status = 'closed', company_id = null where ${first}`
  expect(await tallied(rows)).toEqual({
    'tickets closed': 1,
    'tickets open': 1,
    [`tickets_of_company ${company_id} open`]: 1,
  })
  expect(await wordsOf(rows)).toEqual(['closed', 'normal'])
  await sql`update tickets set deleted_at = now() where ${first}`
  await sql`delete from tickets where organization_id = ${organization_id} and id = ${tickets[1]}`
  expect(await tallied(rows)).toEqual({})
  const counts = await sql`
    select sum(n)::int as n from ticket_count_changes where organization_id = ${organization_id}`
  expect([...counts]).toEqual([{ n: 0 }])
})

test('labels are counted, and are words of the search document, while they are on a ticket', async () => {
  const rows = await createRows()
  const { sql, organization_id, tickets, labels, label } = rows
  const [one, two] = labels
  await label([tickets[0], one], [tickets[1], one], [tickets[0], two])
  expect(await tallied(rows)).toMatchObject({
    [`tickets_of_label ${one} open`]: 2,
    [`tickets_of_label ${two} open`]: 1,
  })
  expect(await wordsOf(rows)).toEqual([...labels, 'open'].sort())
  await sql`
    delete from ticket_labels where organization_id = ${organization_id} and ticket_id = ${tickets[0]} and label_id = ${one}`
  expect(await tallied(rows)).toMatchObject({ [`tickets_of_label ${one} open`]: 1 })
  expect(await wordsOf(rows)).toEqual([two, 'open'].sort())
  await sql`delete from labels where organization_id = ${organization_id} and id = ${two}`
  expect(Object.keys(await tallied(rows)).filter((name) => name.includes(two))).toEqual([])
  await sql`delete from tickets where organization_id = ${organization_id} and id = any(${[...tickets]}::uuid[])`
  expect(await tallied(rows)).toEqual({})
})

test('a hidden ticket goes with its labels, which were counted no more', async () => {
  const rows = await createRows()
  const { sql, organization_id, tickets, labels, label } = rows
  await label([tickets[0], labels[0]])
  const first = sql`organization_id = ${organization_id} and id = ${tickets[0]}`
  await sql`update tickets set deleted_at = now() where ${first}`
  await sql`delete from tickets where ${first}`
  expect(Object.keys(await tallied(rows))).toEqual(expect.arrayContaining(['tickets open']))
  expect(Object.keys(await tallied(rows)).filter((name) => name.startsWith('tickets_of_label'))).toEqual([])
})

test('time takes the company of its ticket, and is summed up', async () => {
  const rows = await createRows()
  const { sql, organization_id, tickets, company_id } = rows
  const user_id = newId()
  const account = { id: user_id, email: user_id, email_key: user_id, name: 'x', password_hash: 'x' }
  await sql`insert into users ${sql(account)}`
  await sql`insert into memberships ${sql({ organization_id, user_id })}`
  const entry = { organization_id, id: newId(), ticket_id: tickets[0], user_id, rate: 60, currency: 'EUR' }
  await sql`insert into time_entries ${sql({ ...entry, duration_minutes: 30, date: '2026-01-01' })}`
  await sql`
    update time_entries set duration_minutes = 90 where organization_id = ${organization_id} and id = ${entry.id}`
  const company = () => sql`select company_id from time_entries where organization_id = ${organization_id}`
  expect([...(await company())]).toEqual([{ company_id }])
  await sql`update tickets set company_id = null where organization_id = ${organization_id} and id = ${tickets[0]}`
  expect([...(await company())]).toEqual([{ company_id: null }])
  const sums = await sql`
    select sum(entries)::int as entries, sum(minutes)::int as minutes, sum(amount) as amount from time_total_changes
    where organization_id = ${organization_id}`
  expect([...sums]).toEqual([{ entries: 1, minutes: 90, amount: 90 }])
})

test('contacts are counted by company', async () => {
  const rows = await createRows()
  const { sql, organization_id, company_id } = rows
  const [one, two] = [newId(), newId()]
  const contacts = [one, two].map((id) => ({
    organization_id,
    id,
    name: 'x',
    email: id,
    email_key: id,
    search: id,
    company_id,
  }))
  await sql`insert into contacts ${sql(contacts)}`
  await sql`update contacts set company_id = null where organization_id = ${organization_id} and id = ${one}`
  await sql`delete from contacts where organization_id = ${organization_id} and id = ${two}`
  const tallies = await tallied(rows)
  expect(tallies).toMatchObject({ contacts_of_company: 1 })
  expect(tallies[`contacts_of_company ${company_id}`]).toBeUndefined()
})

test('the audit log lets rows go only in a transaction that says why', async () => {
  const { sql, organization_id } = await createRows()
  await sql`insert into audit_log ${sql({ organization_id, id: newId(), actor_type: 'system', action: 'test' })}`
  const remove = (on: typeof sql) => on`delete from audit_log where organization_id = ${organization_id}`
  for (const statement of [
    remove(sql),
    sql`update audit_log set action = 'other' where organization_id = ${organization_id}`,
    connection().sql`truncate audit_log`,
  ]) {
    expect(await statement.catch(({ message }) => message)).toBe('audit_log is append-only')
  }
})
