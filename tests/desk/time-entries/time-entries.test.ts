import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { config } from '../../../src/base/config'
import { newId } from '../../../src/base/db/columns'
import { inTransaction, type Scope } from '../../../src/base/scope'
import { exportTimeEntries } from '../../../src/desk/time-entries/export'
import { FEW_ENTRIES, timeEntriesOfTicket } from '../../../src/desk/time-entries/queries'
import { api, createOrganization, expectError, startApi, stopApi } from '../../support/api'
import { untilBlocked } from '../../support/drain-processes'
import { activityOf, createCompany, hearEvents, insertTicketOf, logTime, writtenEvents } from '../../support/factories'
import { withSettings } from '../../support/settings'

beforeAll(() => startApi())
afterAll(stopApi)

const NOBODY = '018f0000-0000-7000-8000-000000000000'
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
const DATES = { old: '2026-01-10', middle: '2026-01-20', late: '2026-01-30' }

/** A ticket, of a company when one is given. */
const ticketIn = (scope: Scope, company_id: string | null = null) => insertTicketOf(scope, { company_id })

const ids = (list: { id: string }[]) => list.map((item) => item.id)

describe('logging', () => {
  test('an entry is returned with every field', async () => {
    const { agent, scope } = await createOrganization()
    const ticket = await ticketIn(scope)
    const fields = { duration_minutes: 90, description: ' Called ', billable: false, date: '2024-02-29', rate: 80.5 }
    const answer = await agent.post(`/tickets/${ticket.id}/time-entries`, fields)
    expect(answer.status).toBe(201)
    const entry = {
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      ticket,
      user: { id: agent.user_id, name: 'Alan Agent' },
      ...fields,
      currency: 'USD',
      amount: 120.75,
      original_ticket: null,
      created_at: TIME,
    }
    expect(answer.body.data).toEqual(entry)
    expect((await agent.get(`/time-entries/${answer.body.data.id}`)).body.data).toEqual(entry)
    expect((await agent.get('/time-entries')).body.data).toEqual([entry])
    const { ticket: _, ...rest } = answer.body.data
    expect(Array.from(await timeEntriesOfTicket(scope, ticket.id))).toEqual([rest])
    expect((await agent.get(`/tickets/${ticket.id}`)).body.data.time_entries).toEqual([rest])
  })

  test.each([FEW_ENTRIES, FEW_ENTRIES + 2])('a ticket shows all of its %i entries', async (count) => {
    const { agent, scope } = await createOrganization()
    const ticket = await ticketIn(scope)
    for (let n = 0; n < count; n++) await logTime(agent, ticket.id)
    const shown = (await agent.get(`/tickets/${ticket.id}`)).body.data.time_entries
    expect(shown).toHaveLength(count)
    expect(shown).toEqual(Array.from(await timeEntriesOfTicket(scope, ticket.id)))
  })

  test('an entry is billable, of today in UTC and without a rate unless something says otherwise', async () => {
    const { agent, scope } = await createOrganization()
    const before = new Date().toISOString().slice(0, 10)
    const entry = await logTime(agent, (await ticketIn(scope)).id, { description: null, rate: null })
    const after = new Date().toISOString().slice(0, 10)
    expect(entry).toMatchObject({ billable: true, description: null, rate: null, amount: null, currency: 'USD' })
    expect([before, after]).toContain(entry.date)
  })

  test('the day without a date is that of the zone of the organization', async () => {
    const { admin, agent, scope } = await createOrganization()
    const ticket = await ticketIn(scope)
    // Their clocks are 26 hours apart: at any moment their days differ.
    const days: string[] = []
    for (const time_zone of ['Pacific/Kiritimati', 'Etc/GMT+12']) {
      expect((await admin.patch('/organization', { time_zone })).status).toBe(200)
      days.push((await logTime(agent, ticket.id, { date: undefined })).date)
    }
    const [ahead, behind] = days.map((day) => Date.parse(day) / 86_400_000)
    expect([1, 2]).toContain(ahead! - behind!)
  })

  test.each([
    [1, 0.3, 0.01],
    [1, 0.29, 0],
    [50, 19.99, 16.66],
    [7, 100, 11.67],
    [20, 100, 33.33],
    [1, 1_000_000, 16_666.67],
    [525_600, 1_000_000, 8_760_000_000],
  ])('%p minutes at %p an hour are %p: to the cent, half up', async (duration_minutes, rate, amount) => {
    const { agent, scope } = await createOrganization()
    expect((await logTime(agent, (await ticketIn(scope)).id, { duration_minutes, rate })).amount).toBe(amount)
  })

  test('a ticket that is being deleted gets no time', async () => {
    const { agent, scope } = await createOrganization()
    const { id } = await ticketIn(scope)
    const { organization_id } = scope
    const { asked } = await inTransaction(scope, async ({ sql }) => {
      await sql`select from tickets where organization_id = ${organization_id} and id = ${id} for no key update`
      const asked = agent.post(`/tickets/${id}/time-entries`, { duration_minutes: 5 })
      await untilBlocked(scope, 'ticket')
      await sql`update tickets set deleted_at = now() where organization_id = ${organization_id} and id = ${id}`
      return { asked }
    })
    const answer = await asked
    expect([answer.status, answer.body.error.code]).toEqual([404, 'TICKET_NOT_FOUND'])
    const { sql } = scope
    expect(Array.from(await sql`select id from time_entries where ticket_id = ${id}`)).toEqual([])
  })

  test('the rate is that of the company, else of the user, else of the organization, and stays', async () => {
    const { agent, scope } = await createOrganization()
    const { sql, organization_id } = scope
    const company = await createCompany(agent, { hourly_rate: 100, currency: 'EUR' })
    const [at_company, elsewhere] = [await ticketIn(scope, company.id), await ticketIn(scope)]
    const rateOn = async (ticket: { id: string }, fields = {}) => {
      const { rate, currency } = await logTime(agent, ticket.id, fields)
      return [rate, currency]
    }
    await sql`update organizations set hourly_rate = 20, currency = 'GBP' where id = ${organization_id}`
    expect(await rateOn(elsewhere)).toEqual([20, 'GBP'])
    await sql`update memberships set hourly_rate = 50, currency = 'CHF' where user_id = ${agent.user_id}`
    expect(await rateOn(elsewhere)).toEqual([50, 'CHF'])
    expect(await rateOn(at_company)).toEqual([100, 'EUR'])
    expect(await rateOn(at_company, { rate: 7 })).toEqual([7, 'EUR'])
    expect(await rateOn(elsewhere, { rate: 7 })).toEqual([7, 'GBP'])

    const fixed = await logTime(agent, at_company.id)
    await agent.patch(`/companies/${company.id}`, { hourly_rate: 200, currency: 'USD' })
    expect((await agent.get(`/time-entries/${fixed.id}`)).body.data).toEqual(fixed)
  })

  test.each([
    [{ duration_minutes: 0 }, 'INVALID_DURATION', '/duration_minutes'],
    [{ duration_minutes: -5 }, 'INVALID_DURATION', '/duration_minutes'],
    [{ duration_minutes: 1.5 }, 'INVALID_DURATION', '/duration_minutes'],
    [{ duration_minutes: '60' }, 'INVALID_DURATION', '/duration_minutes'],
    [{ duration_minutes: 525_601 }, 'INVALID_DURATION', '/duration_minutes'],
    [{ description: 'd'.repeat(10_001) }, 'VALIDATION_ERROR', '/description'],
    [{ date: '2026-02-30' }, 'VALIDATION_ERROR', '/date'],
    [{ date: '2026-01-31T00:00:00Z' }, 'VALIDATION_ERROR', '/date'],
    [{ date: '31.01.2026' }, 'VALIDATION_ERROR', '/date'],
    [{ date: '0000-01-01' }, 'VALIDATION_ERROR', '/date'],
    [{ rate: -1 }, 'VALIDATION_ERROR', '/rate'],
    [{ rate: 1.234 }, 'VALIDATION_ERROR', '/rate'],
    [{ rate: 1_000_001 }, 'VALIDATION_ERROR', '/rate'],
    [{ duration_minutes: 0, rate: -1 }, 'INVALID_DURATION', '/duration_minutes'],
  ])('a wrong field is refused: %j', async (fields, code, path) => {
    const { agent, scope } = await createOrganization()
    const ticket = await ticketIn(scope)
    const entry = await logTime(agent, ticket.id)
    for (const answer of [
      await agent.post(`/tickets/${ticket.id}/time-entries`, { duration_minutes: 1, ...fields }),
      await agent.patch(`/time-entries/${entry.id}`, { description: 'new', ...fields }),
    ]) {
      expectError(answer, 422, code)
      expect(answer.body.error.details.errors[0].path).toBe(path)
    }
    expect((await agent.get('/time-entries')).body.data).toEqual([entry])
  })

  test('time stays when its ticket is deleted', async () => {
    const { agent, scope } = await createOrganization()
    const company = await createCompany(agent)
    const ticket = await ticketIn(scope, company.id)
    const entry = await logTime(agent, ticket.id, { rate: 60 })
    await scope.sql`update tickets set deleted_at = now() where id = ${ticket.id}`
    expect((await agent.get('/time-entries')).body.data).toEqual([entry])
    expect((await agent.get(`/time-entries/${entry.id}`)).body.data.ticket).toEqual(ticket)
    expect((await agent.get('/time-entries/summary')).body.data).toMatchObject([
      { total_minutes: 60, total_amount: 60 },
    ])
    expect((await agent.get('/time-entries/export')).text).toContain(ticket.code)
    expect((await agent.patch(`/time-entries/${entry.id}`, { duration_minutes: 30 })).body.data.amount).toBe(30)
    expect((await agent.delete(`/time-entries/${entry.id}`)).status).toBe(204)
  })
})

describe('the list', () => {
  test('is by date, newest first, then newest created, in pages', async () => {
    const { agent, scope } = await createOrganization()
    const ticket = await ticketIn(scope)
    const log = async (date: string) => (await logTime(agent, ticket.id, { date })).id
    const [middle, late, second_late, old] = [
      await log(DATES.middle),
      await log(DATES.late),
      await log(DATES.late),
      await log(DATES.old),
    ]
    const first = (await agent.get('/time-entries?per_page=3')).body
    expect(ids(first.data)).toEqual([second_late, late, middle])
    expect(first.meta).toMatchObject({ total: 4, page: 1, per_page: 3 })
    expect(ids((await agent.get('/time-entries?per_page=3&page=2')).body.data)).toEqual([old])
    expect(ids(await timeEntriesOfTicket(scope, ticket.id))).toEqual([second_late, late, middle, old])
  })

  test('filters by ticket, user, company of the ticket now, billable and days', async () => {
    const { admin, agent, scope } = await createOrganization()
    const company = await createCompany(agent)
    const [inside, outside] = [await ticketIn(scope, company.id), await ticketIn(scope)]
    const old = await logTime(agent, inside.id, { date: DATES.old })
    const middle = await logTime(admin, outside.id, { date: DATES.middle, billable: false })
    const late = await logTime(agent, outside.id, { date: DATES.late })
    const found = async (query: string) => ids((await agent.get(`/time-entries?${query}`)).body.data)
    expect(await found(`ticket_id=${outside.id}`)).toEqual([late.id, middle.id])
    expect(await found(`user_id=${admin.user_id}`)).toEqual([middle.id])
    expect(await found(`company_id=${company.id}`)).toEqual([old.id])
    expect(await found('billable=true')).toEqual([late.id, old.id])
    expect(await found('billable=false')).toEqual([middle.id])
    expect(await found(`date_from=${DATES.middle}`)).toEqual([late.id, middle.id])
    expect(await found(`date_to=${DATES.middle}`)).toEqual([middle.id, old.id])
    expect(await found(`date_from=${DATES.late}&date_to=${DATES.old}`)).toEqual([])
    expect(await found(`ticket_id=${NOBODY}`)).toEqual([])
    expect(await found(`user_id=${agent.user_id}&billable=true&date_to=${DATES.old}`)).toEqual([old.id])
    await scope.sql`update tickets set company_id = ${company.id} where id = ${outside.id}`
    expect(await found(`company_id=${company.id}`)).toEqual([late.id, middle.id, old.id])
  })

  test('totals are over the whole filtered list, not the page', async () => {
    const { agent, scope } = await createOrganization()
    const ticket = await ticketIn(scope)
    for (let i = 0; i < 3; i++) await logTime(agent, ticket.id, { duration_minutes: 10, rate: 0.1 })
    await logTime(agent, ticket.id, { duration_minutes: 5, rate: 100, billable: false })
    await logTime(agent, ticket.id, { duration_minutes: 7 })
    const { meta } = (await agent.get('/time-entries?per_page=1')).body
    expect(meta.totals).toEqual({
      duration_minutes: 42,
      billable_amount: 0.06,
      by_currency: [{ currency: 'USD', billable_amount: 0.06 }],
    })
    const not_billable = (await agent.get('/time-entries?billable=false')).body.meta.totals
    expect(not_billable).toEqual({ duration_minutes: 5, billable_amount: 0, by_currency: [] })
  })

  test('of several currencies there is no single amount', async () => {
    const { agent, scope } = await createOrganization()
    const company = await createCompany(agent, { hourly_rate: 10, currency: 'EUR' })
    await logTime(agent, (await ticketIn(scope, company.id)).id)
    await logTime(agent, (await ticketIn(scope)).id, { rate: 20 })
    expect((await agent.get('/time-entries')).body.meta.totals).toEqual({
      duration_minutes: 120,
      billable_amount: null,
      by_currency: [
        { currency: 'EUR', billable_amount: 10 },
        { currency: 'USD', billable_amount: 20 },
      ],
    })
    expect((await agent.get(`/time-entries?company_id=${company.id}`)).body.meta.totals.billable_amount).toBe(10)
  })

  test('of nothing the totals are 0', async () => {
    const { agent } = await createOrganization()
    const { meta } = (await agent.get('/time-entries')).body
    expect(meta).toEqual({
      total: 0,
      page: 1,
      per_page: 20,
      next_cursor: null,
      totals: { duration_minutes: 0, billable_amount: 0, by_currency: [] },
    })
  })
})

describe('updating', () => {
  test('changes what is given and computes the amount anew', async () => {
    const { agent, scope } = await createOrganization()
    const entry = await logTime(agent, (await ticketIn(scope)).id, { rate: 60, description: 'x' })
    const path = `/time-entries/${entry.id}`
    const changes = { duration_minutes: 30, billable: false, date: DATES.old }
    const changed = await agent.patch(path, changes)
    expect(changed.status).toBe(200)
    expect(changed.body.data).toEqual({ ...entry, ...changes, amount: 30 })
    const rated = await agent.patch(path, { rate: 19.99, description: null })
    expect(rated.body.data).toEqual({ ...entry, ...changes, rate: 19.99, description: null, amount: 10 })
  })

  test('a new rate is in the currency of the company, else of the organization', async () => {
    const { agent, scope } = await createOrganization()
    const company = await createCompany(agent, { currency: 'EUR' })
    await scope.sql`update memberships set hourly_rate = 50, currency = 'CHF' where user_id = ${agent.user_id}`
    const [at_company, elsewhere] = [await ticketIn(scope, company.id), await ticketIn(scope)]
    for (const [ticket, currency] of [
      [at_company, 'EUR'],
      [elsewhere, 'USD'],
    ] as const) {
      const entry = await logTime(agent, ticket.id)
      expect([entry.rate, entry.currency]).toEqual([50, 'CHF'])
      const same = await agent.patch(`/time-entries/${entry.id}`, { rate: 50, duration_minutes: 5 })
      expect(same.body.data.currency).toBe('CHF')
      const changed = await agent.patch(`/time-entries/${entry.id}`, { rate: 60 })
      expect(changed.body.data).toMatchObject({ rate: 60, currency })
    }
  })

  test('an agent changes only their own entries, an admin those of all', async () => {
    const { admin, agent, addMember, scope } = await createOrganization()
    const other = await addMember('agent')
    const entry = await logTime(agent, (await ticketIn(scope)).id)
    const path = `/time-entries/${entry.id}`
    for (const answer of [
      await other.patch(path, { duration_minutes: 5 }),
      await other.patch(path, { duration_minutes: 0 }),
      await other.patch(path, 'no JSON'),
      await other.delete(path),
    ]) {
      expect([answer.status, answer.body.error.code]).toEqual([403, 'UNAUTHORIZED'])
    }
    expect((await other.get(path)).body.data).toEqual(entry)
    expect((await admin.patch(path, { duration_minutes: 5 })).body.data).toMatchObject({
      duration_minutes: 5,
      user: entry.user,
    })
    expect((await agent.patch(path, { duration_minutes: 6 })).status).toBe(200)
    expect((await admin.delete(path)).status).toBe(204)
    expect((await agent.get(path)).body.error.code).toBe('TIME_ENTRY_NOT_FOUND')
  })
})

test('events and the timeline tell of every change, and of nothing else', async () => {
  const { agent, scope } = await createOrganization()
  await hearEvents(scope)
  const ticket = await ticketIn(scope)
  const entry = await logTime(agent, ticket.id, { rate: 60 })
  const path = `/time-entries/${entry.id}`
  const updated = (await agent.patch(path, { duration_minutes: 30, description: 'Called' })).body.data
  const { duration_minutes, description, billable, rate, date } = updated
  await agent.patch(path, { duration_minutes, description, billable, rate, date })
  await agent.patch(path, {})
  await agent.patch(path, { duration_minutes: 0 })
  await agent.delete(path)

  expect((await writtenEvents(scope)).map(({ event, data }) => [event, data])).toEqual([
    ['time_entry.created', entry],
    ['time_entry.updated', updated],
    ['time_entry.deleted', updated],
  ])
  expect(Array.from(await activityOf(scope, ticket.id))).toEqual([
    { type: 'time_logged', data: { time_entry_id: entry.id, duration_minutes: 60, billable: true } },
    {
      type: 'time_changed',
      data: {
        time_entry_id: entry.id,
        changes: { duration_minutes: { from: 60, to: 30 }, description: { from: null, to: 'Called' } },
      },
    },
    { type: 'time_deleted', data: { time_entry_id: entry.id, duration_minutes: 30 } },
  ])
})

describe('the summary', () => {
  async function someTime() {
    const { admin, agent, scope } = await createOrganization()
    const company = await createCompany(agent, { name: 'Acme', hourly_rate: 60, currency: 'EUR' })
    const [inside, outside] = [await ticketIn(scope, company.id), await ticketIn(scope)]
    await logTime(agent, inside.id, { duration_minutes: 10, date: DATES.old })
    await logTime(admin, inside.id, { duration_minutes: 20, date: DATES.middle, billable: false })
    await logTime(agent, outside.id, { duration_minutes: 100, date: DATES.middle, rate: 30 })
    await logTime(agent, outside.id, { duration_minutes: 1, date: DATES.late })
    const summary = async (query: string) => (await agent.get(`/time-entries/summary?${query}`)).body
    const names = { company: { id: company.id, name: 'Acme' }, agent: { id: agent.user_id, name: 'Alan Agent' } }
    return { summary, names, admin: { id: admin.user_id, name: 'Ada Admin' }, inside, outside }
  }

  test('is by company unless asked otherwise, most minutes first', async () => {
    const { summary, names } = await someTime()
    const expected = [
      { company: null, total_minutes: 101, billable_minutes: 101, total_amount: 50, currency: 'USD' },
      { company: names.company, total_minutes: 30, billable_minutes: 10, total_amount: 10, currency: 'EUR' },
    ]
    expect(await summary('')).toEqual({ data: expected })
    expect(await summary('group_by=company')).toEqual({ data: expected })
  })

  test('by user has one item for each currency', async () => {
    const { summary, names, admin } = await someTime()
    expect((await summary('group_by=user')).data).toEqual([
      { user: names.agent, total_minutes: 101, billable_minutes: 101, total_amount: 50, currency: 'USD' },
      { user: admin, total_minutes: 20, billable_minutes: 0, total_amount: 0, currency: 'EUR' },
      { user: names.agent, total_minutes: 10, billable_minutes: 10, total_amount: 10, currency: 'EUR' },
    ])
  })

  test('by ticket and by day', async () => {
    const { summary, inside, outside } = await someTime()
    expect((await summary('group_by=ticket')).data).toMatchObject([
      { ticket: outside, total_minutes: 101, currency: 'USD' },
      { ticket: inside, total_minutes: 30, currency: 'EUR' },
    ])
    expect((await summary('group_by=day')).data).toEqual([
      { day: DATES.middle, total_minutes: 100, billable_minutes: 100, total_amount: 50, currency: 'USD' },
      { day: DATES.middle, total_minutes: 20, billable_minutes: 0, total_amount: 0, currency: 'EUR' },
      { day: DATES.old, total_minutes: 10, billable_minutes: 10, total_amount: 10, currency: 'EUR' },
      { day: DATES.late, total_minutes: 1, billable_minutes: 1, total_amount: 0, currency: 'USD' },
    ])
  })

  test('is of the days that are asked for', async () => {
    const { summary, names } = await someTime()
    const { data } = await summary(`date_from=${DATES.middle}&date_to=${DATES.middle}`)
    expect(data.map((item: { total_minutes: number }) => item.total_minutes)).toEqual([100, 20])
    expect((await summary(`date_to=${DATES.old}`)).data).toMatchObject([{ company: names.company, total_minutes: 10 }])
    expect(await summary(`date_from=${DATES.late}&date_to=${DATES.old}`)).toEqual({ data: [] })
  })
})

describe('the export', () => {
  test('is CSV in the order of the list, named after its days', async () => {
    const { agent, scope } = await createOrganization()
    const company = await createCompany(agent, { name: 'Acme, Inc.', hourly_rate: 80, currency: 'EUR' })
    const inside = await ticketIn(scope, company.id)
    const outside = await insertTicketOf(scope, { subject: '=cmd|calc' })
    await logTime(agent, inside.id, { date: DATES.old, duration_minutes: 45, description: 'said "no"\nthen yes' })
    await logTime(agent, outside.id, { date: DATES.late, billable: false })
    const answer = await agent.get('/time-entries/export')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="time-entries_all_all.csv"')
    expect(answer.headers.get('x-request-id')).toBeTruthy()
    expect(answer.text).toBe(
      'Date,Ticket Code,Ticket Subject,Company,User,Duration,Description,Billable,Rate,Amount,Currency\r\n' +
        `2026-01-30,${outside.code},"'=cmd|calc",,"Alan Agent",60,,false,,,USD\r\n` +
        `2026-01-10,${inside.code},"Printer on fire","Acme, Inc.","Alan Agent",45,"said ""no""\nthen yes",true,80.00,60.00,EUR\r\n`,
    )
    const part = await agent.get(`/time-entries/export?format=csv&date_from=${DATES.middle}&date_to=${DATES.late}`)
    expect(part.text.split('\r\n')).toHaveLength(3)
    expect(part.headers.get('content-disposition')).toBe(
      'attachment; filename="time-entries_2026-01-20_2026-01-30.csv"',
    )
    const open = await agent.get(`/time-entries/export?date_to=${DATES.old}`)
    expect(open.headers.get('content-disposition')).toBe('attachment; filename="time-entries_all_2026-01-10.csv"')
  })

  test('has the form that the query asks for', async () => {
    const { agent, scope } = await createOrganization()
    const ticket = await ticketIn(scope)
    await logTime(agent, ticket.id, { date: DATES.old, duration_minutes: 45, rate: 80 })
    const answer = await agent.get('/time-entries/export?bom=true&delimiter=semicolon&decimal=comma')
    const cells = `${DATES.old};${ticket.code};"Printer on fire";;"Alan Agent";45;;true;80,00;60,00;USD`
    // The reader of text takes the mark away.
    expect(answer.text.split('\r\n')[1]).toBe(cells)
    const bytes = await agent.get('/time-entries/export?bom=false')
    expect(bytes.text).toBe((await agent.get('/time-entries/export')).text)
    for (const wrong of ['bom=1', 'delimiter=;', 'decimal=,', 'delimiter=comma&delimiter=tab']) {
      expectError(await agent.get(`/time-entries/export?${wrong}`), 422, 'VALIDATION_ERROR')
    }
  })

  test('of 10,000 entries adds up to the totals of the list and the summary, to the cent', async () => {
    const { agent, scope } = await createOrganization()
    const by_currency = await insertRandomEntries(scope, agent.user_id, 10_000)
    const [exported, listed, summary] = await Promise.all([
      agent.get('/time-entries/export'),
      agent.get('/time-entries?per_page=1'),
      agent.get('/time-entries/summary?group_by=day'),
    ])
    const rows = exported.text
      .trimEnd()
      .split('\r\n')
      .slice(1)
      .map((line) => line.split(','))
    expect(rows).toHaveLength(10_000)
    const cents = new Map<string, number>()
    for (const [, , , , , , , billable, , amount, currency] of rows) {
      if (billable === 'true' && amount)
        cents.set(currency!, (cents.get(currency!) ?? 0) + Number(amount.replace('.', '')))
    }
    const { totals, total } = listed.body.meta
    expect(total).toBe(10_000)
    expect(totals.billable_amount).toBeNull()
    const from_summary = new Map<string, number>()
    for (const { currency, total_amount } of summary.body.data) {
      from_summary.set(currency, (from_summary.get(currency) ?? 0) + Math.round(total_amount * 100))
    }
    for (const { currency, billable_amount } of totals.by_currency) {
      expect([currency, Math.round(billable_amount * 100)]).toEqual([currency, cents.get(currency)!])
      expect([currency, from_summary.get(currency)!]).toEqual([currency, cents.get(currency)!])
      expect([currency, by_currency.get(currency)!]).toEqual([currency, cents.get(currency)!])
    }
    expect(totals.by_currency).toHaveLength(3)
    const minutes = rows.reduce((sum, row) => sum + Number(row[5]), 0)
    expect(totals.duration_minutes).toBe(minutes)
    const summed = summary.body.data.reduce(
      (sum: number, item: { total_minutes: number }) => sum + item.total_minutes,
      0,
    )
    expect(summed).toBe(minutes)
  })

  test('shows one moment, whatever changes while it is read', async () => {
    const { agent, scope } = await createOrganization()
    await insertRandomEntries(scope, agent.user_id, 1200)
    const reader = (await exportTimeEntries(scope, {})).getReader()
    const chunks = [await read(reader), await read(reader)]
    await scope.sql`delete from time_entries where organization_id = ${scope.organization_id}`
    for (let chunk = await read(reader); chunk; chunk = await read(reader)) chunks.push(chunk)
    expect(chunks.join('').trimEnd().split('\r\n')).toHaveLength(1201)
  })

  test('that nobody reads on, or that is left, gives its connection back', async () => {
    const { agent, scope } = await createOrganization()
    await insertRandomEntries(scope, agent.user_id, 1200)
    const left = (await exportTimeEntries(scope, {})).getReader()
    await read(left)
    await left.cancel()
    const waiting = (await exportTimeEntries(scope, {})).getReader()
    const reading = read(waiting)
    await Promise.all([reading, waiting.cancel()])
    const stalled = (await exportTimeEntries(scope, {}, { stall_ms: 20 })).getReader()
    await read(stalled)
    // The organization has its place back when the stalled export is over.
    let next = await agent.get('/time-entries/export')
    await until(async () => {
      if (next.status !== 200) next = await agent.get('/time-entries/export')
      return next.status === 200
    })
    expect(await openTransactions(scope)).toBe(0)
    await expect(stalled.read()).rejects.toThrow('nobody read on')
    expect(next.text.trimEnd().split('\r\n')).toHaveLength(1201)
  })

  test('of an organization that has one already is 429, and delays no other organization', async () => {
    const [noisy, other] = [await createOrganization(), await createOrganization()]
    await insertRandomEntries(noisy.scope, noisy.agent.user_id, 1200)
    const reader = (await exportTimeEntries(noisy.scope, {})).getReader()
    await read(reader)
    const refused = await Promise.all([1, 2, 3].map(() => noisy.agent.get('/time-entries/export')))
    for (const { status, headers, body } of refused) {
      expect([status, headers.get('retry-after'), body.error.code]).toEqual([429, '10', 'RATE_LIMITED'])
    }
    expect((await other.agent.get('/time-entries/export')).status).toBe(200)
    await reader.cancel()
    expect((await noisy.agent.get('/time-entries/export')).text.trimEnd().split('\r\n')).toHaveLength(1201)
  })

  test('holds no connection however slowly it is read, and leaves no file', async () => {
    const readers = []
    for (let n = 0; n < 8; n++) {
      const { agent, scope } = await createOrganization()
      await insertRandomEntries(scope, agent.user_id, 1200)
      readers.push((await exportTimeEntries(scope, {})).getReader())
      await until(async () => (await openTransactions(scope)) === 0)
    }
    expect(readdirSync(path.join(config.DATA_DIR, 'temporary'))).toEqual([])
    const texts = await Promise.all(
      readers.map(async (reader) => {
        let text = ''
        for (let chunk = await read(reader); chunk; chunk = await read(reader)) text += chunk
        return text
      }),
    )
    expect(texts.map((text) => text.trimEnd().split('\r\n').length)).toEqual(Array(8).fill(1201))
  })

  test('that takes too long in all is broken off, and the next one may begin', async () => {
    const { agent, scope } = await createOrganization()
    await insertRandomEntries(scope, agent.user_id, 1200)
    const late = (await exportTimeEntries(scope, {}, { total_ms: 20 })).getReader()
    await until(async () => (await agent.get('/time-entries/export')).status === 200)
    await expect(late.read()).rejects.toThrow('it took too long')
  })

  test('is 503 while the disk is nearly full', async () => {
    const { agent } = await createOrganization()
    using _ = withSettings({ SMTP_MAX_BYTES: Number.MAX_SAFE_INTEGER })
    const answer = await agent.get('/time-entries/export')
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5'])
  })

  test('asked for by HEAD reads nothing', async () => {
    const { agent } = await createOrganization()
    const request = new Request('http://localhost/api/v1/time-entries/export', {
      method: 'HEAD',
      headers: { authorization: `Bearer ${agent.token}` },
    })
    const response = await api().handle(request)
    expect([response.status, response.headers.get('content-length')]).toEqual([200, null])
    expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8')
  })

  async function read(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
    const { value } = await reader.read()
    return new TextDecoder().decode(value)
  }

  async function openTransactions({ sql }: Scope): Promise<number> {
    const [row] = await sql<{ count: number }[]>`
      select count(*) as count from pg_stat_activity
      where datname = current_database() and state like 'idle in transaction%'`
    return row!.count
  }

  async function until(holds: () => Promise<boolean>): Promise<void> {
    while (!(await holds())) await Bun.sleep(5)
  }
})

/**
 * Entries of several currencies, days, rates and tickets; also without a rate, and not billable.
 * @returns the cents that are billable in each currency, computed here in whole numbers
 */
async function insertRandomEntries({ sql, organization_id }: Scope, user_id: string, count: number) {
  const scope = { sql, organization_id } as Scope
  const tickets = [await ticketIn(scope), await ticketIn(scope), await ticketIn(scope)]
  let seed = 42
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((seed / 2_147_483_648) * below)
  }
  const rows = Array.from({ length: count }, (_, i) => ({
    id: newId(),
    ticket_id: tickets[random(3)]!.id,
    duration_minutes: 1 + random(600),
    billable: random(4) > 0,
    rate_cents: random(10) === 0 ? null : random(20_000),
    currency: ['EUR', 'GBP', 'USD'][random(3)]!,
    date: `2026-0${1 + (i % 9)}-${10 + random(18)}`,
  }))
  await sql`
    insert into time_entries
      (organization_id, id, ticket_id, user_id, duration_minutes, billable, rate, currency, date)
    select ${organization_id}, id, ticket_id, ${user_id}, duration_minutes, billable, rate_cents / 100.0, currency, date
    from json_to_recordset(${JSON.stringify(rows)}::json) as x
      (id uuid, ticket_id uuid, duration_minutes int, billable boolean, rate_cents int, currency text, date date)`
  const cents = new Map<string, number>()
  for (const { billable, rate_cents, currency, duration_minutes } of rows) {
    if (!billable || rate_cents === null) continue
    const amount = Math.floor((duration_minutes * rate_cents + 30) / 60)
    cents.set(currency, (cents.get(currency) ?? 0) + amount)
  }
  return cents
}
