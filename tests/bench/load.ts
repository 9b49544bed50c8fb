/** Measures requests a second of many clients, beside the bare limit of each, in turns. */
import { HTTP_GENERATOR, type HttpFigures, type HttpLoad, sendHttpLoad } from './http-load'
import { measureKey } from './key-load'
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
  /** The product's own work on the bare server: all but HTTP, admission, validation, tag and log. */
  work?: Requests
  /** Share of the bare limit. */
  ratio?: Aim
}

type Measured = HttpFigures & { cpu: Cpu }

const HEADER = ['Request', 'per s', 'p50 ms', 'p99 ms', 'bare per s', 'ratio', 'aim', '', 'CPU ms service + database']
const GENERATOR_COLUMN = 'CPU ms generator'

export async function benchLoad(rig: Rig): Promise<void> {
  const place = loadPlace(rig.sizes)
  const organization_id = tenantId(place)
  printHead(
    `Under load, ${rig.sizes[place - 1]} tickets in the organization, ${CONNECTIONS} connections, ${HTTP_GENERATOR}`,
  )
  const rows = await rowsOf(rig, organization_id)
  const printed = []
  for (const row of rows) printed.push(...(await measureRow(rig, organization_id, row)))
  const create = rows.at(-1)!.product
  for (const made of [WEBHOOK, POLICY, await teamOf(rig, organization_id, create)]) {
    printed.push(await measureMade(rig, organization_id, create, made))
  }
  printTable([...HEADER, GENERATOR_COLUMN], printed)
  await measureAlone(rig, organization_id, create)
  await measureKey(rig, tenantId(rig.sizes.length))
}

async function rowsOf({ sql, sizes }: Rig, organization_id: string): Promise<Row[]> {
  const tickets = await sql<{ id: string }[]>`
    select id from tickets where organization_id = ${organization_id} order by random() limit ${VARIANTS}`
  const contacts = await sql<{ id: string }[]>`
    select id from contacts where organization_id = ${organization_id} order by random() limit ${VARIANTS}`
  const get = (...paths: string[]): Requests => ({ method: 'GET', requests: paths.map((path) => ({ path })) })
  const post = (path: string): Requests => ({
    method: 'POST',
    requests: contacts.map(({ id: contact_id }) => ({ path, body: newTicket(contact_id) })),
  })
  return [
    {
      name: 'GET /tickets/:id, beside one row',
      product: get(...tickets.map(({ id }) => `/api/v1/tickets/${id}`)),
      bare: get(...tickets.map(({ id }) => `/one/${organization_id}/${id}`)),
      work: get(...tickets.map(({ id }) => `/read/${organization_id}/${id}`)),
      ratio: { at_least: 0.35 },
    },
    {
      name: 'GET /tickets, beside the same rows',
      product: get('/api/v1/tickets'),
      bare: get(`/page/${organization_id}`),
      work: get(`/read/${organization_id}`),
      ratio: { at_least: 0.55 },
    },
    { name: `GET /auth/me, member of ${sizes.length} organizations`, product: get('/api/v1/auth/me') },
    {
      name: 'POST /tickets with description, beside one insert',
      product: post('/api/v1/tickets'),
      bare: { method: 'POST', requests: [{ path: '/commit', body: '{}' }] },
      work: post(`/create/${organization_id}`),
      ratio: { at_least: 0.2 },
    },
  ]
}

function newTicket(contact_id: string): string {
  const description = 'The printer on the second floor does not print on both sides any more. '.repeat(3)
  return JSON.stringify({ subject: 'The printer does not print', description, contact_id })
}

/** @returns the row of the product, and that of its work alone */
async function measureRow(rig: Rig, organization_id: string, row: Row): Promise<string[][]> {
  const { product, bare, work } = await measureInTurns(rig, organization_id, row)
  const cells = cellsOf(row, product, bare)
  const name = '- its work and JSON on the bare server'
  return work ? [cells, cellsOf({ ...row, name, ratio: undefined }, work, bare)] : [cells]
}

/** The same creates by one client, who waits for each answer. */
async function measureAlone(rig: Rig, organization_id: string, requests: Requests): Promise<void> {
  const { p50_ms } = await measure(rig, organization_id, 'service', requests, 1)
  const reached = verdict('POST /tickets, one client', p50_ms, { at_most: 2.5 })
  console.log(`\nPOST /tickets, one client: p50 ${rounded(p50_ms)} ms, aim <= 2.5, ${reached}`)
}

/** Something that an organization makes for a while: what creates do then, in turns beside creates without it. */
type Made = { name: string; path: string; body: unknown; create?: (id: string) => Requests; ratio?: Aim }

/** The same creates with a webhook whose receiver is dead: its deliveries fail and wait. */
const WEBHOOK: Made = {
  name: 'The same with a webhook, beside without',
  path: '/webhooks',
  body: { url: 'https://127.0.0.1:9/', events: ['ticket.created'] },
}

const POLICY: Made = {
  name: 'The same with promises of a policy, beside without',
  path: '/sla-policies',
  body: {
    name: 'Bench',
    position: 0,
    filter: {},
    targets: [{ priority: 'normal', first_reply_minutes: 60, resolve_minutes: 600 }],
  },
  ratio: { at_least: 0.9 },
}

/** Creates that come to a team, which gives them to its members in turn. */
async function teamOf({ sql }: Rig, organization_id: string, { requests }: Requests): Promise<Made> {
  const members = await sql<{ user_id: string }[]>`
    select user_id from memberships where organization_id = ${organization_id} and removed_at is null limit 10`
  const withTeam = (body: string | undefined, team_id: string) => JSON.stringify({ ...JSON.parse(body!), team_id })
  return {
    name: 'The same to a team that assigns, beside without',
    path: '/teams',
    body: { name: 'Bench', member_ids: members.map(({ user_id }) => user_id), assign: 'round_robin' },
    create: (id) => ({
      method: 'POST',
      requests: requests.map(({ path, body }) => ({ path, body: withTeam(body, id) })),
    }),
    ratio: { at_least: 0.9 },
  }
}

async function measureMade(rig: Rig, organization_id: string, create: Requests, made: Made): Promise<string[]> {
  const headers = await rig.headers(organization_id)
  const url = `${rig.service.url}/api/v1${made.path}`
  const turns: { without: Measured; within: Measured }[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const without = await measure(rig, organization_id, 'service', create)
    const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(made.body) })
    if (!answer.ok) throw new Error(`${made.path} answered ${answer.status} ${await answer.text()}`)
    const { id } = ((await answer.json()) as { data: { id: string } }).data
    await untilSettled(rig.sql)
    const within = await measure(rig, organization_id, 'service', made.create?.(id) ?? create)
    await fetch(`${url}/${id}`, { method: 'DELETE', headers })
    await untilSettled(rig.sql)
    turns.push({ without, within })
  }
  const { without, within } = median(turns, ({ within }) => within.per_s)
  return cellsOf({ name: made.name, product: create, ratio: made.ratio }, within, without)
}

function cellsOf({ name, ratio }: Row, product: Measured, bare: Measured | undefined): string[] {
  const reached = bare && product.per_s / bare.per_s
  const errors = [product.errors, bare?.errors ?? 0]
  return [
    name + (errors.some((count) => count > 0) ? ` (${errors.join(' + ')} ERRORS)` : ''),
    rounded(product.per_s),
    rounded(product.p50_ms),
    rounded(product.p99_ms),
    bare ? rounded(bare.per_s) : '',
    reached === undefined ? '' : rounded(reached),
    aimText(ratio),
    reached === undefined ? '' : verdict(name, reached, ratio),
    cpuText(product.cpu),
    rounded(product.generator_ms),
  ]
}

async function measureInTurns(rig: Rig, organization_id: string, row: Row) {
  const turns: { product: Measured; bare: Measured | undefined; work: Measured | undefined }[] = []
  for (let round = 0; round < ROUNDS; round++) {
    turns.push({
      product: await measure(rig, organization_id, 'service', row.product),
      bare: row.bare && (await measure(rig, organization_id, 'bare HTTP', row.bare)),
      work: row.work && (await measure(rig, organization_id, 'bare HTTP', row.work)),
    })
  }
  return median(turns, ({ product }) => product.per_s)
}

async function measure(
  rig: Rig,
  organization_id: string,
  side: Side,
  requests: Requests,
  connections = CONNECTIONS,
): Promise<Measured> {
  const load = {
    ...requests,
    origin: side === 'service' ? rig.service.url : rig.bare.origin,
    headers: side === 'service' ? await rig.headers(organization_id) : {},
    connections,
  }
  await sendHttpLoad({ ...load, seconds: WARM_UP_S }, rig.dir)
  const before = rig.cpu(side)
  const figures = await sendHttpLoad({ ...load, seconds: SECONDS }, rig.dir)
  return { ...figures, cpu: cpuOfEach(before, rig.cpu(side), figures.requests) }
}

function median<T>(values: T[], by: (value: T) => number): T {
  return values.toSorted((a, b) => by(a) - by(b))[Math.floor(values.length / 2)]!
}
