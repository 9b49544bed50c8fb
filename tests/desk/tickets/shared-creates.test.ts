/** Tickets that are created at the same time share statements, and nothing else. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { closeDatabase, connectDatabase, connection, jobConnection } from '../../../src/base/db/pool'
import { transact } from '../../../src/base/db/transact'
import { type Client, createOrganization, type Organization, stopApi } from '../../support/api'
import { untilBlocked } from '../../support/drain-processes'
import { createContact } from '../../support/factories'
import { type StatementCounter, startCountedApi } from '../../support/statement-counter'
import { changeSchema } from '../../support/triggers'
import { createWebhook } from '../../support/webhooks'

let counter: StatementCounter

beforeAll(async () => {
  counter = await startCountedApi(5)
})
afterAll(async () => {
  await stopApi()
  counter.stop()
})

function post(client: Client, contact: { id: string }, fields: Record<string, unknown> = {}) {
  return client.post('/tickets', { subject: 'Help', description: 'It burns', contact_id: contact.id, ...fields })
}

const times = <T>(count: number, work: (index: number) => T) => Array.from({ length: count }, (_, index) => work(index))

test('fifty requests at once need few statements, and get a ticket each', async () => {
  const { agent } = await createOrganization()
  const contact = await createContact(agent)
  await post(agent, contact)

  const answers: Awaited<ReturnType<typeof post>>[] = []
  const { statements } = await counter.during(async () => {
    answers.push(...(await Promise.all(times(50, (index) => post(agent, contact, { subject: `Help ${index}` })))))
  })

  expect(answers.map(({ status }) => status)).toEqual(times(50, () => 201))
  expect(answers.map(({ body }) => body.data.subject)).toEqual(times(50, (index) => `Help ${index}`))
  expect(new Set(answers.map(({ body }) => body.data.code)).size).toBe(50)
  expect(statements.length).toBeLessThan(50)
  for (const { body } of answers.slice(0, 3)) {
    const { messages, ...ticket } = (await agent.get(`/tickets/${body.data.id}`)).body.data
    expect(ticket).toMatchObject(body.data)
    expect(messages).toMatchObject([{ body: 'It burns' }])
  }
})

test('organizations that create at the same time get their own tickets, labels and events', async () => {
  const desks = await Promise.all(times(3, (index) => deskWithWebhook(`Desk ${index}`)))

  const answers = await Promise.all(
    times(12, (index) => {
      const { agent, contact, label } = desks[index % 3]!
      return post(agent, contact, { label_ids: [label.id], assignee_id: agent.user_id })
    }),
  )

  expect(answers.map(({ status }) => status)).toEqual(times(12, () => 201))
  const { sql } = connection()
  for (const { id, agent, contact, label } of desks) {
    const tickets = (await agent.get('/tickets')).body.data
    expect(tickets).toHaveLength(4)
    for (const ticket of tickets) {
      expect(ticket).toMatchObject({ contact: { id: contact.id }, labels: [{ id: label.id }] })
      expect(ticket.assignee.id).toBe(agent.user_id)
    }
    const events = await sql<{ type: string; organization_id: string; ticket_id: string }[]>`
      select type, body::json->>'organization_id' as organization_id,
        coalesce(body::json->'data'->'ticket'->>'id', body::json->'data'->>'id') as ticket_id
      from events e where organization_id = ${id} and exists (
        select 1 from deliveries d where d.organization_id = ${id} and d.event_id = e.id
      )`
    expect(new Set(events.map((event) => event.organization_id))).toEqual(new Set([id]))
    expect(events.map(({ type, ticket_id }) => `${type} ${ticket_id}`).sort()).toEqual(
      tickets
        .flatMap((ticket: { id: string }) => [`ticket.created ${ticket.id}`, `message.created ${ticket.id}`])
        .sort(),
    )
  }
})

test('no transaction holds tickets of two organizations', async () => {
  const organizations = await Promise.all(times(12, () => createOrganization()))
  const contacts = await Promise.all(organizations.map(({ agent }) => createContact(agent)))
  const create = () => Promise.all(organizations.map(({ agent }, index) => post(agent, contacts[index]!)))
  await create()

  let answers: Awaited<ReturnType<typeof create>> = []
  const { statements } = await counter.during(async () => {
    answers = await create()
  })

  expect(answers.map(({ body }) => body.data.code)).toEqual(times(12, () => 'TKT-2'))
  expect(statements.filter((text) => text.startsWith('insert into "tickets"'))).toHaveLength(12)
})

test('a request that names nothing known takes no number, and no other request with it', async () => {
  const { agent } = await createOrganization()
  const contact = await createContact(agent)

  const answers = await Promise.all(
    times(9, (index) => (index % 3 === 1 ? post(agent, { id: newId() }) : post(agent, contact))),
  )

  expect(answers.map(({ status }) => status)).toEqual(times(9, (index) => (index % 3 === 1 ? 422 : 201)))
  const codes = answers.flatMap(({ status, body }) => (status === 201 ? body.data.code : []))
  expect(codes.sort()).toEqual(times(6, (index) => `TKT-${index + 1}`))
})

test('a contact that is locked holds up its own tickets only', async () => {
  const { agent, id } = await createOrganization()
  const [locked, free] = [await createContact(agent), await createContact(agent)]
  await using lock = await holdRow(id, 'contacts', locked.id)

  const held = times(2, () => post(agent, locked))
  const others = await Promise.all(times(10, () => post(agent, free)))
  await lock.release()

  expect(others.map(({ status }) => status)).toEqual(times(10, () => 201))
  expect((await Promise.all(held)).map(({ status }) => status)).toEqual([201, 201])
})

test('a label that is being deleted holds up its own tickets only', async () => {
  const { agent, contact, label, id } = await deskWithWebhook('Desk')
  const other = await createOrganization()
  const free = await createContact(other.agent)
  await using lock = await holdRow(id, 'labels', label.id)

  const held: ReturnType<typeof post>[] = []
  for (let count = 0; count < 6; count++) {
    held.push(post(agent, contact, { label_ids: [label.id] }))
    await Bun.sleep(30)
  }
  const others = await Promise.all(times(10, () => post(other.agent, free)))
  await lock.release()

  expect(others.map(({ status }) => status)).toEqual(times(10, () => 201))
  expect((await Promise.all(held)).map(({ status }) => status)).toEqual(times(6, () => 201))
})

test('a label that was deleted while its tickets waited is LABEL_NOT_FOUND for each of them', async () => {
  const { agent, contact, label, id } = await deskWithWebhook('Desk')
  await using lock = await holdRow(id, 'labels', label.id)

  const held = times(5, () => post(agent, contact, { label_ids: [label.id] }))
  await untilBlocked(jobConnection(), 'insert into "ticket_labels"')
  await lock.release((sql) => sql`delete from labels where organization_id = ${id} and id = ${label.id}`)

  const answers = await Promise.all(held)
  expect(answers.map(({ status, body }) => [status, body.error.code])).toEqual(times(5, () => [422, 'LABEL_NOT_FOUND']))
})

test('a ticket whose answer cannot be read takes no other with it', async () => {
  const { agent, id } = await createOrganization()
  const [contact, moving] = [await createContact(agent), await createContact(agent)]
  const company = (await agent.post('/companies', { name: 'Acme' })).body.data
  await using lock = await holdRow(id, 'contacts', moving.id)
  // One ticket gets a company that its request does not know, so its answer is read; that fails without this table.
  await changeSchema('alter table ticket_labels rename to away')
  try {
    const held = post(agent, moving)
    const others = await Promise.all(times(9, () => post(agent, contact)))
    expect(others.map(({ status }) => status)).toEqual(times(9, () => 201))
    await untilBlocked(jobConnection(), 'for share')
    await lock.release(
      (sql) => sql`
      update contacts set company_id = ${company.id} where organization_id = ${id} and id = ${moving.id}`,
    )
    expect((await held).status).toBe(500)
  } finally {
    await changeSchema('alter table away rename to ticket_labels')
  }
  expect((await agent.get('/tickets')).body.meta.total).toBe(9)
})

test('a ticket that cannot be written takes no other with it', async () => {
  const { agent } = await createOrganization()
  const contact = await createContact(agent)
  await refuseSubject('Poison')

  const answers = await Promise.all(
    times(10, (index) => post(agent, contact, { subject: index === 7 ? 'Poison' : 'Help' })),
  )

  expect(answers.map(({ status }) => status)).toEqual(times(10, (index) => (index === 7 ? 500 : 201)))
  const { data, meta } = (await agent.get('/tickets')).body
  expect(meta.total).toBe(9)
  // Tickets that were tried again alone have the numbers that they had taken.
  for (const { code } of data) expect(Number(code.split('-')[1])).toBeLessThanOrEqual(10)
})

test('no other request is sent behind a ticket that waits for its contact', async () => {
  const { agent, id } = await createOrganization()
  const [locked, free] = [await createContact(agent), await createContact(agent)]
  await closeDatabase()
  connectDatabase(counter.url, 10)
  // A long ticket is written by the statement that waits. The driver sends others behind it once it is prepared.
  await Promise.all(times(12, () => post(agent, free, { description: 'x'.repeat(20_001) })))
  await using lock = await holdRow(id, 'contacts', locked.id)

  const held = post(agent, locked)
  await untilBlocked(jobConnection(), 'select id, company_id, deed_id from contacts')
  const reads = await Promise.all(times(20, () => agent.get('/labels')))
  await lock.release()

  expect(reads.map(({ status }) => status)).toEqual(times(20, () => 200))
  expect((await held).status).toBe(201)
})

async function deskWithWebhook(name: string) {
  const organization: Organization = await createOrganization(name)
  const { admin, agent } = organization
  await createWebhook(admin, { events: ['ticket.created', 'message.created'] })
  const label = (await admin.post('/labels', { name, color: '#EF4444' })).body.data
  return { ...organization, label, contact: await createContact(agent) }
}

type Inner = ReturnType<typeof connection>['sql']

/** Locks a row like a request that deletes it, until it is released or the test ends. */
async function holdRow(organization_id: string, table: string, id: string) {
  const [locked, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let work: (sql: Inner) => Promise<unknown> = async () => {}
  const holder = transact(connection(), async ({ sql }) => {
    await sql`select from ${sql(table)} where organization_id = ${organization_id} and id = ${id} for update`
    locked.resolve()
    await end.promise
    await work(sql)
  })
  const release = async (last = work) => {
    work = last
    end.resolve()
    await holder
  }
  await locked.promise
  return { release, [Symbol.asyncDispose]: () => release() }
}

/** Makes the database refuse every statement that writes a ticket with a subject. */
async function refuseSubject(subject: string): Promise<void> {
  await connection().sql.unsafe(`
    alter table tickets add constraint tickets_refused check (subject <> '${subject}') not valid`)
}
