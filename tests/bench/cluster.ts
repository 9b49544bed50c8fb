/**
 * `bun run bench cluster`: how long one client waits for an answer on the cluster that CITUS_URL names, beside a plain
 * database on the server of its coordinator: machine and versions are the same, and the two take turns. Both databases
 * are made anew and removed at the end. Settings: BENCH_ROUNDS (200) of each request, BENCH_TICKETS (1000) and
 * BENCH_CONTACTS (20000) of the organization, BENCH_IDLE_MS (10000) to see what both cost without requests. The last
 * row has many clients (`cluster-many.ts`).
 */
import { startDns } from '../support/dns'
import { measureMany } from './cluster-many'
import { type ClusterCpu, fillContacts, fillTickets, type Side, startSides } from './cluster-sides'
import { type Aim, aimText, printHead, printTable, printUnmet, rounded, verdict } from './report'

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 200)
const TICKETS = Number(process.env.BENCH_TICKETS ?? 1000)
const CONTACTS = Number(process.env.BENCH_CONTACTS ?? 20_000)
const WARM_UPS = 10
/** Requests of one side in a row. */
const PART = 10
const IDLE_MS = Number(process.env.BENCH_IDLE_MS ?? 10_000)
const PARTS_OF_CPU = ['service', 'coordinator', 'workers'] as const

type Row = { name: string; ask(side: Side): Promise<void> /** Of the medians. */; ratio?: Aim }

type Part = { times_ms: number[]; before: ClusterCpu; after: ClusterCpu }

const CREATE: Row = {
  name: 'POST /tickets, description and label',
  ratio: { at_most: 4 },
  async ask({ send, contact_id, label_id }) {
    const description = 'The printer on the second floor does not print on both sides any more. '.repeat(3)
    await send('POST', '/tickets', { subject: 'It does not print', description, contact_id, label_ids: [label_id] })
  },
}

const ROWS: Row[] = [
  CREATE,
  { name: 'GET /tickets/:id', ask: ({ send, anyTicket }) => send('GET', anyTicket()) },
  { name: 'GET /tickets?status=open', ask: ({ send }) => send('GET', '/tickets?status=open') },
  { name: 'GET /tickets?search=', ask: ({ send }) => send('GET', '/tickets?search=printer') },
  {
    name: 'PATCH /tickets/:id, subject',
    ask: ({ send, anyTicket }) => send('PATCH', anyTicket(), { subject: crypto.randomUUID() }),
  },
  {
    name: 'POST note',
    ask: ({ send, anyTicket }) => send('POST', `${anyTicket()}/messages`, { body: 'Seen.', is_internal: true }),
  },
  {
    name: 'POST answer, until it is sent',
    ratio: { at_most: 2 },
    ask: ({ send, anyTicket }) => send('POST', `${anyTicket()}/messages`, { body: 'Switch it off and on.' }),
  },
  { name: 'a mail, from MAIL FROM to its ticket', ask: ({ fileMail }) => fileMail() },
]

if (!process.env.CITUS_URL) {
  console.error('CITUS_URL names no database with Citus that knows its workers: there is no cluster to measure')
  process.exit(1)
}
await measureAll(process.env.CITUS_URL)
process.exit(0)

async function measureAll(coordinator_url: string): Promise<void> {
  // The senders of mail are looked up there: no name exists.
  using dns = await startDns()
  process.env.DNS_SERVERS = dns.address
  const { plain, cluster, workers, stop } = await startSides(coordinator_url)
  try {
    const sides = [plain, cluster]
    for (const side of sides) await fillTickets(side, TICKETS, () => CREATE.ask(side))
    printHead(`One client, ${TICKETS} tickets, plain PostgreSQL beside a cluster of ${workers} workers`)
    const idle = await measureIdle(sides)
    const rows = []
    for (const row of ROWS) rows.push(await measureRow(sides, idle, row))
    for (const side of sides) await fillContacts(side, CONTACTS)
    rows.push(await measureRow(sides, idle, { ...CREATE, name: `${CREATE.name}, ${CONTACTS} contacts` }))
    const columns = (side: string) => [`${side} p50 ms`, 'p95', 'CPU ms service + coordinator + workers']
    printTable(['Request', ...columns('plain'), ...columns('cluster'), 'ratio', 'aim', ''], rows)
    console.log(
      `\nEach second without requests, both services: ${cpuText(PARTS_OF_CPU.map((whose) => idle[whose] * 1000))} ms`,
    )
    await measureMany(sides)
  } finally {
    await stop()
  }
  printUnmet()
}

/** Processor time in a millisecond without requests: background jobs of both services, and the maintenance of Citus. */
async function measureIdle([side]: Side[]): Promise<ClusterCpu> {
  const before = side!.cpu()
  await Bun.sleep(IDLE_MS)
  const after = side!.cpu()
  const rate = (whose: keyof ClusterCpu) => (after[whose] - before[whose]) / IDLE_MS
  return { service: rate('service'), coordinator: rate('coordinator'), workers: rate('workers') }
}

/** The sides take turns in short parts, so that a slow moment of the machine meets both. */
async function measureRow(sides: Side[], idle: ClusterCpu, { name, ask, ratio: aim }: Row): Promise<string[]> {
  for (const side of sides) await repeat(side, ask, WARM_UPS)
  const parts = sides.map((): Part[] => [])
  for (let round = 0; round < ROUNDS; round += PART) {
    for (const [place, side] of sides.entries()) parts[place]!.push(await repeat(side, ask, PART))
  }
  const [plain, cluster] = parts.map((parts) => summaryOf(parts, idle))
  const ratio = cluster!.p50_ms / plain!.p50_ms
  const cells = [plain!, cluster!].flatMap(({ p50_ms, p95_ms, cpu }) => [rounded(p50_ms), rounded(p95_ms), cpu])
  return [name, ...cells, rounded(ratio), aimText(aim), verdict(name, ratio, aim)]
}

async function repeat(side: Side, ask: Row['ask'], times: number): Promise<Part> {
  const part: Part = { times_ms: [], before: side.cpu(), after: side.cpu() }
  for (let time = 0; time < times; time++) {
    const started_ms = performance.now()
    await ask(side)
    part.times_ms.push(performance.now() - started_ms)
  }
  return { ...part, after: side.cpu() }
}

/** @param idle is not counted as the cost of requests */
function summaryOf(parts: Part[], idle: ClusterCpu) {
  const times = parts.flatMap(({ times_ms }) => times_ms).sort((a, b) => a - b)
  const lasted_ms = times.reduce((sum, time) => sum + time, 0)
  const costs = PARTS_OF_CPU.map((whose) => {
    const used = parts.reduce((sum, { before, after }) => sum + after[whose] - before[whose], 0)
    return Math.max(0, used - idle[whose] * lasted_ms) / times.length
  })
  return {
    p50_ms: times[Math.floor(times.length * 0.5)]!,
    p95_ms: times[Math.floor(times.length * 0.95)]!,
    cpu: cpuText(costs),
  }
}

function cpuText(values: number[]): string {
  return values.map(rounded).join(' + ')
}
