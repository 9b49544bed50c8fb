/** A pooler between the service and the database: a real PgBouncer in transaction mode. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import postgres from 'postgres'
import { NO_LIMITS, openClient } from '../../../src/base/db/driver-client'
import { migrateDatabase } from '../../../src/base/db/migrate'
import { readMigrations } from '../../../src/base/db/migration-files'
import { closeDatabase, connectDatabase, connection, jobConnection } from '../../../src/base/db/pool'
import { transact } from '../../../src/base/db/transact'
import { createDatabase, type TestDatabase } from '../../support/database'
import { runOnServer, withDatabase } from '../../support/on-server'
import { type PgBouncer, startPgBouncer, WHY_NO_PGBOUNCER } from '../../support/pgbouncer'
import { type Receiver, startReceiver } from '../../support/receiver'
import { startService, until } from '../../support/service'

let database: TestDatabase
let pgbouncer: PgBouncer

describe.skipIf(Boolean(WHY_NO_PGBOUNCER))(`behind a pooler${WHY_NO_PGBOUNCER ? ` (${WHY_NO_PGBOUNCER})` : ''}`, () => {
  beforeAll(async () => {
    database = await createDatabase()
    pgbouncer = await startPgBouncer(database.url)
  })
  afterEach(() => closeDatabase(1))
  afterAll(async () => {
    await pgbouncer.stop()
    await database.drop()
  })

  test('no statement fails when its next run is in another session', async () => {
    const client = openClient(pgbouncer.url, 1, NO_LIMITS)
    const other = openClient(pgbouncer.url, 1, NO_LIMITS)
    const sessionOf = async (sql: postgres.ISql<{ bigint: number }>, n: number) => {
      const [row] = await sql<{ pid: number; n: number }[]>`select pg_backend_pid() as pid, ${n}::int as n`
      expect(row!.n).toBe(n)
      return row!.pid
    }
    await sessionOf(other, 0)
    const first = await sessionOf(client, 1)
    // The session that was used last is given to the next one who asks.
    await other.begin(async (held) => {
      expect(await sessionOf(held, 2)).toBe(first)
      expect(await sessionOf(client, 3)).not.toBe(first)
    })
    await Promise.all([client.end(), other.end()])
  })

  test('every statement is answered, however many are sent at once', async () => {
    const clients = Array.from({ length: 4 }, () => openClient(pgbouncer.url, 3, NO_LIMITS))
    const ask = async (client: postgres.Sql<{ bigint: number }>, n: number) => {
      const [row] = await (n % 2 ? client`select ${n}::int as n` : client`select 0 as n`)
      expect(row!.n).toBe(n % 2 ? n : 0)
    }
    for (let round = 0; round < 50; round++) {
      await Promise.all(clients.flatMap((client) => Array.from({ length: 20 }, (_, n) => ask(client, n))))
    }
    await Promise.all(clients.map((client) => client.end()))
  })

  test('transactions of requests have their limits, and those of background jobs none', async () => {
    connectDatabase(pgbouncer.url, 3)
    const limits = (outer: ReturnType<typeof connection>) =>
      transact(outer, async ({ sql }) => {
        const [row] = await sql<{ statement: string; idle: string; jit: string }[]>`
          select current_setting('statement_timeout') as statement, current_setting('jit') as jit,
            current_setting('idle_in_transaction_session_timeout') as idle`
        return row
      })
    for (let n = 0; n < 3; n++) {
      expect(await limits(connection())).toEqual({ statement: '30s', idle: '30s', jit: 'off' })
      expect(await limits(jobConnection())).toEqual({ statement: '0', idle: '0', jit: 'off' })
    }
  })

  test('a transaction runs again when a pooler has lost its statement', async () => {
    const between = await startPgBouncer(database.url, { pool_mode: 'session' })
    // Promised by the operator, and no longer true after the change.
    connectDatabase(`${between.url}?prepare=true`, 1)
    const holder = openClient(between.url, 1, NO_LIMITS)
    let runs = 0
    const read = (n: number) =>
      transact(connection(), async ({ sql }) => {
        runs++
        const [row] = await sql<{ pid: number; n: number }[]>`select pg_backend_pid() as pid, ${n}::int as n`
        expect(row!.n).toBe(n)
        return row!.pid
      })
    const first = await read(1)
    await between.set('pool_mode', 'transaction')
    // Only now does the pooler take the session away, after a transaction.
    await read(2)
    await holder`select 1`
    await holder.begin(async (held) => {
      const [row] = await held<{ pid: number }[]>`select pg_backend_pid() as pid`
      expect(row!.pid).toBe(first)
      expect(await read(3)).not.toBe(first)
    })
    expect(runs).toBe(4)
    await holder.end()
    await closeDatabase(1)
    await between.stop()
  })

  test('processes that start at the same time, again and again, migrate once and leave no lock', async () => {
    const name = `pooled_${crypto.randomUUID().replaceAll('-', '')}`
    await runOnServer(database.url, (sql) => sql`create database ${sql(name)}`)
    const url = withDatabase(pgbouncer.url, name)
    const first = await Promise.all([1, 2, 3].map(() => migrateDatabase(url)))
    const [files] = await Promise.all([migrateDatabase(url), migrateDatabase(withDatabase(database.url, name))])
    expect(first.flat().length).toBe((await readMigrations()).length)
    expect(files).toEqual([])
    await runOnServer(database.url, async (sql) => {
      const left = await sql`
        select from pg_locks l join pg_database d on d.oid = l.database and d.datname = ${name}
        where l.locktype = 'advisory' and l.objid = 5710313`
      expect([...left]).toEqual([])
      await sql`drop database ${sql(name)} with (force)`
    })
  })

  test('a service answers every request, delivers each event once, and says in one line what it found', async () => {
    using receiver: Receiver = await startReceiver()
    const service = await startService({
      DATABASE_URL: pgbouncer.url,
      DATABASE_DIRECT_URL: database.url,
      SECRET_KEY: 'a secret key that only tests use',
      WEBHOOK_CA_FILE: receiver.ca_file,
      SMTP_PORT: '0',
      LOG_FORMAT: 'json',
    })
    await service.call('POST', '/webhooks', { url: receiver.url, events: ['ticket.created'] })
    const contact = await service.call('POST', '/contacts', { name: 'C', email: 'c@customer.example' })
    const statuses: number[] = []
    const ids: string[] = []
    const write = async () => {
      for (let n = 0; n < 25; n++) {
        const body = { subject: 'A ticket', contact_id: contact.body.data.id }
        const created = await service.call('POST', '/tickets', body)
        const read = await service.call('GET', `/tickets/${created.body.data?.id}`)
        statuses.push(created.status, read.status)
        ids.push(created.body.data?.id)
      }
    }
    await Promise.all([1, 2, 3, 4].map(write))
    expect(new Set(statuses)).toEqual(new Set([201, 200]))
    const sql = postgres(database.url, { max: 1 })
    await until('all is delivered', async () => (await sql`select from outbox`).length === 0)
    const [listening] =
      await sql`select from pg_stat_activity where query ilike 'listen %' and datname = current_database()`
    expect(listening).toBeDefined()
    await sql.end()
    expect(receiver.requests.map(({ body }) => JSON.parse(new TextDecoder().decode(body)).data.id).sort()).toEqual(
      [...ids].sort(),
    )
    const lines = service
      .output()
      .split('\n')
      .filter((line) => line.includes('behind a pooler'))
    expect(lines).toHaveLength(1)
    expect(service.output()).not.toContain('26000')
    expect(await service.stop()).toBe(0)
  })
})
