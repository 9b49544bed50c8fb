/** Moving in: what an import brings, what it does again, and what it refuses. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fs from 'node:fs'
import path from 'node:path'
import { connection, connectionOf } from '../../../src/base/db/pool'
import { createOrganization, type Organization } from '../../support/api'
import { type StartedDesk, startDesk } from '../../support/desk'
import { createContact, createTicket } from '../../support/factories'
import {
  commandSettings,
  importFolder,
  importHere,
  move,
  newFolder,
  type Rows,
  readRows,
  readWithoutIds,
  writeRows,
} from '../../support/imports'
import { deliver, drain, rawMail } from '../../support/mail'
import { expectTurns } from '../../support/turns'
import { createWebhook } from '../../support/webhooks'
import { createWorld } from '../../support/world'

let desk: StartedDesk
let env: Record<string, string>
const folders: string[] = []

beforeAll(async () => {
  desk = await startDesk()
  env = commandSettings(desk.database.url)
})

afterAll(async () => {
  await desk.stop()
  for (const folder of folders) fs.rmSync(folder, { recursive: true, force: true })
})

function folderWith(files: Rows): string {
  const folder = newFolder()
  folders.push(folder)
  writeRows(folder, files)
  return folder
}

const AT = '2020-02-03T04:05:06Z'

/** One of everything, as a converted desk has it. */
function sample(): Rows {
  return {
    companies: [{ external_id: 'c:1', name: 'Umbrella', domains: ['umbrella.example'], created_at: AT }],
    users: [{ external_id: 'u:1', email: 'old.agent@desk.example', name: 'Old Agent', role: 'admin' }],
    contacts: [
      {
        external_id: 'p:1',
        name: 'Carla',
        email: 'carla@umbrella.example',
        emails: ['c@home.example'],
        created_at: AT,
      },
    ],
    labels: [{ external_id: 'l:1', name: 'billing' }],
    teams: [
      {
        ...{ external_id: 'g:1', name: 'Billing', assign: 'round_robin', capacity: 3 },
        member_emails: ['OLD.agent@desk.example', 'nobody@desk.example'],
      },
    ],
    tickets: [
      {
        ...{ external_id: 't:1', code: 'TKT-900', subject: 'Printer on fire', contact_id: 'p:1', assignee_id: 'u:1' },
        ...{ status: 'closed', priority: 'high', label_ids: ['l:1'], custom: { tier: 'gold' } },
        ...{ created_at: AT, updated_at: '2020-03-03T04:05:06Z' },
      },
      {
        external_id: 't:2',
        code: '#00901',
        subject: 'Paper jam',
        contact_id: 'p:1',
        assignee_id: 'nobody',
        team: 'g:1',
      },
    ],
    participants: [{ external_id: 'x:1', ticket_id: 't:1', email: 'friend@umbrella.example', name: 'Friend' }],
    messages: [
      {
        ...{
          external_id: 'm:1',
          ticket_id: 't:1',
          direction: 'inbound',
          created_at: AT,
          cc: ['friend@umbrella.example'],
        },
        ...{ sender: { name: 'Carla', email: 'carla@umbrella.example' }, email_message_id: '<first@umbrella.example>' },
        body_html: '<p>It <b>burns</b> <script>alert(1)</script><img src="cid:pic"></p>',
        attachments: [{ url: 'files/1.png', filename: 'fire.png', content_type: 'image/png', content_id: 'pic' }],
      },
      {
        ...{ external_id: 'm:2', ticket_id: 't:1', direction: 'outbound', body: 'Water, zebra!', created_at: AT },
        ...{ sender: { name: 'Gone Agent', email: 'gone@desk.example' }, email_message_id: 'answer@desk.example' },
      },
      {
        external_id: 'm:3',
        ticket_id: 't:1',
        is_internal: true,
        body: 'A note',
        created_at: AT,
        sender: { name: 'Old' },
      },
    ],
    time_entries: [
      {
        ...{ external_id: 'e:1', ticket_id: 't:1', user_id: 'u:1', duration_minutes: 90, rate: 40, currency: 'EUR' },
        date: '2020-02-04',
      },
    ],
  }
}

function sampleFolder(): string {
  const folder = folderWith(sample())
  fs.mkdirSync(path.join(folder, 'files'))
  fs.writeFileSync(path.join(folder, 'files/1.png'), 'png')
  return folder
}

test('an import brings everything with its times, and no event but one at its end', async () => {
  const organization = await createOrganization()
  const { admin, id } = organization
  await createWebhook(admin, { url: 'https://127.0.0.1:1/', events: ['ticket.created', 'organization.imported'] })
  const folder = sampleFolder()
  const { code, numbers, stderr } = await importFolder(folder, id, env)
  expect([code, stderr]).toEqual([0, ''])
  expect(Object.values(numbers).map(({ created }) => created)).toEqual([1, 1, 1, 1, 1, 2, 1, 3, 1])

  const [second, ticket] = (await admin.get('/tickets')).body.data
  // The import gives no ticket to a member.
  expect(second).toMatchObject({ code: 'TKT-901', assignee: null, status: 'open', team: { name: 'Billing' } })
  const [team] = (await admin.get('/teams')).body.data
  const users: { id: string; name: string }[] = (await admin.get('/users')).body.data
  const member_ids = [users.find(({ name }) => name === 'Old Agent')!.id]
  expect(team).toMatchObject({ name: 'Billing', assign: 'round_robin', capacity: 3, member_ids })
  const full = (await admin.get(`/tickets/${ticket.id}`)).body.data
  expect(full).toMatchObject({
    ...{ code: 'TKT-900', status: 'closed', priority: 'high', created_at: AT, updated_at: '2020-03-03T04:05:06Z' },
    ...{ contact: { email: 'carla@umbrella.example' }, company: { name: 'Umbrella' }, assignee: { name: 'Old Agent' } },
    ...{ labels: [{ name: 'billing' }], custom: { tier: 'gold' }, external_id: 't:1' },
    time_entries: [{ duration_minutes: 90, rate: 40, currency: 'EUR', amount: 60, date: '2020-02-04' }],
  })
  const [first, answer, note] = full.messages
  expect(first).toMatchObject({ direction: 'inbound', created_at: AT, email_message_id: 'first@umbrella.example' })
  expect(first.body_html).not.toContain('script')
  expect(first.body_html).toContain(`/attachments/${first.attachments[0].id}/content`)
  expect(answer).toMatchObject({ sender: { name: 'Gone Agent' }, email_status: 'none', direction: 'outbound' })
  expect(note).toMatchObject({ is_internal: true, direction: null })
  expect((await admin.get(`/tickets/${ticket.id}/participants`)).body.data).toMatchObject([{ name: 'Friend' }])
  expect((await admin.get(`/tickets/${ticket.id}/activity`)).body.data).toMatchObject([{ type: 'imported' }])

  for (const search of ['zebra', 'burns', 'printer', 'TKT-900']) {
    expect([search, (await admin.get(`/tickets?search=${search}&status=closed`)).body.meta.total]).toEqual([search, 1])
  }
  expect((await admin.get('/tickets?custom.tier=gold')).body.meta.total).toBe(1)
  expect((await admin.get('/tickets?status=closed')).body.meta.total).toBe(1)
  expect((await admin.get('/time-entries')).body.meta.totals).toMatchObject({ duration_minutes: 90 })
  expect((await createTicket(admin, { contact_id: ticket.contact.id })).code).toBe('TKT-902')

  const { data } = (await admin.get('/events')).body
  const [imported] = data
  expect(data.map(({ event, type = event }: { event: string; type?: string }) => type)).toEqual([
    'organization.imported',
    'ticket.created',
  ])
  expect(imported.data).toMatchObject({ tickets: { created: 2, updated: 0 }, messages: { created: 3, updated: 0 } })
  expect((await admin.get('/audit-log?action=operator.import')).body.data).toHaveLength(1)
  await expectTurns(organization.scope)
})

test('again, what is the same is skipped, what changed is updated, and what was changed here stays', async () => {
  const { admin, id } = await createOrganization()
  const folder = sampleFolder()
  await importHere(folder, id, env)
  const again = await importHere(folder, id, env)
  expect(Object.values(again.numbers).every(({ created, updated }) => created + updated === 0)).toBe(true)

  const [second, ticket] = (await admin.get('/tickets')).body.data
  await admin.patch(`/tickets/${second.id}`, { subject: 'Mine now' })
  const [contact] = (await admin.get('/contacts')).body.data
  const rows = sample()
  rows.tickets![0].subject = 'Printer put out'
  rows.tickets![1].subject = 'Theirs'
  rows.messages![1].body = 'Water, giraffe!'
  rows.contacts![0].emails = ['other@home.example']
  rows.participants![0].name = 'Best friend'
  rows.time_entries![0].duration_minutes = 60
  writeRows(folder, rows)
  const { code, numbers } = await importHere(folder, id, env)
  expect(code).toBe(0)
  expect(numbers).toMatchObject({
    tickets: { updated: 1, conflicts: 1 },
    messages: { created: 0, updated: 1, unchanged: 2 },
    contacts: { updated: 1 },
    participants: { updated: 1 },
    time_entries: { updated: 1 },
  })
  expect((await admin.get(`/tickets/${second.id}`)).body.data.subject).toBe('Mine now')
  expect((await admin.get(`/tickets/${ticket.id}`)).body.data).toMatchObject({
    code: 'TKT-900',
    subject: 'Printer put out',
  })
  expect((await admin.get('/tickets?search=giraffe')).body.meta.total).toBe(1)
  await expectTurns({ ...connectionOf(id), organization_id: id })
  expect((await admin.get('/tickets?search=zebra')).body.meta.total).toBe(0)
  expect((await admin.get(`/contacts/${contact.id}`)).body.data.emails).toEqual([
    'carla@umbrella.example',
    'other@home.example',
  ])

  // A thing that was deleted or erased here does not come back.
  await admin.post(`/contacts/${contact.id}/erase`, { confirm: contact.email })
  await importHere(folder, id, env)
  expect((await admin.get('/contacts?search=carla')).body.meta.total).toBe(0)
  expect((await admin.get('/tickets?search=giraffe')).body.meta.total).toBe(0)
})

test('again, labels and messages of what is on hold stay', async () => {
  const { admin, id } = await createOrganization()
  const folder = sampleFolder()
  await importHere(folder, id, env)
  const [label] = (await admin.get('/labels')).body.data
  await admin.patch('/retention', { hold_label_ids: [label.id] })
  const rows = sample()
  const at = '2020-04-03T04:05:06Z'
  rows.tickets![0] = { ...rows.tickets![0], label_ids: [], subject: 'Printer off', updated_at: at }
  rows.messages![1].body = 'Something else'
  writeRows(folder, rows)
  const { code, numbers } = await importHere(folder, id, env)
  expect([code, numbers.tickets!.updated, numbers.messages!.conflicts]).toEqual([0, 1, 1])
  const [, ticket] = (await admin.get('/tickets')).body.data
  expect(ticket).toMatchObject({ subject: 'Printer off', labels: [{ id: label.id }] })
  const { messages } = (await admin.get(`/tickets/${ticket.id}`)).body.data
  expect(messages[1].body).toBe('Water, zebra!')

  await admin.patch('/retention', { hold_label_ids: [] })
  rows.tickets![0].updated_at = '2020-04-04T04:05:06Z'
  rows.messages![1].body = 'Something new'
  writeRows(folder, rows)
  expect((await importHere(folder, id, env)).numbers).toMatchObject({
    tickets: { updated: 1 },
    messages: { updated: 1 },
  })
  expect((await admin.get(`/tickets/${ticket.id}`)).body.data).toMatchObject({ labels: [] })
})

test('a dry run says what would be done, and does nothing', async () => {
  const { admin, id } = await createOrganization()
  const { code, numbers } = await importHere(sampleFolder(), id, env, '--dry-run')
  expect([code, numbers.tickets!.created, numbers.messages!.created]).toEqual([0, 2, 3])
  for (const list of ['/tickets', '/contacts', '/companies', '/events', '/audit-log?action=operator.import']) {
    expect([list, (await admin.get(list)).body.data]).toEqual([list, []])
  }
  expect((await admin.get('/users')).body.meta.total).toBe(2)
})

test('rates have the decimals of their currency, and time without a day that of the zone', async () => {
  const { admin, id } = await createOrganization()
  await admin.patch('/organization', { time_zone: 'Pacific/Kiritimati' })
  const time = { ticket_id: 't', user_id: 'u', duration_minutes: 60, created_at: '2020-02-03T11:00:00Z' }
  const person = { name: 'Old Agent', currency: 'EUR' }
  const folder = folderWith({
    users: [
      { ...person, external_id: 'u', email: 'u@x.example', hourly_rate: 1.23 },
      { ...person, external_id: 'v', email: 'v@x.example', hourly_rate: 1.234 },
    ],
    companies: [
      { external_id: 'c', name: 'Fine', hourly_rate: 1.234, currency: 'KWD' },
      { external_id: 'd', name: 'Too fine', hourly_rate: 1.234, currency: 'JPY' },
    ],
    tickets: [{ external_id: 't', subject: 'Printer on fire', contact_id: null, company_id: 'c' }],
    time_entries: [
      { ...time, external_id: '1', rate: 1.234, currency: 'KWD' },
      { ...time, external_id: '2', rate: 20.5, currency: 'JPY' },
      { ...time, external_id: '3', rate: 1.234, currency: 'EUR' },
    ],
  })
  const { code, numbers } = await importHere(folder, id, env)
  expect(code).toBe(3)
  const halves = { created: 1, failed: 1 }
  expect(numbers).toMatchObject({ users: halves, companies: halves, time_entries: { created: 2, failed: 1 } })
  const { data } = (await admin.get('/time-entries')).body
  const shown = data.map(({ date, rate, amount }: Record<string, unknown>) => [date, rate, amount])
  expect(shown.sort()).toEqual([
    ['2020-02-04', 1.234, 1.234],
    ['2020-02-04', 20.5, 21],
  ])
})

test('wrong lines stop no others, and a report has them', async () => {
  const { admin, id } = await createOrganization()
  const outside = path.join(newFolder(), 'secret')
  fs.writeFileSync(outside, 'secret')
  const paths = ['../secret', outside, 'link', 'folder/secret', 'missing', 'a/../b', '', 'pipe\u0000']
  const message = (url: string, n: number) => ({
    ...{ external_id: `m:${n}`, ticket_id: 't', direction: 'inbound', body: 'Hi', sender: { name: 'X' } },
    attachments: [{ url, filename: 'x' }],
  })
  const deep = '['.repeat(100_000) + ']'.repeat(100_000)
  const folder = folderWith({
    contacts: [
      { external_id: 'p', name: 'Carla', email: 'carla@x.example' },
      'no json',
      '[]',
      { name: 'No key', email: 'a@x.example' },
      { external_id: 'bad', name: '', email: 'nope', created_at: '3000-01-01T00:00:00Z' },
      `{"external_id":"long","name":"${'x'.repeat(8 * 1024 * 1024)}"}`,
      { external_id: 'p2', name: 'Paul\u0000', email: 'paul@x.example', company_id: 'unknown' },
      { external_id: 'p3', name: 'Paul\u0000', email: 'paul@x.example' },
    ],
    tickets: [
      { external_id: 't', subject: 'Good', contact_id: 'p' },
      { external_id: 't2', subject: 'Bad', contact_id: 'unknown', status: 'new', label_ids: ['l'] },
      { external_id: 't3', subject: 'No contact', contact_id: null },
      { external_id: 't', subject: 'Twice', contact_id: 'p' },
    ],
    messages: [
      ...paths.map(message),
      { external_id: 'ok', ticket_id: 't', is_internal: true, body: 'fine' },
      `{"external_id":"deep","ticket_id":"t","is_internal":true,"body":"x","sender":{"z":${deep}}}`,
    ],
    time_entries: [{ external_id: 'e', ticket_id: 't', user_id: 'unknown', duration_minutes: 0 }],
  })
  fs.symlinkSync(outside, path.join(folder, 'link'))
  fs.symlinkSync(path.dirname(outside), path.join(folder, 'folder'))
  const report = path.join(newFolder(), 'report.jsonl')
  fs.chmodSync(path.dirname(report), 0o777)
  const { code, numbers } = await importHere(folder, id, env, '--report', report)
  expect(code).toBe(3)
  expect(numbers).toMatchObject({
    contacts: { created: 2, failed: 6 },
    tickets: { created: 2, failed: 2 },
    messages: { created: 1, failed: paths.length + 1 },
    time_entries: { failed: 1 },
  })
  const refused = fs
    .readFileSync(report, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(
    refused
      .find(({ key }) => key === 'bad')
      .errors.map((fault: { path: string }) => fault.path)
      .sort(),
  ).toEqual(['/created_at', '/email', '/name'])
  expect(fs.readFileSync(report, 'utf8')).not.toContain('carla@x.example')
  const stored = await connection().sql`select from attachments where organization_id = ${id}`
  expect(stored).toHaveLength(0)
  expect((await admin.get('/contacts?search=paul')).body.data).toMatchObject([{ name: 'Paul' }])
})

test('people are matched by email, labels by name, and numbers that are taken are given anew', async () => {
  const { admin, agent, id } = await createOrganization()
  const here = await createContact(admin, { email: 'Carla@umbrella.example', name: 'Here' })
  await admin.post('/labels', { name: 'Billing', color: '#EF4444' })
  const taken = await createTicket(admin, { contact_id: here.id })
  const folder = folderWith({
    users: [{ id: 1, email: agent.email, name: 'Other name', role: 'admin' }],
    contacts: [{ id: 2, name: 'There', email: 'c@home.example', emails: ['carla@umbrella.example'] }],
    labels: [{ id: 3, name: 'billing', color: '#000000' }],
    tickets: [
      {
        id: 4,
        code: taken.code,
        subject: 'Theirs',
        contact: { id: '2' },
        assignee: { id: '1' },
        labels: [{ id: '3' }],
      },
    ],
  })
  const { numbers } = await importHere(folder, id, env)
  expect(numbers).toMatchObject({ users: { unchanged: 1 }, contacts: { unchanged: 1 }, labels: { unchanged: 1 } })
  const [ticket] = (await admin.get('/tickets')).body.data
  expect(ticket).toMatchObject({ code: 'TKT-2', contact: { id: here.id, name: 'Here' }, labels: [{ name: 'Billing' }] })
  expect(ticket.assignee.id).toBe(agent.user_id)
  expect((await admin.get(`/users/${agent.user_id}`)).body.data).toMatchObject({ role: 'agent', active: true })
})

test('a number that is taken costs no other ticket of the file its own', async () => {
  const { admin, id } = await createOrganization()
  const contact = await createContact(admin)
  expect((await createTicket(admin, { contact_id: contact.id })).code).toBe('TKT-1')
  const numbers = Array.from({ length: 450 }, (_, n) => n + 1)
  const tickets = numbers.map((n) => ({ external_id: `n:${n}`, code: `TKT-${n}`, subject: 'S', contact_id: 'p' }))
  const contacts = [{ external_id: 'p', name: 'Carla', email: 'carla@x.example' }]
  expect((await importHere(folderWith({ contacts, tickets }), id, env)).code).toBe(0)
  const others = await connection().sql`
    select code from tickets
    where organization_id = ${id} and external_id is not null and code <> replace(external_id, 'n:', 'TKT-')`
  expect([...others]).toEqual([{ code: 'TKT-451' }])
})

test('an imported member cannot sign in until POST /users lets them in', async () => {
  const { admin, id } = await createOrganization()
  const email = `${crypto.randomUUID()}@desk.example`
  await importHere(folderWith({ users: [{ id: 1, email, name: 'Old', role: 'agent' }] }), id, env)
  const member = (await admin.get('/users')).body.data.find((user: { email: string }) => user.email === email)
  expect(member).toMatchObject({ status: 'inactive', active: false })
  const refused = await admin.patch(`/users/${member.id}`, { active: true })
  expect([refused.status, refused.body.error.code]).toEqual([422, 'VALIDATION_ERROR'])
  const let_in = await admin.post('/users', { email, name: 'New', password: 'a long enough password' })
  expect([let_in.status, let_in.body.data.id, let_in.body.data.status]).toEqual([201, member.id, 'active'])
})

test('a reply to a mail of the other desk reaches the imported ticket', async () => {
  const rows = sample()
  const folder = sampleFolder()
  writeRows(folder, rows)
  await importHere(folder, desk.id, env)
  const raw = rawMail({
    ...{ From: 'carla@umbrella.example', To: desk.address, Subject: 'Re: Printer on fire' },
    'In-Reply-To': '<answer@desk.example>',
    'Message-ID': '<reply@umbrella.example>',
  })
  await deliver(desk.port, { from: 'carla@umbrella.example', to: desk.address, raw })
  await drain()
  const { data } = (await desk.admin.get('/tickets?search=TKT-900')).body
  expect(data).toMatchObject([{ code: 'TKT-900', status: 'open' }])
  expect((await desk.admin.get(`/tickets/${data[0].id}`)).body.data.messages).toHaveLength(4)
})

/** Rows of the outbox that are to wake tickets. */
function waitingOf({ id }: Organization) {
  return connection().sql`select from outbox where organization_id = ${id} and kind = 'wake'`
}

test('a ticket whose moment is over comes open, and one that is closed does not sleep', async () => {
  const organization = await createOrganization()
  const given = sample()
  const [ticket] = given.tickets as [Record<string, unknown>]
  const moments = ['2020-02-05T09:00:00Z', '2099-01-01T00:00:00Z', '2099-01-01T00:00:00Z']
  given.tickets = ['pending', 'open', 'closed'].map((status, n) => {
    return { ...ticket, external_id: `t:${n + 1}`, code: undefined, status, snoozed_until: moments[n] }
  })
  await importHere(folderWith(given), organization.id, env)
  const { data } = (await organization.agent.get('/tickets?sort=created_at')).body
  const [over, ahead, closed] = ['t:1', 't:2', 't:3'].map((id) =>
    data.find(({ external_id }: { external_id: string }) => external_id === id),
  )
  expect(over).toMatchObject({ status: 'open', snoozed_until: null })
  expect(ahead).toMatchObject({ status: 'pending', snoozed_until: moments[1] })
  expect(closed).toMatchObject({ status: 'closed', snoozed_until: null })
  expect(await waitingOf(organization)).toHaveLength(1)
})

test('an export that is imported elsewhere and exported again is the same', async () => {
  const [from, to]: Organization[] = [await createOrganization('From'), await createOrganization('To')]
  await createWorld(from!, 'Mine')
  await connection().sql`update participants set left_out = true where organization_id = ${from!.id}`
  const sleeping = await createTicket(from!.agent)
  const snoozed_until = new Date(Date.now() + 86_400_000).toISOString()
  const [team] = (await from!.admin.get('/teams')).body.data
  const changes = { snoozed_until, team_id: team.id }
  expect((await from!.agent.patch(`/tickets/${sleeping.id}`, changes)).status).toBe(200)
  // An address is of one organization, and so is a policy.
  await connection().sql`update sla_policies set active = false where organization_id = ${from!.id}`
  await connection().sql`
    update tickets set mailbox_id = null, sla_policy_id = null where organization_id = ${from!.id}`
  const [first, second] = [path.join(newFolder(), 'first'), path.join(newFolder(), 'second')]
  expect(await move(['export', first, '--organization', from!.id], env)).toMatchObject({ code: 0 })
  expect((await importHere(first, to!.id, env)).code).toBe(0)
  expect(await move(['export', second, '--organization', to!.id], env)).toMatchObject({ code: 0 })
  const kinds = ['companies', 'contacts', 'labels', 'teams', 'tickets', 'participants', 'messages', 'time_entries']
  const [before, after] = [readWithoutIds(first, kinds), readWithoutIds(second, kinds)]
  expect(after).toEqual(before)
  expect(before.participants).toContainEqual(expect.objectContaining({ left_out: true }))
  expect(before.tickets).toContainEqual(
    expect.objectContaining({ status: 'pending', snoozed_until: expect.any(String), team: expect.anything() }),
  )
  expect(await waitingOf(to!)).toHaveLength(1)
  for (const kind of kinds) expect(before[kind]).not.toBeEmpty()
  for (const { url } of readRows(second, 'messages').flatMap(({ attachments }) => attachments)) {
    expect(fs.readFileSync(path.join(second, url), 'utf8')).toBe('Mine')
  }
  folders.push(first, second)
})

test('a machine’s answer leaves the customer waiting, and forged mail and a list’s are known as such', async () => {
  const { admin, id } = await createOrganization()
  const at = (minute: number) => `2020-02-03T04:0${minute}:00Z`
  const [from_customer, by_rule] = [
    { name: 'Ann', email: 'ann@list.example' },
    { name: 'Help', email: null },
  ]
  const message = (external_id: string, minute: number, fields: object) => {
    return { external_id, ticket_id: 't:1', body: external_id, created_at: at(minute), ...fields }
  }
  const folder = folderWith({
    tickets: [{ external_id: 't:1', subject: 'Fire', contact_id: null, created_at: AT }],
    messages: [
      message('m:1', 1, { direction: 'inbound', sender: from_customer, sender_verified: true, from_list: true }),
      message('m:2', 2, { direction: 'outbound', sender: by_rule, auto_reply: true, sender_verified: true }),
      message('m:3', 3, { direction: 'inbound', sender: from_customer, sender_verified: false }),
    ],
  })
  expect((await importHere(folder, id, env)).code).toBe(0)
  const [ticket] = (await admin.get('/tickets')).body.data
  expect(ticket.waiting_since).toBe(at(1))

  const out = path.join(newFolder(), 'out')
  folders.push(out)
  expect(await move(['export', out, '--organization', id], env)).toMatchObject({ code: 0 })
  const known = readRows(out, 'messages').map(({ body, sender_verified, from_list, auto_reply }) => {
    return { body, sender_verified, from_list, auto_reply }
  })
  expect(known).toEqual([
    { body: 'm:1', sender_verified: true, from_list: true, auto_reply: false },
    { body: 'm:2', sender_verified: null, from_list: undefined, auto_reply: true },
    { body: 'm:3', sender_verified: false, from_list: undefined, auto_reply: false },
  ])
})

test('parents come whatever the order of lines, none is below itself, and what is missing is told', async () => {
  const { admin, id } = await createOrganization()
  const ticket = (external_id: string, parent_id?: string, updated_at = AT) => {
    return { external_id, subject: external_id, contact_id: null, parent_id, created_at: AT, updated_at }
  }
  const tickets = [
    ticket('part', 'whole'),
    ticket('whole'),
    ticket('self', 'self'),
    ticket('one', 'two'),
    ticket('two', 'one'),
    ticket('lost', 'nowhere'),
  ]
  const read = async () => {
    const { data } = (await admin.get('/tickets?per_page=100')).body
    return Object.fromEntries(
      data.map(({ subject, parent }: { subject: string; parent: { subject: string } | null }) => [
        subject,
        parent?.subject ?? null,
      ]),
    )
  }
  const dry = await importHere(folderWith({ tickets }), id, env, '--dry-run')
  expect(dry.numbers.tickets).toMatchObject({ created: 6, left_out: 1 })
  const report = path.join(newFolder(), 'report.jsonl')
  const first = await importHere(folderWith({ tickets }), id, env, '--report', report)
  expect([first.code, first.numbers.tickets]).toMatchObject([0, { created: 6, failed: 0, left_out: 3 }])
  const told = fs.readFileSync(report, 'utf8')
  for (const key of ['self', 'lost']) expect(told).toContain(`"key":"${key}","result":"left_out"`)
  const placed = { part: 'whole', whole: null, self: null, one: 'two', two: null, lost: null }
  expect(await read()).toEqual(placed)

  // A second run changes nothing, and a parent that was given here stays.
  const { data } = (await admin.get('/tickets?search=part')).body
  await admin.patch(`/tickets/${data[0].id}`, { parent_id: null })
  const again = await importHere(folderWith({ tickets }), id, env)
  expect(again.numbers.tickets).toMatchObject({ unchanged: 6 })
  expect(await read()).toEqual({ ...placed, part: null })

  // A changed line may take a parent away, or turn two around.
  const later = [ticket('one', undefined, '2020-03-01T00:00:00Z'), ticket('two', 'one', '2020-03-01T00:00:00Z')]
  expect((await importHere(folderWith({ tickets: later }), id, env)).numbers.tickets).toMatchObject({ updated: 2 })
  expect(await read()).toMatchObject({ one: null, two: 'one' })
})

test('a parent that is younger than its part comes with an export', async () => {
  const [from, to] = [await createOrganization(), await createOrganization()]
  const part = await createTicket(from.agent, { subject: 'Part' })
  const whole = await createTicket(from.agent, { subject: 'Whole' })
  await from.agent.patch(`/tickets/${part.id}`, { parent_id: whole.id })
  const folder = path.join(newFolder(), 'parents')
  folders.push(folder)
  expect(await move(['export', folder, '--organization', from.id], env)).toMatchObject({ code: 0 })
  expect((await importHere(folder, to.id, env)).code).toBe(0)
  const { data } = (await to.agent.get('/tickets?search=part')).body
  expect(data).toMatchObject([{ subject: 'Part', parent: { subject: 'Whole' } }])
})

test.skipIf(process.getuid?.() !== 0)('a folder that is no export is refused, and stays the one of root', async () => {
  const folder = folderWith({})
  fs.chmodSync(folder, 0o755)
  fs.writeFileSync(path.join(folder, 'passwd'), '')
  const { code, stderr } = await importFolder(folder, desk.id, env)
  expect([code, stderr]).toEqual([1, expect.stringContaining('has no file of an export')])
  const found = [folder, path.join(folder, 'passwd')].map((name) => fs.statSync(name))
  expect(found.map(({ uid }) => uid)).toEqual([0, 0])
  expect(found[0]!.mode & 0o777).toBe(0o755)
  await expect(move(['import', path.join(folder, 'passwd'), '--organization', desk.id], env)).rejects.toThrow(
    'passwd is not a folder',
  )
})
