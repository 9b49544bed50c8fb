/**
 * Measures how long readers and writers of another organization wait while the largest one does its worst: the slowest
 * reads, the same behind POST, and changes that wait for the lock of one ticket. The bare limit is the wait beside a
 * process that only counts: it takes one processor too, and asks the service for nothing.
 */
import fs from 'node:fs'
import path from 'node:path'
import { HTTP_GENERATOR, sendHttpLoad } from './http-load'
import { placeOfLargest } from './latency'
import { printHead, printTable, rounded, verdict } from './report'
import type { Rig } from './rig'
import { findSubject, type Subject } from './subjects'
import { tenantId } from './volume/tenants'

const SECONDS = Number(process.env.BENCH_SECONDS ?? 5)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
/** One agent who asks for 14 lists at a time. */
const GREEDY = 14
const OTHERS = 4
/** The row of the bare limit, where the load of the others leaves no processor idle. */
const MOST_TIMES = 1.25

/** Requests that read most: words of half of all tickets, and orders and pages that no index has. */
function worstOf({ top_company, top_label, rare_label }: Subject): string[] {
  const phrase = encodeURIComponent('"the of and you"')
  return [
    `tickets?label_ids=${top_label},${rare_label}&sort=-updated_at&per_page=100&page=100`,
    `tickets?search=${phrase}&sort=priority`,
    `tickets?search=${encodeURIComponent('"you you"')}&page=100&per_page=100`,
    `tickets?search=s&company_id=${top_company}&sort=updated_at`,
    'tickets?search=error&sort=updated_at&per_page=100&page=100',
    'tickets?sort=priority&page=25000',
    'time-entries/summary?group_by=user',
  ].map((rest) => `/api/v1/${rest}`)
}

/** Reads behind POST: what rules of retention would do to all tickets, and dry runs of the slowest filters. */
function worstPosts(): Request[] {
  const rule = { status: 'closed', days: 1, action: 'delete' }
  const dry = { changes: { priority: 'low' }, dry_run: true }
  return [
    { path: '/api/v1/retention/preview', body: { rules: [rule] } },
    { path: '/api/v1/tickets/bulk', body: { filter: { search: '"the of and you"' }, ...dry } },
    { path: '/api/v1/tickets/bulk', body: { filter: { search: '"you you"' }, ...dry } },
  ].map(({ path, body }) => ({ path, body: JSON.stringify(body) }))
}

type Request = { path: string; body?: string }
type Sent = { method: 'GET' | 'POST' | 'PATCH'; requests: Request[] }
/** The work of the largest organization, and a statement that holds what it waits for. */
type Worst = Sent & { name: string; locked_ticket?: string }

async function worst(rig: Rig, place: number): Promise<Worst[]> {
  const subject = await findSubject(rig.sql, tenantId(place), rig.sizes[place - 1]!)
  const { ticket_id } = subject
  const change = { path: `/api/v1/tickets/${ticket_id}`, body: JSON.stringify({ subject: 'Changed' }) }
  return [
    { name: 'the slowest lists', method: 'GET', requests: worstOf(subject).map((path) => ({ path })) },
    { name: 'reads behind POST', method: 'POST', requests: worstPosts() },
    { name: 'changes of a locked ticket', method: 'PATCH', requests: [change], locked_ticket: ticket_id },
  ]
}

/** Those who wait: they read lists, and write notes to some tickets of theirs. */
async function others(rig: Rig, place: number): Promise<Record<'readers' | 'writers', Sent>> {
  const tickets = await rig.sql<{ id: string }[]>`
    select id from tickets where organization_id = ${tenantId(place)} and deleted_at is null order by id limit 20`
  const body = JSON.stringify({ body: 'A note', is_internal: true })
  return {
    readers: { method: 'GET', requests: [{ path: '/api/v1/tickets' }, { path: '/api/v1/companies' }] },
    writers: { method: 'POST', requests: tickets.map(({ id }) => ({ path: `/api/v1/tickets/${id}/messages`, body })) },
  }
}

export async function benchBeside(rig: Rig): Promise<void> {
  const greedy = placeOfLargest(rig.sizes)
  const other = greedy === 1 ? 2 : 1
  printHead(`Others beside ${GREEDY} of the worst requests of ${rig.sizes[greedy - 1]} tickets, ${HTTP_GENERATOR}`)
  // The connection of the rig is taken while a ticket is locked.
  const [own, their] = [await rig.headers(tenantId(greedy)), await rig.headers(tenantId(other))]
  const send = async (name: string, place: number, { method, requests }: Sent, connections: number) => {
    const dir = path.join(rig.dir, name)
    fs.mkdirSync(dir, { recursive: true })
    const headers = place === greedy ? own : their
    return sendHttpLoad({ origin: rig.service.url, method, headers, requests, connections, seconds: SECONDS }, dir)
  }
  const all = await worst(rig, greedy)
  for (const [who, sent] of Object.entries(await others(rig, other))) {
    const wait = () => send('others', other, sent, OTHERS)
    await wait()
    for (const one of all) {
      const beside = () =>
        whileLocked(rig, one.locked_ticket, () => Promise.all([wait(), send('greedy', greedy, one, GREEDY)]))
      await compare(`${who} beside ${one.name}`, wait, beside)
    }
  }
}

/** Holds the lock of a ticket during some work. */
async function whileLocked<T>(rig: Rig, ticket_id: string | undefined, work: () => Promise<T>): Promise<T> {
  if (!ticket_id) return work()
  const result = await rig.sql.begin(async (sql) => {
    await sql`select from tickets where id = ${ticket_id} for update`
    return { value: await work() }
  })
  return (result as { value: T }).value
}

type Figures = Awaited<ReturnType<typeof sendHttpLoad>>

async function compare(
  name: string,
  others: () => Promise<Figures>,
  both: () => Promise<[Figures, Figures]>,
): Promise<void> {
  const rounds = []
  for (let round = 0; round < ROUNDS; round++) {
    const alone = await others()
    const counting = Bun.spawn(['timeout', String(SECONDS * 2), 'sh', '-c', 'while :; do :; done'])
    const bare = await others().finally(() => counting.kill())
    const [beside, mix] = await both()
    rounds.push({ alone, bare, beside, mix, times: beside.p99_ms / bare.p99_ms })
  }
  const { alone, bare, beside, mix, times } = rounds.toSorted((a, b) => a.times - b.times)[Math.floor(ROUNDS / 2)]!
  const row = (name: string, { per_s, p50_ms, p99_ms, errors }: Figures) => [
    name,
    rounded(per_s),
    rounded(p50_ms),
    rounded(p99_ms),
    rounded(p99_ms / alone.p99_ms),
    String(errors),
  ]
  printTable(
    ['Others', 'per s', 'p50 ms', 'p99 ms', 'times', 'errors'],
    [row('alone', alone), row('beside a process that counts', bare), row(name, beside)],
  )
  console.log(
    `\nThe other side: ${mix.requests} answered; ${mix.errors} answers were no 2xx, or came after the patience of the sender`,
  )
  const reached = verdict(`p99, ${name}`, times, { at_most: MOST_TIMES })
  console.log(`p99, ${name}: ${rounded(times)} times of beside a process that counts, ${reached}`)
}
