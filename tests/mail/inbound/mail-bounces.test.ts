/** Bounces: a report finds the message it is about, and changes the outcome of its recipient. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { EVENTS } from '../../../src/base/db/schema'
import { bounceAddress, newMessageId, replyAddress } from '../../../src/desk/messages/anchors'
import { type Desk, type StartedDesk, startDesk } from '../../support/desk'
import { createMessage, hearEvents, writtenEvents } from '../../support/factories'
import { deliver, drain, importMail, ledgerOf, rawMail, readTicket } from '../../support/mail'
import type { ReceivedMail } from '../../support/smtp'

let desk: StartedDesk
let elsewhere: Desk

beforeAll(async () => {
  desk = await startDesk({ address: 'help@desk.example' })
  elsewhere = await desk.createDesk({ address: 'help@elsewhere.example' })
})
beforeEach(() => desk.sink.answer())
afterAll(() => desk.stop())

function person(domain = 'customer.example'): string {
  return `person.${newId()}@${domain}`
}

/** Delivers over SMTP; gives the ledger row. */
async function receive(raw: Uint8Array, to = desk.address, from = '', at: Desk = desk) {
  await deliver(desk.port, { from, to, raw })
  return (await ledgerOf(at))[0]
}

type Sent = { ticket_id: string; contact: string; theirs: string; id: string; email_message_id: string; code: string }

/** A conversation of a new contact, with an email of ours that was sent. */
async function converse(cc: string[] = [], at: Desk = desk, contact = person()): Promise<Sent> {
  const theirs = `${newId()}@customer.example`
  const raw = rawMail({ From: contact, To: at.address, Subject: 'Printer', Message_ID: `<${theirs}>` })
  const { ticket_id } = await importMail(at.admin, at.mailbox_id, raw)
  return { ticket_id, contact, theirs, ...(await answer(ticket_id, cc, at)) }
}

async function answer(ticket_id: string, cc: string[] = [], at: Desk = desk) {
  const { id, email_message_id } = await createMessage(at.agent, ticket_id, { cc })
  await drain()
  const { code } = await readTicket(at.agent, ticket_id)
  return { id, email_message_id, code }
}

async function readMessage({ ticket_id, id }: { ticket_id: string; id: string }, at: Desk = desk) {
  return (await at.agent.get(`/tickets/${ticket_id}/messages/${id}`)).body.data
}

async function notesOf(ticket_id: string): Promise<string[]> {
  const { messages } = await readTicket(desk.agent, ticket_id)
  return messages.filter((one: { is_internal: boolean }) => one.is_internal).map(({ body }: { body: string }) => body)
}

async function statusesOf(message: Sent) {
  const { email_recipients } = await readMessage(message)
  return Object.fromEntries(
    email_recipients.map(({ email, status }: { email: string; status: string }) => [email, status]),
  )
}

type Fields = Record<string, string | undefined>
type Outcome = { address: string; action?: string; diagnostic?: string }

const NO_USER = '550 5.1.1 No such user'

/** A delivery report (RFC 3464). @param quoted the message that it returns, or its header @param type of that part */
function report(outcomes: Outcome[], quoted = '', fields: Fields = {}, type = 'text/rfc822-headers'): Buffer {
  const recipients = outcomes.map(({ address, action = 'failed', diagnostic = NO_USER }) => {
    const status = { failed: '5.1.1', delayed: '4.4.1' }[action] ?? '2.0.0'
    return `Final-Recipient: rfc822; ${address}\nAction: ${action}\nStatus: ${status}\nDiagnostic-Code: smtp; ${diagnostic}\n`
  })
  const header = {
    From: 'MAILER-DAEMON@mx.example',
    To: desk.address,
    Subject: 'Undelivered Mail Returned to Sender',
    Message_ID: `<${newId()}@mx.example>`,
    MIME_Version: '1.0',
    Content_Type: 'multipart/report; report-type=delivery-status; boundary=b',
    ...fields,
  }
  const parts = [
    `Content-Type: message/delivery-status\n\nReporting-MTA: dns; mx.example\n\n${recipients.join('\n')}`,
    ...(quoted ? [`Content-Type: ${type}\n\n${quoted}\n`] : []),
  ]
  return rawMail(header, `${parts.map((part) => `--b\n${part}`).join('\n')}\n--b--`)
}

/** A bounce in plain words, without a report that a machine could read. */
function plain(fields: Fields = {}, body = 'Sorry.'): Buffer {
  const header = { From: 'robot@mx.example', To: desk.address, Subject: 'No such user' }
  return rawMail({ ...header, Message_ID: `<${newId()}@mx.example>`, ...fields }, body)
}

test.each<[string, (message: Sent) => Buffer]>([
  [
    'the header that it returns',
    ({ contact, email_message_id }) => report([{ address: contact }], `Message-ID: <${email_message_id}>`),
  ],
  [
    'its In-Reply-To',
    ({ contact, email_message_id }) => report([{ address: contact }], '', { In_Reply_To: `<${email_message_id}>` }),
  ],
  [
    'its References',
    ({ contact, email_message_id }) => report([{ address: contact }], '', { References: `<${email_message_id}>` }),
  ],
  [
    'a header quoted in its text',
    ({ contact, email_message_id }) =>
      report([{ address: contact }], `Subject: Re: Printer\n\nMessage-ID: <${email_message_id}>`, {}, 'text/plain'),
  ],
  [
    'an id whose case and domain a relay changed',
    ({ contact, email_message_id }) =>
      report(
        [{ address: contact }],
        `Message-ID: <${email_message_id.toUpperCase().replace(/@.*/, '@RELAY.EXAMPLE')}>`,
      ),
  ],
])('a report is about our message by %s', async (_, raw) => {
  const sent = await converse()
  expect(await receive(raw(sent))).toMatchObject({ outcome: 'bounce', rule: null, message_id: sent.id })
  expect(await readMessage(sent)).toMatchObject({
    email_status: 'bounced',
    email_error: expect.stringContaining(NO_USER),
    email_recipients: [{ email: sent.contact, status: 'bounced' }],
  })
  expect(await notesOf(sent.ticket_id)).toHaveLength(1)
})

test('a report is about our message by the id that the server put in place of ours', async () => {
  const given = `${newId()}@AM0.eurprd01.prod.outlook.com`
  desk.sink.answer(({ stage }) =>
    stage === 'data' ? `250 2.0.0 OK <${given}> [Hostname=AM0.eurprd01.prod.outlook.com]` : undefined,
  )
  const sent = await converse()
  const row = await receive(report([{ address: sent.contact }], `Message-ID: <${given}>`))
  expect(row).toMatchObject({ outcome: 'bounce', message_id: sent.id })
  expect(await statusesOf(sent)).toEqual({ [sent.contact]: 'bounced' })
})

test('a report to the bounce address of a message is about that one, whatever it quotes', async () => {
  const [sent, other] = [await converse(), await converse()]
  const to = bounceAddress(desk.address, sent.id)
  const quoted = `Message-ID: <${other.email_message_id}>`
  const reports: [Buffer, string][] = [
    [report([{ address: sent.contact, diagnostic: '550 5.1.1 First' }]), to],
    [report([{ address: sent.contact, diagnostic: '550 5.1.1 Second' }], quoted), to.toUpperCase()],
    [report([{ address: sent.contact, diagnostic: '550 5.1.1 Third' }], '', { To: to }), desk.address],
    [plain({ Subject: '550 5.1.1 Fourth' }), to],
    [plain({ Subject: '550 5.1.1 Fifth', From: 'MAILER-DAEMON@mx.example', Auto_Submitted: 'auto-replied' }), to],
  ]
  for (const [raw, address] of reports) {
    expect(await receive(raw, address)).toMatchObject({ outcome: 'bounce', message_id: sent.id })
  }
  const notes = await notesOf(sent.ticket_id)
  expect(notes.map((note) => /^> 550 5\.1\.1 (.*)$/m.exec(note)?.[1])).toEqual([
    'First',
    'Second',
    'Third',
    'Fourth',
    'Fifth',
  ])
  expect((await readMessage(other)).email_status).toBe('sent')
})

test('with VERP a report needs nothing but the address that it comes to', async () => {
  await desk.admin.patch(`/mailboxes/${desk.mailbox_id}`, { verp: true })
  const [sent, other] = [await converse(), await converse()]
  await desk.admin.patch(`/mailboxes/${desk.mailbox_id}`, { verp: false })
  const [{ from }, { from: from_other }] = desk.sink.messages.slice(-2) as [ReceivedMail, ReceivedMail]
  expect([from, from_other]).toEqual([sent, other].map(({ id }) => bounceAddress(desk.address, id)))
  expect(await receive(plain({ From: 'robot@mx.example' }), from)).toMatchObject({
    outcome: 'bounce',
    message_id: sent.id,
  })
  expect(await statusesOf(sent)).toEqual({ [sent.contact]: 'bounced' })
  expect(await statusesOf(other)).toEqual({ [other.contact]: 'sent' })
})

test('a report with a sender is taken at a bounce address too', async () => {
  const sent = await converse()
  const row = await receive(report([{ address: sent.contact }]), bounceAddress(desk.address, sent.id), 'mx@mx.example')
  expect(row).toMatchObject({ outcome: 'bounce', message_id: sent.id })
})

test('what is no report at a bounce address is threaded as any other mail of who holds an anchor', async () => {
  const sent = await converse()
  const to = bounceAddress(desk.address, sent.id)
  const expected = { outcome: 'message', rule: 'reply_tag', ticket_id: sent.ticket_id }
  expect(await receive(plain({ From: sent.contact, Subject: 'Thanks' }), to, sent.contact)).toMatchObject(expected)
  const away = plain({ From: sent.contact, Subject: 'Away', Auto_Submitted: 'auto-replied' })
  expect(await receive(away, to)).toMatchObject(expected)
  const stranger = person('elsewhere.example')
  expect(await receive(plain({ From: stranger }), to, stranger)).toMatchObject(expected)
  const { data } = (await desk.agent.get(`/tickets/${sent.ticket_id}/participants`)).body
  expect(data).toMatchObject([{ email: stranger, confirmed: false }])
  expect((await readMessage(sent)).email_status).toBe('sent')
  const { messages } = await readTicket(desk.agent, sent.ticket_id)
  expect(messages.map((one: { auto_reply: boolean }) => one.auto_reply)).toEqual([false, false, false, true, false])
})

test('what people write about mail is filed as theirs, and in an answer of them nothing has bounced', async () => {
  const app = { From: `System Administrator <${person()}>`, Subject: 'Error sending mail from the app' }
  const words = 'The app says: error sending. Please fix it.'
  expect(await receive(plain(app, words), desk.address, 'it@customer.example')).toMatchObject({ outcome: 'ticket' })
  const contact = `postmaster@${newId()}.example`
  const sent = await converse([], desk, contact)
  const fields = { From: `Jane (Postmaster) <${contact}>`, Subject: 'Re: Mail delivery failed' }
  const raw = plain(
    { ...fields, In_Reply_To: `<${sent.email_message_id}>` },
    `It could not be delivered to bob@x.example:\n550 5.1.1 User unknown\nMessage-ID: <${sent.email_message_id}>`,
  )
  expect(await receive(raw, desk.address, contact)).toMatchObject({ outcome: 'message', ticket_id: sent.ticket_id })
  expect((await readMessage(sent)).email_status).toBe('sent')
  const { messages } = await readTicket(desk.agent, sent.ticket_id)
  expect(messages.at(-1)).toMatchObject({ direction: 'inbound', auto_reply: false })
})

test('a read receipt that only its machine part connects with our email joins the ticket', async () => {
  const sent = await converse()
  const type = 'multipart/report; report-type=disposition-notification; boundary=b'
  const part = `Content-Type: message/disposition-notification\n\nOriginal-Message-ID: <${sent.email_message_id}>\n`
  const raw = rawMail({ From: sent.contact, Subject: 'Read', Content_Type: type }, `--b\n${part}\n--b--`)
  expect(await receive(raw, desk.address, sent.contact)).toMatchObject({
    outcome: 'message',
    ticket_id: sent.ticket_id,
  })
  const { messages } = await readTicket(desk.agent, sent.ticket_id)
  expect(messages.at(-1)).toMatchObject({ auto_reply: true })
})

test('a report to the reply address of a ticket is about its latest email to whom it names', async () => {
  const bob = person()
  const first = await converse([bob])
  const second = { ...first, ...(await answer(first.ticket_id)) }
  const to = replyAddress(desk.address, first.ticket_id)
  expect(await receive(report([{ address: bob }]), to)).toMatchObject({ outcome: 'bounce', message_id: first.id })
  expect(await statusesOf(first)).toEqual({ [first.contact]: 'sent', [bob]: 'bounced' })
  expect((await readMessage(second)).email_status).toBe('sent')
  const about_second = report([{ address: first.contact }])
  expect(await receive(about_second, to)).toMatchObject({ outcome: 'bounce', message_id: second.id })
  expect(await statusesOf(first)).toEqual({ [first.contact]: 'sent', [bob]: 'bounced' })
  const third = await answer(first.ticket_id)
  const forwarded = report([{ address: 'forwarded@elsewhere.example', diagnostic: '552 5.2.2 Full' }])
  expect(await receive(forwarded, to)).toMatchObject({ outcome: 'bounce', message_id: third.id })
  const bare = plain({ From: 'MAILER-DAEMON@mx.example', Subject: 'Gone' })
  expect(await receive(bare, to)).toMatchObject({ outcome: 'bounce', message_id: third.id })
})

test('a report to a reply address is no report about our mail when somebody is to be answered, or nothing was sent', async () => {
  const sent = await converse()
  const to = replyAddress(desk.address, sent.ticket_id)
  const raw = report([{ address: sent.contact }])
  expect(await receive(raw, to, 'daemon@mx.example')).toMatchObject({ outcome: 'unmatched_bounce' })
  const contact = person()
  const { ticket_id } = await receive(plain({ From: contact, Subject: 'Never answered' }), desk.address, contact)
  await createMessage(desk.agent, ticket_id, { send_email: false })
  const about_nothing = report([{ address: contact }])
  expect(await receive(about_nothing, replyAddress(desk.address, ticket_id))).toMatchObject({
    outcome: 'unmatched_bounce',
  })
  expect((await readMessage(sent)).email_status).toBe('sent')
})

/** Our email after a relay that replaces every Message-ID. */
function relayed({ email_message_id }: { email_message_id: string }): string {
  const isIt = ({ raw }: ReceivedMail) =>
    /^Message-ID:\s+<(.+)>/im.exec(raw.toString('latin1'))?.[1] === email_message_id
  const mail = desk.sink.messages.find(isIt)
  return mail!.raw.toString('latin1').replace(email_message_id, `${newId()}@relay.example`).replaceAll('\r\n', '\n')
}

function headerOf(mail: string): string {
  return mail.slice(0, mail.indexOf('\n\n'))
}

const RETURNED: [string, (contact: string, mail: string) => Buffer][] = [
  ['whole', (contact, mail) => report([{ address: contact }], mail, {}, 'message/rfc822')],
  ['by its header', (contact, mail) => report([{ address: contact }], headerOf(mail))],
  [
    'in the text',
    (contact, mail) =>
      plain(
        { From: 'MAILER-DAEMON@mx.example', Subject: 'failure notice' },
        `Hi. This is the qmail-send program at mx.example.\nI'm afraid I wasn't able to deliver your message.\n\n<${contact}>:\n${NO_USER}\n\n--- Below this line is a copy of the message.\n\nReturn-Path: <${desk.address}>\n${mail}`,
      ),
  ],
]

test.each(RETURNED)(
  'our message is known by its reply address when a report returns it %s with another id',
  async (way, returned) => {
    const bob = person()
    // Text marks nothing: anybody can write it.
    const after = way === 'in the text' ? 'sent' : 'bounced'
    const first = await converse([bob])
    const second = { ...first, ...(await answer(first.ticket_id)) }
    await answer((await converse()).ticket_id, [bob])
    expect(await receive(returned(bob, relayed(first)))).toMatchObject({ outcome: 'bounce', message_id: first.id })
    expect(await statusesOf(first)).toEqual({ [first.contact]: 'sent', [bob]: after })
    expect((await readMessage(second)).email_status).toBe('sent')
    const row = await receive(returned(first.contact, relayed(second)), desk.address, 'reports@relay.example')
    expect(row).toMatchObject({ outcome: 'bounce', message_id: second.id })
    expect(await statusesOf(first)).toEqual({ [first.contact]: 'sent', [bob]: after })
    expect(await statusesOf(second)).toEqual({ [first.contact]: after })
    expect((await notesOf(first.ticket_id)).filter((note) => note.includes('+'))).toEqual([])
  },
)

test('our message is known by the bounce address that a report returns with another id', async () => {
  const first = await converse()
  await answer(first.ticket_id)
  const returned = `Return-Path: <${bounceAddress(desk.address, first.id)}>\n${headerOf(relayed(first))}`
  const row = await receive(report([{ address: first.contact }], returned))
  expect(row).toMatchObject({ outcome: 'bounce', message_id: first.id })
})

test('a reply address that a report returns tells of nobody but those who failed and got mail', async () => {
  const [bob, late, refused] = [person(), person(), person()]
  desk.sink.answer(({ stage, address }) => {
    if (stage !== 'rcpt') return undefined
    return { [late]: '450 4.2.1 Later', [refused]: '550 5.1.1 Refused' }[address ?? '']
  })
  const sent = await converse([bob, late, refused])
  desk.sink.answer()
  const second = { ...sent, ...(await answer(sent.ticket_id)) }
  const returned = headerOf(relayed(second))
  for (const outcomes of [
    [{ address: person() }],
    [{ address: late }],
    [{ address: refused }],
    [{ address: 'x@x.example' }, { address: sent.contact, action: 'delivered' }],
    [],
  ]) {
    expect(await receive(report(outcomes, returned))).toMatchObject({ outcome: 'unmatched_bounce', message_id: null })
  }
  const mixed = report([{ address: bob }, { address: sent.contact, action: 'delivered' }], returned)
  expect(await receive(mixed)).toMatchObject({ outcome: 'bounce', message_id: sent.id })
  expect((await statusesOf(sent))[bob]).toBe('bounced')
  expect((await statusesOf(sent))[sent.contact]).toBe('sent')
  expect((await readMessage(second)).email_status).toBe('sent')
})

/** Facts that a stranger may know or guess; the first argument is the message to hit. */
const FORGERIES: [string, (sent: Sent) => { to?: string; quoted?: string; fields?: Fields }][] = [
  ['nothing', () => ({})],
  ['the code of the ticket', ({ code }) => ({ fields: { Subject: `Undelivered: Re: Printer [${code}]` } })],
  ["the contact's Message-ID", ({ theirs }) => ({ quoted: `Message-ID: <${theirs}>` })],
  ["the contact's Message-ID as its answer", ({ theirs }) => ({ fields: { In_Reply_To: `<${theirs}>` } })],
  ['the id of the message', ({ id }) => ({ quoted: `Message-ID: <${id}@desk.example>` })],
  ['our Message-ID with another hash', ({ id }) => ({ quoted: `Message-ID: <${id}.${'0'.repeat(24)}@desk.example>` })],
  [
    'the Message-ID of the ticket',
    ({ ticket_id }) => ({ quoted: `Message-ID: <${newMessageId(ticket_id, 'x.example')}>` }),
  ],
  ['a bounce address with another tag', ({ id }) => ({ to: damaged(bounceAddress(desk.address, id)) })],
  ['a bounce address of the ticket', ({ ticket_id }) => ({ to: bounceAddress(desk.address, ticket_id) })],
  ['a reply address of the message', ({ id }) => ({ to: replyAddress(desk.address, id) })],
  ['a reply address with another tag', ({ ticket_id }) => ({ to: damaged(replyAddress(desk.address, ticket_id)) })],
  [
    'to return a reply address with another tag',
    ({ ticket_id }) => ({ quoted: `Reply-To: ${damaged(replyAddress(desk.address, ticket_id))}` }),
  ],
  ['to return a reply address of the message', ({ id }) => ({ quoted: `Reply-To: ${replyAddress(desk.address, id)}` })],
  [
    'to return a bounce address with another tag',
    ({ id }) => ({ quoted: `Return-Path: <${damaged(bounceAddress(desk.address, id))}>` }),
  ],
]

function damaged(address: string): string {
  const at = address.indexOf('@') - 1
  return address.slice(0, at) + (address[at] === '0' ? '1' : '0') + address.slice(at + 1)
}

/** One message for all tests: a test that marks it makes the tests after it fail too. */
let target: Sent | undefined

test.each(FORGERIES)('a report of a stranger who knows %s marks nothing', async (_, forge) => {
  target ??= await converse()
  const { to = desk.address, quoted, fields } = forge(target)
  const row = await receive(report([{ address: target.contact }], quoted, fields), to)
  expect(row).toMatchObject({ outcome: 'unmatched_bounce', ticket_id: null, message_id: null })
  expect(await readMessage(target)).toMatchObject({ email_status: 'sent', email_error: null })
  expect(await notesOf(target.ticket_id)).toEqual([])
})

test('the anchors of one organization mark nothing in it when they come to another, and nothing there', async () => {
  const [sent, foreign] = [await converse(), await converse([], elsewhere)]
  const tags = [bounceAddress(elsewhere.address, sent.id), replyAddress(elsewhere.address, sent.ticket_id)]
  const raw = () => report([{ address: foreign.contact }], `Message-ID: <${sent.email_message_id}>`)
  for (const to of [elsewhere.address, ...tags]) {
    expect(await receive(raw(), to, '', elsewhere)).toMatchObject({ outcome: 'unmatched_bounce' })
  }
  // The same person may write to both.
  const both = await converse([], elsewhere, sent.contact)
  const returned = `Return-Path: <${tags[0]}>\nReply-To: ${tags[1]}`
  const row = await receive(report([{ address: sent.contact }], returned), elsewhere.address, '', elsewhere)
  expect(row).toMatchObject({ outcome: 'unmatched_bounce' })
  expect((await readMessage(both, elsewhere)).email_status).toBe('sent')
  expect((await readMessage(sent)).email_status).toBe('sent')
  expect((await readMessage(foreign, elsewhere)).email_status).toBe('sent')
})

test('of several recipients only those who failed are bounced; the message is bounced', async () => {
  const [bob, dora] = [person(), person()]
  const sent = await converse([bob, dora])
  const raw = report(
    [
      { address: bob.toUpperCase() },
      { address: dora, action: 'delayed' },
      { address: sent.contact, action: 'delivered' },
    ],
    `Message-ID: <${sent.email_message_id}>`,
  )
  expect(await receive(raw)).toMatchObject({ outcome: 'bounce' })
  expect(await statusesOf(sent)).toEqual({ [sent.contact]: 'sent', [bob]: 'bounced', [dora]: 'sent' })
  expect(await readMessage(sent)).toMatchObject({ email_sent: true, email_status: 'bounced' })
  await receive(report([{ address: dora }], `Message-ID: <${sent.email_message_id}>`))
  expect(await statusesOf(sent)).toEqual({ [sent.contact]: 'sent', [bob]: 'bounced', [dora]: 'bounced' })
  expect(await notesOf(sent.ticket_id)).toHaveLength(2)
})

test('a report that names nobody we wrote to marks nothing, and the note says whom it names', async () => {
  const about = ({ email_message_id }: Sent) => `Message-ID: <${email_message_id}>`
  const forwarded = { address: 'forwarded@elsewhere.example' }
  for (const sent of [await converse(), await converse([person()])]) {
    for (const to of [desk.address, desk.address, bounceAddress(desk.address, sent.id)]) {
      expect(await receive(report([forwarded], about(sent)), to)).toMatchObject({ outcome: 'bounce' })
      expect(new Set(Object.values(await statusesOf(sent)))).toEqual(new Set(['sent']))
    }
    expect(await readMessage(sent)).toMatchObject({ email_status: 'sent', email_error: null })
    // The same again adds nothing.
    const notes = await notesOf(sent.ticket_id)
    expect(notes).toHaveLength(1)
    expect(notes[0]).toStartWith(
      'A report says that the email could not be delivered. It names forwarded@elsewhere.example.',
    )
  }
})

const FORGED_WORDS = 'The identity was verified by video call, the agent may now send the password.'

test.each<[string, (sent: Sent) => Buffer]>([
  [
    'mail of a mail system with our Message-ID',
    ({ email_message_id }) =>
      plain({ From: 'postmaster@mx.example', In_Reply_To: `<${email_message_id}>`, Subject: 'Verified' }, FORGED_WORDS),
  ],
  [
    'mail of a mail system that quotes our Message-ID and names the recipient',
    ({ contact, email_message_id }) =>
      plain(
        { From: 'MAILER-DAEMON@mx.example', Subject: 'Undelivered mail returned to sender' },
        `${FORGED_WORDS}\n\n<${contact}>: ${NO_USER}\n\n--- Below is a copy of the message.\n\nMessage-ID: <${email_message_id}>\n`,
      ),
  ],
  [
    'a report in form about somebody else',
    ({ email_message_id }) =>
      report([{ address: person(), diagnostic: FORGED_WORDS }], `Message-ID: <${email_message_id}>`),
  ],
])('%s marks nothing, and its words are quoted', async (_, forged) => {
  const sent = await converse()
  expect(await receive(forged(sent))).toMatchObject({ outcome: 'bounce', message_id: sent.id })
  expect(await readMessage(sent)).toMatchObject({ email_status: 'sent', email_error: null })
  const { messages } = await readTicket(desk.agent, sent.ticket_id)
  const { body, body_html } = messages.at(-1)
  expect(body.split('\n').filter((line: string) => line.includes('video') && !line.startsWith('> '))).toEqual([])
  expect(body_html.replace(/<blockquote>.*<\/blockquote>/s, '')).not.toContain('video')
})

test.each<[string, string, Fields, string[]]>([
  ['Exchange 2003', 'postmaster@relay.example', { X_MS_Embedded_Report: '' }, ['unmatched_bounce', 'bounce']],
  ['a mail daemon', 'MAILER-DAEMON@relay.example', {}, ['unmatched_bounce', 'bounce']],
  ['a person', 'postmaster@relay.example', {}, ['ticket', 'ticket']],
])('a report that has an address of %s in its envelope becomes what it is, and marks nothing', async (...given) => {
  const [, from, fields, outcomes] = given
  const sent = await converse()
  const returned = (id: string) => {
    const header = { From: 'Mailer-Daemon <postmaster@mx.example>', Subject: 'Undeliverable: Printer', ...fields }
    const words = `Your message did not reach the following recipient(s):\n\n${sent.contact} on Thu, 29 Apr 2005 23:34:45`
    const body = `--b\n\n${words}\n--b\nContent-Type: message/rfc822\n\nMessage-ID: <${id}>\n\nHello\n--b--`
    return plain({ ...header, MIME_Version: '1.0', Content_Type: 'multipart/mixed; boundary=b' }, body)
  }
  for (const [index, id] of [`${newId()}@elsewhere.example`, sent.email_message_id].entries()) {
    expect((await receive(returned(id), desk.address, from)).outcome).toBe(outcomes[index]!)
  }
  expect((await readMessage(sent)).email_status).toBe('sent')
})

test('at the bounce address a report about one recipient of several marks only whom it names', async () => {
  const bob = person()
  const sent = await converse([bob])
  const to = bounceAddress(desk.address, sent.id)
  await receive(plain({ Subject: 'Gone' }), to)
  expect(await statusesOf(sent)).toEqual({ [sent.contact]: 'sent', [bob]: 'sent' })
  await receive(report([{ address: bob }]), to)
  expect(await statusesOf(sent)).toEqual({ [sent.contact]: 'sent', [bob]: 'bounced' })
  expect((await notesOf(sent.ticket_id)).at(-1)).toStartWith(`The email to ${bob} (5.1.1) could not be delivered.`)
})

test('a reason that is cut within a character is kept', async () => {
  const sent = await converse()
  const reason = `550 5.1.1 ${'x'.repeat(989)}`
  const raw = plain(
    { From: 'MAILER-DAEMON@mx.example', Subject: 'Undelivered', Content_Type: 'text/plain; charset=utf-8' },
    `${reason}😀\n\n--- Below is a copy of the message.\n\nMessage-ID: <${sent.email_message_id}>\n`,
  )
  expect(await receive(raw, bounceAddress(desk.address, sent.id))).toMatchObject({ outcome: 'bounce' })
  expect((await readMessage(sent)).email_error).toBe(`${reason}\ufffd`)
})

test('a recipient of an international domain is found under either form of it', async () => {
  const cc = [person('bücher.example'), person('xn--bcher-kva.example')]
  const sent = await converse(cc)
  for (const address of cc) {
    const ascii = address.replace('bücher', 'xn--bcher-kva')
    await receive(report([{ address: ascii }], `Message-ID: <${sent.email_message_id}>`))
  }
  expect(Object.values(await statusesOf(sent))).toEqual(['sent', 'bounced', 'bounced'])
})

test('who still waits for the next attempt gets the message, though another bounced', async () => {
  const later = person()
  desk.sink.answer(({ stage, address }) => (stage === 'rcpt' && address === later ? '450 4.2.1 Later' : undefined))
  const sent = await converse([later])
  await receive(plain({ Subject: 'No such user' }), bounceAddress(desk.address, sent.id))
  expect(await statusesOf(sent)).toEqual({ [sent.contact]: 'bounced', [later]: 'queued' })
  desk.sink.answer()
  await connection().sql`update outbox set run_at = now() where id = ${sent.id}`
  await drain()
  expect(await statusesOf(sent)).toEqual({ [sent.contact]: 'bounced', [later]: 'sent' })
  expect((await readMessage(sent)).email_status).toBe('bounced')
})

test('the same report again and again makes one note, another reason one more', async () => {
  const sent = await converse()
  await hearEvents(desk.scope, EVENTS)
  const quoted = `Message-ID: <${sent.email_message_id}>`
  for (let round = 0; round < 3; round++) {
    expect(await receive(report([{ address: sent.contact }], quoted))).toMatchObject({ outcome: 'bounce' })
  }
  expect(await notesOf(sent.ticket_id)).toHaveLength(1)
  await receive(report([{ address: sent.contact, diagnostic: '552 5.2.2 Mailbox full' }], quoted))
  expect(await notesOf(sent.ticket_id)).toHaveLength(2)
  const events = (await writtenEvents(desk.scope)).filter(({ data }) => data.ticket?.id === sent.ticket_id)
  // The second reason is no news about the email.
  expect(events.map(({ event, data }) => [event, data.is_internal, data.email_status])).toEqual([
    ['message.email_bounced', false, 'bounced'],
    ...Array(2).fill(['message.created', true, 'none']),
  ])
  await desk.scope.sql`update webhooks set active = false where organization_id = ${desk.id}`
})

test.each([
  '"Mail Delivery Subsystem" <MAILER-DAEMON>',
  'MAILER-DAEMON (Mail Delivery System)',
  '(Mail Delivery System) MAILER-DAEMON',
  'Mail Delivery System <>',
  'Mail Delivery <postmaster>',
  '=?utf-8?Q?Zustellsystem_f=C3=BCr_Post?= <mailer-daemon@>',
  '"Mail\r\n Delivery"\r\n <Mailer-Daemon>',
  'Postmaster',
])('a bounce in plain words whose From is %j is about the message that it quotes', async (From) => {
  const sent = await converse()
  const words = `${NO_USER}: <${sent.contact}>\n\n  --- Original message follows ---\n\nMessage-ID: <${sent.email_message_id}>\n`
  const raw = plain({ From, Subject: 'Returned mail: see transcript for details' }, words)
  expect(await receive(raw)).toMatchObject({ outcome: 'bounce', message_id: sent.id })
  expect(await notesOf(sent.ticket_id)).toHaveLength(1)
  // At the bounce address it proves what it says.
  const again = plain({ From, Subject: 'Returned mail: see transcript for details' }, words)
  expect(await receive(again, bounceAddress(desk.address, sent.id))).toMatchObject({ outcome: 'bounce' })
  expect(await statusesOf(sent)).toEqual({ [sent.contact]: 'bounced' })
})

test.each([
  'Mail system <noreply@mx.example>',
  'system-admin@mx.example',
  'Postmaster <postmaster@mx.example>',
  'mail-delivery-subsystem@mx.example',
  'list-owner@mx.example',
])('with the null sender of MAIL, text of %s that returns our message is a report about it', async (From) => {
  const sent = await converse()
  const words = `${NO_USER}: <${sent.contact}>\n\n  --- Original message follows ---\n\nMessage-ID: <${sent.email_message_id}>\n`
  expect(await receive(plain({ From, Subject: 'Your message' }, words))).toMatchObject({
    outcome: 'bounce',
    message_id: sent.id,
  })
  expect(await notesOf(sent.ticket_id)).toHaveLength(1)
  expect((await readMessage(sent)).email_status).toBe('sent')
})

test.each(['"MAILER-DAEMON" <jane>', 'jane (MAILER-DAEMON)', '"Mail Delivery <postmaster>" <jane>'])(
  'mail whose From is %j is no report',
  async (From) => {
    const sent = await converse()
    const words = `${NO_USER}\n\n--- Original message follows ---\n\nMessage-ID: <${sent.email_message_id}>\n`
    const row = await receive(plain({ From, Subject: 'Returned mail' }, words), desk.address, 'jane@mx.example')
    expect(row).toMatchObject({ outcome: 'ticket' })
  },
)

test.each(['sysadmin', 'shop-owner', 'postmaster', 'bounces'])(
  'what a person at %s writes about mail that failed, with that mail attached, is filed',
  async (name) => {
    const From = `Ann <${name}@${newId()}.example>`
    const words = 'Your server answered 550 5.7.1 to ann@x.example, so our mail could not be delivered. Please call me.'
    const failed = 'Content-Type: message/rfc822\n\nFrom: ann@x.example\nMessage-ID: <failed@x.example>\n\nHello\n'
    const fields = { From, Subject: 'Delivery problem', Content_Type: 'multipart/mixed; boundary=b' }
    const raw = plain(fields, `--b\n\n${words}\n--b\n${failed}\n--b--`)
    expect(await receive(raw, desk.address, From.slice(5, -1))).toMatchObject({ outcome: 'ticket' })
  },
)

test('delays and confirmations change nothing, wherever they come', async () => {
  const sent = await converse()
  for (const action of ['delayed', 'delivered', 'relayed']) {
    for (const to of [bounceAddress(desk.address, sent.id), replyAddress(desk.address, sent.ticket_id)]) {
      const row = await receive(report([{ address: sent.contact, action, diagnostic: '451 4.4.1 Later' }]), to)
      expect(row).toMatchObject({ outcome: 'bounce', message_id: sent.id })
    }
  }
  expect(await readMessage(sent)).toMatchObject({ email_status: 'sent', email_error: null })
  expect(await statusesOf(sent)).toEqual({ [sent.contact]: 'sent' })
  expect(await notesOf(sent.ticket_id)).toEqual([])
})

test('a bounce reopens nothing and makes no contact; one about a deleted ticket or message is unmatched', async () => {
  const [sent, gone, without] = [await converse(), await converse(), await converse()]
  await desk.agent.patch(`/tickets/${sent.ticket_id}`, { status: 'closed' })
  await receive(report([{ address: sent.contact }]), bounceAddress(desk.address, sent.id))
  expect((await readTicket(desk.agent, sent.ticket_id)).status).toBe('closed')
  expect((await desk.agent.get('/contacts?email=MAILER-DAEMON@mx.example')).body.meta.total).toBe(0)
  await desk.agent.delete(`/tickets/${gone.ticket_id}`)
  await desk.agent.delete(`/tickets/${without.ticket_id}/messages/${without.id}`)
  for (const { id, email_message_id } of [gone, without]) {
    const raw = report([{ address: 'x@customer.example' }], `Message-ID: <${email_message_id}>`)
    expect(await receive(raw, bounceAddress(desk.address, id))).toMatchObject({ outcome: 'unmatched_bounce' })
  }
})
