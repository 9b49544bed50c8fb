/** Mail of the team: what a member passes on opens the customer's ticket, what a member answers is sent on. */
import { afterAll, beforeAll, beforeEach, expect, spyOn, test } from 'bun:test'
import ipaddr from 'ipaddr.js'
import { LinkifyIt } from 'linkify-it'
import type { Network } from '../../../src/base/address/networks'
import { newId } from '../../../src/base/db/columns'
import { replyAddress } from '../../../src/desk/messages/anchors'
import { PASSWORD } from '../../support/api'
import { forgedZone, provenZone, type StartedDesk, startDeskWithDns } from '../../support/desk'
import { activityOf, createMessage, hearEvents, writtenEvents } from '../../support/factories'
import { deliver, drain, ledgerOf, rawMail, readTicket } from '../../support/mail'
import { withSettings } from '../../support/settings'
import { KEY_RECORD, keyName, signed } from '../../support/signed-mail'

let desk: StartedDesk

/** Members by what DMARC says of their mail. */
const PROVEN = 'alan@team.example'
const UNKNOWN = 'uma@unknown.example'
const FORGED = 'fred@rejects.example'
/** An address of a domain that lets none of its subdomains send in its name. */
const STRICT = 'sam@strict.example'

beforeAll(async () => {
  const zone = {
    ...provenZone('team.example'),
    ...forgedZone('rejects.example'),
    [keyName('team.example')]: { TXT: [KEY_RECORD] },
    'guest.strict.example': { TXT: ['v=spf1 ip4:127.0.0.1 -all'] },
    '_dmarc.strict.example': { TXT: ['v=DMARC1; p=reject; aspf=s; adkim=s'] },
    [keyName('strict.example')]: { TXT: [KEY_RECORD] },
    [keyName('guest.strict.example')]: { TXT: [KEY_RECORD] },
  }
  desk = await startDeskWithDns(zone, { address: 'support@desk.example' })
  for (const email of [PROVEN, UNKNOWN, FORGED, STRICT]) {
    const name = `${email[0]!.toUpperCase()}${email.slice(1, email.indexOf('@'))}`
    const { status } = await desk.admin.post('/users', { email, name, password: PASSWORD })
    expect(status).toBe(201)
  }
})
beforeEach(() => {
  desk.sink.messages.length = 0
})
afterAll(() => desk.stop())

type Fields = Record<string, string | undefined>

/** Delivers over SMTP; gives the ledger row. */
async function receive(from: string, fields: Fields, body = 'Hello', to = desk.address) {
  const raw = rawMail(
    { From: from, To: to, Subject: 'Hello', Message_ID: `<${newId()}@mail.example>`, ...fields },
    body,
  )
  await deliver(desk.port, { from: /[^<\s]+@[^>\s]+/.exec(from)![0], to, raw })
  return (await ledgerOf(desk))[0]
}

const GMAIL = `Please look.

---------- Forwarded message ---------
From: Kim Kunde <kim@kunde.example>
Date: Tue, Nov 17, 2026 at 9:00 AM
Subject: Pump leaks
To: Alan <alan@team.example>


It drips since Monday.

Kim`

/** Forms in which mail programs quote the message that is passed on, each with the same content. */
const FORMS: [string, string, string][] = [
  ['Gmail', 'Fwd: Pump leaks', GMAIL],
  [
    'Gmail in German',
    'Fwd: Pump leaks',
    GMAIL.replace('Forwarded message', 'Weitergeleitete Nachricht')
      .replace('From:', 'Von:')
      .replace('Subject:', 'Betreff:')
      .replace('To:', 'An:'),
  ],
  [
    'Outlook',
    'FW: Pump leaks',
    'Please look.\n\n________________________________\nFrom: Kim Kunde <kim@kunde.example>\nSent: Tuesday, November 17, 2026 9:00 AM\nTo: Alan <alan@team.example>\nSubject: Pump leaks\n\nIt drips since Monday.\n\nKim',
  ],
  [
    'Outlook in German, with links for addresses',
    'WG: Pump leaks',
    'Please look.\n\nVon: Kim Kunde [mailto:kim@kunde.example]\nGesendet: Dienstag, 17. November 2026 09:00\nAn: Alan <alan@team.example>\nBetreff: Pump leaks\n\nIt drips since Monday.\n\nKim',
  ],
  [
    'Outlook in French',
    'TR : Pump leaks',
    'Please look.\n\nDe : Kim Kunde <kim@kunde.example>\nEnvoyé : mardi 17 novembre 2026 09:00\nÀ : Alan <alan@team.example>\nObjet : Pump leaks\n\nIt drips since Monday.\n\nKim',
  ],
  [
    'Thunderbird, which begins with the subject',
    'Fwd: Pump leaks',
    'Please look.\n\n-------- Forwarded Message --------\nSubject: \tPump leaks\nDate: \tTue, 17 Nov 2026 09:00:00 +0100\nFrom: \tKim Kunde <kim@kunde.example>\nTo: \talan@team.example\n\n\n\nIt drips since Monday.\n\nKim',
  ],
  [
    'Apple Mail, with marks and a folded line',
    'Fwd: Pump leaks',
    'Please look.\n\nBegin forwarded message:\n\n> From: Kim Kunde\n> <kim@kunde.example>\n> Subject: Pump leaks\n> Date: 17 November 2026 at 09:00:00 CET\n> To: alan@team.example\n> \n> It drips since Monday.\n> \n> Kim',
  ],
]

test.each(FORMS)('mail that a member passes on with %s opens the ticket of its author', async (_, Subject, body) => {
  await hearEvents(desk.scope)
  const row = await receive(`Alan <${PROVEN}>`, { Subject, Cc: 'bob@team.example' }, body)
  expect(row).toMatchObject({ outcome: 'ticket', rule: 'new', from: { email: PROVEN }, sender_verified: true })
  const ticket = await readTicket(desk.agent, row.ticket_id)
  expect(ticket).toMatchObject({ subject: 'Pump leaks', contact: { name: 'Kim Kunde', email: 'kim@kunde.example' } })
  expect(ticket.messages).toMatchObject([
    {
      body: 'It drips since Monday.\n\nKim',
      direction: 'inbound',
      sender: { name: 'Kim Kunde', email: 'kim@kunde.example' },
      sender_verified: null,
      cc: [],
    },
    { body: 'Please look.', is_internal: true, direction: null, sender: { name: 'Alan', email: PROVEN } },
  ])
  const { data } = (await desk.agent.get(`/tickets/${row.ticket_id}/participants`)).body
  expect(data).toEqual([])
  const timeline = await activityOf(desk.scope, row.ticket_id)
  expect(timeline.map(({ type }) => type)).toEqual(['created', 'message', 'note'])
  const events = (await writtenEvents(desk.scope)).filter((one) => JSON.stringify(one.data).includes(row.ticket_id))
  expect(events.map(({ event }) => event)).toEqual(['ticket.created', 'message.created', 'message.created'])
  await desk.scope.sql`update webhooks set active = false where organization_id = ${desk.id}`
})

const INNER = [
  'From: =?utf-8?Q?J=C3=B6rg?= <joerg@kunde.example>',
  'To: alan@team.example',
  'Subject: Offer',
  'Message-ID: <offer@kunde.example>',
  'Content-Type: multipart/mixed; boundary=i',
  '',
  '--i',
  '',
  'See the file.',
  '--i',
  'Content-Disposition: attachment; filename=offer.pdf',
  '',
  'PDF',
  '--i--',
]

function attached(...inner: string[][]): [Fields, string] {
  const parts = [
    ['Content-Type: text/plain', '', 'What do we say?'],
    ...inner.map((lines) => ['Content-Type: message/rfc822', '', ...lines]),
    ['Content-Disposition: attachment; filename=mine.txt', '', 'x'],
  ]
  const body = `${parts.map((lines) => `--o\n${lines.join('\n')}`).join('\n')}\n--o--`
  return [{ Subject: 'Fwd: Offer', Content_Type: 'multipart/mixed; boundary=o' }, body]
}

test('a message that a member attaches opens the ticket of its author, with its files, and its answers join it', async () => {
  const row = await receive(PROVEN, ...attached(INNER))
  const { subject, contact, messages } = await readTicket(desk.agent, row.ticket_id)
  expect([subject, contact.name, contact.email]).toEqual(['Offer', 'Jörg', 'joerg@kunde.example'])
  expect(messages).toMatchObject([
    { body: 'See the file.', sender: { email: 'joerg@kunde.example' } },
    { body: 'What do we say?', is_internal: true, sender: { name: 'Alan' } },
  ])
  const names = messages[0].attachments.map(({ filename }: { filename: string }) => filename)
  expect(names).toEqual(['offer.pdf', 'mine.txt'])
  const later = await receive('joerg@kunde.example', { In_Reply_To: '<offer@kunde.example>' })
  expect(later).toMatchObject({ outcome: 'message', rule: 'in_reply_to', ticket_id: row.ticket_id })
})

test.each<[string, string, [Fields, string]]>([
  ['of a forged member', FORGED, [{ Subject: 'Fwd: Pump leaks' }, GMAIL]],
  ['of a member whose address nobody can prove', UNKNOWN, [{ Subject: 'Fwd: Pump leaks' }, GMAIL]],
  ['of a member whose address nobody can prove, with a message attached', UNKNOWN, attached(INNER)],
  ['of nobody of the team', 'eve@elsewhere.example', [{ Subject: 'Fwd: Pump leaks' }, GMAIL]],
  ['whose subject says nothing of it', PROVEN, [{ Subject: 'Pump leaks' }, GMAIL]],
  ['without a header', PROVEN, [{ Subject: 'Fwd: Pump leaks' }, 'It drips since Monday.']],
  ['without an address', PROVEN, [{ Subject: 'FW: x' }, GMAIL.replace(' <kim@kunde.example>', '')]],
  ['from a mailbox of ours', PROVEN, [{ Subject: 'Fwd: x' }, GMAIL.replace('kim@kunde', 'support@desk')]],
  ['with two messages', PROVEN, attached(INNER, INNER)],
])('mail %s is filed as the sender wrote it', async (_, from, [fields, body]) => {
  const row = await receive(from, fields, body)
  const { contact, messages } = await readTicket(desk.agent, row.ticket_id)
  expect([contact.email, messages.length, messages[0].direction]).toEqual([from, 1, 'inbound'])
})

const LONG_ID = `<${'i'.repeat(995)}😀@kunde.example>`

test.each<[string, [Fields, string]]>([
  ['name', [{ Subject: 'Fwd: Pump leaks' }, GMAIL.replace('Kim Kunde', `${'n'.repeat(254)}😀`)]],
  ['subject', [{ Subject: 'Fwd: Pump leaks' }, GMAIL.replace('Pump leaks', `${'s'.repeat(999)}😀`)]],
  ['Message-ID', attached(INNER.map((line) => line.replace('<offer@kunde.example>', LONG_ID)))],
])('a message that a member passes on is filed when its %s is cut within a character', async (_, [fields, body]) => {
  expect(await receive(PROVEN, fields, body)).toMatchObject({ outcome: 'ticket' })
})

test('the name in a quoted header loses the address of somebody else', async () => {
  const body = GMAIL.replace('Kim Kunde <kim@', 'ceo@bank.test <eve@')
  const { ticket_id } = await receive(PROVEN, { Subject: 'Fwd: Pump leaks' }, body)
  const { contact } = await readTicket(desk.agent, ticket_id)
  expect(contact).toMatchObject({ name: 'eve', email: 'eve@kunde.example' })
})

test('mail with the null sender that seems to pass something on is no mail of a member', async () => {
  const fields = { Subject: 'Fwd: Pump leaks', Auto_Submitted: 'auto-replied' }
  await deliver(desk.port, { from: '', to: desk.address, raw: rawMail({ From: PROVEN, ...fields }, GMAIL) })
  const [row] = await ledgerOf(desk)
  expect(row).toMatchObject({ outcome: 'ticket', from: { email: PROVEN } })
  expect((await readTicket(desk.agent, row.ticket_id)).contact.email).toBe(PROVEN)
})

/** A conversation of a new contact. */
async function converse() {
  const contact = `kim.${newId()}@kunde.example`
  const { ticket_id } = await receive(contact, { Cc: 'dora@kunde.example' })
  const { email_message_id } = await createMessage(desk.agent, ticket_id)
  await drain()
  desk.sink.messages.length = 0
  await desk.agent.patch(`/tickets/${ticket_id}`, { status: 'pending' })
  return { contact, ticket_id, ours: `<${email_message_id}>`, tagged: replyAddress(desk.address, ticket_id) }
}

test('what a member answers from a mail program is sent on to the customer, like an answer over the API', async () => {
  const { contact, ticket_id, ours, tagged } = await converse()
  const contacts = async () => (await desk.agent.get('/contacts')).body.meta.total
  const before = await contacts()
  await hearEvents(desk.scope)
  const quoted = 'Turn it off.\n\nOn Tue, Nov 17, 2026 at 9:00 AM Support <support@desk.example> wrote:\n> private'
  const row = await receive(
    `Alan A. <${PROVEN}>`,
    { In_Reply_To: ours, Message_ID: '<alan1@team.example>' },
    quoted,
    tagged,
  )
  expect(row).toMatchObject({ outcome: 'message', rule: 'in_reply_to', ticket_id, sender_verified: true })
  await drain()
  const { messages, status } = await readTicket(desk.agent, ticket_id)
  expect(status).toBe('pending')
  expect(messages).toHaveLength(3)
  const message = messages.at(-1)
  expect(message).toMatchObject({
    id: row.message_id,
    body: 'Turn it off.',
    direction: 'outbound',
    is_internal: false,
    sender: { name: 'Alan', email: PROVEN },
    email_sent: true,
    cc: ['dora@kunde.example'],
  })
  const [sent] = desk.sink.messages
  expect(sent!.to.toSorted()).toEqual([contact, 'dora@kunde.example'].toSorted())
  const text = sent!.raw.toString('latin1')
  expect(text).toContain(`<${message.email_message_id}>`)
  expect([text.includes('support@desk.example'), text.includes('private')]).toEqual([true, false])
  const timeline = (await desk.agent.get(`/tickets/${ticket_id}/activity`)).body.data
  expect(timeline.at(-2)).toMatchObject({ type: 'message', actor: { type: 'user', name: 'Alan' } })
  const events = (await writtenEvents(desk.scope)).filter(({ data }) => data.ticket?.id === ticket_id)
  expect(events.map(({ event, data }) => [event, data.direction])).toEqual([['message.created', 'outbound']])
  await desk.scope.sql`update webhooks set active = false where organization_id = ${desk.id}`
  expect(await contacts()).toBe(before)
  const answer = await receive(contact, { In_Reply_To: '<alan1@team.example>' })
  expect(answer).toMatchObject({ outcome: 'message', ticket_id })
})

test('HTML and files of an answer go out, made safe; who got it from the member gets it once', async () => {
  const { contact, ticket_id, tagged } = await converse()
  const html = '<p onclick="x()">Turn <b>it</b> off.</p><script>alert(1)</script>'
  const body = `--b\nContent-Type: text/html\n\n${html}\n--b\nContent-Disposition: attachment; filename=plan.txt\n\nplan\n--b--`
  const type = 'multipart/mixed; boundary=b'
  await receive(PROVEN, { To: `${tagged}, DORA@kunde.example`, Content_Type: type }, body, tagged)
  await drain()
  expect(desk.sink.messages.map(({ to }) => to)).toEqual([[contact]])
  const { messages } = await readTicket(desk.agent, ticket_id)
  expect(messages.at(-1).body_html).toBe('<p>Turn <b>it</b> off.</p>')
  expect(messages.at(-1).attachments).toMatchObject([{ filename: 'plan.txt' }])
  const raw = desk.sink.messages[0]!.raw.toString('latin1')
  expect([raw.includes('plan.txt'), raw.includes('onclick'), raw.includes('alert')]).toEqual([true, false, false])
})

test('an answer that went to everybody already is kept, and sent to nobody', async () => {
  const { contact, ticket_id, tagged } = await converse()
  await receive(
    PROVEN,
    { To: `${contact}, dora@kunde.example`, Cc: tagged, Message_ID: '<all@team.example>' },
    'Done.',
    tagged,
  )
  await drain()
  expect(desk.sink.messages).toEqual([])
  const { messages } = await readTicket(desk.agent, ticket_id)
  expect(messages.at(-1)).toMatchObject({ direction: 'outbound', body: 'Done.', email_status: 'none' })
  expect(await receive(contact, { In_Reply_To: '<all@team.example>' })).toMatchObject({ outcome: 'message', ticket_id })
})

const QUOTATION =
  'From: Anna <anna@team.example>\nSent: Tuesday, November 17, 2026 9:00 AM\nTo: Alan <alan@team.example>\nSubject: Fwd: x\n\nprivate'

test.each([
  ['without words', QUOTATION],
  ['with a signature alone', `Sent from my iPhone\n\n${QUOTATION}`],
])('an answer %s above a quotation goes to nobody', async (_, body) => {
  const { ticket_id, ours, tagged } = await converse()
  expect(await receive(PROVEN, { In_Reply_To: ours }, body, tagged)).toMatchObject({ outcome: 'message', ticket_id })
  await drain()
  expect(desk.sink.messages).toEqual([])
  const { messages } = await readTicket(desk.agent, ticket_id)
  expect(messages.at(-1)).toMatchObject({ direction: 'inbound' })
})

const PAGE = '<p>Done.</p><p>On Tue, Nov 17, 2026 at 9:00 AM Anna &lt;anna@team.example&gt; wrote:</p>'

test.each<[string, Fields, string]>([
  ['in mail without the signs of an answer', {}, `Done.\n\n${QUOTATION}`],
  [
    'in its HTML alone',
    { Content_Type: 'multipart/alternative; boundary=b' },
    `--b\n\nDone.\n--b\nContent-Type: text/html\n\n${PAGE}<blockquote>private</blockquote>\n--b--`,
  ],
  ['and forwards of others in its subject', { Subject: 'Re: Fwd: x' }, `Done.\n\n${QUOTATION}`],
])('an answer with a quotation %s goes out without it', async (_, fields, body) => {
  const { ticket_id, tagged } = await converse()
  await receive(PROVEN, fields, body, tagged)
  await drain()
  expect(desk.sink.messages.map(({ raw }) => raw.includes('private'))).toEqual([false])
  const { messages, status } = await readTicket(desk.agent, ticket_id)
  expect(messages.at(-1)).toMatchObject({ direction: 'outbound', body: 'Done.', body_html: 'Done.' })
  expect([messages.length, status]).toEqual([3, 'pending'])
})

test('long words of a member become HTML in the process that parses', async () => {
  const { ticket_id, tagged } = await converse()
  using here = spyOn(LinkifyIt.prototype, 'match')
  const long = 'Look at https://team.example/manual first.\n'.repeat(500)
  await receive(PROVEN, { To: tagged }, long, tagged)
  const forwarded = await receive(PROVEN, { Subject: 'Fwd: Pump leaks' }, GMAIL.replace('Please look.', long))
  expect(here).not.toHaveBeenCalled()
  const notes = (await readTicket(desk.agent, forwarded.ticket_id)).messages
  const answers = (await readTicket(desk.agent, ticket_id)).messages
  expect([notes.at(-1).is_internal, answers.at(-1).direction]).toEqual([true, 'outbound'])
  for (const { body_html } of [notes.at(-1), answers.at(-1)]) {
    expect(body_html.split('<a href="https://team.example/manual"')).toHaveLength(501)
  }
})

test('an answer that is a file alone goes out', async () => {
  const { ticket_id, tagged } = await converse()
  const body = '--b\nContent-Disposition: attachment; filename=plan.txt\n\nplan\n--b--'
  await receive(PROVEN, { Content_Type: 'multipart/mixed; boundary=b' }, body, tagged)
  await drain()
  expect(desk.sink.messages).toHaveLength(1)
  const { messages } = await readTicket(desk.agent, ticket_id)
  expect(messages.at(-1)).toMatchObject({ direction: 'outbound', attachments: [{ filename: 'plan.txt' }] })
})

test('a member who is a participant does not get the own answer back', async () => {
  const { contact, ticket_id, ours } = await converse()
  await desk.agent.post(`/tickets/${ticket_id}/participants`, { email: PROVEN })
  await receive(PROVEN, { In_Reply_To: ours }, 'Done.')
  await drain()
  expect(desk.sink.messages.flatMap(({ to }) => to).toSorted()).toEqual([contact, 'dora@kunde.example'].toSorted())
})

test.each([
  ['nobody of ours', async () => 'eve@elsewhere.example'],
  ['another ticket', async () => (await converse()).tagged],
])('mail of a member to %s that somebody sends to the address of a ticket goes to nobody', async (_, addressee) => {
  const To = await addressee()
  const { ticket_id, tagged } = await converse()
  expect(await receive(PROVEN, { To }, 'Approved.', tagged)).toMatchObject({ rule: 'reply_tag', ticket_id })
  await drain()
  expect(desk.sink.messages).toEqual([])
  const { messages } = await readTicket(desk.agent, ticket_id)
  expect(messages.at(-1)).toMatchObject({ direction: 'inbound' })
})

/** Delivers mail that a member has signed, from a server of somebody else. @param added to its header afterwards */
async function resendSigned(fields: Fields, body: string, to: string, added = '') {
  const header = { From: PROVEN, To: 'eve@elsewhere.example', Message_ID: `<${newId()}@team.example>`, ...fields }
  const raw = await signed(rawMail({ Subject: 'Hello', ...header }, body), 'team.example')
  await deliver(desk.port, { from: 'eve@elsewhere.example', to, raw: Buffer.concat([Buffer.from(added), raw]) })
  const row = (await ledgerOf(desk))[0]
  expect(row).toMatchObject({ sender_verified: true })
  return row
}

test.each<[string, string, (ours: string, tagged: string) => [Fields, string?]]>([
  ['In-Reply-To', 'inbound', (ours) => [{}, `In-Reply-To: ${ours}\r\n`]],
  ['References', 'inbound', (ours) => [{}, `References: ${ours}\r\n`]],
  ['Cc', 'inbound', (_, tagged) => [{}, `Cc: ${tagged}\r\n`]],
  ['In-Reply-To', 'outbound', (ours) => [{ In_Reply_To: ours, To: desk.address }]],
  ['References', 'outbound', (ours) => [{ References: ours, Cc: desk.address }]],
  ['private answer to a stranger who used our id', 'inbound', (ours) => [{ In_Reply_To: ours, References: ours }]],
  ['private answer to such a stranger', 'inbound', (ours) => [{ In_Reply_To: ours }, `Cc: ${desk.address}\r\n`]],
  ['To', 'outbound', (ours, tagged) => [{ To: tagged }, `In-Reply-To: ${ours}\r\n`]],
  ['Cc', 'outbound', (_, tagged) => [{ Cc: tagged }]],
])(
  'signed mail of a member whose %s leads to a ticket is %s: only what is signed makes it an answer',
  async (_, direction, lead) => {
    const { ticket_id, ours, tagged } = await converse()
    const [fields, added] = lead(ours, tagged)
    const row = await resendSigned(fields, 'Approved.', tagged, added)
    expect(row).toMatchObject({ outcome: 'message', ticket_id })
    await drain()
    expect(desk.sink.messages).toHaveLength(direction === 'outbound' ? 1 : 0)
    const { messages } = await readTicket(desk.agent, ticket_id)
    expect(messages.at(-1)).toMatchObject({ direction, sender: { email: PROVEN } })
  },
)

test('a subdomain proves no answer where DMARC wants the domain itself', async () => {
  const { ticket_id, ours, tagged } = await converse()
  const header = { From: STRICT, To: 'eve@elsewhere.example', Message_ID: `<${newId()}@strict.example>` }
  const own = await signed(rawMail({ Subject: 'Hello', ...header }, 'Approved.'), 'strict.example')
  const added = Buffer.concat([Buffer.from(`In-Reply-To: ${ours}\r\nCc: ${tagged}\r\n`), own])
  await deliver(desk.port, {
    from: 'eve@guest.strict.example',
    to: tagged,
    raw: await signed(added, 'guest.strict.example'),
  })
  expect((await ledgerOf(desk))[0]).toMatchObject({ outcome: 'message', ticket_id, sender_verified: true })
  const { messages } = await readTicket(desk.agent, ticket_id)
  expect(messages.at(-1)).toMatchObject({ direction: 'inbound', sender: { email: STRICT } })
})

test.each([
  ['outbound', 'spf=pass smtp.mailfrom=alan@mail.team.example'],
  ['inbound', 'spf=pass smtp.mailfrom=eve@elsewhere.example; dkim=pass header.d=team.example'],
])('of an answer through a relay that is %s the relay says %p', async (direction, results) => {
  const { ticket_id, ours } = await converse()
  const SMTP_TRUSTED_RELAYS: Network[] = [[ipaddr.parse('127.0.0.1'), 32]]
  using _ = withSettings({ SMTP_TRUSTED_RELAYS, TRUSTED_AUTHSERV_ID: 'mx.desk.example' })
  const Received = 'from mx.example (mx.example [192.0.2.2]) by mx.desk.example; Sun, 22 Nov 2026 09:00:00 +0000'
  const Authentication_Results = `mx.desk.example; ${results}; dmarc=pass header.from=team.example`
  const row = await receive(PROVEN, { Received, Authentication_Results, In_Reply_To: ours }, 'Done.')
  expect(row).toMatchObject({ outcome: 'message', ticket_id, sender_verified: true })
  const { messages } = await readTicket(desk.agent, ticket_id)
  expect(messages.at(-1)).toMatchObject({ direction, sender: { email: PROVEN } })
})

test('what a member has signed and passed on to others makes no note on a ticket that a stranger names', async () => {
  const { ticket_id, ours, tagged } = await converse()
  const fields = { Subject: 'Fwd: Pump leaks' }
  const notesOf = async (id: string) =>
    (await readTicket(desk.agent, id)).messages.filter(({ is_internal }: { is_internal: boolean }) => is_internal)
  for (const [to, added] of [
    [desk.address, `In-Reply-To: ${ours}\r\n`],
    [desk.address, `References: ${ours}\r\n`],
    [tagged, ''],
  ] as const) {
    expect(await resendSigned(fields, GMAIL, to, added)).toMatchObject({ ticket_id })
    expect(await notesOf(ticket_id)).toEqual([])
  }
  const opened = await resendSigned(fields, GMAIL, desk.address)
  expect(await notesOf(opened.ticket_id)).toMatchObject([{ body: 'Please look.', sender: { email: PROVEN } }])
  expect(await resendSigned({ ...fields, To: tagged }, GMAIL, tagged)).toMatchObject({ ticket_id })
  expect(await notesOf(ticket_id)).toMatchObject([{ body: 'Please look.' }])
})

test.each<[string, string, Fields]>([
  ['that nobody can prove', UNKNOWN, {}],
  ['that is forged', FORGED, {}],
  ['that is automatic', PROVEN, { Auto_Submitted: 'auto-replied' }],
])('an answer of a member %s goes to nobody', async (_, from, fields) => {
  const { ticket_id, ours } = await converse()
  const row = await receive(from, { In_Reply_To: ours, ...fields })
  expect(row).toMatchObject({ outcome: 'message', ticket_id })
  await drain()
  const { messages } = await readTicket(desk.agent, ticket_id)
  expect(messages.at(-1)).toMatchObject({ direction: 'inbound', sender: { email: from } })
  expect(desk.sink.messages).toEqual([])
})

test('a member who is the customer of a ticket writes as a customer, and one without an anchor of ours opens a ticket', async () => {
  const { ticket_id } = await receive(PROVEN, { Subject: 'My own pump' })
  const { email_message_id } = await createMessage(desk.agent, ticket_id)
  await receive(PROVEN, { In_Reply_To: `<${email_message_id}>` })
  const { messages } = await readTicket(desk.agent, ticket_id)
  expect(messages.map(({ direction }: { direction: string }) => direction)).toEqual(['inbound', 'outbound', 'inbound'])
  const { ticket_id: theirs } = await converse()
  const { code } = await readTicket(desk.agent, theirs)
  expect(await receive(PROVEN, { Subject: `Re: [${code}]` })).toMatchObject({ outcome: 'ticket' })
})

test('a member who was removed or switched off is nobody of the team', async () => {
  const { data } = (await desk.admin.get('/users?per_page=100')).body
  const { id } = data.find(({ email }: { email: string }) => email === UNKNOWN)
  await desk.admin.patch(`/users/${id}`, { active: false })
  const row = await receive(UNKNOWN, { Subject: 'Fwd: Pump leaks' }, GMAIL)
  await desk.admin.patch(`/users/${id}`, { active: true })
  expect((await readTicket(desk.agent, row.ticket_id)).contact.email).toBe(UNKNOWN)
})
