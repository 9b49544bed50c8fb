/**
 * `bun run bench requests`: the product beside the bare limit of the same work, in one run, on this machine. CPU is that of the
 * service, or of the bare server, and of PostgreSQL for one request: other programs on the machine change it little.
 * Settings: BENCH_TICKETS (100000), BENCH_SECONDS (4) for each figure.
 */
import { spawn } from 'node:child_process'
import { cpus, loadavg, tmpdir } from 'node:os'
import path from 'node:path'
import postgres from 'postgres'
import { startEmbedded } from '../../src/db/embedded/supervise'
import { urlOf } from '../support/database'
import { freePort } from '../support/ports'
import { startService, until } from '../support/service'
import { smtpDialog } from '../support/smtp'
import { cpuOf } from './cpu'
import { type Figures, measure, request } from './load'
import { seedTickets } from './seed'

const TICKETS = Number(process.env.BENCH_TICKETS ?? 100_000)
const SECONDS = Number(process.env.BENCH_SECONDS ?? 4)
const READERS = 16
const WRITERS = 32
const SMTP_SESSIONS = 4

const dir = path.join(tmpdir(), `deskwire-bench-${crypto.randomUUID()}`)
const port = await freePort()
const database = await startEmbedded(path.join(dir, 'database'), {
  settings: { listen_addresses: '127.0.0.1', port: String(port) },
})
const url = urlOf(database.connection, port)
const service = await startService({
  DATABASE_URL: url,
  SECRET_KEY: 'a secret key that only benchmarks use',
  DATA_DIR: path.join(dir, 'service'),
  LOG_LEVEL: 'warn',
})
const sql = postgres(url, { max: 32 })
const [organization] = await sql<{ id: string }[]>`select id from organizations`
const organization_id = organization!.id
console.log(`seeding ${TICKETS} tickets`)
await sql.reserve().then(async (one) => {
  await seedTickets(one, organization_id, TICKETS)
  one.release()
})
const ids = (await sql<{ id: string }[]>`select id from tickets order by random() limit 2000`).map(({ id }) => id)
const [contact] = await sql<{ id: string }[]>`select id from contacts limit 1`

const bare_port = await freePort()
const bare_smtp_port = await freePort()
const bare = spawn(process.execPath, ['--no-orphans', path.join(import.meta.dirname, 'bare.ts')], {
  env: {
    ...process.env,
    BENCH_DATABASE: url,
    BENCH_ORGANIZATION: organization_id,
    BENCH_PORT: String(bare_port),
    BENCH_SMTP_PORT: String(bare_smtp_port),
  },
  stdio: 'inherit',
})
const bare_url = `http://127.0.0.1:${bare_port}`
await until('the bare servers answer', () =>
  request(`${bare_url}/list`).then(
    () => true,
    () => false,
  ),
)

const login = await service.call('GET', '/auth/me')
if (login.status !== 200) throw new Error('cannot sign in')
await service.call('POST', '/mailboxes', { address: 'support@desk.example' })
const headers = { authorization: `Bearer ${service.token()}`, 'content-type': 'application/json' }
const anyId = () => ids[Math.floor(Math.random() * ids.length)]!
const ticket = JSON.stringify({ subject: 'A new ticket', description: 'It does not work.', contact_id: contact!.id })
const api = `${service.url}/api/v1`

const cpuOfService = () => cpuOf(service.process.pid!, dir)
const cpuOfBare = () => cpuOf(bare.pid!, dir)
const cpuOfThis = () => cpuOf(process.pid, dir, false)

type Row = {
  name: string
  demand: number
  clients: number
  product(): Promise<void>
  limit(): Promise<void>
  /** Instead of the bare server's. */
  cpuOfLimit?: typeof cpuOfThis
}

const rows: Row[] = [
  {
    name: 'GET /tickets/:id, with messages and time, against one row without auth',
    demand: 0.75,
    clients: READERS,
    product: () => request(`${api}/tickets/${anyId()}`, { headers }),
    limit: () => request(`${bare_url}/row/${anyId()}`),
  },
  {
    name: 'GET /tickets, page 1 with the exact total, against the page alone without auth',
    demand: 0.5,
    clients: READERS,
    product: () => request(`${api}/tickets`, { headers }),
    limit: () => request(`${bare_url}/list`),
  },
  {
    name: 'GET /tickets?status=open, against the same',
    demand: 0.5,
    clients: READERS,
    product: () => request(`${api}/tickets?status=open`, { headers }),
    limit: () => request(`${bare_url}/list`),
  },
  {
    name: 'POST /tickets with a description, one organization, against one row inserted and committed',
    demand: 0.2,
    clients: WRITERS,
    product: () => request(`${api}/tickets`, { method: 'POST', headers, body: ticket }),
    limit: async () => {
      await sql`insert into storage_removals (storage_key) values (${crypto.randomUUID()})`
    },
    cpuOfLimit: cpuOfThis,
  },
]

const mail = (size: number) => {
  const body = `${'All work and no play makes Jack a dull boy. '.repeat(2)}\r\n`.repeat(Math.ceil(size / 90))
  return () =>
    `From: jack@customer.example\r\nSubject: Dull\r\nMessage-ID: <${crypto.randomUUID()}@customer.example>\r\n\r\n${body}.\r\n`
}

console.log(`${cpus().length} processors, load ${loadavg()[0]!.toFixed(1)}, ${TICKETS} tickets, ${SECONDS} s each\n`)
for (const { name, demand, clients, product, limit, cpuOfLimit = cpuOfBare } of rows) {
  const reached = await measure(clients, SECONDS, product, cpuOfService)
  print(name, demand, reached, await measure(clients, SECONDS, limit, cpuOfLimit))
}
print(
  'mail of 5 kB, stored and acknowledged, against a server that throws it away',
  0.2,
  await measureMail(service.smtp_port, 5000, cpuOfService),
  await measureMail(bare_smtp_port, 5000, cpuOfBare),
)

bare.kill()
await service.stop()
await sql.end()
await database.stop()
process.exit(0)

async function measureMail(smtp_port: number, size: number, readCpu: typeof cpuOfThis): Promise<Figures> {
  const message = mail(size)
  const dialogs = await Promise.all(Array.from({ length: SMTP_SESSIONS }, () => smtpDialog(smtp_port)))
  for (const dialog of dialogs) {
    await dialog.read()
    await dialog.command('EHLO bench.example')
  }
  const deliver = async (client: number) => {
    const dialog = dialogs[client]!
    await dialog.command('MAIL FROM:<jack@customer.example>')
    await dialog.command('RCPT TO:<support@desk.example>')
    await dialog.command('DATA')
    dialog.write(message())
    const reply = await dialog.read()
    if (!reply.startsWith('250')) throw new Error(reply)
  }
  const figures = await measure(SMTP_SESSIONS, SECONDS, deliver, readCpu)
  for (const dialog of dialogs) dialog[Symbol.dispose]()
  return figures
}

function print(name: string, demand: number, product: Figures, limit: Figures): void {
  const figures = ({ per_s, p50_ms, p99_ms, errors, cpu }: Figures) =>
    [
      `${per_s.toFixed(0)}/s (p50 ${p50_ms.toFixed(1)} ms, p99 ${p99_ms.toFixed(1)} ms${errors ? `, ${errors} errors` : ''}),`,
      `CPU ${cpu.server_ms.toFixed(2)} ms + PostgreSQL ${cpu.database_ms.toFixed(2)} ms`,
    ].join(' ')
  console.log(`${name}\n  product ${figures(product)}\n  limit   ${figures(limit)}`)
  const totalOf = ({ cpu }: Figures) => cpu.server_ms + cpu.database_ms
  const ratio = (product.per_s / limit.per_s).toFixed(2)
  const cpu_ratio = (totalOf(limit) / totalOf(product)).toFixed(2)
  console.log(`  ratio   ${ratio} (demanded ${demand}), by CPU ${cpu_ratio}, load ${loadavg()[0]!.toFixed(1)}\n`)
}
