/** Files are scanned by clamd: what is infected, or not scanned yet, is neither handed out nor sent. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { removeStoredBytes } from '../../../src/desk/attachments/removals'
import { scanPending } from '../../../src/desk/attachments/scan'
import { checkScanner } from '../../../src/operate/doctor/scanner'
import { type Answer, api, type Client, createOrganization, expectError, stranger } from '../../support/api'
import { EICAR, startClamd, type TestClamd } from '../../support/clamd'
import { createCustomer } from '../../support/customers'
import { type Desk, type StartedDesk, startDesk } from '../../support/desk'
import { formOf, insertTicket, uploadFile } from '../../support/factories'
import { importFolder, newFolder, writeRows } from '../../support/imports'
import { deliver, drain, ledgerOf, readTicket } from '../../support/mail'
import { freePort } from '../../support/ports'
import { type ChangedSettings, withSettings } from '../../support/settings'
import { buildMail } from '../../support/smtp'

let desk: StartedDesk
let other: Desk
let clamd: TestClamd
let settings: ChangedSettings

beforeAll(async () => {
  desk = await startDesk()
  // With a file of others in it, the command stays the user that the API runs as here.
  mkdirSync(process.env.DATA_DIR!, { recursive: true })
  writeFileSync(path.join(process.env.DATA_DIR!, 'others'), '')
  other = await desk.createDesk()
})
afterAll(() => desk.stop())

// Each test has a clamd of its own: one that did not answer is left alone for a while.
beforeEach(async () => {
  settings?.restore()
  clamd?.[Symbol.dispose]()
  clamd = await startClamd()
  settings = withSettings({ CLAMD_HOST: clamd.place })
})
afterAll(() => {
  settings.restore()
  clamd[Symbol.dispose]()
})

function upload(client: Client, text: string, name = 'a.txt'): Promise<Answer> {
  return client.post('/attachments', formOf(text, name))
}

/** Another clamd at another place: the service asks this one from now on. */
async function changeClamd(ways: TestClamd['ways'] = {}) {
  clamd[Symbol.dispose]()
  clamd = await startClamd(ways)
  settings.restore()
  settings = withSettings({ CLAMD_HOST: clamd.place })
}

/** A file that came while nothing listened. */
async function pendingFile(client: Client, text: string): Promise<string> {
  using _ = withSettings({ CLAMD_HOST: `127.0.0.1:${await freePort()}` })
  const { status, body } = await upload(client, text)
  expect([status, body.data.scan]).toEqual([201, 'pending'])
  return body.data.id
}

async function infectedFile(client: Client): Promise<string> {
  const id = await pendingFile(client, EICAR)
  await scanPending(connection())
  return id
}

async function rowsOf(table: 'attachments' | 'messages'): Promise<number> {
  const { sql } = connection()
  const [row] = await sql<{ n: number }[]>`
    select count(*) as n from ${sql(table)} where organization_id = ${desk.id}`
  return row!.n
}

/** Mail with a file, filed. Returns its ticket's first message. */
async function received(text: string, to = desk.address) {
  const from = `w.${newId()}@customer.example`
  const raw = await buildMail({
    ...{ from, to, subject: 'Files', text: 'See the file' },
    attachments: [{ filename: 'a.txt', content: text }],
  })
  await deliver(desk.port, { from, to, raw })
  const [row] = await ledgerOf(desk)
  const { messages } = await readTicket(desk.admin, row.ticket_id)
  return { row, ticket_id: row.ticket_id, message: messages[0], file: messages[0].attachments[0] }
}

describe('an upload', () => {
  test('is clean, infected or too large for the scanner; one that is infected leaves nothing', async () => {
    const good = await upload(desk.agent, 'hello')
    expect([good.status, good.body.data.scan]).toEqual([201, 'clean'])
    const before = await rowsOf('attachments')
    const bad = await upload(desk.agent, `x${EICAR}`)
    expectError(bad, 422, 'ATTACHMENT_INFECTED')
    expect(bad.body.error.details.errors[0].path).toBe('/file')
    expect(await rowsOf('attachments')).toBe(before)
    expect(await removeStoredBytes(connection())).toBe(0)
    const { sql } = connection()
    expect(await sql`select 1 from storage_removals where storage_key like 'attachments/%'`).toHaveLength(0)
    clamd.ways.takes = 100_000
    const large = await upload(desk.agent, 'x'.repeat(900_000))
    expect([large.status, large.body.data.scan]).toEqual([201, 'skipped'])
    expect((await desk.agent.get(`/attachments/${large.body.data.id}/content`)).status).toBe(200)
  })

  test('reaches the scanner whole, an empty one too', async () => {
    for (const size of [0, 1, 65_536, 65_537, 700_001]) {
      expect((await upload(desk.agent, 'x'.repeat(size))).body.data.scan).toBe('clean')
    }
    expect(clamd.sizes).toEqual([0, 1, 65_536, 65_537, 700_001])
  })

  test.each([
    ['garbage', 'HTTP/1.1 400 Bad Request'],
    ['an error', 'stream: Can not open file ERROR'],
    ['a verdict of another file', 'other: OK'],
    ['no end', 'x'.repeat(10_000)],
  ])('waits when clamd answers %s', async (_, answer) => {
    clamd.ways.answer = answer
    const { status, body } = await upload(desk.agent, 'hello')
    expect([status, body.data.scan]).toEqual([201, 'pending'])
    clamd.ways.answer = undefined
    await scanPending(connection())
    expect((await desk.agent.get(`/attachments/${body.data.id}`)).body.data.scan).toBe('clean')
  })

  test('does not wait behind many files of another organization that get no verdict', async () => {
    const { sql } = connection()
    await sql`
      insert into attachments (organization_id, id, filename, content_type, size, digest, storage_key, scan)
      select ${desk.id}, gen_random_uuid(), 'lost.txt', 'text/plain', 5, '', 'attachments/' || gen_random_uuid(), 'pending'
      from generate_series(1, 10000)`
    const waiting = await pendingFile(other.agent, 'hello')
    await scanPending(connection())
    await sql`delete from attachments where filename = 'lost.txt'`
    expect((await other.agent.get(`/attachments/${waiting}`)).body.data.scan).toBe('clean')
  })

  test('is not scanned without a scanner, and nothing waits for one that is gone', async () => {
    const waiting = await pendingFile(desk.agent, 'hello')
    using _ = withSettings({ CLAMD_HOST: undefined })
    expect((await upload(desk.agent, EICAR)).body.data.scan).toBeNull()
    expect((await desk.agent.get(`/attachments/${waiting}/content`)).status).toBe(200)
  })
})

describe('content', () => {
  test('of a pending file is 503, of an infected one 403: by token, link, HEAD, Range and If-None-Match', async () => {
    const id = await pendingFile(desk.agent, EICAR)
    const { url } = (await desk.agent.get(`/attachments/${id}`)).body.data
    const path = `/attachments/${id}/content`
    const link = url.slice(url.indexOf('/attachments'))
    const ways = async () => [
      await desk.agent.get(path),
      await stranger().get(link),
      await desk.admin.get(path, { range: 'bytes=0-3' }),
      await desk.admin.get(path, { 'if-none-match': '*' }),
      await stranger().get(link, { 'if-none-match': '*', range: 'bytes=-1' }),
    ]
    for (const answer of await ways()) {
      expectError(answer, 503, 'SERVICE_UNAVAILABLE')
      expect(answer.headers.get('retry-after')).toBe('30')
    }
    await scanPending(connection())
    for (const answer of await ways()) {
      expectError(answer, 403, 'ATTACHMENT_INFECTED')
      expect(answer.text).not.toContain('EICAR')
      expect(answer.headers.get('etag')).toBeNull()
    }
    const head = new Request(url, { method: 'HEAD' })
    expect((await api().handle(head)).status).toBe(403)
    expectError(await other.agent.get(path), 404, 'ATTACHMENT_NOT_FOUND')
    expectError(await other.agent.get(`/attachments/${id}`), 404, 'ATTACHMENT_NOT_FOUND')
    expectError(await stranger().get(path), 401, 'INVALID_TOKEN')
  })
})

describe('mail', () => {
  test('is filed with an infected file, which nobody gets, nor the original', async () => {
    const { row, file } = await received(EICAR)
    expect(file.scan).toBe('infected')
    expectError(await desk.admin.get(`/attachments/${file.id}/content`), 403, 'ATTACHMENT_INFECTED')
    expectError(await desk.admin.get(`/inbound-messages/${row.id}/raw`), 403, 'ATTACHMENT_INFECTED')
    const clean = await received('hello')
    expect(clean.file.scan).toBe('clean')
    expect((await desk.admin.get(`/inbound-messages/${clean.row.id}/raw`)).status).toBe(200)
    const text_only = await buildMail({ from: 'a@b.example', to: desk.address, subject: 'S', text: EICAR })
    await deliver(desk.port, { to: desk.address, raw: text_only })
    const [held] = await ledgerOf(desk)
    expectError(await desk.admin.get(`/inbound-messages/${held.id}/raw`), 403, 'ATTACHMENT_INFECTED')
    await changeClamd({ answer: 'garbage' })
    expectError(await desk.admin.get(`/inbound-messages/${clean.row.id}/raw`), 503, 'SERVICE_UNAVAILABLE')
  })

  test('waits some 10 seconds for a silent clamd, and not again; the job scans its files when clamd is back', async () => {
    clamd.ways.answer = null
    const start = performance.now()
    const first = await received(EICAR)
    const second = await received('hello')
    expect(performance.now() - start).toBeWithin(9000, 16_000)
    expect([first.file.scan, second.file.scan]).toEqual(['pending', 'pending'])
    await changeClamd()
    await Promise.all([scanPending(connection()), scanPending(connection())])
    const scanOf = async ({ file }: typeof first) => (await desk.agent.get(`/attachments/${file.id}`)).body.data.scan
    expect([await scanOf(first), await scanOf(second)]).toEqual(['infected', 'clean'])
  }, 30_000)
})

describe('a message', () => {
  test('with an infected file is refused, and so is a draft', async () => {
    const ticket = await insertTicket(desk.scope, { mailbox_id: desk.mailbox_id })
    const infected = await infectedFile(desk.agent)
    const { id: good } = await uploadFile(desk.agent, 'hello', 'a.txt')
    const before = await rowsOf('messages')
    const said = { body: 'See', attachment_ids: [good, infected] }
    for (const place of ['messages', 'drafts']) {
      const answer = await desk.agent.post(`/tickets/${ticket.id}/${place}`, said)
      expectError(answer, 422, 'ATTACHMENT_INFECTED')
      expect(answer.body.error.details.ids).toEqual([infected])
    }
    expect(await rowsOf('messages')).toBe(before)
    // A refused file is unused still.
    const again = await desk.agent.post(`/tickets/${ticket.id}/messages`, { ...said, attachment_ids: [good] })
    expect(again.status).toBe(201)
    const foreign = await insertTicket(other.scope)
    const stolen = await other.agent.post(`/tickets/${foreign.id}/messages`, said)
    expectError(stolen, 422, 'ATTACHMENT_NOT_FOUND')
  })

  test('with a pending file waits, and is sent once the file is clean; an infected one fails it', async () => {
    await drain()
    const ticket = await insertTicket(desk.scope, { mailbox_id: desk.mailbox_id })
    const path = `/tickets/${ticket.id}/messages`
    const write = async (file: string) => {
      const { status, body } = await desk.agent.post(path, { body: 'See', attachment_ids: [file] })
      expect(status).toBe(201)
      return body.data.id as string
    }
    const clean = await write(await pendingFile(desk.agent, 'hello'))
    const infected = await write(await pendingFile(desk.agent, EICAR))
    const read = async (id: string) => (await desk.agent.get(`${path}/${id}`)).body.data
    const sent = desk.sink.messages.length
    await drain()
    for (const id of [clean, infected]) {
      expect(await read(id)).toMatchObject({ email_status: 'queued', email_error: expect.stringContaining('waits') })
    }
    // It uses no attempt, and no other mail of the mailbox waits with it.
    const { sql } = connection()
    const due = sql<
      { attempts: number }[]
    >`update outbox set run_at = now() where organization_id = ${desk.id} returning attempts`
    expect([...(await due)]).toEqual([{ attempts: 0 }, { attempts: 0 }])
    const { id: other_file } = await uploadFile(desk.agent, 'other', 'b.txt')
    const next = await write(other_file)
    await drain()
    expect((await read(next)).email_status).toBe('sent')
    await scanPending(connection())
    await sql`update outbox set run_at = now() where organization_id = ${desk.id}`
    await drain()
    expect((await read(clean)).email_status).toBe('sent')
    expect(await read(infected)).toMatchObject({
      email_status: 'failed',
      email_error: expect.stringContaining('virus'),
    })
    expect(desk.sink.messages.length).toBe(sent + 2)
  })
})

describe('customers and imports', () => {
  test('are no way around the scan', async () => {
    const carla = await createCustomer(desk.admin)
    expectError(await carla.post('/my/attachments', formOf(EICAR, 'a.txt')), 422, 'ATTACHMENT_INFECTED')
    using nobody = withSettings({ CLAMD_HOST: `127.0.0.1:${await freePort()}` })
    const waiting = await carla.post('/my/attachments', formOf(EICAR, 'a.txt'))
    expect(waiting.status).toBe(201)
    const { id, url } = waiting.body.data
    expectError(await stranger().get(url.slice(url.indexOf('/attachments'))), 503, 'SERVICE_UNAVAILABLE')

    const { id: organization_id, admin } = await createOrganization()
    const folder = newFolder()
    mkdirSync(path.join(folder, 'files'))
    writeFileSync(path.join(folder, 'files', '1.txt'), EICAR)
    const attachments = [{ url: 'files/1.txt', filename: '1.txt' }]
    writeRows(folder, {
      contacts: [{ external_id: 'c', name: 'C', email: 'c@old.example' }],
      tickets: [{ external_id: 't', subject: 'Old', contact_id: 'c' }],
      messages: [{ external_id: 'm', ticket_id: 't', direction: 'inbound', body: 'See', attachments }],
    })
    const env = {
      ...{ DATABASE_URL: desk.database.url, SECRET_KEY: 'a secret key that only tests use' },
      ...{ DATA_DIR: process.env.DATA_DIR!, CLAMD_HOST: clamd.place },
    }
    expect(await importFolder(folder, organization_id, env)).toMatchObject({ code: 0 })
    rmSync(folder, { recursive: true })
    const [ticket] = (await admin.get('/tickets')).body.data
    const scanOf = async () => (await readTicket(admin, ticket.id)).messages[0].attachments[0].scan
    expect(await scanOf()).toBe('pending')
    nobody.restore()
    await scanPending(connection())
    expect(await scanOf()).toBe('infected')
    const said = { subject: 'S', body: 'B', attachment_ids: [id] }
    expectError(await carla.post('/my/tickets', said), 422, 'ATTACHMENT_INFECTED')
  })
})

test('the doctor names a clamd that does not answer', async () => {
  expect(await checkScanner()).toEqual([])
  using _ = withSettings({ CLAMD_HOST: `127.0.0.1:${await freePort()}` })
  expect(await checkScanner()).toMatchObject([{ level: 'error' }])
})
