/**
 * `bun run bench streams`: what idle streams of events take, how long a page of the feed takes at any place, and what
 * the place in the order of all events costs a change: with its trigger, and without. Settings: BENCH_STREAMS (1000),
 * BENCH_EVENTS (2000000), BENCH_REST_MS (60000) of idle streams, BENCH_CHANGES (300) of each kind and round.
 */
import path from 'node:path'
import postgres from 'postgres'
import { startEmbedded } from '../../src/base/db/embedded/supervise'
import { startService } from '../support/service'
import { cpuOf, memoryOf, treeOf } from './processes'
import { aimText, median, printHead, printTable, rounded, verdict } from './report'

const STREAMS = Number(process.env.BENCH_STREAMS ?? 1000)
const EVENTS = Number(process.env.BENCH_EVENTS ?? 2_000_000)
const REST_MS = Number(process.env.BENCH_REST_MS ?? 60_000)
const CHANGES = Number(process.env.BENCH_CHANGES ?? 300)
const ROUNDS = 3
const OF_A_KEY = 10
const PART = 50_000
const PAGES = 30
/** The time over which the events are spread. */
const DAYS = 20

const data_dir = path.join(process.env.TMPDIR!, 'streams')
const service = await startService({ DATA_DIR: data_dir, STREAMS_PER_ORGANIZATION: String(STREAMS) })
process.once('exit', () => service.process.kill('SIGKILL'))
const { connection } = await startEmbedded(data_dir, { other_service: 'join' })
const sql = postgres({ ...connection, max: 1, onnotice: () => {} })
const tree = () => treeOf(service.process.pid!)
const cpu = () => cpuOf(tree(), tree())

await measureStreams()
await measureChanges()
await fill()
await measurePages()
await sql.end()
await service.kill()
process.exit(0)

async function measureStreams(): Promise<void> {
  printHead(`${STREAMS} streams in which nothing happens`)
  const keys: string[] = []
  for (let n = 0; n < STREAMS / OF_A_KEY; n++) {
    const made = await service.call('POST', '/api-keys', { name: `Key ${n}`, permissions: ['tickets:read'] })
    keys.push(made.body.data.key)
  }
  await Bun.sleep(5000)
  const before = memoryOf(tree()).service_mb
  const stop = new AbortController()
  for (let n = 0; n < STREAMS; n++) {
    const headers = { authorization: `ApiKey ${keys[n % keys.length]}` }
    const answer = await fetch(`${service.url}/api/v1/events/stream`, { headers, signal: stop.signal })
    if (answer.status !== 200) throw new Error(`stream ${n} was answered ${answer.status}`)
    await answer.body!.getReader().read()
  }
  await Bun.sleep(5000)
  const at_first = cpu()
  await Bun.sleep(REST_MS)
  const after = cpu()
  const share = (ms: number) => (100 * ms) / REST_MS
  const rows: [string, number, { at_most: number } | undefined][] = [
    ['memory added, MB', memoryOf(tree()).service_mb - before, { at_most: 150 }],
    ['service, % of a processor', share(after.service_ms - at_first.service_ms), { at_most: 5 }],
    ['database, % of a processor', share(after.database_ms - at_first.database_ms), undefined],
  ]
  print(rows)
  stop.abort()
}

async function measureChanges(): Promise<void> {
  printHead('What the place in the order of events costs a change: median ms, one at a time')
  const contact = await service.call('POST', '/contacts', { name: 'Carla', email: 'carla@customer.example' })
  const times: Record<string, number[]> = { 'POST without': [], 'POST with': [], 'PATCH without': [], 'PATCH with': [] }
  for (let round = 0; round < ROUNDS * 2; round++) {
    const side = round % 2 === 0 ? 'with' : 'without'
    await sql.unsafe(`alter table events ${side === 'with' ? 'enable' : 'disable'} trigger events_place`)
    for (let n = 0; n < CHANGES; n++) {
      const ticket = { subject: `${round} ${n}`, contact_id: contact.body.data.id }
      const [made, made_ms] = await timed(() => service.call('POST', '/tickets', ticket))
      const [, changed_ms] = await timed(() => service.call('PATCH', `/tickets/${made.body.data.id}`, { subject: 'x' }))
      times[`POST ${side}`]!.push(made_ms)
      times[`PATCH ${side}`]!.push(changed_ms)
    }
  }
  await sql.unsafe('alter table events enable trigger events_place')
  print(Object.entries(times).map(([name, all]) => [name, median(all), undefined]))
}

/** Makes events without their changes. */
async function fill(): Promise<void> {
  const [own] = await sql<{ id: string }[]>`select id from organizations limit 1`
  const body = `{"event":"ticket.updated","data":{"text":"${'x'.repeat(800)}"}}`
  await sql.unsafe('alter table events disable trigger user')
  await sql`delete from event_places`
  for (let from = 0; from < EVENTS; from += PART) {
    await sql`
      with made as materialized (
        select n, now() - interval '1 day' * ${DAYS}::int * (1 - n::float8 / ${EVENTS}::int) as at
        from generate_series(${from + 1}::int, ${from + PART}::int) n
      ), named as materialized (
        select n, at, (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7000'
          || '8000' || lpad(to_hex(n), 12, '0'))::uuid as id from made
      ), told as (
        insert into events (organization_id, id, type, body, resource_id)
        select ${own!.id}::uuid, id, 'ticket.updated', ${body}, id from named
      )
      insert into event_places (organization_id, place, nth, event_id, type, resource_id, happened_at)
      select ${own!.id}::uuid, n::bigint << 20, 0, id, 'ticket.updated', id, at from named`
  }
  await sql.unsafe('alter table events enable trigger user')
  await sql.unsafe('vacuum analyze events, event_places')
}

async function measurePages(): Promise<void> {
  printHead(`A page of 100 of ${EVENTS} events: median ms`)
  const at = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString()
  const days_at_end = (DAYS * 100 * (PAGES + 5)) / EVENTS
  const rows: [string, number, { at_most: number }][] = []
  for (const [name, start] of Object.entries({ begin: 'oldest', middle: at(DAYS / 2), end: at(days_at_end) })) {
    const times: number[] = []
    let query = `start=${start}`
    for (let n = 0; n < PAGES; n++) {
      const [page, ms] = await timed(() => service.call('GET', `/events?per_page=100&${query}`))
      if (page.body.data.length !== 100) throw new Error(`a page was answered ${page.status}`)
      query = `cursor=${page.body.meta.next_cursor}`
      times.push(ms)
    }
    rows.push([name, median(times), { at_most: 5 }])
  }
  print(rows)
}

async function timed<T>(work: () => Promise<T>): Promise<[T, number]> {
  const begun_ms = performance.now()
  return [await work(), performance.now() - begun_ms]
}

function print(rows: [string, number, { at_most: number } | undefined][]): void {
  printTable(
    ['What', 'reached', 'aim', 'verdict'],
    rows.map(([what, value, aim]) => [what, rounded(value), aimText(aim), verdict(what, value, aim)]),
  )
}
