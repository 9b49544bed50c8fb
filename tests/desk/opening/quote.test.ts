/** Tickets whose first message quotes others: their words and files, who may quote, and what an erasure takes. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { simpleParser } from 'mailparser'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { inTransaction } from '../../../src/base/scope'
import { removeStoredBytes } from '../../../src/desk/attachments/removals'
import { storage } from '../../../src/desk/attachments/storage'
import { eraseConversations, finishErasures } from '../../../src/desk/privacy/erase-conversations'
import { purgeDeletedTickets } from '../../../src/desk/tickets/purge'
import { api, type Client, createOrganization, expectError } from '../../support/api'
import { createProgram } from '../../support/api-keys'
import { type StartedDesk, startDesk } from '../../support/desk'
import { createContact, createMessage, createTicket, formOf, hearEvents, uploadFile } from '../../support/factories'
import { someoneWaits, statementsWaiting } from '../../support/lock-waits'
import { drain, importMail, rawMail, readTicket } from '../../support/mail'
import { withSettings } from '../../support/settings'
import { fingerprint } from '../../support/world'

let desk: StartedDesk

beforeAll(async () => {
  desk = await startDesk()
})
afterAll(() => desk.stop())

const PATH = '/message/quote_message_ids'
const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
const LINE = /On \d{4}-\d\d-\d\d \d\d:\d\d UTC, (.+) wrote:/g

type Shown = {
  id: string
  body: string
  body_html: string
  attachments: { id: string; filename: string; url: string }[]
}

const begin = (client: Client, quote_message_ids: unknown, message: Record<string, unknown> = {}) =>
  client.post('/tickets', {
    subject: 'To the supplier',
    contact: { email: `supplier.${newId()}@supplier.example` },
    message: { body: 'Can you help?', send_email: false, quote_message_ids, ...message },
  })

/** Begins a ticket. @returns its message */
async function quote(client: Client, ids: string[], message: Record<string, unknown> = {}) {
  const answer = await begin(client, ids, message)
  expect(answer.status).toBe(201)
  const { messages } = await readTicket(client, answer.body.data.id)
  return { ticket_id: answer.body.data.id as string, message: messages[0] as Shown }
}

/** A customer's ticket: its description, an answer with a file, and the customer. */
async function conversation(client: Client, words = 'It smokes') {
  const contact = await createContact(client)
  const ticket = await createTicket(client, { contact_id: contact.id, description: `${words} & burns` })
  const file = await uploadFile(client, `bytes of ${words}`, 'manual.txt')
  const answer = await createMessage(client, ticket.id, {
    body: `Unplug it: ${words}`,
    attachment_ids: [file.id],
    send_email: false,
  })
  const [description] = (await readTicket(client, ticket.id)).messages
  return { contact, ticket, file, ids: [description.id as string, answer.id as string] }
}

async function bytesAt(url: string): Promise<string> {
  const answer = await api().handle(new Request(url))
  return answer.ok ? answer.text() : `${answer.status}`
}

test('words stand below by time with who wrote them, and files are copies', async () => {
  const { agent } = await desk.createDesk()
  const { contact, ids, file } = await conversation(agent)
  const own = await uploadFile(agent, 'own', 'own.txt')
  const { message, ticket_id } = await quote(agent, ids.toReversed(), { attachment_ids: [own.id] })
  const [first, second] = [...message.body.matchAll(LINE)].map(([, who]) => who)
  expect(first).toBe(`${contact.name} <${contact.email}>`)
  expect(second).toStartWith('Alan Agent')
  expect(message.body.replace(LINE, '---')).toBe(
    'Can you help?\n\n---\n> It smokes & burns\n\n---\n> Unplug it: It smokes',
  )
  expect(message.body_html).toContain('<blockquote>It smokes &amp; burns</blockquote>')
  expect(message.attachments.map(({ filename }) => filename)).toEqual(['own.txt', 'manual.txt'])
  const [, copy] = message.attachments
  expect(copy!.id).not.toBe(file.id)
  expect(await bytesAt(copy!.url)).toBe('bytes of It smokes')
  for (const word of ['help', 'burns', 'unplug']) {
    const found = (await agent.get(`/tickets?search=${word}`)).body.data
    expect(found.map(({ id }: { id: string }) => id)).toContain(ticket_id)
  }
})

test('HTML keeps its form and its pictures, and the email carries them', async () => {
  const { agent } = desk
  const contact = await createContact(agent)
  const ticket = await createTicket(agent, { contact_id: contact.id })
  const picture = (await agent.post('/attachments', formOf(new Uint8Array(PNG), 'fire.png', 'image/png'))).body.data
  const shown = await createMessage(agent, ticket.id, {
    body: `<p><b>Fire</b> <img src="cid:${picture.id}"></p>`,
    send_email: false,
  })
  const again = await createMessage(agent, ticket.id, {
    body: `<p>Again <img src="cid:${picture.id}"></p>`,
    send_email: false,
  })
  for (const body of ['Look', '<p>Look</p>']) {
    const { message } = await quote(agent, [shown.id, again.id], { body, send_email: true })
    const [copy, ...others] = message.attachments
    expect(others).toEqual([])
    expect(message.body_html.match(new RegExp(`src="[^"]*/attachments/${copy!.id}/content`, 'g'))).toHaveLength(2)
    expect(message.body_html).toContain('<blockquote><p><b>Fire</b>')
    expect(message.body.includes(`<img src="cid:${copy!.id}"`)).toBe(body !== 'Look')
    await drain()
    const mail = await simpleParser(desk.sink.messages.at(-1)!.raw, { skipImageLinks: true })
    expect(mail.attachments.map(({ content }) => content)).toEqual([PNG])
    expect(mail.html).toContain(`cid:${copy!.id}@deskwire`)
    expect(mail.text).toContain('Fire')
  }
  // The picture alone shows its message, too.
  const { message } = await quote(agent, [again.id])
  expect(message.attachments).toHaveLength(1)
})

test('mail is quoted with all of its text', async () => {
  const from = `kim.${newId()}@customer.example`
  const row = await importMail(
    desk.admin,
    desk.mailbox_id,
    rawMail(
      { From: from, Subject: 'Smoke', 'Message-ID': `<${newId()}@c.example>`, 'Content-Type': 'text/html' },
      '<p>Hello</p><p>it <i>smokes</i></p>',
    ),
  )
  const { message } = await quote(desk.agent, [row.message_id])
  expect(message.body).toContain('> Hello\n> \n> it smokes')
  expect(message.body_html).toContain('<blockquote><p>Hello</p><p>it <i>smokes</i></p>\n</blockquote>')
})

test.each([
  ['an unknown message', 'MESSAGE_NOT_FOUND'],
  ['a note', 'MESSAGE_NOT_FOUND'],
  ["another organization's", 'MESSAGE_NOT_FOUND'],
  ['one of a deleted ticket', 'MESSAGE_NOT_FOUND'],
  ['no id', 'MESSAGE_NOT_FOUND'],
  ['messages of two tickets', 'VALIDATION_ERROR'],
  ['21 ids', 'VALIDATION_ERROR'],
  ['none', 'VALIDATION_ERROR'],
  ['a text', 'VALIDATION_ERROR'],
])('%s is refused and leaves nothing behind', async (kind, code) => {
  const { agent, id } = await createOrganization()
  const { ids, ticket } = await conversation(agent)
  const given: Record<string, () => Promise<unknown>> = {
    'an unknown message': async () => [ids[0], newId()],
    'a note': async () => [(await createMessage(agent, ticket.id, { body: 'x', is_internal: true })).id],
    "another organization's": async () => [ids[0], (await conversation((await createOrganization()).agent)).ids[0]],
    'one of a deleted ticket': async () => {
      const deleted = await conversation(agent)
      await agent.delete(`/tickets/${deleted.ticket.id}`)
      return deleted.ids
    },
    'no id': async () => ['../x'],
    'messages of two tickets': async () => [ids[0], (await conversation(agent)).ids[0]],
    '21 ids': async () => Array(21).fill(ids[0]),
    none: async () => [],
    'a text': async () => ids[0],
  }
  const quoted = await given[kind]!()
  const rows = async () => {
    const { ticket_counters: _, audit_log: __, ...rows } = await fingerprint(id)
    return rows
  }
  const before = await rows()
  const answer = await begin(agent, quoted)
  expectError(answer, 422, code)
  expect(answer.body.error.details.errors).toMatchObject([{ path: PATH }])
  expect(await rows()).toEqual(before)
})

test('a key that may write no messages, and so may not read all of them, gets none of their words', async () => {
  const { ids } = await conversation(desk.agent)
  const before = await fingerprint(desk.id)
  for (const rights of [['tickets:write'], ['tickets:write', 'messages:read']]) {
    const program = await createProgram(desk.admin, [...rights, 'contacts:write'])
    for (const quoted of [ids, [newId()]]) {
      const answer = await begin(program, quoted)
      expectError(answer, 403, 'FORBIDDEN')
      expect(answer.body.error.details).toEqual({ required: 'messages:write' })
    }
  }
  expect((await fingerprint(desk.id)).messages).toEqual(before.messages)
  const writer = await createProgram(desk.admin, ['tickets:write', 'messages:write', 'contacts:write'])
  expect((await begin(writer, ids)).status).toBe(201)
})

test('with the body over its limit, or too many files, nothing is written', async () => {
  const { agent, id } = await createOrganization()
  const ticket = await createTicket(agent, { contact_id: (await createContact(agent)).id })
  const long = await createMessage(agent, ticket.id, { body: 'x'.repeat(600_000), send_email: false })
  expect((await begin(agent, [long.id])).status).toBe(201)
  const answer = await begin(agent, [long.id], { body: 'y'.repeat(399_990) })
  expectError(answer, 422, 'VALIDATION_ERROR')
  expect(answer.body.error.details.errors).toMatchObject([{ path: PATH }])
  const more = await createMessage(agent, ticket.id, { body: 'x'.repeat(600_000), send_email: false })
  const tickets = await fingerprint(id)
  expectError(await begin(agent, [long.id, more.id]), 422, 'VALIDATION_ERROR')
  const { ticket_counters: _, audit_log: __, ...after } = await fingerprint(id)
  expect(tickets).toMatchObject(after)
})

test('infected files are left out, and copies count for the space of the organization', async () => {
  const { agent, scope, id } = await createOrganization()
  const { ids, file } = await conversation(agent)
  using _ = withSettings({ ATTACHMENT_QUOTA_BYTES: 40 })
  expect((await begin(agent, ids)).status).toBe(201)
  expectError(await begin(agent, ids), 413, 'PAYLOAD_TOO_LARGE')
  await scope.sql`update attachments set scan = 'infected' where organization_id = ${id} and id = ${file.id}`
  const { message } = await quote(agent, ids)
  expect(message.attachments).toEqual([])
})

test('bytes stay as long as one row names them, and go with the last', async () => {
  const { agent } = await createOrganization()
  const { ids, ticket } = await conversation(agent)
  const { message, ticket_id } = await quote(agent, ids)
  await agent.delete(`/tickets/${ticket.id}/messages/${ids[1]}`)
  await removeStoredBytes(connection())
  const { messages } = await readTicket(agent, ticket_id)
  expect(messages[0].body).toBe(message.body)
  const [copy] = messages[0].attachments
  expect(await bytesAt(copy.url)).toBe('bytes of It smokes')
  const [{ storage_key }] = await connection().sql<[{ storage_key: string }]>`
    select storage_key from attachments where id = ${copy.id}`
  await agent.delete(`/tickets/${ticket_id}/messages/${message.id}`)
  await removeStoredBytes(connection())
  await expect(storage().read(storage_key)).rejects.toThrow()
})

test('deleting the source, also for good, leaves the quotation, and erasing its person takes it', async () => {
  const { agent, admin, scope, id } = await createOrganization()
  const { ids, ticket, contact } = await conversation(agent)
  const quoting = await quote(agent, ids)
  await agent.delete(`/tickets/${ticket.id}`)
  await scope.sql`update tickets set deleted_at = now() - interval '1 year' where organization_id = ${id} and id = ${ticket.id}`
  await purgeDeletedTickets(connection(), 30)
  expect(await scope.sql`select 1 from tickets where organization_id = ${id} and id = ${ticket.id}`).toHaveLength(0)
  expect((await readTicket(agent, quoting.ticket_id)).messages[0].body).toBe(quoting.message.body)
  const erasure = (await admin.post(`/contacts/${contact.id}/erase`)).body
  expect(erasure.data).toEqual({ tickets: 0, messages: 1, attachments: 1 })
  const { messages } = await readTicket(agent, quoting.ticket_id)
  expect(messages).toMatchObject([{ body: 'Can you help?\n\n[erased]\n\n[erased]', attachments: [] }])
})

test('an erasure takes the words of one person wherever they are quoted, and leaves those of others', async () => {
  const { agent, admin, scope, id } = await desk.createDesk()
  const { ids, ticket } = await conversation(agent, 'Zebra')
  const [person, other] = [await createContact(agent), await createContact(agent)]
  // Written on the ticket of somebody else.
  for (const [one, words] of [[person, 'Secret'] as const, [other, 'Harmless'] as const]) {
    await agent.post(`/tickets/${ticket.id}/messages`, { body: words, send_email: false })
    await scope.sql`
      update messages set direction = 'inbound', sender_name = ${one.name}, sender_email = ${one.email}
      where organization_id = ${id} and body = ${words}`
  }
  const { messages } = await readTicket(agent, ticket.id)
  const all = messages.map((message: { id: string }) => message.id)
  const first = await quote(agent, all, { body: 'Own words' })
  const html = await quote(agent, all, { body: '<p>Own words</p>' })
  const second = await quote(agent, [first.message.id], { body: 'Further' })
  await hearEvents(scope)
  await admin.post(`/contacts/${person.id}/erase`)
  for (const { ticket_id } of [first, html]) {
    const [{ body, body_html, attachments }] = (await readTicket(agent, ticket_id)).messages
    for (const text of [body, body_html]) {
      expect(text).toContain('Own words')
      expect(text).not.toContain('Secret')
      expect(text).not.toContain(person.email)
      for (const left of ['Zebra', 'Harmless', '[erased]']) expect(text).toContain(left)
    }
    expect(attachments).toHaveLength(1)
  }
  expect((await readTicket(agent, second.ticket_id)).messages[0].body).toBe('Further\n\n[erased]')
  expect((await agent.get('/tickets?search=secret')).body.data).toEqual([])
  const left = await scope.sql<{ resource_id: string }[]>`
    select resource_id from events where organization_id = ${id} and body like '%Secret%'`
  // Its own event was written in the name of the team.
  expect(left.filter(({ resource_id }) => !all.includes(resource_id))).toEqual([])
  const told = await scope.sql<{ body: string }[]>`
    select body from events where organization_id = ${id} and type = 'message.erased'`
  for (const { message } of [first, html, second]) expect(JSON.stringify(told)).toContain(message.id)
  // The others go in any order, and what is left stays whole.
  await admin.post(`/contacts/${other.id}/erase`)
  const [{ body }] = (await readTicket(agent, first.ticket_id)).messages
  expect(body).toContain('Zebra')
  expect(body).not.toContain('Harmless')
  expect(body.match(/\[erased\]/g)).toHaveLength(2)
  expect(ids).toHaveLength(2)
})

/** A ticket whose first message has a copy of a customer's picture, and whose second one shows it. */
async function shownAgain(client: Client) {
  const contact = await createContact(client)
  const ticket = await createTicket(client, { contact_id: contact.id })
  const picture = (await client.post('/attachments', formOf(new Uint8Array(PNG), 'face.png', 'image/png'))).body.data
  const { id } = await createMessage(client, ticket.id, {
    body: `<p>Face <img src="cid:${picture.id}"></p>`,
    send_email: false,
  })
  const first = await quote(client, [id], { body: '<p>Look</p>' })
  const copy_id = first.message.attachments[0]!.id
  const body = `<p>Again <img src="cid:${copy_id}"></p>`
  const again = await createMessage(client, first.ticket_id, { body, send_email: false })
  return { contact, quoted: id, first, again, copy_id }
}

const filesOf = async ({ scope, id }: { scope: StartedDesk['scope']; id: string }) =>
  (await scope.sql`select id from attachments where organization_id = ${id}`).length

test('a copied picture that another message shows is erased with its person, also when its message is deleted', async () => {
  const own = await desk.createDesk()
  const { agent, admin } = own
  const { contact, first, again, copy_id } = await shownAgain(agent)
  await agent.delete(`/tickets/${first.ticket_id}/messages/${first.message.id}`)
  const [left] = (await readTicket(agent, first.ticket_id)).messages
  expect(left.attachments).toMatchObject([{ id: copy_id }])
  const further = await quote(agent, [again.id])
  expect((await admin.post(`/contacts/${contact.id}/erase`)).status).toBe(200)
  expect(await filesOf(own)).toBe(0)
  expect((await readTicket(agent, first.ticket_id)).messages).toMatchObject([
    { id: again.id, body: again.body, attachments: [] },
  ])
  // The words are of the team.
  const [{ body, attachments }] = (await readTicket(agent, further.ticket_id)).messages
  expect([body, attachments]).toEqual([further.message.body, []])
})

test('a picture that a customer sent to the ticket of another goes with that customer, at whichever message', async () => {
  const own = await desk.createDesk()
  const { agent, admin, scope, id } = own
  const [person, other] = [await createContact(agent), await createContact(agent)]
  const ticket = await createTicket(agent, { contact_id: other.id })
  const picture = (await agent.post('/attachments', formOf(new Uint8Array(PNG), 'face.png', 'image/png'))).body.data
  const sent = await createMessage(agent, ticket.id, { body: 'Me', attachment_ids: [picture.id], send_email: false })
  await scope.sql`
    update messages set direction = 'inbound', sender_name = ${person.name}, sender_email = ${person.email}
    where organization_id = ${id} and id = ${sent.id}`
  const body = `<p>You <img src="cid:${picture.id}"></p>`
  await createMessage(agent, ticket.id, { body, send_email: false })
  await agent.delete(`/tickets/${ticket.id}/messages/${sent.id}`)
  expect((await readTicket(agent, ticket.id)).messages).toMatchObject([{ attachments: [{ id: picture.id }] }])
  expect((await admin.post(`/contacts/${person.id}/erase`)).status).toBe(200)
  expect(await filesOf(own)).toBe(0)
})

test('a copied picture that is handed over while its person is erased goes, too', async () => {
  const own = await desk.createDesk()
  const { agent, admin, scope } = own
  const { quoted, first } = await shownAgain(agent)
  // The person has no ticket, so that quotations are looked for once.
  const contact = await createContact(agent)
  await scope.sql`
    update messages set direction = 'inbound', sender_email = ${contact.email}
    where organization_id = ${own.id} and id = ${quoted}`
  await scope.sql`update message_quotes set contact_id = null, sender_key = ${contact.email} where source_id = ${quoted}`
  let all: Promise<{ status: number }[]> = Promise.resolve([])
  // Somebody holds the ticket: the deletion waits for it first, then the erasure that has found the message.
  await inTransaction(scope, async ({ sql, organization_id }) => {
    await sql`select 1 from tickets where organization_id = ${organization_id} and id = ${first.ticket_id} for update`
    const deleting = agent.delete(`/tickets/${first.ticket_id}/messages/${first.message.id}`)
    await someoneWaits()
    all = Promise.all([deleting, admin.post(`/contacts/${contact.id}/erase`)])
    while ((await statementsWaiting(connection().sql)).length < 2) await Bun.sleep(5)
  })
  expect((await all).map(({ status }) => status)).toEqual([204, 200])
  expect(await filesOf(own)).toBe(0)
})

test('a copy of a copied picture is erased with its person, though only the message that shows it is quoted', async () => {
  const own = await desk.createDesk()
  const { contact, again } = await shownAgain(own.agent)
  const { message } = await quote(own.agent, [again.id])
  expect(message.attachments).toHaveLength(1)
  expect((await own.admin.post(`/contacts/${contact.id}/erase`)).status).toBe(200)
  expect(await filesOf(own)).toBe(0)
})

test('ticket.erased takes quotations and copies, of merged and split tickets too', async () => {
  const { agent, scope } = await createOrganization()
  const [one, two] = [await conversation(agent, 'Alpha'), await conversation(agent, 'Beta')]
  await agent.post(`/tickets/${two.ticket.id}/merge`, { source_ids: [one.ticket.id] })
  const quoting = await quote(agent, [...one.ids, ...two.ids])
  const split = await quote(agent, two.ids)
  const answer = await agent.post(`/tickets/${two.ticket.id}/split`, { message_ids: [two.ids[1]], subject: 'Apart' })
  expect(answer.status).toBe(201)
  await inTransaction(scope, (inner) => eraseConversations(inner, [answer.body.data.id]))
  await finishErasures(scope)
  const [{ body }] = (await readTicket(agent, split.ticket_id)).messages
  expect(body).toContain('Beta & burns')
  expect(body).not.toContain('Unplug')
  await inTransaction(scope, (inner) => eraseConversations(inner, [two.ticket.id]))
  await finishErasures(scope)
  const [message] = (await readTicket(agent, quoting.ticket_id)).messages
  expect(message).toMatchObject({ body: expect.stringMatching(/^Can you help\?(\n\n\[erased\]){3}$/), attachments: [] })
  expect(await scope.sql`select 1 from retention_erasures`).toHaveLength(0)
})

test('a hold keeps what quotes a person from being changed', async () => {
  const { agent, admin, scope } = await createOrganization()
  const { ids, contact, ticket } = await conversation(agent)
  const label = (await admin.post('/labels', { name: 'Hold', color: '#ff0000' })).body.data
  await admin.patch('/retention', { hold_label_ids: [label.id] })
  const { ticket_id, message } = await quote(agent, ids)
  await agent.post(`/tickets/${ticket_id}/labels`, { label_ids: [label.id] })
  expectError(await admin.post(`/contacts/${contact.id}/erase`), 422, 'ON_HOLD')
  await inTransaction(scope, (inner) => eraseConversations(inner, [ticket.id]))
  await finishErasures(scope)
  expect((await readTicket(agent, ticket_id)).messages[0].body).toBe(message.body)
})

test('a hold keeps what quotes a contact that was merged into the erased one', async () => {
  const { agent, admin } = await createOrganization()
  const { ids, contact } = await conversation(agent)
  const label = (await admin.post('/labels', { name: 'Hold', color: '#ff0000' })).body.data
  await admin.patch('/retention', { hold_label_ids: [label.id] })
  const { ticket_id, message } = await quote(agent, [ids[1]!])
  await agent.post(`/tickets/${ticket_id}/labels`, { label_ids: [label.id] })
  const into = await createContact(agent)
  expect((await agent.post(`/contacts/${into.id}/merge`, { source_ids: [contact.id] })).status).toBe(200)
  expectError(await admin.post(`/contacts/${into.id}/erase`), 422, 'ON_HOLD')
  expect((await readTicket(agent, ticket_id)).messages[0].body).toBe(message.body)
})

test('an erasure that begins while a message is quoted waits, and takes the quotation', async () => {
  const { agent, admin, scope } = await createOrganization()
  const { ids, contact } = await conversation(agent)
  let erasing: Promise<unknown> = Promise.resolve()
  let quoting: Promise<{ status: number }> = Promise.resolve({ status: 0 })
  // Somebody holds the source: the create waits for it first, then the erasure waits for both.
  await inTransaction(scope, async ({ sql }) => {
    await sql`select 1 from messages where organization_id = ${scope.organization_id} and id = ${ids[0]!} for update`
    quoting = begin(agent, ids) as Promise<{ status: number }>
    await someoneWaits()
    erasing = admin.post(`/contacts/${contact.id}/erase`)
  })
  await erasing
  expect((await quoting).status).toBe(201)
  const left = await scope.sql<{ body: string; body_html: string }[]>`
    select body, body_html from messages where organization_id = ${scope.organization_id}
    union all select body, '' from events where organization_id = ${scope.organization_id}`
  expect(JSON.stringify(left)).not.toContain('smokes')
})

test('many at once: nobody waits for ever, and an erasure among them leaves nothing', async () => {
  const { agent, admin, scope } = await createOrganization()
  const { ids, contact } = await conversation(agent)
  const quoting = Array.from({ length: 12 }, () => begin(agent, ids))
  const erasing = admin.post(`/contacts/${contact.id}/erase`)
  const statuses = (await Promise.all(quoting)).map(({ status }) => status)
  expect(statuses.every((status) => status === 201)).toBe(true)
  expect((await erasing).status).toBeLessThan(300)
  const left = await scope.sql`
    select 1 from messages where organization_id = ${scope.organization_id} and body like '%smokes%'
    union all select 1 from events where organization_id = ${scope.organization_id} and body like '%smokes%'`
  expect(left).toHaveLength(0)
})
