/** The rights of mail, by how well its sender is known: join a ticket, open it again, subscribe others. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { replyAddress } from '../../../src/desk/messages/anchors'
import {
  type Desk,
  forgedZone,
  NO_SERVER,
  provenZone,
  type StartedDesk,
  smtpTo,
  startDeskWithDns,
} from '../../support/desk'
import type { TestDns } from '../../support/dns'
import { createMessage } from '../../support/factories'
import { deliver, drain, ledgerOf, rawMail, readTicket } from '../../support/mail'
import { withSettings } from '../../support/settings'

/** Domains by what DMARC says of mail from 127.0.0.1 in their name. */
const DOMAINS = { true: 'passes.example', null: 'unknown.example', false: 'rejects.example' }

let started: StartedDesk
let restrictive: Desk
let dns: TestDns

beforeAll(async () => {
  const zone = { ...provenZone('passes.example'), ...forgedZone('rejects.example') }
  const judged = await startDeskWithDns(zone, { smtp: smtpTo(NO_SERVER) })
  started = judged
  dns = judged.dns
  restrictive = await started.createDesk({ smtp: smtpTo(NO_SERVER) })
  await restrictive.admin.patch('/organization', { sender_policy: 'restrict' })
})
afterAll(() => started.stop())

type Verified = keyof typeof DOMAINS
type Policy = 'flag' | 'restrict'
type Fields = Record<string, string | undefined>

/** Delivers a mail; gives its ledger row. */
async function file(desk: Desk, from: string, fields: Fields = {}) {
  const raw = rawMail({
    From: from,
    To: desk.address,
    Subject: 'Hello',
    Message_ID: `<${newId()}@mail.example>`,
    ...fields,
  })
  await deliver(started.port, { from, to: desk.address, raw })
  return (await ledgerOf(desk))[0]
}

/** A resolved ticket of a contact whose mail is proven, forged or neither, with an answer of ours. */
async function converse(policy: Policy, verified: Verified) {
  const desk = policy === 'flag' ? started : restrictive
  const contact = `carla.${newId()}@${DOMAINS[verified]}`
  const theirs = `<${newId()}@mail.example>`
  const { ticket_id } = await file(desk, contact, { Message_ID: theirs })
  const answer = await createMessage(desk.agent, ticket_id)
  const { code } = await readTicket(desk.agent, ticket_id)
  await desk.agent.patch(`/tickets/${ticket_id}`, { status: 'resolved' })
  return { desk, contact, ticket_id, theirs, ours: `<${answer.email_message_id}>`, code }
}

async function participantsOf(desk: Desk, ticket_id: string): Promise<Record<string, boolean>> {
  const { data } = (await desk.agent.get(`/tickets/${ticket_id}/participants?per_page=100`)).body
  return Object.fromEntries(data.map((one: { email: string; confirmed: boolean }) => [one.email, one.confirmed]))
}

const EACH: [Policy, Verified][] = (['flag', 'restrict'] as const).flatMap((policy) =>
  (['true', 'null', 'false'] as const).map((verified): [Policy, Verified] => [policy, verified]),
)

test.each(EACH)('with %s and sender_verified %s an anchor of ours threads', async (policy, verified) => {
  const { desk, contact, ticket_id, ours } = await converse(policy, verified)
  expect(await file(desk, contact, { In_Reply_To: ours })).toMatchObject({ rule: 'in_reply_to', ticket_id })
  const to = replyAddress(desk.address, ticket_id)
  expect(await file(desk, contact, { To: to })).toMatchObject({ rule: 'reply_tag', ticket_id })
})

test.each(EACH)(
  'with %s and sender_verified %s an anchor of others threads unless forged',
  async (policy, verified) => {
    const { desk, contact, ticket_id, theirs } = await converse(policy, verified)
    const { outcome, ticket_id: joined } = await file(desk, contact, { In_Reply_To: theirs })
    expect([outcome, joined === ticket_id]).toEqual(verified === 'false' ? ['ticket', false] : ['message', true])
  },
)

test.each(EACH)(
  'with %s and sender_verified %s the code in the subject threads when it may',
  async (policy, verified) => {
    const { desk, contact, code } = await converse(policy, verified)
    const threads = verified === 'true' || (verified === 'null' && policy === 'flag')
    expect((await file(desk, contact, { Subject: `Re: [${code}]` })).rule).toBe(threads ? 'subject_code' : 'new')
  },
)

test.each(EACH)(
  'with %s and sender_verified %s the first mail subscribes its Cc when it may',
  async (policy, verified) => {
    const { desk, contact } = await converse(policy, verified)
    const { ticket_id } = await file(desk, contact, { Cc: 'friend@elsewhere.example' })
    const confirmed = verified === 'true' || (verified === 'null' && policy === 'flag')
    expect(await participantsOf(desk, ticket_id)).toEqual({ 'friend@elsewhere.example': confirmed })
  },
)

test.each(EACH)(
  'with %s and sender_verified %s a later mail subscribes its Cc when it may',
  async (policy, verified) => {
    const { desk, contact, ticket_id, ours, theirs, code } = await converse(policy, verified)
    await file(desk, contact, { In_Reply_To: ours, Cc: 'first@elsewhere.example' })
    await file(desk, contact, { In_Reply_To: theirs, Cc: 'second@elsewhere.example' })
    await file(desk, contact, { Subject: `[${code}]`, Cc: 'third@elsewhere.example' })
    const found = await participantsOf(desk, ticket_id)
    expect(found['first@elsewhere.example']).toBe(verified !== 'false')
    expect(found['second@elsewhere.example']).toBe({ true: true, null: false, false: undefined }[verified]!)
    expect(found['third@elsewhere.example'] ?? false).toBe(verified === 'true')
  },
)

test.each(EACH)(
  'with %s and sender_verified %s a reply opens the ticket again unless forged',
  async (policy, verified) => {
    const { desk, contact, ticket_id, ours } = await converse(policy, verified)
    await file(desk, contact, { In_Reply_To: ours })
    expect((await readTicket(desk.agent, ticket_id)).status).toBe(verified === 'false' ? 'resolved' : 'open')
  },
)

test.each(EACH)(
  'with %s and sender_verified %s the Cc of a mail of another participant is listed, and gets nothing',
  async (policy, verified) => {
    const { desk, contact, ticket_id, ours } = await converse(policy, verified)
    const colleague = `colleague.${newId()}@${DOMAINS[verified]}`
    await desk.agent.post(`/tickets/${ticket_id}/participants`, { email: colleague })
    const stranger = `stranger.${newId()}@${DOMAINS[verified]}`
    await file(desk, colleague, { In_Reply_To: ours, To: `${desk.address}, ${contact}`, Cc: 'first@elsewhere.example' })
    await file(desk, stranger, { In_Reply_To: ours, Cc: `second@elsewhere.example, ${stranger}` })
    expect(await participantsOf(desk, ticket_id)).toEqual({
      [colleague]: true,
      'first@elsewhere.example': false,
      [stranger]: false,
      'second@elsewhere.example': false,
    })
    const { email_recipients } = await createMessage(desk.agent, ticket_id)
    expect(email_recipients.map(({ email }: { email: string }) => email)).toEqual([contact, colleague])
  },
)

test('a forged mail of a colleague that holds an anchor of ours is listed as of a stranger', async () => {
  const { desk, ticket_id, ours } = await converse('flag', 'false')
  const colleague = `colleague.${newId()}@rejects.example`
  expect(await file(desk, colleague, { In_Reply_To: ours })).toMatchObject({ ticket_id, sender_verified: false })
  expect(await participantsOf(desk, ticket_id)).toEqual({ [colleague]: false })
})

test('of the recipients of one mail only the first 20 are subscribed', async () => {
  const Cc = Array.from({ length: 30 }, (_, n) => `person${n}@elsewhere.example`).join(', ')
  const { ticket_id } = await file(started, `carla.${newId()}@passes.example`, { Cc })
  const found = await participantsOf(started, ticket_id)
  expect(Object.keys(found)).toHaveLength(30)
  expect(Object.keys(found).filter((email) => found[email])).toEqual(
    Array.from({ length: 20 }, (_, n) => `person${n}@elsewhere.example`),
  )
})

test('mail whose sender DNS could not tell for ten minutes may do no more than forged mail', async () => {
  const { desk, ticket_id, theirs, ours, code } = await converse('flag', 'null')
  const { contact } = await readTicket(desk.agent, ticket_id)
  dns.add({ [`_dmarc.${DOMAINS.null}`]: 'fails' })
  using _ = withSettings({ DNS_SERVERS: [dns.address] })
  const Cc = 'private@attacker.example'
  const fileAtLast = async (fields: Fields) => {
    await file(desk, contact.email, { Cc, ...fields })
    for (let checks = 0; checks < 3; checks++) {
      await desk.scope.sql`update outbox set run_at = now() where kind = 'inbound'`
      await drain()
    }
    return (await ledgerOf(desk))[0]
  }
  for (const fields of [{ In_Reply_To: theirs }, { Subject: `[${code}]` }]) {
    const row = await fileAtLast(fields)
    expect(row).toMatchObject({ outcome: 'ticket', sender_verified: null })
    expect(await participantsOf(desk, row.ticket_id)).toEqual({ [Cc]: false })
  }
  expect(await fileAtLast({ In_Reply_To: ours })).toMatchObject({ outcome: 'message', ticket_id })
  expect(await participantsOf(desk, ticket_id)).toEqual({ [Cc]: false })
  expect((await readTicket(desk.agent, ticket_id)).status).toBe('resolved')
  dns.add({ [`_dmarc.${DOMAINS.null}`]: {} })
})

test("a stranger in the customer's name gets no answer by his own Reply-To", async () => {
  const { desk, contact, ticket_id, ours } = await converse('flag', 'false')
  const Reply_To = `private@${DOMAINS.false}`
  expect(await file(desk, contact, { In_Reply_To: ours, Reply_To })).toMatchObject({ ticket_id })
  const opened = await file(desk, contact, { Reply_To })
  for (const id of [ticket_id, opened.ticket_id]) {
    const { email_recipients } = await createMessage(desk.agent, id, { body: 'Your new password is hunter2' })
    expect(email_recipients.map(({ email }: { email: string }) => email)).toEqual([contact])
  }
})

test("a stranger in the customer's name gets no answer by his own Cc", async () => {
  const { desk, contact, ticket_id, theirs } = await converse('flag', 'false')
  const Cc = 'private@attacker.example'
  await file(desk, contact, { In_Reply_To: theirs, Cc })
  const opened = await file(desk, contact, { Cc })
  for (const id of [ticket_id, opened.ticket_id]) {
    const { email_recipients } = await createMessage(desk.agent, id, { body: 'Your new password is hunter2' })
    expect(email_recipients.map(({ email }: { email: string }) => email)).toEqual([contact])
  }
})

test.each([
  ['no From, and the customer in the envelope', {}],
  ['no address in From, and the customer in the envelope', { From: 'Carla' }],
  ['a group of nobody in From, and the customer in the envelope', { From: 'undisclosed:;' }],
])('mail with %s is of somebody whom nothing proves', async (_, fields: Fields) => {
  const { desk, contact, ticket_id, theirs, ours, code } = await converse('flag', 'false')
  const nobody = { From: undefined, Cc: 'private@attacker.example', ...fields }
  for (const found of [{ In_Reply_To: theirs }, { Subject: `[${code}]` }]) {
    expect(await file(desk, contact, { ...nobody, ...found })).toMatchObject({ outcome: 'ticket', rule: 'new' })
  }
  expect(await file(desk, contact, { ...nobody, In_Reply_To: ours })).toMatchObject({ ticket_id })
  expect(await participantsOf(desk, ticket_id)).toEqual({ 'private@attacker.example': false })
})

test('mail from a mailbox of ours that names the customer elsewhere subscribes nobody to a ticket', async () => {
  const { desk, contact, ticket_id, ours } = await converse('flag', 'false')
  const fields = { In_Reply_To: ours, Reply_To: contact, Cc: 'private@attacker.example' }
  expect(await file(desk, desk.address, fields)).toMatchObject({ ticket_id, from: { email: contact } })
  expect(await participantsOf(desk, ticket_id)).toEqual({ 'private@attacker.example': false })
})

test.each<[Verified, boolean]>([
  ['true', true],
  ['null', false],
])('with sender_verified %s a Reply-To gets the answer on a ticket with an answer: %p', async (verified, moves) => {
  const { desk, contact, ticket_id, ours, theirs, code } = await converse('flag', verified)
  const Reply_To = `private@${DOMAINS[verified]}`
  for (const fields of [{ Subject: `[${code}]` }, { In_Reply_To: theirs }, { In_Reply_To: ours }]) {
    expect(await file(desk, contact, { ...fields, Reply_To })).toMatchObject({ ticket_id })
    const { email_recipients } = await createMessage(desk.agent, ticket_id, { body: 'Your new password is hunter2' })
    expect(email_recipients.map(({ email }: { email: string }) => email)).toEqual([moves ? Reply_To : contact])
  }
})
