/** Measures how long one client waits for an answer, beside a bare server that reads the same rows by their keys. */
import { type Cpu, cpuOfEach } from './processes'
import { READS, type Read } from './reads'
import { aimText, cpuText, printHead, printTable, rounded, verdict } from './report'
import type { Rig, Side } from './rig'
import { findSubject, type Subject } from './subjects'
import { tenantId } from './volume/tenants'

type Latency = { p50_ms: number; cpu: Cpu }
type ReadLatency = { product: Latency; bare: Latency; total: number | undefined }

/** Each request is repeated for at least this time and this often, but not longer than the limit. */
const LEAST_MS = Number(process.env.BENCH_LATENCY_MS ?? 700)
const LEAST_TIMES = 15
const MOST_MS = 6000
const WARM_UP = { times: 10, most_ms: 500 }

/** Measures and prints every read of the largest organization. */
export async function benchLatency(rig: Rig): Promise<void> {
  const place = placeOfLargest(rig.sizes)
  const subject = await findSubject(rig.sql, tenantId(place), rig.sizes[place - 1]!)
  await warmUp(rig, subject)
  printHead(`Latency of one client, ${subject.size} tickets in the organization`)
  const rows = []
  for (const read of READS) {
    const { product, bare, total } = await measureRead(rig, read, subject)
    const aim = read.aim_ms === undefined ? undefined : { at_most: read.aim_ms }
    const cpu_aim = read.aim_cpu_ms === undefined ? undefined : { at_most: read.aim_cpu_ms }
    rows.push([
      read.name,
      total === undefined ? '' : String(total),
      rounded(product.p50_ms),
      rounded(bare.p50_ms),
      rounded(product.p50_ms / bare.p50_ms),
      cpuText(product.cpu),
      aimText(aim),
      verdict(read.name, product.p50_ms, aim),
      aimText(cpu_aim),
      verdict(`${read.name}, CPU ms`, product.cpu.service_ms + product.cpu.database_ms, cpu_aim),
    ])
  }
  const header = ['Request', 'Match', 'p50 ms', 'Bare', 'Ratio', 'CPU ms service + database', 'Aim ms', '']
  printTable([...header, 'Aim CPU ms', ''], rows)
}

/** The place of the organization with the most tickets. */
export function placeOfLargest(sizes: number[]): number {
  return sizes.indexOf(Math.max(...sizes)) + 1
}

/** Repeats every read, so that the service has compiled its code before the first one is measured. */
async function warmUp(rig: Rig, subject: Subject): Promise<void> {
  const headers = await rig.headers(subject.organization_id)
  for (const read of READS) {
    await repeatSome(() => getJson(`${rig.service.url}/api/v1${read.path(subject)}`, { headers }))
  }
}

async function measureRead(rig: Rig, read: Read, subject: Subject): Promise<ReadLatency> {
  const headers = await rig.headers(subject.organization_id)
  const ask = () => getJson(`${rig.service.url}/api/v1${read.path(subject)}`, { headers })
  const answer = await ask()
  const keys = keysOf(answer, read)
  const bare_url = `${rig.bare.origin}/rows/${read.table}/${subject.organization_id}`
  return {
    product: await repeat(rig, 'service', ask),
    bare: await repeat(rig, 'bare HTTP', () => getJson(bare_url, { method: 'POST', body: keys.join(',') })),
    total: answer.meta?.total,
  }
}

async function repeat(rig: Rig, side: Side, ask: () => Promise<unknown>): Promise<Latency> {
  await repeatSome(ask)
  const times: number[] = []
  const before = rig.cpu(side)
  const started_ms = performance.now()
  for (let at = started_ms; at - started_ms < MOST_MS; ) {
    if (times.length >= LEAST_TIMES && at - started_ms >= LEAST_MS) break
    await ask()
    const now = performance.now()
    times.push(now - at)
    at = now
  }
  const cpu = cpuOfEach(before, rig.cpu(side), times.length)
  times.sort((a, b) => a - b)
  return { p50_ms: times[Math.floor(times.length / 2)]!, cpu }
}

async function repeatSome(ask: () => Promise<unknown>): Promise<void> {
  const end_ms = performance.now() + WARM_UP.most_ms
  for (let time = 0; time < WARM_UP.times && performance.now() < end_ms; time++) await ask()
}

type Row = { id?: string; company?: { id: string } | null; user?: { id: string } }
type Answer = { data: Row | Row[]; meta?: { total: number } }

/** The keys of the rows that an answer shows; one that no row has when it shows none. */
function keysOf({ data }: Answer, { table }: Read): string[] {
  const keys = [data].flat().map(({ id, company, user }) => (table === 'memberships' ? user?.id : (id ?? company?.id)))
  const found = keys.filter((key) => key !== undefined)
  return found.length > 0 ? found : [tenantId(0)]
}

async function getJson(url: string, init?: RequestInit): Promise<Answer> {
  const response = await fetch(url, init)
  if (response.status !== 200) throw new Error(`${response.status} for ${url}: ${await response.text()}`)
  return (await response.json()) as Answer
}
