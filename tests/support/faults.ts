/** A service with a database of its own and a network that can be cut, and faults that meet it in its work. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Scope, SYSTEM } from '../../src/base/scope'
import { buildGates, type Moment } from './gates'
import { startOwnPostgres } from './own-postgres'
import { freePort } from './ports'
import { type Service, startService, until } from './service'
import { startTcpProxy } from './tcp-proxy'

/** A stop of the work: tells if the work has come to it, and lets it go on. */
export type Stop = { isReached(): boolean | Promise<boolean>; open(): unknown }

/** The event that happens while the work is stopped. */
export type Strike = 'kill' | 'database' | 'network'

export type FaultyService = {
  /** The one of now. Its ports stay the same. */
  service(): Service
  /** The organization of the service, on a connection that no fault cuts. */
  scope: Scope
  /** Ids of jobs that a process had leased when it was killed. These alone may be done twice. */
  leased: Set<string>
  stopAt(moment: Moment): Promise<Stop>
  /** Waits until the work has come to the stop, and does to it what the strike says. Returns when all is up again. */
  strike(strike: Strike, stop: Stop, cut_ms: number): Promise<void>
  /** Resolves when no work is left. Time is moved on, so that no retry is waited for. */
  untilDone(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** @param env settings of the service */
export async function startFaultyService(env: Record<string, string>): Promise<FaultyService> {
  const dir = mkdtempSync(path.join(tmpdir(), 'faults-'))
  // As root the server runs as another user, who has to get in.
  const DATA_DIR = path.join(dir, 'data')
  mkdirSync(DATA_DIR, { mode: 0o755 })
  const database = await startOwnPostgres(path.join(dir, 'server'), { max_connections: '60' })
  const proxy = await startTcpProxy(database.url)
  const gates = await buildGates(database.url)
  const start = async () => startService({ ...given, ...env })
  const given = {
    DATABASE_URL: proxy.url,
    SECRET_KEY: 'a secret key that only tests use',
    DATA_DIR,
    PORT: String(await freePort()),
    SMTP_PORT: String(await freePort()),
    LOG_LEVEL: 'fatal',
  }
  let service = await start()
  const { sql } = gates
  const [organization] = await sql<{ id: string }[]>`select id from organizations`
  const leased = new Set<string>()

  /** As if the leases of the dead process had run out, of jobs and of idempotency keys. */
  const endLeases = async () => {
    await until('the server is done with the killed process', gates.isDeserted)
    const rows = await sql<{ id: string }[]>`
      update outbox set lease_until = now() - interval '1 second' where lease_until > now() returning id`
    for (const { id } of rows) leased.add(id)
    await sql`update idempotency_keys set lease_until = now() where lease_until > now()`
  }

  return {
    service: () => service,
    scope: { sql, organization_id: organization!.id, actor: SYSTEM } as unknown as Scope,
    leased,
    stopAt: gates.close,
    async strike(strike, stop, cut_ms) {
      await until('the work has come to the stop', async () => stop.isReached())
      if (strike === 'kill') {
        await service.kill()
        await stop.open()
        await endLeases()
        service = await start()
      } else if (strike === 'database') {
        database.crash()
        await stop.open()
        await database.back()
      } else {
        proxy.cut()
        await stop.open()
        await Bun.sleep(cut_ms)
        proxy.mend()
      }
    },
    untilDone: () =>
      until('the outbox is empty', async () => {
        await sql`update outbox set run_at = now() where run_at > now()`
        return (await sql`select from outbox limit 1`).length === 0
      }),
    async [Symbol.asyncDispose]() {
      await service.stop()
      await gates[Symbol.asyncDispose]()
      proxy[Symbol.dispose]()
      await database.stop()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
