/** An import that is killed three times, beside a service: the next one goes on, and all rows are there once. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fs from 'node:fs'
import path from 'node:path'
import { connection } from '../../src/base/db/pool'
import { createOrganization, startApi, stopApi } from '../support/api'
import { startCli } from '../support/backups'
import { createContact, createTicket } from '../support/factories'
import { importFolder, newFolder, writeRows } from '../support/imports'
import { until } from '../support/service'

const TICKETS = Number(process.env.IMPORT_TICKETS ?? 2000)
const folder = newFolder()
let env: Record<string, string>

beforeAll(async () => {
  const { url } = await startApi()
  const DATA_DIR = process.env.DATA_DIR!
  // With a file of others in it, the command stays the user that the API runs as here.
  fs.mkdirSync(DATA_DIR, { recursive: true })
  fs.writeFileSync(path.join(DATA_DIR, 'others'), '')
  env = { DATABASE_URL: url, SECRET_KEY: 'a secret key that only tests use', DATA_DIR }
  writeSource()
})

afterAll(async () => {
  await stopApi()
  fs.rmSync(folder, { recursive: true, force: true })
})

/** Each ticket has two messages, one of them with a file. */
function writeSource(): void {
  fs.mkdirSync(path.join(folder, 'files'))
  const numbers = Array.from({ length: TICKETS }, (_, n) => n)
  for (const n of numbers) fs.writeFileSync(path.join(folder, `files/${n}`), `file ${n}`)
  writeRows(folder, {
    contacts: numbers
      .slice(0, TICKETS / 10)
      .map((n) => ({ id: n, name: `Carla ${n}`, email: `c${n}@customer.example` })),
    tickets: numbers.map((n) => ({
      id: n,
      code: `${n + 100}`,
      subject: `Subject ${n}`,
      contact_id: `${n % (TICKETS / 10)}`,
    })),
    messages: numbers.flatMap((n) => [
      {
        ...{
          id: n,
          ticket_id: `${n}`,
          direction: 'inbound',
          body: `Question ${n}`,
          email_message_id: `${n}@old.example`,
        },
        attachments: [{ url: `files/${n}`, filename: 'file.txt' }],
      },
      { id: TICKETS + n, ticket_id: `${n}`, direction: 'outbound', body: `Answer ${n}` },
    ]),
  })
}

test('three kills leave what one import brings', async () => {
  const { id, admin } = await createOrganization()
  const contact = await createContact(admin)
  // Rows of contacts, tickets, and twice messages.
  const most = TICKETS * 3.1
  let killed = 0
  for (const part of [0.2, 0.5, 0.8]) {
    const command = startCli(['import', folder, '--organization', id], env)
    await until('a part is imported', async () => (await count(id, 'imported_rows')) > most * part, 120_000)
    // The service makes tickets meanwhile.
    await createTicket(admin, { contact_id: contact.id })
    command.process.kill('SIGKILL')
    if ((await command.ended).code === null) killed++
  }
  const { code, numbers } = await importFolder(folder, id, env)
  expect(code).toBe(0)
  for (const [name, rows] of [
    ['contacts', TICKETS / 10],
    ['tickets', TICKETS],
    ['messages', TICKETS * 2],
  ] as const) {
    const { created, unchanged, failed, conflicts, updated } = numbers[name]!
    expect([name, created + unchanged, failed + conflicts + updated]).toEqual([name, rows, 0])
  }
  expect(await count(id, 'tickets')).toBe(TICKETS + 3)
  expect(await count(id, 'ticket_search')).toBe(TICKETS + 3)
  expect(await count(id, 'messages')).toBe(TICKETS * 2)
  expect(await count(id, 'email_anchors')).toBe(TICKETS)
  const { sql } = connection()
  const [files] = await sql`
    select count(*) as used, count(distinct message_id) as messages from attachments
    where organization_id = ${id} and message_id is not null`
  expect(files).toMatchObject({ used: TICKETS, messages: TICKETS })
  const { meta } = (await admin.get('/tickets?search=answer')).body
  expect(meta.total).toBe(TICKETS)
  const events = (await admin.get('/events?types=organization.imported')).body.data
  // With few tickets the last one may have ended before it was killed.
  expect(killed).toBeGreaterThanOrEqual(2)
  expect(events).toHaveLength(4 - killed)
}, 900_000)

async function count(organization_id: string, table: string): Promise<number> {
  const { sql } = connection()
  const [row] = await sql<{ n: number }[]>`
    select count(*) as n from ${sql(table)} where organization_id = ${organization_id}`
  return row!.n
}
