/** Conversion of what other desks left, with the traps in their formats. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fs from 'node:fs'
import path from 'node:path'
import { rowsOf } from '../../../src/operate/convert/sql-dump'
import { runCli } from '../../support/backups'
import { type StartedDesk, startDesk } from '../../support/desk'
import { commandSettings, importHere, move, newFolder, readRows } from '../../support/imports'
import { deliver, drain, rawMail } from '../../support/mail'
import { FREESCOUT, FRESHDESK, OSTICKET, writeFiles, ZAMMAD, ZENDESK } from '../../support/old-desks'

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

/** Converts files, which are all that there is. */
async function convert(name: string, files: Parameters<typeof writeFiles>[1], ...options: string[]) {
  const source = newFolder()
  const folder = path.join(newFolder(), 'out')
  folders.push(source, folder)
  writeFiles(source, files)
  const { code, told } = await move(['convert', name, source, folder, ...options], env)
  expect(code).toBe(0)
  return { folder, told }
}

const AT = '2020-02-03T04:05:06Z'

test('Zendesk: statuses, tags, notes, and authors who are gone', async () => {
  const { folder, told } = await convert('zendesk', ZENDESK)
  expect(told).toMatchObject({ files: 1, missing_files: 1, rows: { tickets: 2, messages: 5, contacts: 2, users: 1 } })
  const [first, second] = readRows(folder, 'tickets')
  expect(first).toMatchObject({
    ...{ external_id: 'zendesk:100', code: '100', status: 'open', priority: 'normal', contact_id: 'zendesk:10' },
    ...{ assignee_id: 'zendesk:11', company_id: 'zendesk:1', custom: { field_5: 'gold' }, created_at: AT },
    label_ids: ['zendesk:billing', 'zendesk:vip'],
  })
  expect(second).toMatchObject({ status: 'resolved', priority: 'urgent', contact_id: null, subject: '(no subject)' })
  const messages = readRows(folder, 'messages')
  expect(messages.map(({ direction = 'note' }) => direction)).toEqual([
    'inbound',
    'outbound',
    'note',
    'inbound',
    'outbound',
  ])
  expect(messages[0].attachments).toMatchObject([{ url: 'files/7', filename: 'fire.txt' }])
  expect(fs.readFileSync(path.join(folder, 'files/7'), 'utf8')).toBe('fire')
  expect((await importHere(folder, desk.id, env)).code).toBe(0)
})

test('Freshdesk: own statuses, private notes, times, and several addresses', async () => {
  const { folder } = await convert('freshdesk', FRESHDESK)
  const [first, second] = readRows(folder, 'tickets')
  expect(first).toMatchObject({ status: 'open', priority: 'urgent', custom: { cf_tier_level: 'gold' } })
  expect(second).toMatchObject({ status: 'closed', priority: 'low' })
  expect(readRows(folder, 'contacts')).toMatchObject([
    { emails: ['c@home.example'], company_id: 'freshdesk:1', phone: '1' },
  ])
  expect(readRows(folder, 'messages').map(({ direction, is_internal }) => direction ?? is_internal)).toEqual([
    ...['inbound', 'outbound', true, 'inbound'],
  ])
  expect(readRows(folder, 'time_entries')).toMatchObject([
    { duration_minutes: 90, user_id: 'freshdesk:11', billable: true },
  ])
  expect(readRows(folder, 'participants')).toMatchObject([{ email: 'bo@x.example' }])
  expect((await importHere(folder, desk.id, env)).code).toBe(0)
})

test('FreeScout: drafts, spam and events are left out, and a reply to its mail finds the ticket', async () => {
  const { folder, told } = await convert('freescout', FREESCOUT)
  expect(told).toMatchObject({ files: 1, missing_files: 1, rows: { tickets: 1, messages: 3 } })
  expect(readRows(folder, 'tickets')).toMatchObject([
    {
      code: '77',
      subject: "Printer isn't \"fine\" ; 'really'",
      status: 'open',
      assignee_id: 'freescout:11',
      created_at: '2020-02-03T04:05:06.000Z',
    },
  ])
  expect(readRows(folder, 'contacts')).toMatchObject([{ name: 'Carla Zoe', emails: ['c@home.example'], phone: '123' }])
  const [, answer] = readRows(folder, 'messages')
  expect(answer).toMatchObject({
    ...{ direction: 'outbound', email_message_id: 'answer@old.example', sender: { name: 'Alan Agent' } },
    references: ['first@umbrella.example', 'other@x.example'],
  })
  const own = await desk.createDesk()
  expect((await importHere(folder, own.id, env)).code).toBe(0)
  const raw = rawMail({
    ...{ From: 'c@home.example', To: own.address, Subject: 'Thanks', 'In-Reply-To': '<answer@old.example>' },
    'Message-ID': '<reply@home.example>',
  })
  await deliver(desk.port, { from: 'c@home.example', to: own.address, raw })
  await drain()
  const { data } = (await own.admin.get('/tickets')).body
  expect(data).toMatchObject([{ code: 'TKT-77', contact: { email: 'carla@umbrella.example' } }])
  expect((await own.admin.get(`/tickets/${data[0].id}`)).body.data.messages).toHaveLength(4)
})

test('osTicket: files in pieces, times of a zone, and 0 for nobody', async () => {
  const { folder, told } = await convert('osticket', OSTICKET, '--time-zone', 'Europe/Berlin')
  expect(told).toMatchObject({ files: 1, rows: { tickets: 2, messages: 3, participants: 1 } })
  const [first, second] = readRows(folder, 'tickets')
  expect(first).toMatchObject({
    ...{ code: '004711', subject: 'Printer', priority: 'high', status: 'closed', contact_id: 'osticket:10' },
    ...{ created_at: '2020-02-03T04:05:06.000Z', updated_at: '2020-07-03T04:05:06.000Z' },
  })
  expect([second.contact_id, second.assignee_id, second.updated_at]).toEqual([null, undefined, undefined])
  const [message, answer] = readRows(folder, 'messages')
  expect(message).toMatchObject({
    email_message_id: 'first@umbrella.example',
    attachments: [{ filename: 'bytes.bin' }],
  })
  expect(answer).toMatchObject({ body: 'Water < fire', direction: 'outbound' })
  expect([...fs.readFileSync(path.join(folder, 'files/7'))]).toEqual([0xff, 0, 0x27, 0x0a, 0x80, 0x41, 0x42, 0x43])
  expect((await importHere(folder, desk.id, env)).code).toBe(0)
})

test('Zammad: types of states, user 1 for nobody, merged tickets, time and files of the database', async () => {
  const { folder, told } = await convert('zammad', ZAMMAD)
  expect(told).toMatchObject({ files: 1, missing_files: 0, rows: { tickets: 1, messages: 3, users: 1, contacts: 2 } })
  const [ticket] = readRows(folder, 'tickets')
  expect(ticket).toMatchObject({ code: '20001', status: 'pending', priority: 'high', label_ids: ['zammad:vip'] })
  expect(ticket.assignee_id).toBeUndefined()
  const [first, answer, note] = readRows(folder, 'messages')
  expect(first).toMatchObject({
    ...{ body_html: '<p>It\tburns\\now</p>', direction: 'inbound', created_at: '2020-02-03T04:05:06.123Z' },
    attachments: [{ content_type: 'text/plain', filename: 'fire.txt' }],
  })
  expect(answer).toMatchObject({
    direction: 'outbound',
    references: ['first@umbrella.example', 'first@umbrella.example'],
  })
  expect(note.is_internal).toBe(true)
  expect(readRows(folder, 'time_entries')).toMatchObject([{ duration_minutes: 15, user_id: 'zammad:11' }])
  expect((await importHere(folder, desk.id, env)).code).toBe(0)
})

test('groups of Zendesk and Zammad become teams with their agents, those of one name one', async () => {
  const zendesk = await convert('zendesk', {
    ...ZENDESK,
    'groups.json': JSON.stringify({
      groups: [1, 2, 3].map((id) => ({ id, name: ['Support', 'Sales', 'SALES '][id - 1] })),
    }),
    'group_memberships.json': JSON.stringify({
      group_memberships: [
        { id: 1, user_id: 11, group_id: 3 },
        { id: 2, user_id: 10, group_id: 1 },
        { id: 3, user_id: 11, group_id: 9 },
      ],
    }),
    'tickets-2.json': JSON.stringify({
      tickets: [3, 9].map((group_id) => ({ id: 200 + group_id, subject: 'Of a group', status: 'open', group_id })),
    }),
  })
  expect(readRows(zendesk.folder, 'teams')).toEqual([
    { external_id: 'zendesk:1', name: 'Support', member_emails: [] },
    { external_id: 'zendesk:2', name: 'Sales', member_emails: ['alan@desk.example'] },
  ])
  const tickets = readRows(zendesk.folder, 'tickets')
  expect(tickets.find(({ code }) => code === '203')).toMatchObject({ team: 'zendesk:2', custom: {} })
  const [unknown] = tickets.filter(({ code }) => code === '209')
  expect([unknown.team, unknown.custom.group]).toEqual([undefined, 9])
  const dump = String(ZAMMAD['dump.sql'])
    .replace('(id, organization_id, number, title,', '(group_id, id, organization_id, number, title,')
    .replace(/^(100\t1\t2000|101\t1\t2000)/gm, '2\t$1')
  const groups = [
    'COPY public.groups (id, name) FROM stdin;\n1\tUsers\n2\tUsers::Second\n\\.\n',
    'COPY public.groups_users (user_id, group_id, access) FROM stdin;\n11\t2\tfull\n10\t2\tread\n\\.\n',
  ]
  const zammad = await convert('zammad', {
    'dump.sql': dump.replace('COPY public.organizations', `${groups.join('')}$&`),
  })
  expect(readRows(zammad.folder, 'teams')).toEqual([
    { external_id: 'zammad:1', name: 'Users', member_emails: [] },
    { external_id: 'zammad:2', name: 'Users::Second', member_emails: ['alan@desk.example'] },
  ])
  expect(readRows(zammad.folder, 'tickets')).toMatchObject([{ code: '20001', team: 'zammad:2' }])
  const organization = await desk.createDesk()
  for (const { folder } of [zendesk, zammad]) expect((await importHere(folder, organization.id, env)).code).toBe(0)
  const { data } = (await organization.admin.get('/tickets?per_page=100')).body
  expect(data.filter(({ team }: { team: { name: string } | null }) => team).length).toBe(2)
})

test('a dump is read the same in pieces of any size, whatever its form', async () => {
  const dump = Buffer.from(
    `-- PostgreSQL database dump\nINSERT INTO public.t (id, a, b) VALUES (1, 'It''s \\n; (x)', '\\x4142'), (2, NULL, E'a\\nb'::text);\n`,
  )
  const read = async (size: number) => {
    async function* pieces() {
      for (let at = 0; at < dump.length; at += size) yield dump.subarray(at, at + size)
    }
    const rows = []
    for await (const { row } of rowsOf(pieces(), new Set(['t'])))
      rows.push(Object.values(row).map((value) => value?.toString()))
    return rows
  }
  const expected = [
    ['1', "It's \\n; (x)", 'AB'],
    ['2', undefined, 'a\nb'],
  ]
  for (const size of [5000, 64, 7, 1]) expect([size, await read(size)]).toEqual([size, expected])
})

test('a wrong call says what is wrong, and leaves nothing', async () => {
  const [source, folder] = [newFolder(), path.join(newFolder(), 'out')]
  writeFiles(source, { 'dump.sql': 'nothing' })
  for (const [args, said] of [
    [['zendesk', source, folder], 'has no file that ends in .json'],
    [['zammad', source, folder], 'the source has nothing of zammad'],
    [['helpscout', source, folder], 'DESK must be one of'],
    [['zammad', source], 'give 3 arguments, DESK SOURCE FOLDER'],
    [['zammad', `${source}/no`, folder], 'there is no '],
    [['osticket', source, folder, '--time-zone', 'Mars'], '--time-zone must be a zone'],
    [
      ['zammad', source, folder, '--report', `${source}/no/report`],
      'ended: there is no such file, or no folder for it',
    ],
    [['zammad', source, folder, '--report', source], 'the conversion ended: it is a folder'],
  ] as const) {
    await expect(move(['convert', ...args], env)).rejects.toThrow(said)
  }
  const { code, stderr } = await runCli(['convert', 'zendesk', source, folder], {})
  expect([code, stderr]).toEqual([1, expect.stringContaining('has no file that ends in .json')])
  expect(fs.existsSync(folder)).toBe(false)
})
