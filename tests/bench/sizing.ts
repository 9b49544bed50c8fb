/**
 * `bun run bench sizing`: reckons the disk, the processor time and the machines that a load needs, from measured bytes
 * of a row and costs of an operation (`sizing-costs.ts`). It measures nothing and needs no database. Settings:
 * BENCH_ORGANIZATIONS (10000), BENCH_TICKETS_A_DAY (1000000), BENCH_MAILS_A_SECOND (50, on average), BENCH_AGENTS (who
 * have the console in view at the peak; one for 100 answers a day), BENCH_YEARS (3), BENCH_POOL (10, as DATABASE_POOL).
 */
import { printTable, rounded } from './report'
import { ASSUMED, type Drivers, FREE_SPACE, MACHINES, OPERATIONS, SECONDS_OF_LOOK, TABLES } from './sizing-costs'

const ORGANIZATIONS = Number(process.env.BENCH_ORGANIZATIONS ?? 10_000)
const TICKETS_A_DAY = Number(process.env.BENCH_TICKETS_A_DAY ?? 1_000_000)
const MAILS_A_SECOND = Number(process.env.BENCH_MAILS_A_SECOND ?? 50)
const ANSWERS_A_DAY = TICKETS_A_DAY * ASSUMED.answers_of_ticket
const AGENTS = Number(process.env.BENCH_AGENTS ?? ANSWERS_A_DAY / 100)
const DAYS = Number(process.env.BENCH_YEARS ?? 3) * 365
const POOL = Number(process.env.BENCH_POOL ?? 10)

const DAY_S = 86_400
/** Connections that a process opens beside its pool: on a cluster two more than on one machine. */
const BESIDE_POOL = 6

const A_DAY: Drivers = {
  ticket: TICKETS_A_DAY,
  mail: MAILS_A_SECOND * DAY_S,
  answer: ANSWERS_A_DAY,
  contact: TICKETS_A_DAY * ASSUMED.contacts_of_ticket,
  // The agents are those of the peak already.
  look: ((AGENTS / SECONDS_OF_LOOK) * DAY_S) / ASSUMED.peak,
}

const disk_gb = printDisk()
const peak = printProcessors()
printMachines()
process.exit(0)

function printDisk(): number {
  const sizes = TABLES.map(({ name, bytes, kept_days = Infinity, ...drivers }) => {
    const a_day = countADay(drivers)
    const rows = a_day * Math.min(kept_days, DAYS)
    return { name, bytes, a_day, rows, gb: (rows * bytes * FREE_SPACE) / 1e9 }
  }).toSorted((a, b) => b.gb - a.gb)
  const total_gb = sizes.reduce((sum, { gb }) => sum + gb, 0)
  console.log(`\n## Disk after ${DAYS} days, with ${Math.round((FREE_SPACE - 1) * 100)} % of free space in tables\n`)
  const cells = sizes.map(({ name, bytes, a_day, rows, gb }) => [
    name,
    millions(a_day),
    millions(rows),
    `${bytes}`,
    whole(gb),
  ])
  printTable(
    ['Table', 'million rows a day', 'million rows', 'bytes a row', 'GB'],
    [...cells, ['all', '', '', '', whole(total_gb)]],
  )
  return total_gb
}

/** @returns processors that are busy at the peak */
function printProcessors() {
  const costs = OPERATIONS.map(({ name, service, database, coordinator, workers, ...drivers }) => {
    const a_second = (countADay(drivers) / DAY_S) * ASSUMED.peak
    return { name, a_second, busy: [service, database, coordinator, workers].map((ms) => (ms * a_second) / 1000) }
  })
  const [service, database, coordinator, workers] = [0, 1, 2, 3].map((place) =>
    costs.reduce((sum, { busy }) => sum + busy[place]!, 0),
  )
  console.log(`\n## Processors that are busy at the peak, ${ASSUMED.peak} times the average\n`)
  printTable(
    ['Operation', 'a second', 'service', 'plain database', 'coordinator', 'workers'],
    [
      ...costs.map(({ name, a_second, busy }) => [name, rounded(a_second), ...busy.map(rounded)]),
      ['all', '', ...[service!, database!, coordinator!, workers!].map(rounded)],
    ],
  )
  return { service: service!, database: database!, coordinator: coordinator!, workers: workers! }
}

function printMachines(): void {
  const cores = MACHINES.worker_cores * MACHINES.busy
  const workers = Math.ceil(Math.max(disk_gb / MACHINES.worker_gb, peak.workers / cores))
  const shards = 2 ** Math.ceil(Math.log2(workers * MACHINES.shards_of_worker))
  const processes = Math.ceil(peak.service / MACHINES.busy)
  console.log('\n## Machines\n')
  printTable(
    ['What', 'How many', 'Why'],
    [
      [
        'workers',
        `${workers}`,
        `${MACHINES.worker_gb} GB and ${MACHINES.worker_cores} processors each; as many standbys`,
      ],
      [
        'citus.shard_count',
        `${shards}`,
        `${rounded(ORGANIZATIONS / shards)} organizations and ${whole(disk_gb / shards)} GB in a shard`,
      ],
      [
        'coordinator, processors',
        `${Math.ceil(peak.coordinator / MACHINES.busy)}`,
        'every statement passes it; and a standby',
      ],
      ['processes of the service', `${processes}`, `one processor each, ${MACHINES.busy * 100} % busy at the peak`],
      ['connections', `${processes * (POOL + BESIDE_POOL)}`, 'at the coordinator; at each worker as many at most'],
      [
        'plain PostgreSQL instead, processors',
        `${Math.ceil(peak.database / MACHINES.busy)}`,
        `and ${whole(disk_gb)} GB on one machine`,
      ],
    ],
  )
}

function countADay(drivers: Partial<Drivers>): number {
  return Object.entries(A_DAY).reduce((sum, [name, count]) => sum + count * (drivers[name as keyof Drivers] ?? 0), 0)
}

function millions(count: number): string {
  return rounded(count / 1e6)
}

function whole(value: number): string {
  return String(Math.round(value))
}
