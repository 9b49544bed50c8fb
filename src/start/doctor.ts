/** Answers what an operator asks first when something is wrong. */
import { constants } from 'node:fs'
import { access, mkdir, statfs } from 'node:fs/promises'
import { config } from '../config'
import type { Connection } from '../db/transact'
import { outboxStats } from '../outbox/operate'

/** Figures and checks; `warnings` are sentences about what needs attention. */
export async function diagnose(connection: Connection): Promise<Record<string, unknown>> {
  const { sql } = connection
  const [server] = await sql<{ version: string; size: string; oldest_snapshot_s: number | null }[]>`
    select current_setting('server_version') as version, pg_size_pretty(pg_database_size(current_database())) as size, (
      select round(extract(epoch from now() - min(xact_start)))::float8 from pg_stat_activity
      where backend_xmin is not null and pid <> pg_backend_pid()
    ) as oldest_snapshot_s`
  const [tables] = await sql<{ outbox_dead_rows: number }[]>`
    select n_dead_tup as outbox_dead_rows from pg_stat_user_tables where relname = 'outbox'`
  const [counts] = await sql<Record<string, number>[]>`
    select (select count(*) from organizations) as organizations,
      (select count(*) from mailboxes where active) as active_mailboxes,
      (select count(*) from webhooks where status = 'failed' and deleted_at is null) as failed_webhooks,
      (select count(*) from inbound_messages where outcome = 'pending') as pending_mail`
  const outbox = await outboxStats(connection)
  const data_dir = await checkDataDir()
  const late = outbox.filter(({ oldest_due_s }) => (oldest_due_s ?? 0) > 60)
  const warnings = [
    ...late.map(
      ({ kind, oldest_due_s }) => `Work of kind ${kind} has been due for ${oldest_due_s} s: is the service running?`,
    ),
    ...(counts!.failed_webhooks
      ? [`${counts!.failed_webhooks} webhooks have failed and hold what is meant for them`]
      : []),
    ...(data_dir.writable ? [] : [`DATA_DIR ${config.DATA_DIR} cannot be written`]),
    ...(data_dir.free_mib < 1024 ? [`Only ${data_dir.free_mib} MiB are free under DATA_DIR`] : []),
    ...((server!.oldest_snapshot_s ?? 0) > 600 ? ['A transaction has been open for more than 10 minutes'] : []),
  ]
  return { postgresql: server, tables, counts, outbox, data_dir, warnings }
}

async function checkDataDir(): Promise<{ path: string; writable: boolean; free_mib: number }> {
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
