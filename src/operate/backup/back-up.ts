/**
 * Makes a backup of everything while the service serves: database, attachments, originals of mail, and the secret key.
 *
 * The database is copied table by table with COPY, all in one transaction that sees one moment. Base backups of
 * PostgreSQL were not chosen: they need a role with the right to replicate, which owners of databases at providers do
 * not have, and can be restored by the same major version only. This way, the embedded database moves to an external
 * one and back. Programs such as pg_dump are not needed: the package of the embedded database does not have them, and
 * those of Debian refuse a newer server.
 *
 * Files are copied after the rows that name them. Until then the job that removes stored bytes waits, so that each file
 * of the snapshot is still there.
 */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { version } from '../../../package.json'
import { config } from '../../base/config'
import { countServices } from '../../base/db/cluster/blockers'
import { askEachMachine } from '../../base/db/cluster/machines'
import { isDistributed } from '../../base/db/cluster/place-tables'
import { readMigrations } from '../../base/db/migration-files'
import { sizesOf } from '../../base/db/migration-work'
import { longTransaction, type Session, type Transaction, withSession } from '../../base/db/session'
import { safeError } from '../../base/log'
import { startProgress } from '../../base/long-work'
import { useSecrets } from '../../base/secrets'
import { holdRemovals } from '../../desk/attachments/removals'
import { fileStore } from '../../desk/attachments/storage'
import type { Store } from '../../desk/attachments/store'
import { LAST_BACKUP } from '../start/data-dir'
import { openAsItIs } from '../start/database'
import { dropRoot } from '../start/drop-root'
import { BackupError, DamagedFilesError, explained } from './backup-error'
import { type Manifest, writeManifest } from './manifest'
import { enterNewFolder } from './operator-folder'
import { copySecretKeys, presentKeys } from './secret-keys'
import { copyFiles, listNames } from './stored-files'
import { copyOut, MIGRATIONS_TABLE, quoted, readSequences, readTables } from './tables'
import { tryStoredSecrets } from './try-secrets'

const WHAT = 'the backup'

/** The report to the operator about a backup. */
type Made = { folder: string; migration: string; tables: number; rows: number; files: number; file_bytes: number }

type Snapshot = Pick<Manifest, 'migration' | 'migrations' | 'created_at' | 'postgresql' | 'tables' | 'sequences'>

/**
 * Backs up to a new or empty folder, which then belongs to the OS user of the service. What a failed backup wrote is
 * removed; one that was killed has no manifest.
 * @throws BackupError, DamagedFilesError when the backup is made but files were missing or damaged before
 */
export async function backUp(folder: string): Promise<Made> {
  const name = path.resolve(folder)
  const target = enterNewFolder(name, WHAT)
  try {
    await dropRoot('refuse', undefined, '.')
    const manifest = await copyEverything()
    await writeManifest(manifest)
    target.keep()
    noteBackup()
    const { files, tables, migration } = manifest
    const made: Made = {
      folder: name,
      migration,
      tables: tables.length,
      rows: tables.reduce((sum, { rows }) => sum + rows, 0),
      files: files.count,
      file_bytes: files.bytes,
    }
    if (files.missing + files.damaged > 0) throw damaged(made, files)
    return made
  } catch (error) {
    if (error instanceof DamagedFilesError) throw error
    target.discard()
    throw explained(error, WHAT)
  }
}

/** Leaves the time of a backup of the embedded database for the doctor. */
function noteBackup(): void {
  if (config.DATABASE_URL) return
  try {
    writeFileSync(path.join(config.DATA_DIR, LAST_BACKUP), `${new Date().toISOString()}\n`, { mode: 0o600 })
  } catch (error) {
    process.stderr.write(`deskwire: the time of the backup cannot be noted in DATA_DIR: ${safeError(error).code}\n`)
  }
}

function damaged({ folder }: Made, { missing, damaged, file }: Manifest['files']): DamagedFilesError {
  return new DamagedFilesError(
    `the backup in ${folder} is whole, but of the files that the database names ${missing} were missing and ${damaged} ` +
      `were damaged: see the lines with "fault" in ${file}`,
  )
}

async function copyEverything(): Promise<Omit<Manifest, 'format'>> {
  const database = await openAsItIs('refuse')
  try {
    const to = fileStore('.')
    useSecrets(...presentKeys())
    // Reads committed rows, so that it holds no snapshot while the files are copied.
    return await withSession(database.target, (holder) =>
      longTransaction(holder, 'isolation level read committed read only', async (hold) => {
        await holdRemovals(hold)
        const snapshot = await withSession(database.target, (session) => copyDatabase(session, to))
        const files = await copyFiles(to)
        return { release: version, ...snapshot, files, secret_keys: await copySecretKeys(to) }
      }),
    )
  } finally {
    await database.close()
  }
}

async function copyDatabase(session: Session, to: Store): Promise<Snapshot> {
  const mode = 'isolation level repeatable read read only'
  const { own, foreign } = await longTransaction(session, mode, readTables)
  if (!own.some(({ name }) => name === MIGRATIONS_TABLE.name)) {
    throw new BackupError('the database holds nothing of this service')
  }
  if (foreign.length > 0) {
    process.stderr.write(`deskwire: left out tables that are not of this service: ${foreign.join(', ')}\n`)
  }
  const lock = await lockModeFor(session)
  return longTransaction(session, mode, async (sql) => {
    // Before the snapshot is taken: a migration that rewrites a table would leave it empty in an older snapshot.
    await sql.unsafe(`lock table ${own.map(quoted)} in ${lock} mode`)
    if (lock === 'share') await refuseUnended(sql)
    const state = await readState(sql)
    const tables: Snapshot['tables'] = []
    using progress = startProgress('backup', { total: state.migrations.length + (await estimateRows(sql, own)) })
    for (const table of own) tables.push({ ...table, ...(await copyOut(sql, table, to, progress)) })
    await listNames(sql, to)
    await tryStoredSecrets(sql, 'run the command with the settings of the service')
    return { ...state, tables, sequences: await readSequences(sql) }
  })
}

async function estimateRows(sql: Transaction, tables: { name: string }[]): Promise<number> {
  const sizes = await sizesOf(
    sql,
    tables.map(({ name }) => name),
  )
  return sizes.reduce((sum, { rows }) => sum + rows, 0)
}

/**
 * How tables are locked. The machines of a cluster have no snapshot in common: there nobody may write until all is
 * copied.
 * @throws BackupError when a service would wait for that
 */
async function lockModeFor(session: Session): Promise<'access share' | 'share'> {
  if (!(await isDistributed(session))) return 'access share'
  const services = await countServices(session)
  // One of them is another connection of this command.
  if (services > 1) {
    throw new BackupError(
      `a service is connected (${services - 1} connections): stop it for this backup, because the machines of a cluster have no snapshot in common. Or back up the machines themselves`,
    )
  }
  return 'share'
}

/** @throws BackupError when a machine of the cluster has yet to commit what the others have */
async function refuseUnended(sql: Transaction): Promise<void> {
  const answers = await askEachMachine<number>(
    sql,
    "select count(*)::int from pg_prepared_xacts where database = current_database() and gid like 'citus%'",
  )
  for (const { node, value, error } of answers) {
    if (error !== undefined) throw new BackupError(`the machine ${node} of the cluster does not answer: ${error}`)
    if (value === 0) continue
    throw new BackupError(
      `${node} has ${value} transactions that have not ended. Citus ends them within minutes: try again then`,
    )
  }
}

/** @throws BackupError when a newer release has migrated the database */
async function readState(sql: Transaction): Promise<Omit<Snapshot, 'tables' | 'sequences'>> {
  const [state] = await sql<{ created_at: string; postgresql: string; migrations: number[] }[]>`
    select to_char(now(), 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as created_at, current_setting('server_version') as postgresql,
      (select json_agg(created_at order by id) from drizzle.__drizzle_migrations) as migrations`
  const known = await readMigrations()
  const last = known.find(({ when }) => when === state!.migrations?.at(-1))
  if (!last) throw new BackupError('the database was migrated by another release: make the backup with that one')
  return { ...state!, migration: last.name }
}
