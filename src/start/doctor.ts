/** Answers what an operator asks first when something is wrong. */
import { constants } from 'node:fs'
import { access, mkdir, statfs } from 'node:fs/promises'
import { config } from '../config'
import type { Connection } from '../db/transact'
import { isVerified } from '../domains/claims'
import { findUntrustedProxy } from '../net/untrusted-proxy'
import { type OutboxStats, outboxStats } from '../outbox/operate'
import { findAccountDoubts } from './account-doubts'
import { findCertificateFaults } from './certificate'
import { findRelayDoubts } from './relay-doubts'
import { countOutdatedSecrets } from './rotate-secrets'

type DataDir = { path: string; writable: boolean; free_mib: number }

/** Reads figures of the database, the outbox and the disk. `warnings` are sentences about what needs attention. */
export async function diagnose(connection: Connection): Promise<Record<string, unknown>> {
  const figures = await readFigures(connection)
  const outbox = await outboxStats(connection)
  const data_dir = await checkDataDir()
  const { accounts_in_doubt, warnings: account_warnings } = await findAccountDoubts(connection)
  const warnings = [
    ...warningsOf(figures, outbox, data_dir),
    ...(await proxyWarnings()),
    ...listenerWarnings(),
    ...findCertificateFaults().map(({ text }) => text),
    ...(await secretWarnings(connection)),
    ...(await findRelayDoubts(connection)),
    ...account_warnings,
  ]
  return { ...figures, outbox, data_dir, accounts_in_doubt, warnings }
}

async function readFigures({ sql }: Connection) {
  const [server] = await sql<{ version: string; size: string; oldest_snapshot_s: number | null }[]>`
    select current_setting('server_version') as version, pg_size_pretty(pg_database_size(current_database())) as size, (
      select round(extract(epoch from now() - min(xact_start)))::float8 from pg_stat_activity
      where backend_xmin is not null and pid <> pg_backend_pid()
    ) as oldest_snapshot_s`
  const [tables] = await sql<{ outbox_dead_rows: number }[]>`
    select n_dead_tup as outbox_dead_rows from pg_stat_user_tables where relname = 'outbox'`
  const [counts] = await sql<Record<string, number>[]>`
    select (select count(*) from organizations) as organizations,
      (select count(*) from fills) as fills_left,
      (select count(*) from mailboxes where active) as active_mailboxes,
      (select count(*) from mailboxes m where active and not ${isVerified(sql)}) as unverified_mailboxes,
      (select count(*) from webhooks where status = 'failed' and deleted_at is null) as failed_webhooks,
      (select count(*) from inbound_messages where outcome = 'pending') as pending_mail`
  const unverified_domains = await sql<{ organization_id: string; domain: string }[]>`
    select distinct organization_id, substring(address_key from '[^@]*$') as domain from mailboxes m
    where active and not ${isVerified(sql)} order by organization_id, domain limit 1000`
  return { postgresql: server!, tables: tables!, counts: counts!, unverified_domains }
}

type Figures = Awaited<ReturnType<typeof readFigures>>

function warningsOf({ postgresql, counts }: Figures, outbox: OutboxStats[], data_dir: DataDir): string[] {
  const warnings = outbox
    .filter(({ oldest_due_s }) => (oldest_due_s ?? 0) > 60)
    .map(({ kind, oldest_due_s }) => `Work of kind ${kind} has been due for ${oldest_due_s} s: is the service running?`)
  warnings.push(...domainWarnings(counts))
  const { failed_webhooks } = counts
  if (failed_webhooks) warnings.push(`${failed_webhooks} webhooks have failed and hold what is meant for them`)
  if (!data_dir.writable) warnings.push(`DATA_DIR ${data_dir.path} cannot be written`)
  if (data_dir.free_mib < 1024) warnings.push(`Only ${data_dir.free_mib} MiB are free under DATA_DIR`)
  if ((postgresql.oldest_snapshot_s ?? 0) > 600) warnings.push('A transaction has been open for more than 10 minutes')
  return warnings
}

function listenerWarnings(): string[] {
  if (config.SMTP_PORT === 0 || config.SMTP_ALLOWED_NETWORKS.length > 0) return []
  return [
    'SMTP_ALLOWED_NETWORKS is not set: everybody who reaches SMTP_PORT can bring mail, around the checks of a relay',
  ]
}

async function proxyWarnings(): Promise<string[]> {
  const proxy = await findUntrustedProxy()
  if (!proxy) return []
  return [
    `X-Forwarded-For came from ${proxy.peer} at ${proxy.seen_at}, which TRUSTED_PROXIES does not name: if it is your ` +
      'reverse proxy, all clients behind it count as one address',
  ]
}

async function secretWarnings(connection: Connection): Promise<string[]> {
  const count = await countOutdatedSecrets(connection)
  if (count === 0) return []
  return [`${count} stored secrets are not encrypted with the present SECRET_KEY: run the command secrets rotate`]
}

function domainWarnings({ organizations = 0, unverified_mailboxes = 0 }: Figures['counts']): string[] {
  const is_on = config.MAILBOX_DOMAIN_CHECK === 'on'
  if (unverified_mailboxes === 0 || (!is_on && organizations < 2)) return []
  const count = `${unverified_mailboxes} active mailboxes have a domain that is not verified`
  if (is_on) return [`${count}: they neither receive nor send`]
  return [
    `MAILBOX_DOMAIN_CHECK is off, so that an organization can take a mailbox address of somebody else's domain. ${count}`,
  ]
}

async function checkDataDir(): Promise<DataDir> {
  const path = config.DATA_DIR
  try {
    await mkdir(path, { recursive: true })
    await access(path, constants.W_OK)
    const { bavail, bsize } = await statfs(path)
    return { path, writable: true, free_mib: Math.floor((bavail * bsize) / 1024 ** 2) }
  } catch {
    return { path, writable: false, free_mib: 0 }
  }
}
