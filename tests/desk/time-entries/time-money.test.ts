/** Amounts and rates in currencies with other decimals than two, against a plain computation. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { decimalsOf } from '../../../src/base/shapes/money'
import { foldTimeTotals } from '../../../src/desk/time-entries/totals'
import { type Client, createOrganization, expectError, type Organization, startApi, stopApi } from '../../support/api'
import { createCompany, insertTicketOf, logTime } from '../../support/factories'
import {
  CURRENCIES,
  type Currency,
  DECIMALS,
  plainAmount,
  plainText,
  sumsOfTotals,
  thousandths,
} from '../../support/plain-time'
import { tries } from '../../support/sampled'

beforeAll(() => startApi())
afterAll(stopApi)

/** Minor units of the currencies that have not two (ISO 4217, list one and three). */
const ISO_4217 = {
  0: 'BIF BYR CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
  3: 'BHD IQD JOD KWD LYD OMR TND',
  4: 'CLF UYW',
}

test('the decimals of every currency are those of ISO 4217', () => {
  const wanted = new Map(
    Object.entries(ISO_4217).flatMap(([decimals, names]) => names.split(' ').map((name) => [name, Number(decimals)])),
  )
  const wrong = Intl.supportedValuesOf('currency').filter((name) => decimalsOf(name) !== (wanted.get(name) ?? 2))
  expect(wrong).toEqual([])
  expect([...wanted.keys()].filter((name) => !Intl.supportedValuesOf('currency').includes(name))).toEqual([])
})

type Entry = { currency: Currency; minutes: number; rate: number; billable: boolean; day: number }

/** A ticket of a company in each currency. */
async function deskOf({ agent, scope }: Organization) {
  const tickets = {} as Record<Currency, string>
  for (const currency of CURRENCIES) {
    const company = await createCompany(agent, { currency })
    tickets[currency] = (await insertTicketOf(scope, { company_id: company.id })).id
  }
  const log = ({ currency, minutes, rate, billable, day }: Entry) =>
    logTime(agent, tickets[currency], { duration_minutes: minutes, rate, billable, date: dateOf(day) })
  return { tickets, log }
}

const dateOf = (day: number) => `2026-01-${String(day).padStart(2, '0')}`

const rateDecimals = (currency: Currency) => Math.max(2, DECIMALS[currency])

const entry: fc.Arbitrary<Entry> = fc
  .constantFrom(...CURRENCIES)
  .chain((currency) =>
    fc.record({
      currency: fc.constant(currency),
      minutes: fc.oneof(fc.integer({ min: 1, max: 90 }), fc.integer({ min: 1, max: 525_600 })),
      rate: fc
        .oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 1_000_000 * 10 ** rateDecimals(currency) }))
        .map((units) => units / 10 ** rateDecimals(currency)),
      billable: fc.boolean(),
      day: fc.integer({ min: 1, max: 3 }),
    }),
  )

/** Sums of what is billable, in thousandths; without currencies in which nothing is. */
function sumsOf(entries: Entry[]): Record<string, bigint> {
  const sums: Record<string, bigint> = {}
  for (const { currency, minutes, rate, billable } of entries) {
    if (billable) sums[currency] = (sums[currency] ?? 0n) + plainAmount(minutes, rate, currency)
  }
  return sums
}

/** The same by the list's totals, by each summary and by the CSV file. */
async function shownSums(agent: Client): Promise<Record<string, bigint>[]> {
  const { by_currency } = (await agent.get('/time-entries')).body.meta.totals
  const sums: Record<string, bigint>[] = [sumsOfTotals(by_currency)]
  for (const group of ['company', 'user', 'ticket', 'day']) {
    const { data } = (await agent.get(`/time-entries/summary?group_by=${group}`)).body
    const found: Record<string, bigint> = {}
    for (const { currency, total_amount, billable_minutes } of data) {
      if (billable_minutes > 0) found[currency] = (found[currency] ?? 0n) + thousandths(total_amount)
    }
    sums.push(found)
  }
  return sums
}

test('every amount, total, summary and cell is what a plain computation gives', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(entry, { minLength: 1, maxLength: 8 }),
      fc.array(entry, { maxLength: 4 }),
      async (first, later) => {
        const organization = await createOrganization()
        const { agent } = organization
        const { log } = await deskOf(organization)
        const entries = new Map<string, Entry>()
        for (const one of first) entries.set((await log(one)).id, one)
        if (later.length % 2 === 0) await foldTimeTotals(connection())
        // Some entries are changed, within their currency.
        for (const [place, [id, before]] of [...entries].entries()) {
          const change = later[place]
          if (!change) break
          const rate = Number(change.rate.toFixed(rateDecimals(before.currency)))
          const { minutes, billable, day } = change
          const body = { duration_minutes: minutes, rate, billable, date: dateOf(day) }
          const answer = await agent.patch(`/time-entries/${id}`, body)
          expect(answer.status).toBe(200)
          entries.set(id, { ...before, minutes, rate, billable, day })
        }
        const shown = (await agent.get('/time-entries?per_page=100')).body.data
        for (const { id, rate, currency, amount } of shown) {
          const { minutes, ...own } = entries.get(id)!
          expect([rate, currency]).toEqual([own.rate, own.currency])
          expect(thousandths(amount)).toBe(plainAmount(minutes, rate, currency))
        }
        const sums = sumsOf([...entries.values()])
        for (const found of await shownSums(agent)) expect(found).toEqual(sums)
        const [, ...lines] = (await agent.get('/time-entries/export')).text.trimEnd().split('\r\n')
        const cells = shown.map(({ id }: { id: string }) => {
          const { rate, minutes, currency } = entries.get(id)!
          const amount = plainAmount(minutes, rate, currency)
          return [plainText(thousandths(rate), rateDecimals(currency)), plainText(amount, DECIMALS[currency]), currency]
        })
        expect(lines.map((line) => line.split(',').slice(-3))).toEqual(cells)
      },
    ),
    { numRuns: tries(12) },
  )
}, 120_000)

describe('what release 0.2.0 logs', () => {
  test('stays as it is until its time or rate is changed', async () => {
    const organization = await createOrganization()
    const { agent, scope } = organization
    const { tickets } = await deskOf(organization)
    const id = await insertAsBefore(organization, tickets.JPY, { minutes: 20, rate: 100 })
    expect((await agent.get(`/time-entries/${id}`)).body.data).toMatchObject({ amount: 33.33, currency: 'JPY' })
    expect((await agent.get('/time-entries/export')).text).toEndWith(',100.00,33.33,JPY\r\n')
    const patched = await agent.patch(`/time-entries/${id}`, {
      description: 'A call',
      billable: false,
      date: '2026-01-09',
    })
    expect(patched.body.data.amount).toBe(33.33)
    await agent.patch(`/time-entries/${id}`, { billable: true })
    await foldTimeTotals(connection())
    expect((await agent.get('/time-entries')).body.meta.totals.billable_amount).toBe(33.33)
    const longer = await agent.patch(`/time-entries/${id}`, { duration_minutes: 25 })
    expect(longer.body.data.amount).toBe(42)
    for (const found of await shownSums(agent)) expect(found).toEqual({ JPY: 42_000n })
    expect(await exactOf(scope, id)).toEqual({ exact_rate: 100, decimals: 0 })
  })

  test('is summed up right when it changes beside this release what this one logged', async () => {
    const organization = await createOrganization()
    const { agent, scope } = organization
    const { log } = await deskOf(organization)
    const { sql, organization_id } = scope
    const entry = await log({ currency: 'KWD', minutes: 60, rate: 1.234, billable: true, day: 1 })
    expect(entry).toMatchObject({ rate: 1.234, amount: 1.234 })
    const own = sql`where organization_id = ${organization_id} and id = ${entry.id}`
    await sql`update time_entries set duration_minutes = 90 ${own}`
    for (const found of await shownSums(agent)) expect(found).toEqual({ KWD: 1851n })
    // It knows no third decimal.
    await sql`update time_entries set duration_minutes = 60, rate = 2.5 ${own}`
    expect((await agent.get(`/time-entries/${entry.id}`)).body.data).toMatchObject({ rate: 2.5, amount: 2.5 })
    for (const found of await shownSums(agent)) expect(found).toEqual({ KWD: 2500n })
    await agent.delete(`/time-entries/${entry.id}`)
    for (const found of await shownSums(agent)) expect(found).toEqual({})
  })
})

describe('a rate', () => {
  test('has at most two decimals, or those of its currency', async () => {
    const organization = await createOrganization()
    const { agent } = organization
    const { tickets } = await deskOf(organization)
    const allowed = { JPY: [100.25], EUR: [1.25], KWD: [1.25, 1.234] }
    const refused = { JPY: [1.234], EUR: [1.234], KWD: [1.2345, 1.23456] }
    for (const currency of CURRENCIES) {
      const ticket_id = tickets[currency]
      for (const rate of allowed[currency]) {
        expect(await logTime(agent, ticket_id, { rate })).toMatchObject({ rate, currency })
        await timed(agent, ticket_id, { rate })
        expect((await agent.post(`/tickets/${ticket_id}/timer/stop`, {})).body.data).toMatchObject({ rate, currency })
      }
      const { id } = await logTime(agent, ticket_id, { rate: 1 })
      const before = (await agent.get('/time-entries')).body.data
      for (const rate of refused[currency]) {
        const timer = `/tickets/${ticket_id}/timer`
        expectFault(await agent.post(`/tickets/${ticket_id}/time-entries`, { duration_minutes: 5, rate }), '/rate')
        expectFault(await agent.patch(`/time-entries/${id}`, { rate }), '/rate')
        expectFault(await agent.post(`${timer}/start`, { rate }), '/rate')
        await timed(agent, ticket_id, {})
        expectFault(await agent.post(`${timer}/stop`, { rate }), '/rate')
        expect((await agent.get('/timer/active')).body.data.ticket.id).toBe(ticket_id)
        await agent.delete('/timer/active')
      }
      expect((await agent.get('/time-entries')).body.data).toEqual(before)
    }
  })

  test('of company, user and organization is judged with the currency that it has then', async () => {
    const { admin, agent } = await createOrganization()
    const user = `/users/${agent.user_id}`
    const company = `/companies/${(await createCompany(admin, { currency: 'KWD', hourly_rate: 1.234 })).id}`
    expectFault(await admin.post('/companies', { name: 'Other', hourly_rate: 1.234 }), '/hourly_rate')
    const person = { name: 'Other', email: 'other@example.com', password: 'correct horse battery' }
    expectFault(await admin.post('/users', { ...person, hourly_rate: 1.234 }), '/hourly_rate')
    expect((await admin.get('/companies')).body.meta.total).toBe(1)
    expect((await admin.get('/users')).body.meta.total).toBe(2)
    for (const path of [company, user, '/organization']) {
      expect((await admin.patch(path, { hourly_rate: 1.234, currency: 'KWD' })).status).toBe(200)
      const before = (await admin.get(path)).body.data
      expect(before).toMatchObject({ hourly_rate: 1.234, currency: 'KWD' })
      expectFault(await admin.patch(path, { hourly_rate: 1.2345 }), '/hourly_rate')
      expectFault(await admin.patch(path, { currency: 'EUR' }), '/currency')
      expectFault(await admin.patch(path, { currency: 'JPY', hourly_rate: 0.001 }), '/hourly_rate')
      expect((await admin.get(path)).body.data).toEqual(before)
      expect((await admin.patch(path, { currency: 'EUR', hourly_rate: 1.23 })).status).toBe(200)
    }
  })

  test('that became too fine with the currency of the organization is logged as its currency has it', async () => {
    const { admin, agent, scope } = await createOrganization()
    await admin.patch('/organization', { currency: 'KWD' })
    const company = await createCompany(admin, { hourly_rate: 1.234 })
    const ticket = await insertTicketOf(scope, { company_id: company.id })
    await timed(agent, ticket.id, { rate: 2.345 })
    await admin.patch('/organization', { currency: 'EUR' })
    expect(await logTime(agent, ticket.id)).toMatchObject({ rate: 1.23, currency: 'EUR', amount: 1.23 })
    expect((await agent.delete(`/tickets/${ticket.id}`)).status).toBe(204)
    expect((await agent.get('/time-entries')).body.data[0]).toMatchObject({ rate: 2.35, currency: 'EUR' })
    expect((await admin.patch(`/companies/${company.id}`, { name: 'Renamed' })).status).toBe(200)
  })
})

async function timed(agent: Client, ticket_id: string, fields: Record<string, unknown>): Promise<void> {
  expect((await agent.post(`/tickets/${ticket_id}/timer/start`, fields)).status).toBe(201)
}

function expectFault(answer: Parameters<typeof expectError>[0], path: string): void {
  expectError(answer, 422, 'VALIDATION_ERROR')
  expect(answer.body.error.details.errors[0].path).toBe(path)
}

/** Logs time in yen as release 0.2.0 does. */
async function insertAsBefore(
  { scope, agent }: Organization,
  ticket_id: string,
  given: { minutes: number; rate: number },
) {
  const { sql, organization_id } = scope
  const [entry] = await sql<{ id: string }[]>`
    insert into time_entries (organization_id, id, ticket_id, user_id, duration_minutes, rate, currency, date)
    values (${organization_id}, ${newId()}, ${ticket_id}, ${agent.user_id}, ${given.minutes}, ${given.rate}, 'JPY',
      '2026-01-01')
    returning id`
  return entry!.id
}

async function exactOf({ sql, organization_id }: Organization['scope'], id: string) {
  const [columns] = await sql<{ exact_rate: number; decimals: number }[]>`
    select exact_rate, decimals from time_entries where organization_id = ${organization_id} and id = ${id}`
  return columns
}
