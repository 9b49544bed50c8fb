/** Measures requests a second of many clients, beside the bare limit of each, in turns. */
import { HTTP_GENERATOR, type HttpFigures, type HttpLoad, sendHttpLoad } from './http-load'
import { type Cpu, cpuOfEach } from './processes'
import { type Aim, aimText, cpuText, printHead, printTable, rounded, verdict } from './report'
import type { Rig, Side } from './rig'
import { loadPlace, untilSettled } from './settled'
import { tenantId } from './volume/tenants'

const CONNECTIONS = 16
const SECONDS = Number(process.env.BENCH_SECONDS ?? 5)
/** Product and limit are measured in turns, so that a slow moment of the machine meets both. The median counts. */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
const WARM_UP_S = 1
/** Different tickets and contacts in requests. */
const VARIANTS = 2000

type Requests = Pick<HttpLoad, 'method' | 'requests'>

type Row = {
  name: string
  product: Requests
  /** Load on the bare server; none where there is no such thing. */
  bare?: Requests
  /** Share of the bare limit. */
  ratio?: Aim
  per_s?: Aim
  /** Milliseconds of processor time of service and database for each request. */
  cpu?: Aim
}

type Measured = HttpFigures & { cpu: Cpu }

const HEADER = [
  'Request',
  'per s',
  'p50 ms',
  'p99 ms',
  'bare per s',
  'ratio',
  'aim',
  '',
  'CPU ms service + database',
  'aim',
  '',
]
const GENERATOR_COLUMN = 'CPU ms generator'

export async function benchLoad(rig: Rig): Promise<void> {
  const place = loadPlace(rig.sizes)
  const organization_id = tenantId(place)
  printHead(
    `Under load, ${rig.sizes[place - 1]} tickets in the organization, ${CONNECTIONS} connections, ${HTTP_GENERATOR}`,
  )
  const rows = await rowsOf(rig, organization_id)
  const printed = []
  for (const row of rows) printed.push(await measureRow(rig, organization_id, row))
  printed.push(await measureWebhook(rig, organization_id, rows.at(-1)!))
  printTable([...HEADER, GENERATOR_COLUMN], printed)
}

async function rowsOf({ sql, sizes }: Rig, organization_id: string): Promise<Row[]> {
  const tickets = await sql<{ id: string }[]>`
    select id from tickets where organization_id = ${organization_id} order by random() limit ${VARIANTS}`
  const contacts = await sql<{ id: string }[]>`
    select id from contacts where organization_id = ${organization_id} order by random() limit ${VARIANTS}`
  const get = (...paths: string[]): Requests => ({ method: 'GET', requests: paths.map((path) => ({ path })) })
  return [
    {
      name: 'GET /tickets/:id, beside one row',
      product: get(...tickets.map(({ id }) => `/api/v1/tickets/${id}`)),
      bare: get(...tickets.map(({ id }) => `/one/${organization_id}/${id}`)),
      ratio: { at_least: 0.35 },
      cpu: { at_most: 0.6 },
    },
    {
      name: 'GET /tickets, beside the same rows',
      product: get('/api/v1/tickets'),
      bare: get(`/page/${organization_id}`),
      ratio: { at_least: 0.55 },
      cpu: { at_most: 1.2 },
    },
    {
      name: `GET /auth/me, member of ${sizes.length} organizations`,
      product: get('/api/v1/auth/me'),
      per_s: { at_least: 3000 },
      cpu: { at_most: 0.4 },
    },
    {
      name: 'POST /tickets with description, beside one insert',
      product: {
        method: 'POST',
        requests: contacts.map(({ id: contact_id }) => ({ path: '/api/v1/tickets', body: newTicket(contact_id) })),
      },
      bare: { method: 'POST', requests: [{ path: '/commit', body: '{}' }] },
      ratio: { at_least: 0.2 },
      cpu: { at_most: 1.5 },
    },
  ]
}

function newTicket(contact_id: string): string {
  const description = 'The printer on the second floor does not print on both sides any more. '.repeat(3)
  return JSON.stringify({ subject: 'The printer does not print', description, contact_id })
}

async function measureRow(rig: Rig, organization_id: string, row: Row): Promise<string[]> {
  const { product, bare } = await measureInTurns(rig, organization_id, row)
  const ratio = bare ? product.per_s / bare.per_s : undefined
  const aim = row.ratio ?? row.per_s
  return cellsOf(row, product, bare, aim, ratio ?? product.per_s)
}

/** The same creates with a webhook that listens to them, whose receiver is dead: its deliveries fail and wait. */
async function measureWebhook(rig: Rig, organization_id: string, create: Row): Promise<string[]> {
  const headers = await rig.headers(organization_id)
  const webhooks = `${rig.service.url}/api/v1/webhooks`
  const body = JSON.stringify({ url: 'https://127.0.0.1:9/', events: ['ticket.created'] })
  const row: Row = {
    name: 'The same with a webhook, beside without',
    product: create.product,
    ratio: { at_least: 0.6 },
  }
  const turns: { without: Measured; within: Measured }[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const without = await measure(rig, organization_id, 'service', create.product)
    const made = (await (await fetch(webhooks, { method: 'POST', headers, body })).json()) as { data: { id: string } }
    const within = await measure(rig, organization_id, 'service', create.product)
    await fetch(`${webhooks}/${made.data.id}`, { method: 'DELETE', headers })
    await untilSettled(rig.sql)
    turns.push({ without, within })
  }
  const { without, within } = median(turns, ({ within }) => within.per_s)
  return cellsOf(row, within, without, row.ratio, within.per_s / without.per_s)
}

function cellsOf(
  row: Row,
  product: Measured,
  bare: Measured | undefined,
  aim: Aim | undefined,
  reached: number,
): string[] {
  const cpu_ms = product.cpu.service_ms + product.cpu.database_ms
  return [
    row.name + (product.errors + (bare?.errors ?? 0) > 0 ? ` (${product.errors} + ${bare?.errors ?? 0} ERRORS)` : ''),
    rounded(product.per_s),
    rounded(product.p50_ms),
    rounded(product.p99_ms),
    bare ? rounded(bare.per_s) : '',
    bare ? rounded(reached) : '',
    aimText(aim),
    verdict(row.name, reached, aim),
    cpuText(product.cpu),
    aimText(row.cpu),
    verdict(`${row.name}, processor time`, cpu_ms, row.cpu),
    rounded(product.generator_ms),
  ]
}

async function measureInTurns(rig: Rig, organization_id: string, row: Row) {
  const turns: { product: Measured; bare: Measured | undefined }[] = []
  for (let round = 0; round < ROUNDS; round++) {
    turns.push({
      product: await measure(rig, organization_id, 'service', row.product),
      bare: row.bare && (await measure(rig, organization_id, 'bare HTTP', row.bare)),
    })
  }
  return median(turns, ({ product }) => product.per_s)
}

async function measure(rig: Rig, organization_id: string, side: Side, requests: Requests): Promise<Measured> {
  const load = {
    ...requests,
    origin: side === 'service' ? rig.service.url : rig.bare.origin,
    headers: side === 'service' ? await rig.headers(organization_id) : {},
    connections: CONNECTIONS,
  }
  await sendHttpLoad({ ...load, seconds: WARM_UP_S }, rig.dir)
  const before = rig.cpu(side)
  const figures = await sendHttpLoad({ ...load, seconds: SECONDS }, rig.dir)
  return { ...figures, cpu: cpuOfEach(before, rig.cpu(side), figures.requests) }
}

function median<T>(values: T[], by: (value: T) => number): T {
  return values.toSorted((a, b) => by(a) - by(b))[Math.floor(values.length / 2)]!
}
