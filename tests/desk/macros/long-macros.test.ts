/** Lists of long macros: they leave in steps, so that others get their turn meanwhile. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { api, createOrganization, startApi, stopApi } from '../../support/api'

beforeAll(() => startApi())
afterAll(stopApi)

test('a list of 30 macros of 1 MB leaves in steps, between which another request is answered', async () => {
  const { admin, agent, scope } = await createOrganization()
  await scope.sql`
    insert into macros (organization_id, id, name, body, is_internal, changes)
    select ${scope.organization_id}, gen_random_uuid(), 'Long ' || lpad(i::text, 2, '0'), repeat('x', 1000000), false,
      '{"status": "open"}'
    from generate_series(1, 30) i`
  const [last] = await scope.sql<{ id: string }[]>`
    select id from macros where organization_id = ${scope.organization_id} order by name desc limit 1`
  const answer = await api().handle(
    new Request('http://localhost/api/v1/macros?per_page=100', { headers: { authorization: `Bearer ${agent.token}` } }),
  )
  expect(answer.status).toBe(200)
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader()
  const chunks = [(await reader.read()).value!]
  // The one that is deleted now was not read yet.
  expect((await admin.delete(`/macros/${last!.id}`)).status).toBe(204)
  for (let next = await reader.read(); !next.done; next = await reader.read()) chunks.push(next.value)
  const { data, meta } = JSON.parse(Buffer.concat(chunks).toString())
  expect(data.map(({ name }: { name: string }) => name)).toEqual(
    Array.from({ length: 29 }, (_, n) => `Long ${String(n + 1).padStart(2, '0')}`),
  )
  expect(data.every(({ body }: { body: string }) => body.length === 1_000_000)).toBe(true)
  expect(meta.total).toBe(30)
})
