import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { connection } from '../../../src/base/db/pool'
import type { Scope } from '../../../src/base/scope'
import { listTimeEntries } from '../../../src/desk/time-entries/queries'
import { foldTimeTotals } from '../../../src/desk/time-entries/totals'
import { type Client, createOrganization, startApi, stopApi } from '../../support/api'
import { createCompany, createContact, createTicket, logTime } from '../../support/factories'
import { insertContacts, insertTickets } from '../../support/many-tickets'

beforeAll(() => startApi(10))
afterAll(stopApi)

const MINUTES = 30

describe('the totals', () => {
  test('follow every change of an entry, before the changes are folded and after', async () => {
    const { agent, scope } = await createOrganization()
    const { id } = await createTicket(agent)
    const one = await logTime(agent, id, { duration_minutes: 60, rate: 10, date: '2026-01-10' })
    const two = await logTime(agent, id, { duration_minutes: 20, rate: 0.05, date: '2026-01-20', billable: false })
    expect(await totals(scope)).toEqual({ total: 2, minutes: 80, amount: 10 })
    await foldTimeTotals(connection())
    await agent.patch(`/time-entries/${one.id}`, { duration_minutes: 61, date: '2026-01-11' })
    await agent.patch(`/time-entries/${two.id}`, { billable: true, rate: 1 })
    const changed = { total: 2, minutes: 81, amount: 10.5 }
    expect(await totals(scope)).toEqual(changed)
    await foldTimeTotals(connection())
    expect(await totals(scope)).toEqual(changed)
    expect(await totals(scope, { date_from: '2026-01-11', date_to: '2026-01-11' })).toMatchObject({ minutes: 61 })
    expect(await totals(scope, { date_to: '2026-01-10' })).toEqual({ total: 0, minutes: 0, amount: 0 })
    await agent.delete(`/time-entries/${one.id}`)
    expect(await totals(scope)).toEqual({ total: 1, minutes: 20, amount: 0.33 })
    expect(await totals(scope, { billable: false })).toEqual({ total: 0, minutes: 0, amount: 0 })
  })

  test('are exact at every moment, while many write and several fold', async () => {
    const { agent, scope } = await createOrganization()
    const { id: ticket_id } = await createTicket(agent)
    let writing = true
    const write = async () => {
      const ids: string[] = []
      for (let n = 0; n < 40; n++) {
        const fields = { minutes: 1 + random(100), rate: random(9999) / 100, day: random(3) }
        const roll = Math.random()
        if (ids.length === 0 || roll < 0.5) ids.push(await insertEntry(scope, ticket_id, agent.user_id, fields))
        else if (roll < 0.8) await changeEntry(scope, ids[random(ids.length)]!, fields)
        else await scope.sql`delete from time_entries where id = ${ids.splice(random(ids.length), 1)[0]!}`
      }
    }
    const wrong: unknown[] = []
    const beside = async (work: () => Promise<unknown>) => {
      while (writing) await work()
    }
    const compare = async () => {
      const sums = await compareSums(scope)
      if (sums.kept !== sums.there) wrong.push(sums)
    }
    const others = [
      beside(() => foldTimeTotals(connection())),
      beside(() => foldTimeTotals(connection())),
      beside(compare),
    ]
    await Promise.all([write(), write(), write(), write()]).finally(() => {
      writing = false
    })
    await Promise.all(others)
    await compare()
    expect(wrong).toEqual([])
  })
})

describe('the company of an entry', () => {
  test('is that of its ticket, also after the ticket has got or lost one', async () => {
    const { agent, scope } = await createOrganization()
    const contact = await createContact(agent)
    const { id } = await createTicket(agent, { contact_id: contact.id })
    await logTime(agent, id, { duration_minutes: MINUTES })
    const company = await createCompany(agent)
    expect(await minutesOf(agent, company.id)).toEqual([0, 0])
    await agent.patch(`/contacts/${contact.id}`, { company_id: company.id })
    expect(await minutesOf(agent, company.id)).toEqual([MINUTES, MINUTES])
    await logTime(agent, id, { duration_minutes: MINUTES })
    expect(await minutesOf(agent, company.id)).toEqual([2 * MINUTES, 2 * MINUTES])
    await agent.delete(`/companies/${company.id}`)
    expect(await companiesOfEntries(scope)).toEqual([null, null])
  })

  test('is right when the ticket gets it while time is logged', async () => {
    const { agent, scope } = await createOrganization()
    const company = await createCompany(agent)
    for (let round = 0; round < 10; round++) {
      const contact = await createContact(agent)
      const { id } = await createTicket(agent, { contact_id: contact.id })
      await Promise.all([
        logTime(agent, id, {}),
        agent.patch(`/contacts/${contact.id}`, { company_id: company.id }),
        logTime(agent, id, {}),
      ])
    }
    expect(new Set(await companiesOfEntries(scope))).toEqual(new Set([company.id]))
  })
})

type Fields = { minutes: number; rate: number; day: number }

const random = (below: number) => Math.floor(Math.random() * below)

async function totals(scope: Scope, filter = {}) {
  const { meta } = await listTimeEntries(scope, filter)
  const { total, totals } = meta
  return { total, minutes: totals!.duration_minutes, amount: totals!.billable_amount }
}

async function insertEntry(scope: Scope, ticket_id: string, user_id: string, { minutes, rate, day }: Fields) {
  const [entry] = await scope.sql<{ id: string }[]>`
    insert into time_entries (organization_id, id, ticket_id, user_id, duration_minutes, rate, currency, date)
    values (${scope.organization_id}, gen_random_uuid(), ${ticket_id}, ${user_id}, ${minutes}, ${rate}, 'USD',
      '2026-01-01'::date + ${day}::integer)
    returning id`
  return entry!.id
}

function changeEntry({ sql }: Scope, id: string, { minutes, rate, day }: Fields) {
  return sql`
    update time_entries set duration_minutes = ${minutes}, rate = ${rate}, billable = not billable,
      date = '2026-01-01'::date + ${day}::integer
    where id = ${id}`
}

/** Sums of all columns, as they are kept and of the entries, in one snapshot. */
async function compareSums({ sql, organization_id }: Scope) {
  const [sums] = await sql<{ kept: string; there: string }[]>`
    select (
      select row(coalesce(sum(entries), 0), sum(minutes), sum(priced), trim_scale(sum(amount)),
        trim_scale(coalesce(sum(amount) filter (where billable), 0)))::text
      from (
        select entries, minutes, priced, amount, billable from time_totals where organization_id = ${organization_id}
        union all
        select entries, minutes, priced, amount, billable from time_total_changes where organization_id = ${organization_id}
      ) kept
      having sum(entries) > 0
    ) as kept, (
      select row(count(*), sum(duration_minutes), count(amount), trim_scale(sum(amount)),
        trim_scale(coalesce(sum(amount) filter (where billable), 0)))::text
      from time_entries where organization_id = ${organization_id} having count(*) > 0
    ) as there`
  return sums!
}

/** Minutes of a company by its answer and by the list of its entries. */
async function minutesOf(agent: Client, id: string) {
  const company = await agent.get(`/companies/${id}`)
  const list = await agent.get(`/time-entries?company_id=${id}`)
  expect(list.body.data).toHaveLength(list.body.meta.total)
  return [company.body.data.total_time_minutes, list.body.meta.totals.duration_minutes]
}

async function companiesOfEntries({ sql, organization_id }: Scope) {
  const rows = await sql<{ company_id: string | null }[]>`
    select company_id from time_entries where organization_id = ${organization_id}`
  return rows.map((row) => row.company_id)
}

test('a summary by ticket is of at most 10,000 tickets, and of fewer in a shorter period', async () => {
  const { agent, scope } = await createOrganization()
  const { sql, organization_id } = scope
  const [contact] = await insertContacts(scope, 1)
  const tickets = await insertTickets(scope, contact!, 10_001)
  // As a job does within seconds (`base/db/statistics.ts`).
  await sql`analyze tickets`
  await sql`
    insert into time_entries (organization_id, id, ticket_id, user_id, duration_minutes, currency, date)
    select ${organization_id}, id, id, ${agent.user_id}, 5, 'USD', date '2026-01-01' + (n % 2)::integer
    from unnest(${tickets}::uuid[]) with ordinality as given (id, n)`
  const all = await agent.get('/time-entries/summary?group_by=ticket')
  expect([all.status, all.body.error.code]).toEqual([422, 'VALIDATION_ERROR'])
  expect(all.body.error.details.errors[0].path).toBe('/query/date_from')
  const day = await agent.get('/time-entries/summary?group_by=ticket&date_from=2026-01-02')
  expect([day.status, day.body.data.length]).toEqual([200, 5001])
})
