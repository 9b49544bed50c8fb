/** Exports of people with long texts: they leave in steps, so that others get their turn meanwhile. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { api, createOrganization, startApi, stopApi } from '../../support/api'
import { createContact, insertTicketOf } from '../../support/factories'

beforeAll(() => startApi())
afterAll(stopApi)

test('an export of 12 messages of 1 MB leaves in steps, between which another request is answered', async () => {
  const { admin, scope } = await createOrganization()
  const contact = await createContact(admin)
  const ticket = await insertTicketOf(scope, { contact_id: contact.id, subject: 'Long' })
  const ids = Array.from({ length: 12 }, () => newId())
  await scope.sql`
    insert into messages (organization_id, id, ticket_id, body, body_html, is_internal, direction, sender_name)
    select ${scope.organization_id}, id, ${ticket.id}, repeat('x', 1000000), '', true, null, 'Carla'
    from unnest(${ids}::uuid[]) as m (id)`
  const answer = await api().handle(
    new Request(`http://localhost/api/v1/contacts/${contact.id}/export`, {
      headers: { authorization: `Bearer ${admin.token}` },
    }),
  )
  expect(answer.status).toBe(200)
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader()
  let text = ''
  const decoder = new TextDecoder()
  const read = async () => {
    const { value, done } = await reader.read()
    text += decoder.decode(value, { stream: !done })
    return !done
  }
  while (!text.includes('x'.repeat(1000))) expect(await read()).toBe(true)
  // The one that is deleted now was not read yet.
  expect((await admin.delete(`/tickets/${ticket.id}/messages/${ids[11]}`)).status).toBe(204)
  while (await read());
  const { messages } = JSON.parse(text).data
  expect(messages.map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 11))
  expect(messages.every(({ body }: { body: string }) => body.length === 1_000_000)).toBe(true)
})
