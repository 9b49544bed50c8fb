/**
 * An import that is killed three times, beside a service with a durable database: the next one goes on, and all rows
 * are there once, as the folder has them. IMPORT_TICKETS: 2,000 by default, with four times as many messages and half
 * as many files. It prints the time of the imports and of the processors.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import postgres from 'postgres'
import { startCli } from '../support/backups'
import { secondsOfChildren, secondsOfTree } from '../support/cpu-time'
import {
  BASE_MS,
  fileOf,
  MESSAGES_OF_A_TICKET,
  MINUTE_MS,
  messageOf,
  sizeOf,
  ticketOf,
  writeSource,
} from '../support/import-source'
import { importFolder, newFolder } from '../support/imports'
import { type OwnPostgres, startOwnPostgres } from '../support/own-postgres'
import { type Service, startService } from '../support/service'

const SIZE = sizeOf(Number(process.env.IMPORT_TICKETS ?? 2000))
const MESSAGES = SIZE.tickets * MESSAGES_OF_A_TICKET
const KILLED_AT = [0.2, 0.5, 0.8]
/** How often the progress is looked at. */
const LOOK_MS = 200

const folder = newFolder()
let database: OwnPostgres
let sql: postgres.Sql
let service: Service
let env: Record<string, string>
let organization_id: string

beforeAll(async () => {
  writeSource(folder, SIZE)
  database = await startOwnPostgres(path.join(folder, 'postgres'), { fsync: 'on', autovacuum: 'on' })
  sql = postgres(database.url, { max: 1 })
  env = {
    ...{ DATABASE_URL: database.url, SECRET_KEY: 'a secret key that only tests use', LOG_LEVEL: 'warn' },
    DATA_DIR: path.join(folder, 'data'),
  }
  service = await startService(env)
  organization_id = (await service.call('GET', '/organization')).body.data.id
}, 600_000)

afterAll(async () => {
  await service.stop()
  await sql.end()
  await database.stop()
  fs.rmSync(folder, { recursive: true, force: true })
})

test('three kills leave what one import brings', async () => {
  const contact = await service.call('POST', '/contacts', { name: 'C', email: 'c@service.example' })
  const [{ postmaster }] = await sql<[{ postmaster: number }]>`
    select split_part(pg_read_file('postmaster.pid'), E'\n', 1)::int as postmaster`
  const [began_ms, command_s, database_s] = [performance.now(), secondsOfChildren(), secondsOfTree(postmaster)]
  let killed = 0
  for (const part of KILLED_AT) {
    const command = startCli(['import', folder, '--organization', organization_id], env)
    const ended = command.ended.then(({ code }) => code)
    const rows = part * (SIZE.tickets + MESSAGES)
    while ((await importedRows()) < rows && command.process.exitCode === null) await Bun.sleep(LOOK_MS)
    // The service makes tickets meanwhile.
    await service.call('POST', '/tickets', { subject: 'Meanwhile', contact_id: contact.body.data.id })
    command.process.kill('SIGKILL')
    if ((await ended) === null) killed++
  }
  const { code, numbers, stderr } = await importFolder(folder, organization_id, env)
  console.table([
    {
      ...{ tickets: SIZE.tickets, messages: MESSAGES, files: SIZE.files },
      seconds: Math.round((performance.now() - began_ms) / 100) / 10,
      command_cpu_s: Math.round(secondsOfChildren() - command_s),
      database_cpu_s: Math.round(secondsOfTree(postmaster) - database_s),
    },
  ])
  expect([code, stderr]).toEqual([0, ''])
  for (const [name, rows] of [
    ['contacts', SIZE.contacts],
    ['tickets', SIZE.tickets],
    ['messages', MESSAGES],
  ] as const) {
    const { created, unchanged, failed, conflicts, updated } = numbers[name]!
    expect([name, created + unchanged, failed + conflicts + updated]).toEqual([name, rows, 0])
  }
  await checkTickets()
  await checkMessages()
  await checkRest(killed)
}, 3_600_000)

/** As the statistics of the server say: to count them would take its time. */
async function importedRows(): Promise<number> {
  const [row] = await sql<[{ n: number }]>`
    select n_tup_ins::int as n from pg_stat_user_tables where relname = 'imported_rows'`
  return row.n
}

async function checkTickets(): Promise<void> {
  const rows = await sql`
    select t.code, t.subject, t.status, t.priority, c.email, l.name as label, t.created_at, t.updated_at,
      s.size > 0 as has_document, a.n as activities
    from tickets t
    join contacts c on c.organization_id = t.organization_id and c.id = t.contact_id
    join ticket_labels tl on tl.organization_id = t.organization_id and tl.ticket_id = t.id
    join labels l on l.organization_id = t.organization_id and l.id = tl.label_id
    join ticket_search s on s.organization_id = t.organization_id and s.ticket_id = t.id
    left join (select ticket_id, count(*)::int as n from activities where type = 'imported' group by 1) a on a.ticket_id = t.id
    order by t.id`
  // An imported ticket with a number that the service has given meanwhile gets another.
  const meanwhile = await sql<{ code: string }[]>`select code from tickets where subject = 'Meanwhile'`
  const taken = new Set(meanwhile.map(({ code }) => code))
  expect(rows).toHaveLength(SIZE.tickets)
  const wrong = rows.filter((row, n) => {
    const { id: _, code, contact_id, label_ids, ...ticket } = ticketOf(n, SIZE)
    if (!taken.has(code) && code !== row.code) return true
    const email = `${contact_id}@customer.example`
    const label = label_ids[0]!.replace('l', 'Label ')
    const { created_at, updated_at, ...others } = row
    const times = [created_at, updated_at].map((time) => (time as Date).toISOString())
    const wanted = { ...ticket, email, label, has_document: true, activities: 1 }
    const given: Record<string, unknown> = { ...others, created_at: times[0], updated_at: times[1] }
    return Object.entries(wanted).some(([field, value]) => given[field] !== value)
  })
  expect(wrong.slice(0, 3)).toEqual([])
}

async function checkMessages(): Promise<void> {
  const digest = (value: string) => createHash('md5').update(value).digest('hex')
  const wrong: unknown[] = []
  let [last, place, found] = [-1, 0, 0]
  const cursor = sql`
    select t.created_at as opened_at, md5(m.body) as body, m.direction, m.sender_name, m.email_message_id, m.created_at,
      a.filename, a.size::int as size, e.ticket_id = t.id as is_anchored
    from messages m
    join tickets t on t.organization_id = m.organization_id and t.id = m.ticket_id
    left join attachments a on a.organization_id = m.organization_id and a.message_id = m.id
    left join email_anchors e on e.organization_id = m.organization_id and e.email_message_id = m.email_message_id
    order by t.id, m.id`.cursor(10_000)
  for await (const rows of cursor) {
    for (const row of rows) {
      const n = (row.opened_at.getTime() - BASE_MS) / MINUTE_MS
      place = n === last ? place + 1 : 0
      last = n
      found++
      const message = messageOf(n, place, SIZE)
      const wanted = [digest(message.body), message.direction, message.sender.name, message.email_message_id]
      const files = message.attachments ? [`${n}.txt`, fileOf(n).length] : [null, null]
      const given = [row.body, row.direction, row.sender_name, row.email_message_id, row.created_at.toISOString()]
      const all = [...given, row.filename, row.size, row.is_anchored]
      if (all.join() !== [...wanted, message.created_at, ...files, true].join()) wrong.push(row)
    }
  }
  expect(wrong.slice(0, 3)).toEqual([])
  expect(found).toBe(MESSAGES)
}

/** Nothing was sent or told but the end, and what is counted and searched knows all. */
async function checkRest(killed: number): Promise<void> {
  const [rows] = await sql`
    select (select count(*)::int from outbox) as outbox, (select count(*)::int from message_recipients) as recipients,
      (select count(*)::int from attachments where message_id is not null) as files`
  expect(rows).toEqual({ outbox: 0, recipients: 0, files: SIZE.files })
  const events = await sql`select type, count(*)::int as n from events group by 1 order by 1`
  // With few tickets the last one may have ended before it was killed.
  expect(killed).toBeGreaterThanOrEqual(2)
  expect([...events]).toEqual([
    { type: 'contact.created', n: 1 },
    { type: 'organization.imported', n: KILLED_AT.length + 1 - killed },
    { type: 'ticket.created', n: KILLED_AT.length },
  ])
  const total = async (query: string) => (await service.call('GET', `/tickets?per_page=1&${query}`)).body.meta.total
  expect(await total('')).toBe(SIZE.tickets + KILLED_AT.length)
  const closed = Array.from({ length: SIZE.tickets }, (_, n) => ticketOf(n, SIZE)).filter(
    ({ status }) => status === 'closed',
  )
  expect(await total('status=closed')).toBe(closed.length)
  // The last word of the last message of a ticket, and a word of all: these are counted up to a limit.
  expect(await total(`search=${encodeURIComponent(`"message 3 of ${SIZE.tickets - 1}"`)}`)).toBe(1)
  expect(await total('search=message')).toBe(Math.min(SIZE.tickets, 10_000))
  const files = fs.readdirSync(path.join(folder, 'data/attachments/attachments'))
  expect(files.length).toBeGreaterThanOrEqual(SIZE.files)
}
