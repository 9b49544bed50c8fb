/** The listener with its real store: messages without a 250 leave nothing behind, and a full store refuses mail. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { config } from '../../../src/base/config'
import { connection, driverPool } from '../../../src/base/db/pool'
import { type CapacityLimits, checkCapacity } from '../../../src/mail/inbound/capacity'
import type { SmtpListener } from '../../../src/mail/smtp/listener'
import type { SmtpOptions } from '../../../src/mail/smtp/options'
import { createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import { createMailbox, drain, rawMail, startListener } from '../../support/mail'
import { until } from '../../support/service'
import { dotStuffed, sendMail, smtpDialog, startData, startSession } from '../../support/smtp'

const FROM = 'carla@customer.example'
const listeners: SmtpListener[] = []
let desk: Organization
/** Address of a mailbox that only the test has. */
let address: string

beforeAll(async () => {
  await startApi(10)
  desk = await createOrganization()
})
beforeEach(async () => {
  address = (await createMailbox(desk.admin)).address
})
afterAll(async () => {
  await Promise.all(listeners.map((listener) => listener.close({ timeout_ms: 0 })))
  await stopApi()
})

/** A listener with other limits. */
async function start(capacity: Partial<CapacityLimits> = {}, changes: Partial<SmtpOptions> = {}) {
  const listener = await startListener({ refusal: checkCapacity(connection().sql, capacity), ...changes })
  listeners.push(listener)
  return listener
}

function newMail(body?: string) {
  return rawMail({ From: FROM, Subject: 'Printer', Message_ID: `<${crypto.randomUUID()}@customer.example>` }, body)
}

function send(port: number) {
  return sendMail({ port, from: FROM, to: address, raw: newMail() })
}

const startMessage = (port: number) => startData(port, FROM, address)

async function replyToMail(port: number): Promise<string> {
  using dialog = await startSession(port)
  return await dialog.command(`MAIL FROM:<${FROM}>`)
}

async function countRows(): Promise<number> {
  const { sql } = connection()
  const [row] = await sql<{ rows: number }[]>`
    select count(*) as rows from inbound_messages where mailbox_address = ${address}`
  return row!.rows
}

/** Bytes of originals, those that are being written too. */
function storedFiles(): string[] {
  return readdirSync(path.join(config.DATA_DIR, 'attachments'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.includes('inbound/'))
    .sort()
}

describe('a client that leaves', () => {
  test('before the end of its message leaves no row and no bytes, at whatever stage', async () => {
    const { port } = await start()
    expect((await send(port)).code).toBe(250)
    const before = storedFiles()
    const lines = ['EHLO client.test', `MAIL FROM:<${FROM}>`, `RCPT TO:<${address}>`, 'DATA']
    for (let stage = 0; stage <= lines.length; stage++) {
      const dialog = await smtpDialog(port)
      await dialog.read()
      for (const line of lines.slice(0, stage)) await dialog.command(line)
      dialog.destroy()
    }
    for (const end of ['', '\r\n', '\r\n.', '\r\n.\r']) {
      const dialog = await startMessage(port)
      dialog.write(`${newMail('x'.repeat(200_000)).toString().trimEnd()}${end}`)
      await until('bytes are being written', () => storedFiles().length > before.length)
      if (end === '\r\n') dialog.socket().end()
      else dialog.destroy()
      await until('they are removed', () => storedFiles().length === before.length)
    }
    expect(storedFiles()).toEqual(before)
    expect(await countRows()).toBe(1)
  })

  test('a message that grows too large leaves none either', async () => {
    const { port } = await start({}, { max_bytes: 10_000 })
    expect((await send(port)).code).toBe(250)
    const before = storedFiles()
    const result = await sendMail({ port, from: FROM, to: address, raw: newMail('x'.repeat(200_000)) })
    expect(result.response).toStartWith('552 5.3.4')
    await until('its bytes are removed', () => storedFiles().length === before.length)
    expect(await countRows()).toBe(1)
  })
})

test('a message has the key that one before it has promised, and takes the promise back', async () => {
  const { sql } = connection()
  const promised = async () => {
    const rows = await sql<{ storage_key: string }[]>`
      select storage_key from storage_removals
      where storage_key like 'inbound/%' and due_at between now() + interval '50 minutes' and now() + interval '1 hour'`
    return new Set(rows.map(({ storage_key }) => storage_key))
  }
  const { port } = await start()
  expect((await send(port)).code).toBe(250)
  const before = await promised()
  expect(before.size).toBeGreaterThan(0)
  expect((await send(port)).code).toBe(250)
  const rows = await sql<{ storage_key: string }[]>`
    select storage_key from inbound_messages where mailbox_address = ${address} order by id desc limit 1`
  const after = await promised()
  expect(before.has(rows[0]!.storage_key)).toBeTrue()
  expect(after.has(rows[0]!.storage_key)).toBeFalse()
  expect(after.difference(before).size).toBe(1)
})

describe('mail is refused for now', () => {
  test('with 452 4.3.1 when the disk is nearly full', async () => {
    const { port } = await start({ reserve_bytes: Number.MAX_SAFE_INTEGER })
    expect(await send(port)).toMatchObject({ code: 452, response: expect.stringContaining('4.3.1') })
    expect(await countRows()).toBe(0)
  })

  test('with 451 4.3.2 while too many messages wait to be filed', async () => {
    const { sql } = connection()
    const [row] = await sql<{ before: number }[]>`select count(*) as before from outbox where kind = 'inbound'`
    const { port } = await start({ max_pending: row!.before + 3, count_every_ms: 0 })
    await until('enough wait', async () => (await send(port)).response.startsWith('451 4.3.2'))
    expect(await countRows()).toBeGreaterThanOrEqual(4)
    await drain()
    await until('mail is taken again', async () => (await send(port)).code === 250)
  })

  test('with 451 4.3.2 while the database does not get ahead; what came before is taken when it does', async () => {
    const { port } = await start({}, { max_storing: 5 })
    const holder = await driverPool().reserve()
    await holder`begin`
    await holder`lock table inbound_messages in access exclusive mode`
    const waiting = Array.from({ length: 5 }, () => send(port))
    await until('the limit is reached', async () => (await replyToMail(port)).startsWith('451 4.3.2'))
    await holder`commit`
    holder.release()
    for (const { code } of await Promise.all(waiting)) expect(code).toBe(250)
    expect((await send(port)).code).toBe(250)
  })
})

describe('messages that arrive together', () => {
  test('are kept by statements that they share; one that cannot be kept takes none with it', async () => {
    const { sql } = connection()
    const { port } = await start()
    const [gone, refused] = [await createMailbox(desk.admin), await createMailbox(desk.admin)]
    const to = [...Array(6).fill(address), gone.address, refused.address, ...Array(6).fill(address)]
    const dialogs = await Promise.all(to.map((recipient) => startData(port, FROM, recipient)))
    await desk.admin.delete(`/mailboxes/${gone.id}`)
    await sql`alter table inbound_messages add constraint refuse check (mailbox_address <> ${sql.unsafe(`'${refused.address}'`)})`
    const countWhole = () => storedFiles().filter((name) => !name.endsWith('.partial')).length
    const before = countWhole()
    const holder = await driverPool().reserve()
    await holder`begin`
    await holder`lock table inbound_messages in access exclusive mode`
    const replies = dialogs.map((dialog) => {
      dialog.write(dotStuffed(newMail()))
      return dialog.read()
    })
    await until('all bytes are stored', () => countWhole() === before + to.length)
    await holder`commit`
    holder.release()
    const codes = (await Promise.all(replies)).map((reply) => Number(reply.slice(0, 3)))
    await sql`alter table inbound_messages drop constraint refuse`
    for (const dialog of dialogs) dialog.destroy()
    expect(codes).toEqual(to.map((recipient) => (recipient === address ? 250 : 451)))
    expect(await countRows()).toBe(12)
  })
})

describe('a stop in the middle of messages', () => {
  test('acknowledges those that end in time; of others nothing is stored', async () => {
    const listener = await start()
    const before = storedFiles().length
    const ends = await startMessage(listener.port)
    const stays = await startMessage(listener.port)
    const text = dotStuffed(newMail('x'.repeat(200_000)))
    ends.write(text.subarray(0, 100_000))
    stays.write(text.subarray(0, 100_000))
    await until('both are being written', () => storedFiles().length === before + 2)
    const closed = listener.close({ timeout_ms: 3000 })
    ends.write(text.subarray(100_000))
    expect(await ends.read()).toStartWith('250')
    await closed
    expect(await stays.read()).toStartWith('421')
    await until('the rest is removed', () => storedFiles().length === before + 1)
    expect(await countRows()).toBe(1)
  })
})
