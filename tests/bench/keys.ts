/**
 * `bun run bench keys`: processor time of requests with an API key beside the same requests with a token, service and
 * database together. Both take turns in short rounds, so that other programs on the machine disturb both alike.
 * Settings: BENCH_ROUNDS (12), BENCH_REQUESTS (400) in each round.
 */
import { tmpdir } from 'node:os'
import path from 'node:path'
import { startService } from '../support/service'
import { type Cpu, cpuOf, cpuOfEach, treeOf } from './processes'

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 12)
const REQUESTS = Number(process.env.BENCH_REQUESTS ?? 400)
const CLIENTS = 8
const TICKETS = 200

const service = await startService({
  DATA_DIR: path.join(process.env.TMPDIR ?? tmpdir(), crypto.randomUUID()),
  LOG_LEVEL: 'warn',
  // Every request is counted, and none is refused.
  RATE_LIMIT_PER_MINUTE: '1000000',
})

async function create(path: string, body: object): Promise<string> {
  const { status, body: answer } = await service.call('POST', path, body)
  if (status !== 201) throw new Error(`${path} answered ${status}`)
  return answer.data.key ?? answer.data.id
}

const contact_id = await create('/contacts', { name: 'Carla', email: 'carla@customer.example' })
const ticket = { subject: 'New', description: 'It does not work.', contact_id }
const ids: string[] = []
for (let count = 0; count < TICKETS; count++) ids.push(await create('/tickets', ticket))
const key = await create('/api-keys', { name: 'Bench', permissions: ['*:write'] })
const CREDENTIALS = { token: `Bearer ${service.token()}`, key: `ApiKey ${key}` }

const anyTicket = () => `/tickets/${ids[Math.floor(Math.random() * ids.length)]}`

const ROWS: [name: string, method: string, path: () => string, body?: () => object][] = [
  ['GET /labels', 'GET', () => '/labels'],
  ['GET /tickets', 'GET', () => '/tickets'],
  ['GET /tickets/:ticket_id', 'GET', anyTicket],
  ['POST /tickets', 'POST', () => '/tickets', () => ticket],
  ['PATCH /tickets/:ticket_id', 'PATCH', anyTicket, () => ({ subject: crypto.randomUUID() })],
  ['POST /labels', 'POST', () => '/labels', () => ({ name: crypto.randomUUID(), color: '#EF4444' })],
]

for (const [name, method, path, body] of ROWS) {
  const send = async (authorization: string) => {
    const headers = { authorization, 'content-type': 'application/json' }
    const content = body && JSON.stringify(body())
    const response = await fetch(`${service.url}/api/v1${path()}`, { method, headers, body: content })
    await response.arrayBuffer()
    if (!response.ok) throw new Error(`${name} answered ${response.status}`)
  }
  const used = { token: { service_ms: 0, database_ms: 0 }, key: { service_ms: 0, database_ms: 0 } }
  for (let round = 0; round <= ROUNDS; round++) {
    for (const kind of round % 2 ? (['token', 'key'] as const) : (['key', 'token'] as const)) {
      const cpu = await cpuOfRound(() => send(CREDENTIALS[kind]))
      // The first round is for warming up.
      if (round === 0) continue
      used[kind].service_ms += cpu.service_ms / ROUNDS
      used[kind].database_ms += cpu.database_ms / ROUNDS
    }
  }
  print(name, used)
}

await service.stop()
process.exit(0)

/** Processor time of one request in a round of many. */
async function cpuOfRound(work: () => Promise<void>): Promise<Cpu> {
  const before = cpuOfService()
  let left = REQUESTS
  const client = async () => {
    while (left-- > 0) await work()
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  return cpuOfEach(before, cpuOfService(), REQUESTS)
}

/** The database is a child of the service. */
function cpuOfService(): Cpu {
  const tree = treeOf(service.process.pid!)
  return cpuOf(tree, tree)
}

function print(name: string, { token, key }: { token: Cpu; key: Cpu }): void {
  const microseconds = (ms: number) => `${(ms * 1000).toFixed(0)} µs`
  const line = ({ service_ms, database_ms }: Cpu) =>
    `${microseconds(service_ms)} + PostgreSQL ${microseconds(database_ms)}`
  const total = (cpu: Cpu) => cpu.service_ms + cpu.database_ms
  const more = ((total(key) / total(token) - 1) * 100).toFixed(1)
  console.log(`${name}: token ${line(token)}, key ${line(key)}: ${more} % more`)
}
