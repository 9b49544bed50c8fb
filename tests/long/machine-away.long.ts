/** A worker of a cluster stops or hangs while all organizations are at work: the others go on, and nothing is lost. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import postgres from 'postgres'
import { fires, PROMTOOL, scrape } from '../support/alert-evaluation'
import { type Machine, type Machines, startMachines, WHY_NO_MACHINES } from '../support/citus-machines'
import { freePort } from '../support/ports'
import { type Receiver, startReceiver } from '../support/receiver'
import { ADMIN, type Service, startService, until } from '../support/service'
import { checkWorkedOff } from '../support/tenant-checks'
import { ask, createTenants, mailTo, type Step, type Tenant, TenantLoad } from '../support/tenant-load'

const EACH = 5
const REMINDER = 'a node of the database is away: the work of its organizations waits'
/**
 * Failures that the log may name: a node or a connection was lost, or too many waited for a lock that the node has to
 * give.
 */
const LOST = /^(08006|57014|57P0\d|XX000|CONNECTION_CLOSED)$/

if (WHY_NO_MACHINES) console.warn(`The tests of a cluster whose machine is away are skipped: ${WHY_NO_MACHINES}`)
const check = test.skipIf(WHY_NO_MACHINES !== undefined)

let machines: Machines
let receiver: Receiver
let service: Service
let metrics_url: string
/** The machine that goes away, and the organizations of the other one and its own. */
let away: Machine
let here: Tenant[]
let there: Tenant[]
/** Organizations whose webhooks are not taken. */
const held = new Set<string>()

beforeAll(async () => {
  if (WHY_NO_MACHINES) return
  machines = await startMachines()
  receiver = await startReceiver({ answer: ({ path }) => (held.has(path.split('/').at(-1)!) ? 503 : 200) })
  const METRICS_PORT = String(await freePort())
  metrics_url = `http://127.0.0.1:${METRICS_PORT}/metrics`
  const DATA_DIR = path.join(tmpdir(), `machine-away-${crypto.randomUUID()}`)
  mkdirSync(DATA_DIR, { mode: 0o755 })
  service = await startService({
    DATA_DIR,
    METRICS_PORT,
    DATABASE_URL: machines.url,
    SECRET_KEY: 'a secret key that only tests use',
    WEBHOOK_CA_FILE: receiver.ca_file,
    RETRY_SCHEDULE_SECONDS: ['0', ...Array(999).fill('1')].join(),
    LOG_LEVEL: 'info',
    LOG_FORMAT: 'json',
  })
  const tenants = await createTenants(service, machines.url, { each: EACH, hook: receiver.url })
  away = machines.workers[1]!
  here = tenants.filter(({ machine }) => machine !== away.name)
  there = tenants.filter(({ machine }) => machine === away.name)
}, 300_000)
afterAll(async () => {
  await service?.kill()
  receiver?.[Symbol.dispose]()
  await machines?.stop()
}, 120_000)

/** Whatever a test before has left. */
beforeEach(async () => {
  held.clear()
  away?.thaw()
  await away?.start()
  await until('all machines are there', async () => {
    return !away || !(await (await fetch(`${service.url}/readyz`)).json()).machines_away
  })
})

check(
  'one worker stops: the organizations of the other go on, and after its return all is worked off',
  async () => {
    const log_start = service.output().length
    await using load = new TenantLoad(service, [...here, ...there])
    await everybodyHasDone(load, [...here, ...there], 0)
    const session = (await authenticate('login', ADMIN)).body
    const [one, both] = [await createPerson([here[0]!]), await createPerson([there[0]!, here[0]!])]
    await holdWebhooks(load)
    for (const { tenant, subject, code } of await Promise.all(there.map(mailLast))) {
      expect(code).toBe(250)
      load.mailed.get(tenant.id)!.add(subject)
    }
    const before = await scrape(metrics_url)
    const start_ms = performance.now()
    await away.crash()
    const retry = await checkWhileAway(load)
    const during = [await scrape(metrics_url), await scrape(metrics_url)] as const
    await until('the log says once more that the node is away', () => linesOf(log_start, REMINDER).length >= 2)
    expect(faultsOf(load.since(start_ms), here)).toEqual([])
    expect((await authenticate('login', ADMIN)).status).toBe(200)
    expect((await authenticate('refresh', session)).status).toBe(200)
    await checkSignIn(one)
    await checkSignIn(both)

    const reminders = linesOf(log_start, REMINDER).length
    const minutes = (performance.now() - start_ms) / 60_000
    expect(reminders).toBeLessThanOrEqual(1 + minutes)
    expect(linesOf(log_start, 'a background job failed and will be tried again')).toEqual([])
    expect(linesOf(log_start, 'the outbox cannot be worked on just now')).toEqual([])

    await away.start()
    await checkReturn(load, retry, log_start)
    await checkListed(one)
    await checkListed(both)
    if (!PROMTOOL) return console.log('promtool is not installed: DeskwireMachineAway is not evaluated')
    const fired = fires('DeskwireMachineAway', before, [...during], await scrape(metrics_url))
    expect(fired).toEqual({ during: true, after: false })
  },
  900_000,
)

check(
  'one worker stops while the service is slow to ask: statements that wait long for others go on',
  async () => {
    const [tenant] = here as [Tenant]
    const path = `/tickets/${tenant.ticket_id}`
    const coordinator = connect()
    // A database without Citus, whose sessions do not ask for the machines.
    const plain = connect(new URL('/postgres', machines.url).href)
    const worker = connect(new URL('/deskwire', machines.workers[0]!.url).href)
    try {
      const [asking, locking] = await Promise.all([coordinator.reserve(), worker.reserve()])
      const [shard] = await asking<[{ name: string }]>`
        select shard_name('tickets', get_shard_id_for_distribution_column('tickets', ${tenant.id}::uuid)) as name`
      await locking`begin`
      await locking`select from ${worker(shard.name)} where id = ${tenant.ticket_id} for update`
      await asking`begin`
      await asking`lock table pg_dist_node in access exclusive mode`
      await away.crash()
      await until('the question waits', async () => {
        const asked = await plain`
          select from pg_stat_activity where query like '%citus_check_connection_to_node%' and pid <> pg_backend_pid()
            and wait_event_type = 'Lock' and clock_timestamp() - query_start > interval '5 seconds'`
        return asked.length > 0
      })
      const sent_ms = performance.now()
      let answer: Awaited<ReturnType<typeof ask>> | undefined
      const waiting = ask(service, tenant.id, 'PATCH', path, { subject: 'Waits' }).then((given) => (answer = given))
      await asking`commit`
      await until('the service knows', async () => {
        return (await (await fetch(`${service.url}/readyz`)).json()).machines_away === 1
      })
      await until('the request has waited', () => answer !== undefined || performance.now() - sent_ms > 8000)
      expect(answer).toBeUndefined()
      await locking`commit`
      expect((await waiting).status).toBe(200)
    } finally {
      await Promise.all([coordinator, plain, worker].map((sql) => sql.end({ timeout: 0 })))
    }
  },
  300_000,
)

check(
  'one worker hangs: the organizations of the other wait for seconds, and then go on',
  async () => {
    const log_start = service.output().length
    await using load = new TenantLoad(service, [...here, ...there])
    await everybodyHasDone(load, [...here, ...there], 0)
    const people = [await createPerson([here[0]!]), await createPerson([there[0]!, here[0]!])]
    await holdWebhooks(load)
    away.freeze()
    try {
      const retry = await checkWhileAway(load)
      // Whatever waited for the machine has ended by then, and nothing more is sent to it.
      const known_ms = performance.now()
      for (const person of people) await checkSignIn(person)
      // More than there are connections, of a member of all organizations.
      const sign_ins = await Promise.all(Array.from({ length: 12 }, () => authenticate('login', ADMIN)))
      // So many at once from one address are limited.
      expect(sign_ins.filter(({ status }) => status !== 200 && status !== 429)).toEqual([])
      expect(sign_ins.filter(({ status }) => status === 200)).not.toEqual([])
      await everybodyHasDone(load, here, known_ms)
      expect(faultsOf(load.since(known_ms), here)).toEqual([])
      const metrics = await (await fetch(metrics_url)).text()
      expect(metrics).toContain('deskwire_database_up 1')
      away.thaw()
      await checkReturn(load, retry, log_start)
      for (const person of people) await checkListed(person)
    } finally {
      away.thaw()
    }
  },
  900_000,
)

/** Each organization has done a whole round of steps that began after the time, whatever the answers were. */
function everybodyHasDone(load: TenantLoad, tenants: Tenant[], since_ms: number): Promise<void> {
  return until('each organization has done all steps', () => {
    const done = load.since(since_ms)
    return tenants.every(
      (tenant) => new Set(done.filter((step) => step.tenant === tenant).map(({ what }) => what)).size === 5,
    )
  })
}

/** Lets webhooks of the machine wait: the receiver has refused one of each organization. */
async function holdWebhooks(load: TenantLoad): Promise<void> {
  for (const { id } of there) held.add(id)
  const before = receiver.requests.length
  const refused = () => new Set(receiver.requests.slice(before).map(({ path }) => path.split('/').at(-1)!))
  await until('webhooks are refused', () => there.every(({ id }) => refused().has(id)))
  expect(load.steps.filter(({ status }) => status === 0 || status === 500)).toEqual([])
}

async function mailLast(tenant: Tenant) {
  const subject = `last ${crypto.randomUUID()}`
  return { tenant, subject, ...(await mailTo(service, tenant.mailbox, subject)) }
}

/** Work that could not be done while the machine was away, to be done again after its return. */
type Retry = {
  tenant: Tenant
  subject: string
  headers: Record<string, string>
  both: Awaited<ReturnType<typeof mailBoth>>
}

/** Waits until the service knows that the machine is away, and checks what is answered then. */
async function checkWhileAway(load: TenantLoad): Promise<Retry> {
  const readyz = () => fetch(`${service.url}/readyz`)
  await until('the service knows', async () => (await (await readyz()).json()).machines_away === 1)
  const known_ms = performance.now()
  expect((await readyz()).status).toBe(200)
  expect((await fetch(`${service.url}/healthz`)).status).toBe(200)
  const metrics = await (await fetch(metrics_url)).text()
  expect(metrics).toContain(`deskwire_database_machine_up{machine="${away.name}"} 0`)
  expect(metrics).toContain(`deskwire_database_machine_up{machine="${here[0]!.machine}"} 1`)

  await everybodyHasDone(load, there, known_ms)
  await everybodyHasDone(load, here, known_ms)
  const [tenant] = there as [Tenant]
  const subject = `again ${crypto.randomUUID()}`
  const headers = { 'idempotency-key': crypto.randomUUID() }
  const body = { subject, contact_id: tenant.contact_id }
  const refused = await ask(service, tenant.id, 'POST', '/tickets', body, headers)
  expect([refused.status, refused.body.error.code, refused.headers.get('retry-after')]).toEqual([
    503,
    'SERVICE_UNAVAILABLE',
    '5',
  ])
  const both = await mailBoth(load)

  const answered = load.since(known_ms).filter((step) => there.includes(step.tenant))
  for (const { what, status, text } of answered) {
    expect([what, status]).toEqual([what, what === 'mail' ? 451 : 503])
    if (what !== 'mail') expect(JSON.parse(text)).toMatchObject({ error: { code: 'SERVICE_UNAVAILABLE', details: {} } })
  }
  return { tenant, subject, headers, both }
}

/** One mail to an organization of each machine: it is taken for the one, and put off for the other. */
async function mailBoth(load: TenantLoad) {
  const to = [here[0]!.mailbox, there[0]!.mailbox]
  const subject = `both ${crypto.randomUUID()}`
  const sent = await mailTo(service, to, subject)
  expect(Object.values(sent.recipients).map((reply) => reply.slice(0, 3))).toEqual(['250', '451'])
  expect(sent.code).toBe(250)
  load.mailed.get(here[0]!.id)!.add(subject)
  return { to: to[1]!, subject }
}

/** After the return of the machine: its organizations are served, and everything is worked off. */
async function checkReturn(
  load: TenantLoad,
  { tenant, subject, headers, both }: Retry,
  log_start: number,
): Promise<void> {
  held.clear()
  await until('the service knows that the machine is back', async () => {
    return (await (await fetch(`${service.url}/readyz`)).json()).machines_away === undefined
  })
  const back_ms = performance.now()
  await everybodyHasDone(load, [...here, ...there], back_ms)
  expect(faultsOf(load.since(back_ms), [...here, ...there])).toEqual([])
  await load.stop()

  const body = { subject, contact_id: tenant.contact_id }
  const first = await ask(service, tenant.id, 'POST', '/tickets', body, headers)
  const second = await ask(service, tenant.id, 'POST', '/tickets', body, headers)
  expect([first.status, second.status, second.body.data?.id]).toEqual([201, 201, first.body.data.id])
  load.created.get(tenant.id)!.add(subject)
  expect((await mailTo(service, both.to, both.subject)).code).toBe(250)
  load.mailed.get(tenant.id)!.add(both.subject)

  await checkWorkedOff(machines.url, [...here, ...there], { load, requests: receiver.requests })
  expect(load.steps.filter(({ status }) => status === 0 || status === 500)).toEqual([])
  const errors = linesOf(log_start).filter(
    ({ level, msg, status }) => level === 'error' && !(msg === 'request' && status === 503),
  )
  expect(errors.filter(({ error }) => !LOST.test(error?.code ?? ''))).toEqual([])
}

/** Steps that were not done, by organizations that are to be served. */
function faultsOf(steps: Step[], tenants: Tenant[]) {
  return steps
    .filter(
      ({ tenant, status, what }) =>
        tenants.includes(tenant) && (what === 'mail' ? status !== 250 : status >= 300 || status === 0),
    )
    .map(({ what, status, text }) => [what, status, text])
}

type Line = { level: string; msg: string; status?: number; error?: { code?: string } }

/** Lines of the log from a place on. */
function linesOf(start: number, msg?: string): Line[] {
  const lines = service
    .output()
    .slice(start)
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
  return lines.map((line) => JSON.parse(line)).filter((line) => msg === undefined || line.msg === msg)
}

/** A person who signs in for the first time, and the organizations with the oldest membership first. */
type Person = { id: string; email: string; password: string; tenants: Tenant[] }

/** Makes an account with a membership in each of the organizations. */
async function createPerson(tenants: Tenant[]): Promise<Person> {
  const email = `${crypto.randomUUID()}@deskwire.example`
  const { password } = ADMIN
  const [first, ...others] = tenants
  const { status, body } = await ask(service, first!.id, 'POST', '/users', { email, name: 'Alan', password })
  expect(status).toBe(201)
  const { id } = body.data
  const sql = connect()
  try {
    for (const other of others)
      await sql`insert into memberships (organization_id, user_id) values (${other.id}, ${id})`
  } finally {
    await sql.end()
  }
  return { id, email, password, tenants }
}

/** One connection, to the coordinator unless given. */
function connect(url = machines.url): postgres.Sql {
  return postgres(url, { max: 1, onnotice: () => {} })
}

/** While the machine is away, a person signs in, refreshes, and works in the organizations of the others. */
async function checkSignIn({ email, password, tenants }: Person): Promise<void> {
  const signed_in = await authenticate('login', { email, password })
  expect([email, signed_in.status, signed_in.body.error]).toEqual([email, 200, undefined])
  const refreshed = await authenticate('refresh', signed_in.body)
  expect(refreshed.status).toBe(200)
  const get = async (path: string, organization_id = '') => {
    const headers = { authorization: `Bearer ${refreshed.body.access_token}`, 'x-organization-id': organization_id }
    return (await fetch(`${service.url}/api/v1${path}`, { headers })).status
  }
  expect(await get('/auth/me')).toBe(200)
  for (const tenant of tenants) expect(await get('/tickets', tenant.id)).toBe(here.includes(tenant) ? 200 : 503)
}

/** The log of each organization has the only sign-in of a person once. */
async function checkListed({ id, tenants }: Person): Promise<void> {
  const listed = async ({ id: organization_id }: Tenant): Promise<{ id: string }[]> =>
    (await ask(service, organization_id, 'GET', `/audit-log?actor_id=${id}&action=auth.login`)).body.data
  for (const tenant of tenants) await until('the sign-in is listed', async () => (await listed(tenant)).length > 0)
  const [first, ...others] = await Promise.all(tenants.map(listed))
  expect(first).toHaveLength(1)
  for (const other of others) expect(other).toEqual(first!)
}

/** A request without a session. */
async function authenticate(what: string, body: unknown) {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${service.url}/api/v1/auth/${what}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  })
  return { status: response.status, body: await response.json() }
}
