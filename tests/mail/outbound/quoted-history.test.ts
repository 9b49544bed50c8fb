/** Earlier messages below an answer in its email: which ones, in which form, and what never leaves with them. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { simpleParser } from 'mailparser'
import { connection } from '../../../src/base/db/pool'
import { expectError } from '../../support/api'
import { type StartedDesk, startDesk } from '../../support/desk'
import { createMessage, createTicket, insertMailbox, insertTicket, uploadFile } from '../../support/factories'
import { drain, importMail, rawMail, readTicket } from '../../support/mail'

const CONTACT = 'Carla <carla@customer.example>'

let desk: StartedDesk

beforeAll(async () => {
  desk = await startDesk({ name: 'Acme support', quote: 'last' })
})
beforeEach(() => {
  desk.sink.answer()
  desk.sink.messages.length = 0
})
afterAll(() => desk.stop())

let mails = 0

/** Mail of the customer, which opens a ticket or joins the one whose newest email it answers. */
async function arrive(body: string, fields: Record<string, string> = {}) {
  mails += 1
  const mail = { From: CONTACT, Subject: 'Printer', Message_ID: `<quoted-${mails}@customer.example>`, ...fields }
  return importMail(desk.admin, desk.mailbox_id, rawMail({ ...mail, Content_Type: 'text/plain; charset=utf-8' }, body))
}

/** Sends what waits. @returns the last email as text and as HTML */
async function sent() {
  await drain()
  const { text = '', html } = await simpleParser(desk.sink.messages.at(-1)!.raw)
  return { text: text.trimEnd(), html: String(html).trim() }
}

async function answer(ticket_id: string, fields: Record<string, unknown> = {}) {
  const message = await createMessage(desk.agent, ticket_id, { body: 'Try water.', ...fields })
  return { message, ...(await sent()) }
}

/** The line above what was written at a time. */
function lineOf({ created_at }: { created_at: string }, writer: string): string {
  return `On ${created_at.slice(0, 16).replace('T', ' ')} UTC, ${writer} wrote:`
}

const RULE = '-----Original Message-----'

describe('the setting of a mailbox', () => {
  test('is last unless one is given, can be changed, and stands in the audit log', async () => {
    const { admin } = await desk.createDesk()
    const { body } = await admin.post('/mailboxes', { address: `quoting.${mails}@desk.example` })
    expect(body.data.quote).toBe('last')
    expect((await admin.patch(`/mailboxes/${body.data.id}`, { name: 'Kim' })).body.data.quote).toBe('last')
    expect((await admin.patch(`/mailboxes/${body.data.id}`, { quote: 'all' })).body.data.quote).toBe('all')
    const [entry] = (await admin.get('/audit-log?action=mailbox.updated')).body.data
    expect(entry.changes).toMatchObject({ quote: { from: 'last', to: 'all' } })
    for (const quote of ['some', 7, null]) {
      expectError(await admin.patch(`/mailboxes/${body.data.id}`, { quote }), 422, 'VALIDATION_ERROR')
    }
    expect((await admin.get(`/mailboxes/${body.data.id}`)).body.data.quote).toBe('all')
  })

  test('is none for mailboxes of before', async () => {
    const other = await desk.createDesk()
    const { id } = await insertMailbox(other.scope, { is_default: false })
    expect((await other.admin.get(`/mailboxes/${id}`)).body.data.quote).toBe('none')
  })

  test('is told beside the recipients', async () => {
    const { ticket_id } = await arrive('Hello')
    const { body } = await desk.agent.get(`/tickets/${ticket_id}/recipients`)
    expect(body.data).toMatchObject({ quote: 'last' })
  })
})

describe('below an answer', () => {
  test('stands the newest earlier message, in the email only, of an email its new words', async () => {
    const { ticket_id } = await arrive(
      'It smokes.\n> An older word\n\nOn Monday, 3 June 2024 at 10:00 Kim <k@x.example> wrote:\n> Old',
    )
    const ticket = await readTicket(desk.agent, ticket_id)
    const { message, text, html } = await answer(ticket_id)
    const line = lineOf(ticket.messages[0], CONTACT)
    expect(text).toBe(`Try water.\n\n${RULE}\n\n${line}\n> ${ticket.messages[0].reply_text.replaceAll('\n', '\n> ')}`)
    expect(html).toStartWith(`Try water.<br><div class="gmail_quote"><div><div>${RULE}</div><br><div>`)
    expect([message.body, message.body_html]).toEqual(['Try water.', 'Try water.'])
    expect((await readTicket(desk.agent, ticket_id)).messages.at(-1).body_html).toBe('Try water.')
  })

  test('stands what the team wrote when that is newer, in the name that the customer sees', async () => {
    const { ticket_id } = await arrive('It smokes.')
    const { message } = await answer(ticket_id, { body: '<p>Try <b>water</b>.</p>', format: 'html' })
    const { text, html } = await answer(ticket_id, { body: 'And now?' })
    const line = lineOf(message, `Acme support <${desk.address}>`)
    expect(text).toBe(`And now?\n\n${RULE}\n\n${line}\n> Try water.`)
    expect(text + html).not.toContain(message.sender.name)
    expect(text + html).not.toContain(message.sender.email)
  })

  test('stand all of them when that is wanted, newest first, and never a note', async () => {
    const { ticket_id } = await arrive('First.')
    await createMessage(desk.agent, ticket_id, { body: 'A secret of the team', is_internal: true })
    await answer(ticket_id, { body: 'Second.', quote: 'none' })
    await createMessage(desk.agent, ticket_id, { body: 'Another secret', is_internal: true })
    const { text, html } = await answer(ticket_id, { body: 'Third.', quote: 'all' })
    const quoted = text.split('\n').filter((line) => line.startsWith('>'))
    expect(quoted).toEqual(['> Second.', '> First.'])
    expect(text.split(RULE)).toHaveLength(2)
    expect(text + html).not.toMatch(/secret/i)
  })

  test('stands nothing when there is nothing to quote, and no line', async () => {
    const { agent, scope, mailbox_id } = desk
    const ticket = await insertTicket(scope, { mailbox_id })
    await createMessage(agent, ticket.id, { body: 'A note', is_internal: true })
    expect((await answer(ticket.id, { quote: 'all' })).text).toBe('Try water.')
    expect((await answer(ticket.id, { quote: 'none' })).text).toBe('Try water.')
    await createTicket(agent, { message: { body: 'We call you.', quote: 'all' } })
    expect((await sent()).text).toBe('We call you.')
  })

  test('pictures are not sent again', async () => {
    const { ticket_id } = await arrive('It smokes.')
    const picture = await uploadFile(desk.agent, 'a picture', 'pump.png')
    const body = `<p>Look: <img src="cid:${picture.id}"><img src="https://pictures.example/1.png" alt="a pump"></p>`
    await answer(ticket_id, { body, format: 'html', attachment_ids: [picture.id] })
    const { html, text } = await answer(ticket_id, { body: 'And now?' })
    const { attachments } = await simpleParser(desk.sink.messages.at(-1)!.raw)
    expect(attachments).toEqual([])
    expect(html).not.toMatch(/<img|cid:|pictures\.example/)
    expect(text).toContain('> Look:')
  })

  test('stands below the signature, in German when the words are', async () => {
    await desk.admin.patch(`/mailboxes/${desk.mailbox_id}`, { signature: 'Ihr Team' })
    const { ticket_id } = await arrive('Guten Tag, die Pumpe raucht und ich bitte um Hilfe.')
    const { text } = await answer(ticket_id, { body: 'Wasser?' })
    await desk.admin.patch(`/mailboxes/${desk.mailbox_id}`, { signature: null })
    const [rule, line, quoted] = text.slice('Wasser?\n\nIhr Team\n\n'.length).split(/\n+/)
    expect(text).toStartWith('Wasser?\n\nIhr Team\n\n')
    expect(rule).toBe('-----Ursprüngliche Nachricht-----')
    expect(line).toMatch(/^Am \d\d\.\d\d\.\d{4} um \d\d:\d\d UTC schrieb Carla <carla@customer\.example>:$/)
    expect(quoted).toBe('> Guten Tag, die Pumpe raucht und ich bitte um Hilfe.')
  })

  test('stand 20 messages at most', async () => {
    const { ticket_id } = await arrive('Number 0')
    for (let n = 1; n <= 20; n++) await createMessage(desk.agent, ticket_id, { body: `Number ${n}`, send_email: false })
    const { text } = await answer(ticket_id, { quote: 'all' })
    expect([...(text.match(/> Number \d+/g) ?? [])]).toEqual(Array.from({ length: 20 }, (_, n) => `> Number ${20 - n}`))
    expect(text).toEndWith('\n\n[…]')
  })

  test('stand 100,000 bytes at most, cut at a character and marked', async () => {
    const { ticket_id } = await arrive('Before')
    await createMessage(desk.agent, ticket_id, { body: `x${'🐙'.repeat(30_000)}`, send_email: false })
    const { text, html } = await answer(ticket_id, { quote: 'all' })
    const [words = ''] = /x🐙+/u.exec(text) ?? []
    expect(Buffer.byteLength(words)).toBe(99_997)
    expect(text).toEndWith(`🐙\n> […]`)
    expect(html).toContain('🐙\n[…]')
    expect(text + html).not.toMatch(/Before|\ufffd/)
  })

  test('a name cannot be taken for the frame', async () => {
    const { ticket_id } = await arrive('It smokes.', { From: '=?utf-8?Q?Kim=0A=0A>_forged?= <kim@customer.example>' })
    const { text } = await answer(ticket_id)
    expect(text.split('\n').filter((line) => line.startsWith('>'))).toEqual(['> It smokes.'])
  })
})

test('a draft keeps its own choice until it is sent', async () => {
  const { ticket_id } = await arrive('It smokes.')
  const { body } = await desk.agent.post(`/tickets/${ticket_id}/drafts`, { body: 'Try water.', quote: 'none' })
  expect(body.data.quote).toBe('none')
  const path = `/drafts/${body.data.id}`
  expectError(await desk.agent.patch(path, { quote: 'some' }), 422, 'VALIDATION_ERROR')
  expect((await desk.agent.patch(path, { body: 'Try oil.' })).body.data.quote).toBe('none')
  expect((await desk.agent.patch(path, { quote: null })).body.data.quote).toBeNull()
  expect((await desk.agent.patch(path, { quote: 'none' })).body.data.quote).toBe('none')
  expect((await desk.agent.post(`${path}/send`)).status).toBe(201)
  expect((await sent()).text).toBe('Try oil.')
  expectError(
    await desk.agent.post(`/tickets/${ticket_id}/messages`, { body: 'x', quote: 'some' }),
    422,
    'VALIDATION_ERROR',
  )
})

describe('each attempt', () => {
  /** An answer that the server puts off at first. @returns what both attempts brought */
  async function sendTwice(ticket_id: string, fields: Record<string, unknown>, between: () => Promise<unknown>) {
    const tried: string[] = []
    desk.sink.answer((event) => {
      if (event.stage !== 'data') return undefined
      tried.push(String(event.message.raw))
      return tried.length === 1 ? '451 4.7.1 Later' : undefined
    })
    await createMessage(desk.agent, ticket_id, { body: 'Try water.', ...fields })
    await drain()
    await between()
    await connection().sql`update outbox set run_at = now() where kind = 'email'`
    await drain()
    expect(tried).toHaveLength(2)
    const [first, second] = await Promise.all(tried.map((raw) => simpleParser(raw)))
    return [first, second].map((mail) => ({ text: mail!.text!.trimEnd(), html: String(mail!.html) }))
  }

  test('says the same, whatever was written, set or merged since', async () => {
    const { ticket_id } = await arrive('It smokes.')
    const other = (await arrive('Words of another customer', { From: 'dora@other.example' })).ticket_id
    const [first, second] = await sendTwice(ticket_id, {}, async () => {
      await createMessage(desk.agent, other, { body: 'To another customer', send_email: false })
      await createMessage(desk.agent, ticket_id, { body: 'Later', send_email: false })
      await desk.admin.patch(`/mailboxes/${desk.mailbox_id}`, { quote: 'all' })
      const merged = await desk.agent.post(`/tickets/${ticket_id}/merge`, { source_ids: [other] })
      expect(merged.status).toBe(200)
      await desk.admin.patch(`/mailboxes/${desk.mailbox_id}`, { quote: 'last' })
    })
    expect(first!.text).toContain('> It smokes.')
    expect(second).toEqual(first!)
  })

  test('after a merge quotes what came with it, by time', async () => {
    const { ticket_id } = await arrive('One.')
    const other = (await arrive('Two.')).ticket_id
    await createMessage(desk.agent, ticket_id, { body: 'Three.', send_email: false })
    expect((await desk.agent.post(`/tickets/${ticket_id}/merge`, { source_ids: [other] })).status).toBe(200)
    const { text } = await answer(ticket_id, { quote: 'all' })
    expect(text.match(/^> .*$/gm)).toEqual(['> Three.', '> Two.', '> One.'])
  })

  test('leaves out what was deleted meanwhile', async () => {
    const { ticket_id } = await arrive('It smokes.')
    const [message] = (await readTicket(desk.agent, ticket_id)).messages
    const [first, second] = await sendTwice(ticket_id, {}, () =>
      desk.agent.delete(`/tickets/${ticket_id}/messages/${message.id}`),
    )
    expect(first!.text).toContain('> It smokes.')
    expect(second!.text).toBe('Try water.')
    expect(second!.html).not.toContain(RULE)
  })

  test('leaves out who was erased meanwhile, and later answers never quote them', async () => {
    const contact = { name: 'Ed', email: 'ed@erased.example' }
    const { ticket_id } = await arrive('Words of Ed', { From: `Ed <${contact.email}>` })
    const dora = (await arrive('Words of Dora', { From: 'dora@split.example' })).ticket_id
    expect((await desk.agent.post(`/tickets/${dora}/merge`, { source_ids: [ticket_id] })).status).toBe(200)
    const ed = (await desk.agent.get(`/contacts?email=${contact.email}`)).body.data[0]
    const [first, second] = await sendTwice(dora, { quote: 'all' }, async () => {
      expect((await desk.admin.post(`/contacts/${ed.id}/erase`)).status).toBe(200)
    })
    expect(first!.text).toContain('> Words of Ed')
    expect(second!.text).toContain('> Words of Dora')
    expect(second!.text + second!.html).not.toMatch(/Ed\b|erased/)
    const { text } = await answer(dora, { quote: 'all', body: 'Later.' })
    expect(text).not.toMatch(/\bEd\b|erased/)
  })
})
