/**
 * `bun run bench walk`: walks all tickets of an organization by cursor, as a client that copies them, and shows for
 * each tenth of the walk the time of a page and the memory of the service. Neither may grow with the distance.
 * Settings: BENCH_TICKETS (1000000), BENCH_PER_PAGE (100).
 */
import { tmpdir } from 'node:os'
import path from 'node:path'
import postgres from 'postgres'
import { startEmbedded } from '../../src/base/db/embedded/supervise'
import type { Sql } from '../../src/base/db/transact'
import { SYSTEM } from '../../src/base/scope'
import { urlOf } from '../support/database'
import { insertContacts, insertTickets } from '../support/many-tickets'
import { freePort } from '../support/ports'
import { startService } from '../support/service'
import { withCursor } from '../support/walk'
import { memoryOf, treeOf } from './processes'

const TICKETS = Number(process.env.BENCH_TICKETS ?? 1_000_000)
const PER_PAGE = Number(process.env.BENCH_PER_PAGE ?? 100)
const AT_ONCE = 50_000

const port = await freePort()
const folder = path.join(process.env.TMPDIR ?? tmpdir(), 'walk')
const settings = { listen_addresses: '127.0.0.1', port: String(port) }
const server = await startEmbedded(path.join(folder, 'database'), { settings })
const DATABASE_URL = urlOf(server.connection, port, 'postgres')
const service = await startService({
  DATABASE_URL,
  DATA_DIR: path.join(folder, 'data'),
  SECRET_KEY: crypto.randomUUID(),
})
// The first call signs in.
await service.call('GET', '/labels')
await fill()
for (const sort of ['created_at', '-updated_at', 'priority']) await walk(sort)
await service.stop()
await server.stop()
process.exit(0)

async function fill(): Promise<void> {
  const client = postgres(DATABASE_URL, { max: 1 })
  const sql = client as unknown as Sql
  const [organization] = await sql<{ id: string }[]>`select id from organizations`
  const scope = { sql, db: undefined as never, organization_id: organization!.id, actor: SYSTEM }
  const [contact] = await insertContacts(scope, 1)
  for (let count = 0; count < TICKETS; count += AT_ONCE) {
    await insertTickets(scope, contact!, Math.min(AT_ONCE, TICKETS - count))
  }
  await sql`vacuum analyze tickets`
  await client.end()
}

async function walk(sort: string): Promise<void> {
  const list = `/tickets?sort=${sort}&per_page=${PER_PAGE}`
  const times: number[] = []
  let [rows, tenth] = [0, 1]
  for (let cursor = ''; ; ) {
    const before = performance.now()
    const { status, body } = await service.call('GET', withCursor(list, cursor))
    times.push(performance.now() - before)
    if (status !== 200) throw new Error(`${list} answered ${status}`)
    rows += body.data.length
    for (; rows >= (tenth * TICKETS) / 10 && tenth <= 10; tenth++) print(sort, rows, times.splice(0))
    cursor = body.meta.next_cursor ?? ''
    if (!cursor || body.data.length === 0) break
  }
  if (rows !== TICKETS) throw new Error(`${list} has ${rows} rows`)
}

function print(sort: string, rows: number, times: number[]): void {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) => `${(sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(1)} ms`
  const { service_mb } = memoryOf(treeOf(service.process.pid!))
  console.log(`${sort}, ${rows} rows: page ${at(0.5)}, p95 ${at(0.95)}, service ${service_mb.toFixed(0)} MB`)
}
