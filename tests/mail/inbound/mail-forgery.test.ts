/** Forged, stolen and guessed anchors: mail enters a conversation only from its people, or with a signed anchor. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { useSecrets } from '../../../src/base/secrets'
import { bounceAddress, newMessageId, replyAddress } from '../../../src/desk/messages/anchors'
import { createDesk, type Desk, NO_SERVER, type StartedDesk, smtpTo, startDesk } from '../../support/desk'
import { createContact, createMessage } from '../../support/factories'
import { deliver, importMail, ledgerOf, rawMail, readTicket } from '../../support/mail'
import { startSession } from '../../support/smtp'

const KEY = 'a secret key that only tests use'
const MAILBOX = 'help@desk.example'
const CONTACT = 'carla@customer.example'

let desk: StartedDesk
let elsewhere: Desk
let known: Known
let foreign: Known

/** Facts that an attacker may know of a conversation. */
type Known = { ticket_id: string; message_id: string; code: string; theirs: string; ours: string; tagged: string }

beforeAll(async () => {
  desk = await startDesk({ address: MAILBOX, smtp: smtpTo(NO_SERVER) })
  elsewhere = await createDesk({ smtp: smtpTo(NO_SERVER) })
  known = await converse(desk, CONTACT)
  foreign = await converse(elsewhere, stranger())
})
afterAll(() => desk.stop())

async function converse({ admin, agent, mailbox_id, address }: Desk, from: string) {
  const theirs = `${newId()}@mail.example`
  const raw = rawMail({ From: from, To: address, Subject: 'Secret', Message_ID: `<${theirs}>` })
  const { ticket_id } = await importMail(admin, mailbox_id, raw)
  const answer = await createMessage(agent, ticket_id)
  const { code } = await readTicket(agent, ticket_id)
  const tagged = replyAddress(address, ticket_id)
  return { ticket_id, message_id: answer.id, code, theirs, ours: answer.email_message_id, tagged }
}

type Attack = Record<string, string | string[]>

/** Signed with another key, as by another installation or a thief of old backups. */
function withOtherKey<T>(make: () => T): T {
  useSecrets('the key of somebody else')
  try {
    return make()
  } finally {
    useSecrets(KEY)
  }
}

/** A new one each time: who made a ticket in one attack belongs to it in the next. */
function stranger(): string {
  return `eve@${newId()}.example`
}

function changed(text: string, position: number): string {
  return text.slice(0, position) + (text[position] === '0' ? '1' : '0') + text.slice(position + 1)
}

function tagOf(address: string): string {
  return address.slice(address.indexOf('+') + 1, address.indexOf('@'))
}

/** Headers that make a stranger look like the contact, who would be led there. */
const POSES: [string, () => Attack][] = [
  ['the contact in Reply-To', () => ({ Reply_To: CONTACT })],
  ['the contact in Reply-To and no From', () => ({ From: [], Reply_To: CONTACT })],
  ['the contact in Reply-To and a From that is no address', () => ({ From: 'Carla', Reply_To: CONTACT })],
  [
    'the contact in Reply-To and nobody in From',
    () => ({ From: 'noreply@attacker.example', Reply_To: CONTACT, Sender: CONTACT }),
  ],
  ['the contact in Sender', () => ({ Sender: CONTACT })],
  ['the contact in the headers of a resent message', () => ({ Resent_From: CONTACT, Resent_Sender: CONTACT })],
  ['the contact in Return-Path', () => ({ Return_Path: `<${CONTACT}>` })],
  [
    'the contact in headers of groups and forms',
    () => ({ X_Original_From: CONTACT, X_Original_Sender: CONTACT, X_Sender: CONTACT }),
  ],
  ['the contact in the second of two From fields', () => ({ From: [stranger(), CONTACT] })],
  ['the contact second in one From', () => ({ From: `${stranger()}, ${CONTACT}` })],
  ['the contact in a comment', () => ({ From: `${stranger()} (${CONTACT})` })],
  ['the contact as an encoded display name', () => ({ From: `=?utf-8?q?carla=40customer.example?= <${stranger()}>` })],
  [
    'the contact with its bracket as an encoded display name',
    () => ({ From: `=?utf-8?q?Carla_=3Ccarla=40customer.example=3E?= <${stranger()}>` }),
  ],
  [
    'the contact as an encoded local part',
    () => ({ From: '=?utf-8?q?carla=40customer.example=3E=00?=eve@attacker.example' }),
  ],
  [
    'the contact as an encoded local part in brackets',
    () => ({ From: '<=?utf-8?b?Y2FybGFAY3VzdG9tZXIuZXhhbXBsZT4=?=@attacker.example>' }),
  ],
  ['the contact as a quoted local part', () => ({ From: `"${CONTACT}"@attacker.example` })],
  [
    'the contact before a damaged address',
    () => ({ From: '=?utf-8?q?carla=40customer.example?= <eve@@attacker.example>' }),
  ],
  ['the contact before a NUL', () => ({ From: `${CONTACT}\0@attacker.example` })],
  ['the contact as the name of a group', () => ({ From: `"${CONTACT}": ${stranger()};` })],
  ['the contact as a route', () => ({ From: `<@customer.example,${CONTACT.replace('carla', '')}:${stranger()}>` })],
  ['the contact with a letter that only looks alike', () => ({ From: CONTACT.replace('a', 'а') })],
  ['the contact with a space of no width', () => ({ From: CONTACT.replace('.', '\u200b.') })],
  ['the contact as the local part of another domain', () => ({ From: `carla%customer.example@${newId()}.example` })],
]

/** Each from a stranger unless it says otherwise; none may reach the conversation. */
const ATTACKS: [string, () => Attack][] = [
  ['no anchor at all', () => ({})],
  ['only the subject', () => ({ Subject: 'Re: Secret' })],
  ['the code in the subject', () => ({ Subject: `Re: Secret [${known.code}]` })],
  ['the code in lower case', () => ({ Subject: `[${known.code.toLowerCase()}]` })],
  ['the code as an encoded word', () => ({ Subject: `=?utf-8?q?=5B${known.code}=5D?=` })],
  ['many codes', () => ({ Subject: Array.from({ length: 50 }, (_, index) => `[TKT-${index}]`).join(' ') })],
  [
    'the code, our mailbox in From and the contact in Reply-To',
    () => ({ From: MAILBOX, Reply_To: CONTACT, X_Original_From: CONTACT, Subject: `[${known.code}]` }),
  ],
  ['a code of a huge number', () => ({ Subject: '[TKT-9999999999]' })],
  ["the contact's Message-ID in In-Reply-To", () => ({ In_Reply_To: `<${known.theirs}>` })],
  ["the contact's Message-ID in References", () => ({ References: `<${known.theirs}>` })],
  ["the contact's Message-ID and the code", () => ({ References: `<${known.theirs}>`, Subject: `[${known.code}]` })],
  ['our Message-ID without its hash', () => ({ In_Reply_To: `<${known.message_id}@desk.example>` })],
  ['our Message-ID with an empty hash', () => ({ In_Reply_To: `<${known.message_id}.@desk.example>` })],
  [
    'our Message-ID with a hash of zeros',
    () => ({ In_Reply_To: `<${known.message_id}.${'0'.repeat(24)}@desk.example>` }),
  ],
  ['our Message-ID with the first digit of its hash changed', () => ({ In_Reply_To: `<${changed(known.ours, 37)}>` })],
  ['our Message-ID with the last digit of its hash changed', () => ({ In_Reply_To: `<${changed(known.ours, 43)}>` })],
  ['our Message-ID with a hash cut short', () => ({ In_Reply_To: `<${known.ours.slice(0, 40)}@desk.example>` })],
  ['our Message-ID with a longer hash', () => ({ In_Reply_To: `<${known.ours.replace('@', '00@')}>` })],
  [
    'our Message-ID signed with another key',
    () => ({ In_Reply_To: `<${withOtherKey(() => newMessageId(known.message_id, 'desk.example'))}>` }),
  ],
  [
    'a Message-ID of a message that is not there',
    () => ({ In_Reply_To: `<${newMessageId(newId(), 'desk.example')}>` }),
  ],
  ['a Message-ID made of the ticket', () => ({ In_Reply_To: `<${newMessageId(known.ticket_id, 'desk.example')}>` })],
  [
    'the hash of one message on the id of another',
    () => ({ In_Reply_To: `<${foreign.ours.replace(foreign.message_id, known.message_id)}>` }),
  ],
  ['our Message-ID with text before it', () => ({ In_Reply_To: `<x${known.ours}>` })],
  ['our Message-ID without brackets among words', () => ({ In_Reply_To: `Your message ${known.ours}` })],
  ["another organization's Message-ID", () => ({ In_Reply_To: `<${foreign.ours}>` })],
  ["another organization's Message-ID in References", () => ({ References: `<${foreign.ours}>` })],
  ["another organization's contact's Message-ID", () => ({ In_Reply_To: `<${foreign.theirs}>` })],
  ["another organization's tag", () => ({ To: foreign.tagged })],
  ["another organization's tag at our mailbox", () => ({ To: `help+${tagOf(foreign.tagged)}@desk.example` })],
  ['a tag with its first digit changed', () => ({ To: changed(known.tagged, 5) })],
  ['a tag with its last digit changed', () => ({ To: changed(known.tagged, 42) })],
  ['a tag cut short', () => ({ To: known.tagged.replace(tagOf(known.tagged), tagOf(known.tagged).slice(1)) })],
  ['a tag of zeros', () => ({ To: `help+${'0'.repeat(38)}@desk.example` })],
  ['the largest tag', () => ({ To: `help+${'z'.repeat(38)}@desk.example` })],
  ['the id of the ticket as a tag', () => ({ To: `help+${known.ticket_id}@desk.example` })],
  ['the code as a tag', () => ({ To: `help+${known.code}@desk.example` })],
  ['a tag signed with another key', () => ({ To: withOtherKey(() => replyAddress(MAILBOX, known.ticket_id)) })],
  ['a tag of a ticket that is not there', () => ({ To: replyAddress(MAILBOX, newId()) })],
  ['a tag made of a message', () => ({ To: replyAddress(MAILBOX, known.message_id) })],
  [
    "the contact's address as display name",
    () => ({ From: `"${CONTACT}" <${stranger()}>`, Subject: `[${known.code}]` }),
  ],
  [
    "an address that begins like the contact's",
    () => ({ From: `${CONTACT}.attacker.example`, Subject: `[${known.code}]` }),
  ],
  [
    "the contact's address under a longer domain",
    () => ({ From: `carla@not${CONTACT.slice(6)}`, Subject: `[${known.code}]` }),
  ],
  ["the contact's local part with a tag", () => ({ From: 'carla+x@customer.example', Subject: `[${known.code}]` })],
  ['the own mailbox as sender', () => ({ From: MAILBOX, Subject: `[${known.code}]` })],
  ['an agent as sender', () => ({ From: desk.agent.email, Subject: `[${known.code}]` })],
  [
    'an agent as sender, and the id of the contact',
    () => ({ From: desk.agent.email, References: `<${known.theirs}>` }),
  ],
  ['a bounce address with its tag changed', () => ({ To: changed(bounceAddress(MAILBOX, known.message_id), 42) })],
  ['a bounce address made of the ticket', () => ({ To: bounceAddress(MAILBOX, known.ticket_id) })],
  ["another organization's bounce tag", () => ({ To: bounceAddress(MAILBOX, foreign.message_id) })],
  [
    'a bounce tag signed with another key',
    () => ({ To: withOtherKey(() => bounceAddress(MAILBOX, known.message_id)) }),
  ],
  [
    "the contact's Message-ID in the second of two References",
    () => ({ References: [`<${newId()}@x.example>`, `<${known.theirs}>`] }),
  ],
  ['the code in the second of two subjects', () => ({ Subject: ['Hello', `[${known.code}]`] })],
  ['our Message-ID with a NUL in it', () => ({ In_Reply_To: `<${known.ours.slice(0, 20)}\0${known.ours.slice(20)}>` })],
  [
    'our Message-ID in headers that name no conversation',
    () => ({
      X_Original_Message_ID: `<${known.ours}>`,
      Resent_Message_ID: `<${known.ours}>`,
      Thread_Index: known.ours,
    }),
  ],
  [
    'our Message-ID with the hash of zeros as its own',
    () => ({ Message_ID: `<${known.message_id}.${'0'.repeat(24)}@desk.example>` }),
  ],
  ['our Message-ID with another hash as its own', () => ({ Message_ID: `<${changed(known.ours, 60)}>` })],
  [
    'our Message-ID as the second of two of its own',
    () => ({ Message_ID: [`<${newId()}@x.example>`, `<${known.ours}>`] }),
  ],
  ["another organization's Message-ID as its own", () => ({ Message_ID: `<${foreign.ours}>` })],
  ...POSES.map(([name, pose]): [string, () => Attack] => [
    name,
    () => ({ ...pose(), Subject: `Re: Secret [${known.code}]`, In_Reply_To: `<${known.theirs}>` }),
  ]),
]

test.each(ATTACKS)('%s starts a new ticket', async (_, attack) => {
  const fields = {
    From: stranger(),
    To: MAILBOX,
    Subject: 'Hello',
    Message_ID: `<${newId()}@attacker.example>`,
    ...attack(),
  }
  const row = await importMail(desk.admin, desk.mailbox_id, rawMail(fields))
  expect(row).toMatchObject({ outcome: 'ticket', rule: 'new' })
  const { messages } = await readTicket(desk.agent, known.ticket_id)
  expect(messages).toHaveLength(2)
  expect((await readTicket(elsewhere.agent, foreign.ticket_id)).messages).toHaveLength(2)
})

test('an envelope sender of the contact makes nobody the contact', async () => {
  const raw = rawMail({ From: stranger(), Subject: `[${known.code}]`, In_Reply_To: `<${known.theirs}>` }, newId())
  await deliver(desk.port, { from: CONTACT, to: MAILBOX, raw })
  expect((await ledgerOf(desk))[0]).toMatchObject({ outcome: 'ticket', rule: 'new' })
})

test('Reply-To is not the author of mail without From, also without an envelope sender', async () => {
  const fields = { Reply_To: 'boss@customer.example', To: MAILBOX, Subject: 'Transfer' }
  const row = await importMail(desk.admin, desk.mailbox_id, rawMail(fields, newId()))
  expect(row.from).toEqual({ name: null, email: null })
  const { contact, messages } = await readTicket(desk.agent, row.ticket_id)
  expect([contact, messages[0].sender.email]).toEqual([null, null])
})

test('answers to a contact go to the author, not to a Reply-To that nothing proves', async () => {
  const from = stranger()
  await createContact(desk.agent, { email: from })
  const raw = rawMail({ From: from, Reply_To: 'boss@customer.example', Subject: 'Hello', Message_ID: `<${newId()}@x>` })
  const { ticket_id } = await importMail(desk.admin, desk.mailbox_id, raw)
  const { email_recipients } = await createMessage(desk.agent, ticket_id)
  expect(email_recipients.map(({ email }: { email: string }) => email)).toEqual([from])
})

test('mail in the name of an agent or of a mailbox is mail of a contact, with no right that an agent has', async () => {
  for (const [From, name] of [
    [`Alan Agent <${desk.agent.email}>`, 'Alan Agent'],
    [MAILBOX, 'Unknown sender'],
  ]) {
    const { ticket_id } = await converse(desk, stranger())
    const [, answer] = (await readTicket(desk.agent, ticket_id)).messages
    await desk.agent.patch(`/tickets/${ticket_id}`, { status: 'pending' })
    const { data } = (await desk.agent.get(`/tickets/${ticket_id}/messages/${answer.id}`)).body
    const raw = rawMail({
      From,
      Subject: 'x',
      Message_ID: `<${newId()}@x.example>`,
      In_Reply_To: `<${data.email_message_id}>`,
    })
    const row = await importMail(desk.admin, desk.mailbox_id, raw)
    expect(row).toMatchObject({ outcome: 'message', ticket_id })
    const { messages } = await readTicket(desk.agent, ticket_id)
    expect(messages.at(-1)).toMatchObject({
      direction: 'inbound',
      is_internal: false,
      sender: { name },
      email_status: 'none',
    })
    const timeline = (await desk.agent.get(`/tickets/${ticket_id}/activity`)).body.data
    expect(timeline.filter(({ actor }: { actor: { type: string } }) => actor.type === 'user')).toHaveLength(2)
    expect(timeline.at(-1).actor.type).toBe('contact')
  }
})

test('whoever uses the Message-ID of another message, or of ours, adds nothing to its ticket', async () => {
  const replay = (id: string) =>
    importMail(desk.admin, desk.mailbox_id, rawMail({ From: stranger(), Subject: 'Replayed', Message_ID: `<${id}>` }))
  for (const id of [known.theirs, known.ours]) {
    const replayed = await replay(id)
    expect(replayed).toMatchObject({ outcome: 'ticket', rule: 'new' })
    expect(replayed.ticket_id).not.toBe(known.ticket_id)
  }
  expect((await readTicket(desk.agent, known.ticket_id)).messages).toHaveLength(2)
})

test('the listener tells nobody which tags are genuine, or whose tickets are there', async () => {
  using dialog = await startSession(desk.port)
  await dialog.command('MAIL FROM:<eve@attacker.example>')
  const answers: string[] = []
  for (const to of [known.tagged, changed(known.tagged, 42), foreign.tagged.replace(/.*\+/, 'help+'), MAILBOX]) {
    answers.push(await dialog.command(`RCPT TO:<${to.replace(/@.*/, '@desk.example')}>`))
  }
  expect(new Set(answers)).toEqual(new Set(['250 2.1.5 Accepted']))
})

test('nobody is led to a ticket whose contact put them in Cc, while their own is there', async () => {
  const contact = stranger()
  const { ticket_id, theirs } = await converse(desk, contact)
  const ancestor = `${newId()}@never.example`
  const file = async (From: string, References: string, Cc?: string) =>
    importMail(
      desk.admin,
      desk.mailbox_id,
      rawMail({ From, Cc, Subject: 'x', Message_ID: `<${newId()}@x.example>`, References }),
    )
  const own = await file(contact, `<${ancestor}>`)
  for (let round = 0; round < 3; round++) {
    const trap = await file(stranger(), `<${theirs}> <${ancestor}>`, contact)
    expect(trap).toMatchObject({ outcome: 'ticket' })
  }
  expect(await file(contact, `<${theirs}>`)).toMatchObject({ outcome: 'message', ticket_id })
  expect(await file(contact, `<${ancestor}>`)).toMatchObject({ outcome: 'message', ticket_id: own.ticket_id })
})

test('a forged tag at RCPT is an ordinary tag: accepted, and a new ticket', async () => {
  const to = changed(known.tagged, 42)
  const raw = rawMail({ From: stranger(), To: to, Subject: 'Hello', Message_ID: `<${newId()}@attacker.example>` })
  await deliver(desk.port, { to, raw })
  expect((await ledgerOf(desk))[0]).toMatchObject({ outcome: 'ticket', rule: 'new', mailbox: { address: MAILBOX } })
})

test('forged anchors do not poison: the contact who refers to them is not led to a ticket of the attacker', async () => {
  const forged = changed(known.ours, 60)
  const file = (From: string, References: string) =>
    importMail(
      desk.admin,
      desk.mailbox_id,
      rawMail({ From, Subject: 'x', Message_ID: `<${newId()}@x.example>`, References }),
    )
  await file(stranger(), `<${forged}> <${known.theirs}>`)
  const row = await file(CONTACT, `<${known.theirs}> <${forged}>`)
  expect(row).toMatchObject({ outcome: 'message', ticket_id: known.ticket_id })
})

test('a genuine anchor among forged ones still counts', async () => {
  const References = `<${known.ours}> <${changed(known.ours, 60)}> <${foreign.ours}>`
  const raw = rawMail({ From: CONTACT, Subject: 'x', Message_ID: `<${newId()}@x.example>`, References })
  expect(await importMail(desk.admin, desk.mailbox_id, raw)).toMatchObject({
    rule: 'references',
    ticket_id: known.ticket_id,
  })
})

test('the same clues lead the contact there', async () => {
  const clues = { Subject: `Re: Secret [${known.code}]`, In_Reply_To: `<${known.theirs}>` }
  for (const From of [CONTACT, CONTACT.toUpperCase(), `=?utf-8?q?Carla?= <${CONTACT}>`]) {
    const raw = rawMail({ From, To: MAILBOX, Message_ID: `<${newId()}@customer.example>`, ...clues })
    const row = await importMail(desk.admin, desk.mailbox_id, raw)
    expect(row).toMatchObject({ rule: 'in_reply_to', ticket_id: known.ticket_id })
  }
})
