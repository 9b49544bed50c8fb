/**
 * The bare limits of HTTP: the same reads and commits with nothing around them, in a separate process. `/read` and
 * `/create` call the product's own work without a step of its pipeline.
 */
import postgres from 'postgres'
import { connectDatabase, connection, readingOf } from '../../src/base/db/pool'
import { type Scope, SYSTEM } from '../../src/base/scope'
import { useSecrets } from '../../src/base/secrets'
import { createTicket } from '../../src/desk/tickets/create-ticket'
import { listTickets } from '../../src/desk/tickets/list'
import type { NewTicket } from '../../src/desk/tickets/model'
import { getTicket } from '../../src/desk/tickets/queries'

/** As the pool of the service. */
const POOL = 10

/** Tables whose rows are read by key, with the column that is the key beside the organization. */
const KEYS: Record<string, string> = {
  tickets: 'id',
  contacts: 'id',
  companies: 'id',
  labels: 'id',
  time_entries: 'id',
  memberships: 'user_id',
}

const target = JSON.parse(process.env.BENCH_DATABASE!)
const sql = postgres({ ...target, max: POOL })
useSecrets('a secret key that only benchmarks use')
connectDatabase(target, POOL)

function scopeOf(organization_id: string): Scope {
  return { ...readingOf(organization_id), organization_id, actor: SYSTEM }
}

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  routes: {
    '/one/:organization_id/:id': async ({ params }) => {
      const [row] = await sql`
        select id, code, subject, status, priority, contact_id, company_id, assignee_id, created_at, updated_at
        from tickets where organization_id = ${params.organization_id} and id = ${params.id}`
      return Response.json({ data: row })
    },
    '/page/:organization_id': async ({ params }) => {
      const rows = await sql`
        with page as materialized (
          select organization_id, id from tickets
          where organization_id = ${params.organization_id} and deleted_at is null order by id desc limit 20
        )
        select t.id, t.code, t.subject, t.status, t.priority, t.created_at, t.updated_at, c.name, c.email
        from page join tickets t using (organization_id, id)
        join contacts c on c.organization_id = t.organization_id and c.id = t.contact_id
        order by t.id desc`
      return Response.json({ data: rows })
    },
    '/read/:organization_id': async ({ params }) =>
      Response.json(await listTickets(scopeOf(params.organization_id), {})),
    '/read/:organization_id/:id': async ({ params }) =>
      Response.json({ data: (await getTicket(scopeOf(params.organization_id), params.id)).ticket }),
    '/create/:organization_id': async (request) => {
      const scope: Scope = { ...connection(), organization_id: request.params.organization_id, actor: SYSTEM }
      return Response.json({ data: await createTicket(scope, (await request.json()) as NewTicket) })
    },
    // The keys are the body: an address would be too long for all companies of a summary.
    '/rows/:table/:organization_id': async (request) => {
      const { table, organization_id } = request.params
      const keys = (await request.text()).split(',')
      const rows = await sql`
        select * from ${sql(table)} where organization_id = ${organization_id} and ${sql(KEYS[table]!)} = any(${keys})`
      return Response.json({ data: rows })
    },
    '/commit': async () => {
      await sql`insert into bench_commits (id, text) values (gen_random_uuid(), 'A row that is inserted and committed.')`
      return Response.json({ data: null })
    },
  },
})
process.send?.({ port: server.port })
