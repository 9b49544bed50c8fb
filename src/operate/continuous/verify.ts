/**
 * Tries a backup: reads every object of it, restores moments beside the service, reads every row and every file, and
 * removes them again.
 */
import { randomInt } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { config } from '../../base/config'
import { lockFile } from '../../base/db/embedded/file-lock'
import { prepareHome } from '../../base/db/embedded/home'
import { longTransaction, type Session, type Transaction, withSession } from '../../base/db/session'
import { startProgress } from '../../base/long-work'
import { makePrivateFolder } from '../../base/process/private-folder'
import { BackupError, explained } from '../backup/backup-error'
import { quoted, readTables } from '../backup/tables'
import { VERIFY_FOLDER } from '../start/data-dir'
import { openAsItIs } from '../start/database'
import { wordsOf } from './backup-words'
import { type Chosen, chooseBase, isProvable } from './choose-base'
import { openOwnBackup } from './own-target'
import { readRange, type Span } from './read-range'
import { type Recovered, recover } from './recover'
import { checkFiles, type FilesRestored } from './restored-files'
import { readState, writeVerified } from './state'
import { requireAll, unpackBase } from './unpack'
import type { Vault } from './vault'

/** A second server beside the one that works: it takes little, and keeps nothing. */
const SETTINGS = { shared_buffers: '16MB', max_connections: '10', fsync: 'off' }

type Counts = { tables: number; rows: number } & FilesRestored

type Verified = Partial<Pick<Recovered, 'restored_to'>> & Counts & { proven_since?: string }

/**
 * Reads all of the backup of this service, and restores it to a moment chosen at random and to the newest; or restores
 * it to one moment and reads what that needs.
 * @throws BackupError saying what is wrong
 */
export async function verifyBackup(until_ms?: number): Promise<Verified> {
  const at = new Date().toISOString()
  let proven_since: string | undefined
  try {
    const range = until_ms === undefined ? await readAll() : undefined
    const [first] = range?.spans ?? []
    proven_since = first && new Date(first.from_ms).toISOString()
    if (range && range.faults.length > 0) {
      const [fault, ...more] = range.faults
      throw new BackupError(more.length > 0 ? `${fault}, and ${more.length} more faults` : fault!)
    }
    const { vault, manifest, head } = await openOwnBackup(readState())
    const { place } = vault.target
    let verified: Verified | undefined
    for (const moment_ms of until_ms === undefined ? momentsOf(range!.spans) : [until_ms]) {
      verified = manifest.postgresql
        ? await verifyDatabase(vault, chooseBase(manifest, moment_ms, place, head), moment_ms)
        : await verifyFiles(vault)
      if (verified.missing_files > 0) {
        throw new BackupError(`the backup lacks ${verified.missing_files} of the files that the database names`)
      }
      if (!manifest.postgresql) break
    }
    if (until_ms === undefined) note({ at, proven_since })
    return { ...verified!, proven_since }
  } catch (error) {
    if (until_ms === undefined) note({ at, proven_since, fault: wordsOf(error) })
    throw explained(error, 'the verification')
  }
}

/** Notes a look at the place that the service writes to. What another one holds says nothing of its backup. */
function note(verified: Parameters<typeof writeVerified>[0]): void {
  if (readState()?.place === config.BACKUP_TO) writeVerified(verified)
}

/** Reads the whole backup: once more when the service removed what is no longer needed meanwhile. */
async function readAll(): Promise<Awaited<ReturnType<typeof readRange>>> {
  for (let before: number | undefined; ; ) {
    const { vault, manifest, head } = await openOwnBackup(readState())
    const range = await readRange(vault, manifest, head, Date.now())
    if (range.faults.length === 0 && range.spans.length === 0) {
      throw new BackupError(
        'nothing in the backup can be proven: a release until 0.2 made it, or another SECRET_KEY. Wait for the next base copy',
      )
    }
    if (range.faults.length === 0 || manifest.generation === before) return range
    before = manifest.generation
  }
}

/** Gives one at random, and the newest: it names the files that came after the last copy, which no list has. */
function momentsOf(spans: Span[]): number[] {
  return [momentIn(spans), spans.at(-1)!.to_ms - 1]
}

/** Gives any of the moments, in ms, each with the same chance. */
export function momentIn(spans: Span[]): number {
  const lengths = spans.map(({ from_ms, to_ms }) => Math.max(1, to_ms - from_ms))
  let left = randomInt(lengths.reduce((sum, length) => sum + length, 0))
  const index = lengths.findIndex((length) => {
    left -= length
    return left < 0
  })
  return spans[index]!.from_ms + lengths[index]! + left
}

async function verifyFiles(vault: Vault): Promise<Verified> {
  const { target, close } = await openAsItIs('refuse')
  const files = await withSession(target, (sql) => checkFiles(sql, vault)).finally(close)
  return { tables: 0, rows: 0, ...files }
}

async function verifyDatabase(vault: Vault, chosen: Chosen, until_ms: number): Promise<Verified> {
  if (!isProvable(chosen.base, vault)) {
    throw new BackupError(`nothing proves the copy of ${chosen.base.ended_at}: a release until 0.2 made it`)
  }
  const folder = path.join(config.DATA_DIR, VERIFY_FOLDER)
  makePrivateFolder(folder)
  const lock = lockFile(path.join(folder, 'lock'))
  if (lock === undefined) throw new BackupError('the backup is being verified by another process')
  const clear = () => fs.rmSync(path.join(folder, 'postgres'), { recursive: true, force: true })
  try {
    clear()
    const unpacked = await unpackBase(vault, prepareHome(folder, 5432), chosen)
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
  using progress = startProgress('count of the rows', { total: own.length, unit: 'tables' })
  for (const table of own) {
    progress.add()
    const [counted] = await sql.unsafe<{ n: number }[]>(`select count(*)::int as n from ${quoted(table)}`)
    rows += counted!.n
  }
  return { tables: own.length, rows }
}
