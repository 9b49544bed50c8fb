/** The form of a text, `text` or `html`, on every way in: what is shown, kept, changed and sent. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import fc from 'fast-check'
import { simpleParser } from 'mailparser'
import { newId } from '../../../src/base/db/columns'
import { unescapeHtml } from '../../../src/base/html/text'
import { expectError } from '../../support/api'
import { createCustomer } from '../../support/customers'
import { type StartedDesk, startDesk } from '../../support/desk'
import { createMessage, createTicket } from '../../support/factories'
import { drain, importMail, rawMail } from '../../support/mail'

let desk: StartedDesk

beforeEach(async () => {
  await drain()
  desk.sink.messages.length = 0
})
beforeAll(async () => {
  desk = await startDesk()
})
afterAll(() => desk.stop())

const withoutBlanks = (text: string) => text.replace(/\s+/g, '')
const shownBy = (html: string) => withoutBlanks(unescapeHtml(html.replace(/<[^>]*>/g, '')))

async function lastMail() {
  await drain()
  const { text, html } = await simpleParser(desk.sink.messages.at(-1)!.raw)
  return { text: text!, html: String(html) }
}

test.each([
  ['if a<b and c>d then stop the pump', undefined, 'text'],
  ['Use <b> for bold', undefined, 'text'],
  ['<p>Try <b>water</b>', undefined, 'html'],
  ['<p>Try water</p>', 'text', 'text'],
  ['a & b', 'html', 'html'],
  ['Write to <kim@x.example> or <https://x.example>', undefined, 'text'],
])('%j with format %p is %s', async (body, format, expected) => {
  const { id } = await createTicket(desk.agent)
  const message = await createMessage(desk.agent, id, { body, ...(format && { format }) })
  expect(message).toMatchObject({ body, format: expected })
  const words = withoutBlanks(expected === 'text' ? body : body.replace(/<[^>]*>/g, ''))
  expect(shownBy(message.body_html)).toBe(words)
  const { text, html } = await lastMail()
  expect(withoutBlanks(text)).toBe(words)
  expect(shownBy(html)).toContain(words)
  expect((await desk.agent.get(`/tickets/${id}/messages/${message.id}`)).body.data.format).toBe(expected)
})

test('what looks like a tag and is called like no element is shown in HTML, and no script is', async () => {
  const { id } = await createTicket(desk.agent)
  const body = '<p>Ask <kim@x.example> about List<String> and <K, V></p><script>alert(1)</script>'
  const { body_html } = await createMessage(desk.agent, id, { body, format: 'html' })
  expect(shownBy(body_html)).toBe(withoutBlanks('Ask <kim@x.example> about List<String> and <K, V>'))
  expect(body_html).not.toContain('script')
})

test.each(['markdown', 'HTML', '', 1])('format %p is refused, and nothing is written', async (format) => {
  const { id } = await createTicket(desk.agent)
  const answer = await desk.agent.post(`/tickets/${id}/messages`, { body: 'Hello', format })
  expectError(answer, 422, 'VALIDATION_ERROR')
  expect(answer.body.error.details.errors).toMatchObject([{ path: '/format' }])
  expect((await desk.agent.get(`/tickets/${id}/messages`)).body.data).toEqual([])
})

test('text shows exactly its characters in the API, in the email and to the customer', async () => {
  const { agent, admin } = await desk.createDesk()
  const customer = await createCustomer(admin)
  const { id } = await createTicket(agent, { contact_id: customer.contact.id })
  const signs = ['<', '>', '&', '&amp;', '<b>', '</p>', '"', "'", '\n', '\r\n', ' ', '<!--', 'ü', '😀', 'x', 'www.']
  const others = [
    '\u0001',
    '\u001b',
    '\u007f',
    '\u0085',
    '\u00ad',
    '\u202e',
    '\u2028',
    '\ufeff',
    '\nFrom ',
    '\n.\n',
    '\n-- \n',
  ]
  const part = fc.oneof(fc.constantFrom(...signs, ...others), fc.string({ unit: 'grapheme', maxLength: 5 }))
  const bodies = fc.sample(
    fc.array(part, { minLength: 1, maxLength: 30 }).map((parts) => `a${parts.join('')}`),
    40,
  )
  for (const body of bodies) {
    const message = await createMessage(agent, id, { body, format: 'text' })
    expect({ body, shown: shownBy(message.body_html) }).toEqual({ body, shown: withoutBlanks(body) })
    const { text, html } = await lastMail()
    expect([body, withoutBlanks(text)]).toEqual([body, withoutBlanks(body)])
    expect(shownBy(html)).toContain(withoutBlanks(body))
    const { data } = (await customer.get(`/my/tickets/${id}/messages?per_page=100`)).body
    expect(shownBy(data.at(-1).body_html)).toBe(withoutBlanks(body))
  }
})

test('a changed draft guesses anew, a format alone reads the kept body anew, and sending keeps it', async () => {
  const { id } = await createTicket(desk.agent)
  const { data: draft } = (await desk.agent.post(`/tickets/${id}/drafts`, { body: '<p>Hello</p>' })).body
  expect(draft.format).toBe('html')
  const patched = async (change: object) => (await desk.agent.patch(`/drafts/${draft.id}`, change)).body.data
  expect(await patched({ body: 'a<b' })).toMatchObject({ body: 'a<b', format: 'text' })
  expect(await patched({ body: '<p>Hello</p>', format: 'text' })).toMatchObject({ format: 'text' })
  expect(await patched({ format: 'html' })).toMatchObject({ body: '<p>Hello</p>', format: 'html' })
  expect(await patched({ format: 'text' })).toMatchObject({ body: '<p>Hello</p>', format: 'text' })
  const sent = await desk.agent.post(`/drafts/${draft.id}/send`, {})
  expect(sent.body.data).toMatchObject({ body: '<p>Hello</p>', format: 'text' })
  expect(shownBy(sent.body.data.body_html)).toBe('<p>Hello</p>')
})

test('a macro and a signature have a form as long as they have a text', async () => {
  const silent = await desk.agent.post('/macros', { name: newId(), format: 'html', changes: { status: 'pending' } })
  expect([silent.status, silent.body.data?.format]).toEqual([201, null])
  const { data: macro } = (await desk.agent.post('/macros', { name: newId(), body: 'x < y' })).body
  expect(macro.format).toBe('text')
  const changed = async (change: object) => (await desk.agent.patch(`/macros/${macro.id}`, change)).body.data
  expect(await changed({ format: 'html' })).toMatchObject({ body: 'x < y', format: 'html' })
  expect(await changed({ body: '<p>Hi</p>', format: 'text' })).toMatchObject({ format: 'text' })
  expect(await changed({ body: null, changes: { status: 'pending' } })).toMatchObject({ body: null, format: null })

  const { admin, agent, mailbox_id } = await desk.createDesk()
  const { data: mailbox } = (await admin.get(`/mailboxes/${mailbox_id}`)).body
  expect(mailbox).toMatchObject({ signature: null, signature_format: null })
  const signed = async (change: object) => (await admin.patch(`/mailboxes/${mailbox_id}`, change)).body.data
  expect(await signed({ signature: '<b>Kim</b>' })).toMatchObject({ signature_format: 'html' })
  expect(await signed({ signature_format: 'text' })).toMatchObject({
    signature: '<b>Kim</b>',
    signature_format: 'text',
  })
  const { id } = await createTicket(agent)
  await createMessage(agent, id, { body: 'Hello' })
  expect(shownBy((await lastMail()).html)).toContain('<b>Kim</b>')
  expect(await signed({ signature: null })).toMatchObject({ signature: null, signature_format: null })
})

test('a description has a form, and mail that came in is HTML when it has a part of it', async () => {
  const description = '<p>The pump</p>'
  const { id } = await createTicket(desk.agent, { description, description_format: 'text' })
  const [first] = (await desk.agent.get(`/tickets/${id}/messages`)).body.data
  expect(first).toMatchObject({ body: description, format: 'text' })
  for (const [type, expected] of [
    ['text/plain', 'text'],
    ['text/html', 'html'],
  ]) {
    const raw = rawMail({ Subject: newId(), 'Content-Type': `${type}; charset=utf-8` }, '<p>Hello</p>')
    const { ticket_id } = await importMail(desk.admin, desk.mailbox_id, raw)
    expect((await desk.agent.get(`/tickets/${ticket_id}/messages`)).body.data[0].format).toBe(expected)
  }
})
