/** Processes that drain an outbox, the accidents that can happen to them, and what must be true afterwards. */
import { expect } from 'bun:test'
import path from 'node:path'
import { newId } from '../../src/base/db/columns'
import { driverPool } from '../../src/base/db/pool'
import { inTransaction, type Scope } from '../../src/base/scope'
import { publish } from '../../src/delivery/webhooks/publish'
import { statementsWaiting } from './lock-waits'
import { LOOPBACK_SETTING, type ReceivedRequest, type Receiver } from './receiver'
import { until } from './service'

export type DrainProcess = {
  /** The log that it wrote. */
  output(): string
  /** SIGKILL, and waits for the end. */
  kill(): Promise<void>
  /** SIGTERM; resolves to the exit code. */
  stop(): Promise<number>
  /** SIGSTOP: it stays as it is. */
  freeze(): void
  /** SIGCONT. */
  thaw(): void
}

/** Names of the connections of processes that were killed. */
const killed: string[] = []

/** Starts a process that drains the outbox of a database until it is stopped. `await using` kills it. */
export function startDrainProcess(
  database_url: string,
  receiver: Receiver,
  env: Record<string, string> = {},
): DrainProcess & AsyncDisposable {
  const name = `drain-${crypto.randomUUID()}`
  const url = new URL(database_url)
  url.searchParams.set('application_name', name)
  const child = Bun.spawn([process.execPath, '--no-orphans', path.join(import.meta.dir, 'drain-process.ts')], {
    env: {
      ...process.env,
      NODE_ENV: 'test',
      DATABASE_URL: url.href,
      SECRET_KEY: 'a secret key that only tests use',
      WEBHOOK_ALLOWED_NETWORKS: LOOPBACK_SETTING,
      WEBHOOK_CA_FILE: receiver.ca_file,
      BUN_CONFIG_MAX_HTTP_REQUESTS: '2048',
      LOG_LEVEL: 'warn',
      LOG_FORMAT: 'json',
      ...env,
    },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  let output = ''
  const read = async () => {
    const decoder = new TextDecoder()
    for await (const chunk of child.stdout) output += decoder.decode(chunk, { stream: true })
  }
  void read()
  const kill = async () => {
    child.kill('SIGKILL')
    await child.exited
    killed.push(name)
  }
  return {
    output: () => output,
    kill,
    stop() {
      child.kill('SIGTERM')
      return child.exited
    },
    freeze: () => child.kill('SIGSTOP'),
    thaw: () => child.kill('SIGCONT'),
    [Symbol.asyncDispose]: kill,
  }
}

/** Webhooks of the scope's organization, each with its own path at the receiver. */
export async function insertWebhooks(
  { sql, organization_id }: Scope,
  receiver: Receiver,
  count = 1,
): Promise<string[]> {
  const ids = Array.from({ length: count }, newId)
  const urls = ids.map((id) => `${receiver.url}/${id}`)
  await sql`
    insert into webhooks (organization_id, id, url, events)
    select ${organization_id}::uuid, id, url, array['ticket.created']
    from unnest(${ids}::uuid[], ${urls}::text[]) as x (id, url)`
  return ids
}

/** Events that are committed together: for each subscribed webhook as many deliveries. */
export async function emitMany(scope: Scope, count: number): Promise<void> {
  const events = Array.from({ length: count }, (_, n) => ({ type: 'ticket.created' as const, data: { n } }))
  await inTransaction(scope, (scope) => publish(scope, events))
}

/** As if the leases of dead or frozen processes had run out. The last statement of a dead one may still take some. */
export async function endLeases({ sql }: Scope): Promise<void> {
  await until('the server is done with killed processes', async () => {
    return (await sql`select from pg_stat_activity where application_name = any(${killed})`).length === 0
  })
  await sql`update outbox set lease_until = now() - interval '1 second' where lease_until > now()`
}

/** Begins a transaction that holds what `statement` locks. @returns what ends it without a trace */
export async function holdLock(statement: string): Promise<() => Promise<void>> {
  const holder = await driverPool().reserve()
  await holder`begin`
  await holder.unsafe(statement)
  return async () => {
    await holder`rollback`
    holder.release()
  }
}

/** Resolves when `count` statements that contain `text` wait for a lock. */
export async function untilBlocked({ sql }: Pick<Scope, 'sql'>, text: string, count = 1): Promise<void> {
  await until(`${count} statements with "${text}" wait`, async () => {
    const waiting = await statementsWaiting(sql)
    return waiting.filter((statement) => statement.includes(text)).length >= count
  })
}

/** Resolves when an organization has no work left. */
export async function untilDone({ sql, organization_id }: Scope): Promise<void> {
  const isDone = async () => {
    const left = await sql`select from outbox where organization_id = ${organization_id} limit 1`
    return left.length === 0
  }
  await until('the outbox is empty', isDone)
}

type LoggedDelivery = {
  id: string
  status: string
  body: string
  attempts: number
  /** Numbers of the attempts that were recorded. */
  log: number[]
  /** Response codes of the attempts that were recorded, in order. */
  codes: (number | null)[]
  /** Attempts of its outbox row; null without one. */
  queued_attempts: number | null
}

/**
 * Checks what holds after every fault: each delivery of the organization has ended or has a row in the outbox, its
 * attempts are recorded one by one, what succeeded was received, every request carried the committed bytes, and nothing
 * was received that was not committed.
 * @returns the deliveries, the oldest first
 */
export async function checkDeliveries(
  { sql, organization_id }: Scope,
  requests: ReceivedRequest[],
): Promise<LoggedDelivery[]> {
  const deliveries = await sql<LoggedDelivery[]>`
    select d.id, d.status, e.body, d.attempts, o.attempts as queued_attempts,
      array(
        select attempt from delivery_attempts a
        where a.organization_id = d.organization_id and a.delivery_id = d.id order by attempt
      ) as log,
      array(
        select response_code from delivery_attempts a
        where a.organization_id = d.organization_id and a.delivery_id = d.id order by attempt
      ) as codes
    from deliveries d
    join events e on e.organization_id = d.organization_id and e.id = d.event_id
    left join outbox o on o.organization_id = d.organization_id and o.id = d.id
    where d.organization_id = ${organization_id}
    order by d.id`
  const received = Map.groupBy(requests, (request) => request.headers.get('x-service-delivery')!)
  for (const { id, status, body, attempts, log, queued_attempts } of deliveries) {
    expect(log).toEqual(Array.from({ length: attempts }, (_, n) => n + 1))
    const waits = status === 'pending' || status === 'retrying'
    expect(queued_attempts).toBe(waits ? attempts : null)
    const sent = received.get(id) ?? []
    expect(sent.length).toBeGreaterThanOrEqual(log.length)
    for (const request of sent) expect(Buffer.from(request.body).toString()).toBe(body)
  }
  const committed = new Set(deliveries.map(({ id }) => id))
  expect([...received.keys()].filter((id) => !committed.has(id))).toEqual([])
  return [...deliveries]
}
