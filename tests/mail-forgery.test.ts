/** Forged, stolen and guessed anchors: nobody gets into a conversation without a right to it (decisions.md section 7). */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { config } from '../src/config'
import { newId } from '../src/db/columns'
import { newMessageId, replyAddress } from '../src/mail/message-id'
import type { SmtpListener } from '../src/mail/server'
import { useSecrets } from '../src/secrets'
import { createOrganization, type Organization, startApi, stopApi } from './support/api'
import { createMessage } from './support/factories'
import { createMailbox, deliver, importMail, ledgerOf, rawMail, readTicket, startListener } from './support/mail'

const KEY = 'a secret key that only tests use'
const MAILBOX = 'help@desk.example'
const CONTACT = 'carla@customer.example'

const inline_wait_ms = config.EMAIL_INLINE_WAIT_MS
let listener: SmtpListener
let desk: Organization
let elsewhere: Organization
let mailbox: { id: string; address: string }
let known: Known
let foreign: Known

/** What an attacker may know of a conversation. */
type Known = { ticket_id: string; message_id: string; code: string; theirs: string; ours: string; tagged: string }

beforeAll(async () => {
  config.EMAIL_INLINE_WAIT_MS = 1
  await startApi(10)
  listener = await startListener()
  desk = await createOrganization()
  elsewhere = await createOrganization()
  const smtp = { host: '127.0.0.1', port: 1, security: 'none' }
  mailbox = await createMailbox(desk.admin, { address: MAILBOX, smtp })
  known = await converse(desk, mailbox, CONTACT)
  foreign = await converse(elsewhere, await createMailbox(elsewhere.admin, { smtp }), stranger())
})
afterAll(async () => {
  config.EMAIL_INLINE_WAIT_MS = inline_wait_ms
  await listener.close({ timeout_ms: 1000 })
  await stopApi()
})

async function converse(
  { admin, agent }: Organization,
  { id, address }: { id: string; address: string },
  from: string,
) {
  const theirs = `${newId()}@mail.example`
  const raw = rawMail({ From: from, To: address, Subject: 'Secret', Message_ID: `<${theirs}>` })
  const { ticket_id } = await importMail(admin, id, raw)
  const answer = await createMessage(agent, ticket_id)
  const { code } = await readTicket(agent, ticket_id)
  const tagged = replyAddress(address, ticket_id)
  return { ticket_id, message_id: answer.id, code, theirs, ours: answer.email_message_id, tagged }
}

type Attack = { From?: string; To?: string; Subject?: string; In_Reply_To?: string; References?: string }

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

/** Each from a stranger unless it says otherwise; none may reach the conversation. */
const ATTACKS: [string, () => Attack][] = [
  ['no anchor at all', () => ({})],
  ['only the subject', () => ({ Subject: 'Re: Secret' })],
  ['the code in the subject', () => ({ Subject: `Re: Secret [${known.code}]` })],
  ['the code in lower case', () => ({ Subject: `[${known.code.toLowerCase()}]` })],
  ['the code as an encoded word', () => ({ Subject: `=?utf-8?q?=5B${known.code}=5D?=` })],
  ['many codes', () => ({ Subject: Array.from({ length: 50 }, (_, index) => `[TKT-${index}]`).join(' ') })],
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
  ['our Message-ID with the last digit of its hash changed', () => ({ In_Reply_To: `<${changed(known.ours, 60)}>` })],
  ['our Message-ID with a hash cut short', () => ({ In_Reply_To: `<${known.ours.slice(0, 53)}@desk.example>` })],
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
  ['our Message-ID without brackets', () => ({ In_Reply_To: known.ours })],
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
]

test.each(ATTACKS)('%s starts a new ticket', async (_, attack) => {
  const fields = {
    From: stranger(),
    To: MAILBOX,
    Subject: 'Hello',
    Message_ID: `<${newId()}@attacker.example>`,
    ...attack(),
  }
  const row = await importMail(desk.admin, mailbox.id, rawMail(fields))
  expect(row).toMatchObject({ outcome: 'ticket', rule: 'new' })
  const { messages } = await readTicket(desk.agent, known.ticket_id)
  expect(messages).toHaveLength(2)
  expect((await readTicket(elsewhere.agent, foreign.ticket_id)).messages).toHaveLength(2)
})

test('a forged tag at RCPT is an ordinary tag: accepted, and a new ticket', async () => {
  const to = changed(known.tagged, 42)
  const raw = rawMail({ From: stranger(), To: to, Subject: 'Hello', Message_ID: `<${newId()}@attacker.example>` })
  await deliver(listener.port, { to, raw })
  expect((await ledgerOf(desk))[0]).toMatchObject({ outcome: 'ticket', rule: 'new', mailbox: { address: MAILBOX } })
})

test('forged anchors do not poison: the contact who refers to them is not led to a ticket of the attacker', async () => {
  const forged = changed(known.ours, 60)
  const file = (From: string, References: string) =>
    importMail(
      desk.admin,
      mailbox.id,
      rawMail({ From, Subject: 'x', Message_ID: `<${newId()}@x.example>`, References }),
    )
  await file(stranger(), `<${forged}> <${known.theirs}>`)
  const row = await file(CONTACT, `<${known.theirs}> <${forged}>`)
  expect(row).toMatchObject({ outcome: 'message', ticket_id: known.ticket_id })
})

test('a genuine anchor among forged ones still counts', async () => {
  const References = `<${known.ours}> <${changed(known.ours, 60)}> <${foreign.ours}>`
  const raw = rawMail({ From: CONTACT, Subject: 'x', Message_ID: `<${newId()}@x.example>`, References })
  expect(await importMail(desk.admin, mailbox.id, raw)).toMatchObject({
    rule: 'references',
    ticket_id: known.ticket_id,
  })
})
