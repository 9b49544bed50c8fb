/** Figures that the doctor shows beside its findings. */
import { askMachines } from '../../base/db/cluster/machines'
import { isDistributed } from '../../base/db/cluster/place-tables'
import type { Connection } from '../../base/db/transact'
import { topFigures } from '../../base/metrics/top'
import { type OutboxStats, outboxStats } from '../../delivery/outbox/operate'
import { isVerified } from '../../desk/messages/mailbox-address'
import { readAccountDoubts } from './account-doubts'
import { readServer } from './database-server'
import { type DataDir, readDataDir } from './disk-space'
import { readUnverifiedDomains } from './settings-fit'

export type Figures = {
  postgresql: {
    version: string
    size: string
    oldest_snapshot_s: number | null
    connections: number
    max_connections: number
    /** Processes of the service that wait for notices. */
    processes: number
    outbox_dead_rows: number
  }
  counts: Record<string, number>
  outbox: OutboxStats[]
  /** Webhooks, mailboxes and organizations that cause most of it. */
  top: Awaited<ReturnType<typeof topFigures>>
  data_dir: DataDir
  unverified_domains: Awaited<ReturnType<typeof readUnverifiedDomains>>
  accounts_in_doubt: Awaited<ReturnType<typeof readAccountDoubts>>['accounts']
}

/** Reads all figures. */
export async function readFigures(connection: Connection): Promise<Figures> {
  const [server, database, counts, outbox, top, data_dir, unverified_domains, { accounts }] = await Promise.all([
    readServer(connection),
    readDatabase(connection),
    readCounts(connection),
    outboxStats(connection),
    topFigures(connection),
    readDataDir(),
    readUnverifiedDomains(connection),
    readAccountDoubts(connection),
  ])
  const { version, oldest_snapshot_s, used, most, processes } = server
  const postgresql = { version, oldest_snapshot_s, connections: used, max_connections: most, processes, ...database }
  return { postgresql, counts, outbox, top, data_dir, unverified_domains, accounts_in_doubt: accounts }
}

/** As a text, because each machine of a cluster is asked, where the parts of a table are tables. */
const SIZES = `
  select pg_database_size(current_database()) as bytes, coalesce((
    select sum(n_dead_tup) from pg_stat_user_tables where relname ~ '^outbox(_[0-9]+)?$'
  ), 0) as dead_rows`

async function readDatabase({ sql }: Connection) {
  type Sizes = { bytes: number; dead_rows: number }
  const machines = (await isDistributed(sql)) ? await askMachines<Sizes>(sql, SIZES) : await sql.unsafe<Sizes[]>(SIZES)
  const bytes = machines.reduce((sum, machine) => sum + machine.bytes, 0)
  const outbox_dead_rows = machines.reduce((sum, machine) => sum + machine.dead_rows, 0)
  const [pretty] = await sql<{ size: string }[]>`select pg_size_pretty(${bytes}::bigint) as size`
  return { size: pretty!.size, outbox_dead_rows }
}

async function readCounts({ sql }: Connection): Promise<Record<string, number>> {
  const [counts] = await sql<Record<string, number>[]>`
    select (select count(*) from organizations) as organizations,
      (select count(*) from mailboxes where active) as active_mailboxes,
      (select count(*) from mailboxes m where active and not ${isVerified(sql)}) as unverified_mailboxes,
      (select count(*) from webhooks where status = 'failed' and deleted_at is null) as failed_webhooks,
      (select count(*) from inbound_messages where outcome = 'pending') as pending_mail`
  return counts!
}
