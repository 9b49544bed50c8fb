/** `GET /reports/tickets`: the figures against a plain computation over a history, and who may ask for what. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId, ZERO_ID } from '../../../src/base/db/columns'
import { minutesBetween } from '../../../src/base/shapes/business-time'
import { csvHeader } from '../../../src/base/shapes/csv-text'
import type { ReportRow } from '../../../src/desk/reports/model'
import { clientWithKey, createOrganization, expectError, type Organization, startApi, stopApi } from '../../support/api'
import { createMessage, createPolicy, createSchedule, createTicket } from '../../support/factories'
import { createGroups, createHistory, figuresOf, type Past, plainReport } from '../../support/history'
import { useTool } from '../../support/mcp'

const GROUPS = ['day', 'week', 'user', 'team', 'mailbox', 'label', 'company', 'priority'] as const

let one: Organization
let past: Past[]

beforeAll(async () => {
  await startApi()
  one = await createOrganization()
  const groups = await createGroups(one.scope, [one.admin.user_id, one.agent.user_id])
  const [from_ms, to_ms] = [Date.UTC(2025, 1, 20), Date.UTC(2026, 1, 1)]
  past = await createHistory(one.scope, groups, { tickets: 400, from_ms, to_ms })
})
afterAll(stopApi)

async function report(query: string, client = one.agent): Promise<ReportRow[]> {
  const answer = await client.get(`/reports/tickets?${query}`)
  expect([answer.status, answer.text.slice(0, 200)]).toEqual([200, expect.anything()])
  return answer.body.data
}

/** The clocks change on 2025-03-09 and 2025-11-02 in New York, on 2025-03-30 and 2025-10-26 in Berlin. */
const SPANS = [
  ['Europe/Berlin', '2025-02-20', '2026-02-20'],
  ['Europe/Berlin', '2025-03-26', '2025-04-01'],
  ['America/New_York', '2025-10-20', '2025-11-10'],
  ['America/New_York', '2025-03-05', '2025-03-12'],
] as const

describe.each(SPANS)('in %s from %s to %s', (time_zone, from, to) => {
  beforeAll(async () => {
    expect((await one.admin.patch('/organization', { time_zone })).status).toBe(200)
  })

  test.each(GROUPS)('the figures by %s are those of the history', async (group_by) => {
    const rows = await report(`from=${from}&to=${to}&group_by=${group_by}`)
    expect(figuresOf(rows, group_by)).toEqual(plainReport(past, time_zone, from, to, group_by))
  })
})

test('a day has the same figures in every report that has it', async () => {
  const day = '2025-10-26'
  const [alone] = await report(`from=${day}&to=${day}`)
  const within = await report('from=2025-10-01&to=2025-11-30')
  expect(within.find((row) => row.day === day)).toEqual(alone)
})

test.each(GROUPS)('the backlog by %s is the same, from whichever side it is counted', async (group_by) => {
  const { sql, organization_id } = one.scope
  const spans = ['from=2025-03-01&to=2025-04-30', 'from=2025-12-01&to=2026-11-30']
  const read = () => Promise.all(spans.map((span) => report(`${span}&group_by=${group_by}`)))
  const first = await read()
  // Until older tickets are told, it is counted from now.
  await sql`insert into ticket_fact_fills ${sql({ organization_id, before_id: ZERO_ID })}`
  expect(await read()).toEqual(first)
  await sql`delete from ticket_fact_fills where organization_id = ${organization_id}`
})

test('replies of a removed member keep their name, those of somebody who was none are of nobody', async () => {
  const other = await createOrganization()
  const ticket = await createTicket(other.admin)
  for (const client of [other.agent, other.agent, other.admin]) {
    await createMessage(client, ticket.id, { send_email: false })
  }
  const read = async () => {
    const day = new Date().toISOString().slice(0, 10)
    const rows = await report(`from=${day}&to=${day}&group_by=user`, other.admin)
    return rows.map(({ user, created, replies }) => ({ id: user?.id ?? null, created, replies }))
  }
  const own = { id: other.admin.user_id, created: 0, replies: 1 }
  const sender = { id: other.agent.user_id, created: 0, replies: 2 }
  const byId = async () => (await read()).toSorted((a, b) => String(a.id).localeCompare(String(b.id)))
  const named = [own, sender, { id: null, created: 1, replies: 0 }]
  expect((await other.admin.delete(`/users/${other.agent.user_id}`)).status).toBe(204)
  expect(await byId()).toEqual(named)
  const { sql, organization_id } = other.scope
  await sql`
    update ticket_facts set user_id = ${newId()}
    where organization_id = ${organization_id} and user_id = ${other.agent.user_id}`
  expect(await byId()).toEqual([own, { id: null, created: 1, replies: 2 }])
})

test('minutes are those of the schedule of the policy that a ticket has now', async () => {
  const other = await createOrganization()
  await other.admin.patch('/organization', { time_zone: 'Europe/Berlin' })
  const days = {
    mon: [
      ['08:00', '12:00'],
      ['13:00', '17:30'],
    ],
    tue: [['20:00', '24:00']],
    sun: [['00:00', '24:00']],
  }
  const schedules = [
    await createSchedule(other.admin, { hours: days, holidays: ['2025-04-14'] }),
    await createSchedule(other.admin, { hours: { fri: [['09:00', '10:00']] } }),
  ]
  const policies: { id: string }[] = []
  for (const { id } of schedules) policies.push(await createPolicy(other.admin, { schedule_id: id }))
  const groups = await createGroups(other.scope, [other.admin.user_id])
  const span = { from_ms: Date.UTC(2025, 1, 20), to_ms: Date.UTC(2025, 10, 1) }
  const own = await createHistory(other.scope, groups, { tickets: 120, ...span })
  const { sql, organization_id } = other.scope
  // Two thirds have a policy.
  for (const [place, schedule] of schedules.entries()) {
    const promised = own.filter((_, at) => at % 3 === place)
    await sql`
      update tickets set sla_policy_id = ${policies[place]!.id}
      where organization_id = ${organization_id} and id = any(${promised.map(({ id }) => id)}::uuid[])`
    for (const { facts } of promised) {
      const created_ms = Math.floor(facts[0]!.at_ms / 1000) * 1000
      for (const fact of facts) {
        if (fact.seconds === undefined) continue
        const end_ms = Math.floor(fact.at_ms / 1000) * 1000
        fact.seconds = minutesBetween(schedule, 'Europe/Berlin', created_ms, end_ms) * 60
      }
    }
  }
  for (const group_by of ['week', 'label', 'user'] as const) {
    const rows = await report(`from=2025-03-01&to=2025-12-01&group_by=${group_by}`, other.agent)
    const expected = plainReport(own, 'Europe/Berlin', '2025-03-01', '2025-12-01', group_by)
    expect(figuresOf(rows, group_by)).toEqual(expected)
  }
})

describe('csv', () => {
  test('has the rows of the list', async () => {
    const query = 'from=2025-03-01&to=2025-03-31&group_by=company'
    const answer = await one.agent.get(`/reports/tickets?${query}&format=csv`)
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(answer.headers.get('content-disposition')).toContain('tickets-by-company_2025-03-01_2025-03-31.csv')
    const [head, ...lines] = answer.text.trimEnd().split('\r\n')
    expect(head).toBe(
      'Company,Created,Resolved,Reopened,Replies,Backlog,First Reply Minutes Median,First Reply Minutes P90,' +
        'Resolve Minutes Median,Resolve Minutes P90,SLA Kept,SLA Breached,Ratings Good,Ratings Bad',
    )
    const rows = await report(query)
    expect(
      lines.map((line) =>
        line
          .replaceAll('"', '')
          .split(',')
          .map((cell) => cell || null),
      ),
    ).toEqual(
      rows.map(({ company, ...row }) =>
        [
          company?.name ?? null,
          ...[row.created, row.resolved, row.reopened, row.replies, row.backlog],
          ...[row.first_reply_minutes, row.resolve_minutes].flatMap(({ median, p90 }) => [median, p90]),
          ...[row.sla.kept, row.sla.breached, row.ratings.good, row.ratings.bad],
        ].map((cell) => (cell === null ? null : String(cell))),
      ),
    )
  })

  test('has the form that is asked for', async () => {
    const form = 'bom=true&delimiter=semicolon&decimal=comma'
    const { text } = await one.agent.get(`/reports/tickets?from=2025-03-01&to=2025-03-31&format=csv&${form}`)
    // The client takes the mark away.
    expect(text).toStartWith('Day;Created;')
    expect(csvHeader([{ name: 'Day' }], { bom: true })).toBe('\uFEFFDay\r\n')
    expect(text).toMatch(/;\d+,\d+;/)
    expect(text).not.toMatch(/\d\.\d/)
  })

  test('a decimal comma beside commas is quoted', async () => {
    const { text } = await one.agent.get('/reports/tickets?from=2025-03-01&to=2025-03-31&format=csv&decimal=comma')
    expect(text).toMatch(/"\d+,\d+"/)
  })
})

describe('refused', () => {
  test.each([
    ['', '/query/from'],
    ['from=2025-01-01', '/query/to'],
    ['to=2025-01-01', '/query/from'],
    ['from=2025-01-02&to=2025-01-01', '/query/to'],
    ['from=2025-01-01&to=2026-01-02', '/query/to'],
    ['from=2025-02-30&to=2025-03-01', '/query/from'],
    ['from=2025-01-01T00:00:00Z&to=2025-03-01', '/query/from'],
    ['from=2025-01-01&to=2025-01-01&group_by=contact', '/query/group_by'],
    ['from=2025-01-01&to=2025-01-01&format=xlsx', '/query/format'],
    ['from=2025-01-01&to=2025-01-01&format=csv&delimiter=pipe', '/query/delimiter'],
    ['from=%00&to=2025-01-01', '/query/from'],
  ])('%s', async (query, path) => {
    const answer = await one.agent.get(`/reports/tickets?${query}`)
    expectError(answer, 422, 'VALIDATION_ERROR')
    expect(answer.body.error.details.errors[0].path).toBe(path)
  })

  test('366 days and the first and last day that a calendar has are taken', async () => {
    expect(await report('from=2024-01-01&to=2024-12-31')).toHaveLength(366)
    expect(await report('from=0001-01-01&to=0001-01-02')).toHaveLength(2)
    expect(await report('from=9999-12-31&to=9999-12-31&group_by=week')).toHaveLength(1)
  })

  test('a key needs reports:read, and needs no more', async () => {
    const query = '/reports/tickets?from=2025-01-01&to=2025-01-01'
    const keyOf = async (permissions: string[]) =>
      clientWithKey((await one.admin.post('/api-keys', { name: 'x', permissions })).body.data.key)
    expectError(await (await keyOf(['tickets:read', 'organization:write'])).get(query), 403, 'FORBIDDEN')
    expect((await (await keyOf(['reports:read'])).get(query)).status).toBe(200)
    expect((await (await keyOf(['*:read'])).get(query)).status).toBe(200)
  })
})

test('nothing of another organization is counted or named', async () => {
  const other = await createOrganization()
  for (const group_by of GROUPS) {
    const rows = await report(`from=2025-02-20&to=2026-02-20&group_by=${group_by}`, other.admin)
    for (const row of rows) expect([row.created, row.replies, row.backlog, row.resolved]).toEqual([0, 0, 0, 0])
    if (!['day', 'week', 'priority'].includes(group_by)) expect(rows).toEqual([])
  }
})

test('a program that calls it as a tool gets rows, and a file as text', async () => {
  const call = (form: object) => {
    const given = { from: '2025-03-01', to: '2025-03-02', group_by: 'priority', ...form }
    return useTool(one.agent, 'reportTickets', given)
  }
  expect((await call({})).structuredContent.data).toHaveLength(4)
  const file = await call({ format: 'csv' })
  expect(file.structuredContent).toBeUndefined()
  expect(file.content[0].text).toStartWith('Priority,Created,')
})
