/** Tries a backup: restores it beside the service, reads every row and every file, and removes it again. */
import fs from 'node:fs'
import path from 'node:path'
import { config } from '../../base/config'
import { lockFile } from '../../base/db/embedded/file-lock'
import { prepareHome } from '../../base/db/embedded/home'
import { longTransaction, type Session, type Transaction, withSession } from '../../base/db/session'
import { makePrivateFolder } from '../../base/process/private-folder'
import { BackupError, explained } from '../backup/backup-error'
import { quoted, readTables } from '../backup/tables'
import { VERIFY_FOLDER } from '../start/data-dir'
import { openAsItIs } from '../start/database'
import { wordsOf } from './backup-words'
import { type Manifest, readManifest } from './chain-manifest'
import { chooseBase } from './choose-base'
import { openOwnVault } from './own-target'
import { type Recovered, recover } from './recover'
import { checkFiles, type FilesRestored } from './restored-files'
import { writeVerified } from './state'
import { requireAll, unpackBase } from './unpack'
import type { Vault } from './vault'

/** A second server beside the one that works: it takes little, and keeps nothing. */
const SETTINGS = { shared_buffers: '16MB', max_connections: '10', fsync: 'off' }

type Counts = { tables: number; rows: number } & FilesRestored

type Verified = Partial<Pick<Recovered, 'restored_to'>> & Counts

/**
 * Restores the backup of this service to its last moment or another, and reads all of it.
 * @throws BackupError saying what is wrong
 */
export async function verifyBackup(until_ms?: number): Promise<Verified> {
  const at = new Date().toISOString()
  try {
    const vault = await openOwnVault('leave')
    const manifest = await readManifest(vault)
    if (!manifest) throw new BackupError(`${config.BACKUP_TO} holds no backup yet`)
    const verified = manifest.postgresql ? await verifyDatabase(vault, manifest, until_ms) : await verifyFiles(vault)
    if (verified.missing_files > 0) {
      throw new BackupError(`the backup lacks ${verified.missing_files} of the files that the database names`)
    }
    if (until_ms === undefined) writeVerified({ at })
    return verified
  } catch (error) {
    if (until_ms === undefined) writeVerified({ at, fault: wordsOf(error) })
    throw explained(error, 'the verification')
  }
}

async function verifyFiles(vault: Vault): Promise<Verified> {
  const { target, close } = await openAsItIs('refuse')
  const files = await withSession(target, (sql) => checkFiles(sql, vault)).finally(close)
  return { tables: 0, rows: 0, ...files }
}

async function verifyDatabase(vault: Vault, manifest: Manifest, until_ms: number | undefined): Promise<Verified> {
  const chosen = chooseBase(manifest, until_ms, vault.target.place)
  const folder = path.join(config.DATA_DIR, VERIFY_FOLDER)
  makePrivateFolder(folder)
  const lock = lockFile(path.join(folder, 'lock'))
  if (lock === undefined) throw new BackupError('the backup is being verified by another process')
  const clear = () => fs.rmSync(path.join(folder, 'postgres'), { recursive: true, force: true })
  try {
    clear()
    const unpacked = await unpackBase(vault, prepareHome(folder, 5432), chosen)
    if (unpacked.fault && until_ms === undefined) throw unpacked.fault
    const database = await recover(folder, chosen.base, until_ms, SETTINGS)
    try {
      requireAll(unpacked, database)
      const counts = await withSession(database.owner, (sql) => countAll(sql, vault))
      return { restored_to: database.restored_to, ...counts }
    } finally {
      await database.stop()
    }
  } finally {
    clear()
    fs.rmSync(folder, { recursive: true, force: true })
    fs.closeSync(lock)
  }
}

async function countAll(sql: Session, vault: Vault): Promise<Counts> {
  const rows = await longTransaction(sql, 'isolation level read committed read only', countRows)
  return { ...rows, ...(await checkFiles(sql, vault)) }
}

/** Reads every page of every table, whose checksums the server compares. */
async function countRows(sql: Transaction): Promise<{ tables: number; rows: number }> {
  const { own } = await readTables(sql)
  let rows = 0
  for (const table of own) {
    const [counted] = await sql.unsafe<{ n: number }[]>(`select count(*)::int as n from ${quoted(table)}`)
    rows += counted!.n
  }
  return { tables: own.length, rows }
}
