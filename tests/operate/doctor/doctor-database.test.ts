/** The findings of the doctor about faults that show in the database, each planted in one. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import postgres from 'postgres'
import { toNetwork } from '../../../src/base/address/networks'
import { config, readConfig } from '../../../src/base/config'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { useSecrets } from '../../../src/base/secrets'
import { checkClock, checkRole, checkServer } from '../../../src/operate/doctor/database-server'
import { checkDurability } from '../../../src/operate/doctor/durability'
import { examine } from '../../../src/operate/doctor/examine'
import { readFigures } from '../../../src/operate/doctor/figures'
import type { Finding } from '../../../src/operate/doctor/finding'
import { checkMailDns } from '../../../src/operate/doctor/mail-dns'
import { checkMailName } from '../../../src/operate/doctor/mail-name'
import { checkLetterWay, checkMailboxServers } from '../../../src/operate/doctor/mail-servers'
import { openForDoctor } from '../../../src/operate/doctor/open'
import { checkService } from '../../../src/operate/doctor/own-service'
import { checkMailboxDomains, checkProcesses } from '../../../src/operate/doctor/settings-fit'
import { checkStoredSecrets } from '../../../src/operate/doctor/stored-secrets'
import { checkWaitingWork } from '../../../src/operate/doctor/waiting-work'
import { checkWebhooks } from '../../../src/operate/doctor/webhook-health'
import { createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import { stepClock } from '../../support/clock'
import type { TestDatabase } from '../../support/database'
import { startDns } from '../../support/dns'
import { createMailbox } from '../../support/mail'
import { freePort } from '../../support/ports'
import { type ChangedSettings, withSettings } from '../../support/settings'
import { startSmtpSink } from '../../support/smtp'
import { createWebhook, emit } from '../../support/webhooks'

const KEY = 'a secret key that only tests use'
const OTHER_KEY = 'another secret key that only tests use'

let database: TestDatabase
let organization: Organization
let settings: ChangedSettings

beforeAll(async () => {
  database = await startApi()
  settings = withSettings({ SECRET_KEY: KEY })
})
afterAll(async () => {
  settings.restore()
  await stopApi()
})
beforeEach(async () => {
  await connection().sql`delete from outbox`
  await connection().sql`delete from webhooks`
  await connection().sql`delete from mailboxes`
  organization = await createOrganization()
})

/** Findings, short: level, message, action. */
function texts(findings: Finding[]): string[] {
  return findings.map(({ level, message, action }) => `${level}: ${message} -> ${action}`)
}

/** A session of its own. */
function session(options: postgres.Options<Record<string, postgres.PostgresType>> = {}, url = database.url) {
  const sql = postgres(url, { max: 1, onnotice: () => {}, ...options })
  return { sql: sql as never, [Symbol.asyncDispose]: () => sql.end({ timeout: 1 }) }
}

test('secrets of another SECRET_KEY are an error that says how many, and of which kinds', async () => {
  const { admin } = organization
  await createMailbox(admin, { smtp: { host: '127.0.0.1', port: 25, security: 'none', username: 'a', password: 'b' } })
  await createWebhook(admin, { secret: 'of a webhook' })
  expect(await checkStoredSecrets(connection())).toEqual([])
  useSecrets(OTHER_KEY)
  await createWebhook(admin, { secret: 'of another one' })
  const findings = await checkStoredSecrets(connection())
  expect(texts(findings)).toEqual([
    expect.stringMatching(
      /^error: 2 of 3 stored secrets cannot be decrypted with SECRET_KEY \(1 × password of a mailbox, 1 × secret of a webhook\).* -> Set SECRET_KEY to the key/,
    ),
  ])
  expect(findings[0]!.details!.keys).toHaveLength(2)
  useSecrets(OTHER_KEY, KEY)
  expect(texts(await checkStoredSecrets(connection()))).toEqual([
    expect.stringMatching(/^warning: The present SECRET_KEY has not encrypted 2 stored secrets yet.* secrets rotate/),
  ])
  using _ = withSettings({ SECRET_KEY: undefined, DATA_DIR: '/nonexistent' })
  expect(texts(await checkStoredSecrets(connection()))[0]).toStartWith('error: DATA_DIR has no file secret-key')
  useSecrets(KEY)
})

test('migrations that are missing, and those of a newer release, are errors, and nothing more is asked', async () => {
  const { sql } = connection()
  const [last] = await sql<{ id: number; hash: string; created_at: number }[]>`
    delete from drizzle.__drizzle_migrations where id = (select max(id) from drizzle.__drizzle_migrations) returning *`
  const missing = await examine(Promise.resolve(connection()))
  expect(texts(missing.findings)[0]).toMatch(/^error: The database lacks 1 migration of this release \(\d.* migrate\.$/)
  expect(missing.skipped).toContain('webhooks')
  await sql`insert into drizzle.__drizzle_migrations ${sql([last!, { id: 9999, hash: 'x', created_at: last!.created_at + 1 }])}`
  const newer = await examine(Promise.resolve(connection()))
  expect(texts(newer.findings)[0]).toMatch(
    /^error: The database was migrated by a newer release, .* \(1 of its migrations /,
  )
  await sql`delete from drizzle.__drizzle_migrations where id = 9999`
})

test('when every connection is in use, the cure is about connections', async () => {
  const { sql } = connection()
  const role = `few_${crypto.randomUUID().replaceAll('-', '')}`
  await sql.unsafe(`create role ${role} login password 'few' connection limit 0`)
  const url = new URL(database.url)
  Object.assign(url, { username: role, password: 'few' })
  await using few = session({}, url.href)
  const { findings } = await examine((few.sql as typeof sql)`select 1`.then(() => connection()))
  expect(texts(findings)[0]).toMatch(/^error: All connections .* are in use.* -> .*pg_stat_activity.*max_connections/)
  expect(texts(findings)[0]).not.toContain('Start the database')
  await sql.unsafe(`drop role ${role}`)
})

test('a server that takes no changes is found', async () => {
  expect(await checkServer(connection())).toEqual([])
  await using reader = session({ connection: { default_transaction_read_only: true } })
  expect(texts(await checkServer(reader as never))).toEqual([
    expect.stringMatching(/^error: The database takes no changes/),
  ])
})

test('processes that may open more connections than there are, and limits that they do not share, are found', async () => {
  await using one = session()
  await using two = session()
  for (const { sql } of [one, two] as { sql: postgres.Sql }[]) await sql.unsafe('listen "a channel"')
  using _ = withSettings({ DATABASE_POOL: 1000, REDIS_URL: undefined, RATE_LIMIT_PER_MINUTE: 100 })
  expect(texts(await checkServer(connection()))).toEqual([
    expect.stringMatching(
      /^warning: 2 processes of the service may open 2008 connections, .* -> Set DATABASE_POOL to \d+/,
    ),
  ])
  expect(texts(await checkProcesses(connection()))).toEqual([
    expect.stringMatching(/^warning: 2 processes of the service work, and REDIS_URL is not set/),
  ])
})

test('no service on this machine is an error, unless one works elsewhere', async () => {
  using _ = withSettings({ HOST: '127.0.0.1', PORT: await freePort(), SMTP_PORT: 0 })
  expect(texts(await checkService(connection()))).toEqual([
    expect.stringMatching(/^error: No service runs: nothing answers/),
  ])
  await using elsewhere = session()
  await (elsewhere.sql as postgres.Sql).unsafe('listen "a channel"')
  expect(await checkService(connection())).toEqual([])
})

test('a role that may not read, or does not own the tables, is found', async () => {
  const { sql } = connection()
  const role = `doctor_${newId().replaceAll('-', '')}`
  await sql.unsafe(`create role ${role} login password 'of the role'`)
  const url = new URL(database.url)
  url.username = role
  url.password = 'of the role'
  try {
    await using owner = session({}, url.href)
    expect(texts(await checkRole(owner as never))[0]).toMatch(
      /^error: The role doctor_\w+ may not read and write \d+ tables/,
    )
    await sql.unsafe(`grant all on all tables in schema public to ${role}`)
    expect(texts(await checkRole(owner as never))[0]).toMatch(/^warning: The role doctor_\w+ does not own \d+ tables/)
    expect(await checkRole(connection())).toEqual([])
  } finally {
    await sql.unsafe(`drop owned by ${role}; drop role ${role}`)
  }
})

test('a clock that is away from that of the database is a warning that says how far', async () => {
  expect(await checkClock(connection())).toEqual([])
  try {
    stepClock(3_600_000)
    expect(texts(await checkClock(connection()))).toEqual([
      expect.stringMatching(/^warning: The clock of this machine is 3600 s ahead of that of the database/),
    ])
    stepClock(-5000)
    expect(texts(await checkClock(connection()))[0]).toContain('is 5 s behind')
  } finally {
    stepClock(0)
  }
})

test('work that is due for long, and mail that is not filed, are found', async () => {
  const { sql, organization_id } = organization.scope
  expect(await checkWaitingWork(connection())).toEqual([])
  const row = (minutes: number, kind: string) => sql`
    insert into outbox (organization_id, id, kind, lane_id, run_at)
    values (${organization_id}, ${newId()}, ${kind}, ${organization_id}, now() - make_interval(mins => ${minutes}))`
  await row(5, 'letter')
  await row(20, 'inbound')
  expect(texts(await checkWaitingWork(connection()))).toEqual([
    expect.stringMatching(
      /^error: Work of kind inbound is late \(1 due, the oldest for 12\d\d s\): customers wait for a ticket\. Most waits for organization [\da-f-]+: 1/,
    ),
    expect.stringMatching(/^warning: Work of kind letter is late \(1 due, the oldest for 30\d s\)/),
  ])
  expect((await readFigures(connection())).top.waiting_organizations).toMatchObject([{ organization_id, due: 2 }])
})

test('webhooks that failed, fail now, or answer slowly are named, by id and host alone', async () => {
  const { admin, scope } = organization
  const { sql } = scope
  const [failed, slow] = [await createWebhook(admin), await createWebhook(admin)]
  expect(await checkWebhooks(connection())).toEqual([])
  for (let n = 0; n < 5; n++) await emit(scope)
  await sql`update webhooks set status = 'failed' where id = ${failed.id}`
  await sql`update outbox set run_at = 'infinity' where lane_id = ${failed.id}`
  await sql`
    update deliveries set status = 'retrying', attempts = 1, response_time_ms = 4000, error = 'timeout'
    where webhook_id = ${slow.id}`
  expect(texts(await checkWebhooks(connection()))).toEqual([
    expect.stringContaining(`1 failed webhook: nothing is sent to them, and what is held is cancelled after`),
    expect.stringContaining(`Receivers answer slowly: ${slow.id} (receiver.example): 4000 ms on average`),
    expect.stringContaining(`fail, and are tried again: ${slow.id} (receiver.example): 5 of 5, mostly by timeout`),
  ])
  expect(texts(await checkWebhooks(connection()))[0]).toContain(`(${failed.id} (receiver.example): 5 held)`)
})

test('the servers of mailboxes are tried with the stored passwords, each account once', async () => {
  const { admin } = organization
  using sink = await startSmtpSink({ auth: { user: 'desk', pass: 'right' } })
  using _ = withSettings(readConfig({ NODE_ENV: 'test', MAIL_ALLOWED_NETWORKS: '127.0.0.0/8' }))
  const smtp = { host: '127.0.0.1', port: sink.port, security: 'none', username: 'desk' }
  const good = await createMailbox(admin, { smtp: { ...smtp, password: 'right' } })
  expect(await checkMailboxServers(connection())).toEqual([])
  const bad = [1, 2].map(() => createMailbox(admin, { smtp: { ...smtp, password: 'wrong-one' } }))
  const addresses = (await Promise.all(bad)).map(({ address }) => address)
  const before = sink.connections()
  const findings = await checkMailboxServers(connection())
  expect(sink.connections() - before).toBe(2)
  const [text, ...others] = texts(findings)
  expect(text).toMatch(/^error: 127\.0\.0\.1:\d+ cannot be used by 2 mailboxes \(.*\): .*535/)
  for (const address of addresses) expect(text).toContain(address)
  expect(text).not.toContain(good.address)
  expect(JSON.stringify(findings)).not.toContain('wrong-one')
  expect(others).toEqual([])
})

test('DNS records that are missing for the domains of mailboxes are named', async () => {
  const { admin } = organization
  using dns = await startDns({
    'good.desk.co': { MX: ['mx.desk.co'], TXT: ['v=spf1 -all'] },
    'bare.desk.co': { TXT: ['something else'] },
    '_dmarc.desk.co': { TXT: ['v=DMARC1; p=none'] },
  })
  using _ = withSettings({ DNS_SERVERS: [dns.address] })
  const smtp = { host: 'smtp.desk.co', port: 587, security: 'starttls' }
  for (const address of ['help@good.desk.co', 'help@bare.desk.co', 'help@desk.example']) {
    await createMailbox(admin, { address, smtp })
  }
  const found = texts(await checkMailDns(connection()))
  expect(found.filter((text) => !/without a DKIM key/.test(text))).toEqual([
    expect.stringMatching(/^warning: 1 mail domain with no MX record: .* \(bare\.desk\.co\) -> Publish an MX record/),
    expect.stringMatching(/^warning: 1 mail domain with no SPF record: .* \(bare\.desk\.co\)/),
  ])
  expect(dns.asked.join()).not.toContain('desk.example')
})

test('an MX record that leads elsewhere, no DMARC record and no key to sign with are named', async () => {
  const { admin } = organization
  using dns = await startDns({
    'here.desk.co': { MX: ['mx.desk.co'], TXT: ['v=spf1 -all'] },
    'alias.desk.co': { MX: ['mx2.desk.co'], TXT: ['v=spf1 -all'] },
    'away.other.co': { MX: ['mx.google.example'], TXT: ['v=spf1 -all'] },
    'mx.desk.co': { A: ['192.0.2.1'] },
    'mx2.desk.co': { A: ['192.0.2.1'] },
    'mx.google.example': { A: ['192.0.2.2'] },
    '_dmarc.desk.co': { TXT: ['v=DMARC1; p=reject'] },
    '_dmarc.away.other.co': { TXT: ['something else'] },
  })
  const smtp = { host: 'smtp.desk.co', port: 587, security: 'starttls' }
  for (const domain of ['here.desk.co', 'alias.desk.co', 'away.other.co']) {
    const dkim = domain === 'away.other.co' ? undefined : { domain, selector: 's' }
    await createMailbox(admin, { address: `help@${domain}`, smtp, dkim })
  }
  const found = async () => texts(await checkMailDns(connection())).filter((text) => !/no DKIM record/.test(text))
  using _ = withSettings({ DNS_SERVERS: [dns.address], SMTP_HOSTNAME: 'mx.desk.co', SMTP_TRUSTED_RELAYS: [] })
  expect(await found()).toEqual([
    expect.stringMatching(
      /^warning: 1 mail domain with an MX record that names another server: .* \(away\.other\.co\)/,
    ),
    expect.stringMatching(/^warning: 1 mail domain with no DMARC record: .* \(away\.other\.co\)/),
    expect.stringMatching(
      /^warning: 1 mail domain with mailboxes that send without a DKIM key: .* \(away\.other\.co\)/,
    ),
  ])
  using __ = withSettings({ SMTP_TRUSTED_RELAYS: [toNetwork('192.0.2.2/32')!] })
  expect((await found()).join()).not.toContain('names another server')
})

test.each([
  ['localhost', /^warning: SMTP_HOSTNAME is localhost, which is no name of the internet/],
  ['4f1d2c', /^warning: SMTP_HOSTNAME is 4f1d2c, which is no name of the internet/],
  ['mx.unknown.co', /^warning: SMTP_HOSTNAME is mx\.unknown\.co, which DNS does not know/],
  ['mx.desk.co', undefined],
  ['192.0.2.1', undefined],
])('SMTP_HOSTNAME %s', async (SMTP_HOSTNAME, message) => {
  using dns = await startDns({ 'mx.desk.co': { A: ['192.0.2.1'] } })
  using _ = withSettings({ DNS_SERVERS: [dns.address], SMTP_HOSTNAME })
  await createMailbox(organization.admin, { address: 'help@desk.example' })
  expect(await checkMailName(connection())).toEqual([])
  await createMailbox(organization.admin, { address: 'help@desk.co' })
  expect(texts(await checkMailName(connection()))).toEqual(message ? [expect.stringMatching(message)] : [])
})

test('a server that does not keep what it confirmed is an error', async () => {
  const { sql } = connection()
  await using careful = session({ connection: { synchronous_commit: 'on' } as never })
  await using careless = session({ connection: { synchronous_commit: 'off' } as never })
  const of_server = await sql<{ name: string }[]>`
    select name from pg_settings where name in ('fsync', 'full_page_writes') and setting = 'off' order by name`
  const named = of_server.map(({ name }) =>
    expect.stringMatching(new RegExp(`^error: ${name} of the database server is off`)),
  )
  expect(texts(await checkDurability(careful as never))).toEqual(named)
  expect(texts(await checkDurability(careless as never))).toEqual([
    ...named,
    expect.stringMatching(/^error: synchronous_commit of the database server is off: mail that was confirmed/),
  ])
})

test('settings that fit badly to organizations and mailboxes are found', async () => {
  await connection().sql`truncate organizations cascade`
  organization = await createOrganization()
  using _ = withSettings({ BASE_URL: 'http://localhost:3000', SYSTEM_SMTP_URL: undefined })
  expect(texts(await checkLetterWay(connection()))[0]).toMatch(/^warning: Invitations .* cannot leave/)
  await createOrganization()
  expect(texts(await checkLetterWay(connection()))[0]).toMatch(
    /^warning: There are several organizations and no SYSTEM_SMTP_URL/,
  )
  await createMailbox(organization.admin, { address: 'help@desk.co' })
  expect(texts(await checkMailboxDomains(connection()))).toEqual([
    expect.stringMatching(
      /^warning: MAILBOX_DOMAIN_CHECK is off, .* \(1 active mailbox with a domain that is not verified\)/,
    ),
    expect.stringMatching(/^warning: BASE_URL is http:\/\/localhost:3000, and mail goes out for desk\.co/),
  ])
  using __ = withSettings({ MAILBOX_DOMAIN_CHECK: 'on', BASE_URL: config.BASE_URL.replace('localhost', 'desk.co') })
  expect(texts(await checkMailboxDomains(connection()))).toEqual([
    expect.stringMatching(/they neither receive nor send/),
  ])
  const { unverified_domains, counts } = await readFigures(connection())
  expect(unverified_domains).toEqual([{ organization_id: organization.id, domain: 'desk.co' }])
  expect(counts).toMatchObject({ organizations: 2, unverified_mailboxes: 1 })
})

test('a restore that was killed is an error that says to restore again', async () => {
  const DATA_DIR = mkdtempSync(path.join(tmpdir(), 'doctor-'))
  writeFileSync(path.join(DATA_DIR, 'unfinished-restore'), '')
  using _ = withSettings({ DATA_DIR })
  const { findings, skipped } = await examine(openForDoctor())
  const [finding] = findings.filter(({ check }) => check === 'database')
  expect(texts([finding!])).toEqual([
    `error: A restore into DATA_DIR ${DATA_DIR} has not ended. The service does not start on what it left -> ` +
      'If no restore is at work, run the same one again: it begins anew.',
  ])
  expect(skipped).toContain('work')
  rmSync(DATA_DIR, { recursive: true })
})
