/** Moving in loses nothing without a word: what is cut or left out is counted, and each stands in the report. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fs from 'node:fs'
import path from 'node:path'
import { connection } from '../../../src/base/db/pool'
import { emailsOf, messageIdsOf, referencesIn } from '../../../src/operate/convert/foreign-values'
import { rowsOf } from '../../../src/operate/convert/sql-dump'
import { createOrganization } from '../../support/api'
import { type StartedDesk, startDesk } from '../../support/desk'
import { commandSettings, importHere, move, newFolder, readRows, writeRows } from '../../support/imports'
import { FRESHDESK, writeFiles, ZAMMAD } from '../../support/old-desks'

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

type Reported = { file: string; key: string | null; result: string; errors: { path: string; message: string }[] }

function newReport(): string {
  const folder = newFolder()
  fs.chmodSync(folder, 0o777)
  folders.push(folder)
  return path.join(folder, 'report.jsonl')
}

function readReport(file: string): Reported[] {
  const lines = fs.readFileSync(file, 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line))
}

async function convert(name: string, files: Parameters<typeof writeFiles>[1]) {
  const [source, folder, report] = [newFolder(), path.join(newFolder(), 'out'), newReport()]
  folders.push(source, folder)
  writeFiles(source, files)
  const { code, told } = await move(['convert', name, source, folder, '--report', report], env)
  expect(code).toBe(0)
  return { folder, told, reported: readReport(report) }
}

/** The paths that a report has of a row. */
function pathsOf(reported: Reported[], key: string, result: string): string[] {
  return reported
    .filter((one) => one.key === key && one.result === result)
    .flatMap(({ errors }) => errors.map((e) => e.path))
}

const AT = '2024-01-01T00:00:00Z'

/** A table of a dump, of texts and null. */
function table(name: string, ...rows: Record<string, string | null>[]): string {
  const columns = Object.keys(rows[0]!)
  const values = rows.map(
    (row) => `(${columns.map((one) => (row[one] === null ? 'NULL' : `'${row[one]}'`)).join(',')})`,
  )
  return `INSERT INTO \`${name}\` (${columns.map((one) => `\`${one}\``).join(',')}) VALUES ${values.join(',')};\n`
}

const TIMES = { created_at: '2024-01-01 00:00:00', created: '2024-01-01 00:00:00' }
const FILE = { file_dir: '1/', file_name: 'a.pdf', mime_type: 'application/pdf' }

test('blind copies of FreeScout become no participants', async () => {
  const dump = [
    table('emails', { id: '1', customer_id: '1', email: 'kim@kunde.example' }),
    table('customers', { id: '1', first_name: 'Kim', last_name: 'K' }),
    table('conversations', {
      ...{ id: '11', number: '902', status: '1', state: '2', subject: 'Case', customer_id: '1', user_id: null },
      ...{ cc: '["cc@kunde.example"]', bcc: '["boss@kunde.example"]', created_at: '2024-01-01 00:00:00' },
    }),
    table('threads', {
      ...{ id: '31', conversation_id: '11', type: '2', state: '2', body: '<p>Hi</p>', bcc: '["boss@kunde.example"]' },
      created_at: '2024-01-01 00:00:00',
    }),
  ]
  const { folder, told, reported } = await convert('freescout', { 'dump.sql': dump.join('') })
  expect(readRows(folder, 'participants').map(({ email }) => email)).toEqual(['cc@kunde.example'])
  for (const name of ['tickets', 'messages', 'participants', 'contacts']) {
    expect(fs.readFileSync(path.join(folder, `${name}.jsonl`), 'utf8')).not.toContain('boss')
  }
  expect(told.left_out).toMatchObject({ tickets: 1, messages: 1, participants: 0 })
  expect(pathsOf(reported, 'freescout:11', 'left_out')).toEqual(['/bcc'])
})

test.each([
  [
    'freescout',
    [
      table('conversations', { id: '11', number: '902', status: '1', state: '2', subject: 'Case', ...TIMES }),
      table('threads', { id: '31', conversation_id: '11', type: '1', state: '2', body: 'Hi', ...TIMES }),
      table('threads', { id: '32', conversation_id: '11', type: '1', state: '3', body: 'Deleted', ...TIMES }),
      table(
        'attachments',
        ...['31', '32', '99', null].map((thread_id, at) => ({ id: `${at + 1}`, thread_id, ...FILE })),
      ),
    ],
    ['freescout:3', 'freescout:4'],
  ],
  [
    'osticket',
    [
      table('ost_ticket_status', { id: '1', state: 'open' }),
      table('ost_ticket', { ticket_id: '1', number: '1', status_id: '1', ...TIMES }),
      table('ost_thread', { id: '60', object_id: '1', object_type: 'T' }),
      table('ost_thread_entry', { id: '31', thread_id: '60', type: 'M', flags: '0', body: 'Hi', ...TIMES }),
      table('ost_attachment', ...['31', '99'].map((object_id) => ({ object_id, type: 'H', file_id: object_id }))),
    ],
    ['osticket:99'],
  ],
  [
    'zammad',
    [
      table('store_objects', { id: '1', name: 'Ticket::Article' }),
      table('ticket_states', { id: '1', name: 'open' }),
      table('tickets', { id: '1', number: '1', title: 'Case', state_id: '1', ...TIMES }),
      table('ticket_articles', { id: '31', ticket_id: '1', body: 'Hi', content_type: 'text/plain', ...TIMES }),
      table('ticket_articles', { id: '32', ticket_id: '2', body: 'Hi', content_type: 'text/plain', ...TIMES }),
      table(
        'stores',
        ...['31', '32', '99'].map((o_id) => ({ id: `${o_id}0`, store_object_id: '1', o_id, store_file_id: '1' })),
      ),
    ],
    ['zammad:990'],
  ],
])('files of %s that belong to no message are counted', async (desk, dump, keys) => {
  const { told, reported } = await convert(desk, { 'dump.sql': dump.join('') })
  expect(told.left_out.attachments).toBe(keys.length)
  for (const key of keys) expect(pathsOf(reported, key, 'left_out')).toEqual([''])
})

test('a collaborator of osTicket whom somebody took out is not confirmed, and a hidden entry is not shown', async () => {
  const entry = {
    thread_id: '60',
    staff_id: '0',
    user_id: '1',
    poster: 'Kim',
    format: 'text',
    created: '2024-01-01 00:00:00',
  }
  const person = (id: string) => ({ id, user_id: id, flags: '0', address: `p${id}@kunde.example` })
  const dump = [
    table('ost_user_email', person('1'), person('2'), person('3'), person('4')),
    table('ost_user', ...['1', '2', '3', '4'].map((id) => ({ id, org_id: '0', name: `P${id}` }))),
    table('ost_ticket_status', { id: '1', state: 'open' }, { id: '2', state: 'deleted' }, { id: '3', state: 'parked' }),
    table(
      'ost_ticket',
      ...['1', '2', '3'].map((id) => ({ ticket_id: id, number: id, user_id: '1', status_id: id, staff_id: '9' })),
    ),
    table('ost_ticket__cdata', { ticket_id: '1', subject: 'S', priority: '2', serial: 'A-77' }),
    table('ost_thread', { id: '60', object_id: '1', object_type: 'T' }),
    table(
      'ost_thread_entry',
      { id: '70', type: 'M', flags: '1', title: 'S', body: 'Words', ...entry },
      { id: '71', type: 'M', flags: '4', title: '', body: 'Earlier words', ...entry },
      { id: '72', type: 'N', flags: '0', title: 'Moved to Berlin', body: 'now', ...entry },
    ),
    table(
      'ost_thread_collaborator',
      { id: '80', flags: '2', thread_id: '60', user_id: '2' },
      { id: '81', flags: '3', thread_id: '60', user_id: '3' },
      { id: '82', flags: '1', thread_id: '60', user_id: '4' },
    ),
  ]
  const { folder, told, reported } = await convert('osticket', { 'dump.sql': dump.join('') })
  expect(readRows(folder, 'participants').map(({ email, confirmed }) => [email, confirmed])).toEqual([
    ['p2@kunde.example', false],
    ['p3@kunde.example', true],
  ])
  expect(readRows(folder, 'messages').map(({ body }) => body)).toEqual(['Words', 'Moved to Berlin\n\nnow'])
  expect(readRows(folder, 'tickets').map(({ status, custom = {} }) => [status, custom.serial])).toEqual([
    ['open', 'A-77'],
    ['open', undefined],
  ])
  expect(told.left_out).toMatchObject({ tickets: 3, messages: 1, participants: 1 })
  expect(pathsOf(reported, 'osticket:2', 'left_out')).toEqual([''])
  expect(pathsOf(reported, 'osticket:3', 'left_out')).toEqual(['/status', '/assignee_id'])
})

test.each([
  ['--- !ruby/hash:ActiveSupport::HashWithIndifferentAccess\\nvalue: hour\\n', '', 90],
  ['---\\nvalue: quarter\\n', '', 23],
  ['{"value":"minute"}', '', 2],
  ['---\\nvalue: custom\\n', '---\\nvalue: Stunden\\n', 90],
  ['---\\nvalue: custom\\n', '---\\nvalue: pomodoro\\n', undefined],
])('the unit of time of Zammad is read: %s %s', async (unit, own, minutes) => {
  const dump = String(ZAMMAD['dump.sql']).replace('14.5', '1.5')
  const settings = `COPY public.settings (id, name, state_current) FROM stdin;
1\ttime_accounting_unit\t${unit}
2\ttime_accounting_unit_custom\t${own}
\\.
`
  const { folder, told } = await convert('zammad', { 'dump.sql': dump + settings })
  if (minutes === undefined) expect(told.left_out.time_entries).toBe(1)
  else expect(readRows(folder, 'time_entries')).toMatchObject([{ duration_minutes: minutes }])
})

test('fields of Zammad with several choices are lists, and a text in brackets stays a text', async () => {
  const field = (name: string, data_type: string) => ({ name, data_type, object_lookup_id: '1', editable: 't' })
  const dump = [
    table('object_lookups', { id: '1', name: 'Ticket' }),
    table(
      'object_manager_attributes',
      field('sites', 'multiselect'),
      field('floors', 'multi_tree_select'),
      field('remark', 'input'),
      field('more', 'textarea'),
    ),
    table('ticket_states', { id: '1', name: 'open' }),
    table('tickets', {
      ...{ id: '1', number: '1', title: 'Case', state_id: '1', ...TIMES },
      ...{ sites: '{Bonn,"New York, NY"}', floors: '["1::a","2"]', remark: '[VIP, urgent]', more: '{draft}' },
    }),
  ]
  const { folder } = await convert('zammad', { 'dump.sql': dump.join('') })
  expect(readRows(folder, 'tickets')[0].custom).toEqual({
    sites: ['Bonn', 'New York, NY'],
    floors: ['1::a', '2'],
    remark: '[VIP, urgent]',
    more: '{draft}',
  })
})

test('values of several choices are lists, and what is cut or left out of a desk is counted and reported', async () => {
  const long = 'x'.repeat(1500)
  const ticket = { requester_id: 2, subject: 'S', created_at: AT, updated_at: AT }
  const many = Array.from({ length: 60 }, (_, at) => ({ id: 1000 + at, value: 'v' }))
  const { folder, told, reported } = await convert('zendesk', {
    'organizations.json': JSON.stringify({
      organizations: [{ id: 5, name: 'n'.repeat(300), domain_names: ['kunde.example', 'no domain'], tags: ['a', 'b'] }],
    }),
    'users.json': JSON.stringify({
      users: [
        { id: 2, name: 'Kim', email: 'kim@kunde.example', role: 'end-user', phone: '1'.repeat(100) },
        { id: 3, name: 'Phone only', email: null, role: 'end-user' },
      ],
    }),
    'tickets.json': JSON.stringify({
      tickets: [
        {
          ...{ ...ticket, id: 100, status: 'open', assignee_id: 77, tags: ['t'.repeat(80)] },
          custom_fields: [
            { id: 1, value: 'v'.repeat(300) },
            { id: 2, value: long },
            { id: 3, value: ['x', 'y'] },
            { id: 4, value: { nested: 1 } },
          ],
        },
        { ...ticket, id: 101, status: 'waiting', custom_fields: many },
        { ...ticket, id: 102, status: 'deleted' },
        {
          ...ticket,
          id: 103,
          status: 'open',
          subject: 's'.repeat(300),
          description: 'Words of a ticket without comments',
        },
      ],
    }),
    'comments/100.json': JSON.stringify({
      comments: [
        { id: 1, ticket_id: 100, author_id: 2, body: 'Hi', created_at: AT, attachments: [{ id: 9, file_name: 'x' }] },
        { id: 2, ticket_id: 102, author_id: 2, body: 'Of a deleted ticket', created_at: AT },
        { ticket_id: 100, author_id: 2, body: 'Without an id', created_at: AT },
      ],
    }),
    'export-7.json': JSON.stringify([{ id: 1, name: 'whatever' }]),
  })
  const [first, second] = readRows(folder, 'tickets')
  expect(first.custom).toMatchObject({ field_1: 'v'.repeat(300), field_2: 'x'.repeat(1000), field_3: ['x', 'y'] })
  expect(second).toMatchObject({ status: 'open' })
  expect(Object.keys(second.custom)).toHaveLength(50)
  expect(readRows(folder, 'companies')).toMatchObject([{ domains: ['kunde.example'], custom: { tags: ['a', 'b'] } }])
  expect(readRows(folder, 'messages').map(({ body }) => body)).toEqual(['Hi', 'Words of a ticket without comments'])
  expect(told.cut).toMatchObject({ companies: 1, contacts: 1, labels: 1, tickets: 2 })
  expect(told.left_out).toMatchObject({ ...{ companies: 1, contacts: 1, tickets: 3, messages: 3, 'export-7.json': 1 } })
  expect(pathsOf(reported, 'zendesk:5', 'left_out')).toEqual(['/domains/1'])
  expect(pathsOf(reported, 'zendesk:100', 'cut')).toEqual(['/custom/field_2'])
  expect(pathsOf(reported, 'zendesk:101', 'left_out')).toContain('/status')
  expect(reported.find(({ key }) => key === 'zendesk:102')?.errors[0]?.message).toBe('was deleted')
  expect(await importHere(folder, desk.id, env)).toMatchObject({ code: 0 })
})

test('time of people who are gone is that of an inactive member', async () => {
  const { admin, id } = await createOrganization()
  const entry = { ticket_id: 100, time_spent: '00:30', executed_at: AT, created_at: AT }
  const { folder } = await convert('freshdesk', {
    ...FRESHDESK,
    'time_entries.json': JSON.stringify([
      { ...entry, id: 1, agent_id: 99 },
      { ...entry, id: 2, agent_id: 99 },
    ]),
  })
  writeRows(folder, {
    time_entries: [
      ...readRows(folder, 'time_entries'),
      {
        ...{ id: 'x', ticket: { id: 'freshdesk:100' }, user: { id: 'u9', name: 'Gone Gina' }, duration_minutes: 5 },
        ...{ date: '2024-01-01', created_at: AT },
      },
    ],
  })
  const { code, numbers } = await importHere(folder, id, env)
  expect([code, numbers.time_entries]).toEqual([0, expect.objectContaining({ created: 3, failed: 0 })])
  const entries = (await admin.get('/time-entries')).body.data
  expect(new Set(entries.map((one: { user: { id: string } }) => one.user.id)).size).toBe(2)
  const gone = (await admin.get('/users')).body.data.find(({ name }: { name: string }) => name === 'Gone Gina')
  expect(gone).toMatchObject({ active: false, status: 'inactive', role: 'agent' })
  expect((await importHere(folder, id, env)).numbers.time_entries).toMatchObject({ unchanged: 3, failed: 0 })
})

test('an import cuts what is too long, counts what it leaves out, and takes no line break into a header', async () => {
  const { admin, id } = await createOrganization()
  const folder = newFolder()
  folders.push(folder)
  const message = { ticket_id: 't', direction: 'inbound', body: 'Hi', created_at: AT }
  writeRows(folder, {
    contacts: [
      { external_id: 'p', name: 'Carla\r\nBcc: x@evil.example', email: 'carla@x.example', notes: 'n'.repeat(10_050) },
    ],
    tickets: [
      { external_id: 't', subject: `${'s'.repeat(300)}\r\n`, contact_id: 'p', assignee_id: 'nobody', created_at: AT },
      { external_id: 't2', subject: 'Two\r\nX-Spam: no', contact_id: 'p', custom: { tier: 'g'.repeat(1200) } },
    ],
    participants: [{ external_id: 'x', ticket_id: 't', email: 'carla@x.example', name: 'Herself' }],
    messages: [
      {
        ...{ ...message, external_id: 'm1', email_message_id: '<a@x.example>\r\nBcc: victim@x.example' },
        references: [
          '<r@x.example\r\n >',
          'b@x.example\r\nX: y',
          ...Array.from({ length: 60 }, (_, at) => `r${at}@x.example`),
        ],
        cc: ['ok@x.example', 'no@x.example\r\nBcc: victim@x.example'],
        sender: { name: `Carla\r\nX: y${'n'.repeat(300)}`, email: 'carla@x.example\r\nX: y' },
        attachments: [{ url: 'a', filename: `../x\r\ny${'f'.repeat(300)}.txt`, content_id: 'c\r\nX: y' }],
      },
      { ...message, external_id: 'm2', email_message_id: `${'i'.repeat(1000)}@x.example` },
      { ...message, external_id: 'm3', email_message_id: '<folded@x\r\n .example>' },
    ],
  })
  fs.writeFileSync(path.join(folder, 'a'), 'a')
  const report = newReport()
  const { code, numbers } = await importHere(folder, id, env, '--report', report)
  expect(code).toBe(0)
  expect(numbers).toMatchObject({
    contacts: { created: 1, cut: 1, left_out: 0 },
    tickets: { created: 2, cut: 2, left_out: 1 },
    participants: { created: 0, left_out: 1 },
    messages: { created: 3, cut: 1, left_out: 2 },
  })
  const reported = readReport(report)
  expect(pathsOf(reported, 't', 'left_out')).toEqual(['/assignee_id'])
  expect(pathsOf(reported, 'm1', 'cut').sort()).toEqual(['/attachments/0/filename', '/references', '/sender/name'])
  expect(pathsOf(reported, 'm1', 'left_out').sort()).toEqual([
    ...['/attachments/0/content_id', '/cc/1', '/email_message_id', '/references/1', '/sender/email'],
  ])
  const { sql } = connection()
  const stored = await sql`
    select m.sender_name, m.sender_email, m.cc, m.email_message_id, a.filename, a.content_id from messages m
    left join attachments a on a.organization_id = m.organization_id and a.message_id = m.id
    where m.organization_id = ${id}`
  const anchors = await sql`select email_message_id from email_anchors where organization_id = ${id}`
  const people = await sql`select name from contacts where organization_id = ${id}`
  const tickets = await sql`select subject, custom from tickets where organization_id = ${id}`
  expect(/\\[rn]/.test(JSON.stringify([...stored, ...anchors, ...people, ...tickets]))).toBe(false)
  expect(stored.map(({ email_message_id }) => email_message_id).filter(Boolean)).toEqual(['folded@x.example'])
  expect(tickets.map(({ subject }) => subject.length).sort()).toEqual([14, 255])
  expect((await admin.get('/tickets?search=carla')).status).toBe(200)
})

test('long texts without an end, deep JSON and dumps of dashes are read in one pass', async () => {
  const dashes = '-'.repeat(3_000_000)
  expect([emailsOf(dashes), messageIdsOf(`${dashes} a@b`), referencesIn(`References: ${dashes}\n ${dashes}`)]).toEqual([
    [],
    ['a@b'],
    [],
  ])
  async function* dump() {
    yield Buffer.from(
      `SELECT${dashes}${'/* x */ -- y\n'.repeat(20_000)};\nINSERT INTO t (a) VALUES (x'${'4142'.repeat(500_000)}'),`,
    )
    yield Buffer.from(`('${"\\\\''".repeat(1_000_000)}');\n`)
  }
  const rows = []
  for await (const { row } of rowsOf(dump(), new Set(['t']))) rows.push(row.a!.length)
  expect(rows).toEqual([1_000_000, 2_000_000])

  const deep = '['.repeat(200_000) + ']'.repeat(200_000)
  const { folder, told } = await convert('zendesk', {
    'users.json': `[${'['.repeat(100_000)}{"id":1,"name":${deep},"email":"kim@x.example","notes":{"a":${deep}}}${']'.repeat(100_000)}]`,
    'tickets.json': `{"tickets":[{"id":1,"status":"open","subject":"${'-'.repeat(300_000)}","requester_id":1,"tags":${deep},"custom_fields":[{"id":1,"value":${deep}},{"id":2,"value":{"a":${deep}}}],"comments":[{"id":1,"author_id":${deep},"body":"${'-'.repeat(300_000)}","via":${deep},"attachments":${deep}}]}]}`,
  })
  expect(told.rows).toMatchObject({ tickets: 1, contacts: 1, messages: 1 })
  expect(readRows(folder, 'contacts')).toMatchObject([{ name: 'kim' }])
})

test('a dump that was cut off is refused', async () => {
  async function* pieces(text: string) {
    yield Buffer.from(text)
  }
  const read = async (text: string) => {
    for await (const _ of rowsOf(pieces(text), new Set(['t'])));
  }
  const whole = "INSERT INTO t (a) VALUES ('1'),('2');\n"
  await read(whole)
  await read('COPY t (a) FROM stdin;\n1\n\\.')
  for (const text of [whole.slice(0, -4), whole.slice(0, -6), whole.slice(0, -3), 'COPY t (a) FROM stdin;\n1\n']) {
    expect(read(text)).rejects.toThrow('the dump ends within a statement')
  }
})
