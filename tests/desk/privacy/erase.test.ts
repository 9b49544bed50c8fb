/** Erasure of a person: no trace is left in any table and any file, and what is not the person's stays. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { config } from '../../../src/base/config'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import type { Scope } from '../../../src/base/scope'
import { removeStoredBytes } from '../../../src/desk/attachments/removals'
import { erasePerson } from '../../../src/desk/privacy/erase-person'
import { eraseWithin } from '../../../src/desk/privacy/erase-within'
import type { Organization } from '../../support/api'
import { createOrganization, stranger } from '../../support/api'
import { type Desk, NO_SERVER, type StartedDesk, smtpTo, startDesk } from '../../support/desk'
import {
  createContact,
  createMessage,
  createTicket,
  hearEvents,
  insertTicket,
  logTime,
  uploadFile,
} from '../../support/factories'
import { deliver, importMail, ledgerOf, rawMail, readTicket } from '../../support/mail'
import { changeSchema } from '../../support/triggers'

let desk: StartedDesk

beforeAll(async () => {
  desk = await startDesk()
})
afterAll(() => desk.stop())

const MARK = 'zyxmark'
const EMAIL = `${MARK}@customer.example`

/** Every column of every table that holds the text: `table.column`. */
async function columnsWith(text: string): Promise<string[]> {
  const { sql } = connection()
  const tables = await sql<{ table: string; columns: string[] }[]>`
    select c.table_name as table, array_agg(c.column_name::text) as columns from information_schema.columns c
    join information_schema.tables t using (table_schema, table_name)
    where table_schema = 'public' and table_type = 'BASE TABLE' group by 1`
  const found: string[] = []
  for (const { table, columns } of tables) {
    // One statement for a table: a thousand of them, each planned anew, would take ten seconds of a processor.
    const holds = columns.map(
      (column) => sql`, bool_or(case when pg_typeof(${sql(column)})::text = 'bytea'
        then position(convert_to(${text}, 'UTF8') in ${sql(column)}::text::bytea) > 0
        else strpos(lower(${sql(column)}::text), ${text}) > 0 end) as ${sql(column)}`,
    )
    const [row] = await sql`select 1 as "of all rows" ${holds} from ${sql(table)}`
    for (const column of columns) if (row![column]) found.push(`${table}.${column}`)
  }
  return found
}

/** Files under DATA_DIR with the text in their name or their bytes. */
async function filesWith(text: string): Promise<string[]> {
  const names = existsSync(config.DATA_DIR) ? await readdir(config.DATA_DIR, { recursive: true }) : []
  const found: string[] = []
  for (const name of names) {
    const bytes = await readFile(path.join(config.DATA_DIR, name)).catch(() => Buffer.alloc(0))
    if (name.includes(text) || bytes.toString('latin1').toLowerCase().includes(text)) found.push(name)
  }
  return found
}

function mailFrom(from: string, to: string, more: Record<string, string | string[]> = {}, body = `${MARK} writes`) {
  return rawMail(
    {
      From: `${MARK} Person <${from}>`,
      To: to,
      Cc: `Friend <friend-of-${MARK}@private.example>`,
      Reply_To: `${MARK} at home <${MARK}.home@customer.example>`,
      Subject: `${MARK} subject`,
      Message_ID: `<${newId()}.${MARK}@laptop.example>`,
      'X-Marker': MARK,
      ...more,
    },
    body,
  )
}

function mailWithFile(to: string): Buffer {
  const body = [
    '--b\r\nContent-Type: text/plain\r\n',
    `${MARK} in the text`,
    `--b\r\nContent-Type: text/plain; name="${MARK}.txt"\r\nContent-Disposition: attachment; filename="${MARK}.txt"\r\n`,
    `${MARK} in a file`,
    '--b--',
  ].join('\r\n')
  return mailFrom(EMAIL, to, { MIME_Version: '1.0', Content_Type: 'multipart/mixed; boundary=b' }, body)
}

function insertRefused({ organization_id }: Scope, { sender, recipient }: { sender: string; recipient: string }) {
  return connection().sql`
    insert into refused_messages (organization_id, id, recipient, envelope_sender, from_keys, to_keys, smtp_reply, remote_address, tls)
    values (${organization_id}, ${newId()}, ${recipient}, ${sender}, ${[sender]}, ${[recipient]}, '550 5.1.1 No such mailbox', '127.0.0.1', false)`
}

/** Puts the mark into every place where what is known of a person can go. */
async function plant({ admin, agent, scope, mailbox_id, address }: Desk) {
  await hearEvents(scope)
  const contact = await createContact(agent, {
    name: `${MARK} Person`,
    email: EMAIL,
    phone: `+49 ${MARK}`,
    notes: `${MARK} pays late`,
    custom: { [`${MARK}_tier`]: MARK },
  })
  await insertRefused(scope, { sender: EMAIL, recipient: `nobody@${newId()}.example` })
  await insertRefused(scope, { sender: 'olga@other.example', recipient: EMAIL })
  const file = await uploadFile(agent, `${MARK} bytes`, `${MARK}.pdf`)
  const ticket = await agent
    .post(
      '/tickets',
      {
        subject: `${MARK} cannot print`,
        description: `${MARK} writes`,
        contact_id: contact.id,
        external_id: MARK,
        custom: { who: MARK },
      },
      { 'idempotency-key': newId() },
    )
    .then(({ body }) => body.data)
  await createMessage(agent, ticket.id, {
    body: `Dear ${MARK}`,
    cc: [`friend.${MARK}@private.example`],
    attachment_ids: [file.id],
  })
  await createMessage(agent, ticket.id, { body: `${MARK} is angry`, is_internal: true })
  await agent.patch(`/tickets/${ticket.id}`, {
    subject: `${MARK} cannot print at all`,
    custom: { who: [`${MARK} too`] },
  })
  const draft_file = await uploadFile(agent, `${MARK} bytes`, `${MARK}.doc`)
  const draft = { body: `<b>Dear</b> ${MARK}`, cc: [`${MARK}.boss@customer.example`], attachment_ids: [draft_file.id] }
  await agent.post(`/tickets/${ticket.id}/drafts`, draft, { 'idempotency-key': newId() })
  const entry = await logTime(agent, ticket.id, { description: `Called ${MARK}`, rate: 60 })
  await agent.post('/views', { name: `Of ${EMAIL}`, filter: { contact_id: contact.id, search: EMAIL } })
  await agent.patch(`/time-entries/${entry.id}`, { description: `Called ${MARK} again` })
  await agent.post(`/tickets/${ticket.id}/participants`, { email: `${MARK}.boss@customer.example`, name: MARK })
  const hidden = await createTicket(agent, { subject: `${MARK} hidden`, description: MARK, contact_id: contact.id })
  await agent.delete(`/tickets/${hidden.id}`)
  // By mail: a ticket with a file, a reply to ours, and one that was delivered twice.
  await deliver(desk.port, { from: EMAIL, to: address, raw: mailWithFile(address) })
  const [row] = await ledgerOf({ admin } as Organization)
  const twice = mailFrom(EMAIL, address, { In_Reply_To: `<${row.email_message_id}>` })
  await deliver(desk.port, { from: EMAIL, to: address, raw: twice })
  await deliver(desk.port, { from: EMAIL, to: address, raw: twice })
  await importMail(admin, mailbox_id, mailFrom(EMAIL, address))
  await agent.patch(`/contacts/${contact.id}`, { phone: `+50 ${MARK}` })
  await noteFailures(scope, ticket.id)
  await plantQuotations(agent, ticket.id)
  await plantMore({ agent, admin, mailbox_id, address }, contact.id)
  return { contact, ticket, entry, mail_ticket_id: row.ticket_id as string }
}

/** Tickets of others that quote the person's, also one by the other. Few words above, so that lists show more. */
async function plantQuotations(agent: Desk['agent'], ticket_id: string): Promise<void> {
  const { messages } = await readTicket(agent, ticket_id)
  let quote_message_ids = messages.flatMap(({ id, is_internal }: { id: string; is_internal: boolean }) =>
    is_internal ? [] : id,
  )
  for (const body of ['See', 'Look']) {
    const contact = { email: `supplier.${newId()}@supplier.example` }
    const message = { body, quote_message_ids, send_email: false }
    const given = { subject: 'To the supplier', contact, message }
    const answer = await agent.post('/tickets', given, { 'idempotency-key': newId() })
    expect(answer.status).toBe(201)
    const quoting = await readTicket(agent, answer.body.data.id)
    expect(quoting.messages).toMatchObject([
      { body: expect.stringContaining(MARK), attachments: [{ filename: `${MARK}.pdf` }] },
    ])
    quote_message_ids = [quoting.messages[0].id]
  }
}

/** Another address, a contact that was merged into this one, and the names of other systems. */
async function plantMore(
  { agent, admin, address, mailbox_id }: Pick<Desk, 'agent' | 'admin' | 'address' | 'mailbox_id'>,
  contact_id: string,
) {
  const second = `${MARK}.second@home.example`
  await agent.patch(`/contacts/${contact_id}`, { emails: [EMAIL, second], external_id: `${MARK} 1` })
  await importMail(admin, mailbox_id, mailFrom(second, address))
  const merged = { name: MARK, email: `${MARK}.third@home.example`, external_id: `${MARK} 2` }
  const source = await createContact(agent, merged)
  await importMail(admin, mailbox_id, mailFrom(merged.email, address))
  const other = await createTicket(agent, { contact_id: (await createContact(agent)).id })
  await agent.post(`/tickets/${other.id}/participants`, { email: merged.email })
  await agent.post(`/contacts/${contact_id}/merge`, { source_ids: [source.id] }, { 'idempotency-key': newId() })
}

/** The words of a server about an email, and of a receiver about an event. */
async function noteFailures({ sql, organization_id }: Desk['scope'], ticket_id: string): Promise<void> {
  await sql`
    update messages set email_error = ${`550 no ${EMAIL} here`}
    where organization_id = ${organization_id} and ticket_id = ${ticket_id} and direction = 'outbound'`
  await sql`
    insert into activities (organization_id, id, ticket_id, type, actor_type, data)
    values (${organization_id}, ${newId()}, ${ticket_id}, 'email_failed', 'system',
      ${JSON.stringify({ message_id: newId(), recipient: EMAIL, error: MARK })}::text::jsonb)`
  await sql`
    insert into delivery_attempts
      (organization_id, delivery_id, attempt, started_at, response_time_ms, response_head)
    select organization_id, id, 1, now(), 5, ${`thanks for ${MARK}`} from deliveries
    where organization_id = ${organization_id} on conflict do nothing`
}

/** The person takes part in the ticket of somebody else. */
async function plantElsewhere({ agent, scope, address }: Desk) {
  const other = await insertTicket(scope, { contact: { name: 'Olga Other', email: 'olga@other.example' } })
  await agent.post(`/tickets/${other.id}/participants`, { email: EMAIL, name: `${MARK} Person` })
  await createMessage(agent, other.id, { body: 'To both of you', cc: [EMAIL, 'paul@other.example'] })
  await agent.post(`/tickets/${other.id}/drafts`, { body: 'To you', cc: [EMAIL, 'paul@other.example'] })
  await deliver(desk.port, {
    from: EMAIL,
    to: address,
    raw: mailFrom(EMAIL, address, { Subject: `Re: [${other.code}]` }),
  })
  return other
}

/** A desk whose emails stay in the outbox, so that recipients wait. */
function createWaitingDesk(): Promise<Desk> {
  return desk.createDesk({ smtp: smtpTo(NO_SERVER), signature: 'To {{contact.email}}' })
}

/** The words of servers about emails to the person, who is often named in them. */
async function plantReplies(own: Desk): Promise<void> {
  const tries = JSON.stringify([{ at: '2026-01-31T08:00:00Z', response: `451 ${MARK} later` }])
  await connection().sql`
    update messages set server_response = ${`250 ${MARK}`}, email_tries = ${tries}::text::jsonb
    where organization_id = ${own.id} and id in (
      select message_id from message_recipients where organization_id = ${own.id} and email_key like ${`%${MARK}%`}
    )`
}

describe('erasing a person', () => {
  test('leaves no trace in any column of any table and in any file', async () => {
    const own = await createWaitingDesk()
    const { contact, mail_ticket_id } = await plant(own)
    await plantElsewhere(own)
    await plantReplies(own)
    // The places are really filled, or the test would prove nothing.
    expect(await columnsWith(MARK)).toEqual(
      expect.arrayContaining([
        ...['activities.data', 'activities.actor_name', 'attachments.filename', 'contacts.email', 'contacts.name'],
        ...['drafts.body', 'drafts.body_html', 'drafts.cc', 'drafts.text'],
        ...[
          'contacts.notes',
          'contacts.phone',
          'contacts.search',
          'contacts.email_key',
          'contacts.external_id',
          'contact_addresses.email',
          'contact_addresses.email_key',
          'merged_contacts.external_id',
          'delivery_attempts.response_head',
        ],
        ...['email_anchors.email_message_id', 'events.body', 'idempotency_keys.answer'],
        ...[
          'inbound_fingerprints.fingerprint',
          'inbound_messages.email_message_id',
          'inbound_messages.envelope_sender',
        ],
        ...['inbound_messages.from_email', 'inbound_messages.from_name', 'inbound_messages.subject'],
        ...['inbound_messages.recipients', 'refused_messages.envelope_sender', 'refused_messages.recipient'],
        ...['message_recipients.email', 'messages.body', 'messages.body_html', 'messages.cc', 'messages.email_error'],
        ...[
          'messages.email_message_id',
          'messages.email_tries',
          'messages.server_response',
          'messages.reply_text',
          'messages.signature_html',
          'messages.sender_email',
          'messages.sender_name',
        ],
        ...['participants.email', 'participants.name', 'ticket_search.document', 'tickets.subject'],
        ...['tickets.external_id', 'message_quotes.sender_key'],
        'time_entries.description',
      ]),
    )
    expect((await filesWith(MARK)).length).toBeGreaterThan(3)
    expect(mail_ticket_id).toBeTruthy()

    const answer = await own.admin.post(`/contacts/${contact.id}/erase`)
    expect(answer.status).toBe(200)
    expect(answer.body.data).toEqual({ tickets: expect.any(Number), messages: expect.any(Number), attachments: 5 })
    await removeStoredBytes(connection())
    expect(await columnsWith(MARK)).toEqual([])
    expect(await filesWith(MARK)).toEqual([])
    expect((await own.admin.get(`/contacts/${contact.id}`)).status).toBe(404)
    expect((await own.admin.post(`/contacts/${contact.id}/erase`)).status).toBe(404)
  })

  test.each(['xn--bcher-kva.example', 'bücher.example'])(
    'at %s leaves no spelling of the address anywhere',
    async (domain) => {
      const name = `zyxumlaut.${domain.length}`
      const own = await createWaitingDesk()
      const { agent, admin, scope, address } = own
      await hearEvents(scope)
      const contact = await createContact(agent, { email: `${name}@${domain}` })
      const spellings = ['bücher', 'BÜCHER', 'bu\u0308cher', 'xn--bcher-kva', 'XN--BCHER-KVA', 'ｂücher'].flatMap(
        (label) => [`${name}@${label}.example`, `${name.toUpperCase()}@${label}.Example`],
      )
      for (const email of spellings) {
        const other = await insertTicket(scope, { contact: { name: 'Olga', email: `olga.${newId()}@other.example` } })
        const key = { 'idempotency-key': newId() }
        const path = `/tickets/${other.id}`
        const added = await agent.post(`${path}/participants`, { email }, key)
        expect(added.status).toBe(201)
        const written = await agent.post(
          `${path}/messages`,
          { body: 'To you', cc: [email] },
          { 'idempotency-key': newId() },
        )
        expect(written.status).toBe(201)
        await agent.delete(`${path}/participants/${added.body.data.id}`)
      }
      const senders = [...spellings, `"${name}"@bücher.example`, `"${name}"@xn--bcher-kva.example`]
      for (const from of senders) await importMail(admin, own.mailbox_id, mailFrom(from, address, {}, 'Hello'))
      expect(await columnsWith(name)).toEqual(
        expect.arrayContaining([
          'activities.data',
          'events.body',
          'idempotency_keys.answer',
          'inbound_messages.from_email',
        ]),
      )
      expect((await admin.post(`/contacts/${contact.id}/erase`)).status).toBe(200)
      await removeStoredBytes(connection())
      expect(await columnsWith(name)).toEqual([])
      expect(await filesWith(name)).toEqual([])
    },
  )

  test('keeps tickets, codes, times and amounts, and the other people of other tickets', async () => {
    const own = await createWaitingDesk()
    const { contact, ticket, entry } = await plant(own)
    const other = await plantElsewhere(own)
    await own.admin.post(`/contacts/${contact.id}/erase`)
    const after = await readTicket(own.agent, ticket.id)
    expect(after).toMatchObject({ id: ticket.id, code: ticket.code, subject: '[erased]', contact: null })
    expect(after.messages.map(({ body }: { body: string }) => body)).toEqual(
      Array(after.messages.length).fill('[erased]'),
    )
    expect((await own.agent.get(`/time-entries/${entry.id}`)).body.data).toMatchObject({
      duration_minutes: 60,
      rate: 60,
      amount: 60,
      description: null,
    })
    const { subject, messages } = await readTicket(own.agent, other.id)
    expect(subject).toBe(other.subject)
    expect(messages.map(({ body }: { body: string }) => body)).toContain('To both of you')
    expect(messages[0].cc).toEqual(['paul@other.example'])
    expect((await own.agent.get(`/tickets?search=${ticket.code}`)).body.data).toHaveLength(1)
    for (const path of ['activity', 'participants']) {
      expect((await own.agent.get(`/tickets/${ticket.id}/${path}`)).status).toBe(200)
    }
    expect((await own.admin.get('/inbound-messages')).status).toBe(200)
  })

  test('takes people that only mail of the person named out of the tickets of others', async () => {
    const own = await createWaitingDesk()
    const { agent, admin, mailbox_id, address } = own
    const contact = await createContact(agent, { email: EMAIL })
    const other = await insertTicket(own.scope, { contact: { name: 'Olga Other', email: 'olga@other.example' } })
    const path = `/tickets/${other.id}/participants`
    const names = async () => (await agent.get(path)).body.data.map(({ email }: { email: string }) => email).sort()
    for (const email of [EMAIL, 'paul@other.example']) await agent.post(path, { email })
    const mail = (from: string, ...others: string[]) =>
      rawMail({
        From: from,
        To: address,
        Cc: others.join(', '),
        Subject: `Re: [${other.code}]`,
        Message_ID: `<${newId()}@x>`,
      })
    await importMail(admin, mailbox_id, mail(EMAIL, 'only@a.example', 'both@a.example', 'chosen@a.example'))
    await importMail(admin, mailbox_id, mail('paul@other.example', 'Both@A.example'))
    await agent.post(path, { email: 'chosen@a.example' })
    const others = ['both@a.example', 'chosen@a.example', 'paul@other.example']
    expect(await names()).toEqual([...others, 'only@a.example', EMAIL].sort())

    await admin.post(`/contacts/${contact.id}/erase`)
    expect(await names()).toEqual(others)
  })

  test('leaves events that are still to be delivered with ids only, and tells of the deletion', async () => {
    const own = await createWaitingDesk()
    const { contact, ticket } = await plant(own)
    await own.admin.post(`/contacts/${contact.id}/erase`)
    const { sql, organization_id } = own.scope
    const events = await sql<{ type: string; body: string }[]>`
      select type, body from events where organization_id = ${organization_id} order by id`
    const [created] = events.filter(({ type }) => type === 'ticket.created').map(({ body }) => JSON.parse(body))
    expect(created).toEqual({
      event: 'ticket.created',
      timestamp: expect.any(String),
      organization_id,
      data: { id: ticket.id },
    })
    const last = events.at(-1)!
    expect([last.type, JSON.parse(last.body).data]).toEqual(['contact.deleted', { id: contact.id }])
  })

  test('is in the audit log without what it erased', async () => {
    const own = await createOrganizationWithContact()
    await own.admin.post(`/contacts/${own.contact_id}/erase`)
    const { data } = (await own.admin.get('/audit-log?action=contact.erased')).body
    expect(data).toMatchObject([{ resource: { type: 'contact', id: own.contact_id }, changes: null }])
  })

  test('sends nothing more of what waited, and answers a repeated request with ids only', async () => {
    const own = await createWaitingDesk()
    const contact = await createContact(own.agent, { email: EMAIL })
    const key = { 'idempotency-key': newId() }
    const request = { subject: MARK, contact_id: contact.id }
    const first = await own.agent.post('/tickets', request, key)
    await createMessage(own.agent, first.body.data.id, { body: MARK })
    await own.admin.post(`/contacts/${contact.id}/erase`)
    const { sql, organization_id } = own.scope
    const waiting = await sql`select from outbox where organization_id = ${organization_id} and kind = 'email'`
    expect(waiting).toHaveLength(0)
    const [kept] = await sql<{ answer: string }[]>`
      select answer from idempotency_keys where organization_id = ${organization_id}`
    expect(JSON.parse(kept!.answer)).toEqual({ data: { id: first.body.data.id } })
  })

  test('that was interrupted is finished by the next call', async () => {
    const own = await createWaitingDesk()
    const { contact } = await plant(own)
    await plantElsewhere(own)
    await changeSchema(
      "create function interrupt() returns trigger language plpgsql as $$ begin raise 'killed'; end $$",
    )
    for (const at of ['update on events', 'update on inbound_messages', 'delete on attachments', 'update on tickets']) {
      const [, , table] = at.split(' ')
      await changeSchema(`create trigger interrupt before ${at} for each row execute function interrupt()`)
      const failure = await erasePerson(own.scope, contact.id).catch(({ message }) => message)
      await changeSchema(`drop trigger interrupt on ${table}`)
      expect(failure).toContain('killed')
    }
    await changeSchema('create trigger interrupt before delete on contacts for each row execute function interrupt()')
    expect(await erasePerson(own.scope, contact.id).catch(({ message }) => message)).toContain('killed')
    await changeSchema('drop trigger interrupt on contacts')
    await erasePerson(own.scope, contact.id)
    await removeStoredBytes(connection())
    expect(await columnsWith(MARK)).toEqual([])
    expect(await filesWith(MARK)).toEqual([])
  })

  test('with 10,000 messages holds no lock for long: others write to its ticket meanwhile', async () => {
    const own = await createOrganizationWithContact()
    const { sql, organization_id } = own.scope
    const ticket = await createTicket(own.agent, { contact_id: own.contact_id, description: MARK })
    await sql`
      insert into messages (organization_id, id, ticket_id, body, body_html, direction, sender_name, sender_email)
      select ${organization_id}, id, ${ticket.id}, ${MARK}, ${MARK}, 'inbound', ${MARK}, ${EMAIL}
      from unnest(${Array.from({ length: 9999 }, newId)}::uuid[]) as given (id)`
    let is_over = false
    const erased = own.admin.post(`/contacts/${own.contact_id}/erase`).finally(() => {
      is_over = true
    })
    let writes = 0
    while (!is_over && writes < 5) {
      const { status } = await own.agent.patch(`/tickets/${ticket.id}`, { priority: writes % 2 ? 'low' : 'high' })
      expect(status).toBe(200)
      writes++
    }
    expect((await erased).body.data).toMatchObject({ tickets: 1, messages: 10_000 })
    expect(writes).toBe(5)
    expect(await columnsWith(MARK)).toEqual([])
  })
})

test('the export of a person has everything, with addresses of the files that work without a token', async () => {
  const own = await createWaitingDesk()
  const { contact, ticket, entry } = await plant(own)
  const other = await plantElsewhere(own)
  const answer = await own.admin.get(`/contacts/${contact.id}/export`)
  expect(answer.status).toBe(200)
  const { data } = answer.body
  expect(data.contact).toMatchObject({ id: contact.id, email: EMAIL, notes: `${MARK} pays late` })
  expect(data.tickets.map(({ id }: { id: string }) => id)).toContain(ticket.id)
  const bodies = data.messages.map(({ body }: { body: string }) => body)
  expect(bodies).toEqual(expect.arrayContaining([`Dear ${MARK}`, `${MARK} is angry`]))
  expect(data.messages.filter(({ ticket_id }: { ticket_id: string }) => ticket_id === other.id).length).toBeLessThan(2)
  expect(data.time_entries).toMatchObject([{ id: entry.id, description: `Called ${MARK} again` }])
  expect(data.participations.map(({ ticket_id }: { ticket_id: string }) => ticket_id)).toContain(other.id)
  expect(data.inbound_messages.length).toBeGreaterThan(3)
  const [{ url }] = data.messages.flatMap(({ attachments }: { attachments: { url: string }[] }) => attachments)
  const file = await stranger().get(url.slice(url.indexOf('/attachments')))
  expect([file.status, file.text.includes(MARK)]).toEqual([200, true])
  const { data: entries } = (await own.admin.get('/audit-log?action=contact.exported')).body
  expect(entries).toMatchObject([{ resource: { type: 'contact', id: contact.id } }])
})

test('the export of a person has what the person wrote in tickets of others, however the address is written', async () => {
  const { admin, agent, scope } = await createOrganization()
  const { sql, organization_id } = scope
  const local = `car.la_${newId()}`
  const contact = await createContact(agent, { email: `${local}@bücher.example` })
  const ticket = await createTicket(agent)
  const spellings = [
    `${local}@xn--bcher-kva.example`,
    `${local.toUpperCase()}@BÜCHER.example`,
    `${local}@bücher.example`,
  ]
  const others = [`x${local}@bücher.example`, `${local}@other.example`, null]
  for (const sender_email of [...others, ...spellings]) {
    await sql`
      insert into messages (organization_id, id, ticket_id, is_internal, direction, sender_name, sender_email, body, body_html)
      values (${organization_id}, ${newId()}, ${ticket.id}, false, 'inbound', '', ${sender_email}, ${sender_email ?? ''}, '')`
  }
  const { data } = (await admin.get(`/contacts/${contact.id}/export`)).body
  expect(data.messages.map(({ body }: { body: string }) => body)).toEqual(spellings)
})

async function createOrganizationWithContact() {
  const organization = await createOrganization()
  const contact = await createContact(organization.agent, { name: MARK, email: EMAIL })
  return { ...organization, contact_id: contact.id as string }
}

test('the export of a person has refused mail of each address', async () => {
  const own = await createOrganization()
  const emails = [`${newId()}@work.example`, `${newId()}@home.example`]
  const contact = await createContact(own.agent, { email: emails[0], emails })
  for (const sender of emails) await insertRefused(own.scope, { sender, recipient: 'nobody@desk.example' })
  const { data } = (await own.admin.get(`/contacts/${contact.id}/export`)).body
  const senders = data.inbound_messages.map((mail: { envelope_sender: string }) => mail.envelope_sender)
  expect(senders).toEqual(emails)
})

test('an erasure that takes long goes on after its answer, and the next request waits for it', async () => {
  const { admin, agent, scope } = await createOrganization()
  const contact = await createContact(agent, { email: `long.${newId()}@customer.example` })
  await createTicket(agent, { contact_id: contact.id, subject: 'Printer' })
  const [at_once, waiting] = [eraseWithin(scope, contact.id, 0), eraseWithin(scope, contact.id)]
  await expect(at_once).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE', retry_after_s: 10 })
  expect(await waiting).toMatchObject({ tickets: 1 })
  expect((await admin.post(`/contacts/${contact.id}/erase`)).status).toBe(404)
})
