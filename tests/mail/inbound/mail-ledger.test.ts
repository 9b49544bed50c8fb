/** The ledger: one row for each message that got a 250, its outcome, and no message lost. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import ipaddr from 'ipaddr.js'
import { config } from '../../../src/base/config'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { SYSTEM } from '../../../src/base/scope'
import { takeLease } from '../../../src/delivery/outbox/claim'
import { settleOne } from '../../../src/delivery/outbox/settle'
import { storage } from '../../../src/desk/attachments/storage'
import { fileInbound } from '../../../src/mail/inbound/receive'
import { removeOldOriginals } from '../../../src/mail/inbound/retention'
import { api, createOrganization, type Organization } from '../../support/api'
import { issueCertificate } from '../../support/certificates'
import { type StartedDesk, startDesk } from '../../support/desk'
import {
  createMailbox,
  deliver,
  drain,
  importMail,
  ledgerOf,
  MAX_BYTES,
  rawMail,
  startListener,
} from '../../support/mail'
import { withSettings } from '../../support/settings'
import { buildMail, sendInSession, sendMail, smtpDialog, startSession } from '../../support/smtp'

let desk: StartedDesk
let other: Organization

beforeAll(async () => {
  desk = await startDesk({ smtp: null })
  other = await createOrganization()
})
afterAll(() => desk.stop())

const FROM = 'carla@customer.example'
const EML = { 'content-type': 'message/rfc822' }

function newMail(fields: Record<string, string> = {}, body?: string): Buffer {
  return rawMail({ From: FROM, Subject: 'Printer', Message_ID: `<${newId()}@customer.example>`, ...fields }, body)
}

function send(to: string | string[], raw = newMail()) {
  return sendMail({ port: desk.port, from: FROM, to, raw })
}

test('mail for an unknown or inactive mailbox is refused with 550, also next to one that is taken', async () => {
  const active = await createMailbox(desk.admin)
  const inactive = await createMailbox(desk.admin, { active: false })
  expect(await send('nobody@desk.example')).toMatchObject({ code: 550, response: expect.stringContaining('5.1.1') })
  expect(await send(inactive.address)).toMatchObject({ code: 550 })
  const both = await send([inactive.address, active.address])
  expect(both.code).toBe(250)
  expect(both.recipients[inactive.address]).toStartWith('550')
  await drain()
})

test('a mailbox takes mail in any case and with any tag', async () => {
  const { address } = await createMailbox(desk.admin)
  for (const to of [address.toUpperCase(), address.replace('@', '+sales@'), address.replace('@', '+a+b@')]) {
    expect((await send(to)).code).toBe(250)
  }
  await drain()
  expect((await ledgerOf(desk))[0].mailbox.address).toBe(address)
})

test('a mailbox of an international domain takes mail for either form of it', async () => {
  const address = `help.${newId()}@xn--bcher-kva.example`
  await createMailbox(desk.admin, { address })
  expect((await send(address)).code).toBe(250)
  expect((await send(address.replace('xn--bcher-kva', 'bücher'))).code).toBe(250)
  await drain()
})

test('what is no domain leads to no mailbox', async () => {
  const { address } = await createMailbox(desk.admin)
  for (const more of ['/x', '?x', ':25', '%2e']) expect((await send(`${address}${more}`)).code).toBeWithin(500, 560)
})

test('a mailbox of an international domain takes no part in its own tickets, under either form of it', async () => {
  for (const domain of ['bücher.example', 'xn--bcher-kva.example']) {
    const mailbox = await createMailbox(desk.admin, { address: `own.${newId()}@${domain}` })
    const [local] = mailbox.address.split('@')
    const raw = rawMail({
      From: FROM,
      To: `${local}@bücher.example, ${local}@xn--bcher-kva.example, ${local}+tag@xn--bcher-kva.example`,
      Message_ID: `<${newId()}@customer.example>`,
    })
    const { ticket_id } = await importMail(desk.admin, mailbox.id, raw)
    expect((await desk.agent.get(`/tickets/${ticket_id}/participants`)).body.data).toEqual([])
  }
})

test('too large a message is refused with 552 and leaves nothing', async () => {
  const { id, address } = await createMailbox(desk.admin)
  expect(await send(address, newMail({}, 'x'.repeat(MAX_BYTES)))).toMatchObject({
    code: 552,
    response: expect.stringContaining('5.3.4'),
  })
  expect(await ledgerOf(desk, `&mailbox_id=${id}`)).toEqual([])
})

test('nothing is acknowledged while the store cannot be written', async () => {
  const { id, address } = await createMailbox(desk.admin)
  await blockFolder('inbound', async () => {
    expect(await send(address)).toMatchObject({ code: 451, response: expect.stringContaining('4.3.0') })
  })
  expect(await ledgerOf(desk, `&mailbox_id=${id}`)).toEqual([])
  expect((await send(address)).code).toBe(250)
  await drain()
  expect(await ledgerOf(desk, `&mailbox_id=${id}`)).toHaveLength(1)
})

test('nothing is acknowledged while the ledger cannot be written', async () => {
  const { id, address } = await createMailbox(desk.admin)
  const { sql } = connection()
  await sql`alter table inbound_messages add constraint refuse check (size < 0) not valid`
  try {
    expect(await send(address)).toMatchObject({ code: 451 })
  } finally {
    await sql`alter table inbound_messages drop constraint refuse`
  }
  expect(await ledgerOf(desk, `&mailbox_id=${id}`)).toEqual([])
})

test('nothing is acknowledged for a mailbox that was removed after its RCPT', async () => {
  const { id, address } = await createMailbox(desk.admin)
  using dialog = await startSession(desk.port)
  await dialog.command(`MAIL FROM:<${FROM}>`)
  expect(await dialog.command(`RCPT TO:<${address}>`)).toStartWith('250')
  await desk.admin.delete(`/mailboxes/${id}`)
  await dialog.command('DATA')
  expect(await dialog.command('Subject: x\r\n\r\nHello\r\n.')).toStartWith('451')
})

test('a message is pending in the ledger until it is filed', async () => {
  const mailbox = await createMailbox(desk.admin)
  const raw = newMail({ From: 'Carla <carla@customer.example>', Message_ID: `<${mailbox.id}@x.example>` })
  await send(mailbox.address, raw)
  const [pending] = await ledgerOf(desk)
  expect(pending).toEqual({
    envelope_from: FROM,
    recipients: [mailbox.address],
    smtp_reply: null,
    id: expect.any(String),
    mailbox: { id: mailbox.id, address: mailbox.address },
    email_message_id: null,
    from: null,
    subject: null,
    size: raw.length,
    remote_address: '127.0.0.1',
    helo: 'client.example.test',
    tls: false,
    sender_verified: null,
    authentication: null,
    spam_score: null,
    spam_by: null,
    received_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    outcome: 'pending',
    rule: null,
    ticket_id: null,
    message_id: null,
  })
  await drain()
  expect((await ledgerOf(desk))[0]).toEqual({
    ...pending,
    email_message_id: `${mailbox.id}@x.example`,
    from: { name: 'Carla', email: FROM },
    subject: 'Printer',
    authentication: { spf: 'none', dkim: 'none', dmarc: 'none', arc: 'none' },
    outcome: 'ticket',
    rule: 'new',
    ticket_id: expect.any(String),
    message_id: expect.any(String),
  })
})

test('the ledger says which server delivered a message, what it called itself, and whether over TLS', async () => {
  const { id, address } = await createMailbox(desk.admin)
  const certificate = await issueCertificate()
  const listener = await startListener({ tls: certificate, proxies: [ipaddr.parseCIDR('127.0.0.0/8')] })
  await using _ = { [Symbol.asyncDispose]: () => listener.close({ timeout_ms: 0 }) }
  for (const [header, helo, way] of [
    ['PROXY UNKNOWN', 'Plain.Example', 'plain'],
    ['PROXY UNKNOWN', 'secure.example', 'STARTTLS'],
    ['PROXY TCP4 192.0.2.77 198.51.100.1 40000 25', '[192.0.2.77]', 'plain'],
    ['PROXY TCP6 2001:db8::77 2001:db8::1 40000 25', 'bücher"x\\u0000', 'STARTTLS'],
  ]) {
    using dialog = await smtpDialog(listener.port)
    dialog.write(`${header}\r\n`)
    await dialog.read()
    await dialog.command('EHLO before.example')
    if (way === 'STARTTLS') await dialog.startTls({ ca: certificate.ca, servername: 'localhost' })
    await dialog.command(`EHLO ${helo}`)
    expect(await sendInSession(dialog, { from: FROM, to: address, raw: newMail() })).toMatchObject({ code: 250 })
  }
  await drain()
  const imported = await importMail(desk.admin, id, newMail())
  const rows = await ledgerOf(desk, `&mailbox_id=${id}`)
  const found = rows.map(({ remote_address, helo, tls }: Record<string, unknown>) => [remote_address, helo, tls])
  expect(imported).toEqual(rows[0])
  expect(found.toReversed()).toEqual([
    ['127.0.0.1', 'plain.example', false],
    ['127.0.0.1', 'secure.example', true],
    ['192.0.2.77', '[192.0.2.77]', false],
    ['2001:db8::77', 'bücher"x\\u0000', true],
    [null, null, null],
  ])
})

test('a message to two mailboxes of an organization is one, the tagged address telling more', async () => {
  const [first, second] = [await createMailbox(desk.admin), await createMailbox(desk.admin)]
  await send([first.address, second.address.replace('@', '+tag@')])
  await drain()
  expect(await ledgerOf(desk, `&mailbox_id=${first.id}`)).toEqual([])
  expect(await ledgerOf(desk, `&mailbox_id=${second.id}`)).toHaveLength(1)
})

test('a message to two organizations is one of each, and neither sees the row of the other', async () => {
  const [mine, theirs] = [await createMailbox(desk.admin), await createMailbox(other.admin)]
  const raw = newMail()
  await send([mine.address, theirs.address], raw)
  await drain()
  const [row] = await ledgerOf(desk, `&mailbox_id=${mine.id}`)
  const [their_row] = await ledgerOf(other, `&mailbox_id=${theirs.id}`)
  expect([row.outcome, their_row.outcome]).toEqual(['ticket', 'ticket'])
  expect(row.ticket_id).not.toBe(their_row.ticket_id)
  expect((await desk.agent.get(`/tickets/${row.ticket_id}`)).status).toBe(200)
  expect((await other.agent.get(`/tickets/${row.ticket_id}`)).status).toBe(404)
  expect((await desk.admin.get(`/inbound-messages?mailbox_id=${theirs.id}`)).body.data).toEqual([])
})

test('the original is kept byte by byte', async () => {
  const { address } = await createMailbox(desk.admin)
  const raw = Buffer.concat([newMail({}, '.dot\n..dots\nbare'), Buffer.from([0xff, 0, 0x80, 13, 10])])
  await deliver(desk.port, { to: address, raw })
  const [row] = await ledgerOf(desk)
  const answer = await original(row.id)
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toBe('message/rfc822')
  expect(answer.headers.get('content-disposition')).toContain('attachment')
  expect(Buffer.from(await answer.arrayBuffer()).equals(raw)).toBe(true)
})

async function original(id: string): Promise<Response> {
  const headers = { authorization: `Bearer ${desk.admin.token}` }
  return api().handle(new Request(`http://localhost/api/v1/inbound-messages/${id}/raw`, { headers }))
}

test('originals go after the retention, but not those of mail that is pending; the rows stay', async () => {
  const mailbox = await createMailbox(desk.admin)
  const filed = await importMail(desk.admin, mailbox.id, newMail())
  await send(mailbox.address)
  await removeOldOriginals(connection(), -1)
  expect((await original(filed.id)).status).toBe(404)
  const [pending, row] = await ledgerOf(desk, `&mailbox_id=${mailbox.id}`)
  expect(row.id).toBe(filed.id)
  // It may hold a letter of the service.
  expect((await original(pending.id)).status).toBe(404)
  await drain()
  expect((await original(pending.id)).status).toBe(200)
})

test('the ledger is filtered by outcome and mailbox, and paged', async () => {
  const mailbox = await createMailbox(desk.admin)
  const raw = newMail()
  const ticket = await importMail(desk.admin, mailbox.id, raw)
  const duplicate = await importMail(desk.admin, mailbox.id, raw)
  const idsOf = async (query: string) => {
    const { data, meta } = (await desk.admin.get(`/inbound-messages?mailbox_id=${mailbox.id}${query}`)).body
    return [data.map(({ id }: { id: string }) => id), meta]
  }
  expect(await idsOf('')).toEqual([[duplicate.id, ticket.id], { total: 2, page: 1, per_page: 20, next_cursor: null }])
  expect(await idsOf('&outcome=duplicate')).toEqual([
    [duplicate.id],
    { total: 1, page: 1, per_page: 20, next_cursor: null },
  ])
  expect(await idsOf('&per_page=1&page=2')).toEqual([
    [ticket.id],
    { total: 2, page: 2, per_page: 1, next_cursor: null },
  ])
})

test('a dry run names the rule and the ticket, and stores nothing', async () => {
  const mailbox = await createMailbox(desk.admin)
  const first = await importMail(desk.admin, mailbox.id, newMail({ Message_ID: `<${mailbox.id}@dry.example>` }))
  const before = await storedCounts()
  const run = async (raw: Uint8Array) => {
    const answer = await desk.admin.send('POST', `/inbound-messages?mailbox_id=${mailbox.id}&dry_run=true`, raw, EML)
    expect(answer.status).toBe(200)
    return answer.body.data
  }
  const raw = await buildMail({ from: 'new@x.example', subject: 'New', attachments: [{ filename: 'a', content: 'b' }] })
  expect(await run(raw)).toMatchObject({
    id: null,
    mailbox: { id: mailbox.id, address: mailbox.address },
    from: { name: null, email: 'new@x.example' },
    subject: 'New',
    size: raw.length,
    remote_address: null,
    helo: null,
    tls: null,
    outcome: 'ticket',
    rule: 'new',
    ticket_id: null,
    message_id: null,
  })
  const reply = newMail({ In_Reply_To: `<${mailbox.id}@dry.example>` })
  expect(await run(reply)).toMatchObject({ outcome: 'message', rule: 'in_reply_to', ticket_id: first.ticket_id })
  expect(await run(newMail({ Message_ID: `<${mailbox.id}@dry.example>` }))).toMatchObject({
    outcome: 'duplicate',
    rule: null,
  })
  expect(await storedCounts()).toEqual(before)
})

async function storedCounts() {
  const [counts] = await connection().sql`
    select (select count(*) from inbound_messages) as ledger, (select count(*) from tickets) as tickets,
      (select count(*) from messages) as messages, (select count(*) from contacts) as contacts,
      (select count(*) from attachments) as attachments, (select count(*) from inbound_fingerprints) as fingerprints,
      (select count(*) from storage_removals) as removals, (select count(*) from outbox) as outbox`
  return counts
}

test('an import needs a mailbox of the organization, the right type and a body of bearable size', async () => {
  const mailbox = await createMailbox(desk.admin)
  const post = async (query: string, body: string | Uint8Array | undefined = newMail(), headers = EML) => {
    const answer = await desk.admin.send('POST', `/inbound-messages${query}`, body, headers)
    return [answer.status, answer.body.error?.code, answer.body.error?.details.errors?.[0]?.path]
  }
  expect(await post('')).toEqual([422, 'VALIDATION_ERROR', '/query/mailbox_id'])
  for (const id of [newId(), 'no-uuid']) {
    expect(await post(`?mailbox_id=${id}`)).toEqual([422, 'MAILBOX_NOT_FOUND', '/query/mailbox_id'])
  }
  for (const type of ['application/json', 'text/plain', 'message/partial']) {
    expect(await post(`?mailbox_id=${mailbox.id}`, newMail(), { 'content-type': type })).toEqual([
      400,
      'BAD_REQUEST',
      undefined,
    ])
  }
  expect(await post(`?mailbox_id=${mailbox.id}`, '')).toEqual([400, 'BAD_REQUEST', undefined])
  {
    using _ = withSettings({ SMTP_MAX_BYTES: 1000 })
    expect(await post(`?mailbox_id=${mailbox.id}`, newMail({}, 'x'.repeat(1000)))).toEqual([
      413,
      'PAYLOAD_TOO_LARGE',
      undefined,
    ])
  }
  expect(await ledgerOf(desk, `&mailbox_id=${mailbox.id}`)).toEqual([])
  expect(await post(`?mailbox_id=${mailbox.id}`, newMail(), { 'content-type': 'Message/RFC822; charset=x' })).toEqual([
    201,
    undefined,
    undefined,
  ])
})

test('mail stays pending while the original cannot be read, and is filed later', async () => {
  const mailbox = await createMailbox(desk.admin)
  await send(mailbox.address)
  const [{ id }] = await ledgerOf(desk)
  const file = path.join(folder(''), String(await storageKey(id)))
  renameSync(file, `${file}.away`)
  await drain()
  expect((await ledgerOf(desk))[0].outcome).toBe('pending')
  renameSync(`${file}.away`, file)
  await makeDue()
  await drain()
  expect((await ledgerOf(desk))[0]).toMatchObject({ id, outcome: 'ticket' })
})

test('mail stays pending while attachments cannot be stored, and is filed later', async () => {
  const mailbox = await createMailbox(desk.admin)
  await send(mailbox.address, await mailWithFile())
  await blockFolder('attachments', drain)
  const [pending] = await ledgerOf(desk)
  expect(pending.outcome).toBe('pending')
  await makeDue()
  await drain()
  const [row] = await ledgerOf(desk)
  expect(row).toMatchObject({ id: pending.id, outcome: 'ticket' })
  const { messages } = (await desk.agent.get(`/tickets/${row.ticket_id}`)).body.data
  expect(messages[0].attachments).toHaveLength(1)
})

test('a transaction that fails leaves nothing, also no uploads, and the mail is filed later', async () => {
  const mailbox = await createMailbox(desk.admin)
  const { sql } = connection()
  const before = await storedCounts()
  await send(mailbox.address, await mailWithFile())
  await sql`alter table inbound_fingerprints add constraint refuse check (fingerprint = '') not valid`
  try {
    await drain()
  } finally {
    await sql`alter table inbound_fingerprints drop constraint refuse`
  }
  expect(await storedCounts()).toEqual({
    ...before,
    ledger: before!.ledger + 1,
    outbox: before!.outbox + 1,
    removals: before!.removals + 1,
  })
  await makeDue()
  await drain()
  expect((await ledgerOf(desk))[0].outcome).toBe('ticket')
})

test('mail that ends its workers again and again is filed unread; where that fails it leaves nothing, also no uploads', async () => {
  const mailbox = await createMailbox(desk.admin)
  const { sql } = connection()
  const before = await storedCounts()
  const raw = newMail()
  await send(mailbox.address, raw)
  await sql`update outbox set claims = 26 where kind = 'inbound'`
  await sql`alter table inbound_fingerprints add constraint refuse check (fingerprint = '') not valid`
  try {
    await drain()
  } finally {
    await sql`alter table inbound_fingerprints drop constraint refuse`
  }
  expect(await storedCounts()).toEqual({
    ...before,
    ledger: before!.ledger + 1,
    outbox: before!.outbox + 1,
    removals: before!.removals + 1,
  })
  await sql`update outbox set claims = 26, attempts = 0 where kind = 'inbound'`
  await makeDue()
  await drain()
  const [row] = await ledgerOf(desk)
  expect(row).toMatchObject({ outcome: 'unparsed', subject: 'Printer' })
  const { messages } = (await desk.agent.get(`/tickets/${row.ticket_id}`)).body.data
  expect(messages[0].attachments).toMatchObject([{ filename: 'message.eml', size: raw.length }])
})

test('an import that fails leaves nothing but bytes that are to be removed', async () => {
  const mailbox = await createMailbox(desk.admin)
  const { sql } = connection()
  const before = await storedCounts()
  await sql`alter table inbound_fingerprints add constraint refuse check (fingerprint = '') not valid`
  try {
    const raw = await mailWithFile()
    const answer = await desk.admin.send('POST', `/inbound-messages?mailbox_id=${mailbox.id}`, raw, EML)
    expect(answer.status).toBe(500)
  } finally {
    await sql`alter table inbound_fingerprints drop constraint refuse`
  }
  expect(await storedCounts()).toEqual({ ...before, removals: before!.removals + 2 })
})

test('a message that two workers file at once is filed by the one who holds the lease', async () => {
  const mailbox = await createMailbox(desk.admin)
  await send(mailbox.address)
  const { sql } = connection()
  const [row] = await sql<{ id: string }[]>`
    select id from outbox where organization_id = ${desk.id} and kind = 'inbound'`
  const lease = async () => {
    await sql`update outbox set lease_until = '-infinity' where id = ${row!.id}`
    return (await takeLease({ ...connection(), organization_id: desk.id, actor: SYSTEM }, row!.id))!
  }
  const workers = [await lease(), await lease()]
  const outcomes = await Promise.all(workers.map((job) => fileInbound(job, connection())))
  const settled = await Promise.all(workers.map((job, index) => settleOne(connection(), job, outcomes[index]!)))
  expect(settled).toEqual([false, true])
  const [filed] = await ledgerOf(desk)
  const { data } = (await desk.agent.get(`/tickets/${filed.ticket_id}/messages`)).body
  expect(data).toHaveLength(1)
  expect(filed.outcome).toBe('ticket')
})

function mailWithFile(): Promise<Buffer> {
  return buildMail({ from: FROM, text: 'Hello', attachments: [{ filename: 'a.txt', content: newId() }] })
}

async function storageKey(id: string): Promise<unknown> {
  const [row] = await connection().sql`select storage_key from inbound_messages where id = ${id}`
  return row?.storage_key
}

async function makeDue(): Promise<void> {
  await connection().sql`update outbox set run_at = now() where kind = 'inbound'`
}

function folder(name: string): string {
  return path.join(config.DATA_DIR, 'attachments', name)
}

/** A file in the place of a folder of the store: nothing can be written there, also by root. */
async function blockFolder(name: string, work: () => Promise<void>): Promise<void> {
  const place = folder(name)
  if (!existsSync(place)) await storage().put(`${name}/${newId()}`, new Uint8Array(1))
  renameSync(place, `${place}.away`)
  writeFileSync(place, '')
  try {
    await work()
  } finally {
    rmSync(place)
    renameSync(`${place}.away`, place)
  }
}
