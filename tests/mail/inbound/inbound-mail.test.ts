/** Mail that arrives becomes tickets and messages: contacts, bodies, attachments, bounces. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { api, type Organization } from '../../support/api'
import { createDesk, type Desk, type StartedDesk, startDesk } from '../../support/desk'
import {
  activityOf,
  createCompany,
  createContact,
  createMessage,
  hearEvents,
  writtenEvents,
} from '../../support/factories'
import {
  createMailbox,
  deliver,
  drain,
  importMail,
  ledgerOf,
  rawMail,
  readTicket,
  startListener,
} from '../../support/mail'
import { buildMail, sendMail } from '../../support/smtp'

/** For tests that look only at the ticket they made. */
let shared: StartedDesk

beforeAll(async () => {
  shared = await startDesk({ smtp: null })
})
afterAll(() => shared.stop())

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')

let counter = 0

/** Fields of a message that nobody sent before. */
function fields(desk: Desk, more: Record<string, string | string[] | undefined> = {}) {
  counter += 1
  return {
    From: 'Carla Customer <carla@customer.example>',
    To: desk.address,
    Subject: 'Printer on fire',
    Message_ID: `<${counter}.${desk.id}@customer.example>`,
    ...more,
  }
}

/** Delivers over SMTP; gives the ledger row. */
async function receive(desk: Desk, raw: Uint8Array, from?: string) {
  await deliver(shared.port, { from, to: desk.address, raw })
  return (await ledgerOf(desk))[0]
}

/** Delivers over SMTP; gives the ticket. */
async function receiveTicket(desk: Desk, raw: Uint8Array, from?: string) {
  const row = await receive(desk, raw, from)
  expect(row).toMatchObject({ outcome: 'ticket', rule: 'new' })
  return readTicket(desk.agent, row.ticket_id)
}

async function contactsOf({ agent }: Organization) {
  return (await agent.get('/contacts')).body.data
}

async function bytesOf(url: string): Promise<Buffer> {
  const response = await api().handle(new Request(url))
  return Buffer.from(await response.arrayBuffer())
}

test('mail of a new sender becomes a ticket with a first message, and the same events as over the API', async () => {
  const desk = await createDesk()
  await hearEvents(desk.scope)
  const ticket = await receiveTicket(desk, rawMail(fields(desk), 'It burns.'))
  expect(ticket).toMatchObject({
    subject: 'Printer on fire',
    status: 'open',
    priority: 'normal',
    contact: { name: 'Carla Customer', email: 'carla@customer.example' },
    company: null,
    assignee: null,
  })
  const [message] = ticket.messages
  expect(ticket.messages).toHaveLength(1)
  expect(message).toMatchObject({
    direction: 'inbound',
    is_internal: false,
    sender: { name: 'Carla Customer', email: 'carla@customer.example' },
    email_sent: false,
    email_status: 'none',
    auto_reply: false,
    attachments: [],
  })
  expect(message.body.trim()).toBe('It burns.')
  const byEmail = await writtenEvents(desk.scope)
  expect(byEmail.map(({ event }) => event)).toEqual(['contact.created', 'ticket.created', 'message.created'])
  expect(byEmail[1].data).toMatchObject({ id: ticket.id, code: ticket.code, contact: ticket.contact })
  expect(byEmail[2].data).toMatchObject({ id: message.id, ticket: { id: ticket.id, code: ticket.code } })
  const types = (await activityOf(desk.scope, ticket.id)).map(({ type }) => type)
  expect(types).toEqual(['created', 'message'])

  const other = await createDesk()
  await hearEvents(other.scope)
  const contact = await createContact(other.agent)
  await other.agent.post('/tickets', { subject: 'Printer on fire', description: 'It burns.', contact_id: contact.id })
  const byApi = await writtenEvents(other.scope)
  expect(byEmail.map(({ event, data }) => [event, Object.keys(data)])).toEqual(
    byApi.map(({ event, data }) => [event, Object.keys(data)]),
  )
})

test('the contact is found without regard to case; its name stays', async () => {
  const desk = await createDesk()
  const contact = await createContact(desk.agent, { name: 'Carla', email: 'Carla@Customer.example' })
  const ticket = await receiveTicket(desk, rawMail(fields(desk, { From: 'Other Name <CARLA@customer.EXAMPLE>' })))
  expect(ticket.contact).toEqual({ id: contact.id, name: 'Carla', email: 'Carla@Customer.example' })
  expect(ticket.messages[0].sender.name).toBe('Other Name')
  expect(await contactsOf(desk)).toHaveLength(1)
})

test('a contact without a display name is called by the local part, and linked to the company of its domain', async () => {
  const desk = shared
  const company = await createCompany(desk.agent, { domains: ['customer.example'], ticket_prefix: 'CUST' })
  const ticket = await receiveTicket(desk, rawMail(fields(desk, { From: 'dora.k@sales.customer.example' })))
  expect(ticket.contact.name).toBe('dora.k')
  expect(ticket.company).toEqual({ id: company.id, name: company.name })
  expect(ticket.code).toMatch(/^CUST-\d+$/)
})

test.each<[string, Record<string, string | undefined>, string]>([
  ['no From at all', { From: undefined }, 'relay@customer.example'],
  ['a From that is no address', { From: 'somebody' }, 'relay@customer.example'],
  ['a From without a domain of the internet', { From: 'root@printer' }, 'root@printer'],
  ['two From fields', { From: 'first@customer.example\r\nFrom: second@customer.example' }, 'first@customer.example'],
])('%s: the sender is found', async (_, header, email) => {
  const desk = shared
  const ticket = await receiveTicket(desk, rawMail(fields(desk, header)))
  expect(ticket.contact.email).toBe(email)
})

test('mail with neither a From nor an envelope sender becomes a ticket over HTTP too', async () => {
  const desk = shared
  const row = await importMail(desk.admin, desk.mailbox_id, rawMail(fields(desk, { From: undefined })))
  expect(row).toMatchObject({ outcome: 'ticket', from: { name: null, email: null } })
  const ticket = await readTicket(desk.agent, row.ticket_id)
  expect(ticket).toMatchObject({ contact: null, messages: [{ sender: { name: 'Unknown sender', email: null } }] })
})

test.each([
  ['', '(no subject)'],
  ['   ', '(no subject)'],
  ['\u200b\u2060\u3164\u202e\u2800\ufe0f', '(no subject)'],
  ['\u202eabc', 'abc'],
  ['=?utf-8?q?Gr=C3=BC=C3=9Fe?=', 'Grüße'],
  ['=?utf-8?q?a=00b?=', 'ab'],
])('the subject %p becomes %p', async (subject, expected) => {
  const desk = shared
  const ticket = await receiveTicket(desk, rawMail(fields(desk, { Subject: subject })))
  expect(ticket.subject).toBe(expected)
})

test('a subject of more than 255 characters is cut', async () => {
  const desk = shared
  const ticket = await receiveTicket(desk, rawMail(fields(desk, { Subject: 'ü'.repeat(300) })))
  expect(ticket.subject).toBe('ü'.repeat(255))
})

test('mail of HTML only has a text made from it, and its HTML is made safe', async () => {
  const desk = shared
  const raw = await buildMail({
    from: 'carla@customer.example',
    to: desk.address,
    html: '<style>p{}</style><p>Hello <b>you</b></p><script>alert(1)</script><img src=x onerror=alert(1)>',
  })
  const { messages } = await receiveTicket(desk, raw)
  expect(messages[0].body).toBe('Hello you')
  expect(messages[0].body_html).toContain('<b>you</b>')
  expect(messages[0].body_html).not.toMatch(/script|onerror|style/)
})

test('mail of text only is escaped in its HTML', async () => {
  const desk = shared
  const { messages } = await receiveTicket(desk, rawMail(fields(desk), 'a < b & c\n<b>no html</b>'))
  expect(messages[0].body).toBe('a < b & c\n<b>no html</b>\n')
  expect(messages[0].body_html).toContain('a &lt; b &amp; c<br>\n&lt;b&gt;no html&lt;/b&gt;')
})

test('attachments are stored with the same bytes, and cid images point to them', async () => {
  const desk = shared
  const pdf = Buffer.from(Array.from({ length: 70_000 }, (_, index) => index % 251))
  const raw = await buildMail({
    from: 'carla@customer.example',
    to: desk.address,
    text: 'See below',
    html: '<p>See <img src="cid:fire@customer.example" alt="fire"></p>',
    icalEvent: { method: 'REQUEST', content: 'BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n' },
    attachments: [
      { filename: 'fire.png', content: PNG, cid: 'fire@customer.example', contentType: 'image/png' },
      { filename: '../../Bericht ü.pdf', content: pdf, contentType: 'application/pdf' },
      { filename: 'log.txt', content: 'one\ntwo\n', contentType: 'text/plain' },
      { filename: 'attached.eml', content: rawMail({ Subject: 'Inner' }, 'Inner text'), contentType: 'message/rfc822' },
    ],
  })
  const { messages } = await receiveTicket(desk, raw)
  const { attachments, body, body_html } = messages[0]
  expect(body.trim()).toBe('See below')
  expect(body).not.toContain('Inner text')
  const names = attachments.map((one: { filename: string }) => one.filename)
  expect(names).toEqual(expect.arrayContaining(['fire.png', 'Bericht ü.pdf', 'log.txt', 'attached.eml']))
  expect(names.some((name: string) => name.endsWith('.ics'))).toBe(true)
  const named = (name: string) => attachments.find((one: { filename: string }) => one.filename === name)
  expect((await bytesOf(named('fire.png').url)).equals(PNG)).toBe(true)
  expect((await bytesOf(named('Bericht ü.pdf').url)).equals(pdf)).toBe(true)
  expect((await bytesOf(named('log.txt').url)).toString()).toBe('one\ntwo\n')
  expect((await bytesOf(named('attached.eml').url)).toString()).toContain('Inner text')
  expect(body_html).toContain(`/api/v1/attachments/${named('fire.png').id}/content?`)
  expect(body_html).not.toContain('cid:')
})

test.each([
  ['an id in another case', 'Content-ID: <Fire@Customer.Example>', '<img src="cid:fire@customer.example">'],
  ['an id in capitals', 'Content-ID: <fire@customer.example>', '<img src="CID:FIRE@CUSTOMER.EXAMPLE">'],
  ['an id as its background', 'Content-ID: <fire@x>', '<table><tr><td background="cid:fire@x">x</td></tr></table>'],
  ['a relative address', 'Content-Location: fire.png', '<img src="fire.png">'],
  ['an absolute address', 'Content-Location: https://x.example/fire.png', '<img src="https://x.example/fire.png">'],
])('an image that the HTML names by %s points to the attachment', async (_, field, html) => {
  const page = `--b\r\nContent-Type: text/html\r\n\r\n<p>See</p>${html}\r\n`
  const picture = `--b\r\nContent-Type: image/png\r\n${field}\r\nContent-Transfer-Encoding: base64\r\n\r\n`
  const header = fields(shared, { Content_Type: 'multipart/related; boundary=b' })
  const row = await receive(shared, rawMail(header, `${page}${picture}${PNG.toString('base64')}\r\n--b--\r\n`))
  const [{ body_html, attachments }] = (await readTicket(shared.agent, row.ticket_id)).messages
  expect(body_html).toContain(`<img src="${attachments[0].url.replaceAll('&', '&amp;')}"`)
})

test('mail that cannot be parsed becomes a ticket with the original attached', async () => {
  const desk = shared
  const parts = Array.from(
    { length: 1200 },
    (_, index) => `--b${index}\r\nContent-Type: multipart/mixed; boundary=b${index + 1}\r\n\r\n`,
  )
  const header = fields(desk, {
    Subject: 'Too deep',
    MIME_Version: '1.0',
    Content_Type: 'multipart/mixed; boundary=b0',
  })
  const raw = rawMail(header, parts.join(''))
  const row = await receive(desk, raw)
  expect(row).toMatchObject({ outcome: 'unparsed', rule: 'new', subject: 'Too deep' })
  const ticket = await readTicket(desk.agent, row.ticket_id)
  expect(ticket).toMatchObject({ subject: 'Too deep', contact: { email: 'carla@customer.example' } })
  const [attachment] = ticket.messages[0].attachments
  expect(attachment).toMatchObject({ filename: 'message.eml', content_type: 'message/rfc822', size: raw.length })
  expect((await bytesOf(attachment.url)).equals(raw)).toBe(true)
})

test.each<[string, (desk: Desk) => Buffer]>([
  ['NUL bytes', (desk) => rawMail(fields(desk, { Subject: 'a\0b', References: '<x\0y@z> <n@z>' }), 'a\0b')],
  [
    '10,000 recipients',
    (desk) =>
      rawMail(fields(desk, { Cc: Array.from({ length: 10_000 }, (_, index) => `u${index}@many.example`).join(', ') })),
  ],
  [
    'ids of many bytes',
    (desk) =>
      rawMail(
        fields(desk, { Message_ID: `<${random(3000)}@x>`, References: `<${random(2000)}@x> <${'ü'.repeat(990)}@x>` }),
      ),
  ],
  [
    '20,000 references',
    (desk) =>
      rawMail(
        fields(desk, {
          References: Array.from({ length: 20_000 }, (_, index) => `<${index}@r.example>`).join('\r\n '),
        }),
      ),
  ],
  [
    'names that are cut within a character',
    (desk) => {
      const name = `=?utf-8?b?${Buffer.from(`${'x'.repeat(254)}😀`).toString('base64')}?=`
      return rawMail(fields(desk, { From: `${name} <c@d.example>`, Cc: `${name} <e@f.example>` }))
    },
  ],
  ['an address that is cut within a character', (desk) => rawMail(fields(desk, { Cc: `x@a${'😀'.repeat(140)}` }))],
  ['nothing but a line', () => Buffer.from('hello')],
  ['an empty message', () => Buffer.from('\r\n')],
  [
    'lone surrogates and bad UTF-8',
    (desk) =>
      rawMail(
        fields(desk, { Subject: '=?utf-8?b?7aCA7bCA/w==?=', From: '=?utf-8?b?7aCA?= <carla@customer.example>' }),
        '\ud800',
      ),
  ],
])('hostile mail is filed: %s', async (_, raw) => {
  const desk = shared
  const row = await receive(desk, raw(desk))
  expect(row).toMatchObject({ outcome: 'ticket', rule: 'new' })
  const ticket = await readTicket(desk.agent, row.ticket_id)
  const answer = await desk.agent.get(`/tickets/${ticket.id}/participants?per_page=100`)
  expect(answer.body.meta.total).toBeLessThanOrEqual(100)
})

function random(length: number): string {
  return Array.from({ length }, () => Math.floor(Math.random() * 36).toString(36)).join('')
}

test('To and Cc of the contact become confirmed participants, own mailboxes and the contact excepted', async () => {
  const desk = await createDesk()
  const second = await createMailbox(desk.admin)
  const to = `${desk.address}, ${second.address.replace('@', '+tag@')}, Carla <CARLA@customer.example>`
  const ticket = await receiveTicket(
    desk,
    rawMail(fields(desk, { To: to, Cc: 'Bob <bob@customer.example>, bob@customer.example' })),
  )
  const participants = (await desk.agent.get(`/tickets/${ticket.id}/participants`)).body.data
  expect(participants).toHaveLength(1)
  expect(participants[0]).toMatchObject({ name: 'Bob', email: 'bob@customer.example', confirmed: true })
})

test('automatic mail is marked', async () => {
  const desk = shared
  const marked = await receiveTicket(desk, rawMail(fields(desk, { Auto_Submitted: 'auto-generated' })))
  expect(marked.messages[0].auto_reply).toBe(true)
  const person = await receiveTicket(desk, rawMail(fields(desk, { X_Auto_Response_Suppress: 'All' })))
  expect(person.messages[0].auto_reply).toBe(false)
})

/** A ticket with an answer that is marked as sent. */
async function createAnswered(desk: Desk) {
  await desk.admin.patch(`/mailboxes/${desk.mailbox_id}`, { smtp: { host: '127.0.0.1', port: 1, security: 'none' } })
  const ticket = await receiveTicket(desk, rawMail(fields(desk)))
  const message = await createMessage(desk.agent, ticket.id, { cc: ['bob@customer.example'] })
  const { sql } = desk.scope
  await sql`delete from outbox where organization_id = ${desk.id}`
  await sql`update message_recipients set status = 'sent' where organization_id = ${desk.id}`
  await sql`update messages set email_status = 'sent' where organization_id = ${desk.id} and id = ${message.id}`
  return { ticket, message }
}

function report(action: string, status: string, original: string, recipient = 'carla@customer.example') {
  return [
    '--b\r\nContent-Type: text/plain\r\n\r\nSorry.\r\n',
    `--b\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mx.example\r\n\r\nFinal-Recipient: rfc822; ${recipient}\r\nAction: ${action}\r\nStatus: ${status}\r\nDiagnostic-Code: smtp; 550 5.1.1 No such user\r\n\r\n`,
    `--b\r\nContent-Type: text/rfc822-headers\r\n\r\nMessage-ID: <${original}>\r\nSubject: Re: Printer\r\n\r\n`,
    '--b--\r\n',
  ].join('')
}

const REPORT = {
  From: 'MAILER-DAEMON@mx.example',
  Subject: 'Undelivered Mail Returned to Sender',
  MIME_Version: '1.0',
  Content_Type: 'multipart/report; report-type=delivery-status; boundary=b',
}

test('a bounce marks the message that it is about, with a note and without a contact', async () => {
  const desk = await createDesk()
  const { ticket, message } = await createAnswered(desk)
  await desk.agent.patch(`/tickets/${ticket.id}`, { status: 'resolved' })
  const raw = rawMail(fields(desk, REPORT), report('failed', '5.1.1', message.email_message_id))
  const row = await receive(desk, raw, '')
  expect(row).toMatchObject({ outcome: 'bounce', rule: null, ticket_id: ticket.id, message_id: message.id })
  const after = await readTicket(desk.agent, ticket.id)
  expect(after.status).toBe('resolved')
  expect(after.messages).toHaveLength(3)
  expect(after.messages[1]).toMatchObject({
    email_status: 'bounced',
    email_error: expect.stringContaining('550 5.1.1 No such user'),
    email_recipients: [
      { email: 'carla@customer.example', status: 'bounced', error: expect.stringContaining('No such user') },
      { email: 'bob@customer.example', status: 'sent', error: null },
    ],
  })
  expect(after.messages[2]).toMatchObject({ is_internal: true, direction: null, sender: { name: 'Deskwire' } })
  expect(after.messages[2].body).toStartWith('The email to carla@customer.example (5.1.1) could not be delivered.')
  expect(after.messages[2].body).toContain('\n> 550 5.1.1 No such user')
  const types = (await activityOf(desk.scope, ticket.id)).map(({ type }) => type)
  expect(types.slice(-2)).toEqual(['email_bounced', 'note'])
  expect(await contactsOf(desk)).toHaveLength(1)
})

test('a warning of delay changes nothing', async () => {
  const desk = await createDesk()
  const { ticket, message } = await createAnswered(desk)
  const before = await readTicket(desk.agent, ticket.id)
  const raw = rawMail(
    fields(desk, { ...REPORT, Subject: 'Delayed' }),
    report('delayed', '4.4.1', message.email_message_id),
  )
  expect(await receive(desk, raw, '')).toMatchObject({ outcome: 'bounce', message_id: message.id })
  expect((await readTicket(desk.agent, ticket.id)).messages).toEqual(before.messages)
})

test('a bounce about mail that is not ours is counted and makes nothing', async () => {
  const desk = await createDesk()
  const raw = rawMail(fields(desk, REPORT), report('failed', '5.1.1', 'unknown@elsewhere.example'))
  expect(await receive(desk, raw, '')).toMatchObject({ outcome: 'unmatched_bounce', ticket_id: null })
  const plain = rawMail(fields(desk, { From: 'postmaster@mx.example', Subject: 'Something failed' }))
  expect(await receive(desk, plain, '')).toMatchObject({ outcome: 'unmatched_bounce', ticket_id: null })
  expect((await desk.agent.get('/tickets')).body.meta.total).toBe(0)
  expect(await contactsOf(desk)).toEqual([])
})

test('a bounce cannot touch the message of another organization', async () => {
  const [desk, other] = [await createDesk(), await createDesk()]
  const { ticket, message } = await createAnswered(desk)
  const raw = rawMail(fields(other, REPORT), report('failed', '5.1.1', message.email_message_id))
  expect(await receive(other, raw, '')).toMatchObject({ outcome: 'unmatched_bounce', ticket_id: null })
  expect((await readTicket(desk.agent, ticket.id)).messages[1].email_status).toBe('sent')
})

test('what a mail system writes about our message is a bounce that marks nothing, an automatic answer is none', async () => {
  const desk = await createDesk()
  const { ticket, message } = await createAnswered(desk)
  const about = { In_Reply_To: `<${message.email_message_id}>` }
  const away = rawMail(fields(desk, { ...about, Auto_Submitted: 'auto-replied', Subject: 'Away' }))
  expect(await receive(desk, away, '')).toMatchObject({ outcome: 'message', ticket_id: ticket.id })
  expect((await readTicket(desk.agent, ticket.id)).messages[1].email_status).toBe('sent')
  const bare = rawMail(fields(desk, { ...about, From: 'MAILER-DAEMON@mx.example', Subject: 'Mailbox full' }))
  expect(await receive(desk, bare, '')).toMatchObject({ outcome: 'bounce', message_id: message.id })
  const after = await readTicket(desk.agent, ticket.id)
  expect(after.messages.map((one: { auto_reply: boolean }) => one.auto_reply)).toEqual([false, false, true, false])
  expect(after.messages[1]).toMatchObject({ email_status: 'sent', email_error: null })
  expect(await contactsOf(desk)).toHaveLength(1)
})

test('mail that this organization sent is dropped, mail of another organization of the service is not', async () => {
  const [desk, other] = [await createDesk(), await createDesk()]
  const { message } = await createAnswered(desk)
  const raw = rawMail(fields(desk, { Message_ID: `<${message.email_message_id}>` }), message.body)
  expect(await receive(desk, raw)).toMatchObject({ outcome: 'own', ticket_id: null, message_id: null })
  expect((await desk.agent.get('/tickets')).body.meta.total).toBe(1)
  expect(await receive(other, raw)).toMatchObject({ outcome: 'ticket' })
})

test('a message is taken once however often it is delivered, with or without a Message-ID', async () => {
  const desk = await createDesk()
  for (const Message_ID of ['<same@customer.example>', undefined]) {
    const raw = rawMail(fields(desk, { Message_ID, Subject: `With ${Message_ID}` }))
    expect(await receive(desk, raw)).toMatchObject({ outcome: 'ticket' })
    const relayed = Buffer.concat([Buffer.from('Received: from another.example\r\n'), raw])
    expect(await receive(desk, relayed)).toMatchObject({ outcome: 'duplicate', rule: null, ticket_id: null })
  }
  expect((await desk.agent.get('/tickets')).body.meta.total).toBe(2)
})

test('messages without a Message-ID differ when their writer, recipients or ancestors do', async () => {
  const desk = await createDesk()
  const same = { Message_ID: undefined, Subject: 'Printer', Date: undefined }
  const other = 'dora@customer.example'
  const mails = [
    { from: 'a@one.example', fields: { From: undefined } },
    { from: 'b@two.example', fields: { From: undefined } },
    { from: 'c@three.example', fields: { From: 'c@three.example' } },
    { from: 'c@three.example', fields: { From: 'c@three.example', Cc: other } },
    { from: 'c@three.example', fields: { From: 'c@three.example', In_Reply_To: '<unseen@two.example>' } },
  ]
  for (const { from, fields: own } of mails) {
    const raw = rawMail({ ...fields(desk, same), ...own })
    await sendMail({ port: shared.port, from, to: desk.address, raw })
  }
  await drain()
  expect((await ledgerOf(desk)).map(({ outcome }: { outcome: string }) => outcome)).not.toContain('duplicate')
})

test('a Message-ID that somebody used before does not hide another message', async () => {
  const desk = await createDesk()
  const used = fields(desk, { Message_ID: '<constant>', Date: 'Sat, 21 Nov 2026 10:00:00 +0000' })
  const mails = [
    rawMail({ ...used, From: 'eve@attacker.example' }, 'Mine'),
    rawMail(used, 'Smoke in hall 1'),
    rawMail({ ...used, Date: 'Sat, 21 Nov 2026 10:05:00 +0000' }, 'Smoke in hall 1'),
    rawMail({ ...used, Date: undefined }, 'Smoke in hall 1'),
    rawMail({ ...used, Date: undefined }, 'Fire in hall 1'),
  ]
  for (const raw of mails) expect((await receive(desk, raw)).outcome).not.toBe('duplicate')
  for (const raw of mails) expect(await receive(desk, raw)).toMatchObject({ outcome: 'duplicate' })
})

test('words that a device sends again and again are the same message for an hour', async () => {
  const desk = await createDesk()
  const { sql } = connection()
  const raw = rawMail(fields(desk, { Message_ID: undefined, Date: undefined }), 'Door open')
  expect(await receive(desk, raw)).toMatchObject({ outcome: 'ticket' })
  expect(await receive(desk, raw)).toMatchObject({ outcome: 'duplicate' })
  const age = async (minutes: number) => {
    const time = (Date.now() - minutes * 60_000).toString(16).padStart(12, '0')
    const id = `${time.slice(0, 8)}-${time.slice(8)}-${newId().slice(14)}`
    await sql`update inbound_fingerprints set inbound_message_id = ${id} where organization_id = ${desk.id}`
  }
  await age(59)
  expect(await receive(desk, raw)).toMatchObject({ outcome: 'duplicate' })
  await age(61)
  expect(await receive(desk, raw)).toMatchObject({ outcome: 'ticket' })
  expect(await receive(desk, raw)).toMatchObject({ outcome: 'duplicate' })
})

test('whom a mail names that only knows the code is not subscribed until an agent says so', async () => {
  const desk = await createDesk()
  const { ticket, message } = await createAnswered(desk)
  const participants = async () => {
    const { data } = (await desk.agent.get(`/tickets/${ticket.id}/participants`)).body
    return data.map(({ email, confirmed }: { email: string; confirmed: boolean }) => [email, confirmed])
  }
  const guess = fields(desk, { Subject: `Re: [${ticket.code}]`, Cc: 'eve@attacker.example' })
  expect(await receive(desk, rawMail(guess))).toMatchObject({ rule: 'subject_code', ticket_id: ticket.id })
  expect(await participants()).toEqual([['eve@attacker.example', false]])
  const reply = fields(desk, { In_Reply_To: `<${message.email_message_id}>`, Cc: 'bob@customer.example' })
  expect(await receive(desk, rawMail(reply))).toMatchObject({ rule: 'in_reply_to', ticket_id: ticket.id })
  expect(await participants()).toContainEqual(['bob@customer.example', true])
})

test('two deliveries of a message at once make one ticket', async () => {
  const desk = await createDesk()
  const raw = rawMail(fields(desk))
  const mail = { port: shared.port, from: 'carla@customer.example', to: desk.address, raw }
  await Promise.all([sendMail(mail), sendMail(mail), sendMail(mail)])
  await drain()
  expect((await ledgerOf(desk)).map(({ outcome }: { outcome: string }) => outcome).sort()).toEqual([
    'duplicate',
    'duplicate',
    'ticket',
  ])
})

test('messages of one conversation that are filed at once make one ticket', async () => {
  const desk = await createDesk()
  const first = fields(desk)
  const raws = [
    rawMail(first),
    ...[1, 2, 3].map(() => rawMail(fields(desk, { References: '<unseen@customer.example>' }))),
  ]
  await Promise.all(
    raws.slice(1).map((raw) => sendMail({ port: shared.port, from: 'carla@customer.example', to: desk.address, raw })),
  )
  await drain()
  expect((await desk.agent.get('/tickets')).body.meta.total).toBe(1)
})

test('the files of a message keep their order, however long each takes to store', async () => {
  const desk = await createDesk()
  const contents = Array.from({ length: 40 }, (_, index) => `${index} ${'x'.repeat((index % 3) * 100_000)}`)
  const mail = { from: 'carla@customer.example', to: desk.address, subject: 'Files', text: 'See' }
  const attachments = contents.map((content, index) => ({ filename: `${index}.txt`, content }))
  const listener = await startListener({ max_bytes: 30_000_000 })
  await deliver(listener.port, { to: desk.address, raw: await buildMail({ ...mail, attachments }) })
  await listener.close()
  const [row] = await ledgerOf(desk)
  const { messages } = await readTicket(desk.agent, row.ticket_id)
  const found = messages[0].attachments.map(({ filename, size }: { filename: string; size: number }) => [
    filename,
    size,
  ])
  expect(found).toEqual(contents.map((content, index) => [`${index}.txt`, content.length]))
  expect((await bytesOf(messages[0].attachments[31].url)).toString()).toBe(contents[31]!)
})
