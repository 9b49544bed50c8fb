/** A database that is filled at once: its plans must not be those of an empty one. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connection } from '../../src/db/pool'
import { analyzeNewTables } from '../../src/db/statistics'
import { createOrganization, startApi, stopApi } from '../support/api'

beforeAll(() => startApi())
afterAll(stopApi)

test('tables that were filled get statistics, once, and foreign keys are checked by the primary key', async () => {
  const { sql } = connection()
  const { id } = await createOrganization()
  expect(await indexOfCheck(id)).toBe('tickets_number')
  await sql`
    insert into contacts (organization_id, id, name, email, email_key, search)
    select ${id}, gen_random_uuid(), 'C', n || '@customer.example', n || '@customer.example', '' from generate_series(1, 500) n`
  await sql`
    insert into tickets (organization_id, id, number, code, subject, contact_id)
    select organization_id, gen_random_uuid(), row_number() over (), 'T-' || row_number() over (), 'A ticket', id
    from contacts where organization_id = ${id}`
  const analyzed = await analyzeNewTables(connection())
  expect(analyzed).toContain('tickets')
  expect(analyzed).toContain('contacts')
  expect(analyzed).not.toContain('companies')
  expect(await indexOfCheck(id)).toBe('tickets_organization_id_id_pk')
  expect(await analyzeNewTables(connection())).not.toContain('tickets')
})

/** The plan of a lookup by a foreign key to a ticket. */
async function indexOfCheck(organization_id: string): Promise<string | undefined> {
  const { sql } = connection()
  const rows = await sql.unsafe<{ 'QUERY PLAN': string }[]>(
    `explain select 1 from only tickets x
     where organization_id = '${organization_id}' and id = '${organization_id}' for key share of x`,
  )
  return rows.map((row) => /using (\w+)/.exec(row['QUERY PLAN'])?.[1]).find((name) => name !== undefined)
}
