/** Facts: what reports count follows whatever is done to tickets, and is told again as it was. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { LAST_ID, newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { fillFacts } from '../../../src/desk/facts/fill'
import { purgeDeletedTickets } from '../../../src/desk/tickets/purge'
import { createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import {
  createCompany,
  createContact,
  createLabel,
  createMessage,
  createPolicy,
  createTicket,
} from '../../support/factories'

beforeAll(() => startApi())
afterAll(stopApi)

/** The facts of tickets, oldest first, as `kind`. Those that do not count stand in brackets. */
async function kindsOf({ scope: { sql, organization_id } }: Organization, ...tickets: { id: string }[]) {
  const rows = await sql<{ ticket_id: string; kind: string; hidden: boolean; seconds: number | null }[]>`
    select ticket_id, kind, hidden, seconds from ticket_facts where organization_id = ${organization_id} order by at, id`
  return tickets.map(({ id }) =>
    rows
      .filter(({ ticket_id }) => ticket_id === id)
      .map(({ kind, hidden, seconds }) => {
        const named = kind === 'replied' && seconds !== null ? 'first reply' : kind
        return hidden ? `(${named})` : named
      })
      .join(', '),
  )
}

/** All facts of an organization, without the times of changes of status: those of the timeline are some ms later. */
async function factsOf({ scope: { sql, organization_id } }: Organization) {
  return sql`
    select ticket_id, kind, case when kind not in ('resolved', 'reopened') then at end as at,
      case when kind <> 'resolved' then seconds end as seconds, user_id, hidden, assignee_id, team_id, mailbox_id,
      company_id, priority, sla_policy_id, array(select unnest(label_ids) order by 1) as label_ids
    from ticket_facts where organization_id = ${organization_id}
    order by ticket_id, kind, ticket_facts.at`
}

/** Has all told again, as of tickets that are older than the facts. */
async function tellAgain({ scope: { sql, organization_id } }: Organization): Promise<void> {
  await sql`delete from ticket_facts where organization_id = ${organization_id}`
  await sql`insert into ticket_fact_fills ${sql({ organization_id, before_id: LAST_ID })}`
  await fillFacts(connection())
  expect(await sql`select from ticket_fact_fills where organization_id = ${organization_id}`).toHaveLength(0)
}

async function expectSameWhenToldAgain(organization: Organization): Promise<void> {
  const before = await factsOf(organization)
  expect(before.length).toBeGreaterThan(0)
  await tellAgain(organization)
  expect(await factsOf(organization)).toEqual(before)
}

async function changed({ agent }: Organization, ticket: { id: string }, changes: object): Promise<void> {
  const answer = await agent.patch(`/tickets/${ticket.id}`, changes)
  expect([answer.status, answer.body.error]).toEqual([200, undefined])
}

test('a ticket is created, gets replies, is resolved, opened again and closed', async () => {
  const one = await createOrganization()
  const { agent } = one
  const contact = await createContact(agent)
  const ticket = await createTicket(agent, { contact_id: contact.id, description: 'Fire' })
  await createMessage(agent, ticket.id, { body: 'A note', is_internal: true })
  for (const body of ['Water', 'More']) await createMessage(agent, ticket.id, { body, send_email: false })
  for (const status of ['pending', 'resolved', 'closed', 'open', 'closed']) await changed(one, ticket, { status })
  expect(await kindsOf(one, ticket)).toEqual(['created, first reply, replied, resolved, reopened, resolved'])
  await expectSameWhenToldAgain(one)
})

test('facts have the groups and labels that their ticket has now', async () => {
  const one = await createOrganization()
  const { agent } = one
  const labels = [await createLabel(agent, { name: 'a' }), await createLabel(agent, { name: 'b' })]
  const company = await createCompany(agent)
  const contact = await createContact(agent)
  const ticket = await createTicket(agent, { label_ids: [labels[0]!.id], contact_id: contact.id })
  await createMessage(agent, ticket.id, { body: 'Water', send_email: false })
  await changed(one, ticket, { priority: 'urgent', assignee_id: agent.user_id })
  const { sql, organization_id } = one.scope
  await sql`
    update tickets set company_id = ${company.id} where organization_id = ${organization_id} and id = ${ticket.id}`
  await changed(one, ticket, { label_ids: [labels[1]!.id], status: 'resolved' })
  await createMessage(agent, ticket.id, { body: 'More', send_email: false })
  const groups = { priority: 'urgent', assignee_id: agent.user_id, company_id: company.id, label_ids: [labels[1]!.id] }
  expect(await factsOf(one)).toMatchObject([groups, groups, groups, groups])
  await expectSameWhenToldAgain(one)
})

test('facts have the policy that their ticket has now', async () => {
  const one = await createOrganization()
  const { agent, admin } = one
  const label = await createLabel(agent)
  const labelled = await createPolicy(admin, { filter: { label_ids: [label.id] } })
  const others = await createPolicy(admin)
  const ticket = await createTicket(agent, { priority: 'urgent', description: 'Fire' })
  const policiesOf = async () => [...new Set((await factsOf(one)).map(({ sla_policy_id }) => sla_policy_id))]
  expect(await policiesOf()).toEqual([others.id])
  await changed(one, ticket, { label_ids: [label.id] })
  await createMessage(agent, ticket.id, { body: 'Water', send_email: false })
  expect(await policiesOf()).toEqual([labelled.id])
  await expectSameWhenToldAgain(one)
})

test('a deleted label is in no report, and its tickets are under none', async () => {
  const one = await createOrganization()
  const { agent, admin } = one
  const label = await createLabel(agent, { name: 'a' })
  const other = await createLabel(agent, { name: 'b' })
  await createTicket(agent, { label_ids: [label.id] })
  await createTicket(agent, { label_ids: [label.id, other.id] })
  const today = new Date().toISOString().slice(0, 10)
  const read = async () => {
    const { data } = (await agent.get(`/reports/tickets?from=${today}&to=${today}&group_by=label`)).body
    return data.map(({ label, created, backlog }: Record<string, { name: string } | null>) => [
      label?.name ?? null,
      created,
      backlog,
    ])
  }
  expect(await read()).toEqual([
    ['a', 2, 2],
    ['b', 1, 1],
  ])
  expect((await admin.delete(`/labels/${label.id}`)).status).toBe(204)
  expect(await read()).toEqual([
    ['b', 1, 1],
    [null, 1, 1],
  ])
})

test('of merged tickets the replies count on the target; an undoing gives all of it back', async () => {
  const one = await createOrganization()
  const { agent } = one
  const contact = await createContact(agent)
  const [target, source] = [
    await createTicket(agent, { contact_id: contact.id }),
    await createTicket(agent, { contact_id: contact.id }),
  ]
  await createMessage(agent, source.id, { body: 'Water', send_email: false })
  await changed(one, source, { status: 'resolved' })
  expect((await agent.post(`/tickets/${target.id}/merge`, { source_ids: [source.id] })).status).toBe(200)
  expect(await kindsOf(one, target, source)).toEqual(['created, first reply', '(created), (resolved)'])
  await expectSameWhenToldAgain(one)
  expect((await agent.post(`/tickets/${source.id}/unmerge`)).status).toBe(200)
  expect(await kindsOf(one, target, source)).toEqual(['created', 'created, first reply, resolved'])
  await expectSameWhenToldAgain(one)
})

test('messages that are split off or deleted count where they are, and no reply is older than its ticket', async () => {
  const one = await createOrganization()
  const { agent } = one
  const ticket = await createTicket(agent, { contact_id: (await createContact(agent)).id, description: 'Fire' })
  const [first, second] = [
    await createMessage(agent, ticket.id, { body: 'Water', send_email: false }),
    await createMessage(agent, ticket.id, { body: 'More', send_email: false }),
  ]
  const split = (await agent.post(`/tickets/${ticket.id}/split`, { message_ids: [first.id] })).body.data
  expect(await kindsOf(one, ticket, split)).toEqual(['created, first reply', 'replied, created'])
  await createMessage(agent, split.id, { body: 'Again', send_email: false })
  expect(await kindsOf(one, split)).toEqual(['replied, created, first reply'])
  expect((await one.admin.delete(`/tickets/${ticket.id}/messages/${second.id}`)).status).toBe(204)
  expect(await kindsOf(one, ticket)).toEqual(['created'])
  await expectSameWhenToldAgain(one)
})

test('a deleted ticket counts no more, and a purge leaves nothing of it', async () => {
  const one = await createOrganization()
  const { agent, admin } = one
  const ticket = await createTicket(agent)
  expect((await admin.delete(`/tickets/${ticket.id}`)).status).toBe(204)
  expect(await kindsOf(one, ticket)).toEqual(['(created)'])
  const { sql, organization_id } = one.scope
  await sql`update tickets set deleted_at = now() - interval '1 hour' where organization_id = ${organization_id}`
  await purgeDeletedTickets(connection(), 0)
  expect(await kindsOf(one, ticket)).toEqual([''])
})

test('the newest rating counts, on its day', async () => {
  const one = await createOrganization()
  const { sql, organization_id } = one.scope
  const ticket = await createTicket(one.agent)
  for (const score of ['good', 'bad']) {
    await sql`
      update tickets set rating_score = ${score}, rated_at = '2026-01-02T10:00:00Z'
      where organization_id = ${organization_id} and id = ${ticket.id}`
  }
  expect(await kindsOf(one, ticket)).toEqual(['bad, created'])
  const [row] = (await one.agent.get('/reports/tickets?from=2026-01-02&to=2026-01-02')).body.data
  expect(row.ratings).toEqual({ good: 0, bad: 1 })
  await expectSameWhenToldAgain(one)
})

test('a ticket that the team began has no first reply, and automatic answers are none', async () => {
  const one = await createOrganization()
  const { sql, organization_id } = one.scope
  const ticket = await createTicket(one.agent)
  const write = (fields: object) =>
    sql`insert into messages ${sql({
      ...{ organization_id, id: Bun.randomUUIDv7(), ticket_id: ticket.id, body: 'x', body_html: 'x', format: 'text' },
      ...{ direction: 'outbound', sender_name: 'x', ...fields },
    })}`
  await write({ auto_reply: true })
  await write({ begins_ticket: true })
  await write({})
  expect(await kindsOf(one, ticket)).toEqual(['created, began, replied'])
  await expectSameWhenToldAgain(one)
})

test('a promise counts once it is kept or breached, at that moment, and not once it is void or gone', async () => {
  const one = await createOrganization()
  const { sql, organization_id } = one.scope
  const ticket = await createTicket(one.agent)
  const [kept, breached] = [newId(), newId()]
  const promise = (id: string, began_at: string) =>
    sql`insert into promises ${sql({
      ...{ organization_id, id, ticket_id: ticket.id, policy_id: newId(), metric: 'next_reply', minutes: 60, began_at },
    })}`
  await promise(kept, '2026-01-01T10:00:00Z')
  await promise(breached, '2026-01-02T10:00:00Z')
  const change = (id: string, fields: object) =>
    sql`update promises set ${sql(fields as Record<string, string>)} where organization_id = ${organization_id} and id = ${id}`
  expect(await kindsOf(one, ticket)).toEqual(['created'])
  await change(kept, { ended_at: '2026-01-01T10:30:00Z', outcome: 'kept' })
  await change(breached, { breached_at: '2026-01-02T11:00:00Z' })
  expect(await kindsOf(one, ticket)).toEqual(['kept, breached, created'])
  const read = async () => (await one.agent.get('/reports/tickets?from=2026-01-01&to=2026-01-02')).body.data
  expect((await read()).map(({ sla }: { sla: object }) => sla)).toEqual([
    { kept: 1, breached: 0 },
    { kept: 0, breached: 1 },
  ])
  await expectSameWhenToldAgain(one)
  await change(breached, { ended_at: '2026-01-03T11:00:00Z', outcome: 'breached' })
  expect(await kindsOf(one, ticket)).toEqual(['kept, breached, created'])
  await change(kept, { outcome: 'void' })
  expect(await kindsOf(one, ticket)).toEqual(['breached, created'])
  await expectSameWhenToldAgain(one)
  await sql`delete from promises where organization_id = ${organization_id} and id = ${breached}`
  expect(await kindsOf(one, ticket)).toEqual(['created'])
})
