/**
 * Looks for what makes confirmed mail and changes get lost: settings of the server, a key for all, and backups of long
 * ago.
 */
import { statSync } from 'node:fs'
import path from 'node:path'
import { config } from '../../base/config'
import { askMachines } from '../../base/db/cluster/machines'
import { isDistributed } from '../../base/db/cluster/place-tables'
import type { Connection } from '../../base/db/transact'
import { SETTINGS } from '../../base/settings/table'
import { LAST_BACKUP } from '../start/data-dir'
import { counted, type Finding, failure, warning } from './finding'

const DAY_MS = 86_400_000
/** A nightly backup may be late, and a weekend may come between. */
const MOST_DAYS = 3

const MADE_WITH_THE_DATABASE = 'postgres/data/PG_VERSION'

const LOST_BY: Record<string, string> = {
  fsync: 'a power cut or a crash of the machine can destroy the database',
  full_page_writes: 'a power cut in the middle of a write can damage tables, which no restart mends',
  synchronous_commit: 'mail that was confirmed and changes that were answered are lost when the server crashes',
}

const ASK = `select coalesce(json_agg(name), '[]') as off from pg_settings
  where name in ('fsync', 'full_page_writes', 'synchronous_commit') and setting = 'off'`

/** Looks at the settings by which PostgreSQL keeps what it has confirmed, on each machine of a cluster. */
export async function checkDurability({ sql }: Connection): Promise<Finding[]> {
  type Asked = { off: string[] }
  const machines = (await isDistributed(sql)) ? await askMachines<Asked>(sql, ASK) : await sql.unsafe<Asked[]>(ASK)
  const off = [...new Set(machines.flatMap((machine) => machine.off))].sort()
  return off.map((name) =>
    failure(
      `${name} of the database server is off: ${LOST_BY[name]}`,
      `Turn it on: alter system set ${name} = on; select pg_reload_conf(). See in pg_db_role_setting if a role or the database turns it off.`,
    ),
  )
}

/** Looks at who may read the file of the secret key. */
export async function checkSecretFile(): Promise<Finding[]> {
  const file = path.join(config.DATA_DIR, SETTINGS.SECRET_KEY.generated_file)
  const found = statSync(file, { throwIfNoEntry: false })
  if (!found || (found.mode & 0o077) === 0) return []
  return [
    warning(
      `Other users than its owner may read or change ${file} (mode ${(found.mode & 0o777).toString(8)}): with it they can sign in as anybody and read stored passwords`,
      `Run chmod 600 ${file}. If others may have read it, set a new SECRET_KEY as the guide says.`,
    ),
  ]
}

/** Looks at the time of the last backup of the embedded database. Who runs PostgreSQL alone has tools of its own. */
export async function checkBackupAge(): Promise<Finding[]> {
  if (config.DATABASE_URL || config.BACKUP_TO) return []
  const last = timeOf(LAST_BACKUP)
  const since = last ?? timeOf(MADE_WITH_THE_DATABASE)
  if (since === undefined || Date.now() - since < MOST_DAYS * DAY_MS) return []
  const days = counted(Math.floor((Date.now() - since) / DAY_MS), 'day')
  return [
    warning(
      last === undefined
        ? `There was never a backup by bun run cli backup, and the database is ${days} old: a broken disk takes all of it`
        : `The last backup by bun run cli backup was ${days} ago: a broken disk takes all that came since`,
      'Set BACKUP_TO, or back up every night, as src/guide/backup.md says. If another program copies DATA_DIR, see that it still does.',
      { last_backup: last === undefined ? null : new Date(last).toISOString() },
    ),
  ]
}

/** When a file of DATA_DIR was written; undefined when it is not there. */
function timeOf(file: string): number | undefined {
  return statSync(path.join(config.DATA_DIR, file), { throwIfNoEntry: false })?.mtimeMs
}
