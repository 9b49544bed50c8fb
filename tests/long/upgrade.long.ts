/**
 * Replaces the release before by this one while people use both: real processes of both on one database. No request and
 * no mail fails, and what the old processes wrote after the migration is found, searched and counted.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import postgres from 'postgres'
import type { Sql } from '../../src/base/db/transact'
import { createDatabase, type TestDatabase } from '../support/database'
import { installOlderRelease, WHY_NO_OLDER_RELEASE } from '../support/older-release'
import { runOnServer, withDatabase } from '../support/on-server'
import { type Receiver, startReceiver } from '../support/receiver'
import { type Service, startService, until } from '../support/service'
import { expectTurns } from '../support/turns'
import { type Load, prepareLoad, useService } from '../support/upgrade-load'

const ADDRESS = 'support@desk.example'
/** Length of each part: before the new release starts, beside it, and after the old one has stopped. */
const PART_MS = 15_000

let folder: string
let server: TestDatabase
let receiver: Receiver
let sql: postgres.Sql
const running: Service[] = []
const stopping = new AbortController()

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'upgrade-'))
  server = await createDatabase()
  receiver = await startReceiver()
})
afterAll(async () => {
  stopping.abort()
  await Promise.all(running.map((service) => service.kill()))
  await sql?.end()
  receiver[Symbol.dispose]()
  await server.drop()
  rmSync(folder, { recursive: true, force: true })
})

if (WHY_NO_OLDER_RELEASE) console.log(`skipped: ${WHY_NO_OLDER_RELEASE}`)

test.skipIf(Boolean(WHY_NO_OLDER_RELEASE))(
  'an upgrade with both releases side by side fails no request and loses nothing',
  async () => {
    const name = `upgrade_${crypto.randomUUID().replaceAll('-', '')}`
    await runOnServer(server.url, (on) => on`create database ${on(name)}`)
    const url = withDatabase(server.url, name)
    sql = postgres(url, { max: 2, connection: { application_name: 'test' } })
    const env = {
      DATABASE_URL: url,
      SECRET_KEY: 'a secret key that only tests use',
      DATA_DIR: path.join(folder, 'data'),
      WEBHOOK_CA_FILE: receiver.ca_file,
    }
    const start = async (main?: string) => {
      const service = await startService(env, main)
      running.push(service)
      return service
    }
    const older = installOlderRelease(path.join(folder, 'older'))
    const old = [await start(older), await start(older)]
    const load = await prepareLoad(old[0]!, ADDRESS)
    await old[0]!.call('POST', '/webhooks', { url: receiver.url, events: ['ticket.created'] })

    const use = (service: Service) => {
      const enough = new AbortController()
      const done = useService(service, load, AbortSignal.any([enough.signal, stopping.signal]))
      return async () => {
        enough.abort()
        await done
      }
    }
    const stopUsingOld = old.map(use)
    await Bun.sleep(PART_MS)
    const fresh = await start()
    const written = load.words.size
    const stopUsingNew = use(fresh)
    await Bun.sleep(PART_MS)
    await Promise.all(stopUsingOld.map((stop) => stop()))
    console.log(`${load.words.size - written} texts were written side by side`)
    for (const service of old) expect(await service.stop()).toBe(0)
    await Bun.sleep(PART_MS)
    await stopUsingNew()
    console.log(`${load.requests} requests, ${load.mails} mails, ${load.tickets.length} tickets`)

    expect(load.failed).toEqual([])
    await until('all mail is filed and all events are delivered', async () => {
      return (await sql`select from outbox`).length === 0
    })
    await expectCounted()
    await until('the messages of all tickets are counted', async () => {
      return (await sql`select from tickets where message_count is null and deleted_at is null`).length === 0
    })
    for (const { id } of await sql<{ id: string }[]>`select id from organizations`) {
      await expectTurns({ sql: sql as unknown as Sql, organization_id: id })
    }
    await expectEvents(load)
    await expectThreads(load)
    await expectFound(fresh, load)
    expect(fresh.output()).not.toContain('"level":"error"')
    expect(await fresh.stop()).toBe(0)
  },
  600_000,
)

/** Every word is found by a search, in its ticket. */
async function expectFound(service: Service, load: Load): Promise<void> {
  const missing: string[] = []
  for (const [word, ticket_id] of load.words) {
    const { status, body } = await service.call('GET', `/tickets?search=${word}`)
    const found = status === 200 && body.data.length === 1 && (!ticket_id || body.data[0].id === ticket_id)
    if (!found) missing.push(`${word} ${status} ${body.data?.length}`)
  }
  expect(missing).toEqual([])
}

/** The numbers that triggers keep are those that counting gives. */
async function expectCounted(): Promise<void> {
  const tickets = sql`select * from tickets where deleted_at is null`
  const wrong = await sql`
    with t as (${tickets}), kept as (
      select kind, key, status, sum(n)::int as n from (
        select kind, key, status, n from tallies union all select kind, key, status, n from tally_changes
      ) x group by 1, 2, 3 having sum(n) <> 0
    ), counted as (
      select 'tickets' as kind, '00000000-0000-0000-0000-000000000000'::uuid as key, status, count(*)::int as n from t group by 3
      union all select 'tickets_of_contact', contact_id, status, count(*)::int from t where contact_id is not null group by 2, 3
      union all select 'tickets_of_company', company_id, status, count(*)::int from t where company_id is not null group by 2, 3
      union all select 'tickets_of_day', first_id_of_day(id), status, count(*)::int from t group by 2, 3
      union all select 'tickets_of_label', l.label_id, t.status, count(*)::int
        from t join ticket_labels l on l.ticket_id = t.id group by 2, 3
      union all select 'contacts_of_company', coalesce(company_id, '00000000-0000-0000-0000-000000000000'), null, count(*)::int
        from contacts group by 2
    )
    (select * from kept except select * from counted) union all (select * from counted except select * from kept)`
  expect([...wrong]).toEqual([])
  const sums = await sql`
    with kept as (
      select date, currency, billable, sum(entries)::int as entries, sum(minutes)::int as minutes, sum(amount) as amount
      from (select date, currency, billable, entries, minutes, amount from time_totals
        union all select date, currency, billable, entries, minutes, amount from time_total_changes) x
      group by 1, 2, 3
    ), counted as (
      select date, currency, billable, count(*)::int, sum(duration_minutes)::int, sum(amount) from time_entries group by 1, 2, 3
    )
    (select * from kept except select * from counted) union all (select * from counted except select * from kept)`
  expect([...sums]).toEqual([])
  expect([
    ...(await sql`
      select e.id from time_entries e join tickets t on t.id = e.ticket_id
      where e.company_id is distinct from t.company_id`),
  ]).toEqual([])
}

/** Each ticket was announced once. */
async function expectEvents(load: Load): Promise<void> {
  const tickets = await sql<{ id: string }[]>`select id from tickets order by id`
  expect(tickets.length).toBe(load.tickets.length + load.threads.size)
  expect(receiver.requests.map((request) => String(request.json().data.id)).sort()).toEqual(tickets.map(({ id }) => id))
}

/** Each mail is one message, and each thread one ticket. */
async function expectThreads(load: Load): Promise<void> {
  const messages = await sql<{ ticket_id: string; count: number }[]>`
    select ticket_id, count(*)::int as count from messages
    where direction = 'inbound' and email_message_id is not null group by 1`
  const counts = (list: Iterable<number>) => [...list].sort((a, b) => a - b)
  expect(counts(messages.map(({ count }) => count))).toEqual(counts(load.threads.values()))
}
