/** Bare limits to compare the product with: the same work with nothing around it, in a separate process. */
import postgres from 'postgres'
import { SMTPServer } from 'smtp-server'

const { BENCH_DATABASE = '', BENCH_ORGANIZATION = '', BENCH_PORT = '0', BENCH_SMTP_PORT = '0' } = process.env
const sql = postgres(BENCH_DATABASE, { max: 10 })

Bun.serve({
  port: Number(BENCH_PORT),
  hostname: '127.0.0.1',
  routes: {
    '/row/:id': async (request) => {
      const [row] = await sql`
        select id, code, subject, status, priority, contact_id, company_id, assignee_id, created_at, updated_at
        from tickets where organization_id = ${BENCH_ORGANIZATION} and id = ${request.params.id}`
      return Response.json({ data: row })
    },
    '/list': async () => {
      const rows = await sql`
        with page as materialized (
          select organization_id, id from tickets
          where organization_id = ${BENCH_ORGANIZATION} and deleted_at is null order by id desc limit 20
        )
        select t.id, t.code, t.subject, t.status, t.priority, t.created_at, t.updated_at, c.name, c.email
        from page join tickets t using (organization_id, id)
        join contacts c on c.organization_id = t.organization_id and c.id = t.contact_id
        order by t.id desc`
      return Response.json({ data: rows })
    },
  },
})

new SMTPServer({
  authOptional: true,
  disabledCommands: ['AUTH', 'STARTTLS'],
  disableReverseLookup: true,
  logger: false,
  onData(stream, _session, callback) {
    stream.resume()
    stream.on('end', () => callback())
  },
}).listen(Number(BENCH_SMTP_PORT), '127.0.0.1')
