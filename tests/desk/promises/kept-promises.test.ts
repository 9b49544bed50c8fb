/** Promises that writers keep, beside those that are computed from scratch; reviews that die; two at once. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { keepPromises } from '../../../src/desk/promises/keep'
import { finishDeeds } from '../../../src/operate/start/deed-works'
import { createOrganization, expectError, type Organization, startApi, stopApi } from '../../support/api'
import { createProgram } from '../../support/api-keys'
import { createCustomer } from '../../support/customers'
import { createMessage, createPolicy, createTicket } from '../../support/factories'

beforeAll(() => startApi(10))
afterAll(stopApi)

const targets = (minutes: number) => {
  return ['low', 'normal', 'high', 'urgent'].map((priority, at) => ({
    ...{ priority, first_reply_minutes: minutes, next_reply_minutes: minutes * 2, resolve_minutes: minutes * (at + 3) },
  }))
}

/** The promises that run on all tickets, and what is shown. */
async function running({ scope: { sql, organization_id } }: Organization) {
  const rows = await sql<{ id: string; metric: string | null; due: number | null; promises: object[] }[]>`
    select t.id, t.sla_metric as metric, round(extract(epoch from t.sla_due_at) / 5)::float8 as due, (
      select coalesce(json_agg(json_build_array(p.metric, round(extract(epoch from p.due_at) / 5)) order by p.metric), '[]')
      from promises p where p.organization_id = ${organization_id} and p.ticket_id = t.id and p.outcome is null
    ) as promises
    from tickets t where t.organization_id = ${organization_id} order by t.id`
  return rows.map(({ id, metric, due, promises }) => [id, metric, due, promises])
}

const KINDS = [
  'customer',
  'team',
  'open',
  'pending',
  'resolved',
  'closed',
  'merge',
  'unmerge',
  'split',
  'high',
  'low',
] as const
const act = fc.record({ kind: fc.constantFrom(...KINDS, 'policy' as const), minutes: fc.integer({ min: 1, max: 40 }) })

test('in any order of acts promises are as if they were computed from scratch', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 3, maxLength: 10 }), async (acts) => {
      const desk = await createOrganization()
      const { scope, id: organization_id } = desk
      const program = await createProgram(desk.admin, ['*:write'])
      const policy = await createPolicy(program, { targets: targets(30) })
      const carla = await createCustomer(desk.admin)
      const { id } = await createTicket(program, { description: 'Help', contact_id: carla.contact.id })
      const other = await createTicket(program, { description: 'More', contact_id: carla.contact.id })
      for (const { kind, minutes } of acts) {
        if (kind === 'customer') await carla.post(`/my/tickets/${id}/messages`, { body: 'Hello' })
        else if (kind === 'team') await program.post(`/tickets/${id}/messages`, { body: 'Hello', send_email: false })
        else if (kind === 'merge') await program.post(`/tickets/${id}/merge`, { source_ids: [other.id] })
        else if (kind === 'unmerge') await program.post(`/tickets/${other.id}/unmerge`)
        else if (kind === 'high' || kind === 'low') await program.patch(`/tickets/${id}`, { priority: kind })
        else if (kind === 'policy') {
          await program.patch(`/sla-policies/${policy.id}`, { targets: targets(minutes + 20) })
          await finished(desk)
        } else if (kind === 'split') {
          const { data } = (await program.get(`/tickets/${id}/messages`)).body
          await program.post(`/tickets/${id}/split`, { message_ids: [data[0]?.id ?? newId()] })
        } else await program.patch(`/tickets/${id}`, { status: kind })
      }
      const kept = await running(desk)
      const { sql } = scope
      await sql`delete from promises where organization_id = ${organization_id}`
      await sql`
        update tickets set sla_metric = null, sla_due_at = null, sla_soon_at = null
        where organization_id = ${organization_id}`
      await keepPromises(
        scope,
        kept.map(([id]) => id as string),
      )
      expect(await running(desk)).toEqual(kept)
    }),
    { numRuns: Number(process.env.PROMISE_RUNS ?? 6) },
  )
}, 120_000)

/** Waits for the end of the reviews of an organization. */
async function finished({ scope: { sql, organization_id } }: Organization): Promise<void> {
  const deeds = () => sql`select 1 from deeds where organization_id = ${organization_id}`
  while ((await deeds()).length > 0) await finishDeeds(connection())
}

test('a review whose process died is ended by another one', async () => {
  const desk = await createOrganization()
  const { admin, agent, scope, id: organization_id } = desk
  const { id } = await createTicket(agent)
  const policy = await createPolicy(admin, { targets: targets(30), active: false })
  await finished(desk)
  const { sql } = scope
  // As a process leaves it that dies behind its commit.
  await sql`update sla_policies set active = true where organization_id = ${organization_id} and id = ${policy.id}`
  await sql`
    insert into deeds (organization_id, id, kind, subject_id, actor_type, run_at)
    values (${organization_id}, ${newId()}, 'review promises', ${organization_id}, 'system', now())`
  await finished(desk)
  expect((await agent.get(`/tickets/${id}`)).body.data.sla).toMatchObject({
    policy: { id: policy.id },
    metric: 'first_reply',
  })
})

test('answers and changes at once leave one promise of each metric', async () => {
  const desk = await createOrganization()
  const { admin, agent, scope, id: organization_id } = desk
  const policy = await createPolicy(admin, { targets: targets(30) })
  const { id } = await createTicket(agent, { description: 'Help' })
  await Promise.all([
    ...Array.from({ length: 4 }, () => createMessage(agent, id)),
    ...['high', 'low', 'urgent'].map((priority) => agent.patch(`/tickets/${id}`, { priority })),
    ...[40, 50].map((minutes) => admin.patch(`/sla-policies/${policy.id}`, { targets: targets(minutes) })),
  ])
  await finished(desk)
  const rows = await scope.sql`
    select metric, outcome from promises where organization_id = ${organization_id} and ticket_id = ${id} order by metric`
  expect([...rows]).toEqual([
    { metric: 'first_reply', outcome: 'kept' },
    { metric: 'resolve', outcome: null },
  ])
})

test('an attack: policies of another organization promise nothing here', async () => {
  const [own, other] = [await createOrganization(), await createOrganization('Umbrella')]
  const policy = await createPolicy(other.admin, { targets: targets(30) })
  const ticket = await createTicket(own.agent, { description: 'Help' })
  expect(ticket.sla).toBeNull()
  expectError(
    await own.agent.patch(`/tickets/${ticket.id}`, { sla: { policy }, priority: 'asap' }),
    422,
    'INVALID_PRIORITY',
  )
  await keepPromises(other.scope, [ticket.id])
  expect((await own.agent.get(`/tickets/${ticket.id}`)).body.data.sla).toBeNull()
  expect((await own.agent.get('/tickets?sla=breached')).body.data).toEqual([])
})
