/** Deeds on contacts and companies of any size: short transactions, an end whatever happens, and no other writer. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { inTransaction } from '../../../src/base/scope'
import { beginDeed, STEP } from '../../../src/desk/deeds/deeds'
import { finishDeeds } from '../../../src/operate/start/deed-works'
import { type Answer, createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import { createCompany, createContact, hearEvents, writtenEvents } from '../../support/factories'
import { interrupted, MANY, manyTickets, mostAtOnce, ticketsOf } from '../../support/in-steps'
import { someoneWaits } from '../../support/lock-waits'

beforeAll(() => startApi())
afterAll(stopApi)

type Case = {
  act: (own: Organization, contact: string, other: string) => Promise<{ status: number }>
  path: (contact: string, other: string) => string
}

const DEEDS: Record<string, Case> = {
  merge: {
    act: ({ agent }, contact, other) => agent.post(`/contacts/${other}/merge`, { source_ids: [contact] }),
    path: (contact) => `contact_id=${contact}`,
  },
  erase: {
    act: ({ admin }, contact) => admin.post(`/contacts/${contact}/erase`),
    path: (contact) => `contact_id=${contact}`,
  },
  delete: {
    act: ({ agent }, contact) => agent.delete(`/contacts/${contact}`),
    path: (contact) => `contact_id=${contact}`,
  },
}

test.each(Object.keys(DEEDS))('%s of a contact with thousands of tickets goes in short transactions', async (name) => {
  const own = await createOrganization()
  const [contact, other] = [await createContact(own.agent), await createContact(own.agent)]
  await manyTickets(own, contact.id)
  expect((await DEEDS[name]!.act(own, contact.id, other.id)).status).toBeLessThan(300)
  expect((await own.agent.get(`/contacts/${contact.id}`)).status).toBe(404)
  expect(await mostAtOnce(own)).toBeLessThanOrEqual(STEP)
  const { sql, organization_id } = own.scope
  expect(await sql`select from deeds where organization_id = ${organization_id}`).toHaveLength(0)
  if (name === 'merge') expect(await ticketsOf(own, 'contact_id', other.id)).toBe(MANY)
})

test.each(Object.keys(DEEDS))(
  '%s that died on the way ends by itself, and meanwhile nobody else writes to the contact',
  async (name) => {
    const own = await createOrganization()
    const { admin, agent, scope } = own
    const [contact, other] = [await createContact(agent), await createContact(agent)]
    await manyTickets(own, contact.id)
    await hearEvents(scope)
    await interrupted('delete on contacts', () => DEEDS[name]!.act(own, contact.id, other.id))
    const { sql, organization_id } = scope
    expect(await sql`select from deeds where organization_id = ${organization_id}`).toHaveLength(1)
    expect((await writtenEvents(scope)).filter(({ event }) => event.startsWith('contact.'))).toEqual([])
    // Another process has it.
    await sql`update deeds set run_at = now() + interval '1 hour' where organization_id = ${organization_id}`
    const before = (await agent.get(`/contacts/${contact.id}`)).body
    for (const answer of [
      await agent.post(`/contacts/${other.id}/merge`, { source_ids: [contact.id] }),
      await admin.post(`/contacts/${contact.id}/erase`),
      await agent.delete(`/contacts/${contact.id}`),
      await agent.patch(`/contacts/${contact.id}`, { name: 'New' }),
      await admin.post(`/contacts/${contact.id}/tokens`),
    ]) {
      expect([answer.status, answer.body.error.code]).toEqual([503, 'SERVICE_UNAVAILABLE'])
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    expect((await agent.get(`/contacts/${contact.id}`)).body).toEqual(before)
    const action = { merge: 'contact.merged', erase: 'contact.erased' }[name]
    const entries = (await admin.get(`/audit-log?action=${action ?? 'none'}`)).body.data
    if (action) expect(entries).toHaveLength(1)

    await sql`update deeds set run_at = now() - interval '1 second' where organization_id = ${organization_id}`
    await finishDeeds(connection())
    expect((await agent.get(`/contacts/${contact.id}`)).status).toBe(404)
    expect(await sql`select from deeds where organization_id = ${organization_id}`).toHaveLength(0)
    if (name === 'merge') expect(await ticketsOf(own, 'contact_id', other.id)).toBe(MANY)
    const events = (await writtenEvents(scope)).filter(({ event }) => event.startsWith('contact.'))
    expect(events.map(({ event }) => event)).toEqual(
      name === 'merge' ? ['contact.updated', 'contact.deleted'] : ['contact.deleted'],
    )
    expect((await agent.patch(`/contacts/${other.id}`, { name: 'Free' })).status).toBe(200)
  },
)

test('erase beside merge of one contact: one of them is done wholly, the other changes nothing', async () => {
  const own = await createOrganization()
  const [contact, other] = [await createContact(own.agent), await createContact(own.agent)]
  await manyTickets(own, contact.id)
  const [merged, erased] = await Promise.all([
    DEEDS.merge!.act(own, contact.id, other.id),
    DEEDS.erase!.act(own, contact.id, other.id),
  ])
  expect([merged.status, erased.status].filter((status) => status === 200)).toHaveLength(1)
  const actions = (await own.admin.get('/audit-log?per_page=100')).body.data.map(
    ({ action }: { action: string }) => action,
  )
  expect([actions.includes('contact.merged'), actions.includes('contact.erased')]).toEqual([
    merged.status === 200,
    erased.status === 200,
  ])
  const { sql, organization_id } = own.scope
  const [row] = await sql<{ n: number }[]>`
    select count(*)::int as n from tickets where organization_id = ${organization_id} and erased_at is not null`
  expect(row!.n).toBe(erased.status === 200 ? MANY : 0)
})

test('no token of a customer is made beside the beginning of an erasure', async () => {
  const { admin, agent, scope } = await createOrganization()
  const contact = await createContact(agent)
  let asked: Promise<Answer> | undefined
  await inTransaction(scope, async (inner) => {
    await beginDeed(inner, { kind: 'erase contact', subject_id: contact.id, source_ids: [] }, [contact.id])
    asked = admin.post(`/contacts/${contact.id}/tokens`)
    await Promise.race([someoneWaits(), asked])
  })
  expect((await asked)!.status).toBe(503)
})

test('a company goes to thousands of tickets, and from them, in short transactions', async () => {
  const own = await createOrganization()
  const { agent } = own
  const domain = `${newId()}.example`
  const contact = await createContact(agent, { email: `a@${domain}` })
  await manyTickets(own, contact.id)
  const company = await createCompany(agent, { domains: [domain] })
  expect((await agent.post(`/companies/${company.id}/link-contacts`)).body.data).toEqual({ linked: 1 })
  expect(await ticketsOf(own, 'company_id', company.id)).toBe(MANY)
  expect(await mostAtOnce(own)).toBeLessThanOrEqual(STEP)
  expect((await agent.delete(`/companies/${company.id}`)).status).toBe(204)
  expect(await mostAtOnce(own)).toBeLessThanOrEqual(STEP)
  expect((await agent.get(`/companies/${company.id}`)).status).toBe(404)
  const { sql, organization_id } = own.scope
  expect(
    await sql`select 1 from tickets where organization_id = ${organization_id} and company_id is not null`,
  ).toHaveLength(0)
})
