/** Faults of PostgreSQL (crash, refused connection, full disk): committed work is delivered, requests answer 503. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import postgres from 'postgres'
import { newId } from '../../../src/base/db/columns'
import { closeDatabase, connectDatabase, connection, driverPool } from '../../../src/base/db/pool'
import { OUTBOX_KINDS } from '../../../src/base/db/schema'
import { type Scope, SYSTEM } from '../../../src/base/scope'
import { listenForWakes, WAKE_CHANNEL } from '../../../src/delivery/outbox/wake'
import {
  checkDeliveries,
  emitMany,
  holdLock,
  insertWebhooks,
  startDrainProcess,
  untilBlocked,
  untilDone,
} from '../../support/drain-processes'
import { type OwnPostgres, startOwnPostgres } from '../../support/own-postgres'
import { type Receiver, startReceiver } from '../../support/receiver'
import { startService, until } from '../../support/service'

let dir: string
let server: OwnPostgres

beforeAll(async () => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'database-faults-'))
  // As root the server runs as another user, who has to get in.
  fs.chmodSync(dir, 0o711)
  server = await startOwnPostgres(path.join(dir, 'shared'), { max_connections: '40' })
})
afterAll(async () => {
  await server.stop()
  fs.rmSync(dir, { recursive: true, force: true })
})
beforeEach(() => connectDatabase(server.url, 5))
afterEach(() => closeDatabase(1))

async function createScope(): Promise<Scope> {
  const scope: Scope = { ...connection(), organization_id: newId(), actor: SYSTEM }
  await scope.sql`insert into organizations (id, name) values (${scope.organization_id}, 'Acme')`
  return scope
}

async function crash(): Promise<void> {
  server.crash()
  await server.back()
}

test('a crash of the database in the middle of a lease loses nothing and sends nothing twice', async () => {
  using receiver = await startReceiver()
  const scope = await createScope()
  await insertWebhooks(scope, receiver)
  await emitMany(scope, 10)
  await holdLock('lock table outbox in exclusive mode')
  await using _drain = startDrainProcess(server.url, receiver)
  await untilBlocked(scope, 'for update skip locked')
  await crash()
  await untilDone(scope)
  expect(receiver.requests).toHaveLength(10)
  const deliveries = await checkDeliveries(scope, receiver.requests)
  expect(deliveries.filter(({ attempts }) => attempts === 1)).toHaveLength(10)
})

test('a crash of the database in the middle of a record: recorded afterwards, and not sent again', async () => {
  using receiver = await startReceiver()
  const scope = await createScope()
  await insertWebhooks(scope, receiver)
  await emitMany(scope, 1)
  await holdLock('lock table delivery_attempts in exclusive mode')
  await using _drain = startDrainProcess(server.url, receiver)
  await untilBlocked(scope, 'insert into "delivery_attempts"')
  await crash()
  await untilDone(scope)
  expect(receiver.requests).toHaveLength(1)
  expect(await checkDeliveries(scope, receiver.requests)).toMatchObject([{ status: 'success', codes: [200] }])
})

test('after a crash of the database wakes are heard again', async () => {
  const told: string[] = []
  const listener = listenForWakes((kind) => told.push(kind))
  await until('it listens', () => told.length === OUTBOX_KINDS.length)
  await crash()
  await until('it listens again', () => told.length === 2 * OUTBOX_KINDS.length)
  await driverPool().notify(WAKE_CHANNEL, 'email')
  await until('it hears', () => told.length === 2 * OUTBOX_KINDS.length + 1)
  expect(told.at(-1)).toBe('email')
  await listener.stop()
})

test('a service whose database crashes again and again answers 201 or 503, and sends what it acknowledged', async () => {
  using receiver = await startReceiver()
  const { service, write, check } = await startDesk(await server.createDatabase(), receiver)
  const writers = Array.from({ length: 4 }, async () => {
    for (let n = 0; n < 60; n++) await write()
  })
  for (let crashes = 0; crashes < 3; crashes++) {
    await until('something is written', async () => (await write()) === 201)
    await crash()
  }
  await Promise.all(writers)
  await check()
  expect(await service.stop()).toBe(0)
})

test('mail of a provider is answered 503 while the database is away, and is filed once', async () => {
  using receiver = await startReceiver()
  const { service } = await startDesk(await server.createDatabase(), receiver)
  const mailbox = await service.call('POST', '/mailboxes', { address: 'support@desk.example' })
  const opened = await service.call('POST', `/mailboxes/${mailbox.body.data.id}/inlet`, { provider: 'raw' })
  const post = async () => {
    const body = 'From: c@customer.example\r\nMessage-ID: <one@customer.example>\r\nSubject: One\r\n\r\nHello\r\n'
    const answer = await fetch(opened.body.data.url, {
      ...{ method: 'POST', headers: { 'content-type': 'message/rfc822' }, body },
    })
    return { status: answer.status, retry_after: answer.headers.get('retry-after') }
  }
  const answers: Awaited<ReturnType<typeof post>>[] = []
  server.crash()
  await until('it is refused', async () => answers[answers.push(await post()) - 1]!.status === 503)
  await server.back()
  await until('it is taken', async () => answers[answers.push(await post()) - 1]!.status === 200)
  expect(answers.filter(({ status }) => status !== 200 && status !== 503)).toEqual([])
  expect(answers.filter(({ status, retry_after }) => status === 503 && !retry_after)).toEqual([])
  const rows = async (filter: string) =>
    (await service.call('GET', `/inbound-messages?${filter}&per_page=1`)).body.meta.total
  await until('it is filed', async () => (await rows('outcome=pending')) === 0)
  expect(await rows('outcome=ticket')).toBe(1)
  expect((await service.call('GET', '/tickets')).body.meta.total).toBe(1)
  expect(await service.stop()).toBe(0)
})

test('a service that gets no connection answers 503, and goes on when it gets one', async () => {
  using receiver = await startReceiver()
  const { service, write, check } = await startDesk(await server.createDatabase(), receiver)
  expect(await write()).toBe(201)
  const taken: postgres.Sql[] = []
  const takeAll = async () => {
    for (;;) {
      const one = postgres(server.url, { max: 1, fetch_types: false })
      const refused = await one`select 1`.then(
        () => false,
        () => true,
      )
      if (refused) return one.end({ timeout: 0 })
      taken.push(one)
    }
  }
  await until('it is refused', async () => {
    await takeAll()
    await taken[0]!`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'deskwire'`
    await takeAll()
    return (await write()) === 503
  })
  await Promise.all(taken.map((one) => one.end({ timeout: 1 })))
  await until('it gets connections', async () => (await write()) === 201)
  await check()
  expect(await service.stop()).toBe(0)
})

test('a service whose disk is full answers 503, and goes on when there is room', async () => {
  using receiver = await startReceiver()
  const home = path.join(dir, 'small')
  using disk = mountSmallDisk(home)
  const small = await startOwnPostgres(path.join(home, 'database'), { max_wal_size: '64MB', min_wal_size: '32MB' })
  const { service, write, check } = await startDesk(small.url, receiver)
  expect(await write()).toBe(201)
  const free = disk ? disk.fill() : await refuseForLackOfSpace(small.url)
  await until('it is full', async () => (await write(noise())) === 503)
  await free()
  await until('it goes on', async () => (await write()) === 201)
  await check()
  expect(await service.stop()).toBe(0)
  await small.stop()
})

/** A service on a database with a webhook for its tickets. */
async function startDesk(url: string, receiver: Receiver) {
  const service = await startService({
    DATABASE_URL: url,
    SECRET_KEY: 'a secret key that only tests use',
    DATA_DIR: path.join(dir, `service-${crypto.randomUUID()}`),
    WEBHOOK_CA_FILE: receiver.ca_file,
    SMTP_PORT: '0',
    LOG_LEVEL: 'fatal',
  })
  await service.call('POST', '/webhooks', { url: receiver.url, events: ['ticket.created'] })
  const contact = await service.call('POST', '/contacts', {
    name: 'C',
    email: `${crypto.randomUUID()}@customer.example`,
  })
  const contact_id = contact.body.data.id
  const acknowledged: string[] = []
  const statuses = new Set<number>()

  return {
    service,
    /** Creates a ticket; 201 or 503. */
    async write(description?: string): Promise<number> {
      const { status, body } = await service.call('POST', '/tickets', { subject: 'A ticket', contact_id, description })
      statuses.add(status)
      if (status === 201) acknowledged.push(body.data.id)
      return status
    },
    /** The webhook got the event of every ticket that exists, the acknowledged ones among them, and no other event. */
    async check(): Promise<void> {
      const sql = postgres(url, { max: 2 })
      const [organization] = await sql<
        { id: string }[]
      >`select organization_id as id from contacts where id = ${contact_id}`
      const scope = { sql, organization_id: organization!.id, actor: SYSTEM } as unknown as Scope
      await untilDone(scope)
      const tickets = await sql<{ id: string }[]>`select id from tickets where contact_id = ${contact_id} order by id`
      const ids = tickets.map(({ id }) => id)
      expect(new Set(acknowledged).difference(new Set(ids)).size).toBe(0)
      const deliveries = await checkDeliveries(scope, receiver.requests)
      expect(deliveries.filter(({ status }) => status === 'success')).toHaveLength(deliveries.length)
      expect(deliveries.map(({ body }) => JSON.parse(body).data.id).sort()).toEqual(ids)
      expect([...statuses].filter((status) => status !== 201 && status !== 503)).toEqual([])
      await sql.end()
    },
  }
}

/** A long text that cannot be compressed. */
function noise(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(60_000))).toString('base64')
}

/** A file system of 200 MB; undefined where mounting is not ours to do. */
function mountSmallDisk(where: string) {
  fs.mkdirSync(where, { mode: 0o711 })
  const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=200m,mode=711', 'tmpfs', where], { encoding: 'utf8' })
  if (mount.status !== 0) {
    console.warn(`a full disk is only acted: ${(mount.stderr || String(mount.error)).trim()}`)
    return undefined
  }
  return {
    /** Leaves not a byte. @returns what makes room again */
    fill() {
      const file = path.join(where, 'filler')
      const filler = fs.openSync(file, 'w')
      try {
        for (;;) fs.writeSync(filler, Buffer.alloc(1_000_000))
      } catch {
        fs.closeSync(filler)
      }
      return () => fs.rmSync(file)
    },
    [Symbol.dispose]() {
      spawnSync('umount', ['-l', where])
    },
  }
}

/** Raises the error of a full disk, on machines where the test cannot mount one. */
async function refuseForLackOfSpace(url: string): Promise<() => Promise<void>> {
  const sql = postgres(url, { max: 1 })
  await sql.unsafe(`
    create function refuse() returns trigger language plpgsql as $$
      begin raise exception using errcode = 'disk_full', message = 'no space left'; end $$;
    create trigger refuse before insert on messages for each row execute function refuse();`)
  return async () => {
    await sql`drop function refuse cascade`
    await sql.end()
  }
}
