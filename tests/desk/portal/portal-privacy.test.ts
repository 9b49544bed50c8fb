/** Export and erasure of what customers write, and how every message came. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connection } from '../../../src/base/db/pool'
import { createOrganization, expectError, startApi, stopApi } from '../../support/api'
import { createCustomer } from '../../support/customers'
import { createCompany, createMessage, createTicket, formOf, hearEvents } from '../../support/factories'
import { createMailbox, importMail, rawMail, readTicket } from '../../support/mail'
import { TENANT_TABLES } from '../../support/tenant-tables'

const MARK = 'unmistakable'

beforeAll(() => startApi())
afterAll(stopApi)

/** The tables of the organization that hold a text. */
async function holding(organization_id: string, text: string): Promise<string[]> {
  const { sql } = connection()
  const found: string[] = []
  for (const [table, column] of TENANT_TABLES) {
    const rows = await sql`
      select 1 from ${sql(table)} where ${sql(column)} = ${organization_id} and ${sql(table)}::text ilike ${`%${text}%`} limit 1`
    if (rows.length > 0) found.push(table)
  }
  return found
}

test('the erasure of a person leaves nothing of what it wrote at the portal, in any table', async () => {
  const { admin, scope } = await createOrganization()
  const { organization_id } = scope
  await hearEvents(scope)
  const company_id = (await createCompany(admin)).id
  const email = `${MARK}@customer.example`
  const carla = await createCustomer(admin, { name: MARK, email, company_id, scope: 'company' })
  const paul = await createCustomer(admin, { company_id })
  const of_paul = await createTicket(admin, { contact_id: paul.contact.id })
  const once = { 'idempotency-key': MARK }
  await carla.post('/my/tickets', { subject: MARK, body: MARK }, once)
  const upload = async () => (await carla.post('/my/attachments', formOf(MARK, `${MARK}.txt`), once)).body.data.id
  const attachment_ids = [await upload()]
  await carla.post(`/my/tickets/${of_paul.id}/messages`, { body: MARK, attachment_ids }, once)
  await carla.post('/my/attachments', formOf(MARK, `${MARK}-unused.txt`))
  await carla.post('/my/tickets', { subject: 'No one can know this', body: MARK })
  // A file that it uploaded as another contact, before they were merged.
  const former = await createCustomer(admin)
  await former.post('/my/attachments', formOf(MARK, `${MARK}-former.txt`), once)
  await admin.post(`/contacts/${carla.contact.id}/merge`, { source_ids: [former.contact.id] })
  const exported = (await admin.get(`/contacts/${carla.contact.id}/export`)).body.data
  const texts = exported.messages.map(({ body, channel }: { body: string; channel: string }) => [body, channel])
  expect(texts).toEqual([
    [MARK, 'portal'],
    [MARK, 'portal'],
    [MARK, 'portal'],
  ])
  expect(JSON.stringify(exported)).not.toContain(carla.token)
  expect(await holding(organization_id, MARK)).toEqual(
    expect.arrayContaining([
      'attachments',
      'contacts',
      'events',
      'idempotency_keys',
      'messages',
      'participants',
      'tickets',
    ]),
  )
  expect((await admin.post(`/contacts/${carla.contact.id}/erase`)).status).toBe(200)
  expect(await holding(organization_id, MARK)).toEqual([])
  expect(await holding(organization_id, 'dct_')).toEqual([])
  const { sql } = scope
  const tokens = await sql`
    select 1 from contact_tokens where organization_id = ${organization_id} and contact_id = ${carla.contact.id}`
  expect(tokens.length).toBe(0)
  expectError(await carla.post('/my/tickets', { subject: MARK, body: MARK }), 401, 'INVALID_TOKEN')
})

test('every message says how it came', async () => {
  const { admin } = await createOrganization()
  const carla = await createCustomer(admin, { email: 'carla@customer.example' })
  const { id } = (await carla.post('/my/tickets', { subject: 'x', body: 'x' })).body.data
  await createMessage(admin, id, { body: 'an answer', send_email: false })
  await createMessage(admin, id, { body: 'a note', is_internal: true })
  const { messages, code } = await readTicket(admin, id)
  expect(messages.map(({ channel }: { channel: string }) => channel)).toEqual(['portal', 'api', 'api'])
  const { id: mailbox_id, address } = await createMailbox(admin)
  const from = { from: 'Carla <carla@customer.example>', to: address }
  const row = await importMail(admin, mailbox_id, rawMail({ ...from, subject: `Re: x [${code}]` }))
  expect(row.ticket_id).toBe(id)
  expect((await readTicket(admin, id)).messages.at(-1)).toMatchObject({ channel: 'email', direction: 'inbound' })
  expect((await carla.get(`/my/tickets/${id}/messages`)).body.data.at(-1)).toMatchObject({
    mine: true,
    body_html: 'Hello',
  })
})

test('of a message from before there were channels it is told by what an email leaves', async () => {
  const { admin, scope } = await createOrganization()
  const { sql, organization_id } = scope
  const ticket = await createTicket(admin, { description: 'by the API' })
  const by_mail = await createMessage(admin, ticket.id, { body: 'by mail', send_email: false })
  await sql`
    update messages set channel = null,
      reply_text = case when id = ${by_mail.id} then 'by mail' end
    where organization_id = ${organization_id} and ticket_id = ${ticket.id}`
  const { messages } = await readTicket(admin, ticket.id)
  expect(messages.map(({ channel }: { channel: string }) => channel)).toEqual(['api', 'email'])
})
