/** Moves between one machine and a cluster, by backups. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import postgres from 'postgres'
import { distributeDatabase } from '../../../src/base/db/cluster/distribute'
import { newId } from '../../../src/base/db/columns'
import { closeDatabase, connectDatabase } from '../../../src/base/db/pool'
import { backUp } from '../../../src/operate/backup/back-up'
import { checkBackup, restore } from '../../../src/operate/backup/restore'
import { createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import { EmptyDatabases, runHere } from '../../support/backups'
import { createClusterDatabase, dropDatabase, nodeUrls, WHY_NO_CLUSTER, waitForNoService } from '../../support/cluster'
import { type TestDatabase, templateUrl } from '../../support/database'
import { createMessage, createTicket } from '../../support/factories'
import { withDatabase } from '../../support/on-server'
import { until } from '../../support/service'
import { createWorld, type World } from '../../support/world'

const SECRET_KEY = 'a secret key that only tests use'
/** Organizations are on both workers: that all are on one has a chance of 1 in 128. */
const ORGANIZATIONS = 8

describe.skipIf(Boolean(WHY_NO_CLUSTER))(`a cluster${WHY_NO_CLUSTER ? ` (${WHY_NO_CLUSTER})` : ''}`, () => {
  let source: TestDatabase
  let empty: EmptyDatabases
  let base: string
  let folders = 0
  const desks: { desk: Organization; world: World }[] = []
  const made: string[] = []

  beforeAll(async () => {
    base = fs.mkdtempSync(path.join(os.tmpdir(), 'moves-'))
    fs.chmodSync(base, 0o711)
    source = await startApi()
    // It makes a role.
    empty = new EmptyDatabases(nodeUrls()![0]!)
    for (let n = 0; n < ORGANIZATIONS; n++) {
      const desk = await createOrganization(`Desk ${n}`)
      desks.push({ desk, world: await createWorld(desk, `Mark${n}`) })
    }
  })

  afterAll(async () => {
    await stopApi()
    await empty.drop()
    for (const url of made) await dropDatabase(nodeUrls()!, new URL(url).pathname.slice(1))
    fs.rmSync(base, { recursive: true, force: true })
  })

  const freshFolder = () => path.join(base, String(folders++))
  const settingsOf = (DATABASE_URL: string, DATA_DIR = process.env.DATA_DIR!) => ({
    DATABASE_URL,
    SECRET_KEY,
    DATA_DIR,
  })
  const backUpSource = (folder = freshFolder()) => runHere(settingsOf(source.url), () => backUp(folder))

  async function stopService() {
    await closeDatabase(1)
    await waitForNoService(source.url)
  }

  async function emptyCluster() {
    const url = await createClusterDatabase(
      nodeUrls()!,
      templateUrl(),
      `moves_${crypto.randomUUID().replaceAll('-', '')}`,
    )
    made.push(url)
    return url
  }

  test('is not backed up while a service is connected, and nothing stays', async () => {
    const folder = freshFolder()
    await expect(backUpSource(folder)).rejects.toThrow(/^a service is connected \(\d+ connections\): stop it/)
    expect(fs.existsSync(folder)).toBe(false)
  })

  test('comes into a plain database, and into another cluster, with all rows, and the service works there', async () => {
    await stopService()
    const { folder } = await backUpSource()
    expect(await checkBackup(folder)).toMatchObject({ files: 3 * ORGANIZATIONS })
    const before = await rowsOf(source.url)
    const places = { plain: await empty.create(), cluster: await emptyCluster() }
    for (const [name, url] of Object.entries(places)) {
      // Without a gap in the ticket numbers all rows are as they were.
      await runHere(settingsOf(url, freshFolder()), () => restore(folder, 0))
      expect([name, await rowsOf(url)]).toEqual([name, before])
    }
    const { tables } = await distributeDatabase(places.cluster)
    expect(tables.length).toBeGreaterThan(0)
    expect(await rowsOf(places.cluster)).toEqual(before)
    for (const url of Object.values(places)) {
      connectDatabase(url, 5)
      await expectService(desks)
      await closeDatabase(1)
    }
    connectDatabase(source.url, 5)
  })

  test('is not backed up while a machine has yet to commit', async () => {
    await stopService()
    const worker = postgres(withDatabase(nodeUrls()![1]!, new URL(source.url).pathname.slice(1)), { max: 1 })
    // A name is one of the whole server.
    const left = `citus_left_${crypto.randomUUID()}`
    await worker.unsafe(`begin; prepare transaction '${left}'`)
    const ended = await backUpSource().catch((error) => error.message)
    await worker.unsafe(`rollback prepared '${left}'`)
    expect(ended).toMatch(/ has 1 transactions that have not ended/)
    await worker.end()
    connectDatabase(source.url, 5)
  })

  test('takes no backup into what is distributed already', async () => {
    await stopService()
    const { folder } = await backUpSource()
    const settings = settingsOf(source.url, freshFolder())
    await expect(runHere(settings, () => restore(folder))).rejects.toThrow(
      'the database is not empty: name an empty one of the cluster, and distribute it afterwards',
    )
    expect(fs.readdirSync(settings.DATA_DIR)).toEqual([])
    connectDatabase(source.url, 5)
  })

  test('is backed up only when all that was begun has ended, on every machine', async () => {
    await stopService()
    const writer = postgres(source.url, { max: 1 })
    const watcher = postgres(source.url, { max: 1 })
    const labels = desks.map(({ desk }) => ({ organization_id: desk.id, id: newId(), name: 'Late', color: '#000000' }))
    await writer`begin`
    for (const label of labels) await writer`insert into labels ${writer(label)}`
    const backingUp = backUpSource()
    await until('the backup waits', async () => {
      const waiting = await watcher`
        select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      return waiting.length > 0
    })
    await writer`commit`
    const { folder, rows } = await backingUp
    const plain = await empty.create()
    await runHere(settingsOf(plain, freshFolder()), () => restore(folder))
    const found = await postgres(plain, { max: 1 })`select id from labels where name = 'Late' order by id`
    expect([rows > 0, found.map(({ id }) => id)]).toEqual([true, labels.map(({ id }) => id)])
    await Promise.all([writer.end(), watcher.end()])
    connectDatabase(source.url, 5)
  })
})

/** All rows of all tables, as text without the order of columns. Numbers that a cluster gives are left out. */
async function rowsOf(url: string): Promise<Record<string, string[]>> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    const tables = await sql<{ name: string; columns: string[] }[]>`
      select c.relname as name, array_agg(quote_ident(a.attname) order by a.attname) as columns
      from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and (a.attidentity = '' or a.atttypid <> 'bigint'::regtype)
        and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')
        and relname <> 'event_feeds' -- a restore changes it: cursors of before end
      group by 1`
    const contents: Record<string, string[]> = {}
    for (const { name, columns } of tables) {
      const rows = await sql.unsafe<{ text: string }[]>(`select row(${columns})::text as text from ${name}`)
      contents[name] = rows.map(({ text }) => text).sort()
    }
    return contents
  } finally {
    await sql.end()
  }
}

/** Reads and writes as the members did before. */
async function expectService(desks: { desk: Organization; world: World }[]): Promise<void> {
  for (const [n, { desk, world }] of desks.entries()) {
    const { body } = await desk.agent.get(`/tickets/${world.ticket_id}`)
    expect(body.data.subject).toBe(`Mark${n}`)
    expect(
      (await desk.agent.get(`/tickets?search=${encodeURIComponent(`Mark${n}`)}`)).body.data.length,
    ).toBeGreaterThan(0)
    const ticket = await createTicket(desk.agent, { subject: 'After the move' })
    await createMessage(desk.agent, ticket.id, { body: 'It works', send_email: false })
    expect((await desk.agent.get('/tickets?search=move')).body.meta.total).toBe(1)
  }
}
