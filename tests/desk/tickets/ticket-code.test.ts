import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import path from 'node:path'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { takeNumbers } from '../../../src/desk/tickets/code'
import { createOrganization, startApi, stopApi } from '../../support/api'
import { TEMPLATE_URL } from '../../support/database'
import { createCompany, createContact, createTicket } from '../../support/factories'
import { withDatabase } from '../../support/on-server'

beforeAll(() => startApi())
afterAll(stopApi)

describe('codes', () => {
  test("the prefix is the company's, else the organization's, and one counter serves all", async () => {
    const { agent, admin } = await createOrganization()
    const acme = await createCompany(agent, { ticket_prefix: 'ACME' })
    const plain = await createCompany(agent)
    const codes = []
    codes.push((await createTicket(agent)).code)
    for (const company_id of [acme.id, plain.id, acme.id]) {
      const contact = await createContact(agent, { company_id })
      codes.push((await createTicket(agent, { contact_id: contact.id })).code)
    }
    expect((await admin.patch('/organization', { ticket_prefix: 'HELP' })).status).toBe(200)
    codes.push((await createTicket(agent)).code)
    expect(codes).toEqual(['TKT-1', 'ACME-2', 'TKT-3', 'ACME-4', 'HELP-5'])
  })

  test('a code never changes', async () => {
    const { agent } = await createOrganization()
    const company = await createCompany(agent, { ticket_prefix: 'ACME' })
    const contact = await createContact(agent, { company_id: company.id })
    const ticket = await createTicket(agent, { contact_id: contact.id })
    await agent.patch(`/companies/${company.id}`, { ticket_prefix: 'NEW' })
    await agent.patch(`/tickets/${ticket.id}`, { subject: 'New' })
    expect((await agent.get(`/tickets/${ticket.id}`)).body.data.code).toBe('ACME-1')
  })

  test('a refused request uses up no number', async () => {
    const { agent } = await createOrganization()
    await agent.post('/tickets', { subject: 'x', contact_id: newId() })
    expect((await createTicket(agent)).code).toBe('TKT-1')
  })

  test('each organization counts by itself', async () => {
    const [one, other] = [await createOrganization(), await createOrganization()]
    await createTicket(one.agent)
    expect((await createTicket(other.agent)).code).toBe('TKT-1')
  })

  test('tickets made at the same time have the numbers without gap or repetition', async () => {
    const { agent } = await createOrganization()
    const contact = await createContact(agent)
    const tickets = await Promise.all(
      Array.from({ length: 40 }, () => createTicket(agent, { contact_id: contact.id, description: 'burns' })),
    )
    const numbers = tickets.map(({ code }) => Number(code.slice(4))).sort((a, b) => a - b)
    expect(numbers).toEqual(range(1, 40))
  })
})

const takeNumber = (organization_id: string) => takeNumbers(organization_id, 1)

describe('numbers', () => {
  test('tickets that are written together get theirs together, and those of others are apart', async () => {
    const [one, other] = [await createOrganization(), await createOrganization()]
    const wanted = [one, other, one, one, other].map(({ id }, index) => takeNumbers(id, index + 1))
    expect(await Promise.all(wanted)).toEqual([1, 1, 2, 5, 3])
    expect(await takeNumber(one.id)).toBe(9)
  })

  test('an organization without a counter gets one', async () => {
    const { id, scope } = await createOrganization()
    await scope.sql`delete from ticket_counters where organization_id = ${id}`
    expect(await Promise.all([takeNumber(id), takeNumber(id)])).toEqual([1, 2])
    expect(await takeNumber(id)).toBe(3)
  })

  test('whom the database refuses is told, and the next one is served', async () => {
    const { id } = await createOrganization()
    expect(takeNumber(newId())).rejects.toThrow()
    expect(await takeNumber(id)).toBe(1)
  })

  test('several processes never give the same number twice, and leave no gap', async () => {
    const organizations = [await createOrganization(), await createOrganization()]
    const ids = organizations.map(({ id }) => id)
    const [database] = await connection().sql<{ name: string }[]>`select current_database() as name`
    const DATABASE_URL = withDatabase(process.env[TEMPLATE_URL]!, database!.name)
    const processes = range(1, 3).map(() =>
      Bun.spawn([process.execPath, path.join(import.meta.dir, '../../support/number-process.ts'), ...ids], {
        env: { ...process.env, DATABASE_URL, SECRET_KEY: 'a secret key that only tests use' },
        stdout: 'pipe',
        stderr: 'inherit',
      }),
    )
    const outputs = await Promise.all(processes.map(({ stdout }) => new Response(stdout).json()))
    for (const id of ids) {
      const taken: number[] = outputs.flatMap((output) => output[id])
      expect(taken.sort((a, b) => a - b)).toEqual(range(1, 600))
    }
  })
})

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
}
