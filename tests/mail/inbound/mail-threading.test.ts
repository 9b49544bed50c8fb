/** Threading and reopening: finds the ticket that a message belongs to, and changes its status. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { replyAddress } from '../../../src/desk/messages/anchors'
import { createDesk, NO_SERVER, type StartedDesk, smtpTo, startDesk } from '../../support/desk'
import {
  activityOf,
  createCompany,
  createContact,
  createMessage,
  hearEvents,
  writtenEvents,
} from '../../support/factories'
import { createMailbox, deliver, drain, importMail, ledgerOf, rawMail, readTicket } from '../../support/mail'
import { buildMail, sendMail } from '../../support/smtp'

let desk: StartedDesk

beforeAll(async () => {
  desk = await startDesk({ address: 'help@desk.example', smtp: smtpTo(NO_SERVER) })
})
afterAll(() => desk.stop())

type Fields = Record<string, string | undefined>

/** Files a message of `from` over HTTP; gives the ledger row. */
function file(from: string, fields: Fields = {}, body?: string) {
  const mail = { From: from, To: 'help@desk.example', Subject: 'Printer', Message_ID: `<${newId()}@mail.example>` }
  return importMail(desk.admin, desk.mailbox_id, rawMail({ ...mail, ...fields }, body))
}

/** The same over SMTP, to an address with a tag. */
async function fileAt(to: string, from: string, fields: Fields = {}) {
  const mail = { From: from, To: to, Subject: 'Printer', Message_ID: `<${newId()}@mail.example>` }
  await deliver(desk.port, { to, raw: rawMail({ ...mail, ...fields }) })
  return (await ledgerOf(desk))[0]
}

/** A conversation of a new contact, with an answer of ours. */
async function converse(contact = address()) {
  const message_id = `${newId()}@mail.example`
  const row = await file(contact, { Message_ID: `<${message_id}>` })
  const answer = await createMessage(desk.agent, row.ticket_id)
  const { code } = await readTicket(desk.agent, row.ticket_id)
  return {
    contact,
    message_id,
    ticket_id: row.ticket_id as string,
    code: code as string,
    ours: answer.email_message_id,
  }
}

function address(domain = `${newId()}.example`): string {
  return `person.${newId().slice(-8)}@${domain}`
}

async function participantsOf(ticket_id: string) {
  const { data } = (await desk.agent.get(`/tickets/${ticket_id}/participants`)).body
  return data.map(({ email, confirmed }: { email: string; confirmed: boolean }) => ({ email, confirmed }))
}

test('a reply to our message is threaded by In-Reply-To, before References', async () => {
  const [ticket, other] = [await converse(), await converse()]
  const row = await file(ticket.contact, { In_Reply_To: `<${ticket.ours}>`, References: `<${other.ours}>` })
  expect(row).toMatchObject({ outcome: 'message', rule: 'in_reply_to', ticket_id: ticket.ticket_id })
  const { messages } = await readTicket(desk.agent, ticket.ticket_id)
  expect(messages.at(-1)).toMatchObject({ id: row.message_id, direction: 'inbound' })
})

test('a reply to a message of the contact is threaded by its own Message-ID', async () => {
  const ticket = await converse()
  const row = await file(ticket.contact, { In_Reply_To: `<${ticket.message_id}>` })
  expect(row).toMatchObject({ outcome: 'message', rule: 'in_reply_to', ticket_id: ticket.ticket_id })
})

test('ids that lack their brackets lead to the ticket too', async () => {
  const ticket = await converse()
  for (const fields of [
    { In_Reply_To: ticket.ours },
    { References: `${newId()}@unseen.example ${ticket.message_id}` },
  ]) {
    expect(await file(ticket.contact, fields)).toMatchObject({ outcome: 'message', ticket_id: ticket.ticket_id })
  }
})

test('References are tried from the last to the first', async () => {
  const [first, last] = [await converse(), await converse()]
  const row = await file(first.contact, { References: `<${first.ours}> <${last.ours}> <unknown@mail.example>` })
  expect(row).toMatchObject({ rule: 'references', ticket_id: last.ticket_id })
})

test('where a long conversation began is tried and remembered, and what is near', async () => {
  const contact = address()
  const unseen = (length: number) => Array.from({ length }, () => `<${newId()}@unseen.example>`)
  const fileAfter = (...ids: string[]) => file(contact, { References: ids.join('\r\n ') })
  const ids = unseen(300)
  const [first, last] = [ids[0]!, ids.at(-1)!]
  const { ticket_id } = await fileAfter(...ids)
  const found = { rule: 'references', ticket_id }
  expect(await fileAfter(first)).toMatchObject(found)
  expect(await fileAfter(last)).toMatchObject(found)
  expect(await fileAfter(first, ...unseen(300))).toMatchObject(found)
  expect(await fileAfter(...unseen(150), first, ...unseen(85))).toMatchObject(found)
})

test.each([
  [5, 400],
  [200, 400],
  [395, 400],
  [450, 900],
])('our id is found in References wherever it is: %p of %p', async (place, length) => {
  const ticket = await converse()
  const ids = Array.from({ length }, () => `<${newId()}@unseen.example>`)
  ids[place] = `<${ticket.ours}>`
  const row = await file(ticket.contact, { References: ids.join('\r\n ') })
  expect(row).toMatchObject({ outcome: 'message', rule: 'references', ticket_id: ticket.ticket_id })
})

test('a forged id among many leads nowhere', async () => {
  const { contact, ours } = await converse()
  const ids = Array.from({ length: 400 }, () => `<${newId()}@unseen.example>`)
  ids[200] = `<${ours.replace(/.(?=@)/, (digit: string) => (digit === '0' ? '1' : '0'))}>`
  expect(await file(contact, { References: ids.join('\r\n ') })).toMatchObject({ outcome: 'ticket' })
})

test('the other authors of a mail become participants, as those in Cc', async () => {
  const [first, second, copied] = [address(), address(), address()]
  const { ticket_id } = await file(`Ann <${first}>, Bob <${second}>`, { Cc: copied })
  const participants = await participantsOf(ticket_id)
  const { confirmed } = participants.find(({ email }: { email: string }) => email === copied)
  expect(participants).toContainEqual({ email: second, confirmed })
  expect(participants).toHaveLength(2)
})

test('messages that share an ancestor which was never seen are threaded', async () => {
  const contact = address()
  const ancestor = `<${newId()}@never.example>`
  const one = await file(contact, { References: ancestor })
  expect(one).toMatchObject({ outcome: 'ticket', rule: 'new' })
  expect(await file(contact, { References: ancestor })).toMatchObject({ rule: 'references', ticket_id: one.ticket_id })
  expect(await file(contact, { In_Reply_To: ancestor })).toMatchObject({
    rule: 'in_reply_to',
    ticket_id: one.ticket_id,
  })
  expect(await file(address(), { In_Reply_To: ancestor })).toMatchObject({ outcome: 'ticket' })
})

test('the signed tag of the address threads, in the envelope and in To', async () => {
  const ticket = await converse()
  const tagged = replyAddress(desk.address, ticket.ticket_id)
  const expected = { outcome: 'message', rule: 'reply_tag', ticket_id: ticket.ticket_id }
  expect(await fileAt(tagged, ticket.contact)).toMatchObject(expected)
  expect(await fileAt(tagged.toUpperCase(), ticket.contact)).toMatchObject(expected)
  expect(await file(ticket.contact, { To: tagged })).toMatchObject(expected)
})

test('headers come before the tag, the tag before the code in the subject', async () => {
  const [by_header, by_tag, by_code] = [await converse(), await converse(), await converse()]
  const To = replyAddress(desk.address, by_tag.ticket_id)
  const Subject = `Re: Printer [${by_code.code}]`
  expect(await file(by_code.contact, { To, Subject })).toMatchObject({ rule: 'reply_tag', ticket_id: by_tag.ticket_id })
  expect(await file(by_code.contact, { To, Subject, References: `<${by_header.ours}>` })).toMatchObject({
    rule: 'references',
    ticket_id: by_header.ticket_id,
  })
})

test('the code in the subject threads for the contact, also in lower case, and only in brackets', async () => {
  const ticket = await converse()
  const expected = { outcome: 'message', rule: 'subject_code', ticket_id: ticket.ticket_id }
  expect(await file(ticket.contact, { Subject: `AW: Printer [${ticket.code}]` })).toMatchObject(expected)
  expect(await file(ticket.contact, { Subject: `[${ticket.code.toLowerCase()}] Printer` })).toMatchObject(expected)
  expect(await file(ticket.contact, { Subject: `[External] Re: [${ticket.code}]` })).toMatchObject(expected)
  expect(await file(ticket.contact, { Subject: `Printer ${ticket.code}` })).toMatchObject({ outcome: 'ticket' })
})

test('the same subject alone never threads', async () => {
  const ticket = await converse()
  expect(await file(ticket.contact, { Subject: 'Re: Printer' })).toMatchObject({ outcome: 'ticket', rule: 'new' })
})

test('people of the company and confirmed participants may use the anchors of others and the code', async () => {
  const domain = `${newId()}.example`
  const company = await createCompany(desk.agent, { domains: [domain] })
  const colleague = await createContact(desk.agent, { email: address(), company_id: company.id })
  const ticket = await converse(address(domain))
  const participant = address()
  await desk.agent.post(`/tickets/${ticket.ticket_id}/participants`, { email: participant })
  for (const person of [colleague.email, address(`sales.${domain}`), participant.toUpperCase()]) {
    expect(await file(person, { Subject: `[${ticket.code}]` })).toMatchObject({ ticket_id: ticket.ticket_id })
    expect(await file(person, { In_Reply_To: `<${ticket.message_id}>` })).toMatchObject({ ticket_id: ticket.ticket_id })
  }
  expect(await participantsOf(ticket.ticket_id)).toEqual([{ email: participant, confirmed: true }])
})

test('who holds an anchor of ours writes on the ticket, and is listed without being confirmed', async () => {
  const ticket = await converse()
  const [stranger, forwarded] = [address(), address()]
  expect(await file(stranger, { In_Reply_To: `<${ticket.ours}>`, Cc: 'friend@elsewhere.example' })).toMatchObject({
    outcome: 'message',
    ticket_id: ticket.ticket_id,
  })
  expect(await file(forwarded, { Subject: 'Fwd: Printer', References: `<${ticket.ours}>` })).toMatchObject({
    ticket_id: ticket.ticket_id,
  })
  expect(await participantsOf(ticket.ticket_id)).toEqual([
    { email: stranger, confirmed: false },
    { email: 'friend@elsewhere.example', confirmed: false },
    { email: forwarded, confirmed: false },
  ])
  expect(await file(stranger, { Subject: `[${ticket.code}]` })).toMatchObject({ outcome: 'ticket' })
  await desk.agent.post(`/tickets/${ticket.ticket_id}/participants`, { email: stranger })
  expect(await file(stranger, { Subject: `[${ticket.code}]` })).toMatchObject({ ticket_id: ticket.ticket_id })
  const answer = await createMessage(desk.agent, ticket.ticket_id)
  expect(answer.cc).toEqual([stranger])
})

test('the contact adds participants with a reply, those whom others name are listed', async () => {
  const ticket = await converse()
  const [cc, participant, friend] = [address(), address(), address()]
  await file(ticket.contact, { In_Reply_To: `<${ticket.ours}>`, Cc: cc })
  await desk.agent.post(`/tickets/${ticket.ticket_id}/participants`, { email: participant })
  await file(participant, { In_Reply_To: `<${ticket.ours}>`, Cc: friend })
  expect(await participantsOf(ticket.ticket_id)).toEqual([
    { email: cc, confirmed: true },
    { email: participant, confirmed: true },
    { email: friend, confirmed: false },
  ])
})

test('a colleague in Cc who replies to the original, or to another reply, stays on the ticket', async () => {
  const [contact, colleague, boss] = [address(), address(), address()]
  const original = `<${newId()}@mail.example>`
  const reply = `<${newId()}@mail.example>`
  const { ticket_id } = await file(contact, { Message_ID: original, Cc: `${colleague}, Boss <${boss.toUpperCase()}>` })
  const first = await file(colleague, { Message_ID: reply, In_Reply_To: original, Subject: 'Re: Printer' })
  expect(first).toMatchObject({ outcome: 'message', rule: 'in_reply_to', ticket_id })
  const second = await file(boss, { In_Reply_To: `<${newId()}@mail.example>`, References: `${original} ${reply}` })
  expect(second).toMatchObject({ outcome: 'message', rule: 'references', ticket_id })
  expect(await file(address(), { In_Reply_To: original, Cc: contact })).toMatchObject({ outcome: 'ticket' })
})

test('a participant who was removed is a stranger again', async () => {
  const [ticket, participant] = [await converse(), address()]
  const path = `/tickets/${ticket.ticket_id}/participants`
  const { data } = (await desk.agent.post(path, { email: participant })).body
  const clues = { In_Reply_To: `<${ticket.message_id}>`, Subject: `[${ticket.code}]` }
  expect(await file(participant, clues)).toMatchObject({ ticket_id: ticket.ticket_id })
  await desk.agent.delete(`${path}/${data.id}`)
  expect(await file(participant, clues)).toMatchObject({ outcome: 'ticket', rule: 'new' })
})

test('a forward starts a new ticket unless it carries an anchor that leads its sender somewhere', async () => {
  const ticket = await converse()
  const Subject = 'Fwd: Printer'
  const theirs = `<${ticket.message_id}>`
  const expected = { outcome: 'ticket', rule: 'new' }
  expect(await file(ticket.contact, { Subject })).toMatchObject(expected)
  expect(await file(address(), { Subject, References: theirs })).toMatchObject(expected)
  expect(await file(address(), { Subject: `Fwd: Printer [${ticket.code}]` })).toMatchObject(expected)
  for (const [from, fields] of [
    [address(), { References: `${theirs} <${ticket.ours}>` }],
    [ticket.contact, { References: theirs }],
    [ticket.contact, { Subject: `WG: Printer [${ticket.code}]` }],
  ] as [string, Fields][]) {
    expect(await file(from, { Subject, ...fields })).toMatchObject({ outcome: 'message', ticket_id: ticket.ticket_id })
  }
})

test('a relay that changes every id, or drops them, leaves the tag, and then the code', async () => {
  const ticket = await converse()
  const To = replyAddress(desk.address, ticket.ticket_id)
  const changed = {
    In_Reply_To: '<0101018f@eu-west-1.relay.example>',
    References: '<0101018f@eu-west-1.relay.example>',
  }
  const expected = { outcome: 'message', rule: 'reply_tag', ticket_id: ticket.ticket_id }
  expect(await file(address(), { To, ...changed })).toMatchObject(expected)
  expect(await file(address(), { To: 'list@mail.example', Cc: `Help <${To.toUpperCase()}>` })).toMatchObject(expected)
  const other = await file(ticket.contact, { Subject: `Re: Printer [${ticket.code}]` })
  expect(other).toMatchObject({ rule: 'subject_code', ticket_id: ticket.ticket_id })
})

test('a message that reaches two mailboxes one after the other is one, whichever had the tag', async () => {
  const ticket = await converse()
  const second = await createMailbox(desk.admin, { address: `sales.${newId().slice(-8)}@desk.example` })
  const tagged = replyAddress(desk.address, ticket.ticket_id)
  const fields = { To: `${second.address}, ${tagged}`, Message_ID: `<${newId()}@mail.example>` }
  const expected = { outcome: 'message', rule: 'reply_tag', ticket_id: ticket.ticket_id }
  expect(await fileAt(second.address, ticket.contact, fields)).toMatchObject(expected)
  expect(await fileAt(tagged, ticket.contact, fields)).toMatchObject({ outcome: 'duplicate', ticket_id: null })
})

test('each organization threads by what it knows itself', async () => {
  const other = await createDesk({ address: 'help@other.example' })
  const ticket = await converse()
  const known = await importMail(
    other.admin,
    other.mailbox_id,
    rawMail({ From: ticket.contact, Message_ID: `<${newId()}@x>` }),
  )
  const { code } = await readTicket(other.agent, known.ticket_id)
  const raw = rawMail({
    From: ticket.contact,
    To: `${other.address}, ${desk.address}`,
    Subject: `Re: Printer [${code}]`,
    Message_ID: `<${newId()}@mail.example>`,
    In_Reply_To: `<${ticket.ours}>`,
  })
  await deliver(desk.port, { to: [desk.address, other.address], raw })
  expect((await ledgerOf(desk))[0]).toMatchObject({ rule: 'in_reply_to', ticket_id: ticket.ticket_id })
  expect((await ledgerOf(other))[0]).toMatchObject({ rule: 'subject_code', ticket_id: known.ticket_id })
})

test('of two tickets of the sender in the subject the last one counts, which is where ours is put', async () => {
  const first = await converse()
  const second = await importMail(desk.admin, desk.mailbox_id, rawMail({ From: first.contact, Subject: 'Other' }))
  const { code } = await readTicket(desk.agent, second.ticket_id)
  const Subject = `Re: Fwd: about [${first.code}] [${code}]`
  expect(await file(first.contact, { Subject })).toMatchObject({ rule: 'subject_code', ticket_id: second.ticket_id })
})

test('the last code in the subject that is a ticket of the sender counts, with the prefix of its company', async () => {
  const domain = `${newId()}.example`
  await createCompany(desk.agent, { domains: [domain], ticket_prefix: 'ACME' })
  const contact = address(domain)
  const [first, last, foreign] = [await converse(contact), await converse(contact), await converse()]
  expect(last.code).toStartWith('ACME-')
  const Subject = `[${first.code}] Re: [${last.code}] [${last.code.replace('ACME', 'TKT')}] [${foreign.code}] [TKT-99999]`
  expect(await file(contact, { Subject })).toMatchObject({ rule: 'subject_code', ticket_id: last.ticket_id })
})

test('our Message-ID is recognised when a relay changed its case or domain', async () => {
  const ticket = await converse()
  for (const id of [ticket.ours.toUpperCase(), ticket.ours.replace('desk.example', 'relay.example')]) {
    expect(await file(address(), { In_Reply_To: `<${id}>` })).toMatchObject({ ticket_id: ticket.ticket_id })
  }
})

test('a reply to a deleted ticket starts a new one', async () => {
  const ticket = await converse()
  await desk.agent.delete(`/tickets/${ticket.ticket_id}`)
  const row = await file(ticket.contact, {
    In_Reply_To: `<${ticket.ours}>`,
    References: `<${ticket.message_id}>`,
    To: replyAddress(desk.address, ticket.ticket_id),
    Subject: `Re: Printer [${ticket.code}]`,
  })
  expect(row).toMatchObject({ outcome: 'ticket', rule: 'new' })
  expect(row.ticket_id).not.toBe(ticket.ticket_id)
  expect(await file(ticket.contact, { References: `<${ticket.ours}> <${row.email_message_id}>` })).toMatchObject({
    ticket_id: row.ticket_id,
  })
})

test.each([[['pending']], [['resolved']], [['closed']]])(
  'a reply reopens a ticket that is %p, with its events',
  async ([status]) => {
    const ticket = await converse()
    await desk.agent.patch(`/tickets/${ticket.ticket_id}`, { status })
    await hearEvents(desk.scope)
    const before = (await writtenEvents(desk.scope)).length
    await file(ticket.contact, { In_Reply_To: `<${ticket.ours}>` })
    expect((await readTicket(desk.agent, ticket.ticket_id)).status).toBe('open')
    const events = (await writtenEvents(desk.scope)).slice(before)
    expect(events.map(({ event }) => event)).toEqual(['message.created', 'ticket.updated', 'ticket.status_changed'])
    expect(events[1].data.changes).toEqual({ status: { from: status, to: 'open' } })
    expect(events[2].data).toMatchObject({ id: ticket.ticket_id, status: 'open', previous_status: status })
    expect((await activityOf(desk.scope, ticket.ticket_id)).at(-1)).toMatchObject({
      data: { from: status, to: 'open' },
    })
    const timeline = (await desk.agent.get(`/tickets/${ticket.ticket_id}/activity`)).body.data
    expect(timeline.at(-1).actor).toMatchObject({ type: 'contact' })
    await desk.scope.sql`update webhooks set active = false where organization_id = ${desk.id}`
  },
)

test('an automatic answer, and a reply while the setting is off, leave the ticket as it is', async () => {
  const ticket = await converse()
  const status = async () => (await readTicket(desk.agent, ticket.ticket_id)).status
  await desk.agent.patch(`/tickets/${ticket.ticket_id}`, { status: 'resolved' })
  const away = await file(ticket.contact, { In_Reply_To: `<${ticket.ours}>`, Auto_Submitted: 'auto-replied' })
  expect(away).toMatchObject({ outcome: 'message', ticket_id: ticket.ticket_id })
  expect(await status()).toBe('resolved')
  await desk.admin.patch('/organization', { reopen_on_reply: false })
  await file(ticket.contact, { In_Reply_To: `<${ticket.ours}>` })
  expect(await status()).toBe('resolved')
  await desk.admin.patch('/organization', { reopen_on_reply: true })
  await file(ticket.contact, { In_Reply_To: `<${ticket.ours}>` })
  expect(await status()).toBe('open')
})

/** Takes a message without filing it; gives the id of its ledger row. */
async function accept(from: string, raw: Uint8Array): Promise<string> {
  const { code } = await sendMail({ port: desk.port, from, to: desk.address, raw })
  expect(code).toBe(250)
  return (await ledgerOf(desk))[0].id
}

/** An original that is held back, and a reply with a file that came after it and was looked at. */
async function acceptPair() {
  const [contact, root] = [address(), `${newId()}@mail.example`]
  const original = await accept(contact, rawMail({ From: contact, Subject: 'Printer', Message_ID: `<${root}>` }))
  await desk.scope.sql`update outbox set run_at = now() + interval '1 day' where id = ${original}`
  const attachments = [{ filename: 'a.txt', content: newId() }]
  const reply = await accept(contact, await buildMail({ from: contact, inReplyTo: root, text: 'More', attachments }))
  const before = await countUploads()
  const [{ accepted_at } = {}] = await desk.scope.sql`select now()::text as accepted_at`
  await drain()
  return { contact, original, reply, accepted_at, uploads: (await countUploads()) - before }
}

async function countUploads(): Promise<number> {
  const [row] = await desk.scope.sql<{ count: number }[]>`
    select count(*)::int from attachments where organization_id = ${desk.id}`
  return row!.count
}

/** Sets a message free that is held back, or put off, and files it. */
async function release(id: string) {
  await desk.scope.sql`update outbox set run_at = now() where id = ${id}`
  await drain()
  const [row] = await desk.scope.sql`select outcome, rule, ticket_id from inbound_messages where id = ${id}`
  return row!
}

/** Makes a message one that came some minutes earlier; gives its new id. */
async function age(id: string, minutes: number): Promise<string> {
  const { sql } = desk.scope
  const time = (Number.parseInt(id.replace('-', '').slice(0, 12), 16) - minutes * 60_000).toString(16).padStart(12, '0')
  const old = `${time.slice(0, 8)}-${time.slice(8)}${id.slice(13)}`
  await sql`update inbound_messages set id = ${old} where id = ${id}`
  await sql`update outbox set id = ${old} where id = ${id}`
  return old
}

test('a reply does not overtake the original that was taken before it, and other mail does', async () => {
  const { contact, original, reply, accepted_at, uploads } = await acceptPair()
  const [row] = await desk.scope.sql`
    select attempts, claims, run_at > ${accepted_at}::text::timestamptz as is_put_off from outbox where id = ${reply}`
  expect(row).toEqual({ attempts: 0, claims: 0, is_put_off: true })
  expect(uploads).toBe(0)
  expect(await fileAt(desk.address, contact, { References: `<${newId()}@unseen.example>` })).toMatchObject({
    outcome: 'ticket',
  })
  expect(await release(reply)).toMatchObject({ outcome: 'pending' })
  const { ticket_id } = await release(original)
  expect(await release(reply)).toMatchObject({ outcome: 'message', rule: 'in_reply_to', ticket_id })
})

test('a reply waits for an original whose turn has not come as long as it takes', async () => {
  const { original, reply } = await acceptPair()
  const [old_original, old_reply] = [await age(original, 90), await age(reply, 90)]
  expect(await release(old_reply)).toMatchObject({ outcome: 'pending' })
  await release(old_original)
  expect(await release(old_reply)).toMatchObject({ outcome: 'message' })
})

test.each([
  ['that fails', { attempts: 5, claims: 5 }],
  ['whose leases were lost', { attempts: 0, claims: 3 }],
])('a reply waits an hour for an original %s, uses up nothing and holds up no other mail', async (_, lost) => {
  const { sql } = desk.scope
  const { original, reply } = await acceptPair()
  const [old_original, old_reply] = [await age(original, 59), await age(reply, 59)]
  await sql`update outbox set attempts = ${lost.attempts}, claims = ${lost.claims} where id = ${old_original}`
  for (const _ of ['once', 'again', 'and again']) {
    expect(await release(old_reply)).toMatchObject({ outcome: 'pending' })
  }
  const [row] = await sql`
    select attempts, claims, lease_token, run_at > now() as is_put_off from outbox where id = ${old_reply}`
  expect(row).toEqual({ attempts: 0, claims: 0, lease_token: null, is_put_off: true })
  expect(await fileAt(desk.address, address(), {})).toMatchObject({ outcome: 'ticket' })
  const older_original = await age(old_original, 2)
  expect(await release(await age(old_reply, 2))).toMatchObject({ outcome: 'ticket' })
  await release(older_original)
})

test('a reply joins the ticket of an original that lost its leases for most of an hour', async () => {
  const { original, reply } = await acceptPair()
  const [old_original, old_reply] = [await age(original, 59), await age(reply, 59)]
  await desk.scope.sql`update outbox set claims = 3 where id = ${old_original}`
  expect(await release(old_reply)).toMatchObject({ outcome: 'pending' })
  await desk.scope.sql`update outbox set claims = 0 where id = ${old_original}`
  const { ticket_id } = await release(old_original)
  expect(await release(old_reply)).toMatchObject({ outcome: 'message', rule: 'in_reply_to', ticket_id })
})

test('an original that arrives after its reply joins the ticket of the reply', async () => {
  const [writer, colleague] = [address(), address()]
  const original = `<${newId()}@mail.example>`
  const early = await file(colleague, { In_Reply_To: original, Cc: writer })
  expect(early).toMatchObject({ outcome: 'ticket', rule: 'new' })
  const late = await file(writer, { Message_ID: original, Cc: colleague })
  expect(late).toMatchObject({ outcome: 'message', rule: 'message_id', ticket_id: early.ticket_id })
  expect(await file(address(), { Message_ID: original })).toMatchObject({ rule: 'new' })
  // The id belongs to a message now: another one of a device that uses it again is a new ticket.
  expect(await file(writer, { Message_ID: original, Date: 'Sun, 22 Nov 2026 09:00:00 +0000' })).toMatchObject({
    rule: 'new',
  })
})

test.each<[string, (ids: { first: string; second: string }) => [Fields, Fields]]>([
  ['that names only the original', ({ first }) => [{ In_Reply_To: first }, { In_Reply_To: first }]],
  ['that has References only', ({ first }) => [{ References: first }, { References: first }]],
  [
    'one of which answers the other',
    ({ first, second }) => [{ In_Reply_To: first }, { In_Reply_To: second, References: `${first} ${second}` }],
  ],
  ['with folded References', ({ first }) => [{ References: `<x@y.example>\r\n ${first}` }, { In_Reply_To: first }]],
  ['with another subject', ({ first }) => [{ In_Reply_To: first, Subject: 'AW: Drucker' }, { In_Reply_To: first }]],
])('replies to all %s make one ticket with an original that arrives after them', async (_, answers) => {
  const [writer, first_one, second_one] = [address(), address(), address()]
  const [first, second] = [`<${newId()}@mail.example>`, `<${newId()}@mail.example>`]
  const [early, later] = answers({ first, second })
  const all = { To: `Writer <${writer}>, ${second_one}`, Cc: 'Help <help@desk.example>' }
  const { ticket_id } = await file(first_one, { ...all, ...early, Message_ID: second })
  const between = await file(second_one, { ...all, To: `${first_one}, ${writer}`, ...later })
  const original = await file(writer, { Message_ID: first, To: `${first_one}, help@desk.example`, Cc: second_one })
  expect([between, original]).toMatchObject(Array(2).fill({ outcome: 'message', ticket_id }))
  expect(original.rule).toBe('message_id')
})

test('an original of a stranger, or a forged one, does not join the ticket of a reply to it', async () => {
  const original = `<${newId()}@mail.example>`
  const early = await file(address(), { In_Reply_To: original })
  const late = await file(address(), { Message_ID: original })
  expect(late).toMatchObject({ outcome: 'ticket', rule: 'new' })
  expect(late.ticket_id).not.toBe(early.ticket_id)
})

test('the signed tag in To of an import threads, as in the envelope', async () => {
  const { ticket_id } = await converse()
  const To = replyAddress('help@desk.example', ticket_id)
  expect(await file(address(), { To })).toMatchObject({ outcome: 'message', rule: 'reply_tag', ticket_id })
})
