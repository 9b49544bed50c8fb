/**
 * Measures how long others wait while the largest organization sends the slowest requests that it can. The bare limit
 * is what they wait beside a process that only counts: it takes one processor too, and asks the service for nothing.
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
/** Of the bare limit, where the load of the others leaves no processor idle. */
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

export async function benchBeside(rig: Rig): Promise<void> {
  const greedy = placeOfLargest(rig.sizes)
  const other = greedy === 1 ? 2 : 1
  const subject = await findSubject(rig.sql, tenantId(greedy), rig.sizes[greedy - 1]!)
  printHead(`Others beside ${GREEDY} of the slowest requests of ${subject.size} tickets, ${HTTP_GENERATOR}`)
  const send = async (name: string, place: number, paths: string[], connections: number) => {
    const dir = path.join(rig.dir, name)
    fs.mkdirSync(dir, { recursive: true })
    const headers = await rig.headers(tenantId(place))
    const requests = paths.map((path) => ({ path }))
    return sendHttpLoad(
      { origin: rig.service.url, method: 'GET', headers, requests, connections, seconds: SECONDS },
      dir,
    )
  }
  const others = () => send('others', other, ['/api/v1/tickets', '/api/v1/companies'], OTHERS)
  await others()
  const rounds = []
  for (let round = 0; round < ROUNDS; round++) {
    const alone = await others()
    const counting = Bun.spawn(['sh', '-c', 'while :; do :; done'])
    const bare = await others().finally(() => counting.kill())
    const [beside, mix] = await Promise.all([others(), send('greedy', greedy, worstOf(subject), GREEDY)])
    rounds.push({ alone, bare, beside, mix, times: beside.p99_ms / bare.p99_ms })
  }
  const { alone, bare, beside, mix, times } = rounds.toSorted((a, b) => a.times - b.times)[Math.floor(ROUNDS / 2)]!
  const row = (name: string, { per_s, p50_ms, p99_ms, errors }: typeof alone) => [
    name,
    rounded(per_s),
    rounded(p50_ms),
    rounded(p99_ms),
    rounded(p99_ms / alone.p99_ms),
    String(errors),
  ]
  printTable(
    ['Others', 'per s', 'p50 ms', 'p99 ms', 'times', 'errors'],
    [row('alone', alone), row('beside a process that counts', bare), row('beside the slowest requests', beside)],
  )
  console.log(
    `\nThe slowest requests: ${mix.requests} answered; ${mix.errors} answers were no 2xx, or came after the patience of the sender`,
  )
  const reached = verdict('p99 of others, beside a process that counts', times, { at_most: MOST_TIMES })
  console.log(`p99 of others: ${rounded(times)} times of beside a process that counts, ${reached}`)
}
