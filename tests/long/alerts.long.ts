/**
 * Every alert of the guide fires while its fault lasts, and is quiet once it is mended: real faults of a real service,
 * its own figures, and Prometheus's own rules. What each alert names as a sign that all is well is there then.
 */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import postgres from 'postgres'
import { fires, PROMTOOL, type Scrape, scrape } from '../support/alert-evaluation'
import { readRules } from '../support/alerts'
import { runCli } from '../support/backups'
import { issueCertificate, issueEndingCertificate } from '../support/certificates'
import { WHY_NO_FAKETIME, wrongClock } from '../support/faketime'
import { type OwnPostgres, startOwnPostgres } from '../support/own-postgres'
import { freePort } from '../support/ports'
import { type Receiver, startReceiver } from '../support/receiver'
import { type RedisServer, startRedis, WHY_NO_REDIS } from '../support/redis'
import { type Service, startService, until } from '../support/service'
import { type SmtpSink, sendMail, startSmtpSink } from '../support/smtp'

/** Their faults are made where a cluster is (machine-away.long.ts), and in the tests of the backup and of the log. */
const ELSEWHERE = /^Deskwire(MachineAway|LogDropped|Backup.*)$/
const RAW = 'From: ann@customer.example\r\nSubject: Hello\r\n\r\nHello\r\n'

if (!PROMTOOL) console.log('promtool is not installed: the alerts are not evaluated')
const check = test.skipIf(!PROMTOOL)

let dir: string
let database: OwnPostgres
let sink: SmtpSink
let receiver: Receiver
const running: Service[] = []
const tried = new Set<string>()

beforeAll(async () => {
  if (!PROMTOOL) return
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'alerts-'))
  fs.chmodSync(dir, 0o711)
  database = await startOwnPostgres(path.join(dir, 'database'))
  sink = await startSmtpSink()
  receiver = await startReceiver()
})
afterEach(async () => {
  receiver?.[Symbol.dispose]()
  receiver = await startReceiver()
  sink?.answer()
  await Promise.all(running.splice(0).map((service) => service.kill()))
})
afterAll(async () => {
  receiver?.[Symbol.dispose]()
  sink?.[Symbol.dispose]()
  await database?.stop()
  if (dir) fs.rmSync(dir, { recursive: true, force: true })
})

type Started = Service & { metrics: string; env: Record<string, string>; sql: postgres.Sql; scrape(): Promise<Scrape> }

/** A service on a database of its own, with figures. */
async function start(more: Record<string, string> = {}): Promise<Started> {
  const [port, smtp_port, metrics_port] = [await freePort(), await freePort(), await freePort()].map(String)
  const data_dir = path.join(dir, crypto.randomUUID())
  fs.mkdirSync(data_dir)
  const env: Record<string, string> = {
    ...{
      DATABASE_URL: await database.createDatabase(),
      SECRET_KEY: 'a secret key that only tests use',
      DATA_DIR: data_dir,
    },
    ...{ PORT: port!, SMTP_PORT: smtp_port!, METRICS_PORT: metrics_port!, HOST: '127.0.0.1' },
    ...{ WEBHOOK_CA_FILE: receiver.ca_file, RETRY_SCHEDULE_SECONDS: '0,0.1', EMAIL_INLINE_WAIT_MS: '1' },
    ...{
      BASE_URL: `http://127.0.0.1:${port}`,
      SMTP_ALLOWED_NETWORKS: '127.0.0.0/8',
      MAIL_ALLOWED_NETWORKS: '127.0.0.0/8',
    },
    ...{ WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8,::1', DNS_SERVERS: process.env.DNS_SERVERS ?? '' },
    ...more,
  }
  const service = await startService(env)
  running.push(service)
  const metrics = `http://127.0.0.1:${metrics_port}/metrics`
  const sql = postgres(env.DATABASE_URL!, { max: 3, onnotice: () => {} })
  return { ...service, metrics, env, sql, scrape: () => scrape(metrics) }
}

/** The deed that leads to an alert: `during` is called twice while the fault lasts, before each scrape. */
type Fault = { during(time: number): Promise<unknown>; mend(): Promise<unknown>; wait?(now: Scrape): boolean }

/** Makes the fault, and compares. @param instances of the scrapes besides the service's own */
async function fire(alerts: string[], service: Started, fault: Fault, take = () => service.scrape()): Promise<void> {
  const before = await take()
  await fault.during(0)
  await until(`figures of ${alerts}`, async () => fault.wait?.(await take()) ?? true)
  const first = await take()
  await fault.during(1)
  const second = await take()
  await fault.mend()
  for (const alert of alerts) {
    let fired: { during: boolean; after: boolean } | undefined
    // Figures of what waits follow within a second or two.
    await until(
      `${alert} is quiet again`,
      async () => {
        fired = fires(alert, before, [first, second], await take())
        return !fired.after
      },
      30_000,
    ).catch(() => {})
    expect([alert, fired]).toEqual([alert, { during: true, after: false }])
    tried.add(alert)
    // A disk that can be mounted here is small, which the doctor says however much is free.
    if (alert !== 'DeskwireDiskFills') await isWell(alert, service.env)
  }
}

/** Runs the command that the alert names, and looks for what it says that the command prints. */
async function isWell(alert: string, env: Record<string, string>): Promise<void> {
  const { well } = readRules().find((rule) => rule.alert === alert)!.annotations
  const [, figure, kind] = /^`cli outbox stats` prints `([^`]+)` in the line of `(\w+)`\.$/.exec(well) ?? []
  if (figure) {
    await until(`${alert}: ${well}`, async () => {
      const { stdout } = await runCli(['outbox', 'stats'], env)
      return stdout.split('\n').some((line) => line.includes(`"kind":"${kind}"`) && line.includes(figure))
    })
    return
  }
  const [, words, , checks] = /^`cli ([^`]+)`(.*?) names (.*) in its line `passed:`\.$/.exec(well) ?? []
  if (words === undefined) return
  let stdout = ''
  await until(
    `${alert}: ${well}`,
    async () => {
      stdout = (await runCli(words.split(' '), env)).stdout
      const passed = /^passed: (.*)$/m.exec(stdout)?.[1]?.split(', ') ?? []
      return checks!.split(' and ').every((name) => passed.includes(name.replaceAll('`', '')))
    },
    60_000,
  ).catch((error) => {
    throw new Error(`${error.message}\n${stdout}`)
  })
}

function has(samples: Scrape, pattern: RegExp, least = 1): boolean {
  return [...samples].some(([series, value]) => pattern.test(series) && value >= least)
}

function newLabel({ call }: Started, name: string) {
  return call('POST', '/labels', { name, color: '#123456' })
}

async function newTicket({ call }: Started, email = `${crypto.randomUUID()}@customer.example`): Promise<string> {
  const contact = await call('POST', '/contacts', { name: 'Ann', email })
  return (await call('POST', '/tickets', { subject: 'Hello', contact_id: contact.body.data.id })).body.data.id
}

const smtpTo = (port: number) => ({ host: '127.0.0.1', port, security: 'none' })

check('a service that is down', async () => {
  const service = await start()
  await fire(['DeskwireDown'], service, {
    during: (time) => (time === 0 ? service.kill() : Promise.resolve()),
    mend: async () => void running.push(await startService(service.env)),
  })
})

check('a database that is away: requests fail, and mail is put off', async () => {
  const service = await start()
  const away = (is_away: boolean) => async () => {
    const name = new URL(service.env.DATABASE_URL!).pathname.slice(1)
    await using server = disposable(postgres(database.url, { max: 1, onnotice: () => {} }))
    await server.sql.unsafe(`alter database ${name} with allow_connections ${!is_away}`)
    if (is_away) await server.sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`
  }
  await service.call('POST', '/mailboxes', { address: 'help@desk.example' })
  await fire(['DeskwireDatabaseDown', 'DeskwireRequestsFail', 'DeskwireMailPutOff'], service, {
    async during(time) {
      if (time === 0) await away(true)()
      await Promise.all(Array.from({ length: 5 }, () => service.call('GET', '/labels')))
      const mail = { from: 'ann@customer.example', to: 'help@desk.example', raw: RAW }
      expect((await sendMail({ port: service.smtp_port, ...mail })).response).toMatch(/^451/)
    },
    async mend() {
      await away(false)()
      await until('it answers', async () => (await service.call('GET', '/labels')).status === 200)
    },
  })
})

check('a mailbox that is switched off', async () => {
  const service = await start()
  const { id } = (await service.call('POST', '/mailboxes', { address: 'off@desk.example', active: false })).body.data
  const send = () =>
    sendMail({ port: service.smtp_port, from: 'ann@customer.example', to: 'off@desk.example', raw: RAW })
  await fire(['DeskwireMailboxRefuses'], service, {
    during: send,
    mend: () => service.call('PATCH', `/mailboxes/${id}`, { active: true }),
  })
  expect((await send()).code).toBe(250)
  const { stdout } = await runCli(['why', 'off@desk.example'], service.env)
  expect(stdout).toMatch(/accepted from .*\n.*\n?$/)
})

check('a mail server that is away, and emails that it refuses', async () => {
  const service = await start()
  const port = await freePort()
  const mailbox = { address: 'help@desk.example', is_default: true, smtp: smtpTo(port) }
  const { id } = (await service.call('POST', '/mailboxes', mailbox)).body.data
  const ticket_id = await newTicket(service)
  const write = () => service.call('POST', `/tickets/${ticket_id}/messages`, { body: 'Hello' })
  const useSink = () => service.call('PATCH', `/mailboxes/${id}`, { smtp: smtpTo(sink.port) })
  await fire(['DeskwireMailboxAtFault'], service, {
    during: write,
    wait: (now) => has(now, /^deskwire_outbox_rows\{.*kind="email".*state="parked"/),
    mend: useSink,
  })
  const email = 'nobody@gone.example'
  const gone = await newTicket(service, email)
  await fire(['DeskwireEmailFails'], service, {
    async during() {
      sink.answer(({ stage }) => (stage === 'rcpt' ? '550 5.1.1 Nobody' : undefined))
      for (let n = 0; n < 4; n++) await service.call('POST', `/tickets/${gone}/messages`, { body: 'Hello' })
      await until('they failed', async () => (await service.sql`select from outbox where kind = 'email'`).length === 0)
    },
    mend: async () => sink.answer(),
  })
  await service.call('POST', `/tickets/${gone}/messages`, { body: 'Hello' })
  await until('it is sent', async () =>
    (await runCli(['why', email], service.env)).stdout.includes('taken by the server'),
  )
})

check('secrets that no key opens: work is put off by a fault of its own', async () => {
  const service = await start()
  const webhook = { url: receiver.url, events: ['label.created'], secret: 'a secret of webhooks' }
  const { id } = (await service.call('POST', '/webhooks', webhook)).body.data
  const [{ secret }] = await service.sql<[{ secret: string }]>`select secret from webhooks where id = ${id}`
  await fire(['DeskwireOwnFaults'], service, {
    async during(time) {
      await service.sql`update webhooks set secret = ${`${secret.slice(0, -6)}AAAAAA`} where id = ${id}`
      await newLabel(service, `Label ${time}`)
    },
    wait: (now) => has(now, /^deskwire_outbox_attempts_total\{.*outcome="postponed"/),
    async mend() {
      await service.sql`update webhooks set secret = ${secret} where id = ${id}`
      await service.sql`update outbox set run_at = now()`
    },
  })
})

check('a webhook that fails for good, and its work that is late', async () => {
  const service = await start()
  receiver.answer = 500
  const made = await service.call('POST', '/webhooks', { url: receiver.url, events: ['label.created'] })
  const { id } = made.body.data
  let count = 0
  const label = () => newLabel(service, `Label ${++count}`)
  await fire(['DeskwireWebhookFailed'], service, {
    during: label,
    wait: (now) => has(now, /^deskwire_webhook_deliveries_exhausted_total/),
    async mend() {
      receiver.answer = 200
      await service.call('PATCH', `/webhooks/${id}`, { active: true })
    },
  })
  // It answers nothing for as long as the attempts may take, and the time passes faster here.
  receiver.answer = 'hang' as never
  await fire(['DeskwireWorkWaits'], service, {
    async during() {
      for (let n = 0; n < 40; n++) await label()
      await service.sql`update outbox set run_at = run_at - interval '10 minutes' where lease_until < now()`
    },
    wait: (now) => has(now, /^deskwire_outbox_oldest_due_seconds\{.*kind="webhook"/, 300),
    async mend() {
      receiver.answer = 200
      await service.call('PATCH', `/webhooks/${id}`, { active: false })
    },
  })
})

check(
  'no receiver of webhooks can be reached',
  async () => {
    const service = await start()
    const ports = await Promise.all(Array.from({ length: 5 }, () => freePort()))
    // One organization alone: its hosts are counted.
    const hosts = ['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5']
    const ids: string[] = []
    for (const [n, host] of hosts.entries()) {
      const made = await service.call('POST', '/webhooks', {
        url: `https://${host}:${ports[n]}/`,
        events: ['label.created'],
      })
      ids.push(made.body.data.id)
    }
    let count = 0
    await fire(['DeskwireWebhooksUnreachable'], service, {
      during: () => newLabel(service, `Label ${++count}`),
      wait: (now) => has(now, /^deskwire_webhook_outage/),
      async mend() {
        for (const id of ids) await service.call('DELETE', `/webhooks/${id}`)
        const made = await service.call('POST', '/webhooks', { url: receiver.url, events: ['label.created'] })
        expect(made.status).toBe(201)
        await newLabel(service, 'Reached')
        await until('the outage ends', async () => !has(await service.scrape(), /^deskwire_webhook_outage/), 200_000)
      },
    })
  },
  300_000,
)

check('a store that cannot be written', async () => {
  const service = await start()
  await service.call('POST', '/mailboxes', { address: 'help@desk.example' })
  const [store, aside] = [path.join(service.env.DATA_DIR!, 'attachments'), path.join(service.env.DATA_DIR!, 'aside')]
  const send = () =>
    sendMail({ port: service.smtp_port, from: 'ann@customer.example', to: 'help@desk.example', raw: RAW })
  expect((await send()).code).toBe(250)
  await until('it is filed', async () => (await service.sql`select from outbox`).length === 0)
  await fire(['DeskwireStoreFails'], service, {
    async during(time) {
      if (time === 0) {
        fs.renameSync(store, aside)
        fs.writeFileSync(store, '')
      }
      expect((await send()).code).toBe(451)
    },
    async mend() {
      fs.rmSync(store)
      fs.renameSync(aside, store)
    },
  })
})

check('mail that is accepted and cannot be filed', async () => {
  const service = await start()
  await service.call('POST', '/mailboxes', { address: 'help@desk.example' })
  const mail = { from: 'ann@customer.example', to: 'help@desk.example', raw: RAW }
  // The database refuses its ticket. The time passes faster here.
  await fire(['DeskwireMailNotFiled'], service, {
    async during(time) {
      if (time > 0) return
      await service.sql`alter table tickets add constraint refuses check (subject is null) not valid`
      expect((await sendMail({ port: service.smtp_port, ...mail })).code).toBe(250)
      await until('it was tried', async () => (await service.sql`select from outbox where attempts > 0`).length === 1)
      await service.sql`update outbox set queued_at = queued_at - interval '20 minutes'`
    },
    wait: (now) => has(now, /^deskwire_outbox_oldest_queued_seconds\{.*kind="inbound"/, 900),
    async mend() {
      await service.sql`alter table tickets drop constraint refuses`
      await service.sql`update outbox set run_at = now()`
      await until('it is filed', async () => (await service.sql`select from outbox`).length === 0)
    },
  })
})

check('transactions that wait for a connection, and requests that take long', async () => {
  const service = await start({ DATABASE_POOL: '3' })
  const { id } = (await newLabel(service, 'Held')).body.data
  await fire(['DeskwireRequestsSlow', 'DeskwirePoolBusy'], service, {
    async during() {
      const held = service.sql.begin(async (sql) => {
        await sql`select from labels where id = ${id} for update`
        await Bun.sleep(4000)
      })
      const names = Array.from({ length: 12 }, (_, n) => service.call('PATCH', `/labels/${id}`, { name: `Held ${n}` }))
      await Promise.all([held, ...names])
    },
    mend: () => service.call('GET', '/labels'),
  })
})

check(
  'a process that stands still, and one that dies with work in its hands',
  async () => {
    const service = await start()
    await fire(['DeskwireEventLoopLags'], service, {
      async during() {
        for (let n = 0; n < 3; n++) {
          process.kill(service.process.pid!, 'SIGSTOP')
          await Bun.sleep(1500)
          process.kill(service.process.pid!, 'SIGCONT')
          await Bun.sleep(200)
        }
      },
      mend: async () => void (await service.scrape()),
    })
    receiver.answer = 'hang' as never
    await service.call('POST', '/webhooks', { url: receiver.url, events: ['label.created'] })
    let next: Started | undefined
    await fire(['DeskwireProcessStandsStill'], service, {
      async during(time) {
        if (time > 0) return
        await newLabel(service, 'Leased')
        await receiver.waitFor(1)
        await service.kill()
        receiver.answer = 200
        const started = await startService(service.env)
        running.push(started)
        next = { ...service, ...started }
      },
      wait: (now) => has(now, /^deskwire_outbox_leases_expired_total/),
      mend: async () => void (await next!.scrape()),
    })
  },
  240_000,
)

check(
  'a clock that is wrong, a certificate that ends, a disk that fills, and a Redis that is away',
  async () => {
    const disk = path.join(dir, 'disk')
    fs.mkdirSync(disk)
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=400m', 'tmpfs', disk]).status === 0
    if (!mounted) console.log('a small disk cannot be mounted here: DeskwireDiskFills is not tried')
    const redis: RedisServer | undefined = WHY_NO_REDIS ? undefined : await startRedis()
    if (!redis) console.log(`${WHY_NO_REDIS}: DeskwireRedisDown is not tried`)
    const tls = { TLS_CERT_FILE: path.join(dir, 'tls.crt'), TLS_KEY_FILE: path.join(dir, 'tls.key') }
    const put = async ({ cert, key }: { cert: string; key: string }) => {
      fs.writeFileSync(tls.TLS_KEY_FILE, key)
      fs.writeFileSync(tls.TLS_CERT_FILE, cert)
    }
    await put(await issueEndingCertificate(200))
    try {
      const service = await start({
        ...tls,
        ...(redis && { REDIS_URL: redis.url }),
        ...(mounted && { DATA_DIR: disk }),
        BASE_URL: 'https://localhost',
      })
      const expiry = /^deskwire_tls_certificate_expiry_timestamp_seconds/
      await fire(['DeskwireCertificateEnds'], service, {
        during: async (time) => void (time === 0 && (await put(await issueCertificate()))),
        wait: (now) => !has(now, expiry, 14 * 86_400),
        mend: async () => {
          await put(await issueEndingCertificate(200))
          await until('it is read', async () => has(await service.scrape(), expiry, 14 * 86_400))
        },
      })
      if (redis) {
        await fire(['DeskwireRedisDown'], service, {
          during: (time) => (time === 0 ? redis.stop() : Promise.resolve()),
          wait: (now) => !has(now, /^deskwire_redis_up/),
          mend: async () => {
            await redis.start()
            await until('it is back', async () => has(await service.scrape(), /^deskwire_redis_up/))
          },
        })
      } else tried.add('DeskwireRedisDown')
      if (mounted) {
        await fire(['DeskwireDiskFills'], service, {
          during: async () => fs.writeFileSync(path.join(disk, 'fill'), Buffer.alloc(380 * 1024 ** 2)),
          mend: async () => fs.rmSync(path.join(disk, 'fill')),
        })
      } else tried.add('DeskwireDiskFills')
      await service.stop()
    } finally {
      await redis?.stop()
      if (mounted) spawnSync('umount', ['-l', disk])
    }
  },
  240_000,
)

check(
  'a clock that is wrong',
  async () => {
    if (WHY_NO_FAKETIME) {
      tried.add('DeskwireClockWrong')
      return console.log(`${WHY_NO_FAKETIME}: DeskwireClockWrong is not tried`)
    }
    const service = await start()
    const right = await service.scrape()
    const wrong = await start(wrongClock('+60s'))
    let current = wrong
    const figure = /^deskwire_clock_offset_seconds/
    await until(
      'it is measured',
      async () => has(await wrong.scrape(), figure, 5) || has(await wrong.scrape(), figure, -1e9),
    )
    let step = 0
    const take = async () => (step++ === 0 ? right : current.scrape())
    await fire(
      ['DeskwireClockWrong'],
      service,
      {
        during: async () => {},
        async mend() {
          current = service
        },
      },
      take,
    )
  },
  120_000,
)

check(
  'processes of different builds',
  async () => {
    const service = await start()
    const copy = path.join(dir, 'other-build')
    fs.mkdirSync(copy)
    const root = path.join(import.meta.dirname, '../..')
    fs.cpSync(path.join(root, 'src'), path.join(copy, 'src'), { recursive: true })
    fs.writeFileSync(path.join(copy, 'src/commit'), '0123456789abcdef')
    for (const name of ['node_modules', 'drizzle', 'package.json', 'tsconfig.json', 'bunfig.toml', 'bun.lock']) {
      fs.symlinkSync(path.join(root, name), path.join(copy, name))
    }
    const [port, smtp_port, metrics_port] = [await freePort(), await freePort(), await freePort()].map(String)
    const env = { ...service.env, PORT: port!, SMTP_PORT: smtp_port!, METRICS_PORT: metrics_port! }
    let other: Service | undefined
    const both = async () => {
      const second = other ? await scrape(`http://127.0.0.1:${metrics_port}/metrics`, 'b') : []
      return new Map([...(await service.scrape()), ...second])
    }
    const fault: Fault = {
      async during(time) {
        if (time > 0) return
        other = await startService(env, path.join(copy, 'src/main.ts'))
        running.push(other)
      },
      async mend() {
        await other!.stop()
        other = undefined
      },
    }
    await fire(['DeskwireVersionsDiffer'], service, fault, both)
  },
  120_000,
)

check('no alert is left out', () => {
  const alerts = readRules().map(({ alert }) => alert)
  expect(alerts.filter((alert) => !tried.has(alert) && !ELSEWHERE.test(alert))).toEqual([])
})

function disposable(sql: postgres.Sql): AsyncDisposable & { sql: postgres.Sql } {
  return { sql, [Symbol.asyncDispose]: () => sql.end() }
}
