/** The reading and writing of customers by their tokens. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createOrganization, expectError, startApi, stopApi } from '../../support/api'
import { createCustomer, tokenOf } from '../../support/customers'
import {
  activityOf,
  createCompany,
  createContact,
  createLabel,
  createMessage,
  createTicket,
  formOf,
  hearEvents,
  insertMailbox,
  joinTicket,
  logTime,
  uploadFile,
  writtenEvents,
} from '../../support/factories'
import { fingerprint } from '../../support/world'

beforeAll(() => startApi())
afterAll(stopApi)

const NOBODY = '01890000-0000-7000-8000-000000000000'
const INSTANT = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)

test('a customer opens a ticket, which is shown to the team as one that came by mail, from a verified sender', async () => {
  const { admin, scope } = await createOrganization()
  const { sql, organization_id } = scope
  const carla = await createCustomer(admin)
  await insertMailbox(scope)
  await hearEvents(scope)
  const upload = await carla.post('/my/attachments', formOf('a picture', 'fire.png', 'image/png'))
  const file = { id: expect.any(String), filename: 'fire.png', content_type: 'image/png', size: 9 }
  expect([upload.status, upload.body.data]).toEqual([201, { ...file, url: expect.stringContaining('signature=') }])
  const attachment_ids = [upload.body.data.id]
  const opened = await carla.post('/my/tickets', { subject: ' Fire ', body: 'It <b>burns</b>', attachment_ids })
  expect([opened.status, opened.body]).toEqual([
    201,
    {
      data: {
        id: expect.any(String),
        code: 'TKT-1',
        subject: 'Fire',
        status: 'open',
        contact: { name: 'Carla Contact' },
        created_at: INSTANT,
        updated_at: INSTANT,
      },
    },
  ])
  const { id } = opened.body.data
  const ticket = (await admin.get(`/tickets/${id}`)).body.data
  expect(ticket.contact).toEqual({ id: carla.contact.id, name: 'Carla Contact', email: carla.contact.email })
  expect(ticket.messages).toMatchObject([
    {
      body: 'It <b>burns</b>',
      direction: 'inbound',
      channel: 'portal',
      sender: { name: 'Carla Contact', email: carla.contact.email },
      sender_verified: true,
      email_status: 'none',
      attachments: [{ filename: 'fire.png' }],
    },
  ])
  const events = await writtenEvents(scope)
  expect(events.map(({ event }) => event)).toEqual(['ticket.created', 'message.created'])
  expect(events[1].data).toMatchObject({ channel: 'portal', ticket: { id } })
  const { data: timeline } = (await admin.get(`/tickets/${id}/activity`)).body
  const actor = { type: 'contact', id: carla.contact.id, name: 'Carla Contact' }
  expect(timeline.map(({ type, actor }: { type: string; actor: object }) => [type, actor])).toEqual([
    ['created', actor],
    ['message', actor],
  ])
  const work = await sql`select kind from outbox where organization_id = ${organization_id} and kind = 'email'`
  expect(work.length).toBe(0)
  expect((await admin.get('/tickets?search=burns')).body.data).toMatchObject([{ id }])
  expect((await carla.get(`/my/tickets/${id}`)).body.data).toEqual({ ...opened.body.data, rating: null })
  expect((await carla.get('/my/tickets')).body).toEqual({
    data: [opened.body.data],
    meta: { total: 1, page: 1, per_page: 20, next_cursor: null },
  })
})

test('a customer sees the fields of the closed list, and no word that the team keeps for itself', async () => {
  const { admin, agent, scope } = await createOrganization()
  const company = await createCompany(admin, { name: 'secret-company', notes: 'secret-notes' })
  const contact = await createContact(admin, { company_id: company.id, phone: 'secret-phone', notes: 'secret-notes' })
  const label = await createLabel(admin, { name: 'secret-label' })
  const ticket = await createTicket(agent, {
    contact_id: contact.id,
    description: 'words of the customer',
    label_ids: [label.id],
    assignee_id: agent.user_id,
  })
  const used = await uploadFile(agent, 'secret-bytes', 'secret-file.txt')
  await createMessage(agent, ticket.id, { body: 'secret-note', is_internal: true, attachment_ids: [used.id] })
  const shown = await uploadFile(agent, 'for all', 'shown.txt')
  const answer = { body: 'words of the team', cc: ['secret-cc@other.example'], attachment_ids: [shown.id] }
  await createMessage(agent, ticket.id, { ...answer, send_email: false })
  await logTime(agent, ticket.id, { description: 'secret-time' })
  await joinTicket(scope, ticket.id, [{ name: 'secret-person', email: 'secret-person@other.example' }], 'confirmed')
  const carla = await tokenOf(admin, contact)
  const { id, code } = ticket
  const listed = await carla.get('/my/tickets')
  expect(listed.body.data).toEqual([
    {
      ...{ id, code, subject: 'Printer on fire', status: 'open', contact: { name: 'Carla Contact' } },
      ...{ created_at: INSTANT, updated_at: INSTANT },
    },
  ])
  const single = await carla.get(`/my/tickets/${id}`)
  expect(single.body.data).toEqual({ ...listed.body.data[0], rating: null })
  const messages = await carla.get(`/my/tickets/${id}/messages`)
  const common = { id: expect.any(String), created_at: INSTANT }
  const file = { id: shown.id, filename: 'shown.txt', content_type: 'text/plain', size: 7 }
  expect(messages.body).toEqual({
    data: [
      {
        ...common,
        ...{ body_html: 'words of the customer', direction: 'inbound', mine: true },
        ...{ sender: { name: 'Carla Contact' }, attachments: [] },
      },
      {
        ...common,
        ...{ body_html: 'words of the team', direction: 'outbound', mine: false },
        ...{ sender: { name: 'Alan Agent' }, attachments: [{ ...file, url: expect.any(String) }] },
      },
    ],
    meta: { total: 2, page: 1, per_page: 20, next_cursor: null },
  })
  const said = [listed, single, messages].map(({ text }) => text).join()
  for (const secret of ['secret', '@', agent.user_id, company.id]) expect(said).not.toContain(secret)
})

test('of a name that is an address, or has one, a customer sees what is before the @', async () => {
  const { admin } = await createOrganization()
  const company_id = (await createCompany(admin)).id
  const boss = await createCustomer(admin, { company_id, scope: 'company' })
  for (const [name, shown] of [
    ['paul@other.example', 'paul'],
    ['Paul <paul@other.example>', 'Paul <paul>'],
    ['Paul @ Other, @paul', 'Paul @ Other, @paul'],
  ]) {
    const paul = await createContact(admin, { name, company_id })
    const { id } = await createTicket(admin, { contact_id: paul.id, description: 'x' })
    const ticket = { id, contact: { name: shown } }
    expect((await boss.get('/my/tickets')).body.data[0]).toMatchObject(ticket)
    expect((await boss.get(`/my/tickets/${id}`)).body.data).toMatchObject(ticket)
    expect((await boss.get(`/my/tickets/${id}/messages`)).body.data).toMatchObject([{ sender: { name: shown } }])
  }
})

test('messages of strangers, and of who forged an address, are not shown; of a confirmed participant they are', async () => {
  const { admin, scope } = await createOrganization()
  const { sql, organization_id } = scope
  const emails = ['Carla@Bücher.example', 'carla@home.example']
  const carla = await createCustomer(admin, { email: emails[0], emails })
  await createContact(admin, { email: 'paula@other.example', emails: ['paula@other.example', 'paula@home.example'] })
  const ticket = await createTicket(admin, { contact_id: carla.contact.id })
  const write = async (email: string, text: string, sender_verified: boolean | null = null) => {
    const { id } = await createMessage(admin, ticket.id, { body: text, send_email: false })
    await sql`
      update messages set direction = 'inbound', sender_email = ${email}, sender_verified = ${sender_verified},
        channel = 'email', reply_text = ${text}
      where organization_id = ${organization_id} and id = ${id}`
  }
  await write('CARLA@xn--bcher-kva.example', 'of the contact')
  await write('carla@bücher.example', 'forged', false)
  await write('paul@other.example', 'of a participant')
  await write('carla@home.example', 'of the contact from home')
  await write('paula@home.example', 'of a participant from home')
  await write('stranger@other.example', 'of a stranger')
  await write('listed@other.example', 'of one who is listed')
  await joinTicket(scope, ticket.id, [{ name: 'Paul', email: 'Paul@Other.example' }], 'confirmed')
  await joinTicket(scope, ticket.id, [{ name: 'Paula', email: 'paula@other.example' }], 'confirmed')
  await joinTicket(scope, ticket.id, [{ name: 'Lisa', email: 'listed@other.example' }], 'listed')
  const { data } = (await carla.get(`/my/tickets/${ticket.id}/messages`)).body
  expect(data.map(({ body_html, mine }: { body_html: string; mine: boolean }) => [body_html, mine])).toEqual([
    ['of the contact', true],
    ['of a participant', false],
    ['of the contact from home', true],
    ['of a participant from home', false],
  ])
})

test('what a contact wrote stays its own when its address changes', async () => {
  const { admin } = await createOrganization()
  const carla = await createCustomer(admin)
  const { id } = (await carla.post('/my/tickets', { subject: 'Fire', body: 'It burns' })).body.data
  const by_team = await createTicket(admin, { contact_id: carla.contact.id, description: 'It smokes, she says' })
  await admin.patch(`/contacts/${carla.contact.id}`, { email: 'another@customer.example' })
  const again = await tokenOf(admin, carla.contact)
  const shown = async (id: string) => (await again.get(`/my/tickets/${id}/messages`)).body.data
  expect(await shown(id)).toMatchObject([{ body_html: 'It burns', mine: true }])
  const described = { body_html: 'It smokes, she says', mine: true }
  expect(await shown(by_team.id)).toMatchObject([described])
  await admin.post(`/tickets/${id}/merge`, { source_ids: [by_team.id] })
  expect(await shown(id)).toMatchObject([{ body_html: 'It burns', mine: true }, described])
})

test('what a contact wrote is its own after a split, also when somebody else has its address of then', async () => {
  const { admin } = await createOrganization()
  const [carla, former] = [await createCustomer(admin), await createCustomer(admin)]
  const { email } = former.contact
  const { id } = (await former.post('/my/tickets', { subject: 'Fire', body: 'It burns' })).body.data
  const again = (await former.post(`/my/tickets/${id}/messages`, { body: 'It smokes' })).body.data
  const by_team = await createTicket(admin, { contact_id: former.contact.id, description: 'It is hot, she says' })
  await admin.post(`/contacts/${carla.contact.id}/merge`, { source_ids: [former.contact.id] })
  await admin.patch(`/contacts/${carla.contact.id}`, { emails: ['another@customer.example'] })
  const heir = await createCustomer(admin, { email })
  await admin.post(`/tickets/${id}/merge`, { source_ids: [by_team.id] })
  const { data } = (await admin.get(`/tickets/${id}/messages`)).body
  const described = data.find(({ body }: { body: string }) => body.includes('hot'))
  for (const [message_id, body_html] of [
    [again.id, 'It smokes'],
    [described.id, 'It is hot, she says'],
  ]) {
    const split = await admin.post(`/tickets/${id}/split`, { message_ids: [message_id] })
    expect([split.status, split.body.data.contact.id]).toEqual([201, carla.contact.id])
    const path = `/my/tickets/${split.body.data.id}/messages`
    expectError(await heir.get(path), 404, 'TICKET_NOT_FOUND')
    expect((await carla.get(path)).body.data).toMatchObject([{ body_html, mine: true }])
    const later = await admin.post(`/tickets/${split.body.data.id}/split`, { message_ids: [message_id] })
    expect(later.body.data.contact.id).toBe(carla.contact.id)
  }
})

test('of an email the new part is shown, not what it quotes', async () => {
  const { admin, scope } = await createOrganization()
  const { sql, organization_id } = scope
  const carla = await createCustomer(admin)
  const ticket = await createTicket(admin, { contact_id: carla.contact.id, description: 'Hi <boss@secret.example>' })
  await sql`
    update messages set channel = 'email', reply_text = 'Hi & bye', body_html = 'Hi<blockquote>boss@secret.example</blockquote>'
    where organization_id = ${organization_id} and ticket_id = ${ticket.id}`
  const { data } = (await carla.get(`/my/tickets/${ticket.id}/messages`)).body
  expect(data).toMatchObject([{ body_html: 'Hi &amp; bye' }])
})

test("an answer opens the ticket again unless the organization says no, and tells events as an email's does", async () => {
  const { admin, scope } = await createOrganization()
  const carla = await createCustomer(admin)
  const ticket = await createTicket(admin, { contact_id: carla.contact.id })
  await hearEvents(scope)
  const resolve = () => admin.patch(`/tickets/${ticket.id}`, { status: 'resolved' })
  await resolve()
  const before = (await writtenEvents(scope)).length
  const answer = await carla.post(`/my/tickets/${ticket.id}/messages`, { body: 'Still burning' })
  expect([answer.status, answer.body.data]).toEqual([
    201,
    {
      ...{ id: expect.any(String), body_html: 'Still burning', direction: 'inbound', mine: true },
      ...{ sender: { name: 'Carla Contact' }, attachments: [], created_at: INSTANT },
    },
  ])
  const events = (await writtenEvents(scope)).slice(before)
  expect(events.map(({ event }) => event)).toEqual(['message.created', 'ticket.updated', 'ticket.status_changed'])
  expect((await carla.get(`/my/tickets/${ticket.id}`)).body.data.status).toBe('open')
  await admin.patch('/organization', { reopen_on_reply: false })
  await resolve()
  await carla.post(`/my/tickets/${ticket.id}/messages`, { body: 'Really' })
  expect((await carla.get(`/my/tickets/${ticket.id}`)).body.data.status).toBe('resolved')
  expect((await carla.get('/my/tickets?status=open')).body.data).toEqual([])
  expect((await carla.get('/my/tickets?status=resolved')).body.data.length).toBe(1)
})

test('with the scope of the company colleagues see and answer the ticket, and take part in it from then on', async () => {
  const { admin, scope } = await createOrganization()
  const company_id = (await createCompany(admin)).id
  const carla = await createCustomer(admin, { company_id })
  const paul = await createCustomer(admin, { company_id, name: 'Paul', scope: 'company' })
  const own_only = await tokenOf(admin, paul.contact)
  const { id } = (await carla.post('/my/tickets', { subject: 'Fire', body: 'It burns' })).body.data
  const own = (await paul.post('/my/tickets', { subject: 'Water', body: 'It is wet' })).body.data
  const idsOf = ({ body }: { body: { data: { id: string }[] } }) => body.data.map((one) => one.id)
  expect(idsOf(await paul.get('/my/tickets'))).toEqual([own.id, id])
  expect(idsOf(await own_only.get('/my/tickets'))).toEqual([own.id])
  expect(idsOf(await carla.get('/my/tickets'))).toEqual([id])
  expectError(await own_only.get(`/my/tickets/${id}`), 404, 'TICKET_NOT_FOUND')
  expect((await paul.get(`/my/tickets/${id}/messages`)).body.data).toMatchObject([
    { body_html: 'It burns', mine: false },
  ])
  expect((await paul.post(`/my/tickets/${id}/messages`, { body: 'I see it' })).status).toBe(201)
  const participants = (await admin.get(`/tickets/${id}/participants`)).body.data
  expect(participants).toMatchObject([{ email: paul.contact.email, contact_id: paul.contact.id, confirmed: true }])
  expect((await activityOf(scope, id)).map(({ type }) => type)).toContain('participant_added')
  expect((await carla.get(`/my/tickets/${id}/messages`)).body.data).toMatchObject([
    { body_html: 'It burns', mine: true },
    { body_html: 'I see it', mine: false, sender: { name: 'Paul' } },
  ])
  // The company is the one of now.
  await admin.patch(`/contacts/${paul.contact.id}`, { company_id: null })
  expectError(await paul.get(`/my/tickets/${id}`), 404, 'TICKET_NOT_FOUND')
  expect(idsOf(await paul.get('/my/tickets'))).toEqual([own.id])
  expectError(await paul.post(`/my/tickets/${id}/messages`, { body: 'Hello' }), 404, 'TICKET_NOT_FOUND')
})

test('tickets of others, deleted and unknown ones are 404, whatever the body, and nothing is changed', async () => {
  const { admin, id } = await createOrganization()
  const other = await createOrganization()
  const carla = await createCustomer(admin)
  const mine = await createTicket(admin, { contact_id: carla.contact.id })
  const [theirs, foreign] = [await createTicket(admin), await createTicket(other.admin)]
  await admin.delete(`/tickets/${mine.id}`)
  const before = await fingerprint(id)
  for (const ticket_id of [theirs.id, foreign.id, mine.id, NOBODY, 'nonsense']) {
    const path = `/my/tickets/${ticket_id}`
    const key = { 'idempotency-key': 'once' }
    expectError(await carla.get(path), 404, 'TICKET_NOT_FOUND')
    expectError(await carla.get(`${path}/messages`), 404, 'TICKET_NOT_FOUND')
    expectError(
      await carla.post(`${path}/messages`, ticket_id === theirs.id ? { body: 7 } : { body: 'x' }),
      404,
      'TICKET_NOT_FOUND',
    )
    if (ticket_id === theirs.id)
      expectError(await carla.post(`${path}/messages`, { body: 'x' }, key), 404, 'TICKET_NOT_FOUND')
  }
  expect(await fingerprint(id)).toEqual(before)
})

test('what was merged is shown at the ticket it was merged into, whose name nobody is told who does not see it', async () => {
  const { admin } = await createOrganization()
  const [carla, paul] = [await createCustomer(admin), await createCustomer(admin, { name: 'Paul' })]
  const open = async (customer: typeof carla, body: string) =>
    (await customer.post('/my/tickets', { subject: body, body })).body.data.id
  const [of_carla, of_paul] = [await open(carla, 'by Carla'), await open(paul, 'by Paul')]
  await admin.post(`/tickets/${of_paul}/merge`, { source_ids: [of_carla] })
  const { data } = (await paul.get(`/my/tickets/${of_paul}/messages`)).body
  expect(data).toMatchObject([
    { body_html: 'by Carla', mine: false },
    { body_html: 'by Paul', mine: true },
  ])
  expect((await carla.get(`/my/tickets/${of_carla}`)).body.data.status).toBe('closed')
  expect((await carla.get(`/my/tickets/${of_carla}/messages`)).body.data).toEqual([])
  expectError(await carla.get(`/my/tickets/${of_paul}`), 404, 'TICKET_NOT_FOUND')
  const refused = await carla.post(`/my/tickets/${of_carla}/messages`, { body: 'x' })
  expectError(refused, 422, 'TICKET_MERGED')
  expect(refused.body.error.details).toEqual({})
  expectError(await paul.post(`/my/tickets/${of_carla}/messages`, { body: 'x' }), 404, 'TICKET_NOT_FOUND')
})

test('what a contact wrote from an address of before is shown, also after it was merged, and the ticket was', async () => {
  const { admin } = await createOrganization()
  const [sam, tina] = [await createCustomer(admin), await createCustomer(admin)]
  const { id } = (await sam.post('/my/tickets', { subject: 'x', body: 'by Sam' })).body.data
  await admin.patch(`/contacts/${sam.contact.id}`, { email: 'sam@new.example' })
  await admin.post(`/contacts/${tina.contact.id}/merge`, { source_ids: [sam.contact.id] })
  const shown = [{ body_html: 'by Sam', mine: true }]
  expect((await tina.get(`/my/tickets/${id}/messages`)).body.data).toMatchObject(shown)
  const { id: target } = (await tina.post('/my/tickets', { subject: 'y', body: 'by Tina' })).body.data
  await admin.post(`/tickets/${target}/merge`, { source_ids: [id] })
  const { data } = (await tina.get(`/my/tickets/${target}/messages`)).body
  expect(data).toMatchObject([...shown, { body_html: 'by Tina', mine: true }])
})

test('a bad body is 422 and changes nothing', async () => {
  const { admin, id } = await createOrganization()
  const carla = await createCustomer(admin)
  const ticket = await createTicket(admin, { contact_id: carla.contact.id })
  const before = await fingerprint(id)
  expectError(await carla.post('/my/tickets', { body: 'x' }), 422, 'VALIDATION_ERROR')
  const both = await carla.post('/my/tickets', { subject: '', body: ' ' })
  expect(both.body.error.details.errors.map(({ path }: { path: string }) => path)).toEqual(['/subject', '/body'])
  expectError(await carla.post(`/my/tickets/${ticket.id}/messages`, {}), 422, 'EMPTY_BODY')
  expectError(await carla.post('/my/tickets', { subject: 'x', body: ' \n'.repeat(9000) }), 422, 'EMPTY_BODY')
  expectError(await carla.get('/my/tickets?status=asap'), 422, 'INVALID_STATUS')
  expect(await fingerprint(id)).toEqual(before)
})

test('an upload of a customer is used by nobody else, and a customer uses no upload of others', async () => {
  const { admin } = await createOrganization()
  const [carla, paul] = [await createCustomer(admin), await createCustomer(admin)]
  const ticket = await createTicket(admin, { contact_id: carla.contact.id })
  const upload = async () => (await carla.post('/my/attachments', formOf('x', 'x.txt'))).body.data.id
  const [of_carla, of_team] = [await upload(), (await uploadFile(admin)).id]
  const refused = (answer: Parameters<typeof expectError>[0], id: string) => {
    expectError(answer, 422, 'ATTACHMENT_NOT_FOUND')
    expect(answer.body.error.details.ids).toEqual([id])
  }
  refused(await paul.post('/my/tickets', { subject: 'x', body: 'x', attachment_ids: [of_carla] }), of_carla)
  refused(await admin.post(`/tickets/${ticket.id}/messages`, { body: 'x', attachment_ids: [of_carla] }), of_carla)
  expect((await carla.post('/my/tickets', { subject: 'x', body: 'x' })).body.data.code).toBe('TKT-2')
  const path = `/my/tickets/${ticket.id}/messages`
  refused(await carla.post(path, { body: 'x', attachment_ids: [of_team] }), of_team)
  const { data } = (await carla.post(path, { body: 'x', attachment_ids: [of_carla] })).body
  expect(data.attachments).toMatchObject([{ id: of_carla }])
  refused(await carla.post(path, { body: 'again', attachment_ids: [of_carla] }), of_carla)
  const url = new URL(data.attachments[0].url)
  expect([...url.searchParams.keys()]).toEqual(['organization', 'expires', 'signature'])
})

test('a repeated Idempotency-Key of the contact gives the first answer, and is no other contact’s', async () => {
  const { admin } = await createOrganization()
  const [carla, paul] = [await createCustomer(admin), await createCustomer(admin)]
  const once = { 'idempotency-key': 'once' }
  const body = { subject: 'Fire', body: 'It burns' }
  const first = await carla.post('/my/tickets', body, once)
  const again = await (await tokenOf(admin, carla.contact)).post('/my/tickets', body, once)
  expect([again.status, again.text, again.headers.get('idempotent-replayed')]).toEqual([201, first.text, 'true'])
  expect((await paul.post('/my/tickets', body, once)).body.data.id).not.toBe(first.body.data.id)
  const path = `/my/tickets/${first.body.data.id}/messages`
  const answers = await Promise.all([1, 2, 3].map(() => carla.post(path, { body: 'Still' }, once)))
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  expect((await carla.get(path)).body.meta.total).toBe(2)
})

test('tickets and messages are walked by cursor', async () => {
  const { admin, scope } = await createOrganization()
  const company_id = (await createCompany(admin)).id
  const [carla, paul] = [await createCustomer(admin, { company_id }), await createCustomer(admin, { company_id })]
  const boss = await tokenOf(admin, carla.contact, 'company')
  const made: string[] = []
  for (const contact of [carla.contact, paul.contact, carla.contact, paul.contact, carla.contact]) {
    made.unshift((await createTicket(admin, { contact_id: contact.id })).id)
  }
  const ids: string[] = []
  let cursor = ''
  do {
    const { data, meta } = (await boss.get(`/my/tickets?per_page=2${cursor && `&cursor=${cursor}`}`)).body
    ids.push(...data.map((one: { id: string }) => one.id))
    cursor = meta.next_cursor
  } while (cursor)
  expect(ids).toEqual(made)
  expect((await boss.get('/my/tickets?per_page=2&page=3')).body).toMatchObject({
    data: [{ id: made[4] }],
    meta: { total: 5 },
  })
  expect(scope.organization_id).toBeString()
})
